"""From a spec to a part: by id through the entry points, or from a file or module."""

from __future__ import annotations

from functools import partial
from inspect import isroutine
from typing import Any

from omnimeter.catalogue.entries import Claim, Kind, find, objection
from omnimeter.catalogue.files import Place, find_object, making_failure, read_place
from omnimeter.catalogue.objects import build, is_object
from omnimeter.catalogue.parameters import check_names
from omnimeter.catalogue.specs import check_digest
from omnimeter.contract import InvalidInputError, OmnimeterError, Spec


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


def make(kind: Kind, spec: Spec) -> Any:
    """Build a part with its parameters.

    A class is constructed. A function is bound to its parameters, and any other object is taken as
    it is: who uses it knows what to do with it.

    Raises:
        UnknownNameError: There is no such part.
        InvalidInputError: The part cannot be loaded, a parameter does not fit, the part refuses
            it, or its file is no longer what the spec says.
    """
    check_digest(spec)
    part = build(spec) if is_object(spec.id) else resolve(kind, spec.id)
    if not isinstance(part, type) and not spec.parameters:
        return part
    if not isinstance(part, type) and not isroutine(part):
        raise InvalidInputError(f"{spec.id} is a single object, which takes no parameters.")
    check_names(part, spec.parameters, spec.id)
    values = dict(spec.parameters)
    if values:
        from omnimeter.catalogue.parameters import coerced

        values = coerced(part, values, spec.id)
    return _constructed(part, values, spec) if isinstance(part, type) else partial(part, **values)


def _constructed(part: type, values: dict[str, Any], spec: Spec) -> Any:
    try:
        return part(**values)
    except OmnimeterError as error:
        raise InvalidInputError(f"{spec.id}: {error.message}", error.advice) from error
    except Exception as error:
        raise making_failure(error, spec.label) from error
