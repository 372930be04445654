"""Performance in a task, and how much difficulty an agent tolerates (perturbation tolerance).

Functions of arrays, with the equation numbers of the paper on perturbation tolerance: rates of
identification, M at any time, improvement rates, and tolerances: how much a measure of the world
may change for a unit of performance.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike, NDArray

from omnimeter.contract import InvalidInputError
from omnimeter.estimation import Estimate, mean
from omnimeter.estimation.estimates import t_quantile

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

# Identification.


CARRIERS, ENOUGH = 2, 20
"""An interval needs so many repetitions that carry the spread, or so many in all."""


@dataclass(frozen=True, slots=True)
class Counts:
    """How many objects were rightly and wrongly taken for targets, and for something else.

    A rate is ``None`` where it is not defined, because there is nothing to take a share of.

    Attributes:
        tp: True positives: targets that were identified.
        fp: False positives: other objects that were taken for targets.
        tn: True negatives: other objects that were not.
        fn: False negatives: targets that were not identified.
    """

    tp: int
    fp: int
    tn: int
    fn: int

    def __post_init__(self) -> None:
        if min(self.tp, self.fp, self.tn, self.fn) < 0:
            raise InvalidInputError(f"{self} has a negative number.", "Give numbers from 0 up.")

    @property
    def sensitivity(self) -> float | None:
        """The share of targets that were identified, TP / (TP + FN); ``None`` without targets."""
        return _share(self.tp, self.fn)

    @property
    def specificity(self) -> float | None:
        """The share of others that were not mistaken, TN / (TN + FP); ``None`` without others."""
        return _share(self.tn, self.fp)

    @property
    def ppv(self) -> float | None:
        """Positive predictive value, TP / (TP + FP); ``None`` if nothing was called a target."""
        return _share(self.tp, self.fp)

    @property
    def npv(self) -> float | None:
        """Negative predictive value, TN / (TN + FN); ``None`` if all were called targets."""
        return _share(self.tn, self.fn)


def _share(part: int, rest: int) -> float | None:
    return part / (part + rest) if part + rest else None


RATES = ("sensitivity", "specificity", "ppv", "npv")
"""The rates of ``Counts``, by name."""


def performance(
    targets: ArrayLike, completion: ArrayLike, time: ArrayLike, area: ArrayLike
) -> FloatArray:
    """M = T P / (t A) of equation (5), value by value.

    Args:
        targets: T, the number of targets correctly identified, or that less the wrong ones.
        completion: P, the share of all targets that were correctly identified, from 0 to 1. It
            divides the time, so that fast and sloppy search does not pay.
        time: t, the time elapsed, above 0.
        area: A, the share of the area covered so far, above 0, up to 1.
    """
    T, P, t, A = (np.asarray(each, dtype=np.float64) for each in (targets, completion, time, area))
    if np.any(t <= 0) or np.any(A <= 0):
        message = "M is not defined at time 0, or where no area is covered."
        raise InvalidInputError(message, "Measure it after the first turn.")
    return np.asarray(T * P / (t * A))


@dataclass(frozen=True, slots=True, eq=False)
class Search:
    """Target location turn by turn: entry k of each array is what holds after k + 1 turns.

    What was never called a target counts as negative, whether or not it was ever seen: a target
    that was missed is a false negative.

    Attributes:
        targets: The number of targets.
        others: The number of objects that are none.
        tp: Targets identified so far.
        fp: Other objects taken for targets so far.
        area: The share of the area covered so far.
    """

    targets: int
    others: int
    tp: IntArray
    fp: IntArray
    area: FloatArray

    def __len__(self) -> int:
        return len(self.tp)

    def counts(self, turns: int | None = None) -> Counts:
        """The counts after so many turns; by default after all."""
        turns = len(self) if turns is None else min(turns, len(self))
        tp, fp = (int(each[turns - 1]) if turns else 0 for each in (self.tp, self.fp))
        return Counts(tp, fp, self.others - fp, self.targets - tp)

    def performance(self, *, subtract: bool = False) -> FloatArray:
        """M after each turn, equation (5).

        Args:
            subtract: Whether T is TP - FP instead of TP.
        """
        right = self.tp - self.fp if subtract else self.tp
        return performance(right, self.tp / self.targets, np.arange(1, len(self) + 1), self.area)

    def performance_at(self, turns: int, *, subtract: bool = False) -> float:
        """M after so many turns, above 0; time goes on after the agent has stopped."""
        last = min(turns, len(self))
        return float(self.performance(subtract=subtract)[last - 1]) * last / turns if last else 0.0


def search(
    objects: Mapping[int, bool],
    shape: tuple[int, int],
    positions: ArrayLike,
    declarations: ArrayLike,
    radius: int = 0,
) -> Search:
    """What a searcher of an n x m grid has identified and covered after each turn.

    The first declaration about an object counts.

    Args:
        objects: Whether each object is a target, by its square, in C order.
        shape: The number of rows and columns.
        positions: Row and column before each turn and after the last.
        declarations: What is said about the own square in each turn: 1, a target; 0, none;
            -1, nothing.
        radius: The Manhattan distance within which squares are covered; 0 is only the own one.

    Raises:
        InvalidInputError: There is no target, or the numbers of turns do not fit.
    """
    places = np.asarray(positions, dtype=np.int64).reshape(-1, 2)
    said = np.asarray(declarations, dtype=np.int64)
    if len(places) != len(said) + 1:
        message = f"There are {len(said)} turns and {len(places)} positions."
        raise InvalidInputError(message, "Give the positions before each turn and after the last.")
    if not any(objects.values()):
        raise InvalidInputError("There is no target.", "Search a world with at least one.")
    turns = len(said)
    squares = places[:, 0] * shape[1] + places[:, 1]
    called = {True: [0] * turns, False: [0] * turns}
    judged: set[int] = set()
    for turn in np.flatnonzero(said >= 0).tolist():
        square = int(squares[turn])
        if square in objects and square not in judged:
            judged.add(square)
            called[objects[square]][turn] += int(said[turn])
    first = np.full(shape[0] * shape[1], turns + 1)  # the position with which each is covered
    for down in range(-radius, radius + 1):
        for right in range(abs(down) - radius, radius - abs(down) + 1):
            row, column = places[:, 0] + down, places[:, 1] + right
            inside = (row >= 0) & (row < shape[0]) & (column >= 0) & (column < shape[1])
            covered = row[inside] * shape[1] + column[inside]
            np.minimum.at(first, covered, np.flatnonzero(inside))
    covering = np.cumsum(np.bincount(first, minlength=turns + 2)[: turns + 1])
    number = sum(objects.values())
    tp, fp = (np.cumsum(np.array(called[each], dtype=np.int64)) for each in (True, False))
    return Search(number, len(objects) - number, tp, fp, covering[1:] / first.size)


# Change: over time, and as worlds become more difficult.


def relative_reward(rewards: ArrayLike, ideal: float) -> float:
    """The average reward per turn, as a share of what an optimal policy gets on average.

    Raises:
        InvalidInputError: There is no turn, or the ideal is not above 0.
    """
    numbers = np.asarray(rewards, dtype=np.float64)
    if not numbers.size or not ideal > 0:
        message = f"An average of {numbers.size} rewards has no share of an ideal of {ideal:g}."
        raise InvalidInputError(message, "Give at least one reward, and an ideal above 0.")
    return float(np.mean(numbers)) / ideal


def improvement_rates(
    values: ArrayLike, times: ArrayLike, confidence: float = 0.95
) -> list[Estimate]:
    """The slopes between successive values of M: the learning or improvement rate.

    Args:
        values: The value of each repetition (rows) at each moment (columns).
        times: When the moments are, increasing.
        confidence: Of the intervals, over repetitions.
    """
    rows, moments = np.atleast_2d(np.asarray(values, dtype=np.float64)), np.asarray(times)
    if rows.shape[1] != len(moments) or len(moments) < 2 or np.any(np.diff(moments) <= 0):
        message = f"Values at {rows.shape[1]} moments do not fit the times {moments.tolist()}."
        raise InvalidInputError(message, "Give two increasing times or more, one for each column.")
    slopes = np.diff(rows, axis=1) / np.diff(moments)
    return [mean(column, confidence) for column in slopes.T]


@dataclass(frozen=True, slots=True)
class Tolerance:
    """The finite difference between two worlds of a series.

    Attributes:
        first: The place of the easier world in the series, from 0 on.
        last: The place of the other.
        value: Delta X / Delta M, how much the measure may change for a unit of performance. Its
            interval reaches from minus to plus infinity where it is undefined.
        response: Its inverse, Delta M / Delta X; undefined where X does not change.
        reason: Why the tolerance is undefined; empty where it is defined.
    """

    first: int
    last: int
    value: Estimate
    response: Estimate
    reason: str = ""


def tolerances(measure: ArrayLike, values: ArrayLike, confidence: float = 0.95) -> list[Tolerance]:
    """The tolerances along a series of worlds: from each to the next, then from first to last.

    With X = C it is the complexity tolerance, with the variability, the volatility or the overlay
    difference D_o that of variability, of volatility, or the domain flexibility; M may be any
    metric. The last one, over the whole series, is the average tolerance: steps add up.

    Both are ratios of means, paired over repetitions, with Fieller's interval. Where the interval
    of Delta M contains 0 the ratio may be arbitrarily large with either sign: it is undefined.

    Args:
        measure: X of each repetition (rows) in each world (columns); a single row holds for all.
        values: M of each repetition in each world; those that are not defined are not a number, and
            their repetition is left out there.
        confidence: Of the intervals.

    Raises:
        InvalidInputError: There are not two worlds, or the numbers do not fit.
    """
    M = np.atleast_2d(np.asarray(values, dtype=np.float64))
    X = np.atleast_2d(np.asarray(measure, dtype=np.float64))
    if M.shape[1] < 2 or X.shape not in {M.shape, (1, M.shape[1])}:
        message = f"A measure of shape {X.shape} does not fit values of shape {M.shape}."
        raise InvalidInputError(message, "Give a row for each repetition, a column for each world.")
    X = np.broadcast_to(X, M.shape)
    worlds = M.shape[1]
    steps = [*pairwise(range(worlds)), *([(0, worlds - 1)] if worlds > 2 else [])]
    return [_tolerance(X, M, first, last, confidence) for first, last in steps]


def _tolerance(X: FloatArray, M: FloatArray, first: int, last: int, confidence: float) -> Tolerance:
    changes, gains = X[:, last] - X[:, first], M[:, last] - M[:, first]
    defined = np.isfinite(changes) & np.isfinite(gains)
    changes, gains = changes[defined], gains[defined]
    value, response = ratio(changes, gains, confidence), ratio(gains, changes, confidence)
    reason = ""
    if len(gains) < 2:
        reason = f"performance is defined in both worlds in {len(gains)} repetitions only"
    elif not np.any(gains):
        reason = "performance is the same in both worlds in all repetitions"
    elif value.high == inf:
        reason = "the interval of the change of performance contains 0, or too few values carry it"
    return Tolerance(first, last, value, response, reason)


def ratio(numerator: ArrayLike, denominator: ArrayLike, confidence: float = 0.95) -> Estimate:
    """The ratio of the means of paired values, with Fieller's interval.

    Those ratios q are in it for which the mean of numerator - q denominator is not significantly
    different from 0. They are an interval only if the denominator's mean is: otherwise the ends are
    infinite, and where that mean is 0 the value is not a number. They are infinite as well where
    fewer than two of fewer than 20 repetitions carry the spread: five values that are all the same
    but for a rare one would otherwise pass for certainty.

    Args:
        numerator: One value for each repetition.
        denominator: As many, in the same order.
        confidence: Of the interval.
    """
    above, below = (np.asarray(each, dtype=np.float64) for each in (numerator, denominator))
    count = len(above)
    if count < 2 or not np.any(below):
        return Estimate(nan, -inf, inf, confidence, count)
    a, b = float(np.mean(above)), float(np.mean(below))
    # Squared t times the covariance matrix of both means.
    spread = np.cov(above, below) / count * t_quantile(count - 1, confidence) ** 2
    aa, ab, bb = float(spread[0, 0]), float(spread[0, 1]), float(spread[1, 1])
    value = a / b if b else nan
    residuals = above - value * below
    squares = (residuals - residuals.mean()) ** 2
    carried = float(squares.sum() ** 2) >= CARRIERS * float((squares**2).sum()) > 0
    if b * b <= bb or not (carried or count >= ENOUGH):
        return Estimate(value, -inf, inf, confidence, count)
    centre, scale = a * b - ab, b * b - bb
    half = sqrt(max(centre**2 - scale * (a * a - aa), 0.0))
    low, high = (centre - half) / scale, (centre + half) / scale
    return Estimate(value, min(low, value), max(high, value), confidence, count)


def rates(counts: Sequence[Counts], name: str) -> FloatArray:
    """One of the rates of several repetitions; not a number where it is not defined."""
    values = [getattr(each, name) for each in counts]
    return np.array([nan if value is None else value for value in values])
