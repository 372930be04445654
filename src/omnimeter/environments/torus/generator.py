"""Which tori there are, and how they are drawn and built."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from omnimeter.contract import Claims, Instance, InvalidInputError, Observation, Space
from omnimeter.contract.agent import IntArray
from omnimeter.environments.torus.complexity import LETTERS, Pairs, complexity, pairs, path_of
from omnimeter.environments.torus.dynamics import (
    KERNELS,
    STAY,
    WIDTH,
    TorusState,
    nearness_table,
    scene,
)
from omnimeter.kernels import KernelEnvironment, KernelEnvironmentClass, generator_state

SMALLEST = 3
"""On fewer cells left and right lead to the same one."""

LARGEST = 100
"""Every single action can make a difference: checked at all sizes to 60, and at some up to this."""

MOST_LETTERS = 32
"""Longer paths take too long to be counted and graded."""

SHOWN = 1e-3
"""A wanted complexity may be given to three places: different ones differ by more."""


class Torus(KernelEnvironmentClass):
    """A grid without borders, on which Good is to be sought and Evil to be shunned.

    The agent moves left, right, up and down, or stays. Good and Evil repeat a path of such moves
    for ever. When their moves would bring them into the same cell, chance lets one of them move
    and keeps the other where it was. Then the agent gets 1 / (d + 1) for its distance d to Good,
    less the same for Evil; distances are Euclidean, the shorter way round. It sees which of them is
    in each of the four cells next to its own, and whether the limit of the grid lies between
    (anytime test, section 6.3).

    All begin in cells drawn with uniform probability, Good and Evil in different ones. So wherever
    Good and Evil go, an agent that acts at random is in any cell with the same probability, and its
    expected reward is exactly 0 from the first action on.

    Complexity is Kt-max (anytime test, Definition 9): the bits of the shortest expressions of both
    paths, made of letters, repetition and one thing after another, plus the logarithm of the
    longest answer in machine steps, which is one for each letter and each of the two. A path is
    first reduced to its shortest period.

    Args:
        size: The number of cells from one side to the other, 3 to 100.
        longest: How many letters the paths that are drawn have at most, 1 to 32.
    """

    kernels = KERNELS

    def __init__(self, size: int = 9, longest: int = 16) -> None:
        if not SMALLEST <= size <= LARGEST:
            raise InvalidInputError(
                f"There is no torus of {size} x {size} cells.",
                f"Give a size from {SMALLEST} to {LARGEST}.",
            )
        if not 1 <= longest <= MOST_LETTERS:
            raise InvalidInputError(
                f"Paths cannot have up to {longest} letters.",
                f"Give a longest path of 1 to {MOST_LETTERS} letters.",
            )
        self.size = size
        self.longest = longest

    @property
    def _pairs(self) -> Pairs:
        return pairs(self.longest)

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw two paths, by the universal distribution 2^-Kt-max or of the wanted complexity."""
        if complexity is None:
            low, high = self.complexity_range()
        else:
            low, high = complexity - SHOWN, complexity + SHOWN
        drawn = self._pairs.draw(rng, low, high)
        if drawn is None:
            raise self._nothing_at(high if complexity is None else complexity)
        return drawn

    def _nothing_at(self, wanted: float) -> InvalidInputError:
        near = " or ".join(f"{each:.3f}" for each in self._pairs.nearest(wanted))
        return InvalidInputError(
            f"No torus with paths of up to {self.longest} letters has complexity {wanted:g}.",
            f"The nearest that there is: {near}.",
        )

    def complexity(self, instance: Instance) -> float:
        """Kt-max of both paths."""
        return complexity(instance)

    def complexity_range(self) -> tuple[float, float]:
        """From L against L up to two paths of the longest length as they mostly are."""
        return self._pairs.lowest, self._pairs.highest

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw two paths whose complexity lies in a band, exactly in proportion to 2^-Kt-max."""
        return self._pairs.draw(rng, low, high)

    def members(self, low: float, high: float, limit: int) -> Sequence[Instance] | None:
        """All pairs of paths of a band, by complexity, if they are not too many."""
        return self._pairs.listed(low, high, limit)

    def build(self, instance: Instance) -> KernelEnvironment:
        """Make the grid, and put Good and Evil on their paths."""
        state = TorusState(
            rng=generator_state(),
            good=_moves(path_of(instance, "good")),
            evil=_moves(path_of(instance, "evil")),
            turns=np.zeros(2, dtype=np.int64),
            places=np.zeros(6, dtype=np.int64),
            size=np.array([self.size], dtype=np.int64),
            nearness=nearness_table(self.size),
        )
        return KernelEnvironment(KERNELS, state, len(LETTERS), Space((2,) * (STAY * WIDTH)))

    def claims(self) -> Claims:
        """Balanced, and every single action can make a difference.

        Good and Evil are never in the same cell. For any two different cells, what one gets is not
        the same in the own cell and all four around it; and where chance decides who gives way,
        what one gets on average is half of what it would be if both had stayed.
        """
        return Claims(balanced=True, sensitive=1)

    def scene(  # the paths are not to be seen
        self,
        instance: Instance,  # noqa: ARG002
        observation: Observation,
        reward: float = 0.0,
    ) -> Mapping[str, Any]:
        """The own cell and those around it."""
        return scene(np.atleast_1d(observation).tolist(), reward)


def _moves(path: str) -> IntArray:
    return np.array([LETTERS.index(letter) for letter in path], dtype=np.int64)
