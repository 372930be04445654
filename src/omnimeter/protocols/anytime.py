"""The anytime universal intelligence tests: taking time into account, and disregarding it.

Definitions 18 and 19. The lines of the algorithm are numbered as in the text.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import count
from math import ceil, inf, isfinite
from typing import Any, Literal, NamedTuple

from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    NANOSECONDS,
    Budget,
    Clock,
    ClockKind,
    EnvironmentClass,
    Exercise,
    InvalidInputError,
    Moment,
    Outcome,
    Payoff,
    Protocol,
    Score,
    Spec,
    stream,
)
from omnimeter.protocols.balance import refuse_unbalanced
from omnimeter.protocols.choosing import Choice, choose, warm_up
from omnimeter.protocols.drawing import payoff_bounds
from omnimeter.protocols.history import parts
from omnimeter.protocols.sittings import Round, Sittings
from omnimeter.protocols.specs import SpecLike, read_spec

OVERRUN = 0.02
"""By which part the real time of a test may be exceeded to complete its last round."""

SITTINGS = 10
"""Sittings of a test by default: enough for an interval, few enough to leave each some time."""


class _Position(NamedTuple):
    """Where a sitting stands: what comes next, and the keys of all that was chosen so far."""

    choice: Choice | None
    used: frozenset[str]


class Anytime(Protocol):
    """What both anytime tests have in common. Subclasses say how long each round lasts."""

    clock: Clock

    def __init__(
        self,
        environments: SpecLike,
        sittings: int,
        level: float | None,
        step: float,
        growth: float,
        payoff: SpecLike,
        seed: int,
        unbalanced: bool,
    ) -> None:
        if sittings < 1:
            raise InvalidInputError(
                f"There cannot be {sittings} sittings.", "Give a number from 1 up."
            )
        for name, number in (("level", 1.0 if level is None else level), ("growth", growth)):
            if not 0 < number < inf:
                raise InvalidInputError(f"The {name} is {number}.", "Give a number above 0.")
        if not 0 <= step <= 1:
            raise InvalidInputError(f"The step is {step}.", "Give a number from 0 to 1.")
        self.environments = read_spec(Kind.ENVIRONMENT, environments)
        self.sittings = sittings
        self.level = level
        self.step = step
        self.growth = growth
        self.seed = seed
        self.unbalanced = unbalanced
        self._payoff: Payoff = make(Kind.PAYOFF, read_spec(Kind.PAYOFF, payoff))
        self._positions: dict[tuple[int, tuple[float, ...]], _Position] = {}

    @abstractmethod
    def budget(self, rounds: Sequence[Round]) -> Budget | None:
        """How long the exercises of the next round last, after the rounds so far; none at the end.

        Must be a pure function of the rounds.
        """

    def is_late(self, begun: Round, budget: Budget) -> bool:  # noqa: ARG002 - where time counts
        """Whether a round that has begun takes so long that the test must end without it."""
        return False

    @cached_property
    def environment_class(self) -> EnvironmentClass:
        """The class that the environments are chosen from: the machine U."""
        made: EnvironmentClass = make(Kind.ENVIRONMENT, self.environments)
        if not self.unbalanced:
            refuse_unbalanced(made, self.environments)
        lowest, highest = made.complexity_range()
        if self.level is not None and not lowest <= self.level <= highest:
            reach = f"from {lowest:g}" if highest == inf else f"from {lowest:g} to {highest:g}"
            raise InvalidInputError(
                f"{self.environments.label} has no environment to begin with at or below the "
                f"level {self.level:g}.",
                f"Give a level {reach}, or none to begin with the lowest.",
            )
        return made

    @cached_property
    def lowest_level(self) -> float:
        """The level xi with which every sitting begins (line 7)."""
        return self.environment_class.complexity_range()[0] if self.level is None else self.level

    def payoff(self) -> Payoff:
        """What turns a trace into a number in this test."""
        return self._payoff

    def bounds(self) -> tuple[float, float]:
        """Between which numbers every payoff lies."""
        return self._bounds

    @cached_property
    def _bounds(self) -> tuple[float, float]:
        first = self._position(0, ()).choice
        drawn = [] if first is None else [(self.environment_class, first.instance)]
        return payoff_bounds(self._payoff, drawn)

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> list[Exercise]:
        """The next round: one exercise in each sitting."""
        *complete, begun = Sittings(self.sittings, outcomes).rounds()
        budget = self.budget(complete)
        if budget is None:
            return []
        if self.is_late(begun, budget):
            return []
        missing = [sitting for sitting in range(self.sittings) if sitting not in begun]
        choices = {
            sitting: self._position(sitting, _rewards(complete, sitting)).choice
            for sitting in range(self.sittings)
        }
        if not all(choices.values()):  # one has used up the class: all of them are over
            return []
        return [
            self._exercise(agent, len(complete) * self.sittings + sitting, choice, budget)
            for sitting in missing
            if (choice := choices[sitting])
        ]

    def _exercise(self, agent: Spec, number: int, choice: Choice, budget: Budget) -> Exercise:
        return Exercise(
            agent=agent,
            environment_class=self.environments,
            instance=choice.instance,
            budget=budget,
            seed=self.seed,
            number=number,
            clock=self.clock,
            complexity=self.environment_class.complexity(choice.instance),
        )

    def _position(self, sitting: int, rewards: tuple[float, ...]) -> _Position:
        """Where a sitting stands after some rewards: lines 10 to 17, 20 and 22.

        All chance is that of the sitting and the round. So two agents that are at the same level
        in the same round get the same environment, unless one of them had it before.
        """
        known = self._positions.get((sitting, rewards))
        if known is not None:
            return known
        level, used = self.lowest_level, frozenset[str]()
        if rewards:
            before = self._position(sitting, rewards[:-1])
            if before.choice is None:
                return before
            level = before.choice.level * (1 + self.step * min(max(rewards[-1], -1.0), 1.0))
            used = before.used
        chance = stream(self.seed, "choose", sitting, len(rewards)).generator()
        choice = choose(self.environment_class, level, used, chance)
        found = _Position(choice, used | {choice.instance.key} if choice else used)
        self._positions[sitting, rewards] = found
        return found

    def course(self, outcomes: Sequence[Outcome]) -> list[Moment]:
        """Where the test stood after each complete round."""
        return Sittings(self.sittings, outcomes).course(self.bounds())

    def values(self, outcomes: Sequence[Outcome]) -> dict[int, float]:
        """The score of each sitting, which is an independent value of its own."""
        return Sittings(self.sittings, outcomes).values()

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean over the sittings, from the complete rounds, and what else they say.

        It estimates the expected score of a sitting of this length, over environments, the
        agent's chance and the environments', and (under a wall clock) over what time it took.
        """
        sittings = Sittings(self.sittings, outcomes)
        found = sittings.score(self.bounds())
        extra: Mapping[str, Any] = {"unbalanced": True} if self.unbalanced else {}
        return Score(
            found.value, found.interval, found.count, found.faults, {**parts(sittings), **extra}
        )


def _rewards(rounds: Sequence[Round], sitting: int) -> tuple[float, ...]:
    """What a sitting was worth so far; an exercise without a payoff moves nothing."""
    return tuple(done[sitting].payoff or 0.0 for done in rounds)


class AnytimeUntimed(Anytime):
    """The anytime universal intelligence test disregarding time (Definition 19).

    Every environment is one that the sitting has not had before, of complexity H with
    ``xi - 1 <= H <= xi``. The first lasts 1 interaction, each further one half as many again as
    the one before, rounded up. After each, ``xi`` becomes ``xi + xi * reward / 2``: success leads
    to harder environments, failure to easier ones. The score is the mean of all rewards. It is
    repeatable bit for bit.

    Args:
        environments: The environment class.
        interactions: The length of the whole test; every sitting has the same share of it.
        sittings: How many sittings are taken side by side. Their spread is what the interval comes
            from: one alone has none.
        level: The complexity level to begin with; by default the lowest of the class.
        slot: How many interactions the first environment lasts.
        growth: By which part each environment lasts longer than the one before.
        step: How far a reward of 1 moves the level, as a part of it.
        payoff: What turns a trace into a number.
        seed: The root of all chance.
        unbalanced: Whether to insist on a class that is not balanced.
    """

    clock = Clock()

    def __init__(
        self,
        environments: SpecLike,
        interactions: int,
        sittings: int = SITTINGS,
        level: float | None = None,
        slot: int = 1,
        growth: float = 0.5,
        step: float = 0.5,
        payoff: SpecLike = "average-v1",
        seed: int = 0,
        unbalanced: bool = False,
    ) -> None:
        super().__init__(environments, sittings, level, step, growth, payoff, seed, unbalanced)
        if slot < 1:
            raise InvalidInputError(f"The first slot is {slot} interactions.", "Give 1 or more.")
        if interactions < sittings:
            raise InvalidInputError(
                f"{interactions} interactions are too few for {sittings} sittings.",
                f"Give at least {sittings} interactions, or fewer sittings.",
            )
        self.interactions = interactions
        self.slots = _slots(interactions // sittings, slot, growth)

    def budget(self, rounds: Sequence[Round]) -> Budget | None:
        """So many interactions; fewer in the last round."""
        return Budget(self.slots[len(rounds)]) if len(rounds) < len(self.slots) else None

    def expected(self) -> int:
        """How many exercises one agent takes, unless the class is used up before."""
        return len(self.slots) * self.sittings


def _slots(total: int, first: int, growth: float) -> list[int]:
    """Whole slots, each longer than the one before, cut off where they reach the total."""
    slots, slot = [], first
    while total > 0:
        slots.append(min(slot, total))
        total -= slots[-1]
        slot = max(slot + 1, ceil(slot + slot * growth))
    return slots


class AnytimeTimed(Anytime):
    """The anytime universal intelligence test taking time into account (Definition 18).

    Every environment is one that the sitting has not had before, of complexity H with
    ``xi - 1 <= H <= xi``. The first lasts 1 microsecond, each further one half as long again as the
    one before. After each, ``xi`` becomes ``xi + xi * reward / 2``: success leads to harder
    environments, failure to easier ones. The score is the mean of all rewards. An agent that had
    no time to act gets 0.

    By the wall clock a slot is the agent's own time. The test as a whole, however, is over after
    the given real time, whatever the environments and the loop took of it; its last slots are cut
    off there.

    Args:
        environments: The environment class.
        time: The seconds that the whole test lasts; every sitting has the same share of it.
        sittings: How many sittings are taken side by side. Their spread is what the interval comes
            from: one alone has none.
        level: The complexity level to begin with; by default the lowest of the class.
        slot: How many seconds the first environment lasts.
        growth: By which part each environment lasts longer than the one before.
        step: How far a reward of 1 moves the level, as a part of it.
        payoff: What turns a trace into a number.
        clock: ``wall``, or ``virtual`` to believe the delays that agents declare.
        tick: Seconds of an action under the virtual clock when the agent declares none.
        seed: The root of all chance.
        unbalanced: Whether to insist on a class that is not balanced.
    """

    def __init__(
        self,
        environments: SpecLike,
        time: float,
        sittings: int = SITTINGS,
        level: float | None = None,
        slot: float = 1e-6,
        growth: float = 0.5,
        step: float = 0.5,
        payoff: SpecLike = "diminishing-v1",
        clock: Literal["wall", "virtual"] = "wall",
        tick: float = 1e-6,
        seed: int = 0,
        unbalanced: bool = False,
    ) -> None:
        super().__init__(environments, sittings, level, step, growth, payoff, seed, unbalanced)
        if not (isfinite(slot) and slot >= 1 / NANOSECONDS):
            raise InvalidInputError(f"The first slot is {slot} s.", "Give a nanosecond or more.")
        if not (isfinite(time) and time >= slot * sittings):
            raise InvalidInputError(
                f"{time:g} s are too little for {sittings} sittings that begin with {slot:g} s.",
                f"Give at least {slot * sittings:g} s.",
            )
        self.time = time
        self.slot = slot
        self.clock = Clock(ClockKind(clock), tick)

    @cached_property
    def environment_class(self) -> EnvironmentClass:
        """The class that the environments are chosen from: the machine U."""
        made = super().environment_class
        if self.clock.kind is ClockKind.WALL:
            warm_up(made)
        return made

    def budget(self, rounds: Sequence[Round]) -> Budget | None:
        """The slot of the round, or what is left of the time if that is less."""
        if rounds and _seconds(rounds[-1][0]) < self._slot(len(rounds) - 1):
            return None  # the last round was cut off
        left = (self.time - sum(map(self._spent, rounds))) / self.sittings
        if left < self.slot:
            return None
        seconds = min(self._slot(len(rounds)), left)
        if self.clock.kind is ClockKind.VIRTUAL:
            return Budget(seconds=seconds)
        return Budget(seconds=seconds, limit=left)

    def is_late(self, begun: Round, budget: Budget) -> bool:
        """Whether more than the whole test's time is gone before the round is complete.

        That happens only to agents that cannot be stopped in time. Such a round does not count.
        """
        left = inf if budget.limit is None else budget.limit * self.sittings
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
        left = self.time / self.sittings
        for place in count():
            if left < self.slot:
                return place * self.sittings
            left -= self._slot(place)
            if left < 0:
                return (place + 1) * self.sittings
        raise AssertionError("there is always an end")


def _seconds(outcome: Outcome) -> float:
    return outcome.exercise.budget.seconds or 0.0
