"""Docstrings: their sections, and first lines read from source files without importing them."""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
from collections.abc import Container
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path

_HEADING = re.compile(r"[A-Z][a-z]+:")
_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def split_docstring(raw: str | None, parameters: Container[str]) -> tuple[str, dict[str, str]]:
    """The text of a docstring, and what it says of each parameter.

    The sections ``Args`` and ``Attributes`` are taken out where they describe only parameters.
    """
    sections: list[list[str]] = [[""]]
    for line in inspect.cleandoc(raw or "").splitlines():
        ends = _HEADING.fullmatch(sections[-1][0]) and line and not line.startswith(" ")
        if _HEADING.fullmatch(line) or ends:
            sections.append([line])
        else:
            sections[-1].append(line)
    text: list[str] = []
    items: dict[str, str] = {}
    for section in sections:
        described = _items(section[1:]) if section[0] in ("Args:", "Attributes:") else {}
        if described and all(name in parameters for name in described):
            items |= described
        else:
            text += section
    return "\n".join(text).strip(), items


def _items(lines: list[str]) -> dict[str, str]:
    """The items of a section; a line that is indented deeper continues the one before."""
    items: dict[str, str] = {}
    name = ""
    for line in textwrap.dedent("\n".join(lines)).splitlines():
        if match := re.fullmatch(r"(\w+)(?:\s*\([^)]*\))?:\s*(.*)", line.rstrip()):
            name = match[1]
            items[name] = match[2]
        elif items and line.strip():
            items[name] = f"{items[name]} {line.strip()}".strip()
    return items


@cache
def summary(location: str) -> str:
    """The first docstring line of what is at ``package.module:Name``; empty where there is none."""
    module, _, name = location.partition(":")
    return _summary(module, name.split("."), max_imports=5)


def _summary(module: str, names: list[str], max_imports: int) -> str:
    """Search one module and, where it only imports the name, the module it is imported from."""
    path = _module_file(module)
    if path is None or max_imports == 0:
        return ""
    first, *inner = names
    for node in source_body(path):
        if isinstance(node, _Definition) and node.name == first:
            return _docstring_line(node, inner)
        if not isinstance(node, ast.ImportFrom):
            continue
        for alias in node.names:
            if (alias.asname or alias.name) == first:
                package = module if path.name == "__init__.py" else module.rpartition(".")[0]
                try:
                    source = resolve_name("." * node.level + (node.module or ""), package)
                except ImportError:
                    return ""
                return _summary(source, [alias.name, *inner], max_imports - 1)
    return ""


def _docstring_line(node: _Definition, inner: list[str]) -> str:
    if not inner:
        return (ast.get_docstring(node) or "").partition("\n")[0].strip()
    children = (child for child in node.body if isinstance(child, _Definition))
    lines = (_docstring_line(each, inner[1:]) for each in children if each.name == inner[0])
    return next(lines, "")


def _module_file(module: str) -> Path | None:
    """The source file of a module.

    Only the top-level package is looked up, and the rest of the path followed in its directory:
    finding a module inside a package would import the package.
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
