"""Takes Google-style docstrings apart: what a part says of itself and of its parameters."""

from __future__ import annotations

import inspect
import re
from collections.abc import Container
from dataclasses import dataclass

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
