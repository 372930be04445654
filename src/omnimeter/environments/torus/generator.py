"""The environment class of tori, and their scene."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from omnimeter.contract import Claims, Instance, InvalidInputError, Observation, Space
from omnimeter.contract.overlay import Lattice, Overlay
from omnimeter.environments.shared import random_run
from omnimeter.environments.torus.complexity import LETTERS, complexity, path_of
from omnimeter.environments.torus.dynamics import (
    EVIL_X,
    GOOD_X,
    KERNELS,
    SEES_EVIL,
    SEES_GOOD,
    SEES_LIMIT,
    STAY,
    WIDTH,
    TorusState,
    nearness_table,
)
from omnimeter.environments.torus.population import Population, population
from omnimeter.kernels import KernelEnvironment, KernelEnvironmentClass, generator_state

MIN_SIZE, MAX_SIZE = 3, 100
"""On fewer cells left and right lead to the same one. Every single action can make a difference:
checked at all sizes to 60, and at some up to the largest."""

MAX_PATH_LENGTH = 32
"""Longer paths take too long to be counted."""

MOVES = ("left", "right", "up", "down", "stay")
"""What the actions are called, in the order of their numbers."""

SHOWN = 1e-3
"""A wanted complexity may be given to three places: different ones differ by more."""


class Torus(KernelEnvironmentClass):
    """A grid without borders, on which Good is to be sought and Evil to be shunned.

    The agent moves left, right, up and down, or stays. Good and Evil repeat a path of such moves
    for ever. When their moves would bring them into the same cell, only one of them moves, drawn
    at random. Then the agent gets 1 / (d + 1) for its distance d to Good,
    less the same for Evil; distances are Euclidean, the shorter way round. It sees which of them is
    in each of the four cells next to its own, and whether the limit of the grid lies between
    (anytime test, section 6.3).

    All begin in cells drawn with uniform probability, Good and Evil in different ones. So wherever
    Good and Evil go, an agent that acts at random is in any cell with the same probability, and its
    expected reward is exactly 0 from the first action on.

    Complexity is Kt-max (anytime test, Definition 9): the bits of the shortest expressions of both
    paths, made of letters, repetition and concatenation, plus the logarithm of the
    longest answer in machine steps, which is one for each letter and each of the two. A path is
    first reduced to its shortest period.

    Args:
        size: The number of cells from one side to the other, 3 to 100.
        max_path_length: The largest number of letters of a drawn path, 1 to 32.
    """

    kernels = KERNELS

    def __init__(self, size: int = 9, max_path_length: int = 16) -> None:
        if not MIN_SIZE <= size <= MAX_SIZE:
            raise InvalidInputError(
                f"There is no torus of {size} x {size} cells.",
                f"Give a size from {MIN_SIZE} to {MAX_SIZE}.",
            )
        if not 1 <= max_path_length <= MAX_PATH_LENGTH:
            raise InvalidInputError(
                f"Paths cannot have up to {max_path_length} letters.",
                f"Give a max_path_length from 1 to {MAX_PATH_LENGTH}.",
            )
        self.size, self.max_path_length = size, max_path_length

    @property
    def _population(self) -> Population:
        return population(self.max_path_length)

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw two paths, by the universal distribution 2^-Kt-max or of the wanted complexity."""
        low, high = self.complexity_range()
        if complexity is not None:
            low, high = complexity - SHOWN, complexity + SHOWN
        instance = self._population.draw(rng, low, high)
        if instance is None:
            wanted = high if complexity is None else complexity
            near = " or ".join(f"{each:.3f}" for each in self._population.nearest(wanted))
            raise InvalidInputError(
                f"No torus with paths of up to {self.max_path_length} letters has complexity "
                f"{wanted:g}.",
                f"The nearest that there is: {near}.",
            )
        return instance

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw two paths whose complexity lies in a band, exactly in proportion to 2^-Kt-max."""
        return self._population.draw(rng, low, high)

    def members(self, low: float, high: float, limit: int) -> Sequence[Instance] | None:
        """All pairs of paths of a band, by complexity, if they are not too many."""
        return self._population.members(low, high, limit)

    def build(self, instance: Instance) -> KernelEnvironment:
        """Make the grid, and put Good and Evil on their paths."""
        good, evil = (
            np.array([LETTERS.index(letter) for letter in path_of(instance, name)], dtype=np.int64)
            for name in ("good", "evil")
        )
        turns, places = np.zeros(2, dtype=np.int64), np.zeros(6, dtype=np.int64)
        size = np.array([self.size], dtype=np.int64)
        nearness = nearness_table(self.size)
        state = TorusState(generator_state(), good, evil, turns, places, size, nearness)
        return KernelEnvironment(KERNELS, state, len(LETTERS), Space((2,) * (STAY * WIDTH)))

    def reward_range(self) -> tuple[float, float]:
        """Rewards lie between -1 and 1."""
        return -1.0, 1.0

    def claims(self) -> Claims:
        """Balanced, and every single action can make a difference.

        Good and Evil are never in the same cell. For any two different cells, the reward is not
        the same in the agent's own cell and all four around it; and where the one that gives way is
        drawn, the expected reward is half of what it would be if both had stayed.
        """
        return Claims(balanced=True, sensitive=1)

    def complexity(self, instance: Instance) -> float:
        """Kt-max of both paths."""
        return complexity(instance)

    def complexity_range(self) -> tuple[float, float]:
        """From L against L up to two paths of the largest length as they mostly are."""
        return self._population.lowest, self._population.highest

    def overlay(self, instance: Instance, rng: np.random.Generator, steps: int) -> Overlay:
        """The cells by x and y, with Good, Evil, the limits next to each, and what it would pay."""
        size = self.size
        along = np.arange(size)
        paid = nearness_table(size).reshape(size, size)  # [up, right]
        limits = np.zeros((size, size, 4), dtype=np.int64)
        limits[0, :, 0] = limits[-1, :, 1] = limits[:, -1, 2] = limits[:, 0, 3] = 1
        moments = np.zeros((steps, size, size, 7), dtype=np.int64)
        rewards = np.zeros((steps, size, size))
        for time, state in enumerate(random_run(self.build(instance), rng, steps)):
            for column, index, sign in ((0, GOOD_X, 1), (1, EVIL_X, -1)):
                x, y = state.places[index : index + 2]
                moments[time, x, y, column] = 1
                right, up = (x - along[:, np.newaxis]) % size, (y - along) % size
                rewards[time] += sign * paid[up, right]
            moments[time, :, :, 2:6] = limits
        values, codes = np.unique(rewards.round(12), return_inverse=True)
        moments[..., 6] = codes.reshape(rewards.shape) + 1
        columns: dict[str, Any] = dict.fromkeys(
            ("good", "evil", "limit left", "limit right", "limit up", "limit down"), (True,)
        )
        columns["reward"] = values.tolist()
        lattice = Lattice((size, size), torus=True)
        return Overlay.from_moments(lattice, columns, moments.reshape(steps, size * size, 7))

    def scene(  # the paths are hidden
        self,
        instance: Instance,  # noqa: ARG002
        observation: Observation,
        reward: float = 0.0,
    ) -> Mapping[str, Any]:
        """Five cells of a grid of three by three as an agent sees them, and its last reward.

        Whether Good or Evil is in the agent's own cell is not seen: only the reward tells.
        """
        seen = np.atleast_1d(observation).tolist()
        cells = []
        places = ((0, 1), (2, 1), (1, 0), (1, 2), (1, 1))  # from the upper left
        for action, (column, row) in enumerate(places):
            symbols, limit = ["circle"], False  # the agent
            if action != STAY:
                around = seen[WIDTH * action : WIDTH * (action + 1)]
                pairs = ((SEES_GOOD, "square"), (SEES_EVIL, "diamond"))
                symbols = [symbol for bit, symbol in pairs if around[bit]]
                limit = bool(around[SEES_LIMIT])
            cells.append(
                {"column": column, "row": row, "symbols": symbols, "limit": limit, "action": action}
            )
        return {"kind": "torus", "cells": cells, "buttons": list(MOVES), "reward": reward}

    def hidden(self, environment: Any) -> Mapping[str, Any]:
        """Where all three are, and the next moves of Good and Evil."""
        state: TorusState = environment.state
        x, y, good_x, good_y, evil_x, evil_y = state.places.tolist()
        good, evil = state.turns.tolist()
        return {
            "facts": {
                "agent at": f"({x}, {y})",
                "Good at": f"({good_x}, {good_y})",
                "Evil at": f"({evil_x}, {evil_y})",
                "next move of Good": MOVES[int(state.good[good])],
                "next move of Evil": MOVES[int(state.evil[evil])],
            }
        }
