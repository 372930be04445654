"""The anytime universal intelligence tests, with and without time (Definitions 18 and 19)."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import cached_property
from itertools import count
from math import ceil, inf, isfinite, log, log1p
from typing import Any, Literal, NamedTuple

import numpy as np

from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    Budget,
    Clock,
    ClockKind,
    EnvironmentClass,
    Exercise,
    Instance,
    InvalidInputError,
    OmnimeterError,
    Outcome,
    Score,
    Spec,
    stream,
)
from omnimeter.contract.exercise import NANOSECONDS, is_own_fault
from omnimeter.contract.protocol import Design, Moment
from omnimeter.protocols.repetitions import Repetitions, Round, metrics, parts
from omnimeter.protocols.sample import (
    DrawnProtocol,
    Planned,
    SpecLike,
    balance_setting,
    check_balanced,
    read_spec,
)

DRAWS = 8
"""Draws of used environments, one after the other, before a band is listed: it has few members."""

LISTED = 20_000
"""Instances of a band that are listed at most."""

OVERRUN = 0.02
"""By which part the real time of a test may be exceeded to complete its last round."""

ROUNDING = 1e-9
"""As parts of a whole, times that differ by less than this are the same: sums are rounded."""

REPETITIONS = 10
"""Repetitions of a test by default: enough for an interval, few enough to leave each some time."""


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

    Attributes:
        length: The planned length of a repetition, in interactions or seconds.
        max_rounds: The most rounds that there can be, known before the first.
    """

    length: float
    max_rounds: int

    def __init__(
        self,
        environment_class: SpecLike,
        repetitions: int,
        start_complexity: float | None,
        step: float,
        growth: float,
        payoff: SpecLike,
        seed: int,
        unbalanced: bool,
    ) -> None:
        if repetitions < 1:
            raise InvalidInputError(
                f"There cannot be {repetitions} repetitions.", "Give a number from 1 up."
            )
        start = 1.0 if start_complexity is None else start_complexity
        for name, number in (("start_complexity", start), ("growth", growth)):
            if not 0 < number < inf:
                raise InvalidInputError(f"The {name} is {number}.", "Give a number above 0.")
        if not 0 <= step <= 1:
            raise InvalidInputError(f"The step is {step}.", "Give a number from 0 to 1.")
        self.environment_spec = read_spec(Kind.ENVIRONMENT, environment_class)
        self.repetitions = repetitions
        self.start_complexity = start_complexity
        self.step = step
        self.growth = growth
        self.unbalanced = unbalanced
        super().__init__(payoff, seed)
        low, high = self._payoff.bounds((-1.0, 1.0))
        if low < -1 or high > 1:
            raise InvalidInputError(
                "The payoff of an anytime test moves the level, and must lie between -1 and 1.",
                "Choose an average, such as average, diminishing or discounted.",
            )
        # What comes next in a repetition after some rewards, and the keys of all chosen so far.
        self._positions: dict[tuple[int, tuple[float, ...]], _Position] = {}

    @abstractmethod
    def budget(self, rounds: Sequence[Round]) -> Budget | None:
        """How long the exercises of the next round last; ``None`` after the last.

        Must be a pure function of the rounds so far.
        """

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
        return made

    @cached_property
    def start_level(self) -> float:
        """The level xi with which every repetition begins (line 7)."""
        lowest, _ = self.environment_class.complexity_range()
        return lowest if self.start_complexity is None else self.start_complexity

    def drawn(self) -> list[tuple[EnvironmentClass, Instance]]:
        """The first environment of the first repetition, if there is one."""
        first, _ = self._position(0, ())
        return [] if first is None else [(self.environment_class, first.instance)]

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> list[Exercise]:
        """The next round: one exercise in each repetition."""
        *complete, begun = self._taken(outcomes).rounds
        budget = self.budget(complete)
        # After a round in which the agent failed everywhere, the next would be the same.
        failed = bool(complete) and all(map(is_own_fault, complete[-1].values()))
        if budget is None or self.is_late(begun, budget) or failed:
            return []
        choices, made = self._choices(complete), self.environment_class
        exercises = []
        for turn in range(self.repetitions if choices else 0):
            # Each repetition is the first in turn, and then meets cold caches.
            repetition = (len(complete) + turn) % self.repetitions
            if repetition not in begun:
                instance = choices[repetition].instance
                complexity = made.complexity(instance)
                planned = Planned(self.environment_spec, made, instance, budget, complexity)
                number = len(complete) * self.repetitions + repetition
                exercises.append(self.exercise(agent, number, planned))
        return exercises

    def is_exhausted(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether the test is over because the class has no environment left for a repetition."""
        complete = self._taken(outcomes).complete()
        return self.budget(complete) is not None and not self._choices(complete)

    def _choices(self, rounds: Sequence[Round]) -> list[Choice]:
        """What comes next in each repetition; empty if one has used all environments."""
        choices = []
        for repetition in range(self.repetitions):
            # An exercise without a payoff counts as 0.
            rewards = tuple(done[repetition].payoff or 0.0 for done in rounds)
            choice, _ = self._position(repetition, rewards)
            if choice is None:
                return []
            choices.append(choice)
        return choices

    def _taken(self, outcomes: Sequence[Outcome]) -> Repetitions:
        """The repetitions with what their exercises are worth in this test."""
        return Repetitions(self.repetitions, [*map(self.counted, outcomes)])

    def counted(self, outcome: Outcome) -> Outcome:
        """The outcome with what it is worth in this test in the place of its payoff."""
        return outcome

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
                before, used = self._positions[repetition, rewards[: place - 1]]
                if before is None:
                    self._positions[key] = None, used
                    continue
                level = before.level * (1 + self.step * min(max(rewards[place - 1], -1.0), 1.0))
            rng = stream(self.seed, "choose", repetition, place).generator()
            choice = choose(self.environment_class, level, used, rng)
            self._positions[key] = choice, used | {choice.instance.key} if choice else used
        return self._positions[repetition, rewards]

    def course(self, outcomes: Sequence[Outcome]) -> list[Moment]:
        """The state of the test after each complete round."""
        return self._taken(outcomes).course(self.bounds())

    def values(self, outcomes: Sequence[Outcome], moments: int | None = None) -> dict[int, float]:
        """The score of each repetition, which is an independent value of its own."""
        end = inf if moments is None else moments * self.repetitions
        return self._taken([each for each in outcomes if each.exercise.number < end]).values()

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean over the repetitions, from the complete rounds, and what else they say.

        It estimates the expected score of a repetition of this length, over environments and over
        the randomness of agent and environment, and (under a wall clock) over the measured times.
        """
        repetitions = self._taken(outcomes)
        score = repetitions.score(self.bounds())
        more: dict[str, Any] = parts(repetitions)
        if self.unbalanced:
            more["unbalanced"] = True
        # The 95 % interval that holds even if the score was the reason for stopping. The error rate
        # is divided among all the rounds that there can be (Bonferroni): then the intervals of all
        # of them hold at once, and so does that of the last, whatever made it the last. A
        # confidence sequence is of no use here: each round has an expected score of its own.
        error = max(0.05 / self.max_rounds, 1e-12)  # so that the confidence is below 1
        if watched := repetitions.score(self.bounds(), 1 - error).interval:
            more["watched"] = watched.low, watched.high
        return replace(score, parts=more)

    def describe(self) -> Design:
        """Repetitions side by side, which are the independent units."""
        return replace(
            super().describe(),
            unit="repetition",
            units=self.repetitions,
            length=self.length,
            clock=self.clock.kind,
            environments=self.environment_spec.label,
            metrics=metrics(timed=False),
            moments=self.max_rounds,
        )

    def settings(self) -> dict[str, str]:
        """How slots and levels grow, and whether the class claims to be balanced."""
        lowest = ", the lowest of the class" if self.start_complexity is None else ""
        return {
            "Slots": f"longer by {self.growth * 100:g} % from round to round",
            "Level": f"begins with {self.start_level:g}{lowest}; a reward of 1 raises it by "
            f"{self.step * 100:g} %, a reward of \N{MINUS SIGN}1 lowers it by as much",
            **balance_setting(self.environment_class),
        }


class AnytimeUntimed(Anytime):
    """The anytime universal intelligence test disregarding time (Definition 19).

    Every environment is one that the repetition has not had before, of complexity H with
    ``xi - 1 <= H <= xi``. The first lasts 1 interaction, each further one half as many again as
    the one before, rounded up. After each, ``xi`` becomes ``xi + xi * reward / 2``: success leads
    to harder environments, failure to easier ones. The score is the mean of all rewards. It is
    repeatable bit for bit. An agent that stops early gets 0 for the interactions that are left:
    otherwise stopping as soon as the average is good would pay (section 5.1).

    Args:
        environment_class: The environment class.
        interactions: The length of the whole test; every repetition has the same share of it.
        repetitions: How many repetitions are taken side by side. The interval comes from their
            spread: a single one has none.
        start_complexity: The complexity to begin with; by default the lowest of the class.
        slot: How many interactions the first environment lasts.
        growth: By which part each environment lasts longer than the one before.
        step: How far a reward of 1 moves the level, as a part of it.
        payoff: What turns a trace into a number.
        seed: The root of all randomness.
        unbalanced: Whether to accept a class that is not balanced.
    """

    def __init__(
        self,
        environment_class: SpecLike,
        interactions: int,
        repetitions: int = REPETITIONS,
        start_complexity: float | None = None,
        slot: int = 1,
        growth: float = 0.5,
        step: float = 0.5,
        payoff: SpecLike = "average-v1",
        seed: int = 0,
        unbalanced: bool = False,
    ) -> None:
        super().__init__(
            environment_class, repetitions, start_complexity, step, growth, payoff, seed, unbalanced
        )
        if slot < 1:
            raise InvalidInputError(f"The first slot is {slot} interactions.", "Give 1 or more.")
        if interactions < slot * repetitions:
            raise InvalidInputError(
                f"{interactions} interactions are too few for {repetitions} repetitions whose "
                f"first slot is {slot}.",
                f"Give at least {slot * repetitions} interactions, or fewer repetitions.",
            )
        self.length = interactions // repetitions
        self.slots: list[int] = []  # each longer than the one before; the last is cut off
        while (left := interactions // repetitions - sum(self.slots)) > 0:
            self.slots.append(min(slot, left))
            slot = max(slot + 1, ceil(slot + slot * growth))
        self.max_rounds = len(self.slots)

    def budget(self, rounds: Sequence[Round]) -> Budget | None:
        """So many interactions; fewer in the last round."""
        return Budget(self.slots[len(rounds)]) if len(rounds) < len(self.slots) else None

    def counted(self, outcome: Outcome) -> Outcome:
        """The outcome with its payoff for the share of the interactions that was completed."""
        planned = outcome.exercise.budget.max_interactions
        if outcome.payoff is None or outcome.interactions >= planned:
            return outcome
        return replace(outcome, payoff=outcome.payoff * outcome.interactions / planned)

    def expected(self) -> int:
        """How many exercises one agent takes, unless the class is exhausted before."""
        return self.max_rounds * self.repetitions


class AnytimeTimed(Anytime):
    """The anytime universal intelligence test taking time into account (Definition 18).

    Every environment is one that the repetition has not had before, of complexity H with
    ``xi - 1 <= H <= xi``. The first lasts 1 microsecond, each further one half as long again as the
    one before. After each, ``xi`` becomes ``xi + xi * reward / 2``: success leads to harder
    environments, failure to easier ones. The score is the mean of all rewards. An agent that had
    no time to act gets 0.

    By the wall clock a slot is the agent's own time. The test as a whole, however, is over after
    the given real time, whatever the environments and the loop took of it; its last slots are cut
    off there.

    Args:
        environment_class: The environment class.
        time: The seconds that the whole test lasts; every repetition has the same share of it.
        repetitions: How many repetitions are taken side by side. The interval comes from their
            spread: a single one has none.
        start_complexity: The complexity to begin with; by default the lowest of the class.
        slot: How many seconds the first environment lasts.
        growth: By which part each environment lasts longer than the one before.
        step: How far a reward of 1 moves the level, as a part of it.
        payoff: What turns a trace into a number.
        clock: ``wall``, or ``virtual`` to believe the delays that agents declare.
        tick: Seconds of an action under the virtual clock when the agent declares none.
        seed: The root of all randomness.
        unbalanced: Whether to accept a class that is not balanced.
    """

    def __init__(
        self,
        environment_class: SpecLike,
        time: float,
        repetitions: int = REPETITIONS,
        start_complexity: float | None = None,
        slot: float = 1e-6,
        growth: float = 0.5,
        step: float = 0.5,
        payoff: SpecLike = "diminishing-v1",
        clock: Literal["wall", "virtual"] = "wall",
        tick: float = 1e-6,
        seed: int = 0,
        unbalanced: bool = False,
    ) -> None:
        super().__init__(
            environment_class, repetitions, start_complexity, step, growth, payoff, seed, unbalanced
        )
        if not (isfinite(slot) and slot >= 1 / NANOSECONDS):
            raise InvalidInputError(f"The first slot is {slot} s.", "Give a nanosecond or more.")
        if not (isfinite(time) and time >= slot * repetitions):
            raise InvalidInputError(
                f"{time:g} s are too little for {repetitions} repetitions whose first slot is "
                f"{slot:g} s.",
                f"Give at least {slot * repetitions:g} s.",
            )
        self.time = time
        self.slot = slot
        self.clock = Clock(ClockKind(clock), tick)
        self.length = time / repetitions
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
        return replace(super().describe(), length_unit="seconds", metrics=metrics(timed=True))

    def budget(self, rounds: Sequence[Round]) -> Budget | None:
        """The slot of the round, or what is left of the time if that is less."""
        if rounds and _seconds(rounds[-1][0]) < self._slot(len(rounds) - 1):
            return None  # the last round was cut off
        left = (self.time - sum(map(self._spent, rounds))) / self.repetitions
        if self._is_over(left):
            return None
        seconds = min(self._slot(len(rounds)), left)
        if self.clock.kind is ClockKind.VIRTUAL:
            return Budget(seconds=seconds)
        return Budget(seconds=seconds, wall_limit=left)

    def is_late(self, begun: Round, budget: Budget) -> bool:
        """Whether more than the whole test's time is gone before the round is complete.

        That happens only to agents that cannot be stopped in time. Such a round does not count.
        """
        left = inf if budget.wall_limit is None else budget.wall_limit * self.repetitions
        return self._spent(begun) > left + OVERRUN * self.time

    def _slot(self, place: int) -> float:
        return float(self.slot * (1 + self.growth) ** place)

    def _spent(self, done: Round) -> float:
        """The real seconds of a round or, under the virtual clock, those of its slots."""
        return sum(float(each.remarks.get("elapsed", _seconds(each))) for each in done.values())

    def expected(self) -> int | None:
        """How many exercises one agent takes, where no real time plays a part."""
        if self.clock.kind is ClockKind.WALL:
            return None
        left, place = self.length, 0
        while not self._is_over(left):
            left -= self._slot(place)
            place += 1
        return place * self.repetitions

    def _is_over(self, left: float) -> bool:
        """Whether what is left for a repetition is less than the first slot."""
        return left < self.slot * (1 - ROUNDING)


def _seconds(outcome: Outcome) -> float:
    return outcome.exercise.budget.seconds or 0.0
