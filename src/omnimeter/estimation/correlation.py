"""Correlation, rank correlation and the line between two variables, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, log1p, nan

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.estimation.estimates import (
    ROUNDING,
    Band,
    Estimate,
    FloatArray,
    as_pair,
    as_sample,
    error_rate,
    is_constant,
    midranks,
    t_p_value,
    t_quantile,
)
from omnimeter.estimation.likelihood import Part, highest_mean

CARRIERS = 3
"""So many points must carry the spread. Products spread more than values: of twenty normal points
about four do, where of twenty normal values seven do, so there are not as many as for ``mean``."""


@dataclass(frozen=True, slots=True)
class Correlation(Estimate):
    """A correlation with its interval.

    Attributes:
        p_value: How likely one as strong as this is, in either direction, without a correlation.
    """

    p_value: float


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line through points.

    Attributes:
        slope: How much ``y`` changes with ``x``, with its interval.
        intercept: The value of the line at 0.
    """

    slope: Estimate
    intercept: float

    def at(self, x: ArrayLike) -> FloatArray:
        """The value of the line at each ``x``."""
        return self.intercept + self.slope.value * np.asarray(x, dtype=np.float64)


def correlation(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> Correlation:
    """Pearson's correlation of independent points.

    The interval is symmetric on Fisher's scale, artanh r, and reaches as many standard errors as
    Student's t with n - 2 degrees says. The standard error is made of what each point contributes
    to r, (u v - r (u² + v²) / 2) / (1 - r²) for standardised u and v, divided by 1 - h, where h is
    the greater of its leverages in x and y, up to 1/2 (as HC3 does for a slope). The p-value
    belongs to the same interval: it is below 1 - confidence just where the interval excludes 0.

    It needs the spread of the contributions. Where fewer than three points carry it (see ``mean``),
    the interval is -1 to 1 and the p-value is 1. docs/intervals.md says how often it holds.

    When one row is constant there is no correlation: it is not a number, the interval is -1 to 1
    and the p-value is 1. When all points lie on a line, the spread about it is unknown. Then the
    interval is -1 to 1 too, and the p-value is that of the permutation test. All these intervals
    are bounded.

    Args:
        x: Two values or more.
        y: As many, in the same order.
        confidence: The confidence of the interval.

    Raises:
        ValueError: Fewer than two values, or not as many; one not finite; confidence not in (0, 1).
    """
    first, second = _points(x, y, confidence)
    count = len(first)
    if is_constant(first) or is_constant(second):
        return Correlation(nan, -1.0, 1.0, confidence, count, 1.0, bounded=True)
    u, v = ((each - np.mean(each)) / np.std(each) for each in (first, second))
    value = float(np.clip(np.mean(u * v), -1, 1))
    if 1 - value**2 <= ROUNDING:
        p_value = _permuted_p_value(first)
        return Correlation(value, -1.0, 1.0, confidence, count, p_value, bounded=True)
    contributions = (u * v - value / 2 * (u**2 + v**2)) / (1 - value**2)
    contributions[np.abs(contributions) <= ROUNDING] = 0.0
    leverage = np.maximum(_leverage(u), _leverage(v))
    if np.max(leverage) >= 1 - ROUNDING or _carriers(contributions) < CARRIERS:
        return Correlation(value, -1.0, 1.0, confidence, count, 1.0, bounded=True)
    # Without a limit of 1/2, far points make intervals long, to no avail.
    error = float(np.linalg.norm(contributions / (1 - np.minimum(leverage, 0.5)))) / count
    return _on_fishers_scale(value, error, confidence, count)


def rank_correlation(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> Correlation:
    """Spearman's correlation of independent points: Pearson's of their ranks.

    Equal values share the mean of their ranks. In the population it is Pearson's correlation of the
    shares of values that lie below each, where equal ones count half.

    The interval is symmetric on Fisher's scale, artanh r, and reaches as many standard errors as
    Student's t with n - 2 degrees says. The standard error is made of what each point contributes
    to r, by its own ranks and by those that it gives to others, with n - 2 in the place of n. So it
    holds for points of any kind, where the usual ones, such as √((1 + r²/2) / (n - 3)), are right
    for normal points only. The p-value belongs to the same interval: it is below 1 - confidence
    just where the interval excludes 0. ``benchmarks/shapes.py`` measures the coverage;
    docs/intervals.md has the table.

    Intervals are bounded as those of ``correlation`` are, with the same p-values.

    Args:
        x: Two values or more.
        y: As many, in the same order.
        confidence: The confidence of the interval.

    Raises:
        ValueError: As for ``correlation``.
    """
    first, second = _points(x, y, confidence)
    count = len(first)
    if is_constant(first) or is_constant(second):
        return Correlation(nan, -1.0, 1.0, confidence, count, 1.0, bounded=True)
    ranks = [midranks(each) for each in (first, second)]
    u, v = ((each - np.mean(each)) / np.std(each) for each in ranks)
    value = float(np.clip(np.mean(u * v), -1, 1))
    if 1 - value**2 <= ROUNDING:
        p_value = _permuted_p_value(ranks[0])
        return Correlation(value, -1.0, 1.0, confidence, count, p_value, bounded=True)
    # A step up of one rank is worth 1 / spread; a point takes half a step from its equals.
    steps = [2 / float(np.std(each)) for each in ranks]
    products = 2 * u * v + steps[0] * _above(ranks[0], v) + steps[1] * _above(ranks[1], u)
    squares = (
        u**2 + steps[0] * _above(ranks[0], u) + v**2 + steps[1] * _above(ranks[1], v)
    )  # fmt: skip
    contributions = (products - value * squares) / (2 * (1 - value**2))
    contributions -= np.mean(contributions)
    contributions[np.abs(contributions) <= ROUNDING] = 0.0
    if _carriers(contributions) < CARRIERS:
        return Correlation(value, -1.0, 1.0, confidence, count, 1.0, bounded=True)
    error = float(np.linalg.norm(contributions)) / float(np.sqrt(count * (count - 2)))
    return _on_fishers_scale(value, error, confidence, count)


def regression(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> Line:
    """The least-squares line through independent points.

    The interval of the slope is that of Student's t with n - 2 degrees and the HC4 standard error,
    which holds when the spread of ``y`` differs along ``x`` and when few points lie far out.

    Where the true relation is not linear, what is estimated is the slope of the best line through
    the population. docs/intervals.md says how often the interval holds.

    When one point alone differs from the others in x, or fewer than three carry the spread about
    the line (see ``mean``), that spread is unknown and the interval is infinite.

    Args:
        x: Two values or more, not all the same.
        y: As many, in the same order.
        confidence: The confidence of the interval.

    Raises:
        ValueError: As for ``correlation``, or all of ``x`` are the same.
    """
    first, second = _points(x, y, confidence)
    count = len(first)
    if is_constant(first):
        raise ValueError(f"a line through {count} points needs two that differ in x")
    line = _Fit.of(first, second)
    slope, half = line.gain / line.scale, inf
    if (moves := line.moves(line.u)) is not None:
        half = t_quantile(count - 2, confidence) * float(np.linalg.norm(moves)) / count / line.scale
    estimate = Estimate(slope, slope - half, slope + half, confidence, count)
    return Line(estimate, line.height - slope * line.centre)


def regression_band(x: ArrayLike, y: ArrayLike, at: ArrayLike, confidence: float = 0.95) -> Band:
    """The least-squares line through independent points, with intervals and a band.

    The interval of the line at one place is the smallest that contains that of Student's t with
    n - 2 degrees and the HC4 standard error, as that of the slope in ``regression``, and, as for
    ``mean``, that of the empirical likelihood of what each point adds to the line there, which
    follows points that leave the line more on one side. The band holds the whole line, at all
    places at once. It is made in the same way, but reaches as many standard errors as that of
    Working and Hotelling: √(2 F), with the quantile of F with 2 and n - 2 degrees.
    ``benchmarks/shapes.py`` measures the coverage; docs/intervals.md has the table.

    Where the slope has an infinite interval, the band is infinite too. So is the interval at a
    place where fewer than three points carry what is unknown about the line there.

    Args:
        x: Two values or more, not all the same.
        y: As many, in the same order.
        at: The places on the x axis.
        confidence: The confidence of each interval, and of the band.

    Raises:
        ValueError: As for ``regression``, or a place is not finite.
    """
    first, second = _points(x, y, confidence)
    places, count = as_sample(at), len(first)
    if is_constant(first):
        raise ValueError(f"a line through {count} points needs two that differ in x")
    line = _Fit.of(first, second)
    u = (places - line.centre) / line.scale
    values = line.height + line.gain * u
    ends = np.tile([[-inf], [inf], [-inf], [inf]], len(u))
    if line.moves(line.u) is not None:
        from scipy.special import fdtri  # much lighter than scipy.stats

        alone = t_quantile(count - 2, confidence)
        at_once = float(np.sqrt(2 * fdtri(2, count - 2, confidence)))
        for number, each in enumerate(u.tolist()):
            if (moves := line.moves(1 + each * line.u)) is not None:
                ends[:, number] = *_reaches(moves, alone), *_reaches(moves, at_once)
    low, high, lowest, highest = values + ends
    return Band(places, values, low, high, lowest, highest, confidence, count)


@dataclass(frozen=True, slots=True)
class _Fit:
    """The line of least squares through points with standardised x.

    Attributes:
        centre: The mean of x.
        scale: The standard deviation of x.
        height: The mean of y, the value of the line at the centre.
        gain: How much it rises in a standard deviation of x.
        u: The places of the points, in standard deviations from the centre.
        residuals: How far points lie above the line, without rounding errors.
    """

    centre: float
    scale: float
    height: float
    gain: float
    u: FloatArray
    residuals: FloatArray

    @classmethod
    def of(cls, x: FloatArray, y: FloatArray) -> _Fit:
        centre, scale, height = float(np.mean(x)), float(np.std(x)), float(np.mean(y))
        u = (x - centre) / scale
        gain = float(np.mean(u * y))
        residuals = y - height - gain * u
        residuals[np.abs(residuals) <= ROUNDING * np.max(np.abs(y))] = 0.0
        return cls(centre, scale, height, gain, u, residuals)

    def moves(self, weights: FloatArray) -> FloatArray | None:
        """What each point adds to a weighted mean of what is about the line, for HC4.

        ``None`` where that is unknown.
        """
        leverage, count = _leverage(self.u), len(self.u)
        if np.max(leverage) >= 1 - ROUNDING or _carriers(weights * self.residuals) < CARRIERS:
            return None
        power = np.minimum(4, count * leverage / 2)
        return np.asarray(weights * self.residuals / (1 - leverage) ** (power / 2))


def _reaches(moves: FloatArray, quantile: float) -> tuple[float, float]:
    """How far a line reaches down and up at so many standard errors."""
    count = len(moves)
    half = quantile * float(np.linalg.norm(moves)) / count
    cost = (count - 1) / 2 * log1p(quantile**2 / (count - 2))
    centred = moves - np.mean(moves)
    down, up = (highest_mean([Part(each)], cost) for each in (-centred, centred))
    return -max(half, down), max(half, up)


def _points(x: ArrayLike, y: ArrayLike, confidence: float) -> tuple[FloatArray, FloatArray]:
    error_rate(confidence)
    first, second = as_pair(x, y)
    if len(first) < 2:
        raise ValueError("the relation of two variables cannot be estimated from a single point")
    return first, second


def _on_fishers_scale(value: float, error: float, confidence: float, count: int) -> Correlation:
    """A correlation whose interval is that of Student's t on Fisher's scale."""
    middle, half = np.arctanh(value), t_quantile(count - 2, confidence) * error
    low, high = np.tanh((middle - half, middle + half)).tolist()
    return Correlation(value, low, high, confidence, count, t_p_value(middle / error, count - 2))


def _permuted_p_value(values: FloatArray) -> float:
    """The share of orders of the values in which all points lie on a line: this and its mirror."""
    from scipy.special import gammaln

    ties = np.unique(values, return_counts=True)[1]
    return min(1.0, 2 * exp(float(np.sum(gammaln(ties + 1)) - gammaln(len(values) + 1))))


def _above(ranks: FloatArray, weights: FloatArray) -> FloatArray:
    """The sum of the weights of the points of higher rank than each, and half of equal rank."""
    order = np.argsort(ranks, kind="stable")
    sums = np.concatenate([[0.0], np.cumsum(weights[order])])
    sides = [sums[np.searchsorted(ranks[order], ranks, side)] for side in ("left", "right")]
    return np.asarray(sums[-1] - (sides[0] + sides[1]) / 2, dtype=np.float64)


def _carriers(contributions: FloatArray) -> float:
    """How many points carry the spread of what all contribute; 0 if they contribute nothing."""
    greatest = float(np.max(np.abs(contributions)))
    if not greatest:
        return 0.0
    squares = (contributions / greatest) ** 2
    return float(np.sum(squares)) ** 2 / float(np.sum(squares**2))


def _leverage(standardised: FloatArray) -> FloatArray:
    """How far each point alone can move a line, from 0 to 1."""
    return (1 + standardised**2) / len(standardised)
