"""What the anytime tests have in common: sittings that adapt to the agent, round by round.

The lines of the algorithm of Definition 18 (anytime test) are numbered as in the text.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from math import inf
from typing import Any, NamedTuple

from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    Budget,
    Clock,
    EnvironmentClass,
    Exercise,
    InvalidInputError,
    Moment,
    Outcome,
    Payoff,
    Protocol,
    Score,
    Spec,
    is_own_fault,
    stream,
)
from omnimeter.protocols.balance import refuse_unbalanced
from omnimeter.protocols.choosing import Choice, choose
from omnimeter.protocols.drawing import payoff_bounds
from omnimeter.protocols.history import parts
from omnimeter.protocols.sittings import Round, Sittings
from omnimeter.protocols.specs import SpecLike, read_spec


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
        low, high = self._payoff.bounds((-1.0, 1.0))
        if low < -1 or high > 1:
            raise InvalidInputError(
                "The payoff of an anytime test moves the level, and must lie between -1 and 1.",
                "Choose an average, such as average, diminishing or discounted.",
            )
        self._positions: dict[tuple[int, tuple[float, ...]], _Position] = {}

    @abstractmethod
    def budget(self, rounds: Sequence[Round]) -> Budget | None:
        """How long the exercises of the next round last, after the rounds so far; none at the end.

        Must be a pure function of the rounds.
        """

    @property
    @abstractmethod
    def most_rounds(self) -> int:
        """More rounds than this there cannot be; known before the first."""

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
            side = "at or below" if self.level < lowest else "near"
            raise InvalidInputError(
                f"{self.environments.label} has no environment {side} the level {self.level:g}.",
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
        *complete, begun = self._taken(outcomes).rounds()
        budget = self.budget(complete)
        if budget is None or self.is_late(begun, budget) or _failed(complete):
            return []
        choices = self._choices(complete)
        place = len(complete)
        order = sorted(range(self.sittings), key=lambda sitting: (sitting - place) % self.sittings)
        return [
            self._exercise(agent, place * self.sittings + sitting, choices[sitting], budget)
            for sitting in order  # each is the first in turn: who is, finds nothing warm
            if choices and sitting not in begun
        ]

    def is_used_up(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether the test is over because the class has no environment left for a sitting."""
        complete = self._taken(outcomes).complete()
        return self.budget(complete) is not None and not self._choices(complete)

    def _choices(self, rounds: Sequence[Round]) -> list[Choice]:
        """What comes next in each sitting; nothing if one has used up the class."""
        choices = [
            self._position(sitting, _rewards(rounds, sitting)).choice
            for sitting in range(self.sittings)
        ]
        found = [choice for choice in choices if choice is not None]
        return found if len(found) == len(choices) else []

    def _taken(self, outcomes: Sequence[Outcome]) -> Sittings:
        """The sittings with what their exercises are worth in this test."""
        return Sittings(self.sittings, [*map(self.counted, outcomes)])

    def counted(self, outcome: Outcome) -> Outcome:
        """The outcome with what it is worth in this test in the place of its payoff."""
        return outcome

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
        known = len(rewards)
        while known and (sitting, rewards[:known]) not in self._positions:
            known -= 1
        for place in range(known, len(rewards) + 1):
            if (sitting, rewards[:place]) not in self._positions:
                self._positions[sitting, rewards[:place]] = self._next(sitting, rewards[:place])
        return self._positions[sitting, rewards]

    def _next(self, sitting: int, rewards: tuple[float, ...]) -> _Position:
        """The same, where it is known how the sitting stood before the last reward."""
        level, used = self.lowest_level, frozenset[str]()
        if rewards:
            before = self._positions[sitting, rewards[:-1]]
            if before.choice is None:
                return before
            level = before.choice.level * (1 + self.step * min(max(rewards[-1], -1.0), 1.0))
            used = before.used
        chance = stream(self.seed, "choose", sitting, len(rewards)).generator()
        choice = choose(self.environment_class, level, used, chance)
        return _Position(choice, used | {choice.instance.key} if choice else used)

    def course(self, outcomes: Sequence[Outcome]) -> list[Moment]:
        """Where the test stood after each complete round."""
        return self._taken(outcomes).course(self.bounds())

    def values(self, outcomes: Sequence[Outcome], moments: int | None = None) -> dict[int, float]:
        """The score of each sitting, which is an independent value of its own."""
        end = inf if moments is None else moments * self.sittings
        return self._taken([each for each in outcomes if each.exercise.number < end]).values()

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean over the sittings, from the complete rounds, and what else they say.

        It estimates the expected score of a sitting of this length, over environments, the
        agent's chance and the environments', and (under a wall clock) over what time it took.
        """
        sittings = self._taken(outcomes)
        found = sittings.score(self.bounds())
        extra: dict[str, Any] = {"unbalanced": True} if self.unbalanced else {}
        if found.interval is not None:
            extra["watched"] = self._watched(sittings)
        return Score(
            found.value, found.interval, found.count, found.faults, {**parts(sittings), **extra}
        )

    def _watched(self, sittings: Sittings) -> tuple[float, float]:
        """The 95 % interval that holds even if the score was the reason for stopping.

        Who watches may stop after any round. So the error rate is divided among all the rounds
        that there can be (Bonferroni). Then the intervals of all of them hold at once, and so
        does that of the last, whatever made it the last.
        """
        error = max(0.05 / self.most_rounds, 1e-12)  # of which a level is still below 1
        interval = sittings.score(self.bounds(), 1 - error).interval
        assert interval is not None, "there is one at any level, or at none"
        return interval.low, interval.high


def _failed(rounds: Sequence[Round]) -> bool:
    """Whether the agent failed in every exercise of the last round.

    Nothing else would come of the next: a fault moves no level.
    """
    return bool(rounds) and all(map(is_own_fault, rounds[-1].values()))


def _rewards(rounds: Sequence[Round], sitting: int) -> tuple[float, ...]:
    """What a sitting was worth so far; an exercise without a payoff moves nothing."""
    return tuple(done[sitting].payoff or 0.0 for done in rounds)
