"""The list of all parts that can be had, made without importing any of them."""

from __future__ import annotations

from dataclasses import dataclass

from omnimeter.catalogue.entries import Claim, claims, problem
from omnimeter.catalogue.kinds import Kind
from omnimeter.catalogue.summaries import forget_summaries, summary


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
