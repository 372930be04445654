"""From a name to a part: by id through the entry points, or by its place."""

from __future__ import annotations

from typing import Any

from omnimeter.catalogue.entries import Claim, find
from omnimeter.catalogue.kinds import Kind, objection
from omnimeter.catalogue.places import Place, find_object, read_place
from omnimeter.contract import InvalidInputError, OmnimeterError


def resolve(kind: Kind, name: str) -> Any:
    """The class, function or object that a name stands for.

    Args:
        kind: What it must be.
        name: An id (``cups-v1``, or ``cups`` for its newest version) or a place
            (``path/to/file.py:Name`` or ``package.module:Name``).

    Raises:
        UnknownNameError: There is nothing of that name.
        InvalidInputError: What is there cannot be used.
    """
    place = read_place(name)
    if place is not None:
        thing = find_object(place)
        origin = name
    else:
        claim = find(kind, name)
        origin = f"{claim.name} of the package {claim.package!r} ({claim.place})"
        thing = _listed(claim)
    if wrong := objection(kind, thing):
        raise InvalidInputError(f"{origin} cannot be used as {kind.phrase}: {wrong}.")
    return thing


def _listed(claim: Claim) -> Any:
    source, _, name = claim.place.partition(":")
    try:
        return find_object(Place(source, name))
    except OmnimeterError as error:
        raise InvalidInputError(
            f"The package {claim.package!r} lists the {claim.kind} {claim.name!r} at "
            f"{claim.place}, but it cannot be had: {error}"
        ) from error
