"""Means and proportions with confidence intervals, for one sample or for strata."""

from __future__ import annotations

from collections.abc import Sequence
from math import frexp, hypot, inf, ldexp, sqrt

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.estimation.estimates import (
    UNBOUNDED,
    Estimate,
    FloatArray,
    Support,
    as_sample,
    error_rate,
    is_constant,
    paired_differences,
    paired_test,
    standard_error,
    t_p_value,
    t_quantile,
)


def mean(values: ArrayLike, confidence: float = 0.95, support: Support | None = None) -> Estimate:
    """The mean of independent values, with Student's t interval.

    Clipped to the support where one is given. When all n values are the same v, the t interval
    would have no width, as if what was not observed could not happen. Then, with a support (a, b),
    error rate α and p = 1 - (α/2)^(1/n), the interval is [v - (v - a) p, v + (b - v) p]. Were the
    true mean above it, take c > v with c + (b - c) p = mean: values of c or more then have a
    probability above p, and n values below c one under (1 - p)^n = α/2; likewise below. Where the
    support is unbounded, so is the interval. That of a single value is the whole support.

    Coverage of an interval of confidence 0.95, in simulations of 10,000 samples each: 94 to 96 % of
    normal, uniform and evenly three-valued samples, from 10 values on. Of skewed ones less:
    exponential 90, 92, 93 and 95 %, log-normal 84, 87, 90 and 93 % at 10, 20, 50 and 200 values.
    With values of 0 and 1 only, as of rare rewards, it can be computed exactly and is uneven: 93 %
    or more where under 3 or over 25 values of the rarer kind are expected, but as little as 85 to
    87 % between, lowest at about 3, however many values there are in all. For plain successes
    prefer ``proportion``.

    Args:
        values: One value or more.
        confidence: The confidence of the interval.
        support: The lowest and the highest possible value.

    Raises:
        ValueError: No value, one not finite or outside the support, or a confidence not in (0, 1).
    """
    error = error_rate(confidence)
    numbers = as_sample(values, support)
    count = len(numbers)
    if not is_constant(numbers, support):
        value = float(np.mean(numbers))
        below = above = t_quantile(count - 1, confidence) * standard_error(numbers)
    else:
        value = float(numbers[0])
        below = above = inf
        if count > 1:
            low, high = support or UNBOUNDED
            unseen = 1 - (error / 2) ** (1 / count)
            below, above = (value - low) * unseen, (high - value) * unseen
    return _clipped(Estimate(value, value - below, value + above, confidence, count), support)


def paired_difference(
    first: ArrayLike, second: ArrayLike, confidence: float = 0.95, support: Support | None = None
) -> Estimate:
    """The mean of ``first - second``, value by value, as of two agents on the same exercises.

    Pairing removes the variance between exercises. The interval is that of ``mean``.

    Args:
        first: One value or more.
        second: As many, in the same order.
        confidence: The confidence of the interval.
        support: The lowest and the highest possible single value, of either.

    Raises:
        ValueError: As for ``mean``, or the numbers of values differ.
    """
    differences = paired_differences(first, second, support)
    return mean(differences, confidence, _difference_support(support))


def difference(
    first: ArrayLike, second: ArrayLike, confidence: float = 0.95, support: Support | None = None
) -> Estimate:
    """The difference of the means of two independent samples, with Welch's interval.

    When the values of either sample are all the same, its true spread is unknown and Welch's
    interval would be too short. Then it is made of the two intervals of ``mean``, each with half
    the error rate.

    Args:
        first: One value or more.
        second: One value or more, not necessarily as many; ``count`` is that of both.
        confidence: The confidence of the interval.
        support: The lowest and the highest possible single value, of either.

    Raises:
        ValueError: As for ``mean``, for either sample.
    """
    error = error_rate(confidence)
    ours, theirs = as_sample(first, support), as_sample(second, support)
    if is_constant(ours, support) or is_constant(theirs, support):
        one, other = (mean(part, 1 - error / 2, support) for part in (ours, theirs))
        value, low, high = one.value - other.value, one.low - other.high, one.high - other.low
    else:
        value = float(np.mean(ours) - np.mean(theirs))
        first_error, second_error = standard_error(ours), standard_error(theirs)
        both = hypot(first_error, second_error)
        shares = (first_error / both) ** 2, (second_error / both) ** 2
        degrees = 1 / (shares[0] ** 2 / (len(ours) - 1) + shares[1] ** 2 / (len(theirs) - 1))
        half = t_quantile(degrees, confidence) * both
        low, high = value - half, value + half
    estimate = Estimate(value, low, high, confidence, len(ours) + len(theirs))
    return _clipped(estimate, _difference_support(support))


def _clipped(estimate: Estimate, support: Support | None) -> Estimate:
    if support is None:
        return estimate
    value, low, high = np.clip((estimate.value, estimate.low, estimate.high), *support).tolist()
    return Estimate(value, low, high, estimate.confidence, estimate.count)


def _difference_support(support: Support | None) -> Support | None:
    return None if support is None else (support[0] - support[1], support[1] - support[0])


def proportion(successes: int, count: int, confidence: float = 0.95) -> Estimate:
    """The proportion of successes, with Wilson's score interval.

    It stays within 0 and 1 and has a width even with no success or no failure. At confidence 0.95
    it covers 95 % on the average over true proportions, and 91 % or more of each for which a
    success and a failure can be expected among the trials; of more extreme ones as little as 83 %.

    Args:
        successes: The number of successes.
        count: The number of trials, at least one.
        confidence: The confidence of the interval.

    Raises:
        ValueError: Not 0 <= successes <= count, no trial, or a confidence not in (0, 1).
    """
    if not 0 <= successes <= count or count == 0:
        raise ValueError(f"there cannot be {successes} successes of {count}")
    from scipy.special import ndtri  # much lighter than scipy.stats

    quantile = float(ndtri(1 - error_rate(confidence) / 2))
    share, square = successes / count, quantile**2 / count
    centre = (share + square / 2) / (1 + square)
    half = sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    # Rounding must not carry the ends past the share when it is 0 or 1.
    low, high = min(max(centre - half, 0.0), share), max(min(centre + half, 1.0), share)
    return Estimate(share, low, high, confidence, count)


def stratified_mean(
    strata: Sequence[ArrayLike], confidence: float = 0.95, support: Support | None = None
) -> Estimate:
    """The mean of the means of strata, all with the same weight.

    The distance between strata is no uncertainty, because they were chosen and not drawn: only
    the spread inside each counts. The interval is Student's t with Satterthwaite's degrees of
    freedom. Where the spread inside some stratum is unknown, because it has a single value or all
    are the same, the ends are the means of those of ``mean`` of each stratum, each with its share
    of the error rate (Bonferroni): all of them jointly miss no more often than that.

    Simulated coverage at confidence 0.95: 94 to 96 % for three strata of 5 values and more,
    normal, uniform or three-valued, with unequal spreads.

    Args:
        strata: The values of each stratum, one value or more in each.
        confidence: The confidence of the interval.
        support: The lowest and the highest possible value.

    Raises:
        ValueError: As for ``mean``, for any stratum.
    """
    groups = [as_sample(values, support) for values in strata]
    count = sum(map(len, groups))
    if (spread := _spread(groups, support)) is not None:
        value, error, degrees = spread
        half = t_quantile(degrees, confidence) * error
        return _clipped(Estimate(value, value - half, value + half, confidence, count), support)
    share = 1 - error_rate(confidence) / len(groups)
    parts = [mean(values, share, support) for values in groups]
    ends = zip(*((part.value, part.low, part.high) for part in parts), strict=True)
    value, low, high = (float(np.mean(column)) for column in ends)
    return Estimate(value, low, high, confidence, count)


def stratified_difference(
    first: Sequence[ArrayLike],
    second: Sequence[ArrayLike],
    confidence: float = 0.95,
    support: Support | None = None,
) -> Estimate:
    """The mean over strata of ``first - second``, value by value, as ``paired_difference``."""
    pairs = zip(first, second, strict=True)
    groups = [paired_differences(ours, theirs, support) for ours, theirs in pairs]
    return stratified_mean(groups, confidence, _difference_support(support))


def stratified_test(first: Sequence[ArrayLike], second: Sequence[ArrayLike]) -> float:
    """The p-value of equal means over strata, as ``paired_test`` of a single one."""
    groups = [paired_differences(ours, theirs) for ours, theirs in zip(first, second, strict=True)]
    if (spread := _spread(groups, None)) is not None:
        value, error, degrees = spread
        return t_p_value(value / error, degrees)
    return paired_test(*(np.concatenate([*map(np.asarray, side)]) for side in (first, second)))


def _spread(
    groups: Sequence[FloatArray], support: Support | None
) -> tuple[float, float, float] | None:
    """The mean over strata, its standard error and degrees of freedom, if every spread is known."""
    if len(groups) < 2 or any(len(each) < 2 or is_constant(each, support) for each in groups):
        return None
    errors = np.array([standard_error(values) for values in groups]) / len(groups)
    scale = ldexp(1.0, frexp(np.max(errors))[1] - 1)  # or powers of very small errors underflow
    errors /= scale
    degrees = np.array([len(values) - 1 for values in groups])
    variance = float(np.sum(errors**2))
    freedom = variance**2 / float(np.sum(errors**4 / degrees))
    return float(np.mean([np.mean(values) for values in groups])), scale * variance**0.5, freedom
