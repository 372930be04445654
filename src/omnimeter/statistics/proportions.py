"""Proportions, with their intervals."""

from __future__ import annotations

from math import sqrt

from omnimeter.statistics.estimate import Estimate, error_rate


def proportion(successes: int, count: int, level: float = 0.95) -> Estimate:
    """The proportion of successes, with Wilson's score interval.

    It stays within 0 and 1 and has a width even when nothing or everything succeeded. At level
    0.95 it covers 95 % on the average over true proportions, and 91 % or more of each for which a
    success and a failure can be expected among the trials; of more extreme ones as little as 83 %.

    Args:
        successes: How many succeeded.
        count: Of how many, at least one.
        level: The level of the interval.

    Raises:
        ValueError: There is no trial, fewer successes than none or more than trials, or the level
            is not above 0 and below 1.
    """
    if not 0 <= successes <= count or count == 0:
        raise ValueError(f"there cannot be {successes} successes of {count}")
    from scipy.special import ndtri  # much lighter than scipy.stats

    quantile = float(ndtri(1 - error_rate(level) / 2))
    share, square = successes / count, quantile**2 / count
    centre = (share + square / 2) / (1 + square)
    half = sqrt(square * (share * (1 - share) + square / 4)) / (1 + square)
    # Rounding must not carry the ends past the share when it is 0 or 1.
    low, high = min(max(centre - half, 0.0), share), max(min(centre + half, 1.0), share)
    return Estimate(share, low, high, level, count)
