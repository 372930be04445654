"""How spaces are drawn at random: Lambda thesis, section 4.1.3.

Sizes of displacements are drawn from 0 to one less than the number of cells. With either sign the
cell that an action leads to is then uniform, and so is the way round that describes it. So the
cells are drawn first and the ways round after them.
"""

from __future__ import annotations

from math import exp

import numpy as np

from omnimeter.contract import IntArray, InvalidInputError
from omnimeter.environments.lambda_class.space import CellSpace
from omnimeter.environments.lambda_class.validity import (
    check_number_of_cells,
    is_strongly_connected,
)

TRIES = 100_000
FEWEST = 2  # cells, and actions with the one that stays
MOST_CELLS = 1000  # a description has a sign for each cell that an action passes


def draw_space(
    rng: np.random.Generator,
    cells: int | None = None,
    most_cells: int = 9,
    actions: int | None = None,
    *,
    keep_sizes: bool = False,
) -> CellSpace:
    """A random valid space; what turns out invalid is drawn again.

    Args:
        rng: Where chance comes from.
        cells: How many cells; left out, geometric with p = 1/2 from 2 on.
        most_cells: Up to which number of cells; it takes the probability of all above it.
        actions: How many actions with the one that stays; left out, geometric with p = 1/2 from 2
            up to the number of cells, in the same way.
        keep_sizes: Whether the sizes that are drawn are kept when the rest is drawn again.

    Raises:
        InvalidInputError: A number is out of range, or no valid space was found.
    """
    _check(cells, most_cells, actions)
    number, arrows = _sizes(rng, cells, most_cells, actions)
    fixed = keep_sizes or (cells is not None and actions is not None)
    for _ in range(TRIES):
        # A valid space has a way into every cell. With nothing but the targets to draw, drawing
        # only among those that have one changes no valid space's probability, and spares the many
        # tries that fail in sparse spaces.
        draw = _draw_entered if fixed else _draw_targets
        targets = draw(rng, number, arrows)
        if is_strongly_connected(targets.tolist()):
            return _describe(rng, targets)
        if not fixed:
            number, arrows = _sizes(rng, cells, most_cells, actions)
    raise InvalidInputError(
        f"No valid space was found in {TRIES:,} tries.", "Ask for fewer cells or more actions."
    )


def _sizes(
    rng: np.random.Generator, cells: int | None, most_cells: int, actions: int | None
) -> tuple[int, int]:
    """How many cells there are, and how many arrows leave each."""
    number = _geometric(rng, most_cells) if cells is None else cells
    return number, (_geometric(rng, number) if actions is None else actions) - 1


def _draw_targets(rng: np.random.Generator, cells: int, arrows: int) -> IntArray:
    return rng.integers(cells, size=(cells, arrows))


def check_drawn_cells(cells: int) -> None:
    """Refuse a number of cells with which no space is drawn.

    Raises:
        InvalidInputError: There are fewer than two cells, or too many.
    """
    check_number_of_cells(cells)
    if cells > MOST_CELLS:
        raise InvalidInputError(
            f"Spaces are drawn with at most {MOST_CELLS:,} cells, not with {cells:,}.",
            "Ask for fewer cells, or give a space such as torus-50x50.",
        )


def _check(cells: int | None, most_cells: int, actions: int | None) -> None:
    check_drawn_cells(most_cells if cells is None else cells)
    if actions is not None and actions < FEWEST:
        raise InvalidInputError(
            f"A space needs at least {FEWEST} actions, staying included, but {actions} was asked "
            "for.",
            "Ask for more actions.",
        )


def _geometric(rng: np.random.Generator, most: int) -> int:
    """2 with probability 1/2, 3 with 1/4 and so on; the most takes the rest."""
    return min(FEWEST - 1 + int(rng.geometric(0.5)), most)


def _draw_entered(rng: np.random.Generator, cells: int, arrows: int) -> IntArray:
    """Targets of each cell's arrows, alike among all choices that enter every cell.

    How often the cells are entered are independent Poisson numbers above zero with a known sum,
    whatever their rate; the arrows are then dealt out in random order.
    """
    rate = _rate(arrows)
    while True:
        # The first of some events within the time ``rate``, and how many follow it.
        first = -np.log1p(rng.random(cells) * np.expm1(-rate))
        entries = 1 + rng.poisson(np.maximum(rate - first, 0))
        if entries.sum() == cells * arrows:
            break
    targets = np.repeat(np.arange(cells, dtype=np.int64), entries)
    return rng.permutation(targets).reshape(cells, arrows)


def _rate(arrows: int) -> float:
    """The rate with which a Poisson number above zero is ``arrows`` on average."""
    if arrows == 1:
        return 0.0
    rate = float(arrows)
    for _ in range(60):
        rate = arrows * (1 - exp(-rate))
    return rate


def _describe(rng: np.random.Generator, targets: IntArray) -> CellSpace:
    """The space with these targets, each reached forward or backward alike."""
    cells = len(targets)
    forward = (targets - np.arange(cells)[:, np.newaxis]) % cells
    backward = rng.random(targets.shape) < 0.5
    # Without a step there is no way round: a whole turn back would be staying once more.
    steps = np.where(backward & (forward > 0), forward - cells, forward)
    return CellSpace(tuple(tuple(row) for row in steps.tolist()))
