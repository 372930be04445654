"""A walk and an agent in plain Python, without kernels."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnimeter.contract import (
    Agent,
    Briefing,
    Environment,
    EnvironmentClass,
    Instance,
    Observation,
    Percept,
    single,
)
from omnimeter.environments.torus.dynamics import LEFT
from omnimeter_sample.ring import ACTIONS, RIGHT, check_size, draw_ring

if TYPE_CHECKING:
    import numpy as np


class PlainWalkEnvironment(Environment):
    """One ring."""

    actions = ACTIONS

    def __init__(self, instance: Instance) -> None:
        self.data = instance.data
        self.space = single(self.data["size"])
        self.position = 0

    def start(self, rng: np.random.Generator) -> Percept:
        self.position = int(rng.integers(self.data["size"]))
        return Percept(0.0, self.position)

    def step(self, action: int) -> Percept:
        if not 0 <= action < ACTIONS:
            raise ValueError(f"there is no action {action}")
        move = {LEFT: -1, RIGHT: 1}.get(action, 0)
        self.position = (self.position + move) % self.data["size"]
        reward = float(self.position == self.data["good"]) - float(
            self.position == self.data["bad"]
        )
        return Percept(reward, self.position)


class PlainWalk(EnvironmentClass):
    """A walk on a ring with one good and one bad cell, in plain Python.

    Args:
        size: The number of cells when no complexity is asked for.
    """

    def __init__(self, size: int = 8) -> None:
        self.size = check_size(size)

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return draw_ring(rng, self.size if complexity is None else check_size(complexity))

    def complexity(self, instance: Instance) -> float:
        return float(instance.data["size"])

    def build(self, instance: Instance) -> Environment:
        return PlainWalkEnvironment(instance)


class Repeater(Agent):
    """Repeats an action that brought enough, and draws another one otherwise.

    Args:
        enough: The least reward that is enough.
    """

    def __init__(self, enough: float = 0.5) -> None:
        self.enough = enough

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        self.actions = briefing.actions
        self.rng = rng
        self.last = 0

    def act(self, reward: float, observation: Observation) -> int:
        if reward < self.enough:
            self.last = int(self.rng.integers(self.actions))
        return self.last
