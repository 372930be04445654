"""The installed parts: their kinds, versioned ids and entry points, read without importing them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from importlib import metadata
from typing import NamedTuple

from omnimeter.contract import EnvironmentClass, InvalidInputError, Protocol, UnknownNameError


class Kind(StrEnum):
    """The kinds of parts in the catalogue."""

    ENVIRONMENT = "environment"
    AGENT = "agent"
    PROTOCOL = "protocol"
    PAYOFF = "payoff"
    ADJUSTMENT = "adjustment"
    REPRODUCTION = "reproduction"

    @property
    def group(self) -> str:
        """The group of entry points under which packages list parts of this kind."""
        return f"omnimeter.{self}s"

    @property
    def phrase(self) -> str:
        """The kind in the middle of a sentence: ``an agent``."""
        article = "an" if self.value[0] in "ae" else "a"
        return f"{article} {self.value}"


def objection(kind: Kind, thing: object) -> str:
    """Why an object cannot be a part of some kind; empty when it can."""
    match kind:
        case Kind.ENVIRONMENT:
            return _not_derived(thing, EnvironmentClass)
        case Kind.PROTOCOL:
            return _not_derived(thing, Protocol)
        case Kind.AGENT:
            if any(_offers(thing, method) for method in ("act", "predict", "__call__")):
                return ""
            return "it is not a subclass of omnimeter.Agent, nor can it act, predict or be called"
        case Kind.PAYOFF | Kind.ADJUSTMENT:
            missing = [method for method in ("__call__", "bounds") if not _offers(thing, method)]
            wanted = f"{kind.phrase} defines {' and '.join(missing)}"
            return f"{wanted}, and this does not" if missing else ""
        case Kind.REPRODUCTION:
            return "" if callable(thing) else "it cannot be called"


def _not_derived(thing: object, base: type) -> str:
    if isinstance(thing, type) and issubclass(thing, base):
        return ""
    if isinstance(thing, base):
        return f"it is one object of {type(thing).__name__}; name the class itself"
    return f"it is not a subclass of omnimeter.{base.__name__}"


def _offers(thing: object, method: str) -> bool:
    """Whether an object, or the objects of a class, have a method.

    Every class can be called, so for a class only what it defines for its objects counts.
    """
    if isinstance(thing, type):
        return any(method in vars(base) for base in thing.__mro__)
    return hasattr(thing, method)


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


_PLACE = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")


@dataclass(frozen=True, slots=True)
class Claim:
    """What one package lists under one name.

    Attributes:
        kind: As what kind of part.
        name: Under which name; an id if it is well formed.
        place: Where the part is, ``package.module:Name``.
        package: Which package says so.
        version: In which of its versions.
    """

    kind: Kind
    name: str
    place: str
    package: str
    version: str


def read_entry_points() -> tuple[Claim, ...]:
    """All claims of all installed packages. Only this function looks at the packages."""
    points = metadata.entry_points()
    owners: dict[int, tuple[str, str]] = {}  # reading a package's metadata anew is slow
    found = []
    for kind in Kind:
        for point in points.select(group=kind.group):
            if id(point.dist) not in owners:
                owners[id(point.dist)] = _owner(point.dist)
            package, version = owners[id(point.dist)]
            found.append(Claim(kind, point.name, point.value, package, version))
    return tuple(found)


def _owner(distribution: metadata.Distribution | None) -> tuple[str, str]:
    if distribution is None:
        return "a package without a name", ""
    return distribution.name or "a package without a name", distribution.version or ""


@cache
def claims() -> tuple[Claim, ...]:
    """All claims, read once per process, ordered by kind, id and package."""
    order = list(Kind)
    return tuple(
        sorted(
            dict.fromkeys(read_entry_points()),
            key=lambda claim: (order.index(claim.kind), *_parts(claim), claim.package, claim.place),
        )
    )


def problem(claim: Claim) -> str:
    """What is wrong with a claim, naming the package at fault; empty when nothing is."""
    if read_id(claim.name) is None:
        return (
            f"The package {claim.package!r} lists the {claim.kind} {claim.name!r}, which is not an "
            f"id: {FORM}."
        )
    if not _PLACE.fullmatch(claim.place):
        return (
            f"The package {claim.package!r} lists the {claim.kind} {claim.name!r} at "
            f"{claim.place!r}, which is not of the form 'package.module:Name'."
        )
    rivals = [other for other in claims() if (other.kind, other.name) == (claim.kind, claim.name)]
    if len(rivals) > 1:
        said = " and ".join(f"{rival.package!r} ({rival.place})" for rival in rivals)
        return f"The {claim.kind} {claim.name!r} is claimed more than once: by {said}."
    return ""


def find(kind: Kind, name: str) -> Claim:
    """The claim to an id, or to the newest version of an unversioned name.

    Raises:
        UnknownNameError: Nobody claims it.
        InvalidInputError: It is claimed twice, or not properly.
    """
    known = [claim for claim in claims() if claim.kind == kind]
    matching = [claim for claim in known if claim.name == name]
    if not matching:
        matching = [claim for claim in known if _parts(claim).name == name]
        matching.sort(key=_parts, reverse=True)
    if not matching:
        versioned = read_id(name) is not None
        raise UnknownNameError(
            kind, name, {claim.name if versioned else _parts(claim).name for claim in known}
        )
    if wrong := problem(matching[0]):
        raise InvalidInputError(wrong, "Remove or mend the package at fault.")
    return matching[0]


def _parts(claim: Claim) -> VersionedName:
    return read_id(claim.name) or VersionedName(claim.name, -1)
