"""Confidence sequences: intervals of means that hold at every number of values at once.

An interval of ``mean`` holds at a number of values that was fixed beforehand. Watching it and
stopping when it shows something is misleading more often than it says. A confidence sequence may be
watched: with its confidence, no interval of the whole sequence misses the mean, so that any reason
for stopping will do.
"""

from __future__ import annotations

from math import inf, isfinite, log, sqrt

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.estimation.estimates import (
    UNBOUNDED,
    Estimate,
    FloatArray,
    Support,
    as_sample,
    error_rate,
    paired_differences,
)

FRACTIONS = tuple(0.9 * 3.0**-level for level in range(8))
"""The parts of a gambler's capital that it bets again and again: large ones are best against means
that are far away or at few values, small ones at many values."""

HALVINGS = 30
"""The end of an interval is the outer one of neighbouring multiples of 2^-30 of the range."""

CHUNK = 4096
"""Values whose capitals are computed at once, to limit memory."""

SLACK = 1e-9
"""By which part a capital must exceed what is asked for: it is a rounded product."""

SHARES = 1 / np.arange(1, len(FRACTIONS) + 1)
SHARES /= SHARES.sum()
"""The shares of a gambler's capital that are bet in the fractions, at first."""

ROW, ROWS = 64, 128
"""So many factors are multiplied before there is a logarithm: a product then hardly overflows. And
so many of these rows are multiplied side by side."""

MARGIN = 1e-7
"""A quickly computed capital as near to what is asked for is computed again, exactly."""


def mean_sequence(
    values: ArrayLike, confidence: float = 0.95, support: Support | None = None
) -> Estimate:
    """The mean of bounded values, with an interval that holds at every number of values at once.

    It is a capital process as of Waudby-Smith and Ramdas ("Estimating means of bounded random
    variables by betting", 2024). Values are scaled to [0, 1]. Against each mean m that could be
    the true one, two gamblers bet on value after value, one on high values and one on low ones. A
    gambler has a capital of 1, in ``FRACTIONS`` that are bet apart from each other: a bet of the
    fraction f on a high value x multiplies its share by 1 + f (x / m - 1). Against the true mean
    this is a fair game, in which the whole ever reaches 2/α with a probability of at most α/2
    (Ville), α being the error rate. So the interval is made of the means against which neither has
    ever reached it. Shares are 1, 1/2, 1/3 and so on, from the largest fraction to the smallest, in
    proportion: with them the interval of our payoffs is mostly shorter than with the plug-in stakes
    of the paper. It is 1.3 to 1.8 times as long as that of ``mean`` at 1,000 values and more, and
    longer at fewer if they are close together (``benchmarks/always_valid.py``).

    Values need not be independent: it is enough that each has the same expectation, given all those
    before. The order matters, and the value is the plain mean. When capitals reached 2/α against
    every mean, which happens with a probability of at most α, the interval is that of the last
    capitals alone or, where these do so too, the whole support. It always contains the value.

    Args:
        values: One value or more, in the order in which they came.
        confidence: The confidence with which all the intervals hold.
        support: The lowest and the highest possible value; without both the interval is unbounded.

    Raises:
        ValueError: No value, one not finite or outside the support, or a confidence not in (0, 1).
    """
    error = error_rate(confidence)
    numbers = as_sample(values, support)
    value, (low, high) = float(np.mean(numbers)), support or UNBOUNDED
    width = high - low
    if isfinite(width) and width > 0:
        scaled = np.clip((numbers - low) / width, 0.0, 1.0)
        for ever in True, False:
            below = _lowest(scaled, 2 / error, ever=ever)
            above = _lowest(1 - scaled, 2 / error, ever=ever)
            if below + above < 1:
                low, high = low + below * width, high - above * width
                break
    return Estimate(value, min(low, value), max(high, value), confidence, len(numbers))


def difference_sequence(
    first: ArrayLike, second: ArrayLike, confidence: float = 0.95, support: Support | None = None
) -> Estimate:
    """The mean of ``first - second``, value by value, with an interval that always holds.

    Args:
        first: One value or more, in the order in which they came.
        second: As many, in the same order.
        confidence: The confidence with which all the intervals hold.
        support: The lowest and the highest possible single value, of either.

    Raises:
        ValueError: As for ``mean_sequence``, or the numbers of values differ.
    """
    low, high = support or UNBOUNDED
    differences = paired_differences(first, second, support)
    return mean_sequence(differences, confidence, (low - high, high - low))


def _lowest(scaled: FloatArray, target: float, *, ever: bool) -> float:
    """The lowest mean against which bets on high values have not reached the target (ever, or now).

    The capital never grows with the mean that is bet against, so there is one such end. It is
    searched for among multiples of 2^-30, by false position (the Illinois variant) as long as
    capitals are known, and by halving otherwise.
    """
    enough, grid = target * (1 + SLACK), float(2**HALVINGS)
    low, high = 0, 2**HALVINGS
    above = below = inf  # by which factors, as logarithms, capitals differ from what is asked for
    side, error = 0, float(np.std(scaled)) / sqrt(len(scaled))
    guesses = [(float(np.mean(scaled)) - errors * error) * grid for errors in (2.0, 4.0)]
    while high - low > 1:
        middle = (low + high) // 2
        if isfinite(above) and isfinite(below):
            middle = low + round((high - low) * above / (above + below))
        elif guesses and low < (guess := round(guesses.pop())) < high:
            middle = guess
        middle = min(max(middle, low + 1), high - 1)
        capital = _quick_capital(scaled, middle / grid, ever=ever)
        excess = inf if capital is None or capital <= 0 else log(capital / enough)
        won = excess > 0
        if not MARGIN < abs(excess) < inf:
            won = _has_won(scaled, middle / grid, enough, ever=ever)
        if won:
            low, above, below, side = middle, abs(excess), below / (1 + (side == 1)), 1
        else:
            high, below, above, side = middle, abs(excess), above / (1 + (side == -1)), -1
    return float(low / grid)


def _has_won(scaled: FloatArray, against: float, enough: float, *, ever: bool) -> bool:
    """Whether bets on high values against a mean have ever brought so much, or have it now."""
    fractions = np.array(FRACTIONS)[:, None]
    grown = np.log(SHARES)[:, None]  # the logarithm of each share of the capital
    for first in range(0, len(scaled), CHUNK):
        gains = np.log1p(fractions * (scaled[first : first + CHUNK] / against - 1))
        grown = grown[:, -1:] + np.cumsum(gains, axis=1)
        capitals = np.exp(np.minimum(grown, 700.0)).sum(axis=0)  # so that none overflows
        if ever and np.max(capitals) >= enough:
            return True
    return bool(capitals[-1] >= enough)


def _quick_capital(scaled: FloatArray, against: float, *, ever: bool) -> float | None:
    """The highest capital of bets on high values so far, or that at the end; nearly so.

    As ``_has_won`` computes it, but by products, with a logarithm only once in a while:
    an order of magnitude faster.

    Returns:
        The capital; ``None`` where a product is too large or too small to be trusted.
    """
    fractions = np.array(FRACTIONS)[:, None]
    grown, highest = np.log(SHARES)[:, None], 0.0
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for first in range(0, len(scaled), ROWS * ROW):
            values = scaled[first : first + ROWS * ROW] / against - 1
            rows = np.zeros(-(-len(values) // ROW) * ROW)  # a bet on 0 changes nothing
            rows[: len(values)] = values
            # One row after the other, in the order of the values; here side by side.
            products = 1 + fractions * rows.reshape(-1, ROW).T[:, None, :]
            for place in range(1, ROW):
                products[place] *= products[place - 1]
            ends = grown + np.cumsum(np.log(products[-1]), axis=1)
            before = np.exp(np.concatenate((grown, ends[:, :-1]), axis=1))
            capitals = np.einsum("fr,vfr->vr", before, products)
            highest, grown = max(highest, float(np.max(capitals))), ends[:, -1:]
            if not isfinite(highest) or not np.all(np.isfinite(grown)):
                return None
    return highest if ever else float(capitals[-1, -1])
