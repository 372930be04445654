"""The installed parts: their kinds, versioned ids and entry points, read without importing them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import metadata

from omnimeter.catalogue.docstrings import source_body, summary
from omnimeter.contract import InvalidInputError, UnknownNameError


class Kind(StrEnum):
    """The kinds of parts in the catalogue."""

    ENVIRONMENT = "environment"
    AGENT = "agent"
    PROTOCOL = "protocol"
    PAYOFF = "payoff"
    ADJUSTMENT = "adjustment"
    ELEMENT = "element"
    REPRODUCTION = "reproduction"

    @property
    def group(self) -> str:
        """The group of entry points under which packages list parts of this kind."""
        return f"omnimeter.{self}s"

    @property
    def phrase(self) -> str:
        """The kind with its article: ``an agent``."""
        return f"{'an' if self.value[0] in 'ae' else 'a'} {self.value}"


@dataclass(frozen=True, slots=True)
class Entry:
    """A part in the catalogue: what one package lists under one name.

    Attributes:
        id: Its name with its version, if the package lists it correctly.
        package: The package that lists it.
        version: The version of that package.
        location: Where it is, ``package.module:Name``.
    """

    kind: Kind
    id: str
    package: str
    version: str
    location: str

    @property
    def summary(self) -> str:
        """The first line of its docstring; empty when that cannot be read."""
        return summary(self.location)

    @property
    def problem(self) -> str:
        """Why it cannot be used, naming the package at fault; empty when it can."""
        where = f"The package {self.package!r} lists the {self.kind} {self.id!r}"
        if read_id(self.id) is None:
            example = "name-vN, lower case with hyphens and a version, for example 'cups-v1'"
            return f"{where}, which is not an id: {example}."
        if not re.fullmatch(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*", self.location):
            return f"{where} at {self.location!r}, which must be written 'package.module:Name'."
        same = [each for each in entries() if (each.kind, each.id) == (self.kind, self.id)]
        if len(same) > 1:
            claims = " and ".join(f"{each.package!r} ({each.location})" for each in same)
            return f"The {self.kind} {self.id!r} is claimed more than once: by {claims}."
        return ""


def read_id(text: str) -> tuple[str, int] | None:
    """The name and the version in an id, or ``None`` when the text is not an id."""
    match = re.fullmatch(r"([a-z][a-z0-9]*(?:-[a-z0-9]+)*)-v(0|[1-9][0-9]*)", text)
    return (match[1], int(match[2])) if match else None


def read_entry_points() -> tuple[Entry, ...]:
    """The parts that all installed packages list; the only function that reads their metadata."""
    points = metadata.entry_points()
    owners: dict[int, tuple[str, str]] = {}  # reading a package's metadata again is slow
    result = []
    for kind in Kind:
        for point in points.select(group=kind.group):
            if id(point.dist) not in owners:
                name, version = (point.dist.name, point.dist.version) if point.dist else ("", "")
                owners[id(point.dist)] = (name or "a package without a name", version or "")
            result.append(Entry(kind, point.name, *owners[id(point.dist)], point.value))
    return tuple(result)


@cache
def entries() -> tuple[Entry, ...]:
    """All parts, read once per process, ordered by kind, id and package."""
    kinds = list(Kind)

    def order(entry: Entry) -> tuple[object, ...]:
        name = _name_and_version(entry)
        return kinds.index(entry.kind), name, entry.package, entry.location

    return tuple(sorted(dict.fromkeys(read_entry_points()), key=order))


def _name_and_version(entry: Entry) -> tuple[str, int]:
    return read_id(entry.id) or (entry.id, -1)


def listing(kind: Kind | None = None) -> list[Entry]:
    """All parts, or those of one kind, ordered by kind and id; some may have a ``problem``."""
    return [entry for entry in entries() if kind is None or entry.kind == kind]


def find(kind: Kind, name: str) -> Entry:
    """The part of an id, or of the newest version of an unversioned name.

    Raises:
        UnknownNameError: There is no such part.
        InvalidInputError: It is listed twice, or incorrectly.
    """
    known = listing(kind)
    matching = [entry for entry in known if entry.id == name] or [
        entry for entry in known if _name_and_version(entry)[0] == name
    ]
    if not matching:
        versioned = read_id(name) is not None
        names = {entry.id if versioned else _name_and_version(entry)[0] for entry in known}
        raise UnknownNameError(kind, name, names)
    newest = max(matching, key=_name_and_version)
    if problem := newest.problem:
        raise InvalidInputError(problem, "Remove or fix the package at fault.")
    return newest


def forget() -> None:
    """Read the installed packages and their sources again from now on."""
    entries.cache_clear()
    summary.cache_clear()
    source_body.cache_clear()
