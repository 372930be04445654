"""Estimates and what they share: checked samples, Student's t, the bootstrap."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from math import inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

Support = tuple[float, float]
"""The lowest and the highest possible value."""

Statistic = Callable[..., Any]
"""A function of an array that takes ``axis``, like ``numpy.median`` and ``interquartile_mean``."""

UNBOUNDED: Support = (-inf, inf)

ROUNDING = 1e-12
"""Relative differences up to this are rounding errors."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with its confidence interval.

    Attributes:
        value: The estimate.
        low: The lower end of the interval; minus infinity where it is unbounded.
        high: The upper end of the interval; infinity where it is unbounded.
        confidence: In which share of repetitions such an interval contains the true value.
        count: The number of values that it was computed from.
        bounded: Whether the interval only rests on the lowest and highest possible value, because
            there are too few values to estimate their spread.
    """

    value: float
    low: float
    high: float
    confidence: float
    count: int
    bounded: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class Band:
    """A curve with intervals at each place, and a band that holds it at all places at once.

    Attributes:
        at: The places, as places on the x axis.
        values: The estimate at each.
        low: The lower end of the interval of each place alone.
        high: The upper end of the interval of each place alone.
        lowest: The lower edge of the band that holds the whole curve.
        highest: The upper edge of the band that holds the whole curve.
        confidence: In which share of repetitions each interval, and the band, contains the truth.
        count: The number of values that it was computed from.
    """

    at: FloatArray
    values: FloatArray
    low: FloatArray
    high: FloatArray
    lowest: FloatArray
    highest: FloatArray
    confidence: float
    count: int


def as_sample(values: ArrayLike, support: Support | None = None) -> FloatArray:
    """The values as a checked array; rounding errors beyond the support are clipped."""
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not len(numbers):
        raise ValueError(f"a sample is a row of one value or more, not of shape {numbers.shape}")
    if not np.all(np.isfinite(numbers)):
        raise ValueError("a sample has a value that is not finite")
    low, high = support or UNBOUNDED
    inside = np.clip(numbers, low, high)
    if not np.allclose(inside, numbers, rtol=ROUNDING, atol=ROUNDING):
        raise ValueError(f"a sample has a value outside of its support ({low}, {high})")
    return inside


def as_pair(
    first: ArrayLike, second: ArrayLike, support: Support | None = None
) -> tuple[FloatArray, FloatArray]:
    """Two samples, checked to have the same number of values."""
    one, other = as_sample(first, support), as_sample(second, support)
    if len(one) != len(other):
        raise ValueError(f"{len(one)} values cannot be paired with {len(other)}")
    return one, other


def paired_differences(
    first: ArrayLike, second: ArrayLike, support: Support | None = None
) -> FloatArray:
    """The differences ``first - second``, where rounding errors are 0."""
    one, other = as_pair(first, second, support)
    differences = one - other
    significant = np.abs(differences) > ROUNDING * np.maximum(np.abs(one), np.abs(other))
    return np.where(significant, differences, 0.0)


def is_constant(numbers: FloatArray, support: Support | None = None) -> bool:
    """Whether all values are the same, up to rounding at the scale of the values or the support."""
    ends = [abs(end) for end in support or () if isfinite(end)]
    scale = max(float(np.max(np.abs(numbers))), *ends, 0.0)
    return bool(np.ptp(numbers) <= ROUNDING * scale)


def midranks(numbers: FloatArray) -> FloatArray:
    """The rank of each value, from 1; equal ones, up to rounding, share the mean of theirs."""
    order = np.argsort(numbers, kind="stable")
    apart = np.diff(numbers[order]) > ROUNDING * np.max(np.abs(numbers))
    groups = np.concatenate([[0], np.cumsum(apart)])
    sizes = np.bincount(groups)
    ranks = np.empty(len(numbers))
    ranks[order] = (np.cumsum(sizes) - (sizes - 1) / 2)[groups]
    return ranks


def error_rate(confidence: float) -> float:
    """How often an interval of this confidence, which is checked, misses the true value."""
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence of an interval lies above 0 and below 1: {confidence}")
    return 1.0 - confidence


def t_quantile(degrees: float, confidence: float) -> float:
    """How many standard errors an interval of Student's t extends to either side."""
    from scipy.special import stdtrit  # much lighter than scipy.stats

    return float(stdtrit(degrees, (1 + confidence) / 2))


def t_p_value(statistic: float, degrees: float) -> float:
    """The two-sided p-value of Student's t."""
    from scipy.special import stdtr  # much lighter than scipy.stats

    return 2 * float(stdtr(degrees, -abs(statistic)))


def interquartile_mean(values: ArrayLike, axis: int = -1) -> Any:
    """The mean of the middle half of the values: of n, ⌊n / 4⌋ are left out at either end.

    Args:
        values: The values.
        axis: Along which axis of an array; the result is an array without it.
    """
    ordered = np.moveaxis(np.sort(np.asarray(values, dtype=np.float64), axis=axis), axis, -1)
    count = ordered.shape[-1]
    return ordered[..., count // 4 : count - count // 4].mean(axis=-1)


def bootstrap(
    values: ArrayLike,
    statistic: Statistic,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 9_999,
    support: Support | None = None,
) -> Estimate:
    """Any statistic of independent values, with its BCa bootstrap interval.

    BCa (bias-corrected and accelerated) corrects the plain bootstrap for bias and skewness. When
    it is not defined, because leaving out one value never changes the statistic, the percentile
    interval takes its place. When no resample changes the statistic either, the interval is the
    whole support.

    Coverage of an interval of confidence 0.95 of the interquartile mean, in simulations of 1,000 to
    4,000 samples each: about 93 % at 10 values and 94 to 95 % from 20 on, of normal, uniform and
    exponential samples; 91 to 97 %, up and down, of evenly three-valued ones. It does not help
    against small samples.

    Args:
        values: One value or more.
        statistic: A function of an array and ``axis``.
        rng: The generator of all randomness.
        confidence: The confidence of the interval.
        resamples: The number of bootstrap samples.
        support: The lowest and the highest possible value of the statistic.

    Raises:
        ValueError: No value, one not finite, or a confidence not in (0, 1).
    """
    error = error_rate(confidence)
    numbers = as_sample(values)
    value = float(statistic(numbers, axis=-1))
    low, high = support or UNBOUNDED
    if np.ptp(numbers) > 0:
        from scipy import stats

        with warnings.catch_warnings(), np.errstate(invalid="ignore"):
            # The degenerate case, of which it warns, is dealt with below.
            warnings.simplefilter("ignore", stats.DegenerateDataWarning)
            result = stats.bootstrap(
                (numbers,),
                statistic,
                n_resamples=resamples,
                batch=max(1, 10_000_000 // len(numbers)),  # to limit memory
                vectorized=True,
                axis=-1,
                confidence_level=1 - error,
                method="BCa",
                rng=rng,
            )
        ends = result.confidence_interval
        if not np.all(np.isfinite(ends)):
            ends = np.quantile(result.bootstrap_distribution, (error / 2, 1 - error / 2))
        if ends[0] < ends[1]:
            low, high = float(ends[0]), float(ends[1])
    return Estimate(value, low, high, confidence, len(numbers))
