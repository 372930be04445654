"""Correlation and slope between two variables, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, nan

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.estimation.estimates import (
    ROUNDING,
    Estimate,
    FloatArray,
    as_pair,
    error_rate,
    is_constant,
    t_p_value,
    t_quantile,
)

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
        from scipy.special import gammaln

        # The share of orders of the values in which all points lie on a line: this and its mirror.
        ties = np.unique(first, return_counts=True)[1]
        p_value = min(1.0, 2 * exp(float(np.sum(gammaln(ties + 1)) - gammaln(count + 1))))
        return Correlation(value, -1.0, 1.0, confidence, count, p_value, bounded=True)
    contributions = (u * v - value / 2 * (u**2 + v**2)) / (1 - value**2)
    contributions[np.abs(contributions) <= ROUNDING] = 0.0
    leverage = np.maximum(_leverage(u), _leverage(v))
    if np.max(leverage) >= 1 - ROUNDING or _carriers(contributions) < CARRIERS:
        return Correlation(value, -1.0, 1.0, confidence, count, 1.0, bounded=True)
    # Without a limit of 1/2, far points make intervals long, to no avail.
    error = float(np.linalg.norm(contributions / (1 - np.minimum(leverage, 0.5)))) / count
    middle, half = np.arctanh(value), t_quantile(count - 2, confidence) * error
    low, high = np.tanh((middle - half, middle + half)).tolist()
    return Correlation(value, low, high, confidence, count, t_p_value(middle / error, count - 2))


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
    centre, scale = float(np.mean(first)), float(np.std(first))
    u = (first - centre) / scale
    gain = float(np.mean(u * second))
    residuals = second - np.mean(second) - gain * u
    residuals[np.abs(residuals) <= ROUNDING * np.max(np.abs(second))] = 0.0
    slope = gain / scale
    leverage = _leverage(u)
    half = inf
    if np.max(leverage) < 1 - ROUNDING and _carriers(u * residuals) >= CARRIERS:
        power = np.minimum(4, count * leverage / 2)
        weighted = u * residuals / (1 - leverage) ** (power / 2)
        half = t_quantile(count - 2, confidence) * (float(np.linalg.norm(weighted)) / count / scale)
    estimate = Estimate(slope, slope - half, slope + half, confidence, count)
    return Line(estimate, float(np.mean(second)) - slope * centre)


def _points(x: ArrayLike, y: ArrayLike, confidence: float) -> tuple[FloatArray, FloatArray]:
    error_rate(confidence)
    first, second = as_pair(x, y)
    if len(first) < 2:
        raise ValueError("the relation of two variables cannot be estimated from a single point")
    return first, second


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
