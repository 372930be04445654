"""The three MDP distributions of the Bayesian RL benchmark, appendix B."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from omnimeter.contract import MDPDistribution
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.mdp import scene
from omnimeter.environments.mdp.generator import FiniteMDPs


def chain_distribution(*, library: bool = False) -> MDPDistribution:
    """The Generalised Chain (B.1): five states, three actions, which all have the same prior."""
    rows = np.zeros((5, 5))
    rows[:, 0] = 1  # back to the beginning
    rows[range(4), range(1, 5)] = 1  # on along the chain
    rows[4] = [1, 0 if library else 1, 0, 0, 1]
    theta = np.repeat(rows[:, np.newaxis], 3, axis=1)
    return MDPDistribution.of(theta, [2, 0, 0, 0, 10])


def double_loop_distribution() -> MDPDistribution:
    """The Generalised Double-Loop (B.2): nine states, two actions, which have the same prior."""
    rows = np.zeros((9, 9))
    rows[range(8), range(1, 9)] = 1  # on along a loop
    rows[4] = 0  # the end of the first
    rows[0, 5] = 1  # into the second
    rows[4:, 0] = 1  # back to the beginning
    theta = np.repeat(rows[:, np.newaxis], 2, axis=1)
    rewards = np.zeros_like(theta)
    rewards[4, :, 0], rewards[8, :, 0] = 1, 2
    return MDPDistribution.of(theta, rewards)


SIDE = 5
"""The cells of the grid from one side to the other."""

MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
"""Rows and columns of the grid that a move goes; rows count downwards."""


def grid_distribution(moves: Sequence[str]) -> MDPDistribution:
    """The Grid (B.3): moves of 25 cells that may fail, and 10 for reaching the opposite corner.

    Args:
        moves: The actions, in their order.
    """
    cells = SIDE * SIDE
    theta: FloatArray = np.zeros((cells, len(moves), cells))
    rewards = np.zeros_like(theta)
    for cell in range(cells):
        for action, move in enumerate(moves):
            row, column = (at + by for at, by in zip(divmod(cell, SIDE), MOVES[move], strict=True))
            theta[cell, action, cell] = 1
            if (row, column) == (SIDE - 1, SIDE - 1):  # the goal leads to the start at once
                theta[cell, action, 0] = 1
                rewards[cell, action, 0] = 10
            elif 0 <= row < SIDE and 0 <= column < SIDE:
                theta[cell, action, SIDE * row + column] = 1
    return MDPDistribution.of(theta, rewards)


def _uniform(given: MDPDistribution) -> MDPDistribution:
    """The prior of the inaccurate case (§5.2): each transition has been observed once."""
    return MDPDistribution.of(np.ones_like(given.theta), given.rewards, given.initial)


class GeneralisedChain(FiniteMDPs):
    """The Generalised Chain: on for a large reward, or back for a small one.

    Five states in a chain and three actions, each of which leads on to the next state or back to
    the first. Reaching the first state pays 2, reaching the last one, or staying there, 10
    (Bayesian RL benchmark, 5.2.1 and B.1).

    Args:
        variant: ``paper`` as in appendix B; ``library`` as in the distribution file of the
            authors' library, where the last state never leads to the second; ``uniform`` with
            every theta 1, the prior of the inaccurate case.
        rescale: Whether rewards are mapped linearly to [-1, 1].
    """

    def __init__(
        self, variant: Literal["paper", "library", "uniform"] = "paper", rescale: bool = False
    ) -> None:
        known = chain_distribution(library=variant == "library")
        super().__init__(_uniform(known) if variant == "uniform" else known, rescale=rescale)
        self.variant = variant

    def positions(self) -> list[scene.Position]:
        """The chain from left to right."""
        return scene.line(5)


class GeneralisedDoubleLoop(FiniteMDPs):
    """The Generalised Double-Loop: one loop is a trap that pays, the other pays more.

    Two loops of five states cross in the first one, and two actions have the same prior. One loop
    cannot be left, and its end pays 1. Every state of the other leads on, or back to the first;
    its end pays 2 (Bayesian RL benchmark, 5.2.2 and B.2).

    Args:
        variant: ``paper`` as in appendix B, or ``uniform`` with every theta 1, the prior of the
            inaccurate case.
        rescale: Whether rewards are mapped linearly to [-1, 1].
    """

    def __init__(
        self, variant: Literal["paper", "uniform"] = "paper", rescale: bool = False
    ) -> None:
        known = double_loop_distribution()
        super().__init__(_uniform(known) if variant == "uniform" else known, rescale=rescale)
        self.variant = variant

    def positions(self) -> list[scene.Position]:
        """The two loops as an eight."""
        return scene.eight(9)


class Grid(FiniteMDPs):
    """The Grid: moves that may fail, and a goal in the opposite corner.

    The agent goes up, down, left or right on five by five cells, from one corner to the opposite
    one. Reaching it pays 10 and leads back to the start. Each move may fail with a probability of
    its own, and then the agent stays (Bayesian RL benchmark, 5.2.3 and B.3).

    Args:
        variant: ``paper`` as in appendix B; ``library`` with the actions in the order of the
            authors' library, left, right, up, down; ``uniform`` and ``library-uniform`` with every
            theta 1, the prior of the inaccurate case.
        rescale: Whether rewards are mapped linearly to [-1, 1].
    """

    def __init__(
        self,
        variant: Literal["paper", "library", "uniform", "library-uniform"] = "paper",
        rescale: bool = False,
    ) -> None:
        moves = list(MOVES)
        self._moves = moves[2:] + moves[:2] if variant.startswith("library") else moves
        known = grid_distribution(self._moves)
        known = _uniform(known) if variant.endswith("uniform") else known
        super().__init__(known, rescale=rescale)
        self.variant = variant

    def action_names(self) -> list[str]:
        """The four moves."""
        return self._moves

    def state_names(self) -> list[str]:
        """The row and the column of a cell, S for the start, G for the goal."""
        sides = range(1, SIDE + 1)
        cells = [f"{row},{column}" for row in sides for column in sides]
        return ["S", *cells[1:-1], "G"]

    def positions(self) -> list[scene.Position]:
        """The cells, rows downwards."""
        return scene.square(SIDE * SIDE)
