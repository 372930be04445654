"""Correlation and slope between two variables, with intervals."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, inf, nan

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.estimation.estimates import Estimate, FloatArray, constant, error_rate, sample
from omnimeter.estimation.means import quantile

_ROUNDING = 1e-12

_MOST_LEVERAGE = 0.5
"""What counts of a leverage. Without a limit far points make intervals long, to no avail."""


@dataclass(frozen=True, slots=True)
class Correlation(Estimate):
    """A correlation with its interval.

    Attributes:
        probability: The p-value: how likely a correlation as strong as this is, in either
            direction, if there is none.
    """

    probability: float


@dataclass(frozen=True, slots=True)
class Line:
    """A straight line through points.

    Attributes:
        slope: How much ``y`` changes with ``x``, with its interval.
        intercept: What the line says at 0.
    """

    slope: Estimate
    intercept: float

    def at(self, x: ArrayLike) -> FloatArray:
        """What the line says at each ``x``."""
        return self.intercept + self.slope.value * np.asarray(x, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class _Scaled:
    """Numbers with mean 0 and mean square 1, and how far each alone can move a line (0 to 1)."""

    values: FloatArray
    centre: float
    scale: float
    leverage: FloatArray


def correlation(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> Correlation:
    """Pearson's correlation of independent points.

    The interval is symmetric on Fisher's scale, artanh r, and reaches as many standard errors as
    Student's t with n - 2 degrees says. The standard error is made of what each point contributes
    to r, (u v - r (u² + v²) / 2) / (1 - r²) for standardised u and v, divided by 1 - h, where h is
    the greater of its leverages in x and y, up to 1/2 (as HC3 does for a slope). The p-value
    belongs to the same interval: it is below 1 - confidence just where the interval does not hold
    0.

    What an interval of confidence 0.95 was found to cover, in simulations of 10,000 samples each
    of 20, 100 and 300 points: 94 to 97 % of normal points, of independent skewed ones, of bounded
    rewards that spread less where x is high, and of skewed points that spread more where x is
    high. The usual interval of Fisher's z covers 68, 62 and 60 % of the last, the BCa bootstrap
    87 %. It falls short (94, 91 and 89 %) where nearly all points lie close to a line that a few
    far ones leave.

    When one row is constant there is no correlation: it is not a number, the interval is all there
    can be and the p-value is 1. When all points lie on a line, nothing is known of the spread
    about it. The interval is then all there can be too, and the p-value is that of the permutation
    test.

    Args:
        x: Two values or more.
        y: As many, in the same order.
        confidence: The confidence of the interval.

    Raises:
        ValueError: There are fewer than two values, one is not finite, the numbers of values
            differ, or the confidence is not above 0 and below 1.
    """
    error_rate(confidence)
    first, second = _points(x, y)
    count = len(first)
    if constant(first) or constant(second):
        return Correlation(nan, -1.0, 1.0, confidence, count, 1.0)
    one, other = _scaled(first), _scaled(second)
    value = float(np.clip(np.mean(one.values * other.values), -1, 1))
    if 1 - value**2 <= _ROUNDING:
        return Correlation(value, -1.0, 1.0, confidence, count, _chance_of_a_line(first))
    error = _error_on_fishers_scale(one, other, value)
    middle, reach = np.arctanh(value), quantile(count - 2, confidence) * error
    low, high = np.tanh((middle - reach, middle + reach)).tolist()
    return Correlation(value, low, high, confidence, count, _two_sided(middle / error, count - 2))


def regression(x: ArrayLike, y: ArrayLike, confidence: float = 0.95) -> Line:
    """The least-squares line through independent points.

    The interval of the slope is that of Student's t with n - 2 degrees and the HC4 standard error,
    which holds when the spread of ``y`` differs along ``x`` and when few points lie far out.

    What an interval of confidence 0.95 was found to cover, in simulations of 10,000 samples each
    of 20, 100 and 300 points: 94 to 97 % of normal points, of independent skewed ones and of skewed
    points that spread more where x is high, where the textbook interval covers 68, 62 and 59 %
    and HC3 covers 89, 92 and 94 %. Where the truth is bent, it is the slope of the best line
    through all there is that is meant. Of bounded rewards, bent at their ends, 93 to 94 % are
    covered; where a few far points leave a close line, 94, 83 and 78 %.

    When there are two points, or one point alone differs from the others in x, or all points lie
    on the line, nothing is known of the spread and the interval is infinite.

    Args:
        x: Two values or more, not all the same.
        y: As many, in the same order.
        confidence: The confidence of the interval.

    Raises:
        ValueError: As for ``correlation``, or all of ``x`` are the same.
    """
    error_rate(confidence)
    first, second = _points(x, y)
    count = len(first)
    if constant(first):
        raise ValueError(f"a line through {count} points needs two that differ in x")
    one = _scaled(first)
    gain = float(np.mean(one.values * second))
    residuals = second - np.mean(second) - gain * one.values
    residuals[np.abs(residuals) <= _ROUNDING * np.max(np.abs(second))] = 0.0
    slope = gain / one.scale
    reach = quantile(count - 2, confidence) * _error_of_slope(one, residuals) if count > 2 else inf
    return Line(
        Estimate(slope, slope - reach, slope + reach, confidence, count),
        float(np.mean(second)) - slope * one.centre,
    )


def _points(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = sample(x), sample(y)
    if len(first) != len(second):
        raise ValueError(f"{len(first)} values cannot be paired with {len(second)}")
    if len(first) < 2:
        raise ValueError("how two things go together cannot be said from a single point")
    return first, second


def _scaled(numbers: FloatArray) -> _Scaled:
    centre, scale = float(np.mean(numbers)), float(np.std(numbers))
    values = (numbers - centre) / scale
    return _Scaled(values, centre, scale, (1 + values**2) / len(numbers))


def _error_on_fishers_scale(one: _Scaled, other: _Scaled, value: float) -> float:
    product = one.values * other.values
    contributions = (product - value / 2 * (one.values**2 + other.values**2)) / (1 - value**2)
    leverage = np.maximum(one.leverage, other.leverage)
    alone, flat = np.max(leverage) >= 1 - _ROUNDING, np.max(np.abs(contributions)) <= _ROUNDING
    if alone or flat:  # all hangs on one point, or the points cancel each other by luck
        return inf
    rest = 1 - np.minimum(leverage, _MOST_LEVERAGE)
    return float(np.linalg.norm(contributions / rest)) / len(rest)


def _error_of_slope(one: _Scaled, residuals: FloatArray) -> float:
    count, rest = len(residuals), 1 - one.leverage
    if np.min(rest) <= _ROUNDING or not np.any(residuals):
        return inf
    power = np.minimum(4, count * one.leverage / 2)
    weighted = one.values * residuals / rest ** (power / 2)
    return float(np.linalg.norm(weighted)) / count / one.scale


def _two_sided(errors: float, degrees: int) -> float:
    from scipy.special import stdtr  # much lighter than scipy.stats

    return 2 * float(stdtr(degrees, -abs(errors)))


def _chance_of_a_line(numbers: FloatArray) -> float:
    """In how many orders of the values all points lie on a line: this one and its mirror."""
    from scipy.special import gammaln

    alike = np.unique(numbers, return_counts=True)[1]
    return min(1.0, 2 * exp(float(np.sum(gammaln(alike + 1)) - gammaln(len(numbers) + 1))))
