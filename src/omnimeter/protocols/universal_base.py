"""What the parametric universal tests share: different environments, adjusted values, balance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import isfinite
from typing import Literal

from omnimeter.catalogue import Kind, make
from omnimeter.contract import Exercise, Instance, InvalidInputError, Outcome, Score, Spec
from omnimeter.payoffs.adjustments import Adjustment
from omnimeter.protocols.balance import refuse_unbalanced
from omnimeter.protocols.drawing import payoff_bounds
from omnimeter.protocols.sample import Sample
from omnimeter.protocols.scoring import Scoring
from omnimeter.protocols.specs import SpecLike, read_spec
from omnimeter.protocols.universal_subset import distinct_instances

Range = tuple[float, float]
"""The lowest and the highest of some numbers."""


class Universal(Sample):
    """A sample of different environments whose results are adjusted.

    The value of an exercise is Φ(length, complexity) times its payoff. Outcomes keep the payoff.
    """

    def __init__(
        self,
        environments: SpecLike,
        exercises: int,
        interactions: int | None = None,
        seconds: float | None = None,
        payoff: SpecLike = "total-v1",
        adjustment: SpecLike = "flat-v1",
        clock: Literal["wall", "virtual"] = "virtual",
        tick: float = 1.0,
        seed: int = 0,
    ) -> None:
        super().__init__(
            environments,
            exercises,
            interactions,
            seconds,
            payoff=payoff,
            clock=clock,
            tick=tick,
            seed=seed,
        )
        self.length: float = _checked_length(interactions, seconds)
        self.adjustment: Adjustment = make(Kind.ADJUSTMENT, read_spec(Kind.ADJUSTMENT, adjustment))

    @cached_property
    def instances(self) -> list[Instance]:
        """The drawn environments, all different."""
        return distinct_instances(
            self.environment_class, self.environments, self.seed, self.exercises
        )

    @cached_property
    def _payoff_range(self) -> Range:
        """Between which numbers every payoff lies that is not adjusted."""
        drawn = ((self.environment_class, instance) for instance in self.instances)
        return payoff_bounds(self.payoff(), drawn)

    @cached_property
    def _value_range(self) -> Range:
        """Between which numbers every adjusted value lies."""
        return _product(self.adjustment.bounds(), self._payoff_range)

    def bounds(self) -> Range:
        """Between which numbers every payoff lies, adjusted or not."""
        lows, highs = zip(self._payoff_range, self._value_range, strict=True)
        return min(lows), max(highs)

    def propose(self, agent: Spec, outcomes: Sequence[Outcome]) -> list[Exercise]:
        """All the exercises that the agent has not taken yet."""
        proposed = super().propose(agent, outcomes)
        for exercise in proposed:
            self._factor(exercise)  # an adjustment that is none is found before anybody acts
        return proposed

    def values(
        self,
        outcomes: Sequence[Outcome],
        moments: int | None = None,  # noqa: ARG002 - there are none before the end
    ) -> Mapping[int, float]:
        """The adjusted value of each exercise; empty where nothing is adjusted."""
        if self.adjustment.bounds() == (1.0, 1.0):
            return {}
        return {
            each.exercise.number: each.payoff
            for each in map(self._adjusted, outcomes)
            if each.payoff is not None
        }

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean adjusted value with its 95 % interval."""
        return Scoring(1, self._value_range).score([*map(self._adjusted, outcomes)])

    def _adjusted(self, outcome: Outcome) -> Outcome:
        """The outcome with its adjusted value in the place of its payoff."""
        if outcome.payoff is None:
            return outcome
        return replace(outcome, payoff=self._factor(outcome.exercise) * outcome.payoff)

    def _factor(self, exercise: Exercise) -> float:
        """By how much the result of an exercise counts."""
        factor = self.adjustment(self.length, exercise.complexity)
        if not (isfinite(factor) and factor > 0):
            raise InvalidInputError(
                f"The adjustment is {factor} at length {self.length:g} and complexity "
                f"{exercise.complexity:g}.",
                "An adjustment is positive and finite; omnimeter.testing.AdjustmentSuite tests it.",
            )
        return factor


class BalancedUniversal(Universal):
    """A universal test for balanced environments, in which a random agent is expected to get 0."""

    unbalanced: bool

    @cached_property
    def instances(self) -> list[Instance]:
        """The drawn environments, all different; refused where they are not balanced."""
        if not self.unbalanced:
            refuse_unbalanced(self.environment_class, self.environments)
        return super().instances

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean adjusted value with its 95 % interval; says so if balance was waived."""
        found = super().score(outcomes)
        if not self.unbalanced:
            return found
        return replace(found, parts={**found.parts, "unbalanced": True})


def _checked_length(interactions: int | None, seconds: float | None) -> float:
    """The length of an exercise, which must be more than none."""
    length, unit = (seconds, "seconds") if interactions is None else (interactions, "interactions")
    if length is None or not length > 0:
        raise InvalidInputError(
            f"There cannot be {length} {unit} in each environment.", "Give more than 0."
        )
    return length


def _product(factors: Range, numbers: Range) -> Range:
    """Where the products of positive factors and numbers lie; 0 times infinity counts as 0."""
    ends = [
        factor * number if factor and number else 0.0 for factor in factors for number in numbers
    ]
    return min(ends), max(ends)
