"""The anytime universal intelligence tests, with and without time (Definitions 18 and 19)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from itertools import count, pairwise
from math import ceil, inf, isfinite, isqrt, log, log1p
from typing import Any, Literal, NamedTuple

import numpy as np

from omnimeter.catalogue import Kind, given_spec, make
from omnimeter.contract import (
    Budget,
    Clock,
    ClockKind,
    EnvironmentClass,
    Exercise,
    Instance,
    Interval,
    InvalidInputError,
    OmnimeterError,
    Outcome,
    Score,
    Spec,
    stream,
)
from omnimeter.contract.errors import check_count
from omnimeter.contract.exercise import NANOSECONDS, hides_payoff, nanoseconds
from omnimeter.contract.protocol import Design, Moment
from omnimeter.estimation import mean_sequence
from omnimeter.protocols.repetitions import Repetitions, Round, metrics, parts
from omnimeter.protocols.sample import (
    DrawnProtocol,
    Planned,
    Seated,
    SpecLike,
    balance_setting,
    check_balanced,
)

LONGEST_TIME = 1e8
"""Seconds of the longest test: three years."""

ENDLESS = 2**62
"""Interactions of the longest test, which can be stopped at any time."""

DRAWS = 8
"""Draws of used environments, one after the other, before a band is listed: it has few members."""

LISTED = 20_000
"""Instances of a band that are listed at most."""

OVERRUN = 0.02
"""By which part the real time of a test may be exceeded to complete its last round."""

ROUNDING = 1e-9
"""As parts of a whole, times that differ by less than this are the same: sums are rounded."""

REPETITIONS = 20
"""Repetitions of a test at the least, by default, and of the first block of one with a precision:
enough to carry the spread that an interval rests on, few enough to leave each some time."""

MOST_REPETITIONS = 10_000
"""Repetitions that an agent takes at most, by default, for an interval of some precision."""

HARNESS = 1e-3
"""Seconds that choosing and building an environment take, about: by this scale, or that of the
first slot if it is longer, a time is divided into repetitions."""


def usual_repetitions(total: float) -> int:
    """Into how many repetitions a total is divided by default: a tenth of its root, at least 20.

    Longer repetitions narrow the interval of a score with the logarithm of their length only, more
    of them with the root of their number (``omnimeter reproduce anytime-convergence``). But longer
    ones are another test, which tells more of an agent. So both grow alike: a total that is 100
    times as large makes repetitions ten times as long, and ten times as many.

    Args:
        total: The whole test, in interactions or in units of time that are as short.
    """
    return max(REPETITIONS, isqrt(int(total)) // 10) if 0 < total < inf else REPETITIONS


class Plan(NamedTuple):
    """How a test is divided.

    Attributes:
        length: The length of a repetition.
        first: How many repetitions the first block has.
        most: How many repetitions there are at most.
    """

    length: float
    first: int
    most: int


def plan(
    total: float | None,
    length: float | None,
    repetitions: int | None,
    precision: float | None,
    unit: float,
) -> Plan:
    """Divide a test into repetitions.

    Args:
        total: The whole test or, with a precision, the most that it may take.
        length: The length of a repetition, in the same unit.
        repetitions: How many or, with a precision, how many in the first block.
        precision: Half the length of the interval that is wanted.
        unit: What counts as an interaction for the usual number of repetitions.

    Raises:
        InvalidInputError: There is no length, or the numbers contradict each other.
    """
    if repetitions is not None:
        check_count(repetitions, "repetitions")
    for name, number in (("length of a repetition", length), ("precision", precision)):
        if number is not None and not 0 < number < inf:
            raise InvalidInputError(f"The {name} is {number}.", "Give a number above 0.")
    if length is None and precision is not None:
        raise InvalidInputError(
            "A test with a precision needs the length of a repetition, to which its score belongs.",
            "Give the length; the length of the whole test is the most that it may take.",
        )
    if length is None:
        if total is None:
            raise InvalidInputError(
                "The test has no length.", "Give the length of a repetition, or of the whole test."
            )
        most = repetitions or usual_repetitions(total / unit)
        return Plan(total // most if isinstance(total, int) else total / most, most, most)
    if total is not None:
        if repetitions is not None and precision is None:
            raise InvalidInputError(
                "The whole test, the length of a repetition and the number of repetitions cannot "
                "all be given.",
                "Give two of the three: the third follows.",
            )
        most = int(total / length * (1 + ROUNDING)) if total < inf else 0
        check_count(max(1, most), "repetitions")
        if most < 1:
            raise InvalidInputError(
                f"A repetition of {length:g} is longer than the whole test of {total:g}.",
                "Give a shorter length, or a longer test.",
            )
    elif precision is None:
        most = repetitions or REPETITIONS
    else:
        most = MOST_REPETITIONS
    return Plan(length, most if precision is None else min(most, repetitions or REPETITIONS), most)


class Choice(NamedTuple):
    """An environment, and the level xi at which it was chosen (at least the one asked for)."""

    instance: Instance
    level: float


def choose(
    environment_class: EnvironmentClass,
    level: float,
    used: AbstractSet[str],
    rng: np.random.Generator,
) -> Choice | None:
    """Choose(U, xi, H, used): an environment with xi - 1 <= H <= xi that was not used yet.

    Inside the band the probability is proportional to 2^-H, as far as the class can weigh its
    instances (``EnvironmentClass.draw_between``). When the band has none (left), xi grows by 1
    (line 13), but not beyond the highest complexity of the class.

    Args:
        environment_class: The machine U with its complexity function H.
        level: The level xi.
        used: The keys of the instances that were used.
        rng: All randomness. Equal generators at equal levels give equal environments.

    Returns:
        The environment; ``None`` when none is left at this level and above.
    """
    lowest, highest = environment_class.complexity_range()
    level = min(level, highest)
    if level < lowest:  # all the bands up to there are empty
        level = min(level + ceil(lowest - level), highest)
    for _ in range(1000):  # after so many empty bands a class counts as exhausted
        instance = _unused(environment_class, level, used, rng)
        if instance is not None:
            return Choice(instance, level)
        if level >= highest:
            return None
        level = min(level + 1, highest)
    return None


def _unused(
    environment_class: EnvironmentClass,
    level: float,
    used: AbstractSet[str],
    rng: np.random.Generator,
) -> Instance | None:
    """One of the instances of a band that were not used, by 2^-H.

    Drawing again what was used is exact, and quick as long as much is left. Where little is, the
    band is listed; where that cannot be done, it is drawn from until no new one can be expected.
    """
    low, high = level - 1, level
    seen: set[str] = set()
    for draws in count(1):
        try:
            instance = environment_class.draw_between(rng, low, high)
        except OmnimeterError:
            raise
        except Exception as error:
            raise InvalidInputError(
                f"{type(environment_class).__name__} raised {type(error).__name__} when it was "
                f"asked for complexities from {low:g} to {high:g}: {error}",
                "A class raises InvalidInputError for complexities that it does not have. "
                "omnimeter audit examines it.",
            ) from error
        if instance is None or instance.key not in used:
            return instance
        seen.add(instance.key)
        # Of d equally likely members, after d (ln d + 7) draws one was not drawn yet with a
        # probability of about exp(-7).
        if draws > DRAWS and draws > len(seen) * (log(len(seen)) + 7):
            return None
        members = environment_class.members(low, high, LISTED) if draws == DRAWS else None
        if members is not None:
            left = [each for each in members if each.key not in used]
            if not left:
                return None
            complexities = np.array([environment_class.complexity(each) for each in left])
            weights = 2.0 ** (complexities.min() - complexities)
            return left[int(rng.choice(len(left), p=weights / weights.sum()))]
    raise AssertionError("the loop always returns")


_Position = tuple[Choice | None, frozenset[str]]


class Anytime(DrawnProtocol):
    """What both anytime tests have in common. Subclasses say how long each round lasts.

    Repetitions advance side by side in blocks. Without a precision there is one block. With one,
    a block, each half as large as all before it, begins when the one before is over and the
    interval is not short enough yet. This interval is that of ``mean_sequence``: the scores of
    repetitions are independent and alike, so that it holds at any number of them. While the first
    block is under way there is no such sequence, as each round has an expected score of its own.

    Attributes:
        length: The planned length of a repetition, in interactions or seconds.
        repetitions: How many repetitions there are, or at most where a precision decides.
        max_rounds: The most rounds that there can be, known before the first.
    """

    max_rounds: int
    indivisible = "all repetitions together have one length, and advance side by side"

    def __init__(
        self,
        environment_class: SpecLike,
        divided: Plan,
        precision: float | None,
        start_complexity: float | None,
        step: float,
        growth: float,
        payoff: SpecLike,
        seed: int,
        unbalanced: bool,
        seated: Seated,
        clock: Clock = Clock(),  # noqa: B008 - a frozen value
    ) -> None:
        self.clock = clock
        start = 1.0 if start_complexity is None else start_complexity
        for name, number in (("start_complexity", start), ("growth", growth)):
            if not 0 < number < inf:
                raise InvalidInputError(f"The {name} is {number}.", "Give a number above 0.")
        if not 0 <= step <= 1:
            raise InvalidInputError(f"The step is {step}.", "Give a number from 0 to 1.")
        self.environment_spec = given_spec(Kind.ENVIRONMENT, environment_class)
        self.length, first, self.repetitions = divided
        self.precision = precision
        ends = [0, first]
        while ends[-1] < self.repetitions:
            ends.append(min(self.repetitions, ends[-1] + ceil(ends[-1] / 2)))
        self._blocks = [range(*each) for each in pairwise(ends)]
        self.start_complexity = start_complexity
        self.step = step
        self.growth = growth
        self.unbalanced = unbalanced
        super().__init__(payoff, seed)
        self.seat(seated)
        if any(seat.bits for seat in self.seats):
            raise InvalidInputError(
                "The level of an anytime test chooses environments and not who is in them: their "
                "complexities cannot include the code of seated agents.",
                "Leave out count_seated, or give another test.",
            )
        low, high = self._payoff.bounds((-1.0, 1.0))
        if low < -1 or high > 1:
            raise InvalidInputError(
                "The payoff of an anytime test moves the level, and must lie between -1 and 1.",
                "Choose an average, such as planned-average or diminishing.",
            )
        # What comes next in a repetition after some rewards, and the keys of all chosen so far.
        self._positions: dict[tuple[int, tuple[float, ...]], _Position] = {}

    @abstractmethod
    def budget(self, rounds: Sequence[Round]) -> Budget | None:
        """How long the exercises of the next round of a block last; ``None`` after the last.

        Must be a pure function of the rounds so far.
        """

    @abstractmethod
    def share(self, outcome: Outcome) -> float:
        """The share of the slot of its round that an exercise had: below 1 where it was cut off."""

    def is_late(self, begun: Round, budget: Budget) -> bool:  # noqa: ARG002 - where time counts
        """Whether a round that has begun takes so long that the test must end without it."""
        return False

    @cached_property
    def environment_class(self) -> EnvironmentClass:
        """The class that the environments are chosen from: the machine U."""
        made: EnvironmentClass = make(Kind.ENVIRONMENT, self.environment_spec)
        if not self.unbalanced:
            check_balanced(made, self.environment_spec)
        lowest, highest = made.complexity_range()
        if self.start_complexity is not None and not lowest <= self.start_complexity <= highest:
            reach = f"from {lowest:g}" if highest == inf else f"from {lowest:g} to {highest:g}"
            side = "at or below" if self.start_complexity < lowest else "near"
            raise InvalidInputError(
                f"{self.environment_spec.label} has no environment {side} the complexity "
                f"{self.start_complexity:g}.",
                f"Give a complexity {reach}, or leave it out to begin with the lowest.",
            )
        return self.with_seats(made)

    @cached_property
    def start_level(self) -> float:
        """The level xi with which every repetition begins (line 7)."""
        lowest, _ = self.environment_class.complexity_range()
        return lowest if self.start_complexity is None else self.start_complexity

    def classes(self) -> list[EnvironmentClass]:
        """The one class."""
        return [self.environment_class]

    def drawn(self) -> list[tuple[EnvironmentClass, Instance]]:
        """The first environment of the first repetition, if there is one."""
        first, _ = self._position(0, ())
        return [] if first is None else [(self.environment_class, first.instance)]

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> list[Exercise]:
        """The next round of a block: one exercise in each of its repetitions."""
        taken = self._taken(outcomes)
        begun = self._begun(taken)
        for block in begun:
            if exercises := self._round(agent, taken, block):
                return exercises
        is_last = len(begun) == len(self._blocks) or _failed(taken.rounds(begun[-1])[:-1])
        if is_last or self._is_precise(self._watched(taken, begun)):
            return []
        return self._round(agent, taken, self._blocks[len(begun)])

    def _round(self, agent: Spec, taken: Repetitions, block: range) -> list[Exercise]:
        """What is left to do of the next round of a block; nothing when the block is over."""
        *complete, begun = taken.rounds(block)
        budget, choices = self._next(taken, block)
        exercises, made = [], self.environment_class
        for turn in range(len(block) if budget is not None and choices else 0):
            # Each repetition is the first in turn, and then meets cold caches.
            place = (len(complete) + turn) % len(block)
            if budget is not None and block[place] not in begun:
                instance = choices[place].instance
                complexity = made.complexity(instance)
                planned = Planned(self.environment_spec, made, instance, budget, complexity)
                number = len(complete) * self.repetitions + block[place]
                exercises.append(self.exercise(agent, number, planned))
        return exercises

    def is_exhausted(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether some repetition is over because the class has no environment left for it."""
        taken = self._taken(outcomes)
        ends = [self._next(taken, block) for block in self._begun(taken)]
        return any(budget is not None and not choices for budget, choices in ends)

    def _begun(self, taken: Repetitions) -> list[range]:
        """The blocks that have begun, and always the first."""
        last = max((each.exercise.number % self.repetitions for each in taken.outcomes), default=0)
        return [block for block in self._blocks if block.start <= last]

    def _over(self, taken: Repetitions) -> list[range]:
        """The blocks in which nothing is left to do."""
        return [block for block in self._begun(taken) if not all(self._next(taken, block))]

    def _next(self, taken: Repetitions, block: range) -> tuple[Budget | None, list[Choice]]:
        """Budget and environments of the next round of a block; one is missing if it is over."""
        *complete, begun = taken.rounds(block)
        budget = self.budget(complete)
        if budget is None or self.is_late(begun, budget) or _failed(complete):
            return None, []
        choices = []
        for repetition in block:
            # An exercise without a payoff counts as 0.
            rewards = tuple(done[repetition].payoff or 0.0 for done in complete)
            choice, _ = self._position(repetition, rewards)
            if choice is None:  # it has used all environments
                return budget, []
            choices.append(choice)
        return budget, choices

    def _taken(self, outcomes: Sequence[Outcome]) -> Repetitions:
        """The repetitions, with the shares by which their exercises count."""
        return Repetitions(self.repetitions, outcomes, self.share)

    def _position(self, repetition: int, rewards: tuple[float, ...]) -> _Position:
        """The state of a repetition after some rewards: lines 10 to 17, 20 and 22.

        All randomness is that of the repetition and the round. So two agents that are at the same
        level in the same round get the same environment, unless one of them had it before.
        """
        known = len(rewards) + 1
        while known and (repetition, rewards[: known - 1]) not in self._positions:
            known -= 1
        for place in range(known, len(rewards) + 1):
            key = repetition, rewards[:place]
            level, used = self.start_level, frozenset[str]()
            if place:
                previous = repetition, rewards[: place - 1]
                before, used = self._positions[previous]
                if self.precision is not None:  # of so many repetitions only the last is kept
                    del self._positions[previous]
                if before is None:
                    self._positions[key] = None, used
                    continue
                level = before.level * (1 + self.step * min(max(rewards[place - 1], -1.0), 1.0))
            rng = stream(self.seed, "choose", repetition, place).generator()
            choice = choose(self.environment_class, level, used, rng)
            self._positions[key] = choice, used | {choice.instance.key} if choice else used
        return self._positions[repetition, rewards]

    def course(self, outcomes: Sequence[Outcome]) -> list[Moment]:
        """The state of the test after each complete round, from the repetitions that count."""
        taken = self._taken(outcomes)
        return self._counting(taken, self._over(taken)).course(self.bounds())

    def values(self, outcomes: Sequence[Outcome], moments: int | None = None) -> dict[int, float]:
        """The score of each repetition, which is an independent value of its own."""
        taken = self._taken(outcomes)
        return self._counting(taken, self._over(taken)).values(rounds=moments)

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean over the repetitions, from the complete rounds, and what else they say.

        It estimates the expected score of a repetition of this length, over environments and over
        the randomness of agent and environment, and (under a wall clock) over the measured times.
        """
        taken = self._taken(outcomes)
        over = self._over(taken)
        counting = self._counting(taken, over)
        score = counting.score(self.bounds())
        more: dict[str, Any] = parts(counting)
        if self.unbalanced:
            more["unbalanced"] = True
        watched = self._watched(taken, over)
        if watched is not None:
            more["watched"] = watched.low, watched.high
        if self.precision is not None:
            score = replace(score, interval=watched)
            more["precise"] = self._is_precise(watched)
        return replace(score, parts=more)

    def _counting(self, taken: Repetitions, over: Sequence[range]) -> Repetitions:
        """The repetitions that count: of the blocks that are over, or of the first so far."""
        return replace(taken, blocks=tuple(over or self._blocks[:1]))

    def _watched(self, taken: Repetitions, over: Sequence[range]) -> Interval | None:
        """The 95 % interval that holds even if the score was the reason for stopping.

        With a precision, and after a whole block, that is a confidence sequence. Otherwise the
        error rate is divided among all the rounds that there can be (Bonferroni): then the
        intervals of all of them hold at once, and so does that of the last, whatever made it the
        last. No sequence could do that: each round has an expected score of its own.
        """
        counting = self._counting(taken, over)
        if self.precision is not None and over:
            return counting.score(self.bounds(), estimate=mean_sequence).interval
        error = max(0.05 / self.max_rounds, 1e-12)  # so that the confidence is below 1
        watched = counting.score(self.bounds(), 1 - error).interval
        return watched and watched._replace(confidence=0.95)

    def _is_precise(self, interval: Interval | None) -> bool:
        if interval is None or self.precision is None:
            return False
        return (interval.high - interval.low) / 2 <= self.precision

    def describe(self) -> Design:
        """Repetitions side by side, which are the independent units."""
        return replace(
            super().describe(),
            unit="repetition",
            units=self.repetitions,
            length=self.length,
            clock=self.clock.kind,
            environments=self.place(self.environment_spec),
            metrics=metrics(timed=False),
            moments=self.max_rounds,
            precision=self.precision,
        )

    def settings(self) -> dict[str, str]:
        """How slots and levels grow, and whether the class claims to be balanced."""
        lowest = ", the lowest of the class" if self.start_complexity is None else ""
        precision = {}
        if self.precision is not None:
            precision["Precision"] = (
                f"half the length of the interval at most {self.precision:g}, within "
                f"{self.repetitions} repetitions"
            )
        return {
            **precision,
            "Slots": f"longer by {self.growth * 100:g} % from round to round",
            "Level": f"begins with {self.start_level:g}{lowest}; a reward of 1 raises it by "
            f"{self.step * 100:g} %, a reward of \N{MINUS SIGN}1 lowers it by as much",
            **balance_setting(self.environment_class, bool(self.seats)),
        }


class AnytimeUntimed(Anytime):
    """The anytime universal intelligence test disregarding time (Definition 19).

    Every environment is one that the repetition has not had before, of complexity H with
    ``xi - 1 <= H <= xi``. The first lasts 1 interaction, each further one half as many again as
    the one before, rounded up. After each, ``xi`` becomes ``xi + xi * reward / 2``: success leads
    to harder environments, failure to easier ones. The score is the mean of all rewards; that of
    the last environment, which is cut off, counts by the share of its slot. It is repeatable bit
    for bit. By the default payoff, an agent that stops early gets 0 for the interactions that are
    left: otherwise stopping as soon as the average is good would pay (section 5.1).

    Args:
        environment_class: The environment class.
        interactions: The length of the whole test; every repetition has the same share of it. With
            a precision, the most that it may take.
        repetitions: How many repetitions are taken side by side, by default at least 20
            (``usual_repetitions``). The interval comes from their spread: a single one has none.
            With a precision, how many the first block has.
        length: The interactions of a repetition, instead of those of the whole test or of the
            number of repetitions.
        precision: Half the length of the interval at which the test ends; without ``interactions``
            after 10,000 repetitions at the latest.
        start_complexity: The complexity to begin with; by default the lowest of the class.
        slot: How many interactions the first environment lasts.
        growth: By which part each environment lasts longer than the one before.
        step: How far a reward of 1 moves the level, as a part of it.
        payoff: What turns a trace into a number.
        seed: The root of all randomness.
        unbalanced: Whether to accept a class that is not balanced.
        seated: The agents that sit beside each agent, as in ``sample-v1``.
    """

    def __init__(
        self,
        environment_class: SpecLike,
        interactions: int | None = None,
        repetitions: int | None = None,
        length: int | None = None,
        precision: float | None = None,
        start_complexity: float | None = None,
        slot: int = 1,
        growth: float = 0.5,
        step: float = 0.5,
        payoff: SpecLike = "planned-average-v1",
        seed: int = 0,
        unbalanced: bool = False,
        seated: Seated = None,
    ) -> None:
        if slot < 1:
            raise InvalidInputError(f"The first slot is {slot} interactions.", "Give 1 or more.")
        if interactions is not None:
            check_count(interactions, "interactions", ENDLESS)
        divided = plan(interactions, length, repetitions, precision, slot)
        if divided.length < slot:
            raise InvalidInputError(
                f"{divided.length * divided.most if interactions is None else interactions} "
                f"interactions are too few for {divided.most} repetitions whose first slot is "
                f"{slot}.",
                f"Give at least {slot * divided.most} interactions, or fewer repetitions.",
            )
        super().__init__(
            environment_class, divided, precision, start_complexity, step, growth, payoff, seed,
            unbalanced, seated,
        )  # fmt: skip
        self.slots: list[int] = []  # each longer than the one before; the last is cut off
        whole = slot
        while (left := int(self.length) - sum(self.slots)) > 0:
            self.slots.append(min(slot, left))
            whole, slot = slot, max(slot + 1, ceil(slot + slot * growth))
        self.max_rounds = len(self.slots)
        self._last_share = self.slots[-1] / whole

    def budget(self, rounds: Sequence[Round]) -> Budget | None:
        """So many interactions; fewer in the last round."""
        return Budget(self.slots[len(rounds)]) if len(rounds) < len(self.slots) else None

    def share(self, outcome: Outcome) -> float:
        """The share of the interactions that its slot would have had."""
        is_last = outcome.exercise.number // self.repetitions == self.max_rounds - 1
        return self._last_share if is_last else 1.0

    def expected(self) -> int | None:
        """How many exercises one agent takes, unless the class is exhausted before."""
        return None if self.precision is not None else self.max_rounds * self.repetitions


class AnytimeTimed(Anytime):
    """The anytime universal intelligence test taking time into account (Definition 18).

    Every environment is one that the repetition has not had before, of complexity H with
    ``xi - 1 <= H <= xi``. The first lasts 1 microsecond, each further one half as long again as the
    one before. After each, ``xi`` becomes ``xi + xi * reward / 2``: success leads to harder
    environments, failure to easier ones. The score is the mean of all rewards; that of the last
    environment, which is cut off, counts by the share of its slot. An agent that had no time to act
    gets 0.

    By the wall clock a slot is the agent's own time. The test as a whole, however, is over after
    the given real time, whatever the environments and the loop took of it; its last slots are cut
    off there. By the agent's own clock only its slots count, so that a person may rest between two
    of them.

    Args:
        environment_class: The environment class.
        time: The seconds that the whole test lasts; every repetition has the same share of it. With
            a precision, the most that it may take.
        repetitions: How many repetitions are taken side by side, by default at least 20
            (``usual_repetitions``, in milliseconds or in first slots that are longer). The interval
            comes from their spread: a single one has none. With a precision, how many the first
            block has.
        length: The seconds of a repetition, instead of those of the whole test or of the number of
            repetitions.
        precision: Half the length of the interval at which the test ends; without ``time`` after
            10,000 repetitions at the latest.
        start_complexity: The complexity to begin with; by default the lowest of the class.
        slot: How many seconds the first environment lasts.
        growth: By which part each environment lasts longer than the one before.
        step: How far a reward of 1 moves the level, as a part of it.
        payoff: What turns a trace into a number.
        clock: ``wall``; ``own``, by which the slots are measured likewise, and nothing else counts
            however long it takes; or ``virtual`` to believe the delays that agents declare.
        tick: Seconds of an action under the virtual clock when the agent declares none.
        seed: The root of all randomness.
        unbalanced: Whether to accept a class that is not balanced.
        seated: The agents that sit beside each agent, as in ``sample-v1``.
    """

    def __init__(
        self,
        environment_class: SpecLike,
        time: float | None = None,
        repetitions: int | None = None,
        length: float | None = None,
        precision: float | None = None,
        start_complexity: float | None = None,
        slot: float = 1e-6,
        growth: float = 0.5,
        step: float = 0.5,
        payoff: SpecLike = "diminishing-v1",
        clock: Literal["wall", "own", "virtual"] = "wall",
        tick: float = 1e-6,
        seed: int = 0,
        unbalanced: bool = False,
        seated: Seated = None,
    ) -> None:
        if not (isfinite(slot) and slot >= 1 / NANOSECONDS):
            raise InvalidInputError(f"The first slot is {slot} s.", "Give a nanosecond or more.")
        if precision is not None and clock != "virtual":
            raise InvalidInputError(
                f"By the {clock} clock no precision can be asked for: how far repetitions get "
                "depends on what else the computer does, so that those of different blocks are "
                "not alike, and no interval holds at every number of them.",
                "Give a number of repetitions, or the virtual clock.",
            )
        time = None if time is None else float(time)
        if time is not None and LONGEST_TIME < time < inf:
            message = f"The test would last {time:g} s."
            raise InvalidInputError(message, f"Give at most {LONGEST_TIME:g} s.")
        divided = plan(time, length, repetitions, precision, max(slot, HARNESS))
        total = divided.length * divided.most if time is None or length is not None else time
        if not (isfinite(total) and total >= slot * divided.most):
            raise InvalidInputError(
                f"{total:g} s are too little for {divided.most} repetitions whose first slot is "
                f"{slot:g} s.",
                f"Give at least {slot * divided.most:g} s.",
            )
        kind = ClockKind.VIRTUAL if clock == "virtual" else ClockKind.WALL
        super().__init__(
            environment_class, divided, precision, start_complexity, step, growth, payoff, seed,
            unbalanced, seated, Clock(kind, tick),
        )  # fmt: skip
        self.check_payoff(Budget(seconds=slot))
        self.time = total
        self.slot = slot
        self.real_time = clock == "wall"
        # All rounds whose slot is not longer than a repetition, and one that is cut off. By the
        # wall clock there can be so many, since an agent that stops early leaves time over.
        self.max_rounds = int(log(self.length / slot) / log1p(growth) + ROUNDING) + 2

    @cached_property
    def environment_class(self) -> EnvironmentClass:
        """The class that the environments are chosen from: the machine U."""
        made = super().environment_class
        if self.clock.kind is ClockKind.WALL:
            # What is counted and listed for the first time is done before an agent's time runs.
            lowest, rng = ceil(made.complexity_range()[0]), np.random.default_rng(0)
            for level in range(lowest, 2 * lowest):
                choose(made, level, frozenset(), rng)
                made.members(level - 1, level, LISTED)
        return made

    def describe(self) -> Design:
        """As without time, with a length in seconds and what is measured of time."""
        return replace(
            super().describe(),
            length_unit="seconds",
            real_time=self.real_time,
            metrics=metrics(timed=True),
        )

    def budget(self, rounds: Sequence[Round]) -> Budget | None:
        """The slot of the round, or what is left of the time if that is less."""
        if rounds and _seconds(next(iter(rounds[-1].values()))) < self._slot(len(rounds) - 1):
            return None  # the last round was cut off
        spent = (self._spent(done) * (self.repetitions / len(done)) for done in rounds)
        left = (self.time - sum(spent)) / self.repetitions
        if self._is_over(left):
            return None
        seconds = min(self._slot(len(rounds)), left)
        return Budget(seconds=seconds, wall_limit=left if self.real_time else None)

    def share(self, outcome: Outcome) -> float:
        """The share of its slot that was left, or that the real time left of it."""
        slot = nanoseconds(self._slot(outcome.exercise.number // self.repetitions))
        had = outcome.exercise.budget.end_ns if outcome.payoff is None else outcome.end_ns
        return min(1.0, max(had / slot, ROUNDING))

    def is_late(self, begun: Round, budget: Budget) -> bool:
        """Whether more than the whole test's time is gone before the round is complete.

        That happens only to agents that cannot be stopped in time. Such a round does not count.
        """
        left = inf if budget.wall_limit is None else budget.wall_limit * self.repetitions
        return self._spent(begun) > left + OVERRUN * self.time

    def _slot(self, place: int) -> float:
        return float(self.slot * (1 + self.growth) ** place)

    def _spent(self, done: Round) -> float:
        """The real seconds of a round or, where these do not count, those of its slots."""
        return sum(float(each.remarks.get("elapsed", _seconds(each))) for each in done.values())

    def expected(self) -> int | None:
        """How many exercises one agent takes, where no real time and no precision decide."""
        if self.real_time or self.precision is not None:
            return None
        left, place = self.length, 0
        while not self._is_over(left):
            left -= self._slot(place)
            place += 1
        return place * self.repetitions

    def _is_over(self, left: float) -> bool:
        """Whether what is left for a repetition is less than the first slot."""
        return left < self.slot * (1 - ROUNDING)


def _failed(rounds: Sequence[Round]) -> bool:
    """Whether agents failed everywhere in the last round: the next would be the same."""
    return bool(rounds) and all(map(hides_payoff, rounds[-1].values()))


def _seconds(outcome: Outcome) -> float:
    return outcome.exercise.budget.seconds or 0.0
