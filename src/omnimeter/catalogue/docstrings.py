"""Docstrings: their sections, and first lines read from source files without importing them."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Container
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path

_HEADING = re.compile(r"[A-Z][a-z]+:")
_ITEM = re.compile(r"(\w+)(?:\s*\([^)]*\))?:\s*(.*)")
_MAX_IMPORTS = 5

_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def split_docstring(raw: str | None, parameters: Container[str]) -> tuple[str, dict[str, str]]:
    """The text of a docstring, and what it says of each parameter.

    The sections ``Args`` and ``Attributes`` are taken out where they describe only parameters.
    """
    text: list[str] = []
    items: dict[str, str] = {}
    for section in _sections(inspect.cleandoc(raw or "")):
        described = _items(section[1:]) if section[0] in ("Args:", "Attributes:") else {}
        if described and all(name in parameters for name in described):
            items |= described
        else:
            text += section
    return "\n".join(text).strip(), items


def _sections(text: str) -> list[list[str]]:
    """The lines of a text, split at each heading and at each end of an indented block."""
    sections: list[list[str]] = [[""]]
    for line in text.splitlines():
        ends = _HEADING.fullmatch(sections[-1][0]) and line and not line.startswith(" ")
        if _HEADING.fullmatch(line) or ends:
            sections.append([line])
        else:
            sections[-1].append(line)
    return sections


def _items(lines: list[str]) -> dict[str, str]:
    """The items of a section; a line that is indented deeper continues the one before."""
    depths = [len(line) - len(line.lstrip()) for line in lines]
    indentation = min((d for d, line in zip(depths, lines, strict=True) if line.strip()), default=0)
    items: dict[str, str] = {}
    for depth, line in zip(depths, lines, strict=True):
        match = _ITEM.fullmatch(line.strip())
        if match and depth == indentation:
            items[match[1]] = match[2]
        elif items and line.strip():
            name = list(items)[-1]
            items[name] = f"{items[name]} {line.strip()}".strip()
    return items


@cache
def summary(location: str) -> str:
    """The first docstring line of what is at ``package.module:Name``; empty where there is none."""
    module, _, name = location.partition(":")
    return _summary(module, name, _MAX_IMPORTS)


def _summary(module: str, name: str, imports: int) -> str:
    """Search one module and, where it only imports the name, the module it is imported from."""
    path = _module_file(module)
    if path is None or imports == 0:
        return ""
    first, *inner = name.split(".")
    for node in source_body(path):
        if isinstance(node, _Definition) and node.name == first:
            return _docstring_line(node, inner)
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == first:
                    source = _imported_module(node, module, path)
                    return _summary(source, ".".join([alias.name, *inner]), imports - 1)
    return ""


def _docstring_line(node: _Definition, inner: list[str]) -> str:
    for name in inner:
        children = (child for child in node.body if isinstance(child, _Definition))
        nested = next((child for child in children if child.name == name), None)
        if nested is None:
            return ""
        node = nested
    return (ast.get_docstring(node) or "").partition("\n")[0].strip()


def _imported_module(node: ast.ImportFrom, module: str, path: Path) -> str:
    """The absolute name of the module of an import statement."""
    if node.level == 0:
        return node.module or ""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    try:
        return resolve_name("." * node.level + (node.module or ""), package)
    except ImportError:
        return ""


def _module_file(module: str) -> Path | None:
    """The source file of a module.

    Finding a module inside a package would import the package, so only the top-level package is
    looked up; the rest of the path is followed in its directory.
    """
    top, *rest = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError):
        return None
    if spec is None:
        return None
    candidates = [] if rest or not spec.origin else [Path(spec.origin)]
    for directory in (spec.submodule_search_locations or ()) if rest else ():
        base = Path(directory, *rest)
        candidates += [base / "__init__.py", base.with_name(base.name + ".py")]
    return next((each for each in candidates if each.suffix == ".py" and each.is_file()), None)


@cache
def source_body(path: Path) -> list[ast.stmt]:
    """The statements of a source file; empty when it cannot be parsed."""
    try:
        return ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []
