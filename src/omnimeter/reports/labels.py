"""Names of agents as they fit into a picture: short, on few lines, still different."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

WIDTH = 28
"""How many characters a line of a label has at the most."""

_EARLIEST = 8
_BREAKS = ("(", " ,/:", "-=_")
"""After which characters a label is best broken, and after which if there are none."""

_FOLDERS = re.compile(r"^[^(]*/(?=[^/(]+:)")
"""The folders in the name of a part from a file."""


def printable(text: str) -> str:
    """The text without characters that no page or picture can carry."""
    carried = text.encode("utf-8", "replace").decode("utf-8")
    return "".join("�" if unicodedata.category(sign) in ("Cc", "Cn") else sign for sign in carried)


def short_labels(labels: Iterable[str]) -> dict[str, str]:
    """A name of at most two short lines for each label; different labels get different names."""
    names: dict[str, str] = {}
    for label in labels:
        name, number = _short(printable(label)), 1
        while name in names.values():
            number += 1
            name = f"{_short(printable(label))} #{number}"
        names[label] = name
    return names


def _short(label: str) -> str:
    label = _FOLDERS.sub("", label)
    if len(label) <= WIDTH:
        return label
    place = _best_break(label)
    return label[:place].rstrip() + "\n" + _elided(label[place:].lstrip())


def _best_break(label: str) -> int:
    for characters in _BREAKS:
        places = [place for place in range(_EARLIEST, WIDTH) if label[place - 1] in characters]
        if places:
            return places[-1]
    return WIDTH


def _elided(line: str) -> str:
    """The line without its middle, if it is too long: what differs is often at the end."""
    if len(line) <= WIDTH:
        return line
    tail = WIDTH // 2
    return line[: WIDTH - tail - 1] + "…" + line[-tail:]
