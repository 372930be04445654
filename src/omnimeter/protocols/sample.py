"""A fixed sample of environments, the same for every agent, and its score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import inf, isfinite
from typing import Any, Literal

from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import (
    Budget,
    Clock,
    ClockKind,
    Environment,
    EnvironmentClass,
    Exercise,
    Instance,
    Interval,
    InvalidInputError,
    OmnimeterError,
    Outcome,
    Payoff,
    Protocol,
    Score,
    Spec,
    Timeout,
    TimeoutRule,
    check_joint,
    is_own_fault,
    stream,
)
from omnimeter.contract.protocol import Memory
from omnimeter.estimation import Estimate, stratified_mean

SpecLike = str | dict[str, Any]


def read_spec(kind: Kind, given: SpecLike) -> Spec:
    """A spec from what a person types or from its JSON."""
    if isinstance(given, str):
        return parse(kind, given)
    if not isinstance(given.get("id"), str):
        raise InvalidInputError(
            f"The spec of the {kind.value} has no id.", 'Give {"id": "...", "parameters": {...}}.'
        )
    return Spec.from_json(given)


Drawn = tuple[EnvironmentClass, Instance]
"""An environment, and the class that it was drawn from."""


def draw(
    environment_class: EnvironmentClass,
    spec: Spec,
    seed: int,
    number: int,
    complexity: float | None = None,
) -> Instance:
    """The environment of the exercise of some number, the same for every agent.

    Args:
        environment_class: Where it is drawn from.
        spec: The spec of that class, for messages.
        seed: The root of all chance.
        number: The number of the exercise.
        complexity: The complexity that it must have, if one is asked for.

    Raises:
        InvalidInputError: The class cannot draw it.
    """
    chance = stream(seed, "instance", number).generator()
    try:
        return environment_class.draw(chance, complexity)
    except OmnimeterError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"{spec.label} raised {type(error).__name__} when drawing "
            f"environment {number}: {error}",
            "omnimeter audit examines the class.",
        ) from error


def payoff_bounds(payoff: Payoff, drawn: Iterable[Drawn]) -> tuple[float, float]:
    """Between which numbers the payoffs in some environments lie."""
    ranges = {_rewards(environment_class, instance) for environment_class, instance in drawn}
    limits = [payoff.bounds(rewards) for rewards in ranges]
    return min(low for low, _ in limits), max(high for _, high in limits)


def _rewards(environment_class: EnvironmentClass, instance: Instance) -> tuple[float, float]:
    try:
        return environment_class.build(instance).rewards
    except Exception:  # its exercises end in a fault, which says why
        return Environment.rewards


Paid = tuple[int, float]
"""The part of the test that an exercise belongs to, and what the exercise was worth."""


@dataclass(frozen=True, slots=True)
class Scoring:
    """How the outcomes of a test with fixed parts become a score.

    Exercise k belongs to part ``k % parts``. All parts have the same weight.

    Attributes:
        parts: How many parts there are, such as levels of complexity.
        bounds: Between which numbers every payoff lies.
    """

    parts: int
    bounds: tuple[float, float]

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean payoff with its 95 % interval.

        Parts are strata: how far they lie apart is no uncertainty. A fault of the agent's own may
        well hide a bad payoff, or a good one. So its exercise has no payoff, and the interval
        reaches from where it lies if all of these had been worth the least, to where it lies if
        they had been worth the most: an agent gains nothing by failing.
        """
        faults = Counter(str(each.fault.kind) for each in outcomes if each.fault is not None)
        paid = [(self._part(each), each.payoff) for each in outcomes if each.payoff is not None]
        if not paid:
            return Score(None, None, 0, faults)
        hidden = [self._part(each) for each in outcomes if is_own_fault(each)]
        lowest, highest = self.bounds
        support = (  # a class that breaks its own range is for the audit to find
            min(lowest, *(payoff for _, payoff in paid)),
            max(highest, *(payoff for _, payoff in paid)),
        )
        found = self._estimate(paid, support)
        low, high = found.low, found.high
        if hidden:
            worst, best = ([(part, end) for part in hidden] for end in support)
            least = self._estimate(paid + worst, support).low if isfinite(lowest) else -inf
            most = self._estimate(paid + best, support).high if isfinite(highest) else inf
            low, high = min(low, least), max(high, most)
        return Score(found.value, Interval(low, high, found.confidence), found.count, faults)

    def _part(self, outcome: Outcome) -> int:
        return outcome.exercise.number % self.parts

    def _estimate(self, paid: Sequence[Paid], support: tuple[float, float]) -> Estimate:
        """The mean over the parts. A part without any payoff may be worth anything.

        As long as no part has two payoffs, the spread inside parts is not known, and all are taken
        as one sample. How far the parts lie apart then counts as uncertainty too: the interval is
        rather too long than too short.
        """
        present: dict[int, list[float]] = {}
        for part, payoff in paid:
            present.setdefault(part, []).append(payoff)
        groups = [present[part] for part in sorted(present)]
        if all(len(group) == 1 for group in groups):
            groups = [[payoff for group in groups for payoff in group]]
        found = stratified_mean(groups, support=support)
        unknown = self.parts - len(present)
        if not unknown:
            return found
        low, high = (
            (end * len(present) + edge * unknown) / self.parts
            for end, edge in zip((found.low, found.high), support, strict=True)
        )
        return replace(found, low=min(low, found.low), high=max(high, found.high))


class Sample(Protocol):
    """Every agent takes the same number of exercises in the same drawn environments.

    The score estimates the expected payoff over environments drawn from the class (at each
    complexity that is asked for, with the same weight), over the agent's chance and over the
    environment's. Exercises that ended in a fault are left out of the value and counted beside it;
    faults of the agent's own widen the interval.

    Args:
        environment_class: The environment class.
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
        joint: The agents that are in the environments together, in the order of their seats; by
            default everybody is alone. Only its members can be evaluated.
        memory: ``fresh`` (a new agent for every exercise) or ``carried`` (one agent takes all
            exercises in order).
    """

    def __init__(
        self,
        environment_class: SpecLike,
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
        joint: list[SpecLike] | None = None,
        memory: Memory = "fresh",
    ) -> None:
        if exercises < 1:
            raise InvalidInputError(
                f"There cannot be {exercises} exercises.", "Give a number from 1 up."
            )
        self.environment_spec = read_spec(Kind.ENVIRONMENT, environment_class)
        self.exercises = exercises
        self.budget = Budget(interactions, seconds)
        kind = clock or ("virtual" if seconds is None else "wall")
        self.clock = Clock(ClockKind(kind), tick)
        self.timeout = None if timeout is None else Timeout(timeout, TimeoutRule(timeout_rule))
        self.levels = complexity if isinstance(complexity, list) else [complexity]
        self.seed = seed
        self.memory = memory
        self.joint = tuple(read_spec(Kind.AGENT, member) for member in joint or ())
        if joint is not None:
            check_joint(self.joint, self.clock, self.timeout)
        self._payoff: Payoff = make(Kind.PAYOFF, read_spec(Kind.PAYOFF, payoff))

    @cached_property
    def environment_class(self) -> EnvironmentClass:
        """The class that the environments are drawn from."""
        made: EnvironmentClass = make(Kind.ENVIRONMENT, self.environment_spec)
        if self.joint:
            made.seating([None] * len(self.joint))  # refuses if there is no room for them
        return made

    @cached_property
    def instances(self) -> list[Instance]:
        """The drawn environments."""
        levels = [self.levels[number % len(self.levels)] for number in range(self.exercises)]
        return [
            draw(self.environment_class, self.environment_spec, self.seed, number, level)
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
                environment_class=self.environment_spec,
                instance=instance,
                budget=self.budget,
                seed=self.seed,
                number=number,
                clock=self.clock,
                timeout=self.timeout,
                complexity=self.environment_class.complexity(instance),
                joint=self.joint,
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
