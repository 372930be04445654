"""The parametric universal tests (anytime test, Definitions 10, 15 and 17)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import isfinite
from typing import Literal

import numpy as np

from omnimeter.catalogue import Kind, given_spec, make
from omnimeter.contract import (
    EnvironmentClass,
    Instance,
    InvalidInputError,
    Outcome,
    Outcomes,
    Score,
    Spec,
    stream,
)
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.protocol import Design
from omnimeter.payoffs import Average
from omnimeter.payoffs.parts import Adjustment
from omnimeter.protocols.sample import (
    Sample,
    Seated,
    SpecLike,
    Units,
    balance_setting,
    check_balanced,
    draw,
    mean_score,
    payoff_bounds,
)

MAX_REPEATS = 1000
"""Draws in a row without a new environment before a class counts as exhausted."""

Range = tuple[float, float]
"""The lowest and the highest of some numbers."""


def distinct_instances(
    environment_class: EnvironmentClass, spec: Spec, seed: int, count: int
) -> list[Instance]:
    """Draw a set of different environments by the class's own distribution.

    What was drawn already is drawn again. Frequent environments, which are the simple ones, so
    tend to come first. The order of the result is therefore shuffled: any part of a test that is
    not finished yet is a fair sample of the whole.

    Args:
        environment_class: The class that they are drawn from.
        spec: Its spec, for messages.
        seed: The root of all randomness.
        count: How many.

    Raises:
        InvalidInputError: The class has not so many, or the rest is too rare to be drawn.
    """
    distinct: dict[str, Instance] = {}
    draws, repeats = itertools.count(), 0
    while len(distinct) < count:
        instance = draw(environment_class, spec, seed, next(draws))
        repeats = repeats + 1 if instance.key in distinct else 0
        distinct.setdefault(instance.key, instance)
        if repeats == MAX_REPEATS:
            raise InvalidInputError(
                f"{count} different environments cannot be drawn from {spec.label}: after "
                f"{len(distinct)} there was no new one in {MAX_REPEATS} draws.",
                f"Ask for {len(distinct)} exercises or fewer, or for a wider class.",
            )
    instances = list(distinct.values())
    order = stream(seed, "instance", "order").generator().permutation(count)
    return [instances[place] for place in order]


class Universal(Sample):
    """A sample of different environments whose results are adjusted.

    The value of an exercise is Φ(length, complexity) times its payoff. Outcomes keep the payoff.
    ``unbalanced`` says whether a class must claim to be balanced, so that a random agent is
    expected to get 0 (``False``); ``None`` where that does not matter.
    """

    grows = ""
    indivisible = "the order of different environments depends on how many there are"

    def __init__(
        self,
        environment_class: SpecLike,
        exercises: int,
        interactions: int | None = None,
        seconds: float | None = None,
        payoff: SpecLike = "total-v1",
        adjustment: SpecLike = "flat-v1",
        clock: Literal["wall", "virtual"] = "virtual",
        tick: float = 1.0,
        seed: int = 0,
        unbalanced: bool | None = None,
        seated: Seated = None,
    ) -> None:
        super().__init__(
            environment_class,
            exercises,
            interactions,
            seconds,
            payoff=payoff,
            clock=clock,
            tick=tick,
            seed=seed,
            seated=seated,
        )
        unit = "seconds" if interactions is None else "interactions"
        length = seconds if interactions is None else interactions
        if length is None or not length > 0:
            raise InvalidInputError(
                f"There cannot be {length} {unit} in each environment.", "Give more than 0."
            )
        self.length: float = length
        self.unbalanced = unbalanced
        self.adjustment: Adjustment = make(Kind.ADJUSTMENT, given_spec(Kind.ADJUSTMENT, adjustment))

    @cached_property
    def environment_class(self) -> EnvironmentClass:
        """The class that the environments are drawn from; balanced, where it has to be."""
        made: EnvironmentClass = make(Kind.ENVIRONMENT, self.environment_spec)
        if self.unbalanced is False:
            check_balanced(made, self.environment_spec)
        return self.with_seats(made)

    @cached_property
    def instances(self) -> list[Instance]:
        """The drawn environments, all different; they are drawn when one of them is needed."""
        made, spec = self.environment_class, self.environment_spec
        drawn = distinct_instances(made, spec, self.seed, self.exercises)
        self._factors(np.array([made.complexity(each) for each in drawn]))  # may raise
        return drawn

    def instance(self, number: int) -> Instance:
        """The environment of the exercise of some number."""
        return self.instances[number]

    @cached_property
    def _value_range(self) -> Range:
        """Between which numbers every adjusted value lies; 0 times infinity counts as 0."""
        pairs = itertools.product(self.adjustment.bounds(), self._payoff_range)
        ends = [factor * payoff if factor and payoff else 0.0 for factor, payoff in pairs]
        return min(ends), max(ends)

    def bounds(self) -> Range:
        """Between which numbers every payoff lies, adjusted or not."""
        lows, highs = zip(self._payoff_range, self._value_range, strict=True)
        return min(lows), max(highs)

    def values(
        self,
        outcomes: Sequence[Outcome],
        moments: int | None = None,  # noqa: ARG002 - there are none before the end
    ) -> Mapping[int, float]:
        """The adjusted value of each exercise; empty where nothing is adjusted."""
        if self.adjustment.bounds() == (1.0, 1.0):
            return {}
        units = self._adjusted(Outcomes.of(outcomes))
        numbers, payoffs = units.numbers[units.paid], units.payoffs[units.paid]
        return dict(zip(numbers.tolist(), payoffs.tolist(), strict=True))

    def score(self, outcomes: Sequence[Outcome]) -> Score:
        """The mean adjusted value with its 95 % interval; says so if balance was waived."""
        outcomes = Outcomes.of(outcomes)
        units = self._adjusted(outcomes)
        score = mean_score(units, 1, self._value_range, outcomes.fault_counts())
        if not self.unbalanced:
            return score
        return replace(score, parts={**score.parts, "unbalanced": True})

    def settings(self) -> dict[str, str]:
        """Whether the class claims to be balanced, where that matters."""
        if self.unbalanced is None:
            return {}
        return balance_setting(self.environment_class, bool(self.seats))

    def _adjusted(self, outcomes: Outcomes) -> Units:
        """The exercises with their adjusted values in the place of their payoffs."""
        units = Units.of(outcomes)
        payoffs = units.payoffs.copy()
        payoffs[units.paid] *= self._factors(outcomes.complexities[units.paid])
        return units._replace(payoffs=payoffs)

    def _factors(self, complexities: FloatArray) -> FloatArray:
        """By how much the results of exercises of some complexities count."""
        distinct, places = np.unique(complexities, return_inverse=True)
        factors = np.array([self._factor(each) for each in distinct.tolist()], np.float64)
        return factors[places]

    def _factor(self, complexity: float) -> float:
        factor = self.adjustment(self.length, complexity)
        if not (isfinite(factor) and factor > 0):
            raise InvalidInputError(
                f"The adjustment is {factor} at length {self.length:g} and complexity "
                f"{complexity:g}.",
                "An adjustment is positive and finite; omnimeter.testing.AdjustmentSuite tests it.",
            )
        return factor


class UniversalRewards(Universal):
    """Universal intelligence by accumulated rewards (anytime test, Definition 10).

    Every agent meets the same m different environments, for n interactions in each. The score is
    the mean over environments of the accumulated reward V(n).

    It estimates the expected score of a test of this size: over sets of m different environments
    that are drawn with the class's own probabilities, and over the randomness of agent and
    environment. The interval takes the environments as independent draws; docs/intervals.md says
    how often it holds. Exercises that ended in a fault are left out of the value and counted
    separately; the agent's own faults widen the interval.

    The total is the paper's own payoff. Where rewards depend on the past, an agent that stops
    after a bad reward can have a total above 0 without skill (``docs/standard.md``, §12.10).

    Args:
        environment_class: The environment class.
        exercises: The number m of environments.
        interactions: The number n of interactions in each.
        seed: The root of all randomness.
        seated: The agents that sit beside each agent, as in ``sample-v1``.
    """

    def __init__(
        self,
        environment_class: SpecLike,
        exercises: int = 20,
        interactions: int = 100,
        seed: int = 0,
        seated: Seated = None,
    ) -> None:
        super().__init__(environment_class, exercises, interactions, seed=seed, seated=seated)

    def describe(self) -> Design:
        """Without a warning: the payoff is the definition's own."""
        return replace(super().describe(), warning="")

    @cached_property
    def _payoff_range(self) -> Range:
        """Where the sum of n rewards lies."""
        low, high = payoff_bounds(Average(), self.reward_ranges())
        return self.length * low, self.length * high


class UniversalAdjusted(Universal):
    """Universal intelligence by adjusted average rewards (anytime test, Definition 15).

    Every agent meets the same m different balanced environments, for n interactions in each. The
    score is the mean over environments of Φ(n, complexity) V(n) / n, where V(n) is the accumulated
    reward and Φ the adjustment of Definition 11. An agent that stops early gets no reward for the
    rest of the n interactions.

    What is estimated, and what faults do, is the same as in Definition 10.

    Args:
        environment_class: The environment class. It must claim to be balanced.
        exercises: The number m of environments.
        interactions: The number n of interactions in each.
        adjustment: The function Φ of the number of interactions and the complexity.
        seed: The root of all randomness.
        unbalanced: Insist on a class that is not balanced; the score then says so.
        seated: The agents that sit beside each agent, as in ``sample-v1``.
    """

    def __init__(
        self,
        environment_class: SpecLike,
        exercises: int = 20,
        interactions: int = 100,
        adjustment: SpecLike = "flat-v1",
        seed: int = 0,
        unbalanced: bool = False,
        seated: Seated = None,
    ) -> None:
        super().__init__(
            environment_class,
            exercises,
            interactions,
            payoff="planned-average-v1",
            adjustment=adjustment,
            seed=seed,
            unbalanced=unbalanced,
            seated=seated,
        )


class UniversalTimed(Universal):
    """Universal intelligence considering time (anytime test, Definition 17).

    Every agent meets the same m different balanced environments, for tau seconds each. The score
    is the mean over environments of Φ'(tau, complexity) times the payoff at tau, which is the
    average reward with diminishing history of Definition 16 unless another is chosen.

    What is estimated, and what faults do, is the same as in Definition 10.

    Args:
        environment_class: The environment class. It must claim to be balanced.
        exercises: The number m of environments.
        seconds: The time tau in each environment.
        adjustment: The function Φ' of the time in seconds and the complexity.
        payoff: What turns a trace into a number.
        clock: ``wall`` measures the agent's own time; ``virtual`` believes what it declares.
        tick: Seconds of an action under the virtual clock when the agent declares none.
        seed: The root of all randomness.
        unbalanced: Insist on a class that is not balanced; the score then says so.
        seated: The agents that sit beside each agent, as in ``sample-v1``.
    """

    def __init__(
        self,
        environment_class: SpecLike,
        exercises: int = 20,
        seconds: float = 1.0,
        adjustment: SpecLike = "flat-v1",
        payoff: SpecLike = "diminishing-v1",
        clock: Literal["wall", "virtual"] = "wall",
        tick: float = 1.0,
        seed: int = 0,
        unbalanced: bool = False,
        seated: Seated = None,
    ) -> None:
        super().__init__(
            environment_class,
            exercises,
            seconds=seconds,
            payoff=payoff,
            adjustment=adjustment,
            clock=clock,
            tick=tick,
            seed=seed,
            unbalanced=unbalanced,
            seated=seated,
        )
