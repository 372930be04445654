"""The instances of both walks: a ring of cells, of which one is good and one is bad."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnimeter.contract import Instance, InvalidInputError

if TYPE_CHECKING:
    import numpy as np

SMALLEST, LARGEST = 3, 64
LEFT, RIGHT, STAY = 0, 1, 2
ACTIONS = 3


def check_size(size: float) -> int:
    """The size of a ring, if there can be one."""
    if size != int(size) or not SMALLEST <= size <= LARGEST:
        raise InvalidInputError(
            f"A ring cannot have {size:g} cells.", f"Choose from {SMALLEST} to {LARGEST}."
        )
    return int(size)


def draw_ring(rng: np.random.Generator, size: int) -> Instance:
    """A ring with a good and a bad cell anywhere."""
    good, bad = rng.choice(size, size=2, replace=False)
    return Instance({"size": size, "good": int(good), "bad": int(bad)})
