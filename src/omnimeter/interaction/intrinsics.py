"""What compiled code uses: random numbers, clocks, indices, arrays without reference counts."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import carray, types  # type: ignore[attr-defined] # not in its list of exports
from numba.extending import intrinsic
from numpy.typing import NDArray

from omnimeter.contract.kernels import kernel, plain

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
    """An index that is known not to be negative, to be written between brackets.

    Compiled code checks every computed index for counting from the end, as negative ones do in
    Python; not this one. In small kernels that is a sixth of the time. Do not calculate with the
    result: unsigned and signed numbers in one expression may become floats.
    """
    return np.uint64(place)


# Clocks, for generated modules only. A symbol that is found by its name does not keep compiled code
# from being cached, as the address of a function would.

WALL_CLOCK, CPU_CLOCK = time.CLOCK_MONOTONIC, time.CLOCK_THREAD_CPUTIME_ID

_clock_gettime: Any = types.ExternalFunction(
    "clock_gettime",
    types.intc(types.intc, types.uintp),
)


@kernel
def _read_clock(clock: Any, pair: Any) -> Any:
    _clock_gettime(clock, pair.ctypes.data)
    return pair[0] * 1_000_000_000 + pair[1]


def _read_clock_plain(clock: Any, pair: Any) -> Any:  # noqa: ARG001
    return time.clock_gettime_ns(clock)


read_clock = _read_clock_plain if plain() else _read_clock
"""``read_clock(clock, pair)``: nanoseconds; ``pair`` is an int64 array of two for its own use."""


# Borrowed arrays, for generated modules only. Counting the references of views into a batch takes
# longer than small kernels themselves, and unpacking array after array is most of what a call from
# Python costs (docs/design/kernels.md). A borrowed array must never leave the compiled call that
# made it, and its bounds are not checked: the caller guarantees them, and keeps the memory.


def _pointer_at(typing_context: Any, address: Any, dtype: Any) -> Any:  # noqa: ARG001
    """The pointer to values of some type at an address."""
    pointer = types.CPointer(dtype.dtype)  # type: ignore[no-untyped-call]

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:  # noqa: ARG001
        return builder.inttoptr(arguments[0], context.get_value_type(pointer))

    return pointer(types.intp, dtype), generate


_pointer: Any = intrinsic(_pointer_at)


def lend(arrays: Sequence[NDArray[Any]]) -> Any:
    """What compiled code is given in place of some arrays: where each lies, and its length.

    Args:
        arrays: One-dimensional, contiguous and writeable. The caller keeps them alive.
    """
    if plain():
        return tuple(arrays)
    return np.array([number for each in arrays for number in (each.ctypes.data, len(each))])


@kernel
def _borrow(array: Any, start: Any, stop: Any) -> Any:
    address = array.ctypes.data + start * array.itemsize
    return carray(_pointer(address, array.dtype), stop - start)


@kernel
def _lent(loan: Any, number: Any, dtype: Any) -> Any:
    return carray(_pointer(loan[2 * number], dtype), loan[2 * number + 1])


def _part(array: Any, start: Any, stop: Any) -> Any:
    return array[start:stop]


def _member(loan: Any, number: Any, dtype: Any) -> Any:  # noqa: ARG001
    return loan[number]


borrow = _part if plain() else _borrow
"""``borrow(array, start, stop)``: a part of a one-dimensional contiguous array."""

lent = _member if plain() else _lent
"""``lent(loan, number, dtype)``: one of the arrays that were lent."""
