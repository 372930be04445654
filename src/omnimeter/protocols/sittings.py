"""Sittings of an adaptive test side by side: what each has done, and what all of them say.

All sittings advance together, round by round. So after every round there are as many independent
values of the same distribution as there are sittings, and their mean has an honest interval,
whenever the test is stopped. One sitting alone has none: how far another one would lie from it
cannot be seen inside it, where every exercise depends on the ones before.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import isfinite

import numpy as np

from omnimeter.contract import FloatArray, Interval, Moment, Outcome, Score, is_own_fault
from omnimeter.statistics import Estimate, Support, mean

Round = Mapping[int, Outcome]
"""What came of one round, by the number of the sitting."""


@dataclass(frozen=True)
class Sittings:
    """The outcomes of one agent in all its sittings. Exercise k is the ``k % count``-th one's.

    Attributes:
        count: How many sittings there are.
        outcomes: What came of the exercises so far.
    """

    count: int
    outcomes: Sequence[Outcome]

    def rounds(self) -> list[Round]:
        """Round after round, up to the first that is not complete, which comes last."""
        return list(self._rounds)

    @cached_property
    def _rounds(self) -> list[Round]:
        found: dict[int, dict[int, Outcome]] = {}
        for outcome in self.outcomes:
            place, sitting = divmod(outcome.exercise.number, self.count)
            found.setdefault(place, {})[sitting] = outcome
        rounds: list[Round] = []
        while not rounds or len(rounds[-1]) == self.count:
            rounds.append(found.get(len(rounds), {}))
        return rounds

    def complete(self) -> list[Round]:
        """The complete rounds."""
        return self._rounds[:-1]

    def table(self, instead: float | None = None) -> FloatArray:
        """The payoff of each complete round (row) in each sitting (column).

        Args:
            instead: What stands where the agent's own fault left nothing to be judged. What else
                is missing, always, is not a number.
        """
        rows = [
            [_payoff(done[sitting], instead) for sitting in range(self.count)]
            for done in self.complete()
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, self.count)

    def values(self, instead: float | None = None) -> dict[int, float]:
        """The score of each sitting: the mean over its complete rounds (line 24)."""
        return {
            sitting: float(np.mean(column[~np.isnan(column)]))
            for sitting, column in enumerate(self.table(instead).T)
            if not np.isnan(column).all()
        }

    def running(self) -> FloatArray:
        """The score after each complete round, in the mean over the sittings."""
        table = self.table()
        known = ~np.isnan(table)
        sums = np.cumsum(np.where(known, table, 0.0), axis=0)
        counts = np.cumsum(known, axis=0)
        scores = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
        return scores.mean(axis=1) if len(scores) else np.zeros(0)

    def course(self, bounds: Support) -> list[Moment]:
        """Where the test stood after each complete round."""
        complete, moments, length = self.complete(), [], 0.0
        for place, done in enumerate(complete, start=1):
            first = done[0].exercise.budget
            slot = float(first.most if first.seconds is None else first.seconds)
            length += slot
            known = Sittings(
                self.count, [each for one in complete[:place] for each in one.values()]
            )
            found = known.score(bounds)
            level = float(np.mean([each.exercise.complexity for each in done.values()]))
            moments.append(Moment(length, slot, level, found.value or 0.0, found.interval))
        return moments

    def faults(self) -> dict[str, int]:
        """How many exercises ended in each kind of fault."""
        return dict(Counter(str(o.fault.kind) for o in self.outcomes if o.fault is not None))

    def score(self, bounds: Support, level: float = 0.95) -> Score:
        """The mean over the sittings with its interval, from the complete rounds.

        Before the first round is complete there is none. As everywhere, an exercise that the agent
        failed to go on with may have been worth anything: the interval reaches from where it lies
        if all of these had been worth the least, to where it lies if they had been worth the most.

        Args:
            bounds: Between which numbers every payoff lies.
            level: The level of the interval.
        """
        values = list(self.values().values())
        if not values:
            return Score(None, None, 0, self.faults())
        count = sum(each.payoff is not None for done in self.complete() for each in done.values())
        interval = self._interval(values, bounds, level)
        return Score(float(np.mean(values)), interval, count, self.faults())

    def _interval(self, values: list[float], bounds: Support, level: float) -> Interval | None:
        if len(values) < 2:
            return None
        support = min(bounds[0], *values), max(bounds[1], *values)
        found = mean(values, level, support)
        low, high = found.low, found.high
        if any(is_own_fault(each) for done in self.complete() for each in done.values()):
            worst, best = (self._if_worth(end, support, level) for end in support)
            low, high = min(low, worst.low), max(high, best.high)
        return Interval(low, high, found.level)

    def _if_worth(self, payoff: float, support: Support, level: float) -> Estimate:
        """What the mean would be if every exercise that the agent failed in had been worth this."""
        if not isfinite(payoff):
            return Estimate(payoff, payoff, payoff, level, 0)
        return mean(list(self.values(payoff).values()), level, support)


def _payoff(outcome: Outcome, instead: float | None) -> float:
    if outcome.payoff is not None:
        return outcome.payoff
    return instead if instead is not None and is_own_fault(outcome) else float("nan")
