"""Takes Google-style docstrings apart: what a part says of itself and of its parameters."""

from __future__ import annotations

import inspect
import re
from dataclasses import dataclass

_SECTION = re.compile(r"(Args|Attributes):\s*")
_ITEM = re.compile(r"(\w+)(?:\s*\([^)]*\))?:\s*(.*)")


@dataclass(frozen=True, slots=True)
class Docstring:
    """A docstring in two parts.

    Attributes:
        text: All but the sections on parameters.
        items: What those sections say, by name.
    """

    text: str
    items: dict[str, str]


def read_docstring(raw: str | None) -> Docstring:
    """Take a docstring apart at its ``Args`` and ``Attributes`` sections."""
    kept: list[str] = []
    items: dict[str, str] = {}
    name = ""
    inside = False
    for line in inspect.cleandoc(raw or "").splitlines():
        if inside and line and not line.startswith(" "):
            inside = False
        if _SECTION.fullmatch(line):
            inside, name = True, ""
        elif not inside:
            kept.append(line)
        elif (match := _ITEM.fullmatch(line.strip())) and _depth(line) <= 4:
            name = match[1]
            items[name] = match[2]
        elif name and line.strip():
            items[name] = f"{items[name]} {line.strip()}".strip()
    return Docstring("\n".join(kept).strip(), items)


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())
