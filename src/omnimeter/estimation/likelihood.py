"""Empirical likelihood: how far means may lie from a sample, by how likely they make the sample.

The likelihood of a sample under a distribution is the product of the probabilities of its values.
It is greatest when each of n values has the probability 1/n. Any other mean has its *cost*: minus
the logarithm of the greatest likelihood that a distribution of that mean gives to the sample,
relative to that greatest one (A. B. Owen, "Empirical Likelihood", 2001). Where the highest possible
value is known, some probability may lie there without having been seen; then every mean below it
has a finite cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import exp, inf, isfinite, log
from typing import NamedTuple

import numpy as np

from omnimeter.estimation.estimates import FloatArray

STEPS = 100
"""Steps of a search at most; it takes about ten."""

TOLERANCE = 1e-10
"""The relative accuracy of a search."""


class Part(NamedTuple):
    """Independent values, the weight of their mean in a sum, and their highest possible value."""

    values: FloatArray
    weight: float = 1.0
    end: float = inf

    @property
    def highest(self) -> float:
        """The highest mean that a distribution on these values, and the end if finite, can have."""
        return self.end if isfinite(self.end) else float(np.max(self.values))


def highest_mean(parts: Sequence[Part], cost: float) -> float:
    """The highest weighted sum of means of a given cost, which all parts share."""
    scale = _scale(parts)
    if scale == 0:
        return _centre(parts)
    if len(parts) == 1:
        return _highest_of_one(parts[0], cost, scale)
    squares = (float(np.var(p.weight / scale * p.values)) / len(p.values) for p in parts)
    start = log(max((sum(squares) / (2 * cost)) ** 0.5, 1e-9))
    pressure = _root(lambda x: cost - _tilted(parts, exp(x) * scale)[1], start)
    return _tilted(parts, exp(pressure) * scale)[0]


def _highest_of_one(part: Part, cost: float, scale: float) -> float:
    """The same of one part, several times as fast: the level (see ``_tilted``) is searched for."""
    values, count = part.values / scale, len(part.values)
    highest = part.highest / scale
    if isfinite(part.end) and highest > float(np.max(values)):
        gaps = highest - values
        pressure = exp((float(np.sum(np.log(gaps))) - cost) / count) / count
        seen = pressure / gaps
        if (rest := 1.0 - float(np.sum(seen))) >= 0:
            return part.weight * scale * (float(seen @ values) + rest * highest)

    def excess(x: float) -> float:
        gaps = highest - values + exp(x)
        return cost - float(np.sum(np.log(gaps))) + count * log(count / float(np.sum(1 / gaps)))

    spread = float(np.std(values))
    level = float(np.mean(values)) + spread * (count / (2 * cost)) ** 0.5
    inverse = 1 / (highest - values + exp(_root(excess, log(max(level - highest, spread / 100)))))
    return part.weight * scale * float(inverse @ values) / float(np.sum(inverse))


def cost_above(parts: Sequence[Part], value: float) -> float:
    """The cost of a weighted sum of means that is as high as a value; 0 if it was observed."""
    centre, scale = _centre(parts), _scale(parts)
    if value <= centre:
        return 0.0
    if value >= sum(part.weight * part.highest for part in parts):
        return inf
    pressure = _root(lambda x: value - _tilted(parts, exp(x) * scale)[0], 0.0)
    return _tilted(parts, exp(pressure) * scale)[1]


def _centre(parts: Sequence[Part]) -> float:
    return sum(part.weight * float(np.mean(part.values)) for part in parts)


def _scale(parts: Sequence[Part]) -> float:
    """The distance that all others are measured by; 0 if only the observed mean is possible."""
    return max(part.weight * (part.highest - float(np.min(part.values))) for part in parts)


def _tilted(parts: Sequence[Part], pressure: float) -> tuple[float, float]:
    """The sum of means and its cost, at which a unit more would cost 1 / pressure.

    By Lagrange, the probability of each weighted value y is pressure / (level - y), with a level
    for each part at which they sum to 1, or with its end as the level and the rest there.
    """
    total = cost = 0.0
    for values, weight, end in parts:
        count = len(values)
        weighted = weight * values
        rest = 0.0
        level = weight * end
        gaps = level - weighted
        if isfinite(end) and np.min(gaps) > 0:
            rest = 1.0 - float(np.sum(pressure / gaps))
        if not (isfinite(end) and rest > 0):
            rest = 0.0
            # Both are below the level; from there Newton's method rises to it without overshooting.
            level = (
                float(max(np.max(weighted), np.mean(weighted) + (count - 1) * pressure)) + pressure
            )
            for _ in range(STEPS):
                gaps = level - weighted
                shares = pressure / gaps
                excess = float(np.sum(shares)) - 1.0
                if excess <= TOLERANCE:
                    break
                level += excess / float(np.sum(shares / gaps))
        probabilities = pressure / gaps
        total += float(np.sum(probabilities * weighted)) + (rest * weight * end if rest else 0.0)
        cost -= float(np.sum(np.log(count * probabilities)))
    return total, max(cost, 0.0)


def _root(function: Callable[[float], float], start: float) -> float:
    """Where a rising function is 0, by false position (the Illinois variant)."""
    low = high = start
    below = above = function(start)
    step = 1.0
    while below > 0 and low > start - 600:
        high, above = low, below
        low -= step
        below, step = function(low), 2 * step
    while above < 0 and high < start + 600:
        low, below = high, above
        high += step
        above, step = function(high), 2 * step
    side = 0
    for _ in range(STEPS):
        if high - low <= TOLERANCE * max(1.0, abs(low)) or above == below:
            break
        middle = (low * above - high * below) / (above - below)
        if not low < middle < high:
            middle = (low + high) / 2
        value = function(middle)
        if value == 0:
            return middle
        if value < 0:
            low, below = middle, value
            above, side = (above / 2, -1) if side == -1 else (above, -1)
        else:
            high, above = middle, value
            below, side = (below / 2, 1) if side == 1 else (below, 1)
    return high
