"""How the description of a space is read: ``1+2++3|1+23-|1+23|1+2--3-``.

Cells are separated by bars. In each stand the actions 1, 2 and so on, in order, each followed by
as many signs as it moves cells on (``+``) or back (``-``); without a sign it stays. Action 0
always stays and is left out. Lambda thesis, section 4.1.3.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from omnimeter.contract import InvalidInputError
from omnimeter.environments.lambda_class.space import SEPARATOR, CellSpace
from omnimeter.environments.lambda_class.topologies import named_space
from omnimeter.environments.lambda_class.validity import check_space

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
