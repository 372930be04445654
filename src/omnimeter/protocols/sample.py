"""A fixed sample of environments, the same for every agent, and its score."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from itertools import islice
from math import ceil, floor, inf, isfinite
from operator import eq
from statistics import fmean
from typing import Any, Literal, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

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
    Outcomes,
    Payoff,
    Protocol,
    Score,
    Spec,
    Timeout,
    TimeoutRule,
    Trace,
    stream,
)
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.errors import check_count
from omnimeter.contract.exercise import check_joint
from omnimeter.contract.protocol import Design, Memory
from omnimeter.estimation import Estimate, mean_sequence, stratified_mean
from omnimeter.protocols.seating import Seating, read_seats, seat_beside

SpecLike = str | dict[str, Any]

Seated = list[SpecLike] | None
"""Agents that are seated beside the one that is evaluated, or seats for drawn ones."""


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
    except InvalidInputError as error:
        if complexity is None:
            raise
        raise _with_nearest(error, environment_class, complexity) from error
    except OmnimeterError:
        raise
    except (Exception, SystemExit) as error:
        raise InvalidInputError(
            f"{spec.label} raised {type(error).__name__} when drawing "
            f"environment {number}: {error}",
            "omnimeter audit examines the class.",
        ) from error


class Complexities(NamedTuple):
    """Which complexities a class has, as far as a few draws and its own word tell.

    Attributes:
        lowest: The lowest that can be drawn.
        highest: The highest.
        drawn: Those of some draws without a wish, in order.
    """

    lowest: float
    highest: float
    drawn: tuple[float, ...]


DRAWS = 64
"""Environments that are drawn to tell the complexities of a class."""


def complexities_of(environment_class: EnvironmentClass) -> Complexities:
    """Which complexities a class has: always the same answer, within a part of a second."""
    rng = stream(0, "complexities").generator()
    draws = (environment_class.draw(rng) for _ in range(DRAWS))
    drawn = sorted({float(f"{environment_class.complexity(each):.6f}") for each in draws})
    return Complexities(*environment_class.complexity_range(), tuple(drawn))


NEAR = 20
"""How far from a complexity that a class has not the nearest ones are looked for."""


def _with_nearest(
    error: InvalidInputError, environment_class: EnvironmentClass, wanted: float
) -> InvalidInputError:
    """The error of a complexity that a class has not, with the nearest ones that it has."""
    if "nearest" in str(error).lower():
        return error
    try:
        lowest, highest, drawn = complexities_of(environment_class)
        if len(drawn) < 2:
            return error
        near: list[float] = []
        for step, start in ((-1, floor(min(wanted, highest))), (1, ceil(max(wanted, lowest)))):
            tried = range(start, start + step * NEAR, step)
            near += next(([each] for each in tried if _has(environment_class, each)), [])
    except Exception:  # what else is wrong with the class is not the question here
        return error
    if not near:
        near = [min(drawn, key=lambda each: abs(each - wanted))]
    said = " and ".join(dict.fromkeys(f"{each:g}" for each in near))
    return InvalidInputError(error.message, f"{error.advice} The nearest: {said}.".strip())


def _has(environment_class: EnvironmentClass, complexity: float) -> bool:
    """Whether a class draws an environment of a complexity."""
    lowest, highest = environment_class.complexity_range()
    try:
        rng = stream(0, "complexities").generator()
        return lowest <= complexity <= highest and bool(environment_class.draw(rng, complexity))
    except InvalidInputError:
        return False


def payoff_bounds(payoff: Payoff, ranges: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Between which numbers payoffs lie in environments with some ranges of rewards."""
    limits = [payoff.bounds(each) for each in ranges]
    return min(low for low, _ in limits), max(high for _, high in limits)


def _rewards(environment_class: EnvironmentClass, instance: Instance) -> tuple[float, float]:
    """The range of rewards of one environment."""
    try:
        return environment_class.build(instance).rewards
    except (Exception, SystemExit):  # its exercises end in a fault, which says why
        return Environment.rewards


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


def balance_setting(environment_class: EnvironmentClass, seated: bool = False) -> dict[str, str]:
    """What a report says of the balance of a class, which is that of an agent alone."""
    alone = ", for an agent alone" if seated else ""
    return {"Balance": BALANCE[environment_class.claims().balanced] + alone}


class Units(NamedTuple):
    """What exercises were worth, or units of several, as columns of the same length.

    Attributes:
        numbers: Their numbers; number k belongs to part ``k % parts`` of the test.
        payoffs: What they were worth; not a number where there is no payoff.
        paid: Which of them have a payoff.
        faulty: Which of them ended in a fault that may depend on how well the agent did: one of its
            own, or of an agent seated beside it.
    """

    numbers: IntArray
    payoffs: FloatArray
    paid: NDArray[np.bool_]
    faulty: NDArray[np.bool_]

    @classmethod
    def of(cls, outcomes: Outcomes) -> Units:
        """Each exercise as a unit of its own, worth its payoff."""
        payoffs, paid = outcomes.payoffs, outcomes.paid
        return cls(outcomes.numbers, payoffs, paid, outcomes.hidden_payoffs)


def mean_score(
    units: Units, parts: int, bounds: tuple[float, float], faults: Mapping[str, int]
) -> Score:
    """The mean payoff with its 95 % interval, in a test with fixed parts of the same weight.

    Parts are strata: how far they lie apart is no uncertainty. A fault of the agent's own may
    well hide a bad payoff, or a good one. So its exercise has no payoff, and the interval
    reaches from where it lies if all of these had been worth the least, to where it lies if
    they had been worth the most: an agent gains nothing by failing.

    Args:
        units: What one agent's exercises were worth.
        parts: How many parts there are, such as complexities.
        bounds: Between which numbers every payoff lies.
        faults: How many exercises ended in each kind of fault.

    Returns:
        The score. Where payoffs are bounded, its part ``watched`` is the 95 % interval that holds
        at every number of exercises at once, and so if the score was the reason for stopping.
    """
    paid, faulty, part = units.paid, units.faulty, units.numbers % parts
    if not paid.any():
        return Score(None, None, 0, faults)
    payoffs, known = units.payoffs[paid], part[paid]
    # An audit finds a class that breaks its own range.
    support = min(bounds[0], float(payoffs.min())), max(bounds[1], float(payoffs.max()))
    estimate = _estimate(known, payoffs, parts, support)
    low, high = estimate.low, estimate.high
    if faulty.any():
        every = np.concatenate((known, part[faulty]))
        worst, best = (np.append(payoffs, np.full(faulty.sum(), end)) for end in support)
        lowest = _estimate(every, worst, parts, support).low if isfinite(bounds[0]) else -inf
        highest = _estimate(every, best, parts, support).high if isfinite(bounds[1]) else inf
        low, high = min(low, lowest), max(high, highest)
    interval = Interval(low, high, estimate.confidence, estimate.bounded)
    watched = {}
    if isfinite(support[0]) and isfinite(support[1]):
        ends = _watched(units, parts, support)
        watched["watched"] = min(ends[0], estimate.value), max(ends[1], estimate.value)
    return Score(estimate.value, interval, estimate.count, faults, watched)


def cycle_means(numbers: IntArray, payoffs: FloatArray, parts: int) -> FloatArray:
    """The mean payoff of each cycle through the parts, up to the first exercise that is missing.

    All of them have the same expectation, whatever the parts are worth, and an order that no
    payoff decided: what a confidence sequence needs. A cycle in which an exercise has no payoff is
    left out.

    Args:
        numbers: The numbers of the exercises, in any order.
        payoffs: Their payoffs; not a number for one that was lost by no fault of the agent.
        parts: How many parts there are; exercise k belongs to part ``k % parts``.
    """
    order = np.argsort(numbers, kind="stable")
    numbers, payoffs = numbers[order], payoffs[order]
    gaps = np.flatnonzero(numbers != np.arange(len(numbers)))
    count = int(gaps[0]) if len(gaps) else len(numbers)
    cycles = payoffs[: count // parts * parts].reshape(-1, parts)
    cycles = cycles[~np.isnan(cycles).any(axis=1)]
    if parts == 1:
        return cycles[:, 0]
    return np.array([fmean(cycle) for cycle in cycles.tolist()], np.float64)  # rounded once


def _watched(units: Units, parts: int, support: tuple[float, float]) -> tuple[float, float]:
    """The ends of the interval that always holds; faults of the agent's own may be worth any."""

    def estimate(hidden: float) -> Estimate:
        payoffs = np.where(units.faulty, hidden, units.payoffs)
        means = cycle_means(units.numbers, payoffs, parts)
        if not len(means):
            return Estimate(0.0, *support, 0.95, 0)
        return mean_sequence(means, support=support)

    worst = best = estimate(support[0])
    if units.faulty.any():
        best = estimate(support[1])
    return worst.low, best.high


def _estimate(
    part: IntArray, payoffs: FloatArray, parts: int, support: tuple[float, float]
) -> Estimate:
    """The mean over the parts. A part without any payoff may be worth anything."""
    order = np.argsort(part, kind="stable")
    present, starts = np.unique(part[order], return_index=True)
    estimate = stratified_mean(np.split(payoffs[order], starts[1:]), support=support)
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
    seats: tuple[Seating, ...] = ()

    def __init__(self, payoff: SpecLike, seed: int) -> None:
        self.seed = seed
        self.payoff_spec = given_spec(Kind.PAYOFF, payoff)
        self._payoff: Payoff = make(Kind.PAYOFF, self.payoff_spec)

    def seat(self, given: Seated) -> None:
        """Seating agents beside each one that is evaluated, when the clock is known.

        Raises:
            InvalidInputError: One of them cannot be read, or the test is not for several agents.
        """
        self.seats = read_seats(given)
        if not self.seats:
            return
        self.seated = tuple(dict.fromkeys(each for seat in self.seats for each in seat.agents))
        everybody = [Spec(str(place)) for place in range(1 + len(self.seats))]
        check_joint(everybody, self.clock, self.timeout)
        if self.joint:
            message = "No further agents can be seated beside those of a joint run."
            raise InvalidInputError(message, "Give joint or seated.")
        if self.memory == "carried" and any(seat.scores for seat in self.seats):
            message = "Agents that are drawn for each exercise have no memory that is carried."
            raise InvalidInputError(message, "Give fresh memory, or seat agents by name.")

    def with_seats(self, made: EnvironmentClass) -> EnvironmentClass:
        """The class itself, if it has enough seats.

        Raises:
            InvalidInputError: It has not.
        """
        if agents := len(self.joint) or len(self.seats):
            made.with_views([None] * (agents + bool(self.seats)))
        return made

    @abstractmethod
    def classes(self) -> Sequence[EnvironmentClass]:
        """The classes of the environments."""

    @abstractmethod
    def drawn(self) -> Iterable[tuple[EnvironmentClass, Instance]]:
        """Environments that are known before an agent acts, which say where payoffs lie."""

    def reward_ranges(self) -> set[tuple[float, float]]:
        """The ranges of rewards there are. Nothing is drawn where the classes say them."""
        said = [each.reward_range() for each in self.classes()]
        known = {each for each in said if each is not None}
        return known if None not in said else {_rewards(*each) for each in self.drawn()}

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
        design = replace(super().describe(), payoff=self.payoff_spec, warning=warning)
        return replace(design, seated=tuple(seat.label for seat in self.seats))

    def place(self, spec: Spec) -> str:
        """What reports call a class, and who is there beside the agent."""
        beside = " and ".join(seat.label for seat in self.seats)
        return f"{spec.label} with {beside}" if beside else spec.label

    def bounds(self) -> tuple[float, float]:
        """Between which numbers every payoff lies."""
        return self._payoff_range

    @cached_property
    def _payoff_range(self) -> tuple[float, float]:
        return payoff_bounds(self.payoff(), self.reward_ranges())

    def exercise(self, agent: Spec, number: int, planned: Planned) -> Exercise:
        """The exercise that an agent takes, with those that are seated beside it."""
        beside, bits = seat_beside(self.seats, agent, self.seed, number)
        return Exercise(
            agent=agent,
            environment_class=planned.spec,
            instance=planned.instance,
            budget=planned.budget,
            seed=self.seed,
            number=number,
            clock=self.clock,
            timeout=self.timeout,
            complexity=planned.complexity + bits,
            joint=(agent, *beside) if beside else self.joint,
            seated=len(beside),
        )


KEPT = 2048
"""So many drawn exercises are kept, for agents that take the same ones one after the other."""


class FixedProtocol(DrawnProtocol):
    """A test whose exercises are the same for every agent, in parts of the same weight.

    Exercise k belongs to part ``k % parts``. It is drawn when it is needed, and again when it is
    needed later: a test may have more exercises than fit into memory.

    Attributes:
        exercises: How many exercises an agent takes, or at most where a precision decides.
    """

    parts = 1
    fixed = True
    exercises: int

    @abstractmethod
    def plan_exercise(self, number: int) -> Planned:
        """Draw the exercise of some number."""

    @cached_property
    def planned(self) -> Callable[[int], Planned]:
        """The exercise of a number, drawn anew unless it was one of the last."""
        return lru_cache(maxsize=KEPT)(self.plan_exercise)

    def due(self, outcomes: Outcomes) -> int:  # noqa: ARG002 - see Sample
        """How many exercises an agent takes, given what it has done so far."""
        return self.exercises

    def drawn(self) -> Iterator[tuple[EnvironmentClass, Instance]]:
        """The environments of all exercises."""
        each = map(self.planned, range(self.exercises))
        return ((planned.environment_class, planned.instance) for planned in each)

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> Proposed:
        """All the exercises that the agent has not taken yet."""
        outcomes = Outcomes.of(outcomes)
        self.classes()  # raises for a class that cannot be made, before an agent acts
        left = np.ones(self.due(outcomes), np.bool_)
        numbers = outcomes.numbers
        left[numbers[numbers < len(left)]] = False
        return Proposed(self, agent, np.flatnonzero(left))

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean payoff over the parts, which are strata, with its 95 % interval.

        Of a test that was extended, the one that holds at every number of exercises.
        """
        outcomes = Outcomes.of(outcomes)
        faults = outcomes.fault_counts()
        score = mean_score(Units.of(outcomes), self.parts, self.bounds(), faults)
        if self.extended and "watched" in score.parts:
            return replace(score, interval=Interval(*score.parts["watched"]))
        return score

    def expected(self) -> int | None:
        """How many exercises one agent takes."""
        return self.exercises

    def describe(self) -> Design:
        """Independent exercises, of the parts in turn."""
        return replace(super().describe(), parts=self.parts, extended=self.extended)


class Proposed(Sequence[Exercise]):
    """Exercises of one agent, each drawn and made when it is asked for, and again each time.

    Attributes:
        numbers: The numbers of the exercises.
    """

    def __init__(self, protocol: FixedProtocol, agent: Spec, numbers: IntArray) -> None:
        self._protocol, self._agent, self.numbers = protocol, agent, numbers

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> Exercise: ...
    @overload
    def __getitem__(self, place: slice) -> Proposed: ...
    def __getitem__(self, place: int | slice) -> Exercise | Proposed:
        if isinstance(place, slice):
            return Proposed(self._protocol, self._agent, self.numbers[place])
        number = int(self.numbers[place])
        return self._protocol.exercise(self._agent, number, self._protocol.planned(number))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Sequence):
            return NotImplemented
        return len(self) == len(other) and all(map(eq, self, other))

    __hash__ = None  # type: ignore[assignment] # as of every sequence that is compared by its items

    def __repr__(self) -> str:
        return f"<{len(self)} exercises of {self._agent.label}>"


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
        seated: The agents that sit beside each agent in its exercises, and are not evaluated; or
            seats for which they are drawn (``omnimeter.protocols.seating``).
    """

    grows = "exercises"

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
        seated: Seated = None,
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
        if precision is not None:
            self.grows = ""
            self.indivisible = "a precision decides how many exercises an agent takes"
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
        self.seat(seated)
        super().__init__(payoff or default_payoff(timed=seconds is not None), seed)
        self.check_payoff(self.budget)

    @cached_property
    def environment_class(self) -> EnvironmentClass:
        """The class that the environments are drawn from."""
        return self.with_seats(make(Kind.ENVIRONMENT, self.environment_spec))

    def classes(self) -> list[EnvironmentClass]:
        """The one class."""
        return [self.environment_class]

    def instance(self, number: int) -> Instance:
        """The environment of the exercise of some number."""
        complexity = self.complexities[number % self.parts]
        return draw(self.environment_class, self.environment_spec, self.seed, number, complexity)

    def plan_exercise(self, number: int) -> Planned:
        """The exercise in the drawn environment of its number."""
        made, instance = self.environment_class, self.instance(number)
        complexity = made.complexity(instance)
        return Planned(self.environment_spec, made, instance, self.budget, complexity)

    def drawn(self) -> Iterator[tuple[EnvironmentClass, Instance]]:
        """The environments of all exercises, or of the first block."""
        return islice(super().drawn(), None if self.precision is None else self._block(0))

    def due(self, outcomes: Outcomes) -> int:
        """All the exercises; with a precision those of the blocks that are needed.

        Raises:
            InvalidInputError: There is a precision, and payoffs are not bounded.
        """
        if self.precision is None:
            return self.exercises
        if not all(map(isfinite, self.bounds())):
            raise InvalidInputError(
                "No interval of a payoff without bounds says when to stop.",
                "Give a number of exercises and no precision, or another payoff.",
            )
        numbers = np.unique(outcomes.numbers)
        total = self._block(0)
        while len(numbers) and total <= numbers[-1]:
            total = self._block(total)
        failed = outcomes.hidden_payoffs.all()  # and would again
        if len(numbers) == total and not failed and not self._is_precise(self.score(outcomes)):
            total = self._block(total)
        return total

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
            real_time=self.clock.kind is ClockKind.WALL,
            environments=self.place(self.environment_spec),
            precision=self.precision,
        )
