"""Random numbers and indices inside kernels: SplitMix64 over a ``uint64`` array of length one."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import kernel

_MASK = 0xFFFFFFFFFFFFFFFF


@kernel
def next_bits(rng: Any) -> Any:
    """The next 64 bits (SplitMix64, Steele, Lea and Flood 2014)."""
    position = (int(rng[0]) + 0x9E3779B97F4A7C15) & _MASK
    rng[0] = position
    mixed = ((position ^ (position >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    mixed = ((mixed ^ (mixed >> 27)) * 0x94D049BB133111EB) & _MASK
    return mixed ^ (mixed >> 31)


@kernel
def next_word(rng: Any) -> Any:
    """The next 32 bits, as a signed number: mixed with signed ones, unsigned may become float."""
    return int(np.int64(next_bits(rng) >> 32))


@kernel
def below(rng: Any, count: Any) -> Any:
    """An exactly uniform integer ``0 .. count - 1``, for counts up to 2**31 (Lemire 2019)."""
    product = next_word(rng) * count
    if (product & 0xFFFFFFFF) < count:
        threshold = (0x100000000 - count) % count
        while (product & 0xFFFFFFFF) < threshold:
            product = next_word(rng) * count
    return product >> 32


@kernel
def uniform(rng: Any) -> Any:
    """A float in [0, 1) with 53 random bits."""
    return (next_bits(rng) >> 11) * (1.0 / 9007199254740992.0)


def generator_state() -> NDArray[np.uint64]:
    """The ``rng`` field of a state, still to be seeded by the loop."""
    return np.zeros(1, dtype=np.uint64)


@kernel
def forward(place: Any) -> Any:
    """A place that is known not to be negative, to be written between brackets.

    Compiled code looks at every computed index whether it counts from the end, as negative ones do
    in Python; at this one it does not. In small kernels that is a sixth of the time. It is no
    number to go on with: unsigned and signed numbers together may become floats.
    """
    return np.uint64(place)
