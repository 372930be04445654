"""Spaces: cells and where each action leads; their notation, validity, topologies and drawing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import exp, prod

import numpy as np

from omnimeter.contract import InvalidInputError, UnknownNameError
from omnimeter.contract.agent import IntArray
from omnimeter.environments.shared import is_strongly_connected, reverse, unreachable

SEPARATOR = "|"
MAX_CELLS = 10_000
MAX_DRAWN_CELLS = 1000  # a description has a sign for each cell that an action passes


@dataclass(frozen=True)
class CellSpace:
    """Cells in a circle, and how far each action moves along it.

    Action 0 stays in every space and is not written down. Displacements are kept as they were
    written: one step back and three steps on lead to the same of four cells, but are two
    different descriptions, of different lengths.

    Attributes:
        displacements: For each cell the signed displacements of the actions 1, 2, and so on.
    """

    displacements: tuple[tuple[int, ...], ...]

    def __post_init__(self) -> None:
        if not self.displacements or not self.displacements[0]:
            raise ValueError("a space needs at least one cell and one action besides staying")
        if len({len(row) for row in self.displacements}) > 1:
            raise ValueError("every cell of a space needs the same actions")

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.displacements)

    @property
    def actions(self) -> int:
        """The number of actions, staying included."""
        return len(self.displacements[0]) + 1

    def successors(self) -> IntArray:
        """The cell that each action leads to: one row per cell, one column per action."""
        here = np.arange(self.cells, dtype=np.int64)[:, np.newaxis]
        moved = (here + np.array(self.displacements, dtype=np.int64)) % self.cells
        return np.hstack([here, moved])

    def canonical(self) -> CellSpace:
        """The same space with the shortest displacements, forward where both are as short."""
        forward = np.array(self.displacements) % self.cells
        shortest = np.where(2 * forward <= self.cells, forward, forward - self.cells)
        return CellSpace(tuple(map(tuple, shortest.tolist())))

    def __str__(self) -> str:
        """The description of the space."""
        return SEPARATOR.join(map(_describe_cell, self.displacements))


def _describe_cell(displacements: Sequence[int]) -> str:
    """The part of a cell in the description, such as ``1+2--3``."""
    return "".join(
        f"{action}{('+' if step > 0 else '-') * abs(step)}"
        for action, step in enumerate(displacements, start=1)
    )


def check_space(space: CellSpace) -> None:
    """Reject a space that is not fit for an environment.

    Raises:
        InvalidInputError: Too few or too many cells, or one that cannot be left or reached.
    """
    check_number_of_cells(space.cells)
    successors = space.successors().tolist()
    stuck = [cell for cell, leads_to in enumerate(successors) if len(set(leads_to)) < 2]
    if stuck:
        cell, fault = stuck[0], "has only one successor: every action stays there"
    elif away := unreachable(successors):
        cell, fault = away[0], "cannot be reached from cell 1"
    elif lost := unreachable(reverse(successors)):
        cell, fault = lost[0], "has no way to cell 1"
    else:
        return
    before = sum(len(_describe_cell(row) + SEPARATOR) for row in space.displacements[:cell])
    raise InvalidInputError(
        f"Cell {cell + 1} (character {before + 1} of the description) {fault}.",
        "From every cell of a space there must be a way to every other cell.",
    )


def check_number_of_cells(cells: int, *, drawn: bool = False) -> None:
    """Raise InvalidInputError for a number of cells that no space, or drawn space, can have."""
    if cells < 2:
        raise InvalidInputError(
            f"A space needs at least 2 cells, but this one has {cells}.", "Ask for more cells."
        )
    if cells > MAX_CELLS:
        raise InvalidInputError(
            f"A space has at most {MAX_CELLS:,} cells, but this one has {cells:,}.",
            "Ask for fewer cells.",
        )
    if drawn and cells > MAX_DRAWN_CELLS:
        raise InvalidInputError(
            f"Spaces are drawn with at most {MAX_DRAWN_CELLS:,} cells, not with {cells:,}.",
            "Ask for fewer cells, or give a space such as torus-50x50.",
        )


# Notation and topologies

NAME = re.compile(r"[A-Za-z]+(-.*)?")
SIGNS = re.compile(r"\++|-+|")
TOPOLOGIES = {"ring": "ring-8", "grid": "grid-3x4", "torus": "torus-3x4"}
"""Each with an example of its name."""


def read_space(text: str) -> CellSpace:
    """The valid space of a description or of a topology's name, such as ``ring-8``.

    Raises:
        InvalidInputError: The text is malformed, or the space is not fit for an environment.
        UnknownNameError: There is no such topology.
    """
    text = SEPARATOR.join(part.strip() for part in text.split(SEPARATOR))  # as it is often printed
    space = named_space(text) if NAME.fullmatch(text) else parse_space(text)
    check_space(space)
    return space


@lru_cache(maxsize=1024)
def paths_of(description: str) -> IntArray:
    """The cell that each action leads to from each cell, as an array that is read-only."""
    paths = read_space(description).successors()
    paths.setflags(write=False)
    return paths


def parse_space(text: str) -> CellSpace:
    """The space of a description, valid or not; ``str`` gives the same text again.

    Since the actions are in order, the number that must come next is always known. So ``12+``
    is action 1 and then action 2, and action 10 after action 9 is not ambiguous.

    Raises:
        InvalidInputError: The text is malformed.
    """
    cells: list[tuple[int, ...]] = []
    at = 0
    for part in text.split(SEPARATOR):
        end = at + len(part)
        actions = len(cells[0]) if cells else None  # all cells have those of the first
        steps: list[int] = []
        while at < end or len(steps) < (actions or 1):
            number = str(len(steps) + 1)
            if len(steps) == actions or not text.startswith(number, at, end):
                expected = ["'+'"] if steps and steps[-1] >= 0 else []
                expected += ["'-'"] if steps and steps[-1] <= 0 else []
                expected += [f"'{number}'"] if len(steps) != actions else []
                if len(steps) >= (actions or 1):
                    expected += [f"'{SEPARATOR}'", "the end"]
                *others, last = expected
                wanted = f"{', '.join(others)} or {last}" if others else last
                width = 1 if len(steps) == actions else len(number)
                given = text[at : max(at + 1, min(at + width, end))]
                after = f"after action {len(steps)}" if steps else "where action 1 should stand"
                raise InvalidInputError(
                    f"The description of the space is malformed at character {at + 1} (cell "
                    f"{len(cells) + 1}, {after}): found {repr(given) if given else 'the end'}, "
                    f"expected {wanted}.",
                    "A description looks like 1+2++3|1+23-|1+23|1+2--3-: in every cell the same "
                    "actions in order from 1, each followed by plus signs, minus signs or nothing.",
                )
            signs = SIGNS.match(text, at + len(number), end)
            run = signs.group() if signs else ""
            steps.append(run.count("+") - run.count("-"))
            at += len(number) + len(run)
        cells.append(tuple(steps))
        at = end + len(SEPARATOR)
    return CellSpace(tuple(cells))


def named_space(name: str) -> CellSpace:
    """The canonical space of a topology's name.

    Actions of a ring lead to the next cell and to the one before, those of a grid and of a torus
    right, left, down, up: at a border of a grid the move stays, on a torus it leads round.
    """
    topology, dash, sizes = name.partition("-")
    if topology not in TOPOLOGIES:
        raise UnknownNameError("topology", topology, TOPOLOGIES)
    dimensions = 1 if topology == "ring" else 2
    if not re.fullmatch("x".join([r"[0-9]{1,9}"] * dimensions), sizes):
        wanted = "rows x columns" if dimensions == 2 else "the number of cells"
        raise InvalidInputError(
            f"The topology {name!r} cannot be read at character {len(topology + dash) + 1}: "
            f"found {sizes!r}, expected {'' if dash else 'a dash and '}{wanted}.",
            f"Write it like {TOPOLOGIES[topology]}.",
        )
    numbers = [int(size) for size in sizes.split("x")]
    check_number_of_cells(prod(numbers))
    if topology == "ring":
        return CellSpace(((1, -1),) * numbers[0]).canonical()
    rows, columns = numbers
    is_torus = topology == "torus"
    # The description is a circle itself, so the columns of a torus need no care at the border.
    return CellSpace(
        tuple(
            (
                1 if column < columns - 1 else (1 - columns) * is_torus,
                -1 if column > 0 else (columns - 1) * is_torus,
                columns if row < rows - 1 or is_torus else 0,
                -columns if row > 0 or is_torus else 0,
            )
            for row in range(rows)
            for column in range(columns)
        )
    ).canonical()


# Drawing (Lambda thesis, 4.1.3)

TRIES = 100_000
MIN_SIZE = 2  # of cells, and of actions with the one that stays


def draw_space(
    rng: np.random.Generator,
    cells: int | None = None,
    max_cells: int = 9,
    actions: int | None = None,
    *,
    keep_sizes: bool = False,
) -> CellSpace:
    """A random valid space; an invalid one is drawn again.

    Args:
        rng: The random generator.
        cells: The number of cells; left out, geometric with p = 1/2 from 2 on.
        max_cells: The largest number of cells; it takes the probability of all above it.
        actions: The number of actions; left out, drawn in the same way, up to that of cells.
        keep_sizes: Whether the sizes that are drawn are kept when the rest is drawn again.

    Raises:
        InvalidInputError: A number is out of range, or no valid space was found.
    """
    check_number_of_cells(max_cells if cells is None else cells, drawn=True)
    if actions is not None and actions < MIN_SIZE:
        raise InvalidInputError(
            f"A space needs at least {MIN_SIZE} actions, staying included, but {actions} was asked "
            "for.",
            "Ask for more actions.",
        )

    def sizes() -> tuple[int, int]:  # how many cells there are, and how many arrows leave each
        number = _geometric(rng, max_cells) if cells is None else cells
        return number, (_geometric(rng, number) if actions is None else actions) - 1

    number, arrows = sizes()
    fixed = keep_sizes or (cells is not None and actions is not None)
    for _ in range(TRIES):
        # A valid space has a way into every cell. With nothing but the targets to draw, drawing
        # only among those that have one changes no valid space's probability, and spares the many
        # tries that fail in sparse spaces.
        if fixed:
            targets = _draw_entered(rng, number, arrows)
        else:
            targets = rng.integers(number, size=(number, arrows))
        if is_strongly_connected(targets.tolist()):
            break
        if not fixed:
            number, arrows = sizes()
    else:
        raise InvalidInputError(
            f"No valid space was found in {TRIES:,} tries.", "Ask for fewer cells or more actions."
        )
    # Each target is reached forward or backward with equal probability. A displacement of zero has
    # no direction: a whole turn back would be staying once more.
    forward = (targets - np.arange(number)[:, np.newaxis]) % number
    backward = rng.random(targets.shape) < 0.5
    steps = np.where(backward & (forward > 0), forward - number, forward)
    return CellSpace(tuple(tuple(row) for row in steps.tolist()))


def _geometric(rng: np.random.Generator, largest: int) -> int:
    """2 with probability 1/2, 3 with 1/4 and so on; the largest takes the rest."""
    return min(MIN_SIZE - 1 + int(rng.geometric(0.5)), largest)


def _draw_entered(rng: np.random.Generator, cells: int, arrows: int) -> IntArray:
    """Draw the targets of each cell's arrows uniformly among all choices that enter every cell.

    How often the cells are entered are independent Poisson numbers above zero with a known sum,
    whatever their rate; the arrows are then dealt out in random order.
    """
    # The rate with which a Poisson number above zero is ``arrows`` on average.
    rate = 0.0 if arrows == 1 else float(arrows)
    for _ in range(60 if rate else 0):
        rate = arrows * (1 - exp(-rate))
    while True:
        # The first of some events within the time ``rate``, and how many follow it.
        first = -np.log1p(rng.random(cells) * np.expm1(-rate))
        entries = 1 + rng.poisson(np.maximum(rate - first, 0))
        if entries.sum() == cells * arrows:
            break
    targets = np.repeat(np.arange(cells, dtype=np.int64), entries)
    return rng.permutation(targets).reshape(cells, arrows)
