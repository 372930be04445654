"""Spaces: cells and where each action leads; their notation, validity and named topologies."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

import numpy as np

from omnimeter.contract import InvalidInputError, UnknownNameError
from omnimeter.contract.agent import IntArray

SEPARATOR = "|"


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
            raise ValueError("a space needs at least one cell and one action beside staying")
        if len({len(row) for row in self.displacements}) > 1:
            raise ValueError("every cell of a space needs the same actions")

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.displacements)

    @property
    def actions(self) -> int:
        """How many actions there are, staying included."""
        return len(self.displacements[0]) + 1

    def successors(self) -> IntArray:
        """The cell that each action leads to: one row per cell, one column per action."""
        here = np.arange(self.cells, dtype=np.int64)[:, np.newaxis]
        moved = (here + np.array(self.displacements, dtype=np.int64)) % self.cells
        return np.hstack([here, moved])

    def canonical_json(self) -> CellSpace:
        """The same space with each displacement as short as it can be; if both ways, forward."""
        return CellSpace(
            tuple(tuple(self._shortest(step) for step in row) for row in self.displacements)
        )

    def _shortest(self, step: int) -> int:
        forward = step % self.cells
        return forward if 2 * forward <= self.cells else forward - self.cells

    def __str__(self) -> str:
        return SEPARATOR.join(describe_cell(row) for row in self.displacements)


def describe_cell(displacements: Sequence[int]) -> str:
    """One cell's part of the description, such as ``1+2--3``."""
    return "".join(
        f"{action}{('+' if step > 0 else '-') * abs(step)}"
        for action, step in enumerate(displacements, start=1)
    )


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
        return _ring(*_sizes(name, sizes, 1)).canonical_json()
    rows, columns = _sizes(name, sizes, 2)
    return (_grid if topology == "grid" else _torus)(rows, columns).canonical_json()


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


NAME = re.compile(r"[A-Za-z]+(-.*)?")
SIGNS = re.compile(r"\++|-+|")
ADVICE = (
    "A description looks like 1+2++3|1+23-|1+23|1+2--3-: in every cell the same actions in order "
    "from 1, each followed by plus signs, minus signs or nothing."
)


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


def parse_space(text: str) -> CellSpace:
    """The space of a description, valid or not; ``format_space`` gives the same text again.

    Raises:
        InvalidInputError: The text is malformed.
    """
    cells: list[tuple[int, ...]] = []
    start = 0
    for part in text.split(SEPARATOR):
        end = start + len(part)
        actions = len(cells[0]) if cells else None
        cells.append(_CellReader(text, start, end, len(cells) + 1, actions).read())
        start = end + len(SEPARATOR)
    return CellSpace(tuple(cells))


def format_space(space: CellSpace) -> str:
    """The description of a space."""
    return str(space)


@dataclass
class _CellReader:
    """Reads one cell of a description, from left to right.

    Since the actions stand in order, the number that must come next is always known. So ``12+``
    is action 1 and then action 2, and action 10 after action 9 is no riddle.

    Attributes:
        text: The whole description.
        at: How far it has been read.
        end: Where the cell ends.
        cell: The cell's number, from 1.
        actions: How many actions the first cell has written down; none in the first cell itself.
        displacements: What has been read.
    """

    text: str
    at: int
    end: int
    cell: int
    actions: int | None
    displacements: list[int] = field(default_factory=list)

    def read(self) -> tuple[int, ...]:
        """The displacements of the cell's actions."""
        while self.at < self.end or len(self.displacements) < (self.actions or 1):
            number = str(len(self.displacements) + 1)
            if not self._may_go_on() or not self.text.startswith(number, self.at, self.end):
                raise self._fault()
            signs = SIGNS.match(self.text, self.at + len(number), self.end)
            run = signs.group() if signs else ""
            self.displacements.append(run.count("+") - run.count("-"))
            self.at += len(number) + len(run)
        return tuple(self.displacements)

    def _may_go_on(self) -> bool:
        return self.actions is None or len(self.displacements) < self.actions

    def _fault(self) -> InvalidInputError:
        read = len(self.displacements)
        place = f"after action {read}" if read else "where action 1 should stand"
        return InvalidInputError(
            f"The description of the space is malformed at character {self.at + 1} "
            f"(cell {self.cell}, {place}): found {self._found()}, expected {self._expected()}.",
            ADVICE,
        )

    def _found(self) -> str:
        """As much of what stands here as the number of the next action would take."""
        width = len(str(len(self.displacements) + 1)) if self._may_go_on() else 1
        found = self.text[self.at : max(self.at + 1, min(self.at + width, self.end))]
        return repr(found) if found else "the end"

    def _expected(self) -> str:
        expected: list[str] = []
        if self.displacements and self.displacements[-1] >= 0:
            expected.append("'+'")
        if self.displacements and self.displacements[-1] <= 0:
            expected.append("'-'")
        if self._may_go_on():
            expected.append(f"'{len(self.displacements) + 1}'")
        if len(self.displacements) >= (self.actions or 1):
            expected += [f"'{SEPARATOR}'", "the end"]
        return " or ".join([", ".join(expected[:-1]), expected[-1]] if expected[1:] else expected)
