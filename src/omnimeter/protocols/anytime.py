"""The anytime universal intelligence tests: taking time into account, and disregarding it.

Definitions 18 and 19 of the anytime test.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from math import ceil, inf, isfinite, log, log1p
from typing import Literal

from omnimeter.contract import (
    NANOSECONDS,
    Budget,
    Clock,
    ClockKind,
    EnvironmentClass,
    InvalidInputError,
    Outcome,
)
from omnimeter.protocols.adaptive import Anytime
from omnimeter.protocols.choosing import warm_up
from omnimeter.protocols.sittings import Round
from omnimeter.protocols.specs import SpecLike

OVERRUN = 0.02
"""By which part the real time of a test may be exceeded to complete its last round."""

ROUNDING = 1e-9
"""As parts of a whole, times that differ by less than this are the same: sums are rounded."""

SITTINGS = 10
"""Sittings of a test by default: enough for an interval, few enough to leave each some time."""


class AnytimeUntimed(Anytime):
    """The anytime universal intelligence test disregarding time (Definition 19).

    Every environment is one that the sitting has not had before, of complexity H with
    ``xi - 1 <= H <= xi``. The first lasts 1 interaction, each further one half as many again as
    the one before, rounded up. After each, ``xi`` becomes ``xi + xi * reward / 2``: success leads
    to harder environments, failure to easier ones. The score is the mean of all rewards. It is
    repeatable bit for bit. An agent that stops early gets nothing for the interactions that are
    left: otherwise stopping as soon as the average is good would pay (section 5.1).

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
        if interactions < slot * sittings:
            raise InvalidInputError(
                f"{interactions} interactions are too few for {sittings} sittings that begin with "
                f"{slot}.",
                f"Give at least {slot * sittings} interactions, or fewer sittings.",
            )
        self.interactions = interactions
        self.slots = _slots(interactions // sittings, slot, growth)

    @property
    def most_rounds(self) -> int:
        """As many as there are slots."""
        return len(self.slots)

    def budget(self, rounds: Sequence[Round]) -> Budget | None:
        """So many interactions; fewer in the last round."""
        return Budget(self.slots[len(rounds)]) if len(rounds) < len(self.slots) else None

    def counted(self, outcome: Outcome) -> Outcome:
        """The outcome with its payoff for the share of the interactions that was completed."""
        planned = outcome.exercise.budget.most
        if outcome.payoff is None or outcome.interactions >= planned:
            return outcome
        return replace(outcome, payoff=outcome.payoff * outcome.interactions / planned)

    def expected(self) -> int:
        """How many exercises one agent takes, unless the class is used up before."""
        return self.most_rounds * self.sittings


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
        if self._is_over(left):
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

    @property
    def most_rounds(self) -> int:
        """All rounds whose slot is not longer than a sitting, and one that is cut off.

        By the wall clock there can be so many, since an agent that stops early leaves time over.
        """
        return int(log(self.time / self.sittings / self.slot) / log1p(self.growth) + ROUNDING) + 2

    def expected(self) -> int | None:
        """How many exercises one agent takes, where no real time plays a part."""
        if self.clock.kind is ClockKind.WALL:
            return None
        left, place = self.time / self.sittings, 0
        while not self._is_over(left):
            left -= self._slot(place)
            place += 1
        return place * self.sittings

    def _is_over(self, left: float) -> bool:
        """Whether what is left for a sitting is less than the first slot."""
        return left < self.slot * (1 - ROUNDING)


def _seconds(outcome: Outcome) -> float:
    return outcome.exercise.budget.seconds or 0.0
