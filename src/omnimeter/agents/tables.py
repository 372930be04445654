"""What agents with tables share: observations as table rows, choices among equal values."""

from __future__ import annotations

from typing import Any

from omnimeter.contract import InvalidInputError, Space
from omnimeter.kernels import below, forward, kernel

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


@kernel
def best_of(values: Any, start: Any, count: Any) -> Any:
    """What is best among ``count`` values from ``start`` on.

    Returns:
        The greatest value; the first place, counted from ``start``, that has it; how many have it.
    """
    greatest = values[forward(start)]
    first = 0
    alike = 1
    for place in range(1, count):
        value = values[forward(start + place)]
        better = value > greatest  # without branches: which is best cannot be guessed
        alike = 1 if better else alike + int(value == greatest)
        first = place if better else first
        greatest = value if better else greatest
    return greatest, first, alike


@kernel
def any_alike(rng: Any, values: Any, start: Any, best: Any) -> Any:
    """One of the places that are best, all with the same probability.

    Chance is used only where there is a choice.

    Args:
        rng: The state of the generator.
        values: The values.
        start: Where those in question begin.
        best: What ``best_of`` found there.
    """
    greatest, place, alike = best
    skipped = below(rng, alike) if alike > 1 else 0
    while skipped > 0:
        place += 1
        if values[forward(start + place)] == greatest:
            skipped -= 1
    return place
