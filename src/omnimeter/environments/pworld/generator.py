"""The environment class PWorld: its dials, what is drawn, and what agents perceive."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import log2
from typing import Any, Literal

import numpy as np

from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import (
    Briefing,
    Claims,
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    Observation,
    Percept,
    Space,
)
from omnimeter.contract.overlay import Belief, Codes, Lattice, Overlay, Value
from omnimeter.contract.spec import fingerprint
from omnimeter.environments.pworld.elements import Weather, require_share
from omnimeter.environments.pworld.journal import Journal
from omnimeter.environments.pworld.tasks import MOVES, TASKS, Setting, profiles
from omnimeter.environments.pworld.world import Element, World, holding, offsets

MIN_SIZE, MAX_SIZE = 2, 256
"""The smallest and the largest world."""

KNOWN = 0.5
"""The share of squares (of objects, where there are any) that the initial knowledge is about."""


class PWorld(EnvironmentClass):
    """A world of n x n squares with propositions, in which agents gather, locate, map or tell.

    The agent walks up, down, left and right, and perceives what holds in the squares near it; what
    else it does depends on the task. Rewards are such that acting at random is worth 0. The world
    is specified as in the paper on perturbation tolerance.

    Its dials move one measure at a time, in their mean forms: ``size`` the number of squares,
    ``background`` the information density, ``variability`` the propositional difference of
    squares, ``volatility`` how much changes, and ``inconsistency`` the share of the initial
    knowledge that is wrong.

    Complexity is the logarithm of (4) in bits, in the mean forms that the dials set, each measure
    except the size plus 1: a product of small measures would otherwise be less than that of fewer.
    So all worlds of the same parameters have the same complexity.

    Args:
        task: What the agent has to do. ``gather``: eat plants. ``locate``: tell hikers from
            look-alikes. ``map``: answer questions about squares. ``tell``: send a listener to
            hikers.
        size: The number n of squares from one side to the other, 2 to 256.
        perception: How many steps away squares are perceived; 0 is the own square only.
        background: The number of propositions that are not about objects; half of them hold in at
            least half of the squares, half in at most half.
        variability: The mean number of these in which two squares differ, from 0 (everywhere the
            same) to half of them (each holds with probability 1/2).
        volatility: The probability with which each of these is redrawn, in each square and turn.
        inconsistency: The share of the initial knowledge that is wrong.
        targets: The number of hikers, or of plants that are food.
        lookalikes: The number of other objects.
        accuracy: The value of accuracy R_V, from 0 to 1, which agents are told.
        elements: Further elements, by id or location: ``["walker-v1(rate=0.5)"]``.
        journal: The path of an SQLite database, or the URL of another one without a password, for
            all that happens; changes nothing in the world.
    """

    writing = False  # whether a world has written to the journal

    def __init__(
        self,
        task: Literal["gather", "locate", "map", "tell"] = "locate",
        size: int = 8,
        perception: int = 1,
        background: int = 8,
        variability: float = 1.0,
        volatility: float = 0.0,
        inconsistency: float = 0.0,
        targets: int = 5,
        lookalikes: int = 10,
        accuracy: float = 0.5,
        elements: Sequence[str] = (),
        journal: str | None = None,
    ) -> None:
        if task not in TASKS:
            raise InvalidInputError(f"There is no task {task!r}.", f"Choose among {list(TASKS)}.")
        if not MIN_SIZE <= size <= MAX_SIZE:
            raise InvalidInputError(
                f"There is no world of {size} x {size} squares.",
                f"Give a size from {MIN_SIZE} to {MAX_SIZE}.",
            )
        for name, value, least in (
            ("perception", perception, 0),
            ("background", background, 2),
            ("targets", targets, 1),
            ("lookalikes", lookalikes, 0),
        ):
            if value < least:
                raise InvalidInputError(f"{name} is {value}.", f"Give a number from {least} up.")
        if targets + lookalikes > size**2:
            raise InvalidInputError(
                f"{targets + lookalikes} objects do not fit into {size**2} squares.",
                "Each is in a square of its own: give fewer targets and look-alikes.",
            )
        if journal is not None and re.search(r"//[^/@]*:[^/]*@|[?&]passw", journal):
            raise InvalidInputError(
                "The URL of the journal has a password, which would stand in all results.",
                "Give it without, and the password as the database's driver reads it: "
                "PostgreSQL's in the file that PGPASSFILE names.",
            )
        self.task, self.perception, self.journal = task, perception, journal
        if not 0 <= variability <= background / 2:
            raise InvalidInputError(
                f"Two squares cannot differ in {variability:g} of {background} propositions.",
                f"Give a variability from 0 to {background / 2:g}, or more background.",
            )
        self.variability = variability
        self.volatility = require_share("volatility", volatility)
        self.inconsistency = require_share("inconsistency", inconsistency)
        self.accuracy = require_share("accuracy", accuracy)
        self.setting = Setting(size, background, targets, lookalikes)
        self.elements = list(elements)
        further = self._further()
        self.columns: dict[str, Sequence[Value]] = {
            **dict.fromkeys(self.setting.ground, (True,)),
            **TASKS[task].columns,
        }
        for element in further:
            for name, labels in element.columns.items():
                if tuple(self.columns.setdefault(name, labels)) != tuple(labels):
                    raise InvalidInputError(
                        f"{type(element).__name__} needs {name!r} with the labels {list(labels)}, "
                        f"but it has {list(self.columns[name])} here.",
                        "Give the element's proposition another name.",
                    )

    def _further(self) -> list[Element]:
        return [make(Kind.ELEMENT, parse(Kind.ELEMENT, each)) for each in self.elements]

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw the background, the objects, the first square and the initial knowledge."""
        if complexity is not None and complexity != self._complexity:
            raise InvalidInputError(
                f"Worlds of these parameters have complexity {self._complexity:g}, none has "
                f"{complexity:g}.",
                "Change size, background, variability, volatility or inconsistency.",
            )
        size, background = self.setting.size, self.setting.background
        # A proposition that holds with probability q differs with 2 q (1 - q).
        sign = np.where(np.arange(background) % 2 == 0, 1, -1)
        holds = (1 + sign * np.sqrt(1 - 2 * self.variability / background)) / 2
        ground = rng.random((size**2, background)) < holds
        drawn = TASKS[self.task](self.setting).draw_objects(rng)
        start = int(rng.integers(size**2))
        data: dict[str, Any] = {
            "size": size,
            "background": [np.packbits(column).tobytes().hex() for column in ground.T],
            "objects": drawn,
            "start": start,
        }
        return Instance({**data, "knowledge": self._draw_knowledge(rng, data)})

    def _draw_knowledge(
        self, rng: np.random.Generator, data: Mapping[str, Any]
    ) -> list[list[int | Value]]:
        """Beliefs about some squares, of which a share is wrong: row, column, name and value."""
        world = World(data["size"], self.columns, self._codes(data))
        places = [each["square"] for each in data["objects"]] or list(range(data["size"] ** 2))
        names = list(TASKS[self.task].columns) or self.setting.ground
        chosen = np.sort(rng.permutation(places)[: round(KNOWN * len(places))]).tolist()
        beliefs = [(square, name) for square in chosen for name in names]
        wrong = set(
            rng.permutation(len(beliefs))[: round(self.inconsistency * len(beliefs))].tolist()
        )
        knowledge = []
        for number, (square, name) in enumerate(beliefs):
            value = world.value(name, square)
            if number in wrong:
                labels = (
                    (False, *self.columns[name])
                    if len(self.columns[name]) == 1
                    else self.columns[name]
                )
                others = [each for each in labels if each is not value and each != value]
                value = others[rng.integers(len(others))]
            knowledge.append([*divmod(square, data["size"]), name, value])
        return knowledge

    def _codes(self, data: Mapping[str, Any]) -> Codes:
        """What holds at first."""
        size, names = data["size"], list(self.columns)
        codes = np.zeros((size**2, len(names)), dtype=np.int32)
        for column, text in enumerate(data["background"]):
            bits = np.unpackbits(np.frombuffer(bytes.fromhex(text), dtype=np.uint8))
            codes[:, column] = bits[: size**2]
        for each in data["objects"]:
            for name, value in each["holds"].items():
                labels = list(self.columns[name])
                codes[each["square"], names.index(name)] = 1 + labels.index(value)
        return codes

    def complexity(self, instance: Instance) -> float:
        """The logarithm of (4), in bits."""
        del instance  # all of the same parameters have the same
        return self._complexity

    @property
    def _complexity(self) -> float:
        size, background = self.setting.size, self.setting.background
        measures = (
            background / 2,
            self.variability / (2 * size / 3),  # the mean distance of two squares
            self.volatility * self.variability,
            self.inconsistency,
        )
        return log2(size**2) + sum(log2(1 + measure) for measure in measures)

    def complexity_range(self) -> tuple[float, float]:
        """That of all worlds of these parameters."""
        return self._complexity, self._complexity

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw any world, if their complexity lies in the band."""
        return self.draw(rng) if low <= self._complexity <= high else None

    def build(self, instance: Instance) -> Environment:
        """Make the world with its elements, the agent in its first square."""
        return PWorldEnvironment(self, instance)

    def world(self, instance: Instance) -> World:
        """The world at first, without elements."""
        edible = TASKS[self.task].columns
        return World(instance.data["size"], self.columns, self._codes(instance.data), list(edible))

    def populate(
        self, world: World, own: Sequence[tuple[str, Element]], rng: np.random.Generator
    ) -> None:
        """Let elements act in a world: those of the task, the weather, and further ones."""
        for name, element in own:
            world.add_element(name, element, rng)
        if self.volatility:
            world.add_element("weather", Weather(self.volatility), rng)
        for number, element in enumerate(self._further(), 1):
            world.add_element(f"{type(element).__name__.lower()}-{number}", element, rng)

    def overlay(self, instance: Instance, rng: np.random.Generator, steps: int) -> Overlay:
        """The squares and what holds in them, over turns in which the elements act alone."""
        world = self.world(instance)
        self.populate(world, TASKS[self.task](self.setting).elements(), rng)
        first, rows = world.codes.copy(), []
        for time in range(2, steps + 1):
            before = world.codes.copy()
            world.advance()
            world.act(rng)
            square, column = np.nonzero(world.codes != before)
            code = world.codes[square, column]
            rows.append(np.stack([np.full(len(square), time), square, column, code], axis=1))
        changes = np.concatenate(rows) if rows else np.zeros((0, 4))
        knowledge = [
            Belief(row * world.size + column, name, value)
            for row, column, name, value in instance.data["knowledge"]
        ]
        return Overlay(
            Lattice((world.size, world.size)),
            self.columns,
            first,
            changes.astype(np.int64),
            max(steps, 1),
            knowledge=knowledge,
        )

    def reward_range(self) -> tuple[float, float]:
        """Rewards lie between -1 and 1."""
        return -1.0, 1.0

    def claims(self) -> Claims:
        """Acting at random is worth 0 in every interaction, if there is something to confuse."""
        unbalanced = self.task in ("gather", "locate") and self.setting.lookalikes == 0
        return Claims(balanced=not unbalanced)

    def scene(
        self,
        instance: Instance,
        observation: Observation,
        reward: float = 0.0,
    ) -> Mapping[str, Any]:
        """The squares that the agent perceives, with what holds there, and its last reward."""
        row, column, *numbers = np.atleast_1d(observation).tolist()
        width = len(self.columns) + 1
        cells = []
        for place, (down, right) in enumerate(offsets(self.perception)):
            inside, *codes = numbers[width * place : width * (place + 1)]
            if inside:
                cell = {"row": row + down, "column": column + right}
                holds = holding(self.columns, codes)
                here = ["agent"] if place == 0 else []
                cells.append({**cell, "holds": holds, "elements": here})
        return {
            "kind": "pworld",
            "task": self.task,
            "size": instance.data["size"],
            "cells": cells,
            "told": numbers[width * len(offsets(self.perception)) :],
            "buttons": ["up", "down", "left", "right", *TASKS[self.task](self.setting).buttons],
            "reward": reward,
        }


class PWorldEnvironment(Environment):
    """One world with an agent in it.

    Observations: the agent's row and column; then for each square of the window, its own first,
    whether it is in the world, and its code in every column; then what the task tells.
    """

    def __init__(self, environment_class: PWorld, instance: Instance) -> None:
        self._class, self._instance = environment_class, instance
        self._task = TASKS[environment_class.task](environment_class.setting)
        size = instance.data["size"]
        square = (2, *(1 + len(labels) for labels in environment_class.columns.values()))
        window = square * len(offsets(environment_class.perception))
        self.actions = MOVES + len(self._task.buttons)
        self.space = Space((size, size, *window, *self._task.extra))
        self._journal: Journal | None = None

    def start(self, rng: np.random.Generator) -> Percept:
        """Make the world anew."""
        self._rng, self.world = rng, self._class.world(self._instance)
        if self._class.journal is not None:
            if self._journal is None:
                self._journal = Journal(self._class.journal)
            source = fingerprint([self._class.elements, repr(rng.bit_generator.state)])
            name = f"{self._instance.key}-{source}"
            # One that vanished since the first world is not replaced by an empty one.
            self._journal.begin(self.world, name, make=not self._class.writing)
            self._class.writing = True
        self.world.enter("agent", self._instance.data["start"])
        self._class.populate(self.world, self._task.elements(), rng)
        self._task.start(self._instance)
        return Percept(0.0, self._observe())

    def step(self, action: int) -> Percept:
        """Let the agent act, then all elements."""
        if not 0 <= action < self.actions:
            raise ValueError(f"there is no action {action}")
        self.world.advance()
        self.world.note(action)
        if action < MOVES:
            self.world.move("agent", action)
        reward = self._task.act(self.world, action)
        self.world.act(self._rng)
        reward += self._task.turn(self.world, self._rng)
        return Percept(reward, self._observe())

    def _observe(self) -> Observation:
        square = self.world.positions["agent"]
        place = divmod(square, self.world.size)
        seen = self.world.perceive(square, self._class.perception)
        return np.concatenate([place, seen, np.array(self._task.told(), dtype=np.int64)])

    def briefing(self, seat: int = 0) -> Briefing:
        """What is told of the world and of the task."""
        setting, data = self._class.setting, self._instance.data
        remarks = {
            "task": self._class.task,
            "size": data["size"],
            "columns": {name: list(labels) for name, labels in self._class.columns.items()},
            "perception": self._class.perception,
            "window": [list(each) for each in offsets(self._class.perception)],
            "accuracy": self._class.accuracy,
            "targets": setting.targets,
            "lookalikes": setting.lookalikes,
            "profiles": profiles(setting) if self._class.task in ("locate", "tell") else {},
            "knowledge": data["knowledge"],
        }
        return Briefing(self.actions, self.space_of(seat), self.rewards, remarks)
