"""Discount sequences: how much the reward of the k-th cycle weighs.

The named ones are those of M. Hutter, "General discounting versus average reward" (2006), to which
the fixed-time payoffs paper refers. Each is a function of an array of cycles k = 1, 2, 3, ...
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, log

import numpy as np

from omnimeter.contract import InvalidInputError, UnknownNameError
from omnimeter.contract.agent import FloatArray, IntArray

_UNDERFLOW = -745.2
"""The exponential of this, and of anything below, is 0 in double precision."""

DiscountFunction = Callable[[IntArray], FloatArray]
DiscountSequence = DiscountFunction | FloatArray
"""The weights themselves, at least as many as there are cycles, or a function of the cycles."""


def geometric(cycles: IntArray, ratio: float) -> FloatArray:
    """γ_k = ratio^k. Late weights underflow to 0, which is harmless."""
    powers = np.zeros(len(cycles))
    positive = cycles * log(ratio) > _UNDERFLOW  # powers that underflow take most of the time
    powers[positive] = np.power(ratio, cycles[positive])
    return powers


def finite(cycles: IntArray, horizon: float) -> FloatArray:
    """γ_k = 1 as far as the horizon, 0 after it."""
    return (cycles <= horizon).astype(np.float64)


def quadratic(cycles: IntArray) -> FloatArray:
    """γ_k = 1 / (k (k + 1)), whose sum is 1."""
    return 1.0 / (cycles * (cycles + 1.0))


def power(cycles: IntArray, excess: float) -> FloatArray:
    """γ_k = k^-(1 + excess)."""
    return np.power(cycles.astype(np.float64), -(1.0 + excess))


def harmonic(cycles: IntArray) -> FloatArray:
    """γ_k = 1 / (k ln²(k + 1)), almost the harmonic series, but with a finite sum.

    Hutter gives 1 / (k ln² k), which has no value at k = 1; the logarithm is moved by one.
    """
    logarithms: FloatArray = np.log(cycles + 1.0)
    return 1.0 / (cycles * logarithms * logarithms)


def weights(sequence: DiscountSequence, count: int) -> FloatArray:
    """The first weights of a sequence, checked.

    Args:
        sequence: The weights as an array, or as a function of k = 1 .. n.
        count: The number of weights.

    Raises:
        InvalidInputError: There are too few, one is negative or not finite, or the first is 0.
    """
    if callable(sequence):
        sequence = sequence(np.arange(1, count + 1, dtype=np.int64))
    first = np.asarray(sequence, dtype=np.float64)[:count]
    if len(first) < count:
        raise InvalidInputError(
            f"There are {len(first)} discount weights for {count} cycles.",
            "Give a weight for every cycle, or a function.",
        )
    if count and not (first[0] > 0 and np.min(first) >= 0 and np.isfinite(np.max(first))):
        raise InvalidInputError(
            "A discount weight is negative or not finite, or the first one is 0.",
            "Give weights that are 0 or more, and a positive first one.",
        )
    return first


_FUNCTIONS: dict[str, Callable[..., FloatArray]] = {
    "geometric": geometric,
    "finite": finite,
    "quadratic": quadratic,
    "power": power,
    "harmonic": harmonic,
}

_PARAMETERS: dict[str, tuple[str, Callable[[float], bool], float | None]] = {
    "geometric": ("the ratio, above 0 and below 1", lambda ratio: 0 < ratio < 1, 0.99),
    "finite": ("the horizon, a whole number of cycles", lambda h: h >= 1 and h == int(h), None),
    "power": ("how far the exponent exceeds 1, above 0", lambda excess: excess > 0, 1.0),
}
"""What the parameter is, whether a finite number is a valid one, and its default, if it has one."""


def named_discount(name: str, parameter: float | None = None) -> DiscountFunction:
    """The discount sequence of a name.

    Args:
        name: ``geometric``, ``finite``, ``quadratic``, ``power`` or ``harmonic``.
        parameter: The ratio of ``geometric`` (0.99 when not given), the horizon of ``finite``
            (must be given), how far the exponent of ``power`` exceeds 1 (1 when not given). The
            others have none.

    Raises:
        UnknownNameError: There is no sequence of that name.
        InvalidInputError: The parameter does not fit the sequence.
    """
    if name not in _FUNCTIONS:
        raise UnknownNameError("discount sequence", name, _FUNCTIONS)
    function = _FUNCTIONS[name]
    if name not in _PARAMETERS:
        if parameter is not None:
            raise InvalidInputError(
                f"The discount sequence {name!r} has no parameter, but parameter={parameter!r}.",
                "Leave the parameter out.",
            )
        return function
    description, accepts, default = _PARAMETERS[name]
    value = default if parameter is None else parameter
    if not (isinstance(value, (int, float)) and isfinite(value) and accepts(float(value))):
        raise InvalidInputError(
            f"The discount sequence {name!r} cannot use parameter={value!r}.",
            f"Give {description}.",
        )
    chosen = float(value)
    return lambda cycles: function(cycles, chosen)
