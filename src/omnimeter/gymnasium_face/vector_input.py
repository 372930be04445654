"""What a vector environment is given: actions, seeds and masks, checked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import IntArray, InvalidInputError
from omnimeter.gymnasium_face.spaces import no_such_action

Flags = NDArray[np.bool_]


def read_actions(given: object, count: int, actions: int) -> IntArray:
    """One action for each environment, as kernels take them.

    Raises:
        InvalidInputError: They are not that.
    """
    array = np.asarray(given)
    if array.shape != (count,) or array.dtype.kind not in "iu":
        raise InvalidInputError(
            f"These are not actions: {given!r}.", f"Give an array of {count} integers."
        )
    if array.min() < 0 or array.max() >= actions:
        wrong = array[(array < 0) | (array >= actions)]
        raise no_such_action(int(wrong[0]), actions)
    return np.ascontiguousarray(array, dtype=np.int64)


def read_seeds(given: int | Sequence[int | None] | None, count: int) -> list[int | None]:
    """One seed for each environment: from one number they count upwards, as in Gymnasium.

    Raises:
        InvalidInputError: There are too few or too many.
    """
    if given is None:
        return [None] * count
    if isinstance(given, int | np.integer):
        return [int(given) + number for number in range(count)]
    if len(given) != count:
        raise InvalidInputError(
            f"There are {len(given)} seeds for {count} environments.", "Give one for each."
        )
    return list(given)


def read_mask(given: object, count: int) -> Flags:
    """Which environments are meant: all, where nothing is said.

    Raises:
        InvalidInputError: It does not say so for each.
    """
    if given is None:
        return np.ones(count, dtype=np.bool_)
    if isinstance(given, np.ndarray) and given.shape == (count,) and given.dtype == np.bool_:
        return given.copy()
    raise InvalidInputError(
        f"The reset_mask {given!r} cannot be used.", f"Give an array of {count} booleans."
    )
