"""How many pairs decide a comparison: the number that shows a difference, with a stated power."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.estimation.estimates import Support, error_rate, t_quantile
from omnimeter.estimation.means import CARRIERS, stratified_difference, stratified_spread

MOST_PAIRS = 1_000_000
"""Beyond so many pairs no number is said."""

POWER = 0.8
"""How often a comparison of the stated size shows the difference."""

NORMAL = 10_000
"""Beyond so many degrees of freedom Student's t is normal."""


@dataclass(frozen=True, slots=True)
class Needed:
    """How many pairs would show a difference that is as large as the one that was observed.

    Attributes:
        count: How many pairs there are.
        total: How many would be enough in all; ``None`` where that cannot be said.
        low: The lower end of its interval: for the largest difference in relation to the spread
            that is compatible with the pairs.
        high: The upper end, for the smallest; ``None`` beyond a million, as where no difference at
            all is compatible with them.
        detectable: The smallest difference that as many pairs as there are would show with this
            power; ``None`` where the spread is not known.
        confidence: The confidence of the interval of a difference, and of that of the number.
        power: How often so many pairs show the difference.
        reason: Why the number cannot be said, a clause; empty where it can.
    """

    count: int
    total: int | None = None
    low: int | None = None
    high: int | None = None
    detectable: float | None = None
    confidence: float = 0.95
    power: float = POWER
    reason: str = ""

    @property
    def more(self) -> int | None:
        """How many pairs would be needed beyond those that there are."""
        return None if self.total is None else max(0, self.total - self.count)


def pairs_for(
    effect: float,
    confidence: float = 0.95,
    power: float = POWER,
    estimated: int = 1,
    share: float = 1.0,
) -> int | None:
    """How many pairs show a difference: the fewest whose interval leaves out 0 so often.

    It is the sample size of the paired t-test, from the noncentral t distribution. The interval is
    then shorter to the side of 0 than the difference with a probability of ``power``.

    Args:
        effect: The mean difference in units of its standard deviation, either way.
        confidence: The confidence of the interval.
        power: How often it is to be shown.
        estimated: How many means the standard deviation is from: one for each stratum. There are
            two pairs or more for each of them.
        share: The degrees of freedom of the standard deviation in relation to the pairs beyond
            ``estimated``: less than 1 where strata spread unequally.

    Returns:
        The number; ``None`` if it is beyond a million, as for no difference.

    Raises:
        ValueError: The effect is no number, or a probability is not in (0, 1).
    """

    def shows(count: int) -> bool:
        # However unequal strata are, two pairs of each have one degree of freedom.
        degrees = max(1.0, share * (count - estimated))
        return _power(count, effect, confidence, degrees) >= power

    error_rate(confidence)
    if not 0 < power < 1 or np.isnan(effect):
        raise ValueError(f"no number of pairs has a power of {power} for an effect of {effect}")
    effect, low, high = abs(effect), 2 * estimated - 1, 2 * estimated
    while not shows(high):
        low, high = high, 2 * high
        if low > MOST_PAIRS:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if shows(middle) else (middle, high)
    return high if high <= MOST_PAIRS else None


def _power(count: int, effect: float, confidence: float, degrees: float) -> float:
    """How often so many pairs show a difference, in its own direction."""
    from scipy.special import nctdtr, ndtr

    shift, quantile = effect * sqrt(count), t_quantile(degrees, confidence)
    if degrees > NORMAL or shift > quantile + 30:
        return float(ndtr(shift - quantile))
    return 1 - float(nctdtr(degrees, shift, quantile))


def detectable(
    spread: float,
    count: int,
    confidence: float = 0.95,
    power: float = POWER,
    degrees: float | None = None,
) -> float:
    """The smallest mean difference that so many pairs show so often.

    Args:
        spread: The standard deviation of single differences.
        count: How many pairs, two or more.
        confidence: The confidence of the interval.
        power: How often it is to be shown.
        degrees: The degrees of freedom of the standard deviation; by default one less than pairs.

    Raises:
        ValueError: There are fewer than two pairs, or a probability is not in (0, 1).
    """
    error_rate(confidence)
    if count < 2 or not 0 < power < 1:
        raise ValueError(f"{count} pairs show no difference with a power of {power}")
    low, high, degrees = 0.0, 1.0, count - 1.0 if degrees is None else degrees
    while _power(count, high, confidence, degrees) < power:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        enough = _power(count, middle, confidence, degrees) >= power
        low, high = (low, middle) if enough else (middle, high)
    return high * spread


def pairs_needed(
    first: Sequence[ArrayLike],
    second: Sequence[ArrayLike],
    confidence: float = 0.95,
    power: float = POWER,
    support: Support | None = None,
) -> Needed:
    """How many pairs would show the difference of ``stratified_difference``.

    If the true difference and the true spread are those that were observed, as many new pairs as
    ``total`` show it with a probability of ``power``. Both are only known as well as the pairs tell
    them, so the number has an interval. Its ends are the numbers for the ends of the interval of
    the standardised difference, which comes from the noncentral t distribution. Where that holds
    0, the number has no upper end.

    Nothing can be said of fewer than two pairs, without any spread, or where fewer than four pairs
    carry the spread (``mean``). It is not said that more than a million would be enough.

    Args:
        first: The values of each stratum, one or more in each.
        second: As many, in the same order.
        confidence: The confidence of intervals.
        power: How often the difference is to be shown.
        support: The lowest and the highest possible single value, of either.

    Raises:
        ValueError: As for ``stratified_difference``, or the power is not in (0, 1).
    """
    estimate = stratified_difference(first, second, confidence, support)
    spread, count = stratified_spread(first, second, support), estimate.count

    def unknown(reason: str) -> Needed:
        return Needed(count, confidence=confidence, power=power, reason=reason)

    if count < 2:
        return unknown("there is one pair only")
    if spread is None or spread.error == 0:
        if estimate.value == 0:
            return unknown("both got the same in every pair")
        return unknown("the spread of the differences is not known")
    if spread.carriers < CARRIERS:
        return unknown("fewer than four pairs carry the spread of the differences")
    from scipy.special import nctdtrinc

    root, tail = sqrt(count), (1 - confidence) / 2
    statistic, degrees = estimate.value / spread.error, min(spread.degrees, float(NORMAL))
    ends = [float(nctdtrinc(degrees, p, abs(statistic))) for p in (1 - tail, tail)]
    if not all(map(isfinite, ends)):  # far from 0, where t is as good as normal
        half = t_quantile(degrees, confidence)
        ends = [abs(statistic) - half, abs(statistic) + half]
    share = spread.degrees / (count - spread.means)

    def enough(shift: float) -> int | None:
        return pairs_for(shift / root, confidence, power, spread.means, share)

    total = enough(statistic)
    reason = "" if total is not None else "more than a million pairs would be needed"
    return Needed(
        count,
        total,
        enough(max(map(abs, ends))),
        None if ends[0] <= 0 else enough(ends[0]),
        detectable(spread.error * root, count, confidence, power, spread.degrees),
        confidence,
        power,
        reason,
    )
