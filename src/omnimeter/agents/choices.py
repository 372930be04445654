"""The best of some values, and the choice among several that are best."""

from __future__ import annotations

from typing import Any

from omnimeter.contract import kernel
from omnimeter.interaction.indices import forward
from omnimeter.interaction.randomness import below


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
