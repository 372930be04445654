"""The first line of a part's docstring, read from its source file without importing it."""

from __future__ import annotations

import ast
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path

_Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
_MOST_HOPS = 5


@cache
def summary(place: str) -> str:
    """The first docstring line of what is at ``package.module:Name``; empty when not found."""
    module, _, name = place.partition(":")
    return _first_line(module, name, _MOST_HOPS)


def _first_line(module: str, name: str, hops: int) -> str:
    """Look in one module, and where it only imports the name, in the module it comes from."""
    path = _module_file(module)
    if path is None or hops == 0:
        return ""
    first, *inner = name.split(".")
    for node in _body(path):
        if isinstance(node, _Definition) and node.name == first:
            return _docstring_line(node, inner)
        if isinstance(node, ast.ImportFrom):
            for alias in node.names:
                if (alias.asname or alias.name) == first:
                    origin = _origin(node, module, path)
                    return _first_line(origin, ".".join([alias.name, *inner]), hops - 1)
    return ""


def _docstring_line(node: _Definition, inner: list[str]) -> str:
    for name in inner:
        nested = [
            child for child in node.body if isinstance(child, _Definition) and child.name == name
        ]
        if not nested:
            return ""
        node = nested[0]
    return (ast.get_docstring(node) or "").partition("\n")[0].strip()


def _origin(node: ast.ImportFrom, module: str, path: Path) -> str:
    """The absolute name of the module that an import statement takes its names from."""
    if node.level == 0:
        return node.module or ""
    package = module if path.name == "__init__.py" else module.rpartition(".")[0]
    try:
        return resolve_name("." * node.level + (node.module or ""), package)
    except ImportError:
        return ""


def _module_file(module: str) -> Path | None:
    """The source file of a module.

    Asking Python for a module inside a package would run the package, so only the top-level
    package is asked for; the rest of the way is walked in its directory.
    """
    top, *rest = module.split(".")
    try:
        found = find_spec(top)
    except (ImportError, ValueError):
        return None
    if found is None:
        return None
    if not rest:
        return _source(Path(found.origin)) if found.origin else None
    for directory in found.submodule_search_locations or ():
        base = Path(directory, *rest)
        for candidate in (base / "__init__.py", base.with_name(base.name + ".py")):
            if candidate.is_file():
                return candidate
    return None


def _source(path: Path) -> Path | None:
    return path if path.suffix == ".py" and path.is_file() else None


@cache
def _body(path: Path) -> list[ast.stmt]:
    try:
        return ast.parse(path.read_bytes()).body
    except (OSError, SyntaxError, ValueError):
        return []


def forget_summaries() -> None:
    """Read source files anew from now on."""
    summary.cache_clear()
    _body.cache_clear()
