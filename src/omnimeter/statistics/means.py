"""Means and differences of means, with their intervals."""

from __future__ import annotations

from math import hypot, inf

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.statistics.estimate import (
    EVERYWHERE,
    Estimate,
    FloatArray,
    Support,
    constant,
    error_rate,
    paired,
    sample,
    standard_error,
)


def mean(values: ArrayLike, level: float = 0.95, support: Support | None = None) -> Estimate:
    """The mean of independent values, with Student's t interval.

    Clipped to the support where one is given. When all n values are the same v, the t interval
    would have no width, as if what was not seen could not happen. Then, with a support (a, b),
    error rate α and p = 1 - (α/2)^(1/n), the interval is [v - (v - a) p, v + (b - v) p]. Why this
    holds: suppose the true mean lies above it, and call c the value at which it would just be
    reached, c + (b - c) p = mean; then v < c. As no value exceeds b, a mean that high needs
    values of c or more with a probability above p. That n values all fall below c then has a
    probability under (1 - p)^n = α/2. The same holds below. A side of the support that is not
    known makes that side of the interval infinite. A single value says nothing: its interval is
    the whole support.

    What an interval of level 0.95 was found to cover, in simulations of 10,000 samples each:
    94 to 96 % of normal, uniform and evenly three-valued samples, from 10 values on. Of skewed
    ones less: exponential 90, 92, 93 and 95 %, log-normal 84, 87, 90 and 93 % at 10, 20, 50 and
    200 values. With values of 0 and 1 only, as of rare rewards, it can be computed exactly and is
    uneven: 93 % or more where under 3 or over 25 values of the rarer kind are expected, but as
    little as 85 to 87 % between, lowest at about 3, however many values there are in all. For
    plain successes prefer ``proportion``.

    Args:
        values: One value or more.
        level: The level of the interval.
        support: The lowest and the highest value there can be.

    Raises:
        ValueError: There is no value, one is not finite or outside the support, or the level is
            not above 0 and below 1.
    """
    error = error_rate(level)
    numbers = sample(values, support)
    if constant(numbers, support):
        value = float(numbers[0])
        below, above = _reach_of_constant(value, len(numbers), error, support or EVERYWHERE)
    else:
        value = float(np.mean(numbers))
        below = above = quantile(len(numbers) - 1, level) * standard_error(numbers)
    return clipped(Estimate(value, value - below, value + above, level, len(numbers)), support)


def paired_difference(
    first: ArrayLike, second: ArrayLike, level: float = 0.95, support: Support | None = None
) -> Estimate:
    """The mean of ``first - second``, value by value, as of two agents on the same exercises.

    Pairing takes out what the exercises contribute to the spread. The interval is that of
    ``mean`` over the differences.

    Args:
        first: One value or more.
        second: As many, in the same order.
        level: The level of the interval.
        support: The lowest and the highest single value there can be, of either.

    Raises:
        ValueError: As for ``mean``, or the numbers of values differ.
    """
    return mean(paired(first, second, support), level, support_of_difference(support))


def difference(
    first: ArrayLike, second: ArrayLike, level: float = 0.95, support: Support | None = None
) -> Estimate:
    """The difference of the means of two independent samples, with Welch's interval.

    When the values of either sample are all the same, its true spread is not known and Welch's
    interval would be too short. Then it is made of the two intervals of ``mean``, each with half
    the error rate.

    Args:
        first: One value or more.
        second: One value or more, not necessarily as many.
        level: The level of the interval.
        support: The lowest and the highest single value there can be, of either.

    Returns:
        The estimate; ``count`` is the number of values of both samples.

    Raises:
        ValueError: As for ``mean``, for either sample.
    """
    error = error_rate(level)
    ours, theirs = sample(first, support), sample(second, support)
    if constant(ours, support) or constant(theirs, support):
        one, other = (mean(part, 1 - error / 2, support) for part in (ours, theirs))
        value, low, high = one.value - other.value, one.low - other.high, one.high - other.low
    else:
        value = float(np.mean(ours) - np.mean(theirs))
        half = _welch(ours, theirs, level)
        low, high = value - half, value + half
    estimate = Estimate(value, low, high, level, len(ours) + len(theirs))
    return clipped(estimate, support_of_difference(support))


def clipped(estimate: Estimate, support: Support | None) -> Estimate:
    """The estimate without what lies outside of the support."""
    if support is None:
        return estimate
    value, low, high = np.clip((estimate.value, estimate.low, estimate.high), *support).tolist()
    return Estimate(value, low, high, estimate.level, estimate.count)


def _reach_of_constant(
    value: float, count: int, error: float, support: Support
) -> tuple[float, float]:
    """How far below and above a value the mean may lie when nothing else was seen."""
    if count == 1:
        return inf, inf
    unseen = 1 - (error / 2) ** (1 / count)
    return (value - support[0]) * unseen, (support[1] - value) * unseen


def _welch(ours: FloatArray, theirs: FloatArray, level: float) -> float:
    """Half the width of Welch's interval."""
    one, other = standard_error(ours), standard_error(theirs)
    both = hypot(one, other)
    share, rest = (one / both) ** 2, (other / both) ** 2
    degrees = 1 / (share**2 / (len(ours) - 1) + rest**2 / (len(theirs) - 1))
    return quantile(degrees, level) * both


def quantile(degrees: float, level: float) -> float:
    """How many standard errors an interval of Student's t extends to either side."""
    from scipy.special import stdtrit  # much lighter than scipy.stats

    return float(stdtrit(degrees, (1 + level) / 2))


def support_of_difference(support: Support | None) -> Support | None:
    """Where differences of two values lie."""
    return None if support is None else (support[0] - support[1], support[1] - support[0])
