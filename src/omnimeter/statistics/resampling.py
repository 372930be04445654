"""Intervals by resampling, for statistics that have no formula."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.statistics.estimate import (
    EVERYWHERE,
    Estimate,
    FloatArray,
    Support,
    error_rate,
    sample,
)

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
    level: float = 0.95,
    resamples: int = 9_999,
    support: Support | None = None,
) -> Estimate:
    """Any statistic of independent values, with its BCa bootstrap interval.

    BCa (bias-corrected and accelerated) corrects the plain bootstrap for bias and skewness. When
    it is not defined, because leaving out one value never changes the statistic, the percentile
    interval takes its place. When no resample changes the statistic either, the interval is the
    whole support.

    What an interval of level 0.95 of the interquartile mean was found to cover, in simulations of
    1,000 to 4,000 samples each: about 93 % at 10 values and 94 to 95 % from 20 on, of normal,
    uniform and exponential samples; 91 to 97 %, up and down, of evenly three-valued ones. It is no
    cure for small samples.

    Args:
        values: One value or more.
        statistic: A function of an array and ``axis``.
        rng: All chance comes from it.
        level: The level of the interval.
        resamples: How many samples are drawn anew.
        support: The lowest and the highest value that the statistic can have.

    Raises:
        ValueError: There is no value, one is not finite, or the level is not above 0 and below 1.
    """
    error = error_rate(level)
    numbers = sample(values)
    value = float(statistic(numbers, axis=-1))
    low, high = _interval(numbers, statistic, rng, error, resamples)
    if not low < high:
        low, high = support or EVERYWHERE
    return Estimate(value, low, high, level, len(numbers))


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
