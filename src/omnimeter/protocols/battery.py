"""A battery: a sequence of different exercises, the same for every agent, from a JSON file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.resources import files
from typing import Annotated, Any

from pydantic import Field

from omnimeter.catalogue import Kind, make, parse, with_digest
from omnimeter.contract import (
    Budget,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    OmnimeterError,
    Spec,
    UnknownNameError,
)
from omnimeter.contract.errors import check_count
from omnimeter.contract.exercise import FOREVER
from omnimeter.contract.protocol import Design, Memory
from omnimeter.contract.spec import JsonData, read_json
from omnimeter.protocols.sample import FixedProtocol, Planned, SpecLike, draw

_FORMAT = (
    'Write {"title": "...", "exercises": [{"environment_class": ..., "interactions": ...}]}. '
    'An environment class is "name(parameter=value)" or {"id": ..., "parameters": {...}}.'
)


@dataclass(frozen=True)
class Item(JsonData):
    """One exercise of a battery; without a ``complexity`` the class draws that too.

    With an ``instance`` nothing is drawn: every test has that environment.
    """

    environment_class: Spec
    interactions: Annotated[int, Field(ge=1, le=FOREVER)]
    complexity: Annotated[float, Field(allow_inf_nan=False)] | None = None
    instance: Instance | None = None


@dataclass(frozen=True)
class Plan(JsonData):
    """A battery: its title for readers, and its exercises in order."""

    title: Annotated[str, Field(pattern=r"\S")]
    exercises: Annotated[tuple[Item, ...], Field(min_length=1)]


def _read_plan(data: Any, where: str) -> Plan:
    """The battery that some JSON data describes, with full ids: enough to take it elsewhere."""
    if isinstance(data, Mapping) and isinstance(data.get("exercises"), list):
        exercises = [
            dict(each) if isinstance(each, Mapping) else each for each in data["exercises"]
        ]
        for each in exercises:
            if isinstance(each, dict) and isinstance(each.get("environment_class"), str):
                each["environment_class"] = {"id": each["environment_class"]}
        data = {**data, "exercises": exercises}
    plan = Plan.from_json(json.dumps(data), where, _FORMAT)
    items = []
    for number, item in enumerate(plan.exercises):
        spec, field = item.environment_class, "environment_class"
        try:
            if not spec.digest:  # else it was written by us
                parsed = parse(Kind.ENVIRONMENT, spec.id)
                given = {**parsed.parameters, **spec.parameters}
                spec = with_digest(replace(parsed, parameters=given, digest=""))
            environment_class = make(Kind.ENVIRONMENT, spec)
            if item.instance is not None:
                field = "instance"
                if item.complexity is not None:
                    message = "An environment that is given has its own complexity."
                    raise InvalidInputError(message, "Leave out complexity, or the instance.")
                check_instance(environment_class, spec, item.instance)
            elif item.complexity is not None:
                field = "complexity"
                draw(environment_class, spec, seed=0, number=0, complexity=item.complexity)
        except OmnimeterError as error:
            message = f"{where}: exercises[{number}].{field}: {error.message}"
            raise InvalidInputError(message, error.advice) from error
        items.append(replace(item, environment_class=spec))
    return replace(plan, exercises=tuple(items))


def check_instance(environment_class: EnvironmentClass, spec: Spec, instance: Instance) -> float:
    """The complexity of an instance that did not come from the class's own draw.

    Raises:
        InvalidInputError: The class cannot build it, or not say how complex it is.
    """
    try:
        environment_class.build(instance)
        return float(environment_class.complexity(instance))
    except OmnimeterError:
        raise
    except (Exception, SystemExit) as error:  # whatever a description lacks
        what = f"{type(error).__name__}: {error}"
        message = f"{spec.label} cannot build it: {what}."
        raise InvalidInputError(message, "Compare it with one that the class draws.") from error


def battery_names() -> list[str]:
    """The batteries that come with the package."""
    names = (file.name for file in _folder().iterdir())
    return sorted(name.removesuffix(".json") for name in names if name.endswith(".json"))


def find_battery(given: str | Mapping[str, Any]) -> Plan:
    """The battery of a name, of a file, or of the data of one.

    Args:
        given: A name of ``battery_names``, the path of a JSON file, or what such a file holds.

    Raises:
        UnknownNameError: There is no battery of that name.
        InvalidInputError: It is no battery; the message says which exercise and which field.
    """
    if not isinstance(given, str):
        title = given.get("title")
        return _read_plan(given, f"The battery {title!r}" if title else "The battery")
    names = battery_names()
    if _is_file(given):
        advice = f"Give the JSON file of a battery, or one of: {', '.join(names)}."
        return _read_plan(read_json(given, advice), given)
    if given not in names:
        raise UnknownNameError("battery", given, names)
    return _read_plan(json.loads((_folder() / f"{given}.json").read_text("utf-8")), given)


def snapshot(given: str | Mapping[str, Any]) -> str | dict[str, Any]:
    """What to write down of a battery: its name, or the whole content of a file.

    A file may change or get lost. Its content does not, and can be taken again elsewhere.

    Raises:
        OmnimeterError: As for ``find_battery``.
    """
    plan = find_battery(given)
    return given if isinstance(given, str) and not _is_file(given) else plan.to_json()


def _is_file(given: str) -> bool:
    return given.endswith(".json") or "/" in given or "\\" in given


def _folder() -> Any:
    return files("omnimeter.protocols") / "batteries"


class Battery(FixedProtocol):
    """Every agent takes the same sequence of exercises, each with its own class and length.

    A test is one pass through the sequence. Each test draws all its environments anew, but for
    those that the battery gives, and every agent meets the same ones with the same randomness.

    The score is the mean payoff over the exercises of the sequence, all with the same weight. With
    two tests or more each exercise of the sequence is a stratum, and only the spread over tests
    makes the interval. In one test alone an exercise has no spread. All exercises are then
    taken as one sample: that some are harder counts as uncertainty too. An exercise of the sequence
    without any payoff may be worth anything.
    Exercises that ended in a fault are left out of the value and counted separately; the agent's
    own faults widen the interval.

    Args:
        battery: The name of a battery that comes with the package (``thesis-table-6-1``), the path
            of a JSON file, or what such a file holds.
        tests: How many times the sequence is taken.
        payoff: What turns a trace into a number.
        seed: The root of all randomness.
        memory: ``fresh`` (a new agent for every exercise) or ``carried`` (one agent takes all
            exercises in order).
    """

    grows = "tests"

    def __init__(
        self,
        battery: SpecLike,
        tests: int = 1,
        payoff: SpecLike = "planned-average-v1",
        seed: int = 0,
        memory: Memory = "fresh",
    ) -> None:
        check_count(tests, "tests")
        self.plan = find_battery(battery)
        self.parts = len(self.plan.exercises)
        self.tests, self.exercises = tests, self.parts * tests
        self.memory = memory
        super().__init__(payoff, seed)

    @cached_property
    def _made(self) -> dict[Spec, EnvironmentClass]:
        """The class of each spec in the battery."""
        specs = dict.fromkeys(item.environment_class for item in self.plan.exercises)
        return {each: make(Kind.ENVIRONMENT, each) for each in specs}

    def classes(self) -> list[EnvironmentClass]:
        """The different classes."""
        return list(self._made.values())

    def plan_exercise(self, number: int) -> Planned:
        """The exercise of some number; the tests are taken one after the other."""
        item = self.plan.exercises[number % self.parts]
        spec, made = item.environment_class, self._made[item.environment_class]
        instance = item.instance or draw(made, spec, self.seed, number, item.complexity)
        budget = Budget(item.interactions)
        return Planned(spec, made, instance, budget, made.complexity(instance))

    def describe(self) -> Design:
        """The battery's title."""
        return replace(super().describe(), battery=self.plan.title)

    def settings(self) -> dict[str, str]:
        """Which battery, and how many times it is taken."""
        return {"Battery": f"{self.plan.title}, {self.tests} test{'s' * (self.tests > 1)}"}
