"""The grid of the experiment on perturbation tolerance: rewards in two opposite corners."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property
from math import isfinite
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import Claims, Instance, InvalidInputError, Observation
from omnimeter.contract.agent import FloatArray, IntArray, single
from omnimeter.contract.overlay import Lattice, Overlay
from omnimeter.kernels import (
    EnvironmentKernels,
    KernelEnvironment,
    KernelEnvironmentClass,
    below,
    generator_state,
    kernel,
)

UP, DOWN, LEFT, RIGHT = range(4)
NO_REWARD, FIRST, SECOND = range(3)


class CornersState(NamedTuple):
    """Where the agent is, and what is paid.

    Attributes:
        place: The square, counted along the rows from 0.
        side: The number of squares along each side.
        rewards: What is paid elsewhere, in the first corner and in the last.
    """

    rng: NDArray[np.uint64]
    place: IntArray
    side: IntArray
    rewards: FloatArray


@kernel
def relocate(state: Any) -> None:
    """Put the agent into a random square without reward."""
    state.place[0] = 1 + below(state.rng, state.side[0] * state.side[0] - 2)


@kernel
def reset(state: Any) -> Any:
    """Begin in a random square without reward."""
    relocate(state)
    return state.rewards[NO_REWARD]


@kernel
def step(state: Any, action: Any) -> Any:
    """Move unless a wall is there; in a corner with a reward, pay it and relocate the agent."""
    side, place = state.side[0], state.place[0]
    column = place % side
    last = side * side - 1
    if action == UP:
        place = place - side if place >= side else place
    elif action == DOWN:
        place = place + side if place + side <= last else place
    elif action == LEFT:
        place = place - 1 if column > 0 else place
    else:
        place = place + 1 if column < side - 1 else place
    state.place[0] = place
    if 0 < place < last:
        return state.rewards[NO_REWARD]
    relocate(state)
    return state.rewards[FIRST] if place == 0 else state.rewards[SECOND]


@kernel
def observe(state: Any, out: Any) -> None:
    """Show the square."""
    out[0] = state.place[0]


KERNELS = EnvironmentKernels(CornersState, reset, step, observe)

MIN_SIZE, MAX_SIZE = 2, 1000


class Corners(KernelEnvironmentClass):
    """A square grid with rewards in two opposite corners.

    The agent goes up, down, left or right; walls block. In square (1,1) it gets the first reward,
    in the opposite corner the second one, and after either it is put into a random square without
    reward. Everything else pays 0. This is the world of the experiment of the paper on
    perturbation tolerance. In a ``switch`` to other rewards the agent stays where it is.

    Args:
        size: The number of squares along each side.
        rewards: What is paid in (1,1) and in the opposite corner; by default 10 and -10.
        rescale: Whether rewards are mapped linearly to [-1, 1].
    """

    kernels = KERNELS
    carried = ("place",)

    def __init__(
        self,
        size: int = 8,
        rewards: list[float] | None = None,
        rescale: bool = False,
    ) -> None:
        if not MIN_SIZE <= size <= MAX_SIZE:
            message = f"A side cannot have {size} squares."
            raise InvalidInputError(message, f"Give a size from {MIN_SIZE} to {MAX_SIZE}.")
        rewards = [10.0, -10.0] if rewards is None else rewards
        if len(rewards) != 2 or not all(map(isfinite, rewards)):
            message = f"The rewards of the two corners are {list(rewards)}."
            raise InvalidInputError(message, "Give two finite numbers, such as [10, -10].")
        self.size, self.rewards, self.rescale = size, [float(each) for each in rewards], rescale

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:  # noqa: ARG002
        """The one environment of the class."""
        own = float(self.size**2)
        if complexity is not None and complexity != own:
            message = f"The environment of this class has complexity {own:g}, not {complexity:g}."
            raise InvalidInputError(message, "Leave the complexity out, or ask for that one.")
        return Instance({"size": self.size, "rewards": self._paid()})

    def _paid(self) -> list[float]:
        """What is paid elsewhere, in the first corner and in the last."""
        paid = [0.0, *self.rewards]
        if self.rescale and max(paid) > min(paid):
            low, high = min(paid), max(paid)
            paid = [min(1.0, max(-1.0, (2 * each - low - high) / (high - low))) for each in paid]
        return paid

    def members(self, low: float, high: float, limit: int) -> list[Instance] | None:
        """The one environment, if its complexity is in the band."""
        own = self.complexity_range()[0]
        if limit < 1:
            return None
        return [self.draw(np.random.default_rng(0))] if low <= own <= high else []

    def build(self, instance: Instance) -> KernelEnvironment:
        """Make the grid.

        Raises:
            InvalidInputError: The description is not one of a grid.
        """
        side, paid = instance.data["size"], [float(each) for each in instance.data["rewards"]]
        whole = type(side) is int and MIN_SIZE <= side <= MAX_SIZE
        if not whole or len(paid) != 3 or not all(map(isfinite, paid)):
            message = f"A grid cannot have the size {side!r} and the rewards {paid}."
            advice = f"Give a size from {MIN_SIZE} to {MAX_SIZE}, and three finite rewards."
            raise InvalidInputError(message, advice)
        state = CornersState(
            rng=generator_state(),
            place=np.ones(1, dtype=np.int64),
            side=np.array([side], dtype=np.int64),
            rewards=np.array(paid, dtype=np.float64),
        )
        return KernelEnvironment(KERNELS, state, 4, single(side * side), (min(paid), max(paid)))

    def reward_range(self) -> tuple[float, float]:
        """The lowest and the highest of what is paid anywhere."""
        paid = self._paid()
        return min(paid), max(paid)

    def claims(self) -> Claims:
        """Neither balanced nor sensitive, whatever the rewards."""
        return Claims(balanced=False)

    def complexity(self, instance: Instance) -> float:
        """The number of squares."""
        return float(instance.data["size"] ** 2)

    def complexity_range(self) -> tuple[float, float]:
        """The number of squares, twice."""
        return float(self.size**2), float(self.size**2)

    def overlay(self, instance: Instance, rng: np.random.Generator, steps: int) -> Overlay:  # noqa: ARG002
        """The squares, with the column x, the row y and the reward of each as propositions."""
        side, (none, first, second) = instance.data["size"], instance.data["rewards"]
        paid = {0: first, side * side - 1: second}
        squares = [
            {"x": place % side + 1, "y": place // side + 1, "reward": paid.get(place, none)}
            for place in range(side * side)
        ]
        return replace(Overlay.of(Lattice((side, side)), squares), duration=steps)

    def degree(self, before: Instance, after: Instance) -> float:
        """The degree of perturbation (6), which compares ideal policies and signs of rewards."""
        (_, *old), (_, *new) = before.data["rewards"], after.data["rewards"]
        return Perturbation((old[0], old[1]), (new[0], new[1]), before.data["size"]).degree

    def scene(
        self, instance: Instance, observation: Observation, reward: float = 0.0
    ) -> Mapping[str, Any]:
        """The grid with the agent in it; where rewards are is to be found out."""
        side = int(instance.data["size"])
        (place,) = np.atleast_1d(observation).tolist()
        return {
            "kind": "corners",
            "size": side,
            "row": place // side,
            "column": place % side,
            "buttons": ["up", "down", "left", "right"],
            "reward": reward,
        }


@dataclass(frozen=True, slots=True)
class IdealPolicy:
    """What an optimal policy does and gets in a grid with two rewards.

    Attributes:
        average: The reward per turn that it has in the long run, exactly.
        toward_first: For each square, whether it goes toward (1,1), and not to the other corner.
    """

    average: Fraction
    toward_first: NDArray[np.bool_]


@dataclass(frozen=True)
class Perturbation:
    """Rewards that turn into others.

    Attributes:
        before: What is paid in both corners at first.
        after: What is paid later.
        size: The number of squares along each side.
    """

    before: tuple[float, float]
    after: tuple[float, float]
    size: int = 8

    @cached_property
    def policy_difference(self) -> int:
        """D_o (equation 3): how many squares go toward the other corner, by the ideal policies."""
        before, after = (ideal_policy(each, self.size) for each in (self.before, self.after))
        return int((before.toward_first != after.toward_first).sum())

    @cached_property
    def degree(self) -> float:
        """D_p = D_o / 16 + 3 V+ + V- (equation 6); in other sizes, a quarter of all squares for 16.

        V+ is the number of rewards that were negative and become positive, V- the reverse.
        """
        pairs = list(zip(self.before, self.after, strict=True))
        gained = sum(old < 0 < new for old, new in pairs)
        lost = sum(new < 0 < old for old, new in pairs)
        return 4 * self.policy_difference / self.size**2 + 3 * gained + lost


@cache
def ideal_policy(rewards: tuple[float, float], size: int = 8) -> IdealPolicy:
    """The policy with the greatest average reward per turn.

    From the square into which the agent is put, it goes straight to one of the corners; then all
    begins anew. By the renewal theorem a policy that needs d turns for a reward r from each square
    has the average of r over the average of d, over all squares without reward. The best average g
    solves the average of max(r1 - g d1, r2 - g d2) = 0, which policy iteration does exactly, in
    rational numbers. It is 0 where no reward is positive: then the best is to avoid both.

    Where both corners are equally good for a square, it goes to the greater reward, or to (1,1) if
    they are the same. In the two corners, where no agent ever stands, the same rule is applied.
    """
    first, second = map(Fraction, rewards)
    places = np.arange(size * size)
    near = [int(each) for each in places // size + places % size]  # d1 of each square
    prefers = first >= second
    average = Fraction(0)
    while True:
        gains = [(first - average * d, second - average * (2 * (size - 1) - d)) for d in near]
        toward = [prefers if one == other else one > other for one, other in gains]
        chosen = [
            (first, d) if to_first else (second, 2 * (size - 1) - d)
            for to_first, d in zip(toward, near, strict=True)
        ][1:-1]
        improved = sum(r for r, _ in chosen) / Fraction(sum(d for _, d in chosen))
        if improved <= average:
            return IdealPolicy(average, np.array(toward))
        average = improved
