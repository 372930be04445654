"""Means and proportions with confidence intervals: of a sample, of differences, over strata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import copysign, exp, expm1, inf, isfinite, log, log1p, sqrt

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
    t_p_value,
    t_quantile,
)
from omnimeter.estimation.likelihood import Part, cost_above, highest_mean

STEPS = 60
"""Halvings of a search, which leave nothing that a floating-point number could tell."""

CARRIERS = 4
"""So many values must carry the spread of a sample before an interval relies on that spread."""


def mean(values: ArrayLike, confidence: float = 0.95, support: Support | None = None) -> Estimate:
    """The mean of independent values.

    The interval is the smallest that contains Student's t interval and that of the empirical
    likelihood, which follows the skewness of the values: both ends cost
    n/2 log(1 + t²/(n - 1)), as if values were normal (``omnimeter.estimation.likelihood``).

    Both need the spread, which few values cannot tell. Of squared distances d² from the mean,
    (Σ d²)² / Σ d⁴ is how many values carry the spread: n if all lie equally far, 1 if one of many
    does. Where these are fewer than four, and the support (a, b) is known, the interval is
    *bounded*: it contains the means of all distributions in the support under which the values
    have more than α/2 times their greatest likelihood, for an error rate α. If all n values are
    the same v, the ends are v - (v - a) p and v + (b - v) p with p = 1 - (α/2)^(1/n): what was not
    seen has at most the probability p. Without a support, an interval of constant values is
    infinite.

    ``benchmarks/coverage.py`` measures the coverage over the whole catalogue of agents and
    environments; docs/intervals.md has the table, and says where it falls short.

    Args:
        values: One value or more.
        confidence: The confidence of the interval.
        support: The lowest and the highest possible value.

    Raises:
        ValueError: No value, one not finite or outside the support, or a confidence not in (0, 1).
    """
    return _Combination.of([as_sample(values, support)], support).estimate(confidence)


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
    return stratified_difference([first], [second], confidence, support)


def difference(
    first: ArrayLike, second: ArrayLike, confidence: float = 0.95, support: Support | None = None
) -> Estimate:
    """The difference of the means of two independent samples.

    The interval is that of ``mean``, with Welch's degrees of freedom and one likelihood of both.

    Args:
        first: One value or more.
        second: One value or more, not necessarily as many; ``count`` is that of both.
        confidence: The confidence of the interval.
        support: The lowest and the highest possible single value, of either.

    Raises:
        ValueError: As for ``mean``, for either sample.
    """
    low, high = support or UNBOUNDED
    groups = as_sample(first, support), -as_sample(second, support)
    parts = [_Group(groups[0], 1.0, (low, high)), _Group(groups[1], 1.0, (-high, -low))]
    return _Combination(parts, [parts]).estimate(confidence)


def proportion(successes: int, count: int, confidence: float = 0.95) -> Estimate:
    """The proportion of successes, with the mid-p interval.

    Its ends are the proportions under which as many successes or more, and as many or fewer, have
    a probability of half the error rate, where the number that was observed counts half (the
    interval of Clopper and Pearson counts it whole). At confidence 0.95 it covers 91.5 % or more of
    every true proportion, and 95 to 98 % on the average over all of them (docs/intervals.md).

    Args:
        successes: The number of successes.
        count: The number of trials, at least one.
        confidence: The confidence of the interval.

    Raises:
        ValueError: Not 0 <= successes <= count, no trial, or a confidence not in (0, 1).
    """
    if not 0 <= successes <= count or count == 0:
        raise ValueError(f"there cannot be {successes} successes of {count}")
    error, share = error_rate(confidence), successes / count
    low = _mid_p_end(successes, count, error)
    high = 1 - _mid_p_end(count - successes, count, error)
    return Estimate(share, min(low, share), max(high, share), confidence, count)


def _mid_p_end(successes: int, count: int, error: float) -> float:
    """The proportion under which so many successes or more have half the error rate, mid-p."""
    from scipy.special import betainc  # much lighter than scipy.stats

    low, high = 0.0, successes / count
    for _ in range(STEPS if successes else 0):
        middle = (low + high) / 2
        above = betainc(successes + 1, count - successes, middle) if successes < count else 0.0
        tail = (above + betainc(successes, count - successes + 1, middle)) / 2
        low, high = (middle, high) if tail < error / 2 else (low, middle)
    return low


def combined_mean(estimates: Sequence[Estimate]) -> Estimate:
    """The mean of independent estimates, all with the same weight, from their intervals.

    Each end is as far from the mean as the root of the squared distances in the estimates, divided
    by their number: the recovery of variances from limits (Zou and Donner 2008), which keeps
    intervals that are not symmetric, or that were widened. One estimate remains as it is.

    Args:
        estimates: Independent estimates, one or more, of the same confidence.
    """
    count = len(estimates)
    value = float(np.mean([each.value for each in estimates]))
    below = float(np.linalg.norm([each.value - each.low for each in estimates])) / count
    above = float(np.linalg.norm([each.high - each.value for each in estimates])) / count
    bounded = any(each.bounded for each in estimates)
    total = sum(each.count for each in estimates)
    low, high = (
        (value - below, value + above) if count > 1 else (estimates[0].low, estimates[0].high)
    )
    return Estimate(value, low, high, estimates[0].confidence, total, bounded=bounded)


def stratified_mean(
    strata: Sequence[ArrayLike], confidence: float = 0.95, support: Support | None = None
) -> Estimate:
    """The mean of the means of strata, all with the same weight.

    The distance between strata is no uncertainty, because they were chosen and not drawn: only
    the spread inside each counts. The interval is that of ``mean``, with Satterthwaite's degrees of
    freedom and one likelihood of all values; if bounded, what was not seen is shared by all strata.

    Strata of a single value have no spread of their own, and are taken as one sample: then their
    distance counts as spread. Where fewer than four values carry the spread even so, or all values
    of some strata, up to half of them, are the same, all strata of the same size are taken as one
    sample. The interval is bounded only if that does not help.

    Args:
        strata: The values of each stratum, one value or more in each.
        confidence: The confidence of the interval.
        support: The lowest and the highest possible value.

    Raises:
        ValueError: As for ``mean``, for any stratum.
    """
    groups = [as_sample(values, support) for values in strata]
    return _Combination.of(groups, support).estimate(confidence)


def stratified_difference(
    first: Sequence[ArrayLike],
    second: Sequence[ArrayLike],
    confidence: float = 0.95,
    support: Support | None = None,
) -> Estimate:
    """The mean over strata of ``first - second``, value by value, as ``paired_difference``."""
    return _differences(first, second, support).estimate(confidence)


def stratified_test(
    first: Sequence[ArrayLike], second: Sequence[ArrayLike], support: Support | None = None
) -> float:
    """The two-sided p-value of equal means, value by value over strata.

    It is the smallest error rate at which the interval of ``stratified_difference`` excludes 0.
    """
    return _differences(first, second, support).p_value()


def stratified_spread(
    first: Sequence[ArrayLike], second: Sequence[ArrayLike], support: Support | None = None
) -> Spread | None:
    """How uncertain the value of ``stratified_difference`` is; ``None`` without any spread."""
    return _differences(first, second, support).spread()[0]


def paired_z(first: ArrayLike, second: ArrayLike) -> float:
    """Z of the paired Z-test (Bayesian RL benchmark, Appendix C): mean / (s / sqrt(N)).

    The standard deviation s of the differences ``first - second`` has N - 1 in it, and a square
    root, which the paper forgets. Without any spread Z is 0 for equal values, otherwise infinite.

    Raises:
        ValueError: There are fewer than two pairs, or a value is not finite.
    """
    values = paired_differences(first, second)
    if len(values) < 2:
        raise ValueError("a Z-test needs at least two pairs")
    value, error = float(np.mean(values)), float(np.std(values, ddof=1)) / sqrt(len(values))
    if is_constant(values):
        return copysign(inf, value) if value else 0.0
    return value / error


def _differences(
    first: Sequence[ArrayLike], second: Sequence[ArrayLike], support: Support | None
) -> _Combination:
    pairs = zip(first, second, strict=True)
    groups = [paired_differences(ours, theirs, support) for ours, theirs in pairs]
    widest = None if support is None else (support[0] - support[1], support[1] - support[0])
    return _Combination.of(groups, widest)


@dataclass(frozen=True, slots=True)
class _Group:
    """Values of one distribution, with the weight of their mean and their support."""

    values: FloatArray
    weight: float
    support: Support

    @property
    def mean(self) -> float:
        """The mean, without rounding errors where all values are the same."""
        constant = is_constant(self.values, self.support)
        return float(self.values[0] if constant else np.mean(self.values))

    def upper(self, ends: bool) -> Part:
        return Part(self.values, self.weight, self.support[1] if ends else inf)

    def lower(self, ends: bool) -> Part:
        return Part(-self.values, self.weight, -self.support[0] if ends else inf)


@dataclass(frozen=True, slots=True)
class Spread:
    """How uncertain a combination of means is.

    Attributes:
        error: The standard error.
        degrees: Its degrees of freedom.
        carriers: How many values carry the spread (``mean``).
        means: How many means it is from: of strata, or of those that are taken as one sample.
    """

    error: float
    degrees: float
    carriers: float
    means: int


@dataclass(frozen=True, slots=True)
class _Combination:
    """A weighted sum of means.

    Attributes:
        groups: The samples.
        pooled: The ways to group them to estimate the spread; the first that is enough counts.
    """

    groups: Sequence[_Group]
    pooled: Sequence[Sequence[_Group]]

    @classmethod
    def of(cls, samples: Sequence[FloatArray], support: Support | None) -> _Combination:
        """The mean of the means of some samples with the same support."""
        limits, weight = support or UNBOUNDED, 1 / len(samples)
        groups = [_Group(values, weight, limits) for values in samples]
        alike: dict[int, list[FloatArray]] = {}
        for values in samples:
            alike.setdefault(len(values), []).append(values)
        merged = {
            size: _Group(np.concatenate(each), len(each) * weight, limits)
            for size, each in alike.items()
        }
        several = [group for group in groups if len(group.values) > 1]
        single = [group for size, group in merged.items() if size == 1]
        pooled = [several + single]
        constant = sum(is_constant(group.values, limits) for group in several)
        if 2 * constant <= len(several):  # else their distance would stand for a spread unknown
            pooled.append(list(merged.values()))
        return cls(groups, pooled)

    @property
    def value(self) -> float:
        return sum(group.weight * group.mean for group in self.groups)

    def estimate(self, confidence: float) -> Estimate:
        """The sum with its interval."""
        error = error_rate(confidence)
        value = self.value
        spread, pooled, bounded = self.spread()
        if bounded or spread is None:
            cost = log(2 / error)
            low, high = -inf, inf
            if all(isfinite(group.support[0]) for group in self.groups):
                low = -highest_mean([group.lower(ends=True) for group in self.groups], cost)
            if all(isfinite(group.support[1]) for group in self.groups):
                high = highest_mean([group.upper(ends=True) for group in self.groups], cost)
        else:
            quantile = t_quantile(spread.degrees, confidence)
            half = quantile * spread.error
            cost = (spread.degrees + 1) / 2 * log1p(quantile**2 / spread.degrees)
            lower, upper = ([side(each, False) for each in pooled] for side in _SIDES)
            low = min(value - half, -highest_mean(lower, cost))
            high = max(value + half, highest_mean(upper, cost))
        lowest, highest = (sum(g.weight * g.support[end] for g in self.groups) for end in (0, 1))
        low, high = min(max(low, lowest), value), max(min(high, highest), value)
        count = sum(len(group.values) for group in self.groups)
        return Estimate(value, low, high, confidence, count, bounded=bounded)

    def p_value(self) -> float:
        """The smallest error rate at which the interval excludes 0."""
        value = self.value
        spread, pooled, bounded = self.spread()
        # The side on which 0 lies, as a mean above what was seen.
        side = _Group.lower if value > 0 else _Group.upper
        if value == 0:
            return 1.0
        if bounded or spread is None:
            ends = [group.support[0 if value > 0 else 1] for group in self.groups]
            if not all(map(isfinite, ends)):
                return 1.0
            return min(1.0, 2 * exp(-cost_above([side(each, True) for each in self.groups], 0.0)))
        plain = t_p_value(value / spread.error, spread.degrees)
        cost = cost_above([side(each, False) for each in pooled], 0.0)
        exponent = 2 * cost / (spread.degrees + 1)
        if exponent > 700:  # beyond any value of the sample
            return plain
        return max(plain, t_p_value(sqrt(spread.degrees * expm1(exponent)), spread.degrees))

    def spread(self) -> tuple[Spread | None, Sequence[_Group], bool]:
        """The spread, if known, of which groups, and whether the interval must be bounded."""
        known = [(spread, each) for each in self.pooled if (spread := _spread_of(each))]
        for spread, groups in known:
            if spread.carriers >= CARRIERS:
                return spread, groups, False
        finite = all(isfinite(end) for group in self.groups for end in group.support)
        return *(known[0] if known else (None, self.groups)), finite


def _spread_of(groups: Sequence[_Group]) -> Spread | None:
    """The spread of a weighted sum of means; ``None`` where that of some group is unknown."""
    sizes = np.array([len(group.values) for group in groups])
    if np.min(sizes) < 2 or any(is_constant(group.values, group.support) for group in groups):
        return None
    # What each value adds to the variance of the sum, relative to the greatest.
    distances = [each.weight * (each.values - np.mean(each.values)) for each in groups]
    scale = max(float(np.max(np.abs(each))) for each in distances)
    squares = [
        (each / scale) ** 2 / (size * (size - 1))
        for each, size in zip(distances, sizes, strict=True)
    ]
    variances = np.array([float(np.sum(each)) for each in squares])
    variance = float(np.sum(variances))
    degrees = variance**2 / float(np.sum(variances**2 / (sizes - 1)))
    fourth = sum(float(np.sum(each**2)) for each in squares)
    # Equally distant values carry the spread alike, up to rounding.
    carriers = min(variance**2 / fourth, degrees + 1) * (1 + 1e-9)
    return Spread(scale * sqrt(variance), degrees, carriers, len(groups))


_SIDES = _Group.lower, _Group.upper
