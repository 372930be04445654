"""What an id looks like: ``cups-v1``, lower-case words with hyphens and a version."""

from __future__ import annotations

import re
from typing import NamedTuple

_ID = re.compile(r"([a-z][a-z0-9]*(?:-[a-z0-9]+)*)-v(0|[1-9][0-9]*)")

FORM = "name-vN, lower-case words with hyphens and a version, for example 'cups-v1'"
"""How an id is explained to a person."""


class VersionedName(NamedTuple):
    """An id taken apart."""

    name: str
    version: int


def read_id(text: str) -> VersionedName | None:
    """The name and the version in an id, or ``None`` when the text is not an id."""
    match = _ID.fullmatch(text)
    return VersionedName(match[1], int(match[2])) if match else None
