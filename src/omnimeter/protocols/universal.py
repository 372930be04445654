"""The parametric universal tests: a finite set of different environments, one score.

They are Definitions 10, 15 and 17 of the anytime test. How many environments there are, and how
long each is met, are parameters of the test and of what it measures.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from omnimeter.contract import Payoff, Trace
from omnimeter.payoffs import Average
from omnimeter.protocols.drawing import payoff_bounds
from omnimeter.protocols.specs import SpecLike
from omnimeter.protocols.universal_base import BalancedUniversal, Range, Universal


@dataclass(frozen=True)
class AveragePlanned:
    """The average reward v(n) = V(n) / n over the n interactions that were planned.

    An agent that stops early does not get the rewards of the rest. So it gains nothing by resting
    on its laurels, as it would if only completed interactions were divided by.

    Attributes:
        interactions: The planned number n of Definitions 14 and 15 (anytime test).
    """

    interactions: int

    def __call__(self, trace: Trace) -> float:
        """The sum of all rewards of the trace, divided by the planned number."""
        return Average()(trace) * (len(trace) / self.interactions)

    def bounds(self, rewards: Range) -> Range:
        """The range of the rewards, and 0."""
        return Average().bounds(rewards)


class UniversalRewards(Universal):
    """Universal intelligence by accumulated rewards (anytime test, Definition 10).

    Every agent meets the same m different environments, for n interactions in each. The score is
    the mean over environments of the accumulated reward V(n).

    It estimates the expected score of a test of this size: over sets of m different environments
    that are extracted with the class's own probabilities, over the agent's chance and over the
    environments'. Sets without repetition differ less from each other than independent draws
    would, so the interval is rather too long than too short: of 5 to 25 out of 40 environments it
    was found to cover 99 % and more. Exercises that ended in a fault are left out of the value and
    counted beside it; faults of the agent's own widen the interval.

    Args:
        environments: The environment class.
        exercises: The number m of environments.
        interactions: The number n of interactions in each.
        seed: The root of all chance.
    """

    def __init__(
        self,
        environments: SpecLike,
        exercises: int = 20,
        interactions: int = 100,
        seed: int = 0,
    ) -> None:
        super().__init__(environments, exercises, interactions, seed=seed)

    @cached_property
    def _payoff_range(self) -> Range:
        """What n rewards can make together."""
        drawn = ((self.environment_class, instance) for instance in self.instances)
        low, high = payoff_bounds(Average(), drawn)
        return self.length * low, self.length * high


class UniversalAdjusted(BalancedUniversal):
    """Universal intelligence by adjusted average rewards (anytime test, Definition 15).

    Every agent meets the same m different balanced environments, for n interactions in each. The
    score is the mean over environments of Φ(n, complexity) V(n) / n, where V(n) is the accumulated
    reward and Φ the adjustment of Definition 11. An agent that stops early gets no reward for the
    rest of the n interactions.

    What is estimated, and what faults do, is the same as in Definition 10.

    Args:
        environments: The environment class. It must claim to be balanced.
        exercises: The number m of environments.
        interactions: The number n of interactions in each.
        adjustment: The function Φ of the number of interactions and the complexity.
        seed: The root of all chance.
        unbalanced: Insist on a class that is not balanced; the score then says so.
    """

    def __init__(
        self,
        environments: SpecLike,
        exercises: int = 20,
        interactions: int = 100,
        adjustment: SpecLike = "flat-v1",
        seed: int = 0,
        unbalanced: bool = False,
    ) -> None:
        super().__init__(environments, exercises, interactions, adjustment=adjustment, seed=seed)
        self.unbalanced = unbalanced
        self._average = AveragePlanned(interactions)

    def payoff(self) -> Payoff:
        """The average reward over the planned interactions."""
        return self._average


class UniversalTimed(BalancedUniversal):
    """Universal intelligence considering time (anytime test, Definition 17).

    Every agent meets the same m different balanced environments, for tau seconds each. The score
    is the mean over environments of Φ'(tau, complexity) times the payoff at tau, which is the
    average reward with diminishing history of Definition 16 unless another is chosen.

    What is estimated, and what faults do, is the same as in Definition 10.

    Args:
        environments: The environment class. It must claim to be balanced.
        exercises: The number m of environments.
        seconds: The time tau in each environment.
        adjustment: The function Φ' of the time in seconds and the complexity.
        payoff: What turns a trace into a number.
        clock: ``wall`` measures the agent's own time; ``virtual`` believes what it declares.
        tick: Seconds of an action under the virtual clock when the agent declares none.
        seed: The root of all chance.
        unbalanced: Insist on a class that is not balanced; the score then says so.
    """

    def __init__(
        self,
        environments: SpecLike,
        exercises: int = 20,
        seconds: float = 1.0,
        adjustment: SpecLike = "flat-v1",
        payoff: SpecLike = "diminishing-v1",
        clock: Literal["wall", "virtual"] = "wall",
        tick: float = 1.0,
        seed: int = 0,
        unbalanced: bool = False,
    ) -> None:
        super().__init__(
            environments,
            exercises,
            seconds=seconds,
            payoff=payoff,
            adjustment=adjustment,
            clock=clock,
            tick=tick,
            seed=seed,
        )
        self.unbalanced = unbalanced
