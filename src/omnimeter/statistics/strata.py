"""The mean over strata that were fixed beforehand, such as levels of complexity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.statistics.estimate import (
    Estimate,
    FloatArray,
    Support,
    constant,
    error_rate,
    paired,
    sample,
    standard_error,
)
from omnimeter.statistics.means import clipped, mean, quantile, support_of_difference
from omnimeter.statistics.significance import paired_test

FEWEST = 2
"""Values in a stratum without which its spread is not known."""


def stratified_mean(
    strata: Sequence[ArrayLike], level: float = 0.95, support: Support | None = None
) -> Estimate:
    """The mean of the means of strata, all with the same weight.

    How far the strata lie apart is no uncertainty, because they were chosen and not drawn: only
    the spread inside each counts. The interval is Student's t with Satterthwaite's degrees of
    freedom. Where the spread inside some stratum is not known, because it has a single value or
    all are the same, the ends are the means of those of ``mean`` of each stratum, each with its
    share of the error rate: all of them together miss no more often than that.

    Simulated coverage at the nominal 95 %: 94 to 96 % for three strata of 5 values and more,
    normal, uniform or three-valued, with unequal spreads.

    Args:
        strata: The values of each stratum, one value or more in each.
        level: The level of the interval.
        support: The lowest and the highest value there can be.

    Raises:
        ValueError: As for ``mean``, for any stratum.
    """
    groups = [sample(values, support) for values in strata]
    spread = _spread(groups, support)
    if spread is None:
        return _combined(groups, level, support)
    value, error, freedom = spread
    reach = quantile(freedom, level) * error
    count = sum(map(len, groups))
    return clipped(Estimate(value, value - reach, value + reach, level, count), support)


def _combined(groups: Sequence[FloatArray], level: float, support: Support | None) -> Estimate:
    """The mean of the means, with an interval made of those of the strata (Bonferroni)."""
    share = 1 - error_rate(level) / len(groups)
    parts = [mean(values, share, support) for values in groups]
    value, low, high = (
        float(np.mean([getattr(part, name) for part in parts])) for name in ("value", "low", "high")
    )
    return Estimate(value, low, high, level, sum(map(len, groups)))


def stratified_difference(
    first: Sequence[ArrayLike],
    second: Sequence[ArrayLike],
    level: float = 0.95,
    support: Support | None = None,
) -> Estimate:
    """The mean over strata of ``first - second``, value by value, as ``paired_difference``."""
    groups = [paired(ours, theirs, support) for ours, theirs in zip(first, second, strict=True)]
    return stratified_mean(groups, level, support_of_difference(support))


def stratified_test(first: Sequence[ArrayLike], second: Sequence[ArrayLike]) -> float:
    """The p-value of no mean difference over strata, as ``paired_test`` of a single one."""
    groups = [paired(ours, theirs) for ours, theirs in zip(first, second, strict=True)]
    spread = _spread(groups, None)
    if spread is None:
        ours, theirs = (np.concatenate([*map(_array, side)]) for side in (first, second))
        return paired_test(ours, theirs)
    from scipy.special import stdtr

    value, error, freedom = spread
    return float(2 * stdtr(freedom, -abs(value) / error))


def _array(values: ArrayLike) -> FloatArray:
    return np.asarray(values, dtype=np.float64)


def _spread(
    groups: Sequence[FloatArray], support: Support | None
) -> tuple[float, float, float] | None:
    """The mean over strata, its standard error and degrees of freedom, if every spread is known."""
    if len(groups) < FEWEST or any(
        len(values) < FEWEST or constant(values, support) for values in groups
    ):
        return None
    errors = np.array([standard_error(values) for values in groups]) / len(groups)
    degrees = np.array([len(values) - 1 for values in groups])
    variance = float(np.sum(errors**2))
    freedom = variance**2 / float(np.sum(errors**4 / degrees))
    return float(np.mean([np.mean(values) for values in groups])), variance**0.5, freedom
