"""A battery: a sequence of unequal exercises, the same for every agent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    Budget,
    EnvironmentClass,
    Exercise,
    Instance,
    InvalidInputError,
    Outcome,
    Payoff,
    Protocol,
    Score,
    Spec,
)
from omnimeter.protocols.battery_files import find_battery
from omnimeter.protocols.battery_plan import Item
from omnimeter.protocols.drawing import draw, payoff_bounds
from omnimeter.protocols.scoring import Scoring
from omnimeter.protocols.specs import SpecLike, read_spec


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
    """

    def __init__(
        self,
        battery: SpecLike,
        tests: int = 1,
        payoff: SpecLike = "average-v1",
        seed: int = 0,
    ) -> None:
        if tests < 1:
            raise InvalidInputError(f"There cannot be {tests} tests.", "Give a number from 1 up.")
        self.plan = find_battery(battery)
        self.tests = tests
        self.seed = seed
        self._payoff: Payoff = make(Kind.PAYOFF, read_spec(Kind.PAYOFF, payoff))

    @cached_property
    def drawn(self) -> list[_Drawn]:
        """The exercises of all tests, test after test."""
        made: dict[Spec, EnvironmentClass] = {
            spec: make(Kind.ENVIRONMENT, spec)
            for spec in dict.fromkeys(item.environments for item in self.plan.items)
        }
        return [
            self._draw(number, item, made[item.environments])
            for number, item in enumerate(self.plan.items * self.tests)
        ]

    def _draw(self, number: int, item: Item, environment_class: EnvironmentClass) -> _Drawn:
        instance = draw(environment_class, item.environments, self.seed, number, item.complexity)
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
                environment_class=each.item.environments,
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
