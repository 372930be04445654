"""Where labels go so that they do not meet."""

from __future__ import annotations

from collections.abc import Sequence


def moved_apart(wanted: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Heights as near as possible to the wanted ones at which things of these sizes do not meet.

    Things that would meet become a block around the middle of what they wanted, until none do.

    Args:
        wanted: Where the middle of each would best be, between 0 and 1.
        sizes: How tall each is.
    """
    order = sorted(range(len(wanted)), key=lambda item: wanted[item])
    blocks: list[tuple[list[int], float]] = []
    for item in order:
        members, bottom = [item], wanted[item] - sizes[item] / 2
        while blocks and blocks[-1][1] + _extent(blocks[-1][0], sizes) > bottom:
            members = blocks.pop()[0] + members
            bottom = _bottom(members, wanted, sizes)
        blocks.append((members, bottom))
    heights = [0.0] * len(wanted)
    for members, bottom in blocks:
        reached = bottom
        for item in members:
            heights[item] = reached + sizes[item] / 2
            reached += sizes[item]
    return heights


def _extent(members: Sequence[int], sizes: Sequence[float]) -> float:
    return sum(sizes[item] for item in members)


def _bottom(members: Sequence[int], wanted: Sequence[float], sizes: Sequence[float]) -> float:
    """Where a block begins whose members are nearest to where they want to be."""
    before, shifts = 0.0, 0.0
    for item in members:
        shifts += wanted[item] - sizes[item] / 2 - before
        before += sizes[item]
    return shifts / len(members)
