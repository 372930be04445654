"""A fixed sample of environments, the same for every agent, and its score."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import cycle, islice
from math import inf, isfinite
from typing import Any, Literal, NamedTuple

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
    stream,
)
from omnimeter.contract.exercise import check_joint, is_own_fault
from omnimeter.contract.protocol import Design, Memory
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


def draw(
    environment_class: EnvironmentClass,
    spec: Spec,
    seed: int,
    number: int,
    complexity: float | None = None,
) -> Instance:
    """Draw the environment of the exercise of some number, the same for every agent.

    Args:
        environment_class: The class that it is drawn from.
        spec: Its spec, for messages.
        seed: The root of all randomness.
        number: The number of the exercise.
        complexity: The complexity that it must have, if any.

    Raises:
        InvalidInputError: The class cannot draw it.
    """
    rng = stream(seed, "instance", number).generator()
    try:
        return environment_class.draw(rng, complexity)
    except OmnimeterError:
        raise
    except Exception as error:
        raise InvalidInputError(
            f"{spec.label} raised {type(error).__name__} when drawing "
            f"environment {number}: {error}",
            "omnimeter audit examines the class.",
        ) from error


def payoff_bounds(
    payoff: Payoff, drawn: Iterable[tuple[EnvironmentClass, Instance]]
) -> tuple[float, float]:
    """Between which numbers the payoffs in some environments lie."""

    def rewards(environment_class: EnvironmentClass, instance: Instance) -> tuple[float, float]:
        try:
            return environment_class.build(instance).rewards
        except Exception:  # its exercises end in a fault, which says why
            return Environment.rewards

    limits = [payoff.bounds(each) for each in {rewards(*each) for each in drawn}]
    return min(low for low, _ in limits), max(high for _, high in limits)


def check_balanced(environment_class: EnvironmentClass, spec: Spec) -> None:
    """Check that a class claims to be balanced, be it in the long run only (Definition 13).

    Raises:
        InvalidInputError: The class does not claim it.
    """
    if not environment_class.claims().balanced:
        raise InvalidInputError(
            f"{spec.label} is not balanced: random behaviour is worth something there.",
            "Choose another class, or insist with --unbalanced (unbalanced=true in a spec). "
            "omnimeter audit examines the class.",
        )


BALANCE = {
    True: "the class claims it",
    "limit": "the class claims it in the long run only",
    False: "the class does not claim it (--unbalanced)",
}
"""What a report says of the balance that a class claims."""


def balance_setting(environment_class: EnvironmentClass) -> dict[str, str]:
    """What a report says of the balance of a class."""
    return {"Balance": BALANCE[environment_class.claims().balanced]}


def mean_score(outcomes: Sequence[Outcome], parts: int, bounds: tuple[float, float]) -> Score:
    """The mean payoff with its 95 % interval, in a test with fixed parts of the same weight.

    Parts are strata: how far they lie apart is no uncertainty. A fault of the agent's own may
    well hide a bad payoff, or a good one. So its exercise has no payoff, and the interval
    reaches from where it lies if all of these had been worth the least, to where it lies if
    they had been worth the most: an agent gains nothing by failing.

    Args:
        outcomes: What came of one agent's exercises; exercise k belongs to part ``k % parts``.
        parts: How many parts there are, such as complexities.
        bounds: Between which numbers every payoff lies.
    """
    faults = Counter(str(each.fault.kind) for each in outcomes if each.fault is not None)
    numbered = [(each.exercise.number % parts, each) for each in outcomes]
    paid = [(part, each.payoff) for part, each in numbered if each.payoff is not None]
    if not paid:
        return Score(None, None, 0, faults)
    payoffs = [payoff for _, payoff in paid]
    # An audit finds a class that breaks its own range.
    support = min(bounds[0], *payoffs), max(bounds[1], *payoffs)
    estimate = _estimate(paid, parts, support)
    low, high = estimate.low, estimate.high
    hidden = [part for part, each in numbered if is_own_fault(each)]
    if hidden:
        worst, best = (paid + [(part, end) for part in hidden] for end in support)
        lowest = _estimate(worst, parts, support).low if isfinite(bounds[0]) else -inf
        highest = _estimate(best, parts, support).high if isfinite(bounds[1]) else inf
        low, high = min(low, lowest), max(high, highest)
    interval = Interval(low, high, estimate.confidence)
    return Score(estimate.value, interval, estimate.count, faults)


def _estimate(
    paid: Sequence[tuple[int, float]], parts: int, support: tuple[float, float]
) -> Estimate:
    """The mean over the parts. A part without any payoff may be worth anything.

    Where no part has two payoffs, all are one sample, and the interval is rather too long.
    """
    present: dict[int, list[float]] = {}
    for part, payoff in paid:
        present.setdefault(part, []).append(payoff)
    groups = [present[part] for part in sorted(present)]
    if all(len(group) == 1 for group in groups):
        groups = [[payoff for group in groups for payoff in group]]
    estimate = stratified_mean(groups, support=support)
    unknown = parts - len(present)
    if not unknown:
        return estimate
    low, high = (
        (end * len(present) + edge * unknown) / parts
        for end, edge in zip((estimate.low, estimate.high), support, strict=True)
    )
    return replace(estimate, low=min(low, estimate.low), high=max(high, estimate.high))


class Planned(NamedTuple):
    """An exercise before an agent takes it."""

    spec: Spec
    environment_class: EnvironmentClass
    instance: Instance
    budget: Budget
    complexity: float


class DrawnProtocol(Protocol):
    """A test in drawn environments: its payoff, the bounds of payoffs, and its exercises."""

    clock = Clock()
    timeout: Timeout | None = None
    joint: tuple[Spec, ...] = ()

    def __init__(self, payoff: SpecLike, seed: int) -> None:
        self.seed = seed
        self._payoff: Payoff = make(Kind.PAYOFF, read_spec(Kind.PAYOFF, payoff))

    @abstractmethod
    def drawn(self) -> Iterable[tuple[EnvironmentClass, Instance]]:
        """Environments that are known before an agent acts, which say where payoffs lie."""

    def payoff(self) -> Payoff:
        """What turns a trace into a number in this test."""
        return self._payoff

    def bounds(self) -> tuple[float, float]:
        """Between which numbers every payoff lies."""
        return self._payoff_range

    @cached_property
    def _payoff_range(self) -> tuple[float, float]:
        return payoff_bounds(self.payoff(), self.drawn())

    def exercise(self, agent: Spec, number: int, planned: Planned) -> Exercise:
        """The exercise that an agent takes."""
        return Exercise(
            agent=agent,
            environment_class=planned.spec,
            instance=planned.instance,
            budget=planned.budget,
            seed=self.seed,
            number=number,
            clock=self.clock,
            timeout=self.timeout,
            complexity=planned.complexity,
            joint=self.joint,
        )


class FixedProtocol(DrawnProtocol):
    """A test whose exercises are the same for every agent, in parts of the same weight.

    Exercise k belongs to part ``k % parts``.
    """

    parts = 1

    @property
    @abstractmethod
    def planned(self) -> Sequence[Planned]:
        """All the exercises, in order."""

    def drawn(self) -> Iterable[tuple[EnvironmentClass, Instance]]:
        """The environments of all exercises."""
        return ((each.environment_class, each.instance) for each in self.planned)

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> list[Exercise]:
        """All the exercises that the agent has not taken yet."""
        taken = {outcome.exercise.number for outcome in outcomes}
        return [
            self.exercise(agent, number, planned)
            for number, planned in enumerate(self.planned)
            if number not in taken
        ]

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean payoff over the parts, which are strata, with its 95 % interval."""
        return mean_score(outcomes, self.parts, self.bounds())

    def stratum(self, exercise: Exercise) -> int:
        """The part that an exercise belongs to."""
        return exercise.number % self.parts


class Sample(FixedProtocol):
    """Every agent takes the same number of exercises in the same drawn environments.

    The score estimates the expected payoff over environments drawn from the class (at each
    complexity that is asked for, with the same weight) and over the randomness of agent and
    environment. Exercises that ended in a fault are left out of the value and counted separately;
    the agent's own faults widen the interval.

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
        seed: The root of all randomness.
        joint: The agents that act in the same environments at once, in the order of their seats;
            by default each agent is alone. Only these agents can be evaluated.
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
        self.memory = memory
        self.exercises = exercises
        self.budget = Budget(interactions, seconds)
        kind = clock or ("virtual" if seconds is None else "wall")
        self.clock = Clock(ClockKind(kind), tick)
        self.timeout = None if timeout is None else Timeout(timeout, TimeoutRule(timeout_rule))
        self.complexities = complexity if isinstance(complexity, list) else [complexity]
        self.parts = len(self.complexities)
        self.joint = tuple(read_spec(Kind.AGENT, member) for member in joint or ())
        if joint is not None:
            check_joint(self.joint, self.clock, self.timeout)
        super().__init__(payoff, seed)

    @cached_property
    def environment_class(self) -> EnvironmentClass:
        """The class that the environments are drawn from."""
        made: EnvironmentClass = make(Kind.ENVIRONMENT, self.environment_spec)
        if self.joint:
            made.with_views([None] * len(self.joint))  # raises if it has not so many seats
        return made

    @cached_property
    def instances(self) -> list[Instance]:
        """The drawn environments."""
        made, spec = self.environment_class, self.environment_spec
        complexities = islice(cycle(self.complexities), self.exercises)
        return [draw(made, spec, self.seed, *each) for each in enumerate(complexities)]

    @cached_property
    def planned(self) -> list[Planned]:
        """The exercises, one in each drawn environment."""
        made = self.environment_class
        return [
            Planned(self.environment_spec, made, each, self.budget, made.complexity(each))
            for each in self.instances
        ]

    def expected(self) -> int:
        """How many exercises one agent takes."""
        return self.exercises

    def describe(self) -> Design:
        """Independent exercises of the same length."""
        timed = self.budget.interactions is None
        both = not timed and self.budget.seconds is not None
        length = self.budget.seconds if timed else self.budget.interactions
        return replace(
            super().describe(),
            length=None if both else length,
            length_unit="seconds" if timed else "interactions",
            clock=self.clock.kind,
            environments=self.environment_spec.label,
        )
