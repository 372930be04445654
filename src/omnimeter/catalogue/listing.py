"""Listing and describing parts: docstrings, summaries and parameters."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec, resolve_name
from pathlib import Path
from typing import Any

from omnimeter.catalogue.entries import Claim, Kind, claims, find, problem
from omnimeter.catalogue.files import read_place
from omnimeter.catalogue.making import resolve
from omnimeter.catalogue.parameters import annotation_text, is_required, settable

_HEADING = re.compile(r"[A-Z][a-z]+:")
_ITEM = re.compile(r"(\w+)(?:\s*\([^)]*\))?:\s*(.*)")


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring in two parts.

    Attributes:
        text: What it says in general.
        items: What it says of each parameter.
    """

    text: str
    items: dict[str, str]


def read_docstring(raw: str | None, parameters: Container[str]) -> Docstring:
    """Take out the sections ``Args`` and ``Attributes`` where they speak only of parameters."""
    kept: list[str] = []
    items: dict[str, str] = {}
    for section in _sections(inspect.cleandoc(raw or "")):
        found = _items(section[1:]) if section[0] in ("Args:", "Attributes:") else {}
        if found and all(name in parameters for name in found):
            items |= found
        else:
            kept += section
    return Docstring("\n".join(kept).strip(), items)


def _sections(text: str) -> list[list[str]]:
    """The lines of a text, beginning anew at each heading and at each end of an indented block."""
    sections: list[list[str]] = [[""]]
    for line in text.splitlines():
        previous = sections[-1]
        ends = _HEADING.fullmatch(previous[0]) and line and not line.startswith(" ")
        if _HEADING.fullmatch(line) or ends:
            sections.append([line])
        else:
            previous.append(line)
    return sections


def _items(lines: list[str]) -> dict[str, str]:
    """The items of a section; a line that is indented deeper goes on with the one before."""
    indentation = min((_depth(line) for line in lines if line.strip()), default=0)
    items: dict[str, str] = {}
    for line in lines:
        match = _ITEM.fullmatch(line.strip())
        if match and _depth(line) == indentation:
            items[match[1]] = match[2]
        elif items and line.strip():
            name = list(items)[-1]
            items[name] = f"{items[name]} {line.strip()}".strip()
    return items


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


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


@dataclass(frozen=True, slots=True)
class Entry:
    """A part in the catalogue.

    Attributes:
        kind: What it is.
        id: What it is called, with its version.
        package: The package that it comes from.
        version: The version of that package.
        place: Where it is, ``package.module:Name``.
        summary: The first line of its docstring; empty when that cannot be read.
        problem: Why it cannot be used, naming the package at fault; empty when it can.
    """

    kind: Kind
    id: str
    package: str
    version: str
    place: str
    summary: str
    problem: str = ""


def listing(kind: Kind | None = None) -> list[Entry]:
    """All parts, or those of one kind, ordered by kind and id.

    A faulty entry is listed with its problem and hides nothing else.
    """
    return [_entry(claim) for claim in claims() if kind is None or claim.kind == kind]


def _entry(claim: Claim) -> Entry:
    return Entry(
        kind=claim.kind,
        id=claim.name,
        package=claim.package,
        version=claim.version,
        place=claim.place,
        summary=summary(claim.place),
        problem=problem(claim),
    )


def forget() -> None:
    """Read the installed packages anew from now on."""
    claims.cache_clear()
    forget_summaries()


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that a part can be given.

    Attributes:
        name: How it is called.
        annotation: Its type as it stands in the source; empty when there is none.
        required: Whether it must be given.
        default: What it is when it is not given.
        doc: What the docstring says of it.
    """

    name: str
    annotation: str
    required: bool
    default: Any
    doc: str


@dataclass(frozen=True, slots=True)
class Description:
    """A part, as it is shown to a person.

    Attributes:
        id: Its id, or its place when it has none.
        package: The package that it comes from; empty for a place.
        place: Where it is.
        doc: Its docstring, without what is said in ``parameters``.
        parameters: What it can be given.
    """

    id: str
    package: str
    place: str
    doc: str
    parameters: list[Parameter]


def describe(kind: Kind, name: str) -> Description:
    """Describe one part. It is imported for that.

    Raises:
        UnknownNameError: There is nothing of that name.
        InvalidInputError: What is there cannot be used.
    """
    part = resolve(kind, name)
    found = settable(part) if callable(part) else []
    names = [parameter.name for parameter in found]
    own = read_docstring(getattr(part, "__doc__", None), names)
    said = {**_constructor_items(part, names), **own.items}
    parameters = [_parameter(part, parameter, said) for parameter in found]
    if read_place(name) is not None:
        return Description(name, "", name, own.text, parameters)
    claim = find(kind, name)
    return Description(claim.name, claim.package, claim.place, own.text, parameters)


def _constructor_items(part: Any, names: list[str]) -> dict[str, str]:
    """What a constructor says of its parameters itself, instead of its class."""
    if not isinstance(part, type):
        return {}
    return read_docstring(inspect.getattr_static(part, "__init__").__doc__, names).items


def _parameter(part: Any, parameter: inspect.Parameter, said: dict[str, str]) -> Parameter:
    return Parameter(
        name=parameter.name,
        annotation=annotation_text(part, parameter),
        required=is_required(parameter),
        default=_default(part, parameter),
        doc=said.get(parameter.name, ""),
    )


def _default(part: Any, parameter: inspect.Parameter) -> Any:
    if is_required(parameter):
        return None
    if dataclasses.is_dataclass(part):  # whose signature hides a default that is made anew
        for field in dataclasses.fields(part):
            if field.name == parameter.name and field.default_factory is not dataclasses.MISSING:
                return field.default_factory()
    return parameter.default
