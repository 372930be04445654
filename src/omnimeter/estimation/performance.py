"""What a sample of scores or curves says: its middle, its profile, and how fast was learnt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import ceil, inf, sqrt

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.estimation.estimates import (
    UNBOUNDED,
    Band,
    Estimate,
    FloatArray,
    Support,
    as_sample,
    error_rate,
    interquartile_mean,
    is_constant,
    t_quantile,
)
from omnimeter.estimation.means import proportion

CARRIERS = 3
"""So many values must carry the spread of a sample before an interval relies on that spread."""

CAUTION = 1.5
"""By so many of their standard errors the quartiles are moved outwards to estimate the spread."""


@dataclass(frozen=True, slots=True)
class LearningSpeed(Estimate):
    """The median number of interactions until something was learnt, with its interval.

    Attributes:
        needed: The interactions that each curve needed; infinite where it did not keep its reward.
    """

    needed: tuple[float, ...]

    @property
    def censored(self) -> int:
        """How many curves did not keep their reward."""
        return self.needed.count(inf)


def interquartile_estimate(
    values: ArrayLike, confidence: float = 0.95, support: Support | None = None
) -> Estimate:
    """The mean of the middle half of independent values, with its interval.

    The value is ``interquartile_mean``. The interval is that of Tukey and McLaughlin, Student's t
    with the spread of the values after those beyond a quartile are moved to it, but with n - 1
    degrees and with quartiles that lie further out, by 1.5 of their standard errors √(3n / 16).
    Where the true quartiles are is not known, and where values have a gap, as of agents that
    either solve an exercise or do not, most of the error comes from there. For normal values it
    makes the interval a third longer than need be at 30 values, and less at more.

    The mean of the middle half lies between the quartiles. So the interval is cut to one that holds
    both of them, whose ends are the values of such ranks that, by the binomial distribution, lie
    beyond them with all but half the error rate. This one takes its place, and is bounded, where
    fewer than three values carry the spread (see ``mean``). Up to twelve values at confidence 0.95
    have none, and then it is the support.

    ``benchmarks/shapes.py`` measures the coverage, and that of the bootstrap beside it;
    docs/intervals.md has the table.

    Args:
        values: One value or more.
        confidence: The confidence of the interval.
        support: The lowest and the highest possible value.

    Raises:
        ValueError: No value, one not finite or outside the support, or a confidence not in (0, 1).
    """
    error, (low, high) = error_rate(confidence), support or UNBOUNDED
    ordered = np.sort(as_sample(values, support))
    count, value = len(ordered), float(interquartile_mean(ordered))
    if (rank := _rank_beyond(count, 0.75, error)) is not None:
        low, high = float(ordered[count - rank]), float(ordered[rank - 1])
    out = max(0, int(count / 4 - CAUTION * sqrt(3 * count / 16)))
    inner = np.clip(ordered, ordered[out], ordered[count - out - 1])
    distances = inner - np.mean(inner)
    squares = (distances / (np.max(np.abs(distances)) or 1.0)) ** 2
    known = not is_constant(inner, support) and count > 1
    if known and float(np.sum(squares)) ** 2 / float(np.sum(squares**2)) >= CARRIERS:
        spread = float(np.std(inner, ddof=1)) * sqrt(count) / (count - 2 * (count // 4))
        half = t_quantile(count - 1, confidence) * spread
        low, high = max(value - half, low), min(value + half, high)
        return Estimate(value, min(low, value), max(high, value), confidence, count)
    return Estimate(value, min(low, value), max(high, value), confidence, count, bounded=True)


@lru_cache(maxsize=1_024)
def _rank_beyond(count: int, share: float, error: float) -> int | None:
    """The lowest rank that lies at or above a quantile with all but half the error rate, if any."""
    from scipy.special import bdtr

    ranks = np.arange(1, count + 1)
    enough = bdtr(ranks - 1, count, share) >= 1 - error / 2
    return int(ranks[enough][0]) if np.any(enough) else None


def performance_profile(values: ArrayLike, thresholds: ArrayLike, confidence: float = 0.95) -> Band:
    """The share of independent values above each threshold.

    At each threshold alone the interval is that of ``proportion``. The band holds the shares at all
    thresholds at once, those that are not given included: it is that of Kolmogorov, with the exact
    quantile for this number of values. It is exact if no values are equal, and wider than it need
    be otherwise.

    Args:
        values: One value or more.
        thresholds: The thresholds, in any order.
        confidence: The confidence of each interval, and of the band.

    Raises:
        ValueError: No value or no threshold, one not finite, or a confidence not in (0, 1).
    """
    error_rate(confidence)
    ordered, places = np.sort(as_sample(values)), as_sample(thresholds)
    count = len(ordered)
    above = count - np.searchsorted(ordered, places, "right")
    each = [_share(number, count, confidence) for number in above.tolist()]
    shares = above / count
    reach = _kolmogorov(count, confidence)
    return Band(
        places,
        shares,
        np.array([one.low for one in each]),
        np.array([one.high for one in each]),
        np.maximum(shares - reach, 0.0),
        np.minimum(shares + reach, 1.0),
        confidence,
        count,
    )


_share = lru_cache(maxsize=4_096)(proportion)


@lru_cache(maxsize=256)
def _kolmogorov(count: int, confidence: float) -> float:
    """How far the share of so many values lies from the true one, at the worst threshold."""
    from scipy.stats import kstwo

    return float(kstwo.ppf(confidence, count))


def learning_speed(
    curves: Sequence[ArrayLike],
    share: float = 0.9,
    window: float = 0.05,
    final: float = 0.1,
    start: float = 0.0,
    confidence: float = 0.95,
) -> LearningSpeed:
    """How many interactions are needed until a share of the final reward is reached and kept.

    Each curve has the rewards of one exercise, one per interaction. Its *final reward* is the mean
    of its last part, ``final`` of its interactions rounded up. It is *smoothed* by the nearest one
    that never falls (isotonic regression): what is lost again after it was reached is averaged with
    what follows, and so is noise, over as many interactions as it takes. The reward that must be
    kept is start + share x (final reward - start). What the curve needed is the number of
    interactions before the smoothed one has as much. A curve *did not keep* its reward, and needed
    an infinite number, if that is within the last part, where keeping it would only be to have a
    final reward, or if the final reward is not above the start, so that nothing was gained.

    The estimate is the median over curves: half of them need as many interactions or fewer. It is
    infinite if half or more did not keep their reward (the mean of the middle two if one did).

    The interval is that of order statistics, which holds whatever the distribution: between two
    curves of such ranks that, by the binomial distribution, the median lies beyond either with at
    most half the error rate. For its upper end a curve that did not keep its reward needed more
    than any other, so that the end is infinite if too few kept it; for its lower end it needed no
    fewer interactions than there are before its last part. So it holds for curves of different
    lengths too, if rewards had no part in ending them: one that its agent ended must be filled with
    what is due to that. Up to five curves at confidence 0.95 tell nothing: then it
    is 0 to infinity, and bounded.

    Where within a *window*, this share of a curve, its reward was reached, noise hides. So the
    interval reaches a window further at both ends. It is then also that of the curves without their
    noise, at 300 interactions and more whose noise spreads no more than the reward rises.
    ``benchmarks/shapes.py`` measures the coverage of both; docs/intervals.md has the table.

    Args:
        curves: The rewards of each exercise, in the order of its interactions.
        share: Which share of the final reward must be reached; above 0 and at most 1.
        window: Which share of a curve is not told apart; at least 0 and below 1.
        final: Which share of a curve is its last part; above 0 and below 1.
        start: The reward of knowing nothing, from which the share counts.
        confidence: The confidence of the interval.

    Raises:
        ValueError: No curve, one of a single interaction, or any argument not as it should be.
    """
    error = error_rate(confidence)
    if not (0 < share <= 1 and 0 < final < 1 and 0 <= window < 1 and np.isfinite(start)):
        raise ValueError(
            f"a share lies in (0, 1], the last part in (0, 1), and a window in [0, 1), not "
            f"{share}, {final} and {window}, and the start is finite, not {start}"
        )
    if not len(curves):
        raise ValueError("a learning speed needs a curve or more")
    samples = [as_sample(each) for each in curves]
    pairs = [_needed(each, share, final, start) for each in samples]
    needed, lower = (np.array(each, dtype=np.float64) for each in zip(*pairs, strict=True))
    windows = np.array([ceil(window * len(each)) for each in samples])
    count, value = len(needed), float(np.median(needed))
    rank = _rank_beyond(count, 0.5, error)
    low, high = 0.0, inf
    if rank is not None:
        low = max(0.0, float(np.sort(lower - windows)[count - rank]))
        high = float(np.sort(needed + windows)[rank - 1])
    return LearningSpeed(
        value, low, high, confidence, count, tuple(needed.tolist()), bounded=rank is None
    )


def _needed(rewards: FloatArray, share: float, final: float, start: float) -> tuple[float, float]:
    """The interactions that a curve needed, and those that it needed at least."""
    from scipy.optimize import isotonic_regression

    length = len(rewards)
    before = length - ceil(final * length)
    if not before:
        raise ValueError(f"a curve of {length} interactions has none before its last part")
    reward = float(np.mean(rewards[before:]))
    if reward <= start:
        return inf, float(before)
    # Means of equal rewards differ by rounding errors.
    target = start + share * (reward - start) - 1e-12 * length * float(np.max(np.abs(rewards)))
    begin = float(np.searchsorted(isotonic_regression(rewards).x, target))
    return (begin, begin) if begin <= before else (inf, float(before))
