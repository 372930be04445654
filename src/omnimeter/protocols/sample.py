"""A fixed sample of environments, the same for every agent, and its score."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count
from math import ceil, inf, isfinite
from statistics import fmean
from typing import Any, Literal, NamedTuple

import numpy as np

from omnimeter.catalogue import Kind, given_spec, make
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
    Trace,
    stream,
)
from omnimeter.contract.errors import check_count
from omnimeter.contract.exercise import check_joint, is_own_fault
from omnimeter.contract.protocol import Design, Memory
from omnimeter.estimation import Estimate, mean_sequence, stratified_mean

SpecLike = str | dict[str, Any]


def draw(
    environment_class: EnvironmentClass,
    spec: Spec,
    seed: int,
    number: int,
    complexity: float | None = None,
) -> Instance:
    """Draw the environment of the exercise of some number, the same for every agent.

    A class whose instances are given in an order (§3.10) is not asked to draw, unless for a
    complexity.

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
        given = environment_class.numbered(number) if complexity is None else None
        return environment_class.draw(rng, complexity) if given is None else given
    except OmnimeterError:
        raise
    except (Exception, SystemExit) as error:
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
        except (Exception, SystemExit):  # its exercises end in a fault, which says why
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


def default_payoff(*, timed: bool) -> str:
    """The payoff where none is chosen, which counts what was left undone (standard, §12.10)."""
    return "diminishing-v1" if timed else "planned-average-v1"


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

    Returns:
        The score. Where payoffs are bounded, its part ``watched`` is the 95 % interval that holds
        at every number of exercises at once, and so if the score was the reason for stopping.
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
    interval = Interval(low, high, estimate.confidence, estimate.bounded)
    watched = {}
    if isfinite(support[0]) and isfinite(support[1]):
        ends = _watched(outcomes, parts, support)
        watched["watched"] = min(ends[0], estimate.value), max(ends[1], estimate.value)
    return Score(estimate.value, interval, estimate.count, faults, watched)


def cycle_means(payoffs: Mapping[int, float | None], parts: int) -> list[float]:
    """The mean payoff of each cycle through the parts, up to the first exercise that is missing.

    All of them have the same expectation, whatever the parts are worth, and an order that no
    payoff decided: what a confidence sequence needs. A cycle in which an exercise has no payoff is
    left out.

    Args:
        payoffs: The payoff of the exercise of each number; ``None`` if it was lost by no fault of
            the agent.
        parts: How many parts there are; exercise k belongs to part ``k % parts``.
    """
    means: list[float] = []
    for first in count(0, parts):
        members = [payoffs.get(each, inf) for each in range(first, first + parts)]
        if inf in members:
            return means
        paid = [each for each in members if each is not None]
        if len(paid) == parts:
            means.append(fmean(paid))
    raise AssertionError("some exercise is always missing")


def _watched(
    outcomes: Sequence[Outcome], parts: int, support: tuple[float, float]
) -> tuple[float, float]:
    """The ends of the interval that always holds; faults of the agent's own may be worth any."""

    def estimate(hidden: float) -> Estimate:
        values = {each.exercise.number: each.payoff for each in outcomes}
        values |= {each.exercise.number: hidden for each in outcomes if is_own_fault(each)}
        means = cycle_means(values, parts)
        return mean_sequence(means, support=support) if means else Estimate(0.0, *support, 0.95, 0)

    worst = best = estimate(support[0])
    if any(map(is_own_fault, outcomes)):
        best = estimate(support[1])
    return worst.low, best.high


def _estimate(
    paid: Sequence[tuple[int, float]], parts: int, support: tuple[float, float]
) -> Estimate:
    """The mean over the parts. A part without any payoff may be worth anything."""
    present: dict[int, list[float]] = {}
    for part, payoff in paid:
        present.setdefault(part, []).append(payoff)
    estimate = stratified_mean([present[part] for part in sorted(present)], support=support)
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
        self.payoff_spec = given_spec(Kind.PAYOFF, payoff)
        self._payoff: Payoff = make(Kind.PAYOFF, self.payoff_spec)

    @abstractmethod
    def drawn(self) -> Iterable[tuple[EnvironmentClass, Instance]]:
        """Environments that are known before an agent acts, which say where payoffs lie."""

    def payoff(self) -> Payoff:
        """What turns a trace into a number in this test."""
        return self._payoff

    def check_payoff(self, budget: Budget) -> None:
        """Check that the payoff can judge exercises of a budget, before any is run.

        Raises:
            InvalidInputError: It cannot.
        """
        timed, times = budget.seconds is not None, np.empty(0, dtype=np.int64)
        self._payoff(Trace(np.empty(0), times, 0, planned=budget.interactions, timed=timed))

    def describe(self) -> Design:
        """The payoff, with a warning if it can be exploited."""
        warning = ""
        if how := getattr(self._payoff, "exploitable", ""):
            warning = (
                f"With the payoff {self.payoff_spec.label}, {how}. planned-average (of a number of "
                "interactions) and diminishing (of a time) count what stopping leaves undone."
            )
        return replace(super().describe(), payoff=self.payoff_spec, warning=warning)

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
    fixed = True

    @property
    @abstractmethod
    def planned(self) -> Sequence[Planned]:
        """All the exercises, in order."""

    def due(self, outcomes: Sequence[Outcome]) -> Sequence[Planned]:  # noqa: ARG002 - see Sample
        """The exercises that an agent takes, given what it has done so far: all of them."""
        return self.planned

    def drawn(self) -> Iterable[tuple[EnvironmentClass, Instance]]:
        """The environments of all exercises."""
        return ((each.environment_class, each.instance) for each in self.planned)

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> list[Exercise]:
        """All the exercises that the agent has not taken yet."""
        taken = {outcome.exercise.number for outcome in outcomes}
        return [
            self.exercise(agent, number, planned)
            for number, planned in enumerate(self.due(outcomes))
            if number not in taken
        ]

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean payoff over the parts, which are strata, with its 95 % interval."""
        return mean_score(outcomes, self.parts, self.bounds())

    def stratum(self, exercise: Exercise) -> int:
        """The part that an exercise belongs to."""
        return exercise.number % self.parts

    def describe(self) -> Design:
        """Independent exercises, of the parts in turn."""
        return replace(super().describe(), parts=self.parts)


FIRST_BLOCK = 20
"""Exercises before it is asked for the first time whether the interval is short enough."""

MOST_EXERCISES = 10_000
"""Exercises that an agent takes at most, by default, for an interval of some precision."""


class Sample(FixedProtocol):
    """Every agent takes the same number of exercises in the same drawn environments.

    The score estimates the expected payoff over environments drawn from the class (at each
    complexity that is asked for, with the same weight) and over the randomness of agent and
    environment. Exercises that ended in a fault are left out of the value and counted separately;
    the agent's own faults widen the interval.

    With a ``precision`` each agent takes exercises, in blocks that grow by half, until its interval
    is so short. An interval that decides when to stop must hold at every number of exercises at
    once, so it is that of ``mean_sequence``, over cycles through the complexities if there are
    several. Payoffs are then expected to lie where those of the first block can lie.

    Args:
        environment_class: The environment class.
        exercises: How many environments are drawn: 20 by default, or at most 10,000 where a
            precision decides.
        interactions: The length of each exercise in interactions.
        seconds: The length of each exercise in seconds.
        complexity: The complexity of the environments; of several, each in turn; by default the
            class draws it too.
        payoff: What turns a trace into a number; by default ``planned-average-v1`` if the length
            is given in interactions, ``diminishing-v1`` if it is given in seconds or in both.
        clock: ``wall`` or ``virtual``; by default wall if the length is given in seconds.
        tick: Seconds of an action under the virtual clock when the agent declares none.
        timeout: Seconds after which an action comes too late.
        timeout_rule: What then takes its place: ``no-reward`` or ``random-action``.
        seed: The root of all randomness.
        joint: The agents that act in the same environments at once, in the order of their seats;
            by default each agent is alone. Only these agents can be evaluated.
        memory: ``fresh`` (a new agent for every exercise) or ``carried`` (one agent takes all
            exercises in order).
        precision: Half the length of the interval at which an agent has taken enough exercises.
    """

    def __init__(
        self,
        environment_class: SpecLike,
        exercises: int | None = None,
        interactions: int | None = None,
        seconds: float | None = None,
        complexity: float | list[float] | None = None,
        payoff: SpecLike | None = None,
        clock: Literal["wall", "virtual"] | None = None,
        tick: float = 1.0,
        timeout: float | None = None,
        timeout_rule: Literal["no-reward", "random-action"] = "no-reward",
        seed: int = 0,
        joint: list[SpecLike] | None = None,
        memory: Memory = "fresh",
        precision: float | None = None,
    ) -> None:
        if exercises is None:
            exercises = FIRST_BLOCK if precision is None else MOST_EXERCISES
        check_count(exercises, "exercises")
        if precision is not None and not 0 < precision < inf:
            raise InvalidInputError(f"The precision is {precision}.", "Give a number above 0.")
        if precision is not None and memory == "carried":
            raise InvalidInputError(
                "Exercises whose memory is carried depend on each other, so that none of their "
                "intervals says when to stop.",
                "Give a number of exercises and no precision, or fresh memory.",
            )
        self.environment_spec = given_spec(Kind.ENVIRONMENT, environment_class)
        self.memory = memory
        self.precision = precision
        self.fixed = precision is None
        self.exercises = exercises
        self.budget = Budget(interactions, seconds)
        kind = clock or ("virtual" if seconds is None else "wall")
        self.clock = Clock(ClockKind(kind), tick)
        self.timeout = None if timeout is None else Timeout(timeout, TimeoutRule(timeout_rule))
        self.complexities = complexity if isinstance(complexity, list) else [complexity]
        self.parts = len(self.complexities)
        self.joint = tuple(given_spec(Kind.AGENT, member) for member in joint or ())
        if joint is not None:
            check_joint(self.joint, self.clock, self.timeout)
        self._planned: list[Planned] = []  # as far as they were needed
        super().__init__(payoff or default_payoff(timed=seconds is not None), seed)
        self.check_payoff(self.budget)

    @cached_property
    def environment_class(self) -> EnvironmentClass:
        """The class that the environments are drawn from."""
        made: EnvironmentClass = make(Kind.ENVIRONMENT, self.environment_spec)
        if self.joint:
            made.with_views([None] * len(self.joint))  # raises if it has not so many seats
        return made

    def instance(self, number: int) -> Instance:
        """The environment of the exercise of some number."""
        complexity = self.complexities[number % self.parts]
        return draw(self.environment_class, self.environment_spec, self.seed, number, complexity)

    @property
    def planned(self) -> list[Planned]:
        """The exercises, one in each drawn environment."""
        return self._first(self.exercises)

    def _first(self, count: int) -> list[Planned]:
        made = self.environment_class
        for number in range(len(self._planned), count):
            each = self.instance(number)
            complexity = made.complexity(each)
            self._planned.append(
                Planned(self.environment_spec, made, each, self.budget, complexity)
            )
        return self._planned[:count]

    def drawn(self) -> Iterable[tuple[EnvironmentClass, Instance]]:
        """The environments of all exercises, or of the first block."""
        known = self.planned if self.precision is None else self._first(self._block(0))
        return ((each.environment_class, each.instance) for each in known)

    def due(self, outcomes: Sequence[Outcome]) -> list[Planned]:
        """All the exercises; with a precision those of the blocks that are needed.

        Raises:
            InvalidInputError: There is a precision, and payoffs are not bounded.
        """
        if self.precision is None:
            return self.planned
        if not all(map(isfinite, self.bounds())):
            raise InvalidInputError(
                "No interval of a payoff without bounds says when to stop.",
                "Give a number of exercises and no precision, or another payoff.",
            )
        numbers = {each.exercise.number for each in outcomes}
        total = self._block(0)
        while total <= max(numbers, default=0):
            total = self._block(total)
        failed = all(map(is_own_fault, outcomes))  # and would again
        if len(numbers) == total and not failed and not self._is_precise(self.score(outcomes)):
            total = self._block(total)
        return self._first(total)

    def _block(self, total: int) -> int:
        """How many exercises there are after the next block, in whole cycles through the parts."""
        larger = max(FIRST_BLOCK, total + ceil(total / 2))
        return min(-(-larger // self.parts) * self.parts, self.exercises)

    def _is_precise(self, score: Score) -> bool:
        if score.interval is None or self.precision is None:
            return False
        return (score.interval.high - score.interval.low) / 2 <= self.precision

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """As every fixed test; with a precision, the interval is the one that always holds."""
        score = super().score(outcomes)
        if self.precision is None or "watched" not in score.parts:
            return score
        score = replace(score, interval=Interval(*score.parts["watched"]))
        return replace(score, parts={**score.parts, "precise": self._is_precise(score)})

    def expected(self) -> int | None:
        """How many exercises one agent takes; not known where a precision decides."""
        return self.exercises if self.precision is None else None

    def settings(self) -> dict[str, str]:
        """The precision, if there is one."""
        if self.precision is None:
            return {}
        return {
            "Precision": f"half the length of an interval at most {self.precision:g}, within "
            f"{self.exercises} exercises of an agent"
        }

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
            precision=self.precision,
        )
