"""Spaces that go by a name: ``ring-8``, ``grid-3x4`` (rows x columns) and ``torus-3x4``."""

from __future__ import annotations

import re
from math import prod

from omnimeter.contract import InvalidInputError, UnknownNameError
from omnimeter.environments.lambda_class.space import CellSpace
from omnimeter.environments.lambda_class.validity import check_number_of_cells

EXAMPLES = {"ring": "ring-8", "grid": "grid-3x4", "torus": "torus-3x4"}


def named_space(name: str) -> CellSpace:
    """The space of a topology's name, in canonical form.

    Raises:
        InvalidInputError: The sizes are missing, malformed or out of range.
        UnknownNameError: There is no such topology.
    """
    topology, _, sizes = name.partition("-")
    if topology not in EXAMPLES:
        raise UnknownNameError("topology", topology, EXAMPLES)
    if topology == "ring":
        return _ring(*_sizes(name, sizes, 1)).canonical()
    rows, columns = _sizes(name, sizes, 2)
    return (_grid if topology == "grid" else _torus)(rows, columns).canonical()


def _sizes(name: str, sizes: str, dimensions: int) -> list[int]:
    """The sizes behind the dash, as many as the topology has dimensions."""
    if not re.fullmatch("x".join([r"[0-9]{1,9}"] * dimensions), sizes):
        topology, dash, _ = name.partition("-")
        wanted = "rows x columns" if dimensions == 2 else "the number of cells"
        raise InvalidInputError(
            f"The topology {name!r} cannot be read at character {len(topology + dash) + 1}: "
            f"found {sizes!r}, expected {'' if dash else 'a dash and '}{wanted}.",
            f"Write it like {EXAMPLES[topology]}.",
        )
    numbers = [int(size) for size in sizes.split("x")]
    check_number_of_cells(prod(numbers))
    return numbers


def _ring(cells: int) -> CellSpace:
    """Action 1 leads to the next cell, action 2 to the one before."""
    return CellSpace(((1, -1),) * cells)


def _grid(rows: int, columns: int) -> CellSpace:
    """Right, left, down, up; at a border the move stays."""
    return CellSpace(
        tuple(
            (
                1 if column < columns - 1 else 0,
                -1 if column > 0 else 0,
                columns if row < rows - 1 else 0,
                -columns if row > 0 else 0,
            )
            for row in range(rows)
            for column in range(columns)
        )
    )


def _torus(rows: int, columns: int) -> CellSpace:
    """Right, left, down, up; from a border to the opposite one."""
    return CellSpace(
        tuple(
            (
                1 if column < columns - 1 else 1 - columns,
                -1 if column > 0 else columns - 1,
                # The description is a circle itself, so columns need no care at the border.
                columns,
                -columns,
            )
            for _ in range(rows)
            for column in range(columns)
        )
    )
