"""How the average reward moves in the course of an exercise, from stored traces.

Traces are read one at a time and only sums are kept, so memory does not grow with their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from omnimeter.contract import (
    FOREVER,
    NANOSECONDS,
    Budget,
    Exercise,
    FloatArray,
    IntArray,
    Spec,
    Trace,
)
from omnimeter.payoffs import average_along
from omnimeter.payoffs.running import running_averages

POINTS = 200
"""At how many moments a curve is known at the most."""

_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class LearningCurve:
    """The running average of one agent's rewards, averaged over its exercises.

    Attributes:
        agent: The agent.
        moments: Numbers of interactions, or seconds.
        values: The mean over exercises of the average reward until each moment.
        lows: The lower ends of the 95 % intervals, moment by moment; not a number where a single
            exercise says nothing.
        highs: The upper ends.
    """

    agent: Spec
    moments: tuple[float, ...]
    values: tuple[float, ...]
    lows: tuple[float, ...]
    highs: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Learning:
    """The curves of all agents.

    Attributes:
        timed: Whether moments are seconds; otherwise they are numbers of interactions.
        curves: One curve for each agent that has traces.
    """

    timed: bool
    curves: tuple[LearningCurve, ...]


def learning(
    exercises: Mapping[str, Exercise], traces: Iterable[tuple[str, Trace]]
) -> Learning | None:
    """The learning curves that stored traces show.

    The average of an agent that stopped stays where it was. An exercise says nothing of moments
    beyond its budget. Traces that ended in a fault are left out, as they are of the score.

    Args:
        exercises: The exercises by their keys.
        traces: Traces with the keys of their exercises, for example ``Record.traces()``.

    Returns:
        The curves, or ``None`` when there is no trace to draw one from.
    """
    budgets = [exercise.budget for exercise in exercises.values()]
    timed = any(budget.interactions is None for budget in budgets)
    moments = _moments(max((_length(budget, timed) for budget in budgets), default=0), timed)
    if not len(moments):
        return None
    sums: dict[Spec, _Moments] = {}
    for key, trace in traces:
        if trace.fault is None and key in exercises:
            exercise = exercises[key]
            known = moments <= _length(exercise.budget, timed)
            own = sums.setdefault(exercise.agent, _Moments(len(moments)))
            own.add(_averages(trace, moments, timed), known)
    unit = NANOSECONDS if timed else 1
    curves = [own.curve(agent, moments / unit) for agent, own in sums.items()]
    return Learning(timed, tuple(curves)) if curves else None


def _length(budget: Budget, timed: bool) -> int:
    """How far an exercise goes, in nanoseconds or interactions."""
    if timed:
        return 0 if budget.end == FOREVER else budget.end
    return budget.most


def _moments(longest: int, timed: bool) -> IntArray:
    """Whole numbers, evenly up to the longest, from the first interaction or a small time on."""
    count = min(POINTS, longest)
    first = longest / POINTS if timed else 1.0
    return np.unique(np.linspace(first, longest, count).round().astype(np.int64))


def _averages(trace: Trace, moments: IntArray, timed: bool) -> FloatArray:
    if timed:
        return average_along(trace.rewards, trace.times, moments)
    return running_averages(trace.rewards)[np.minimum(moments, len(trace))]


@dataclass
class _Moments:
    """Count, mean and spread at each moment, kept up to date value by value (Welford)."""

    size: int
    count: IntArray = field(init=False)
    mean: FloatArray = field(init=False)
    squares: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.count = np.zeros(self.size, dtype=np.int64)
        self.mean = np.zeros(self.size)
        self.squares = np.zeros(self.size)

    def add(self, values: FloatArray, known: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Take one more curve, where it is known."""
        self.count += known
        before = np.where(known, values - self.mean, 0.0)
        self.mean += before / np.maximum(self.count, 1)
        self.squares += before * (values - self.mean)

    def curve(self, agent: Spec, moments: FloatArray) -> LearningCurve:
        """What has been seen so far, with Student's t interval at each moment."""
        from scipy.special import stdtrit  # much lighter than scipy.stats

        seen = self.count > 0
        count = self.count[seen].astype(np.float64)
        freedom = np.where(count > 1, count - 1, np.nan)
        errors = np.sqrt(self.squares[seen] / freedom / count)
        reach = stdtrit(freedom, (1 + _LEVEL) / 2) * errors
        columns = (moments[seen], self.mean[seen], self.mean[seen] - reach, self.mean[seen] + reach)
        return LearningCurve(agent, *(tuple(column.tolist()) for column in columns))
