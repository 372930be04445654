"""Repetitions of an adaptive test side by side: progress, scores and secondary metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np

from omnimeter.contract import Interval, Outcome, Score
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.exercise import NANOSECONDS, is_own_fault
from omnimeter.contract.protocol import Metric, Moment
from omnimeter.estimation import Estimate, Support, mean
from omnimeter.estimation.reliability import stability

Round = Mapping[int, Outcome]
"""What came of one round, by the number of the repetition."""


@dataclass(frozen=True)
class Repetitions:
    """The outcomes of one agent in ``count`` repetitions; exercise k is in the ``k % count``-th."""

    count: int
    outcomes: Sequence[Outcome]

    @cached_property
    def rounds(self) -> Sequence[Round]:
        """Round after round, up to the first that is not complete, which comes last."""
        known: dict[int, dict[int, Outcome]] = {}
        for outcome in self.outcomes:
            place, repetition = divmod(outcome.exercise.number, self.count)
            known.setdefault(place, {})[repetition] = outcome
        rounds: list[Round] = []
        while not rounds or len(rounds[-1]) == self.count:
            rounds.append(known.get(len(rounds), {}))
        return rounds

    def complete(self) -> Sequence[Round]:
        """The complete rounds."""
        return self.rounds[:-1]

    def table(self, instead: float | None = None) -> FloatArray:
        """The payoff of each complete round (row) in each repetition (column).

        Args:
            instead: The payoff of exercises that ended in the agent's own fault. Whatever else is
                missing is NaN.
        """
        missing = np.nan if instead is None else instead

        def worth(outcome: Outcome) -> float:
            if outcome.payoff is not None:
                return outcome.payoff
            return missing if is_own_fault(outcome) else np.nan

        rows = [[worth(done[each]) for each in range(self.count)] for done in self.complete()]
        return np.array(rows, dtype=np.float64).reshape(-1, self.count)

    def values(self, instead: float | None = None) -> dict[int, float]:
        """The score of each repetition: the mean over its complete rounds (line 24)."""
        return {
            repetition: float(np.mean(column[~np.isnan(column)]))
            for repetition, column in enumerate(self.table(instead).T)
            if not np.isnan(column).all()
        }

    def running(self) -> FloatArray:
        """The score after each complete round, in the mean over the repetitions."""
        table = self.table()
        known = ~np.isnan(table)
        sums = np.cumsum(np.where(known, table, 0.0), axis=0)
        counts = np.cumsum(known, axis=0)
        scores = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
        return scores.mean(axis=1) if len(scores) else np.zeros(0)

    def course(self, bounds: Support) -> list[Moment]:
        """The state of the test after each complete round."""
        complete, moments, length = self.complete(), [], 0.0
        for place, done in enumerate(complete, start=1):
            first = done[0].exercise.budget
            slot = float(first.max_interactions if first.seconds is None else first.seconds)
            length += slot
            known = [each for one in complete[:place] for each in one.values()]
            score = Repetitions(self.count, known).score(bounds)
            level = float(np.mean([each.exercise.complexity for each in done.values()]))
            moments.append(Moment(length, slot, level, score.value or 0.0, score.interval))
        return moments

    def score(self, bounds: Support, confidence: float = 0.95) -> Score:
        """The mean over the repetitions with its interval, from the complete rounds.

        Before the first round is complete there is no score. As everywhere, an exercise that ended
        in the agent's own fault may have been worth anything: the interval reaches from where it
        lies if all of these had the lowest payoff, to where it lies if they had the highest.

        Args:
            bounds: Between which numbers every payoff lies.
            confidence: The confidence of the interval.
        """
        faults = dict(Counter(str(o.fault.kind) for o in self.outcomes if o.fault is not None))
        values = list(self.values().values())
        if not values:
            return Score(None, None, 0, faults)
        outcomes = [each for done in self.complete() for each in done.values()]
        score = Score(
            float(np.mean(values)), None, sum(each.payoff is not None for each in outcomes), faults
        )
        if len(values) < 2:
            return score
        support = min(bounds[0], *values), max(bounds[1], *values)
        estimate = mean(values, confidence, support)
        low, high = estimate.low, estimate.high
        if any(map(is_own_fault, outcomes)):
            worst, best = (
                mean(list(self.values(end).values()), confidence, support)
                if isfinite(end)
                else Estimate(end, end, end, confidence, 0)
                for end in support
            )
            low, high = min(low, worst.low), max(high, best.high)
        return replace(score, interval=Interval(low, high, confidence, estimate.bounded))


def parts(repetitions: Repetitions) -> dict[str, Any]:
    """The secondary metrics of an adaptive test (section 7.2), from its complete rounds.

    ``rounds`` is how many are complete; ``metrics`` explains the others.
    """
    complete = repetitions.complete()
    outcomes = [e for done in complete for e in done.values() if e.payoff is not None]
    if not outcomes:
        return {"rounds": len(complete)}
    last = list(complete[-1].values())
    values = list(repetitions.values().values())
    budget = last[0].exercise.budget
    acted = [each.total / each.interactions for each in outcomes if each.interactions]
    spent = sum(each.last_time for each in outcomes)
    speed = sum(each.interactions for each in outcomes) * NANOSECONDS / spent if spent else None
    return {
        "rounds": len(complete),
        "level": float(np.mean([each.exercise.complexity for each in last])),
        "slot": budget.seconds if budget.interactions is None else budget.interactions,
        "stability": stability(repetitions.running()),
        "spread": float(np.std(values, ddof=1)) if len(values) > 1 else None,
        "potential": float(np.mean(acted)) if acted else None,
        "idle": sum(not each.interactions for each in outcomes) / len(outcomes),
        **({} if budget.seconds is None else {"speed": speed}),
    }


def metrics(*, timed: bool) -> tuple[Metric, ...]:
    """The secondary metrics that are shown; how much time there was only where time counts."""
    shown = (
        Metric(
            "stability",
            "Stability",
            "How little the running score moved in the second half of the rounds, from 0 to 1: at "
            "0.98 it lay typically 2\N{NO-BREAK SPACE}% of the whole scale away from its last "
            "value. It is not an interval: another repetition may end elsewhere.",
        ),
        Metric("spread", "Spread", "The standard deviation between the scores of repetitions."),
        Metric("level", "Level", "The mean complexity in the last round.", "amount"),
        Metric(
            "slot",
            "Slot",
            "The length of an exercise in the last round.",
            "seconds" if timed else "amount",
        ),
        Metric(
            "potential",
            "Potential",
            "The mean of the average rewards in those exercises in which the agent had time to act "
            "at all, however long it took.",
        ),
        Metric("speed", "Actions/s", "Actions per second of the agent's own time.", "amount"),
        Metric(
            "idle",
            "Idle",
            "The share of exercises that were over before the agent had acted; each counts as 0.",
            "percent",
        ),
    )
    return shown if timed else shown[:-2]
