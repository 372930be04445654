"""Discount sequences: how much the reward of the k-th cycle weighs.

The named ones are those of M. Hutter, "General discounting versus average reward" (2006), to which
the fixed-time payoffs paper refers. Each is a function of an array of cycles k = 1, 2, 3, ...
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite, log
from typing import Any, cast

import numpy as np

from omnimeter.contract import InvalidInputError, UnknownNameError
from omnimeter.contract.agent import FloatArray, IntArray

DiscountFunction = Callable[[IntArray], FloatArray]
DiscountSequence = DiscountFunction | FloatArray
"""The weights themselves, at least as many as there are cycles, or a function of the cycles."""


def geometric(cycles: IntArray, ratio: float) -> FloatArray:
    """γ_k = ratio^k. Late weights underflow to 0, which is harmless."""
    powers = np.zeros(len(cycles))
    # Powers that underflow take most of the time: exp(-745.2) is 0 in double precision.
    positive = cycles * log(ratio) > -745.2
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


_SEQUENCES: dict[str, tuple[Any, ...]] = {
    "geometric": (geometric, "the ratio, above 0 and below 1", lambda r: 0 < r < 1, 0.99),
    "finite": (
        finite,
        "the horizon, a whole number of cycles",
        lambda h: h >= 1 and h % 1 == 0,
        None,
    ),
    "quadratic": (quadratic,),
    "power": (power, "how far the exponent exceeds 1, above 0", lambda excess: excess > 0, 1.0),
    "harmonic": (harmonic,),
}
"""Functions; what a parameter is, whether a finite number is valid, and its default, if any."""


def named_discount(name: str, parameter: float | None = None) -> DiscountFunction:
    """The discount sequence of a name.

    Args:
        name: ``geometric``, ``finite``, ``quadratic``, ``power`` or ``harmonic``.
        parameter: The ratio of ``geometric`` (0.99 when not given), the horizon of ``finite`` (must
            be given), the excess of the exponent of ``power`` over 1 (1 when not given).

    Raises:
        UnknownNameError: There is no sequence of that name.
        InvalidInputError: The parameter does not fit the sequence.
    """
    if name not in _SEQUENCES:
        raise UnknownNameError("discount sequence", name, _SEQUENCES)
    function, *details = _SEQUENCES[name]
    if not details:
        if parameter is None:
            return cast("DiscountFunction", function)
        raise InvalidInputError(
            f"The discount sequence {name!r} has no parameter, but parameter={parameter!r}.",
            "Leave the parameter out.",
        )
    description, accepts, default = details
    value = default if parameter is None else parameter
    if not (isinstance(value, (int, float)) and isfinite(value) and accepts(float(value))):
        raise InvalidInputError(
            f"The discount sequence {name!r} cannot use parameter={value!r}.",
            f"Give {description}.",
        )
    chosen = float(value)
    return lambda cycles: function(cycles, chosen)
