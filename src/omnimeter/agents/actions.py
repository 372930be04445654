"""Actions that agents are given as parameters, before any environment is known."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from omnimeter.contract import IntArray, InvalidInputError

MOST = 2**31
"""No environment has as many actions: chance is exactly uniform only below."""


def actions_of(given: Sequence[int], what: str) -> IntArray:
    """The given actions as an array.

    An environment may still have fewer actions: that is an invalid action when it is performed.

    Args:
        given: The actions.
        what: What they are to the person who gave them.

    Raises:
        InvalidInputError: There are none, or one of them cannot be an action anywhere.
    """
    if len(given) == 0:
        raise InvalidInputError(f"The {what} is empty.", "Give at least one action.")
    for action in given:
        if not 0 <= action < MOST:
            raise InvalidInputError(
                f"The {what} holds {action}, which is not an action.",
                "Actions are whole numbers from 0 up.",
            )
    return np.array(given, dtype=np.int64)
