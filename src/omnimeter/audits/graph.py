"""All the states of a small deterministic environment, and what follows from knowing them."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from omnimeter.audits.positions import Positions
from omnimeter.contract import FloatArray, IntArray

ROUNDING = 1e-12
"""The part of a sum of rewards that may be rounding."""

_STILL = 1e-13
_PATIENCE = 20_000


@dataclass(frozen=True)
class Graph:
    """The states that can be reached from the beginning, which is state 0.

    Attributes:
        following: The state after each action, a row per state.
        rewards: The reward of each action, a row per state.
        origins: From which state each was reached first, and by which action; nearer states have
            lower numbers.
    """

    following: IntArray
    rewards: FloatArray
    origins: IntArray

    def way(self, state: int) -> list[int]:
        """A shortest sequence of actions that leads to a state."""
        actions: list[int] = []
        while state != 0:
            state, action = (int(x) for x in self.origins[state])
            actions.append(action)
        return actions[::-1]

    def horizons(self, most: int) -> IntArray:
        """The fewest actions from each state whose sums of rewards can differ; 0 if above most.

        Decided exactly: after m actions the largest and the smallest sum follow from those after
        m - 1.
        """
        largest, smallest, weight = (np.zeros(len(self.following)) for _ in range(3))
        needed = np.zeros(len(self.following), dtype=np.int64)
        for length in range(1, most + 1):
            largest = (self.rewards + largest[self.following]).max(axis=1)
            smallest = (self.rewards + smallest[self.following]).min(axis=1)
            weight = (np.abs(self.rewards) + weight[self.following]).max(axis=1)
            differ = largest - smallest > ROUNDING * weight
            needed[(needed == 0) & differ] = length
            if needed.all():
                break
        return needed

    def random_mean(self) -> float | None:
        """A random agent's long-run mean reward; ``None`` if it settles too slowly to be found.

        Found by following where the agent may be. It rests in every other turn: that changes no
        long-run mean, and makes the probabilities settle even where states come in turns.
        """
        states, actions = self.following.shape
        where = np.zeros(states)
        where[0] = 1.0
        targets = self.following.ravel()
        for _ in range(_PATIENCE):
            moved = np.bincount(targets, np.repeat(where / actions, actions), minlength=states)
            if np.abs(moved - where).max() < _STILL:
                return float(where @ self.rewards.mean(axis=1))
            where = (where + moved) / 2
        return None


def explore(positions: Positions, actions: int) -> Graph | None:
    """All states, breadth first; ``None`` when they are too many or cannot be told apart.

    The state of the generator belongs to a place. So where the states come to an end, no action
    ever drew from it, and there is no chance in them.
    """
    places: list[Hashable] = [positions.save()]
    numbers = {places[0]: 0}
    origins = [(-1, -1)]
    following: list[int] = []
    rewards: list[float] = []
    for state in range(positions.reach // actions):
        for action in range(actions):
            positions.restore(places[state])
            rewards.append(positions.step(action))
            place = positions.save()
            if place not in numbers:
                numbers[place] = len(places)
                places.append(place)
                origins.append((state, action))
            following.append(numbers[place])
        if state + 1 == len(places):
            shape = len(places), actions
            return Graph(
                np.array(following).reshape(shape),
                np.array(rewards, dtype=np.float64).reshape(shape),
                np.array(origins),
            )
    return None
