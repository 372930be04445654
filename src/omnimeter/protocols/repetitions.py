"""Repetitions of an adaptive test side by side: progress, scores and secondary metrics."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import Interval, Outcome, Score
from omnimeter.contract.agent import FloatArray
from omnimeter.contract.exercise import NANOSECONDS, hides_payoff
from omnimeter.contract.protocol import Metric, Moment
from omnimeter.estimation import Estimate, Support, mean
from omnimeter.estimation.reliability import stability

Round = Mapping[int, Outcome]
"""What came of one round, by the number of the repetition."""

Estimator = Callable[[Sequence[float], float, Support], Estimate]
"""The mean of values with an interval, from their confidence and support."""


def whole(outcome: Outcome) -> float:  # noqa: ARG001 - where no exercise is cut off
    """The share of an exercise that took place where none was cut off."""
    return 1.0


@dataclass(frozen=True)
class Repetitions:
    """The outcomes of one agent in ``count`` repetitions; exercise k is in the ``k % count``-th.

    The last exercise of a repetition is cut off where the test ends. It counts by the share of its
    slot that was left for it: then one interaction more hardly moves a score. If it counted like
    a whole one, a slot of a single interaction, in which nothing can be learnt, would lower the
    score of a learner visibly.

    Attributes:
        count: How many repetitions there can be.
        outcomes: What came of the exercises so far.
        share: The share of its slot that an exercise had, above 0 and up to 1.
        blocks: Which repetitions are looked at, in blocks that advance side by side; by default all
            in one.
    """

    count: int
    outcomes: Sequence[Outcome]
    share: Callable[[Outcome], float] = whole
    blocks: tuple[range, ...] = ()

    @cached_property
    def members(self) -> list[int]:
        """The numbers of the repetitions, in order."""
        return [*chain.from_iterable(self.blocks or (range(self.count),))]

    @cached_property
    def _known(self) -> dict[int, dict[int, Outcome]]:
        """The outcomes by round and repetition."""
        known: dict[int, dict[int, Outcome]] = {}
        for outcome in self.outcomes:
            place, repetition = divmod(outcome.exercise.number, self.count)
            known.setdefault(place, {})[repetition] = outcome
        return known

    def rounds(self, block: range) -> list[Round]:
        """Round after round of a block, up to the first that is not complete, which comes last."""
        rounds: list[Round] = []
        while not rounds or len(rounds[-1]) == len(block):
            done = self._known.get(len(rounds), {})
            rounds.append({each: done[each] for each in block if each in done})
        return rounds

    @cached_property
    def _complete(self) -> list[Round]:
        blocks = [self.rounds(block)[:-1] for block in self.blocks or (range(self.count),)]
        places = range(max(map(len, blocks)))
        return [
            dict(chain.from_iterable(done[place].items() for done in blocks if place < len(done)))
            for place in places
        ]

    def complete(self) -> Sequence[Round]:
        """The rounds that are complete in their block; blocks may differ in how many they have."""
        return self._complete

    def table(self, instead: float | None = None) -> FloatArray:
        """The payoff of each complete round (row) in each repetition (column).

        Args:
            instead: The payoff of exercises that ended in the agent's own fault, or in that of an
                agent seated beside it. Whatever else is missing is NaN.
        """
        return self._payoffs if instead is None else np.where(self._faulty, instead, self._payoffs)

    @cached_property
    def _payoffs(self) -> FloatArray:
        return self._tabulated(lambda each: np.nan if each.payoff is None else each.payoff)

    @cached_property
    def _faulty(self) -> NDArray[np.bool_]:
        """Which exercises of the table ended in a fault that may hide any payoff."""
        return np.asarray(self._tabulated(lambda each: float(hides_payoff(each))) == 1)

    @cached_property
    def _faults(self) -> Mapping[str, int]:
        return Counter(str(each.fault.kind) for each in self.outcomes if each.fault is not None)

    @cached_property
    def _shares(self) -> FloatArray:
        """How much each exercise of the table counts: the share of its slot that it had."""
        return self._tabulated(self.share)

    def _tabulated(self, number: Callable[[Outcome], float]) -> FloatArray:
        rows = [
            [number(done[each]) if each in done else np.nan for each in self.members]
            for done in self.complete()
        ]
        return np.array(rows, dtype=np.float64).reshape(-1, len(self.members))

    def values(self, instead: float | None = None, rounds: int | None = None) -> dict[int, float]:
        """The score of each repetition: the mean over its complete rounds (line 24).

        Args:
            instead: As for ``table``.
            rounds: Only the first so many of them; all by default.
        """
        return self._values(self.table(instead)[:rounds])

    def _values(self, table: FloatArray) -> dict[int, float]:
        known = ~np.isnan(table)
        shares = np.where(known, self._shares[: len(table)], 0.0)
        # Repetition by repetition, so that the sums are the same however many there are.
        payoffs, weights = (np.ascontiguousarray(e.T) for e in (np.where(known, table, 0), shares))
        has_any = known.any(axis=0)
        means = np.average(payoffs[has_any], axis=1, weights=weights[has_any])
        return dict(zip(np.array(self.members)[has_any].tolist(), means.tolist(), strict=True))

    def running(self) -> FloatArray:
        """The score after each complete round, in the mean over the repetitions."""
        table = self.table()
        shares = np.where(np.isnan(table), 0.0, self._shares)
        sums = np.cumsum(shares * np.nan_to_num(table), axis=0)
        counts = np.cumsum(shares, axis=0)
        scores = np.divide(sums, counts, out=np.zeros_like(sums), where=counts > 0)
        return scores.mean(axis=1) if len(scores) else np.zeros(0)

    def course(self, bounds: Support) -> list[Moment]:
        """The state of the test after each round that is complete in all blocks."""
        moments, length = [], 0.0
        for place, done in enumerate(self.complete(), start=1):
            if len(done) < len(self.members):
                break
            first = done[self.members[0]].exercise.budget
            slot = float(first.max_interactions if first.seconds is None else first.seconds)
            length += slot
            score = self.score(bounds, rounds=place)
            level = float(np.mean([each.exercise.complexity for each in done.values()]))
            moments.append(Moment(length, slot, level, score.value or 0.0, score.interval))
        return moments

    def score(
        self,
        bounds: Support,
        confidence: float = 0.95,
        estimate: Estimator = mean,
        rounds: int | None = None,
    ) -> Score:
        """The mean over the repetitions with its interval, from the complete rounds.

        Before the first round is complete there is no score. As everywhere, an exercise that ended
        in the agent's own fault may have been worth anything: the interval reaches from where it
        lies if all of these had the lowest payoff, to where it lies if they had the highest.

        Args:
            bounds: Between which numbers every payoff lies.
            confidence: The confidence of the interval.
            estimate: What makes the interval of the scores of repetitions, in their order.
            rounds: Only the first so many rounds count; all by default.
        """
        faults = dict(self._faults)
        table = self.table()[:rounds]
        values = list(self._values(table).values())
        if not values:
            return Score(None, None, 0, faults)
        score = Score(float(np.mean(values)), None, int((~np.isnan(table)).sum()), faults)
        if len(values) < 2:
            return score
        support = min(bounds[0], *values), max(bounds[1], *values)
        estimated = estimate(values, confidence, support)
        low, high = estimated.low, estimated.high
        if self._faulty[:rounds].any():
            worst, best = (
                estimate(list(self.values(end, rounds).values()), confidence, support)
                if isfinite(end)
                else Estimate(end, end, end, confidence, 0)
                for end in support
            )
            low, high = min(low, worst.low), max(high, best.high)
        return replace(score, interval=Interval(low, high, confidence, estimated.bounded))


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
    shares = np.array([repetitions.share(each) for each in outcomes])
    acted = np.array([each.interactions > 0 for each in outcomes])
    average = [each.total / max(each.interactions, 1) for each in outcomes]
    spent = sum(each.last_time for each in outcomes)
    speed = sum(each.interactions for each in outcomes) * NANOSECONDS / spent if spent else None
    return {
        "rounds": len(complete),
        "level": float(np.mean([each.exercise.complexity for each in last])),
        "slot": budget.seconds if budget.interactions is None else budget.interactions,
        "stability": stability(repetitions.running()),
        "spread": float(np.std(values, ddof=1)) if len(values) > 1 else None,
        "potential": float(np.average(average, weights=shares * acted)) if acted.any() else None,
        "idle": float(np.average(~acted, weights=shares)),
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
