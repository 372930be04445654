"""Comparisons of two samples by rank: the signed-rank test and the probability of improvement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from math import log2, sqrt

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.estimation.estimates import (
    UNBOUNDED,
    Estimate,
    FloatArray,
    Support,
    as_pair,
    as_sample,
    error_rate,
    is_constant,
    midranks,
    paired_differences,
)

STEPS = 60
"""Halvings of a search, which leave nothing that a floating-point number could tell."""

EXACT_RANKS = 200
"""Up to so many pairs the distribution of a rank sum is computed, beyond it is normal."""

EXACT_WINS = 10_000
"""Up to so many pairs the distribution of wins is computed, beyond it is normal."""

ALL_AVERAGES = 1_000
"""Up to so many differences all averages of two are sorted, beyond they are counted."""


@dataclass(frozen=True, slots=True)
class SignedRank(Estimate):
    """The Hodges-Lehmann estimate of a difference, with its interval and the signed-rank test.

    Attributes:
        statistic: The smaller of the sums of ranks of positive and of negative differences.
        p_value: How likely one as small as this is if differences are symmetric about 0.
    """

    statistic: float
    p_value: float


def wilcoxon(
    first: ArrayLike, second: ArrayLike, confidence: float = 0.95, support: Support | None = None
) -> SignedRank:
    """The typical difference ``first - second``, value by value, and Wilcoxon's signed-rank test.

    The estimate is that of Hodges and Lehmann, the median of the averages of any two differences
    (and of each with itself). It estimates the pseudomedian, which is the median where
    differences are symmetric.

    The p-value is two-sided, of the hypothesis that differences are symmetric about 0. Differences
    of 0 are ranked with the others, and then left out (Pratt's rule); equal ones share the
    mean of their ranks. Up to 200 differences other than 0 it is exact, whatever is equal: the
    share of all signs that give as small a rank sum. Beyond, the rank sum is taken as normal.

    The interval goes from the kth lowest average to the kth highest. Were differences symmetric,
    k would be that of the exact test without equal ranks. It is lower where the sample, by the
    variance of the share of differences with which each has an average below the estimate, spreads
    ranks more than symmetric ones do. Equal averages are inside, so that many equal differences
    make it longer than it need be. So it may hold 0 where the p-value is below 1 - confidence.

    Where k would be less than 1, as with up to five pairs, the interval is that of the support.
    So it is of n equal differences if a distribution with another pseudomedian gives them with a
    probability above α/2, for an error rate α: then 2^(-n/2) > α/2, up to ten of them at 0.95.
    These intervals are bounded.

    ``benchmarks/shapes.py`` measures the coverage; docs/intervals.md has the table.

    Args:
        first: One value or more.
        second: As many, in the same order.
        confidence: The confidence of the interval.
        support: The lowest and the highest possible single value, of either.

    Raises:
        ValueError: No value, one not finite or outside the support, not as many of both, or a
            confidence not in (0, 1).
    """
    error = error_rate(confidence)
    differences = paired_differences(first, second, support)
    count, (lowest, highest) = len(differences), support or UNBOUNDED
    statistic, p_value = _signed_rank_test(differences)
    total = count * (count + 1) // 2
    average = _averages(differences)
    value = (average((total + 1) // 2) + average(total // 2 + 1)) / 2
    below = _excluded(count, error)
    bounded = is_constant(differences, support) and count <= 2 * log2(2 / error)
    if not is_constant(differences, support):
        below = int(total / 2 - (total / 2 - below) * _rank_spread(differences, value))
    if below < 1 or bounded:
        ends = lowest - highest, highest - lowest
        return SignedRank(value, *ends, confidence, count, statistic, p_value, bounded=True)
    low, high = min(average(below), value), max(average(total + 1 - below), value)
    return SignedRank(value, low, high, confidence, count, statistic, p_value)


def _signed_rank_test(differences: FloatArray) -> tuple[float, float]:
    """The smaller rank sum of Pratt's rule, and its p-value."""
    from scipy.special import ndtr  # much lighter than scipy.stats

    kept = differences != 0
    ranks = midranks(np.abs(differences))[kept]
    above = float(np.sum(ranks[differences[kept] > 0]))
    total = float(np.sum(ranks))
    statistic = min(above, total - above)
    if len(ranks) <= EXACT_RANKS:
        doubled = np.rint(2 * ranks).astype(int)
        return statistic, min(1.0, 2 * float(_sums(doubled)[: round(2 * statistic) + 1].sum()))
    spread = sqrt(float(np.sum(ranks**2))) / 2
    return statistic, min(1.0, 2 * float(ndtr((statistic + 0.5 - total / 2) / spread)))


def _sums(ranks: ArrayLike) -> FloatArray:
    """The probabilities of all sums of ranks, each of which counts or not with probability 1/2."""
    probabilities = np.ones(1)
    for rank in np.asarray(ranks, dtype=int).tolist():
        longer = np.zeros(len(probabilities) + rank)
        longer[: len(probabilities)] = probabilities / 2
        longer[rank:] += probabilities / 2
        probabilities = longer
    return probabilities


@lru_cache(maxsize=256)
def _excluded(count: int, error: float) -> int:
    """How many rank sums, from 0 on, together have at most half the error rate."""
    if count <= EXACT_RANKS:
        shares = np.cumsum(_sums(range(1, count + 1)))
        return int(np.searchsorted(shares, error / 2 * (1 + 1e-12), "right"))
    from scipy.special import ndtri

    spread = sqrt(count * (count + 1) * (2 * count + 1) / 24)
    return int(count * (count + 1) / 4 + 0.5 + float(ndtri(error / 2)) * spread)


def _rank_spread(differences: FloatArray, centre: float) -> float:
    """How much more than symmetric differences these spread rank sums, and 1 if less."""
    ordered = np.sort(differences)
    partners = (
        np.searchsorted(ordered, 2 * centre - differences, "left")
        + np.searchsorted(ordered, 2 * centre - differences, "right")
    ) / (2 * len(ordered))
    # Of symmetric differences these are evenly spaced, with the variance (1 - 1 / count²) / 12.
    even = (1 - 1 / len(ordered) ** 2) / 12
    return sqrt(max(1.0, float(np.var(partners)) / even))


def _averages(differences: FloatArray) -> Callable[[int], float]:
    """The average of any two differences, or of one with itself, in each place from below."""
    ordered = np.sort(differences)
    if len(ordered) <= ALL_AVERAGES:
        one, other = np.triu_indices(len(ordered))
        averages = np.sort((ordered[one] + ordered[other]) / 2)
        return lambda place: float(averages[place - 1])

    def counted(place: int) -> float:
        low, high = float(ordered[0]), float(ordered[-1])
        for _ in range(STEPS):
            middle = (low + high) / 2
            pairs = int(np.sum(np.searchsorted(ordered, 2 * middle - ordered, "right")))
            alone = int(np.searchsorted(ordered, middle, "right"))
            low, high = (middle, high) if (pairs + alone) // 2 < place else (low, middle)
        return high

    return counted


def probability_of_improvement(
    first: ArrayLike, second: ArrayLike, confidence: float = 0.95, *, paired: bool = True
) -> Estimate:
    """The probability that ``first`` is greater than ``second``, where equal values count half.

    **Paired**, as of two agents on the same exercises, it is the share of pairs that are won, and
    half of those that are equal. The ends of the interval are the probabilities under which as
    many net wins or more, and as many or fewer, have half the error rate; the share of equal pairs
    is, for each, that under which the sample is most likely. It covers what it says at any number
    of pairs (docs/intervals.md). Beyond 10,000 pairs their net wins are taken as normal.

    **Unpaired**, as of two agents on exercises of their own, it is the share of all pairs of a
    value of ``first`` and one of ``second`` (Mann and Whitney). The interval is that of Clopper and
    Pearson for so many independent pairs as would give its variance (of DeLong), but not fewer than
    the values of the smaller sample, which no distributions fall short of (Birnbaum and Klose), and
    not more than exponential values would give (Hanley and McNeil). Where every value of one sample
    has the same rank among the other, as when all pairs are won, the variance is unknown: then
    it is for as many pairs as the smaller sample has values, and bounded. It is longer than it need
    be where many pairs are equal.

    ``benchmarks/shapes.py`` measures the coverage; docs/intervals.md has the table.

    Args:
        first: One value or more.
        second: One value or more; as many, in the same order, if paired.
        confidence: The confidence of the interval.
        paired: Whether values of both belong together.

    Raises:
        ValueError: No value, one not finite, not as many of both though paired, or a confidence
            not in (0, 1).
    """
    error = error_rate(confidence)
    if paired:
        differences = paired_differences(*as_pair(first, second))
        wins, losses = int(np.sum(differences > 0)), int(np.sum(differences < 0))
        ties = len(differences) - wins - losses
        low, high = (
            _lowest_probability(wins, ties, losses, error),
            1 - _lowest_probability(losses, ties, wins, error),
        )
        value = (wins + ties / 2) / len(differences)
        return Estimate(value, min(low, value), max(high, value), confidence, len(differences))
    one, other = as_sample(first), as_sample(second)
    ranks = midranks(np.concatenate([one, other]))
    ours, theirs = _placements(ranks[: len(one)], ranks[len(one) :])
    value, least = float(np.mean(ours)), min(len(one), len(other))
    variance = 0.0
    if least > 1:
        variance = sum(float(np.var(each, ddof=1)) / len(each) for each in (ours, theirs))
    pairs = float(least)
    if variance > 0:
        rest = (len(one) + len(other)) / 2 - 1
        share = (1 - value) / (2 - value) + value / (1 + value)
        most = max(least, len(one) * len(other) / (1 + rest * share))
        pairs = min(max(value * (1 - value) / variance, least), most)
    low, high = _clopper_pearson(value * pairs, pairs, error)
    count = len(one) + len(other)
    return Estimate(value, low, high, confidence, count, bounded=variance == 0)


def _placements(one: FloatArray, other: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Which share of the other sample each value exceeds, and which share exceeds each of it."""

    def below(values: FloatArray, among: FloatArray) -> FloatArray:
        ordered = np.sort(among)
        sides = [np.searchsorted(ordered, values, side) for side in ("left", "right")]
        return np.asarray((sides[0] + sides[1]) / (2 * len(ordered)), dtype=np.float64)

    return below(one, other), 1 - below(other, one)


def _clopper_pearson(successes: float, trials: float, error: float) -> tuple[float, float]:
    """The exact interval of a share; numbers need not be whole."""
    from scipy.special import betaincinv

    failures = max(trials - successes, 0.0)
    low = float(betaincinv(successes, failures + 1, error / 2)) if successes > 0 else 0.0
    high = float(betaincinv(successes + 1, failures, 1 - error / 2)) if failures > 0 else 1.0
    return low, high


@lru_cache(maxsize=4_096)
def _lowest_probability(wins: int, ties: int, losses: int, error: float) -> float:
    """The lower end of the interval of wins and half of the ties."""
    net, count = wins - losses, wins + ties + losses
    low, high = -1.0, net / count
    for _ in range(STEPS):
        middle = (low + high) / 2
        tail = _net_wins_or_more(net, wins, losses, count, middle)
        low, high = (middle, high) if tail < error / 2 else (low, middle)
    return (low + 1) / 2


def _net_wins_or_more(net: int, wins: int, losses: int, count: int, margin: float) -> float:
    """How likely so many net wins or more are, if wins are more likely than losses by a margin.

    How likely ties are is what makes the numbers most likely (T. Tango, 1998).
    """
    linear = (2 * count - wins + losses) * margin - wins - losses
    constant = -losses * margin * (1 - margin)
    root = sqrt(max(linear**2 - 8 * count * constant, 0.0))
    lost = min(max((root - linear) / (4 * count), 0.0, -margin), (1 - margin) / 2)
    won = lost + margin
    tied = max(1 - won - lost, 0.0)
    if count <= EXACT_WINS:
        size = 1 << (2 * count + 1).bit_length()
        powers = np.fft.rfft([lost, tied, won], size) ** count
        return float(np.sum(np.fft.irfft(powers, size)[net + count : 2 * count + 1]))
    from scipy.special import ndtr

    spread = sqrt(count * (won + lost - margin**2))
    return float(ndtr((count * margin - net + 0.5) / spread)) if spread else 0.0
