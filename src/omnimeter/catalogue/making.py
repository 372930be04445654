"""From a name or a spec to a part: resolving, constructing and describing it."""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from functools import partial
from os.path import isfile
from typing import Any

from omnimeter.catalogue.consent import check_consent
from omnimeter.catalogue.docstrings import split_docstring
from omnimeter.catalogue.entries import Kind, find
from omnimeter.catalogue.loading import (
    Location,
    construction_error,
    load_object,
    place_of,
    read_location,
)
from omnimeter.catalogue.objects import build, fresh, is_object
from omnimeter.catalogue.parameters import Parameter, described_parameters, settable, validated
from omnimeter.catalogue.specs import check_digest
from omnimeter.contract import EnvironmentClass, InvalidInputError, OmnimeterError, Protocol, Spec
from omnimeter.contract.errors import BrokenPartError


def resolve(kind: Kind, name: str) -> Any:
    """The class, function or object of a name.

    Args:
        kind: What it must be.
        name: An id (``cups-v1``, or ``cups`` for its newest version) or a location
            (``path/to/file.py:Name`` or ``package.module:Name``).

    Raises:
        UnknownNameError: There is no part of that name.
        InvalidInputError: The part cannot be used, or may not be imported (``without_consent``).
    """
    location = read_location(name)
    if location is not None:
        check_consent(name)
        part = load_object(location)
    else:
        entry = find(kind, name)
        name = f"{entry.id} of the package {entry.package!r} ({entry.location})"
        try:
            part = load_object(Location(*entry.location.split(":")))
        except OmnimeterError as error:
            listed = f"The package {entry.package!r} lists the {kind} {entry.id!r}"
            message = f"{listed} at {entry.location}, but it cannot be loaded: {error}"
            raise _kind(error)(message) from error
    if objection := _objection(kind, part):
        raise InvalidInputError(f"{name} cannot be used as {kind.phrase}: {objection}.")
    return part


def _kind(error: OmnimeterError) -> type[InvalidInputError]:
    """A part that is made of a broken one is broken, too."""
    return BrokenPartError if isinstance(error, BrokenPartError) else InvalidInputError


def _objection(kind: Kind, part: object) -> str:  # noqa: PLR0911 - one for each kind
    """Why an object cannot be a part of some kind; empty when it can."""
    match kind:
        case Kind.ENVIRONMENT | Kind.PROTOCOL:
            base: type = EnvironmentClass if kind is Kind.ENVIRONMENT else Protocol
            if isinstance(part, base):
                return f"it is one object of {type(part).__name__}; name the class itself"
            fits = isinstance(part, type) and issubclass(part, base)
            return "" if fits else f"it is not a subclass of omnimeter.{base.__name__}"
        case Kind.AGENT:
            if any(_has_method(part, method) for method in ("act", "predict", "__call__")):
                return ""
            return "it is not a subclass of omnimeter.Agent, nor can it act, predict or be called"
        case Kind.PAYOFF | Kind.ADJUSTMENT:
            missing = [each for each in ("__call__", "bounds") if not _has_method(part, each)]
            wanted = f"{kind.phrase} defines {' and '.join(missing)}"
            return f"{wanted}, and this does not" if missing else ""
        case Kind.REPRODUCTION:
            return "" if callable(part) else "it cannot be called"
        case Kind.ELEMENT:
            fits = isinstance(part, type) and _has_method(part, "act")
            return "" if fits else "it is not a class with a method act"


def _has_method(part: object, method: str) -> bool:
    """Whether an object, or the objects of a class, have a method; every class can be called."""
    if isinstance(part, type):
        return any(method in vars(base) for base in part.__mro__)
    return hasattr(part, method)


def make(kind: Kind, spec: Spec) -> Any:
    """Construct a class, or bind a function to its parameters.

    Of an agent that is a single object there is a copy each time, and any other part as it is.

    Raises:
        UnknownNameError: There is no such part.
        InvalidInputError: The part cannot be loaded, its file has changed, or a parameter is wrong.
    """
    check_digest(spec)
    part = build(spec) if is_object(spec.id) else resolve(kind, spec.id)
    if not isinstance(part, type):
        if not spec.parameters:
            single = kind is Kind.AGENT and not inspect.isroutine(part)
            return fresh(part, spec.id) if single and not is_object(spec.id) else part
        if not inspect.isroutine(part):
            raise InvalidInputError(f"{spec.id} is a single object, which takes no parameters.")
        return partial(part, **validated(part, spec.parameters, spec.id))
    values = validated(part, spec.parameters, spec.id)
    if isinstance(file := values.get("file"), str) and isfile(place_of(file)):
        values["file"] = place_of(file)
    try:
        return part(**values)
    except OmnimeterError as error:
        raise _kind(error)(f"{spec.id}: {error.message}", error.advice) from error
    except (Exception, SystemExit) as error:
        raise construction_error(error, spec) from error


@dataclass(frozen=True, slots=True)
class Description:
    """A part, as it is shown to users.

    Attributes:
        id: Its id, or its location when it has none.
        package: The package that it comes from; empty for a location.
        doc: Its docstring, without what is said in ``parameters``.
    """

    id: str
    package: str
    location: str
    doc: str
    parameters: list[Parameter]


def describe(kind: Kind, name: str) -> Description:
    """Describe one part, which is imported for that.

    Raises:
        UnknownNameError: There is no part of that name.
        InvalidInputError: The part cannot be used.
    """
    part = resolve(kind, name)
    names = [each.name for each in settable(part)] if callable(part) else []
    doc, docs = split_docstring(getattr(part, "__doc__", None), names)
    if isinstance(part, type):  # whose constructor may describe the parameters itself
        docs = split_docstring(inspect.getattr_static(part, "__init__").__doc__, names)[1] | docs
    parameters = described_parameters(part, docs)
    if read_location(name) is not None:
        return Description(name, "", name, doc, parameters)
    entry = find(kind, name)
    return Description(entry.id, entry.package, entry.location, doc, parameters)
