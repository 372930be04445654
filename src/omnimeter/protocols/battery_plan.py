"""What a battery consists of, as data, and what is wrong with data that is no battery."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import (
    FOREVER,
    EnvironmentClass,
    InvalidInputError,
    OmnimeterError,
    Spec,
    UnknownNameError,
)
from omnimeter.protocols.drawing import draw

_FORM = 'A battery is {"title": "...", "exercises": [{"environments": ..., "interactions": ...}]}.'
_SPEC_FORM = 'An environment class is "name(parameter=value)", or {"id": ..., "parameters": {...}}.'
_FIELDS = ("title", "exercises")
_ITEM_FIELDS = ("environments", "interactions", "complexity")
_SPEC_FIELDS = {"id": str, "parameters": Mapping, "digest": str}


@dataclass(frozen=True)
class Item:
    """One exercise of a battery, before an environment is drawn for it.

    Attributes:
        environments: The environment class.
        interactions: How long it lasts.
        complexity: The complexity of the environment; by default the class draws it too.
    """

    environments: Spec
    interactions: int
    complexity: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The exercise as plain data."""
        data = {"environments": self.environments.to_json(), "interactions": self.interactions}
        return data if self.complexity is None else {**data, "complexity": self.complexity}


@dataclass(frozen=True)
class Plan:
    """A battery.

    Attributes:
        title: What people call it.
        items: Its exercises, in order.
    """

    title: str
    items: tuple[Item, ...]

    def to_json(self) -> dict[str, Any]:
        """The battery as plain data, with full ids: enough to take it again elsewhere."""
        return {"title": self.title, "exercises": [item.to_json() for item in self.items]}


def read_plan(data: Any, where: str) -> Plan:
    """The battery that some JSON data describes.

    Args:
        data: The data.
        where: What a person calls it, for messages.

    Raises:
        OmnimeterError: It is no battery; the message says which exercise and which field.
    """
    fields = _fields(data, _FIELDS, _FIELDS, where)
    title, exercises = fields["title"], fields["exercises"]
    if not isinstance(title, str) or not title.strip():
        raise _cannot_be(title, f"{where}, title", "Give a text.")
    if not isinstance(exercises, list) or not exercises:
        raise InvalidInputError(f"{where}, exercises: this is not a list of exercises.", _FORM)
    items = [_item(each, f"{where}, exercise {number}") for number, each in enumerate(exercises, 1)]
    return Plan(title, tuple(items))


def _item(data: Any, where: str) -> Item:
    fields = _fields(data, _ITEM_FIELDS, _ITEM_FIELDS[:2], where)
    spec, environment_class = _environments(fields["environments"], f"{where}, environments")
    interactions = _interactions(fields["interactions"], f"{where}, interactions")
    complexity = fields.get("complexity")
    if complexity is not None:
        _check_complexity(complexity, spec, environment_class, f"{where}, complexity")
    return Item(spec, interactions, complexity)


def _fields(
    data: Any, known: Collection[str], needed: Collection[str], where: str, form: str = _FORM
) -> Mapping[str, Any]:
    if not isinstance(data, Mapping):
        raise InvalidInputError(f"{where}: this is not an object with fields.", form)
    for name in data:
        if name not in known:
            raise UnknownNameError(f"field in {where} called", name, known)
    for name in needed:
        if name not in data:
            raise InvalidInputError(f"{where}, {name}: the field is missing.", form)
    return data


def _environments(given: Any, where: str) -> tuple[Spec, EnvironmentClass]:
    """The spec with its full id and digest, and the class, which is made to see that it can be."""
    wanted = given if isinstance(given, str) else _spec(given, where)
    with _blamed_on(where):
        spec = _full(wanted)
        return spec, make(Kind.ENVIRONMENT, spec)


def _spec(given: Any, where: str) -> Spec:
    fields = _fields(given, _SPEC_FIELDS, ("id",), where, _SPEC_FORM)
    for name, value in fields.items():
        if not isinstance(value, _SPEC_FIELDS[name]):
            raise _cannot_be(value, f"{where}, {name}", _SPEC_FORM)
    return Spec.from_json(fields)


def _full(wanted: str | Spec) -> Spec:
    if isinstance(wanted, str):
        return parse(Kind.ENVIRONMENT, wanted)
    if wanted.digest:  # written down by us
        return wanted
    return replace(parse(Kind.ENVIRONMENT, wanted.id), parameters=wanted.parameters)


def _interactions(given: Any, where: str) -> int:
    if isinstance(given, bool) or not isinstance(given, int) or not 1 <= given <= FOREVER:
        raise _cannot_be(given, where, "Give a whole number above 0.")
    return given


def _check_complexity(given: Any, spec: Spec, made: EnvironmentClass, where: str) -> None:
    if isinstance(given, bool) or not isinstance(given, int | float) or not isfinite(given):
        raise _cannot_be(given, where, "Give a number, or leave it out.")
    with _blamed_on(where):
        draw(made, spec, seed=0, number=0, complexity=given)  # to see that there is one


def _cannot_be(given: Any, where: str, advice: str) -> InvalidInputError:
    return InvalidInputError(f"{where}: it cannot be {json.dumps(given)}.", advice)


@contextmanager
def _blamed_on(where: str) -> Iterator[None]:
    """Errors inside say where in the battery they come from."""
    try:
        yield
    except OmnimeterError as error:
        raise InvalidInputError(f"{where}: {error.message}", error.advice) from error
