"""A fixed sample of environments, the same for every agent."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Literal

from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    Budget,
    Clock,
    ClockKind,
    EnvironmentClass,
    Exercise,
    Instance,
    InvalidInputError,
    Outcome,
    Payoff,
    Protocol,
    Score,
    Spec,
    Timeout,
    TimeoutRule,
    check_company,
)
from omnimeter.protocols.drawing import draw, payoff_bounds
from omnimeter.protocols.scoring import Scoring
from omnimeter.protocols.specs import SpecLike, read_spec


class Sample(Protocol):
    """Every agent takes the same number of exercises in the same drawn environments.

    The score estimates the expected payoff over environments drawn from the class (at each
    complexity that is asked for, with the same weight), over the agent's chance and over the
    environment's. Exercises that ended in a fault are left out of the value and counted beside it;
    faults of the agent's own widen the interval.

    Args:
        environments: The environment class.
        exercises: How many environments are drawn.
        interactions: The length of each exercise in interactions.
        seconds: The length of each exercise in seconds.
        complexity: The complexity of the environments; of several, each in turn; by default the
            class draws it too.
        payoff: What turns a trace into a number.
        clock: ``wall`` or ``virtual``; by default wall if the length is given in seconds.
        tick: Seconds of an action under the virtual clock when the agent declares none.
        timeout: Seconds after which an action comes too late.
        timeout_rule: What then takes its place: ``no-reward`` or ``random-action``.
        seed: The root of all chance.
        company: The agents that are in the environments together, in the order of their seats; by
            default everybody is alone. Only its members can be evaluated.
    """

    def __init__(
        self,
        environments: SpecLike,
        exercises: int = 20,
        interactions: int | None = None,
        seconds: float | None = None,
        complexity: float | list[float] | None = None,
        payoff: SpecLike = "average-v1",
        clock: Literal["wall", "virtual"] | None = None,
        tick: float = 1.0,
        timeout: float | None = None,
        timeout_rule: Literal["no-reward", "random-action"] = "no-reward",
        seed: int = 0,
        company: list[SpecLike] | None = None,
    ) -> None:
        if exercises < 1:
            raise InvalidInputError(
                f"There cannot be {exercises} exercises.", "Give a number from 1 up."
            )
        self.environments = read_spec(Kind.ENVIRONMENT, environments)
        self.exercises = exercises
        self.budget = Budget(interactions, seconds)
        kind = clock or ("virtual" if seconds is None else "wall")
        self.clock = Clock(ClockKind(kind), tick)
        self.timeout = None if timeout is None else Timeout(timeout, TimeoutRule(timeout_rule))
        self.levels = complexity if isinstance(complexity, list) else [complexity]
        self.seed = seed
        self.company = tuple(read_spec(Kind.AGENT, member) for member in company or ())
        if company is not None:
            check_company(self.company, self.clock, self.timeout)
        self._payoff: Payoff = make(Kind.PAYOFF, read_spec(Kind.PAYOFF, payoff))

    @cached_property
    def environment_class(self) -> EnvironmentClass:
        """The class that the environments are drawn from."""
        made: EnvironmentClass = make(Kind.ENVIRONMENT, self.environments)
        if self.company:
            made.seating([None] * len(self.company))  # refuses if there is no room for them
        return made

    @cached_property
    def instances(self) -> list[Instance]:
        """The drawn environments."""
        levels = [self.levels[number % len(self.levels)] for number in range(self.exercises)]
        return [
            draw(self.environment_class, self.environments, self.seed, number, level)
            for number, level in enumerate(levels)
        ]

    def bounds(self) -> tuple[float, float]:
        """Between which numbers every payoff lies."""
        return self._bounds

    @cached_property
    def _bounds(self) -> tuple[float, float]:
        drawn = ((self.environment_class, instance) for instance in self.instances)
        return payoff_bounds(self._payoff, drawn)

    def payoff(self) -> Payoff:
        """What turns a trace into a number in this test."""
        return self._payoff

    def expected(self) -> int:
        """How many exercises one agent takes."""
        return self.exercises

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> list[Exercise]:
        """All the exercises that the agent has not taken yet."""
        taken = {outcome.exercise.number for outcome in outcomes}
        return [
            Exercise(
                agent=agent,
                environment_class=self.environments,
                instance=instance,
                budget=self.budget,
                seed=self.seed,
                number=number,
                clock=self.clock,
                timeout=self.timeout,
                complexity=self.environment_class.complexity(instance),
                company=self.company,
            )
            for number, instance in enumerate(self.instances)
            if number not in taken
        ]

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean payoff with its 95 % interval; complexities that were asked for are strata."""
        return Scoring(len(self.levels), self.bounds()).score(outcomes)

    def stratum(self, exercise: Exercise) -> int:
        """Which of the complexities that were asked for."""
        return exercise.number % len(self.levels)
