"""What a space is: cells, and where each action leads from each of them.

Lambda thesis, sections 3.6.1 and 4.1.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from omnimeter.contract import IntArray

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

    def canonical(self) -> CellSpace:
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
