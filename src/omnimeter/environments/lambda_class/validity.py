"""Which spaces are fit for an environment: wherever one stands, one can go everywhere.

Lambda thesis, section 3.6.1: from each cell at least two actions lead to different cells, and
there is a way from every cell to every other.
"""

from __future__ import annotations

from collections.abc import Sequence

from omnimeter.contract import InvalidInputError
from omnimeter.environments.lambda_class.space import SEPARATOR, CellSpace, describe_cell

MOST_CELLS = 10_000

Neighbours = Sequence[Sequence[int]]


def check_space(space: CellSpace) -> None:
    """Refuse a space that is not fit for an environment.

    Raises:
        InvalidInputError: It has one cell, a cell with one successor, or cells without a way
            between them. The message names the cell and where it stands in the description.
    """
    check_number_of_cells(space.cells)
    fault = fault_of(space)
    if fault is not None:
        raise InvalidInputError(
            fault, "From every cell of a space there must be a way to every other cell."
        )


def check_number_of_cells(cells: int) -> None:
    """Refuse a number of cells that no space can have.

    Raises:
        InvalidInputError: There are fewer than two cells, or more than can be handled.
    """
    if cells < 2:
        raise InvalidInputError(
            f"A space needs at least 2 cells, but this one has {cells}.", "Ask for more cells."
        )
    if cells > MOST_CELLS:
        raise InvalidInputError(
            f"A space has at most {MOST_CELLS:,} cells, but this one has {cells:,}.",
            "Ask for fewer cells.",
        )


def fault_of(space: CellSpace) -> str | None:
    """Why a space is not fit for an environment; nothing if it is."""
    if space.cells < 2:
        return f"A space needs at least 2 cells, but this one has {space.cells}."
    neighbours = space.successors().tolist()
    for cell, leads_to in enumerate(neighbours):
        if len(set(leads_to)) < 2:
            return f"{_name(space, cell)} has only one successor: every action stays there."
    away = _missed(neighbours)
    if away is not None:
        return f"{_name(space, away)} cannot be reached from cell 1."
    lost = _missed(_reversed(neighbours))
    if lost is not None:
        return f"{_name(space, lost)} has no way to cell 1."
    return None


def is_strongly_connected(neighbours: Neighbours) -> bool:
    """Whether there is a way from every cell to every other.

    With two cells or more this is all that validity asks: staying is one successor of each cell,
    and the way out of it begins with another.
    """
    return _missed(neighbours) is None and _missed(_reversed(neighbours)) is None


def _missed(neighbours: Neighbours) -> int | None:
    """The first cell to which no way leads from the first one."""
    reached = bytearray(len(neighbours))
    reached[0] = 1
    waiting = [0]
    while waiting:
        for cell in neighbours[waiting.pop()]:
            if not reached[cell]:
                reached[cell] = 1
                waiting.append(cell)
    missed = reached.find(0)
    return None if missed < 0 else missed


def _reversed(neighbours: Neighbours) -> list[list[int]]:
    """For each cell the cells that lead to it."""
    sources: list[list[int]] = [[] for _ in neighbours]
    for cell, leads_to in enumerate(neighbours):
        for successor in leads_to:
            sources[successor].append(cell)
    return sources


def _name(space: CellSpace, cell: int) -> str:
    before = sum(len(describe_cell(row)) + len(SEPARATOR) for row in space.displacements[:cell])
    return f"Cell {cell + 1} (character {before + 1} of the description)"
