"""Environments and agents made of kernels, as ordinary Python objects.

There is no second implementation: these objects call the same kernels that the compiled loop calls.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np

from omnimeter.contract import (
    Agent,
    AgentKernels,
    Briefing,
    Environment,
    EnvironmentClass,
    EnvironmentKernels,
    Instance,
    Move,
    Observation,
    Percept,
    Space,
)
from omnimeter.contract.kernels import State
from omnimeter.interaction.compilation import agent_entries, environment_entries


def seed_state(state: State, rng: np.random.Generator) -> None:
    """Give a state its chance: one 64-bit draw into its field ``rng``, if it has one."""
    if "rng" in state._fields:
        state.rng[0] = rng.integers(2**64, dtype=np.uint64)


class KernelEnvironment(Environment):
    """An environment that moves by kernels.

    Args:
        kernels: How it moves.
        state: Its state, a NamedTuple of one-dimensional arrays that nobody else holds.
        actions: The number of actions.
        space: The observations there can be.
        rewards: The lowest and the highest possible reward.
    """

    def __init__(
        self,
        kernels: EnvironmentKernels,
        state: State,
        actions: int,
        space: Space,
        rewards: tuple[float, float] = (-1.0, 1.0),
    ) -> None:
        self.kernels = kernels
        self.state = state
        self.actions = actions
        self.space = space
        self.rewards = rewards
        self._seen = np.zeros(len(space.sizes), dtype=np.int64)

    def start(self, rng: np.random.Generator) -> Percept:  # noqa: D102 - see Environment
        seed_state(self.state, rng)
        entries = environment_entries(self.kernels)
        self._advance = entries.advance
        reward = entries.start(*self.state, self._seen)
        return Percept(reward, self.space.shown(self._seen))

    def step(self, action: int) -> Percept:  # noqa: D102 - see Environment
        if not 0 <= action < self.actions:  # a kernel would read beyond its arrays
            raise ValueError(f"action {action} does not exist: 0 to {self.actions - 1}")
        reward = self._advance(*self.state, action, self._seen)
        seen = self._seen
        return Percept(reward, int(seen[0]) if self.space.single else seen.copy())


class KernelEnvironmentClass(EnvironmentClass):
    """An environment class whose environments are made of kernels."""

    kernels: ClassVar[EnvironmentKernels]

    @abstractmethod
    def build(self, instance: Instance) -> KernelEnvironment:
        """Make the environment that an instance describes."""


class KernelAgent(Agent):
    """An agent that behaves by kernels. Subclasses set ``kernels`` and define ``prepare``."""

    kernels: ClassVar[AgentKernels]

    @abstractmethod
    def prepare(self, briefing: Briefing) -> State:
        """A fresh state for an exercise, a NamedTuple of one-dimensional arrays."""

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:  # noqa: D102 - see Agent
        self._space = briefing.space
        self._state = self.prepare(briefing)
        seed_state(self._state, rng)
        entries = agent_entries(self.kernels)
        self._act, self._finish = entries.act, entries.finish
        entries.begin(*self._state)

    def act(self, reward: float, observation: Observation) -> int | Move:  # noqa: D102 - see Agent
        seen = self._space.vector(observation)
        action, delay = self._act(*self._state, float(reward), seen)
        return Move(action, delay / 1e9) if delay > 0 else action

    def finish(self, reward: float, observation: Observation) -> None:  # noqa: D102 - see Agent
        self._finish(*self._state, float(reward), self._space.vector(observation))
