"""Elements that come with the world: weather, plants, a listener and animals that wander."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import ClassVar

import numpy as np

from omnimeter.contract import InvalidInputError
from omnimeter.contract.overlay import Value
from omnimeter.environments.pworld.world import DOWN, LEFT, RIGHT, UP, Element, World

SEEDLING, RIPE, WITHERED = "seedling", "ripe", "withered"
"""The stages of a plant."""

LEAVES = ("round", "pointed")
"""The leaves by which the two species of plants differ."""


def require_share(name: str, value: float) -> float:
    """A number from 0 to 1; InvalidInputError if it is not."""
    if not 0 <= value <= 1:
        raise InvalidInputError(f"{name} is {value:g}.", "Give a number from 0 to 1.")
    return value


class Weather(Element):
    """Changes what holds, square by square, and keeps how often it holds.

    Each turn every square gets, in each column with some probability, the code that a square drawn
    at random had there at first. So a column's distribution stays as it was: volatility moves, and
    density and variability do not.

    Args:
        rate: The probability with which each column of each square is redrawn in a turn.
        prefix: How the names of the columns begin that it changes.
    """

    def __init__(self, rate: float = 0.01, prefix: str = "ground") -> None:
        self.rate, self.prefix = require_share("rate", rate), prefix

    def begin(self, world: World, name: str, rng: np.random.Generator) -> None:  # noqa: ARG002
        """Note what holds at first."""
        names = [each for each in world.columns if each.startswith(self.prefix)]
        self._columns = np.array([world.number(each) for each in names], dtype=np.int64)
        self._first = world.codes[:, self._columns].copy()

    def act(self, world: World, rng: np.random.Generator) -> None:
        """Redraw some columns of some squares."""
        squares, columns = np.nonzero(rng.random(self._first.shape) < self.rate)
        donors = rng.integers(len(self._first), size=len(squares))
        world.change(squares, self._columns[columns], self._first[donors, columns])


class Plants(Element):
    """Plants of two species, which ripen, wither and grow again elsewhere.

    A plant that withered, or was eaten, is replaced by a seedling with the same leaf in a square
    without a plant, so that the number of each species stays the same.

    Args:
        count: The number of plants that are added to those that are there already.
        growth: The probability with which a seedling ripens, or a missing plant is replaced, in a
            turn.
        decay: The probability with which a ripe plant withers, or a withered one vanishes.
    """

    columns: ClassVar[Mapping[str, Sequence[Value]]] = {
        "plant": (SEEDLING, RIPE, WITHERED),
        "leaf": LEAVES,
    }

    def __init__(self, count: int = 0, growth: float = 0.1, decay: float = 0.02) -> None:
        if count < 0:
            raise InvalidInputError(f"There cannot be {count} plants.", "Give a count from 0 up.")
        self.count = count
        self.growth, self.decay = require_share("growth", growth), require_share("decay", decay)

    def begin(self, world: World, name: str, rng: np.random.Generator) -> None:  # noqa: ARG002
        """Add plants."""
        for _ in range(self.count):
            self._sow(world, LEAVES[rng.integers(len(LEAVES))], rng)
        self._wanted = self._leaves(world)

    def act(self, world: World, rng: np.random.Generator) -> None:
        """Let every plant ripen, wither or vanish with its probability, and missing ones grow."""
        column = world.number("plant")
        for square in np.flatnonzero(world.codes[:, column]).tolist():
            stage = world.value("plant", square)
            if rng.random() >= (self.growth if stage == SEEDLING else self.decay):
                continue
            if stage == WITHERED:
                world.remove_proposition(square, "plant")
                world.remove_proposition(square, "leaf")
            else:
                world.add_proposition(square, "plant", RIPE if stage == SEEDLING else WITHERED)
        for leaf, missing in (self._wanted - self._leaves(world)).items():
            for _ in range(int(rng.binomial(missing, self.growth))):
                self._sow(world, leaf, rng)

    def _leaves(self, world: World) -> Counter[Value]:
        column = world.codes[:, world.number("leaf")]
        return Counter(LEAVES[code - 1] for code in column[column > 0].tolist())

    def _sow(self, world: World, leaf: Value, rng: np.random.Generator) -> None:
        free = np.flatnonzero(world.codes[:, world.number("plant")] == 0)
        if len(free):
            square = int(rng.choice(free))
            world.add_proposition(square, "plant", SEEDLING)
            world.add_proposition(square, "leaf", leaf)


class Listener(Element):
    """Walks to the square that it is told of, one step a turn, and collects what is there."""

    def __init__(self) -> None:
        self.destination: int | None = None
        self.collected: tuple[int, dict[str, Value]] | None = None

    def begin(self, world: World, name: str, rng: np.random.Generator) -> None:
        """Enter a square drawn at random."""
        self._name = name
        self.destination = self.collected = None
        world.enter(name, int(rng.integers(world.size**2)))

    def act(self, world: World, rng: np.random.Generator) -> None:  # noqa: ARG002
        """Make a step, along the column first; in the right square, collect."""
        self.collected = None
        if self.destination is None:
            return
        here, there = (
            divmod(each, world.size) for each in (world.positions[self._name], self.destination)
        )
        if here[0] != there[0]:
            world.move(self._name, DOWN if here[0] < there[0] else UP)
        elif here[1] != there[1]:
            world.move(self._name, RIGHT if here[1] < there[1] else LEFT)
        if world.positions[self._name] == self.destination:
            self.collected = self.destination, world.eat(self._name)
            self.destination = None


class Walker(Element):
    """An animal that wanders at random, never into a square where there is one already.

    Args:
        rate: The probability with which it makes a step in a turn.
    """

    columns: ClassVar[Mapping[str, Sequence[Value]]] = {"wanderer": (True,)}

    def __init__(self, rate: float = 1.0) -> None:
        self.rate = require_share("rate", rate)

    def begin(self, world: World, name: str, rng: np.random.Generator) -> None:
        """Enter a square without another one, if there is any."""
        self._name = name
        taken = world.codes[:, world.number("wanderer")] > 0
        squares = np.flatnonzero(taken if taken.all() else ~taken)
        world.enter(name, int(rng.choice(squares)))
        world.add_proposition(world.positions[name], "wanderer")

    def act(self, world: World, rng: np.random.Generator) -> None:
        """Make a step in a direction drawn at random."""
        if rng.random() >= self.rate:
            return
        before = world.positions[self._name]
        direction = int(rng.integers(4))
        ahead = world.neighbour(before, direction)
        if ahead is not None and not world.value("wanderer", ahead):
            world.move(self._name, direction)
            world.remove_proposition(before, "wanderer")
            world.add_proposition(ahead, "wanderer")
