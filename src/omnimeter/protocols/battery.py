"""A battery: a sequence of different exercises, the same for every agent, from a JSON file."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from math import isfinite
from pathlib import Path
from typing import Any, NamedTuple

from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import (
    FOREVER,
    Budget,
    EnvironmentClass,
    Exercise,
    Instance,
    InvalidInputError,
    OmnimeterError,
    Outcome,
    Payoff,
    Protocol,
    Score,
    Spec,
    UnknownNameError,
    canonical,
)
from omnimeter.contract.protocol import Memory
from omnimeter.protocols.sample import Scoring, SpecLike, draw, payoff_bounds, read_spec

_FORM = (
    'A battery is {"title": "...", "exercises": [{"environment_class": ..., "interactions": ...}]}.'
)
_SPEC_FORM = 'An environment class is "name(parameter=value)", or {"id": ..., "parameters": {...}}.'
_FIELDS = ("title", "exercises")
_ITEM_FIELDS = ("environment_class", "interactions", "complexity")
_SPEC_FIELDS = {"id": str, "parameters": Mapping, "digest": str}


@dataclass(frozen=True)
class Item:
    """One exercise of a battery, before an environment is drawn for it.

    Attributes:
        environment_class: The environment class.
        interactions: How long it lasts.
        complexity: The complexity of the environment; by default the class draws it too.
    """

    environment_class: Spec
    interactions: int
    complexity: float | None = None

    def to_json(self) -> dict[str, Any]:
        """The exercise as plain data."""
        data = {
            "environment_class": self.environment_class.to_json(),
            "interactions": self.interactions,
        }
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
    spec, environment_class = _environments(
        fields["environment_class"], f"{where}, environment_class"
    )
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


_ENDING = ".json"


def battery_names() -> list[str]:
    """The batteries that come with the package."""
    found = (file.name for file in _folder().iterdir())
    return sorted(name.removesuffix(_ENDING) for name in found if name.endswith(_ENDING))


def find_battery(given: str | Mapping[str, Any]) -> Plan:
    """The battery of a name, of a file, or of the data of one.

    Args:
        given: A name of ``battery_names``, the path of a JSON file, or what such a file holds.

    Raises:
        UnknownNameError: There is no battery of that name.
        InvalidInputError: The file cannot be read, or is no battery.
    """
    if not isinstance(given, str):
        title = given.get("title")
        return read_plan(given, f"The battery {title!r}" if title else "The battery")
    if is_file(given):
        return read_plan(_read(Path(given)), given)
    names = battery_names()
    if given not in names:
        raise UnknownNameError("battery", given, names)
    return read_plan(json.loads((_folder() / f"{given}{_ENDING}").read_text("utf-8")), given)


def snapshot(given: str | Mapping[str, Any]) -> str | dict[str, Any]:
    """What to write down of a battery: its name, or the whole content of a file.

    A file may change or get lost. Its content does not, and can be taken again elsewhere.

    Raises:
        OmnimeterError: As for ``find_battery``.
    """
    plan = find_battery(given)
    return given if isinstance(given, str) and not is_file(given) else plan.to_json()


def is_file(given: str) -> bool:
    """Whether a text is a path, and not a name."""
    return given.endswith(_ENDING) or "/" in given or "\\" in given


def _folder() -> Any:
    return files("omnimeter.protocols") / "batteries"


def _read(path: Path) -> Any:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        canonical(data)  # refuses infinities
    except OSError as error:
        raise InvalidInputError(
            f"{path} cannot be read: {error.strerror}.",
            f"Give the JSON file of a battery, or one of: {', '.join(battery_names())}.",
        ) from error
    except json.JSONDecodeError as error:
        raise InvalidInputError(
            f"{path}, line {error.lineno}, column {error.colno}: this is not JSON: {error.msg}.",
            "Mend the file.",
        ) from error
    except ValueError as error:  # not UTF-8, or a number that is none
        raise InvalidInputError(f"{path} is not JSON: {error}.", "Mend the file.") from error
    return data


class _Drawn(NamedTuple):
    """An exercise that waits for an agent."""

    item: Item
    environment_class: EnvironmentClass
    instance: Instance
    complexity: float


class Battery(Protocol):
    """Every agent takes the same sequence of exercises, each with its own class and length.

    A test is one pass through the sequence. Each test draws all its environments anew, and every
    agent meets the same ones with the same chances.

    The score is the mean payoff over the exercises of the sequence, all with the same weight. With
    two tests or more each exercise of the sequence is a stratum, and only the spread over tests
    makes the interval. In one test alone an exercise has no spread. All exercises are then
    taken as one sample: that some are harder counts as uncertainty too, so the interval is rather
    too long than too short. An exercise of the sequence without any payoff may be worth anything.
    Exercises that ended in a fault are left out of the value and counted beside it; faults of the
    agent's own widen the interval.

    Args:
        battery: The name of a battery that comes with the package (``thesis-table-6-1``), the path
            of a JSON file, or what such a file holds.
        tests: How many times the sequence is taken.
        payoff: What turns a trace into a number.
        seed: The root of all chance.
        memory: ``fresh`` (a new agent for every exercise) or ``carried`` (one agent takes all
            exercises in order).
    """

    def __init__(
        self,
        battery: SpecLike,
        tests: int = 1,
        payoff: SpecLike = "average-v1",
        seed: int = 0,
        memory: Memory = "fresh",
    ) -> None:
        if tests < 1:
            raise InvalidInputError(f"There cannot be {tests} tests.", "Give a number from 1 up.")
        self.plan = find_battery(battery)
        self.tests = tests
        self.seed = seed
        self.memory = memory
        self._payoff: Payoff = make(Kind.PAYOFF, read_spec(Kind.PAYOFF, payoff))

    @cached_property
    def drawn(self) -> list[_Drawn]:
        """The exercises of all tests, test after test."""
        made: dict[Spec, EnvironmentClass] = {
            spec: make(Kind.ENVIRONMENT, spec)
            for spec in dict.fromkeys(item.environment_class for item in self.plan.items)
        }
        return [
            self._draw(number, item, made[item.environment_class])
            for number, item in enumerate(self.plan.items * self.tests)
        ]

    def _draw(self, number: int, item: Item, environment_class: EnvironmentClass) -> _Drawn:
        instance = draw(
            environment_class, item.environment_class, self.seed, number, item.complexity
        )
        return _Drawn(item, environment_class, instance, environment_class.complexity(instance))

    def payoff(self) -> Payoff:
        """What turns a trace into a number in this test."""
        return self._payoff

    def bounds(self) -> tuple[float, float]:
        """Between which numbers every payoff lies."""
        return self._bounds

    @cached_property
    def _bounds(self) -> tuple[float, float]:
        drawn = ((each.environment_class, each.instance) for each in self.drawn)
        return payoff_bounds(self._payoff, drawn)

    def expected(self) -> int:
        """How many exercises one agent takes."""
        return len(self.plan.items) * self.tests

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> list[Exercise]:
        """All the exercises that the agent has not taken yet."""
        taken = {outcome.exercise.number for outcome in outcomes}
        return [
            Exercise(
                agent=agent,
                environment_class=each.item.environment_class,
                instance=each.instance,
                budget=Budget(each.item.interactions),
                seed=self.seed,
                number=number,
                complexity=each.complexity,
            )
            for number, each in enumerate(self.drawn)
            if number not in taken
        ]

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean payoff over the exercises of the sequence, with its 95 % interval."""
        return Scoring(len(self.plan.items), self.bounds()).score(outcomes)

    def stratum(self, exercise: Exercise) -> int:
        """Which exercise of the sequence; in one test alone, all are one stratum."""
        return 0 if self.tests == 1 else exercise.number % len(self.plan.items)
