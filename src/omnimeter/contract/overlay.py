"""Overlays: squares, which of them are adjacent, and what holds in each, over time.

The specification of environments of the paper on perturbation tolerance: a world is divided into
squares, each square is characterised by propositions, and both together are an overlay. A
proposition holds in a square or not (``tree``), or it is a named value (``height`` is 3), which
counts as one proposition wherever it is known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract.errors import InvalidInputError

Value = str | int | float | bool
Codes = NDArray[np.int32]

LONGEST = 10**7
"""The largest number of time steps."""


@dataclass(frozen=True, slots=True)
class Lattice:
    """Squares in an n-dimensional grid, in C order, each adjacent to its neighbours on every axis.

    Attributes:
        shape: The number of squares along each axis.
        torus: Whether the last square along an axis is adjacent to the first.
    """

    shape: tuple[int, ...]
    torus: bool = False

    def __post_init__(self) -> None:
        if not all(_is_whole(length) and length >= 0 for length in self.shape):
            message = f"A lattice cannot have the shape {self.shape}."
            raise InvalidInputError(message, "Give the number of squares along each axis.")

    @property
    def size(self) -> int:
        """The number of squares."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True, eq=False)
class Graph:
    """Squares with those that can be reached from each in one action.

    Attributes:
        successors: The successors of each square; itself need not be among them.
    """

    successors: Sequence[Sequence[int]]

    def __post_init__(self) -> None:
        for each in (each for row in self.successors for each in row):
            if not (_is_whole(each) and 0 <= each < self.size):
                message = f"The square {each!r} is a successor, but there are {self.size}."
                raise InvalidInputError(message, "Number squares from 0.")

    @property
    def size(self) -> int:
        """The number of squares."""
        return len(self.successors)


class Belief(NamedTuple):
    """What an agent believes of a square: a value, ``True``, or ``False`` if it does not hold."""

    square: int
    name: str
    value: Value


def _is_whole(number: object) -> bool:
    return isinstance(number, int | np.integer)


def plain(name: str, value: object) -> Value:
    """A value as Python has it; ``False`` where there is none: ``None``, or not a number.

    Raises:
        InvalidInputError: It cannot be a value, such as a list.
    """
    value = value.item() if isinstance(value, np.generic) else value
    if value is None:
        return False
    if not isinstance(value, str | int | float):
        message = f"{name} is {value!r}, which cannot be a value."
        raise InvalidInputError(message, "Give True or False, a number, or a text.")
    return value if value == value else False  # noqa: PLR0124 - NaN differs from itself


def _unchanged() -> NDArray[np.int64]:
    return np.zeros((0, 4), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Overlay:
    """Squares, their adjacency and their propositions, over time.

    Each column is a proposition or a named value. Its code in a square is 0 where it does not hold,
    or its value is not known, and otherwise k for its k-th label, counted from 1. A symbolic
    proposition has the one label ``True``.

    Attributes:
        adjacency: The squares, and which of them are adjacent.
        columns: The labels of each column, by its name.
        codes: What holds at time 1, ``[square, column]``.
        changes: What changes later, as rows of time (2 or later), square, column and new code, in
            the order of time.
        duration: The number t of time steps, from 1 on.
        names: The name of each square; by default its coordinates, or its number.
        knowledge: The initial beliefs of agents that the environment tells them, if it does.

    Raises:
        InvalidInputError: The parts do not fit.
    """

    adjacency: Lattice | Graph
    columns: Mapping[str, Sequence[Value]]
    codes: Codes
    changes: NDArray[np.int64] = field(default_factory=_unchanged)
    duration: int = 1
    names: Sequence[str] = ()
    knowledge: Sequence[Belief] | None = None

    @classmethod
    def of(
        cls,
        adjacency: Lattice | Graph,
        squares: Sequence[Mapping[str, Value]],
        later: Iterable[Sequence[Mapping[str, Value]]] = (),
        names: Sequence[str] = (),
    ) -> Overlay:
        """The overlay of what holds in each square, as mappings of names to values.

        Args:
            adjacency: The squares, and which of them are adjacent.
            squares: What holds in each at time 1; ``True`` for a symbolic proposition. What is
                ``False``, ``None``, not a number or missing does not hold.
            later: The same for the times 2, 3, ...
            names: The name of each square.
        """
        labels: dict[str, dict[Value, int]] = {}
        moments = [
            [{name: plain(name, value) for name, value in square.items()} for square in moment]
            for moment in (squares, *later)
        ]
        for moment in moments:
            for square in moment:
                for name, value in square.items():
                    known = labels.setdefault(name, {})
                    if value is not False:
                        known.setdefault(value, len(known) + 1)
        numbers = {name: column for column, name in enumerate(labels)}
        dense = np.zeros((len(moments), len(squares), len(labels)), dtype=np.int32)
        for time, moment in enumerate(moments):
            if len(moment) != len(squares):
                message = (
                    f"There are {len(squares)} squares at time 1, {len(moment)} at {time + 1}."
                )
                raise InvalidInputError(message, "Give the same squares at every time.")
            for place, holds in enumerate(moment):
                for name, value in holds.items():
                    if value is not False:
                        dense[time, place, numbers[name]] = labels[name][value]
        return cls.from_moments(adjacency, {k: list(v) for k, v in labels.items()}, dense, names)

    @classmethod
    def from_moments(
        cls,
        adjacency: Lattice | Graph,
        columns: Mapping[str, Sequence[Value]],
        codes: NDArray[np.integer],
        names: Sequence[str] = (),
    ) -> Overlay:
        """The overlay of the codes at each time, ``[time, square, column]``."""
        time, square, column = np.nonzero(codes[1:] != codes[:-1])
        changed = np.stack([time + 2, square, column, codes[time + 1, square, column]], axis=1)
        first = np.ascontiguousarray(codes[0], dtype=np.int32)
        return cls(adjacency, columns, first, changed.astype(np.int64), len(codes), names)

    def __post_init__(self) -> None:
        squares = self.adjacency.size
        problem = ""
        if squares == 0:
            problem = "The overlay is empty: there are no squares."
        elif not self.columns:
            problem = "The overlay is empty: no proposition characterises any square."
        elif self.codes.shape != (squares, len(self.columns)):
            problem = (
                f"The codes have the shape {self.codes.shape} for {squares} squares and "
                f"{len(self.columns)} columns."
            )
        elif self.names and len(self.names) != squares:
            problem = f"There are {len(self.names)} names for {squares} squares."
        elif not 1 <= self.duration <= LONGEST:
            problem = f"The duration is {self.duration} time steps, not 1 to {LONGEST:,}."
        if not problem:
            problem = self._problem_of_codes(squares)
        if problem:
            raise InvalidInputError(
                problem, "Give squares, a code for each square and column, and changes in order."
            )

    def _problem_of_codes(self, squares: int) -> str:
        counts = np.array([len(labels) for labels in self.columns.values()])
        if ((self.codes < 0) | (self.codes > counts)).any():
            return "A code at time 1 has no label in its column."
        if self.changes.shape[1:] != (4,):
            return f"Changes have the shape {self.changes.shape}, not four numbers each."
        time, square, column, code = self.changes.T
        if (np.diff(time) < 0).any() or ((time < 2) | (time > self.duration)).any():
            return f"Changes are not in order of time, from 2 to {self.duration}."
        if ((square < 0) | (square >= squares) | (column < 0) | (column >= len(counts))).any():
            return "A change names a square or a column that does not exist."
        if ((code < 0) | (code > counts[column])).any():
            return "The code of a change has no label in its column."
        return ""

    def at(self, time: int) -> Codes:
        """What holds at a time, ``[square, column]``."""
        codes = self.codes.copy()
        due = self.changes[: np.searchsorted(self.changes[:, 0], time, side="right")]
        for _, square, column, code in due:
            codes[square, column] = code
        return codes

    def name(self, square: int) -> str:
        """The name of a square."""
        if self.names:
            return self.names[square]
        if isinstance(self.adjacency, Lattice):
            place = np.unravel_index(square, self.adjacency.shape)
            return f"({', '.join(str(int(each) + 1) for each in place)})"
        return str(square)
