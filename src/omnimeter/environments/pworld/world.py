"""The world of squares: what holds in each, the elements that act in it, and its clock."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from omnimeter.contract import InvalidInputError, UnknownNameError
from omnimeter.contract.agent import IntArray
from omnimeter.contract.overlay import Codes, Value

UP, DOWN, LEFT, RIGHT = range(4)
"""The directions of ``World.move``."""

STEPS = ((-1, 0), (1, 0), (0, -1), (0, 1))
"""The rows and columns by which each direction leads on."""

TURN, SET, MOVE, EAT, ACT = "turn", "set", "move", "eat", "act"
"""The kinds of events."""


class Event(NamedTuple):
    """Something that happened in the world.

    Attributes:
        turn: In which turn; 0 is what happened before the first.
        kind: ``turn``: it began. ``set``: a proposition came to hold, or ceased to. ``move``: an
            element is in the square now. ``eat``: it cleared its square. ``act``: the agent chose
            the action ``code``.
        element: Which element, for its own events.
        square: Where; -1 everywhere.
        column: The number of the proposition's column, or -1.
        code: Its new code, or the action.
    """

    turn: int
    kind: str
    element: str = ""
    square: int = -1
    column: int = -1
    code: int = 0


class Element(ABC):
    """Something active in a world, as animals, plants or the weather.

    It perceives and changes the world by its methods only. Its randomness is what it is given.

    Attributes:
        columns: The propositions and named values that it needs in the world, with their labels.
    """

    columns: ClassVar[Mapping[str, Sequence[Value]]] = {}

    def begin(self, world: World, name: str, rng: np.random.Generator) -> None:
        """Enter a world under a name, before its first turn."""

    @abstractmethod
    def act(self, world: World, rng: np.random.Generator) -> None:
        """Do what it does in one turn."""


class World:
    """A grid of n x n squares, the propositions that hold in them, and elements that act.

    Every change is an event, and ``record`` receives each of them.

    Args:
        size: The number n of squares from one side to the other.
        columns: The labels of each proposition (only ``True``) or named value, by its name.
        codes: What holds at first, ``[square, column]``, as in an ``Overlay``.
        edible: The names of the columns that ``eat`` clears.
        record: What receives every event.
    """

    def __init__(
        self,
        size: int,
        columns: Mapping[str, Sequence[Value]],
        codes: Codes | None = None,
        edible: Sequence[str] = (),
        record: Callable[[Event], None] | None = None,
    ) -> None:
        self.size, self.columns = size, dict(columns)
        self.turn = 0
        self.positions: dict[str, int] = {}
        self.elements: dict[str, Element] = {}
        self.record = record
        self._padded = np.zeros((size * size + 1, len(columns)), dtype=np.int32)
        self.codes: Codes = self._padded[:-1]  # the last row is for what is outside the world
        if codes is not None:
            self.codes[:] = codes
        self._numbers = {name: number for number, name in enumerate(self.columns)}
        self._edible = list(edible)

    def add_element(self, name: str, element: Element, rng: np.random.Generator) -> None:
        """Let an element act in every turn from now on, after those that came before."""
        self.elements[name] = element
        element.begin(self, name, rng)

    def enter(self, element: str, square: int) -> None:
        """Put an element into a square."""
        self._require(square)
        self.positions[element] = square
        self._happens(MOVE, element, square)

    def advance(self) -> None:
        """Begin the next turn."""
        self.turn += 1
        self._happens(TURN)

    def act(self, rng: np.random.Generator) -> None:
        """Let all elements act, one after the other."""
        for element in self.elements.values():
            element.act(self, rng)

    def number(self, name: str) -> int:
        """The number of a column.

        Raises:
            UnknownNameError: No proposition or value has this name here.
        """
        if name not in self._numbers:
            raise UnknownNameError("proposition", name, self._numbers)
        return self._numbers[name]

    def code(self, name: str, value: Value) -> int:
        """The code of a value in its column; 0 for ``False``.

        Raises:
            InvalidInputError: The column has no such label.
        """
        self.number(name)
        labels = self.columns[name]
        if value is False:
            return 0
        if value not in labels:
            known = ", ".join(map(str, labels))
            raise InvalidInputError(f"{name} cannot be {value!r}.", f"Its values: {known}.")
        return labels.index(value) + 1

    def value(self, name: str, square: int) -> Value:
        """The value of a column in a square; ``False`` where it does not hold."""
        code = int(self.codes[self._require(square), self.number(name)])
        return self.columns[name][code - 1] if code else False

    def add_proposition(self, square: int, name: str, value: Value = True) -> None:
        """Let a proposition hold in a square, or give a named value to it."""
        self._set(square, self.number(name), self.code(name, value))

    def remove_proposition(self, square: int, name: str) -> None:
        """Let a proposition not hold in a square."""
        self._set(square, self.number(name), 0)

    def change(self, squares: IntArray, columns: IntArray, codes: Codes) -> None:
        """Set many codes, those of the same place in all three arrays belonging together."""
        new = self.codes[squares, columns] != codes
        for each in zip(squares[new].tolist(), columns[new].tolist(), codes[new].tolist()):  # noqa: B905
            self._set(*each)

    def sense(self, square: int, radius: int) -> dict[int, dict[str, Value]]:
        """What holds in each square up to some steps away, the own square first."""
        return {
            each: holding(self.columns, self.codes[each].tolist())
            for each in window(self.size, self._require(square), radius).tolist()
            if each >= 0
        }

    def perceive(self, square: int, radius: int) -> IntArray:
        """What ``sense`` tells, as numbers: for each square whether it exists, then its codes."""
        squares = window(self.size, square, radius)
        result = np.empty((len(squares), len(self.columns) + 1), dtype=np.int64)
        result[:, 0] = squares >= 0
        result[:, 1:] = self._padded[squares]
        return result.ravel()

    def neighbour(self, square: int, direction: int) -> int | None:
        """The next square in a direction; ``None`` at a wall."""
        row, column = divmod(self._require(square), self.size)
        if not 0 <= direction < len(STEPS):
            message = f"There is no direction {direction}."
            raise InvalidInputError(message, "0 to 3 are up, down, left and right.")
        row, column = row + STEPS[direction][0], column + STEPS[direction][1]
        inside = 0 <= row < self.size and 0 <= column < self.size
        return row * self.size + column if inside else None

    def position(self, element: str) -> int:
        """The square in which an element is.

        Raises:
            UnknownNameError: It has not entered any.
        """
        if element not in self.positions:
            raise UnknownNameError("element", element, self.positions)
        return self.positions[element]

    def move(self, element: str, direction: int) -> bool:
        """Move an element to the next square; whether it could: walls block."""
        square = self.neighbour(self.position(element), direction)
        if square is not None:
            self.enter(element, square)
        return square is not None

    def eat(self, element: str) -> dict[str, Value]:
        """Clear the edible propositions of the square in which an element is; what they were."""
        square = self.position(element)
        eaten = {
            name: value for name in self._edible if (value := self.value(name, square)) is not False
        }
        if eaten:
            self._happens(EAT, element, square)
            for name in eaten:
                self.remove_proposition(square, name)
        return eaten

    def note(self, action: int) -> None:
        """Record the action that the agent chose."""
        self._happens(ACT, "agent", self.positions["agent"], code=action)

    def _require(self, square: int) -> int:
        if not 0 <= square < len(self.codes):
            message = f"There is no square {square} in a world of {self.size} x {self.size}."
            raise InvalidInputError(message, f"Squares are 0 to {len(self.codes) - 1}, by rows.")
        return square

    def _set(self, square: int, column: int, code: int) -> None:
        self._require(square)
        if self.codes[square, column] != code:
            self.codes[square, column] = code
            self._happens(SET, square=square, column=column, code=code)

    def _happens(
        self, kind: str, element: str = "", square: int = -1, column: int = -1, code: int = 0
    ) -> None:
        if self.record is not None:
            self.record(Event(self.turn, kind, element, square, column, code))

    def scene(self) -> dict[str, Any]:
        """The whole world as data for people: what holds in each square, and where elements are."""
        return scene_of(self.size, self.columns, self.codes, self.positions, self.turn)


def holding(columns: Mapping[str, Sequence[Value]], codes: Sequence[int]) -> dict[str, Value]:
    """What holds in a square, by name, given its code in every column."""
    return {
        name: labels[code - 1]
        for (name, labels), code in zip(columns.items(), codes, strict=True)
        if code
    }


def scene_of(
    size: int,
    columns: Mapping[str, Sequence[Value]],
    codes: Codes,
    positions: Mapping[str, int],
    turn: int,
) -> dict[str, Any]:
    """A whole world as data for people.

    Args:
        size: The number of squares from one side to the other.
        columns: The labels of each column.
        codes: What holds, ``[square, column]``.
        positions: The square of each element.
        turn: The number of the turn.
    """
    cells = [
        {
            "row": square // size,
            "column": square % size,
            "holds": holding(columns, row),
            "elements": [name for name, place in positions.items() if place == square],
        }
        for square, row in enumerate(codes.tolist())
    ]
    return {"kind": "pworld", "size": size, "turn": turn, "cells": cells}


@cache
def offsets(radius: int) -> tuple[tuple[int, int], ...]:
    """The rows and columns from a square to those up to some steps away, itself first."""
    span = range(-radius, radius + 1)
    near = [(row, column) for row in span for column in span if abs(row) + abs(column) <= radius]
    return tuple(sorted(near, key=lambda each: (abs(each[0]) + abs(each[1]), each)))


@cache
def window(size: int, square: int, radius: int) -> IntArray:
    """The squares up to some steps away in the order of ``offsets``; -1 outside the world."""
    row, column = divmod(square, size)
    squares = [
        (row + down) * size + column + right
        if 0 <= row + down < size and 0 <= column + right < size
        else -1
        for down, right in offsets(radius)
    ]
    result = np.array(squares, dtype=np.int64)
    result.setflags(write=False)
    return result
