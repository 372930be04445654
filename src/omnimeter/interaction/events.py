"""A trace in the making: what happens is written down here, one event after the other."""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field

import numpy as np

from omnimeter.contract import Ending, Fault, Observation, Percept, Space, Trace, single
from omnimeter.interaction.seats import shown


@dataclass(slots=True)
class Events:
    """What has happened so far.

    Attributes:
        record: Whether actions and observations are kept too.
        space: The observations there can be.
        now: The nanosecond that it is.
        first_reward: The reward given before the first action.
        rewards: The reward of each completed interaction.
        times: When each was completed.
        actions: The actions, if they are kept.
        observations: What was seen, component after component, if it is kept.
    """

    record: bool
    space: Space = single(1)
    now: int = 0
    first_reward: float = 0.0
    rewards: array[float] = field(default_factory=lambda: array("d"))
    times: array[int] = field(default_factory=lambda: array("q"))
    actions: array[int] = field(default_factory=lambda: array("q"))
    observations: array[int] = field(default_factory=lambda: array("q"))

    def begin(self, percept: Percept) -> None:
        """Write down the first reward and observation."""
        if self.record:
            self._see(percept.observation)
        self.first_reward = percept.reward

    def add(self, action: int, reward: float, observation: Observation) -> None:
        """Write down a completed interaction."""
        if self.record:
            self._see(observation)
            self.actions.append(action)
        self.rewards.append(reward)
        self.times.append(self.now)

    def _see(self, observation: Observation) -> None:
        vector = self.space.vector(observation)
        if vector.shape != (len(self.space.sizes),):
            raise ValueError(f"the observation {shown(observation)} does not fit {self.space}")
        self.observations.extend(vector.tolist())

    def trace(self, end: int, ending: Ending, fault: Fault | None = None) -> Trace:
        """What happened, as arrays."""
        width = len(self.space.sizes)
        return Trace(
            rewards=np.array(self.rewards, dtype=np.float64),
            times=np.array(self.times, dtype=np.int64),
            end=end,
            ending=ending,
            first_reward=self.first_reward,
            fault=fault,
            actions=np.array(self.actions, dtype=np.int64) if self.record else None,
            observations=np.array(self.observations, dtype=np.int64).reshape(-1, width)
            if self.record
            else None,
        )
