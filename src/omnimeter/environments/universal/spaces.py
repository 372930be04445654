"""Spaces written by Markov algorithms: from the text of a run to cells and actions (3.6.6).

The text lists the cells, separated by ``:``. In a cell stand the actions, each followed by how
many cells on (``+``) or back (``-``) it leads around the circle; without signs it stays.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

import numpy as np

from omnimeter.complexity import elias_gamma_length
from omnimeter.contract import InvalidInputError
from omnimeter.contract.agent import IntArray
from omnimeter.environments.lambda_class.space import CellSpace, check_space
from omnimeter.environments.universal.coding import code_length
from omnimeter.environments.universal.language import Program, parse
from omnimeter.environments.universal.machine import Machine
from omnimeter.interaction.compilation import load
from omnimeter.kernels import kernel

SPACE_STEPS, SPACE_LENGTH = 256, 512
"""The bounds of a program that writes a space."""

MAX_ACTIONS = 8
LETTERS = ("s", "l", "r", "u", "d", "a6", "a7", "a8")
"""The names of actions, the one that stays first; perceived, they are capital letters."""

MAX_CELLS = 64


def space_alphabet(actions: int) -> tuple[str, ...]:
    """The symbols of a space: all actions but the one that stays, then ``+``, ``-``, ``:``."""
    return (*LETTERS[1:actions], "+", "-", ":")


def size_bits(cells: int, actions: int) -> int:
    """The bits of the numbers of cells and of actions, which come before the program."""
    return elias_gamma_length(cells - 1) + elias_gamma_length(actions - 1)


@kernel
def read_cells(text: Any, length: Any, actions: Any, cells: Any, paths: Any) -> Any:
    """Write where each action leads from each cell; return how many cells the text has.

    What does not belong there is passed over: signs before the first action of a cell or against
    the first sign of their action, an action that the cell had already, with its signs, and symbols
    other than these. Actions that a cell lacks stay. Cells beyond those asked for are left out.
    """
    plus, minus, following = actions - 1, actions, actions + 1
    for place in range(cells * actions):
        paths[place] = place // actions
    cell, at, direction, had = 0, -1, 0, 0
    for number in range(length):
        symbol = text[number]
        if symbol == following:
            cell, at, had = cell + 1, -1, 0
            if cell == cells:
                return cells + 1
        elif symbol < plus:
            at, direction = -1, 0
            if not had & (1 << symbol):
                at = cell * actions + symbol + 1
                had |= 1 << symbol
        elif symbol <= minus and at >= 0:
            sign = 1 if symbol == plus else -1
            if direction != -sign:
                direction = sign
                paths[at] = (paths[at] + sign) % cells
    return cell + 1 if length and text[length - 1] != following else cell


@kernel
def is_space(paths: Any, actions: Any, cells: Any, reached: Any) -> Any:
    """Whether every cell can be left for every other (3.6.1); ``reached`` is a buffer."""
    for backward in range(2):
        for cell in range(cells):
            reached[cell] = cell == 0
        count, grown = 1, True
        while grown and count < cells:
            grown = False
            for cell in range(cells):
                for action in range(1, actions):
                    other = paths[cell * actions + action]
                    source, target = (other, cell) if backward else (cell, other)
                    if reached[source] and not reached[target]:
                        reached[target] = 1
                        count += 1
                        grown = True
        if count < cells:
            return False
    return True


@dataclass(frozen=True)
class _Kernels:
    state: type
    read_cells: Callable[..., Any]


_READ = """
import numba
from omnimeter.caching import compiled

_array = numba.types.Array(numba.types.int64, 1, "C")
_int = numba.types.int64


def read(text, length, actions, cells, paths):
    return space_read_cells(text, length, actions, cells, paths)


read = compiled(read, _array, _int, _int, _int, _array, error_model="numpy")
"""


@cache
def _entry() -> Callable[..., int]:
    entry: Callable[..., int] = load("space", _READ, space=_Kernels(tuple, read_cells)).read
    return entry


def cells_of(text: IntArray, actions: int, cells: int) -> tuple[int, IntArray]:
    """How many cells a text has, and where each action leads in the first ones."""
    paths = np.zeros(cells * actions, dtype=np.int64)
    return _entry()(text, len(text), actions, cells, paths), paths.reshape(cells, actions)


class WrittenSpace(NamedTuple):
    """A space with the program that writes it.

    Attributes:
        space: Where each action leads.
        bits: The code of the numbers of cells and actions and of the program.
        steps: The rewriting steps of the program.
    """

    space: CellSpace
    bits: int
    steps: int


@lru_cache(maxsize=256)
def write_space(text: str, actions: int, cells: int | None = None) -> WrittenSpace:
    """The space that a program writes, given in its notation.

    Args:
        text: The program.
        actions: The number of actions, the one that stays included.
        cells: How many cells are asked for; by default all that are written.

    Raises:
        InvalidInputError: The program is malformed, or what it writes is no valid space.
    """
    if not 2 <= actions <= MAX_ACTIONS:
        raise InvalidInputError(
            f"A space cannot have {actions} actions, staying included.",
            f"Give 2 to {MAX_ACTIONS} actions.",
        )
    program: Program = parse(text, space_alphabet(actions))
    run = Machine(program, SPACE_STEPS, SPACE_LENGTH).run()
    written = np.array(run.text, dtype=np.int64)
    if cells is None:
        cells = max(1, cells_of(written, actions, MAX_CELLS)[0])
        if not run.answered:
            raise InvalidInputError(
                f"The program of the space did not end: it met {run.outcome}.",
                "Say how many cells it has (cells=), or let it end.",
            )
    if not 2 <= cells <= MAX_CELLS:
        raise InvalidInputError(
            f"The program of the space writes {cells} cells.", f"Spaces have 2 to {MAX_CELLS} here."
        )
    results, paths = cells_of(written, actions, cells)
    if results < cells:
        raise InvalidInputError(
            f"The program of the space writes {results} cells, not {cells}.", "Ask for fewer cells."
        )
    space = space_of_paths(paths)
    try:
        check_space(space)
    except InvalidInputError as error:
        message = f"The program of the space writes {space}. {error.message}"
        raise InvalidInputError(message, error.advice) from None
    return WrittenSpace(space, size_bits(cells, actions) + code_length(program), run.steps)


def space_of_paths(paths: IntArray) -> CellSpace:
    """The space of a table of where actions lead, with the shortest displacements."""
    here = np.arange(len(paths))[:, np.newaxis]
    return CellSpace(tuple(map(tuple, (paths - here)[:, 1:].tolist()))).canonical()
