"""Estimates and what they share: resampling, paired samples, and significance tests."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from math import inf, isfinite, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]
Support = tuple[float, float]
"""The lowest and the highest value there can be."""

EVERYWHERE: Support = (-inf, inf)
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value with the interval in which the true one lies.

    Attributes:
        value: The estimate.
        low: The lower end of the interval; minus infinity where nothing is known.
        high: The upper end of the interval; infinity where nothing is known.
        confidence: In which share of repetitions such an interval holds the true value.
        count: From how many values.
    """

    value: float
    low: float
    high: float
    confidence: float
    count: int


def sample(values: ArrayLike, support: Support | None = None) -> FloatArray:
    """The values as an array, checked; rounding errors beyond the support are cut off.

    Raises:
        ValueError: There is no value, one is not finite, or one lies outside the support.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not len(numbers):
        raise ValueError(f"a sample is a row of one value or more, not of shape {numbers.shape}")
    if not np.all(np.isfinite(numbers)):
        raise ValueError("a sample has a value that is not finite")
    low, high = support or EVERYWHERE
    inside = np.clip(numbers, low, high)
    if not np.allclose(inside, numbers, rtol=_ROUNDING, atol=_ROUNDING):
        raise ValueError(f"a sample has a value outside of its support ({low}, {high})")
    return inside


def paired(first: ArrayLike, second: ArrayLike, support: Support | None = None) -> FloatArray:
    """The differences ``first - second``, checked; what is only rounding is made 0.

    Raises:
        ValueError: As for ``sample``, for either, or the numbers of values differ.
    """
    ours, theirs = sample(first, support), sample(second, support)
    if len(ours) != len(theirs):
        raise ValueError(f"{len(ours)} values cannot be paired with {len(theirs)}")
    differences = ours - theirs
    felt = np.abs(differences) > _ROUNDING * np.maximum(np.abs(ours), np.abs(theirs))
    return np.where(felt, differences, 0.0)


def constant(numbers: FloatArray, support: Support | None = None) -> bool:
    """Whether all values are the same, up to rounding at the scale of the values or the support."""
    ends = [abs(end) for end in support or () if isfinite(end)]
    scale = max(float(np.max(np.abs(numbers))), *ends, 0.0)
    return bool(np.ptp(numbers) <= _ROUNDING * scale)


def standard_error(numbers: FloatArray) -> float:
    """The standard error of the mean of two values or more, not all 0."""
    scale = float(np.max(np.abs(numbers)))  # the squares of very small values would vanish
    return scale * float(np.std(numbers / scale, ddof=1)) / sqrt(len(numbers))


def error_rate(confidence: float) -> float:
    """How often an interval of this confidence misses.

    Raises:
        ValueError: The confidence is not above 0 and below 1.
    """
    if not 0 < confidence < 1:
        raise ValueError(f"the confidence of an interval lies above 0 and below 1: {confidence}")
    return 1.0 - confidence


Statistic = Callable[..., Any]
"""A function of an array that takes ``axis``, like ``numpy.median`` and ``interquartile_mean``."""

_NUMBERS_AT_ONCE = 10_000_000


def interquartile_mean(values: ArrayLike, axis: int = -1) -> Any:
    """The mean of the middle half of the values: a quarter is left out at either end.

    Of n values ⌊n / 4⌋ are left out at either end.

    Args:
        values: The values.
        axis: Along which axis of an array.

    Returns:
        A number, or an array without that axis.
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

    What an interval of confidence 0.95 of the interquartile mean was found to cover, in
    simulations of 1,000 to 4,000 samples each: about 93 % at 10 values and 94 to 95 % from 20 on,
    of normal, uniform and exponential samples; 91 to 97 %, up and down, of evenly three-valued
    ones. It is no cure for small samples.

    Args:
        values: One value or more.
        statistic: A function of an array and ``axis``.
        rng: All chance comes from it.
        confidence: The confidence of the interval.
        resamples: How many samples are drawn anew.
        support: The lowest and the highest value that the statistic can have.

    Raises:
        ValueError: There is no value, one is not finite, or the confidence is not above 0 and
            below 1.
    """
    error = error_rate(confidence)
    numbers = sample(values)
    value = float(statistic(numbers, axis=-1))
    low, high = _interval(numbers, statistic, rng, error, resamples)
    if not low < high:
        low, high = support or EVERYWHERE
    return Estimate(value, low, high, confidence, len(numbers))


def _interval(
    numbers: FloatArray,
    statistic: Statistic,
    rng: np.random.Generator,
    error: float,
    resamples: int,
) -> tuple[float, float]:
    """The BCa interval, or else the percentile interval, perhaps without any width."""
    if np.ptp(numbers) == 0:
        return float(numbers[0]), float(numbers[0])
    from scipy import stats

    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        # The degenerate case, of which it warns, is dealt with below.
        warnings.simplefilter("ignore", stats.DegenerateDataWarning)
        result = stats.bootstrap(
            (numbers,),
            statistic,
            n_resamples=resamples,
            batch=max(1, _NUMBERS_AT_ONCE // len(numbers)),
            vectorized=True,
            axis=-1,
            confidence_level=1 - error,
            method="BCa",
            rng=rng,
        )
    low, high = result.confidence_interval
    if not (np.isfinite(low) and np.isfinite(high)):
        low, high = np.quantile(result.bootstrap_distribution, (error / 2, 1 - error / 2))
    return float(low), float(high)


def paired_test(first: ArrayLike, second: ArrayLike) -> float:
    """How likely a mean difference as large as this is by chance: Student's paired t, two-sided.

    When all n differences are the same, their spread is not known. Then it is the exact sign-flip
    test, which knows no more than the signs: 2^(1 - n), and 1 when there is no difference at all.

    Args:
        first: One value or more.
        second: As many, in the same order.

    Raises:
        ValueError: There is no value, one is not finite, or the numbers of values differ.
    """
    differences = paired(first, second)
    count = len(differences)
    if constant(differences):
        return 1.0 if differences[0] == 0 else 2.0 ** (1 - count)
    from scipy.special import stdtr  # much lighter than scipy.stats

    errors = float(np.mean(differences)) / standard_error(differences)
    return 2 * float(stdtr(count - 1, -abs(errors)))


def holm(probabilities: ArrayLike) -> FloatArray:
    """Adjust the p-values of many comparisons so that all of them hold together (Holm's method).

    Args:
        probabilities: The p-values.

    Returns:
        The adjusted p-values, in the same order: reject where they are at most the error rate.
    """
    given = np.asarray(probabilities, dtype=np.float64)
    order = np.argsort(given)
    factors = len(given) - np.arange(len(given))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * factors), 1.0)
    return adjusted
