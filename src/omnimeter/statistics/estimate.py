"""What an estimate is, and what the numbers that it is made from must be."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, isfinite, sqrt

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
        level: In which share of repetitions such an interval holds the true value.
        count: From how many values.
    """

    value: float
    low: float
    high: float
    level: float
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


def error_rate(level: float) -> float:
    """How often an interval of this level misses.

    Raises:
        ValueError: The level is not above 0 and below 1.
    """
    if not 0 < level < 1:
        raise ValueError(f"the level of an interval lies above 0 and below 1: {level}")
    return 1.0 - level
