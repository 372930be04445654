"""How states lie in memory: each in arrays of its own, or those of many end to end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from omnimeter.contract import IntArray
from omnimeter.contract.kernels import State


def settled(state: State) -> State:
    """The state in arrays that compiled code can work on in place; a copy only where it must be.

    Raises:
        TypeError: It is not made of one-dimensional arrays.
    """
    for name, field in zip(state._fields, state, strict=True):
        if not isinstance(field, np.ndarray) or field.ndim != 1:
            raise TypeError(f"the field {name!r} of a state is not a one-dimensional array")
    if all(field.flags.carray for field in state):  # contiguous and writeable
        return state
    return type(state)(*(np.array(field) for field in state))


def end_to_end(states: Sequence[State]) -> tuple[State, IntArray]:
    """All states in one, and where each one's part of each field begins."""
    kind = type(states[0])
    columns = list(zip(*states, strict=True))
    at = np.array([starts(integers(map(len, column))) for column in columns])
    return kind(*(np.concatenate(column) for column in columns)), at.reshape(len(columns), -1)


def part(states: State, at: IntArray, number: int) -> State:
    """One state among those that lie end to end, as views into them."""
    bounds = zip(states, at[:, number], at[:, number + 1], strict=True)
    return type(states)(*(whole[first:last] for whole, first, last in bounds))


def starts(sizes: IntArray) -> IntArray:
    """Where each of some things of these sizes begins, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(sizes)))


def integers(values: Iterable[int]) -> IntArray:
    """Whole numbers as an array."""
    return np.fromiter(values, dtype=np.int64)
