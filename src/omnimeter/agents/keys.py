"""Observations as keys of a table: a vector read as one number with a radix per component."""

from __future__ import annotations

from typing import Any

from omnimeter.contract import InvalidInputError, Space, kernel

LARGEST_TABLE = 2**24
"""Observations that a table may have a row for: some hundred megabytes of actions."""


@kernel
def key_of(observation: Any, sizes: Any) -> Any:
    """The place of an observation when all are written down in order, the last component fastest.

    With ``sizes`` (2, 3) the observation (1, 0) has the key 3.
    """
    key = 0
    for component in range(len(sizes)):
        key = key * sizes[component] + observation[component]
    return key


def number_of_keys(space: Space) -> int:
    """How many rows a table over all observations has.

    Raises:
        InvalidInputError: Too many for a table.
    """
    if space.count > LARGEST_TABLE:
        raise InvalidInputError(
            f"A table cannot have a row for each of {space.count} observations.",
            f"Use an agent without a table, or an environment with at most {LARGEST_TABLE}.",
        )
    return space.count
