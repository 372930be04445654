"""Agents of a user's own with an offline phase, and their faults."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from omnimeter import Agent, Briefing, Observation, Prior


class Counting(Agent):
    """Prepares the state with the highest reward; takes that many actions in turn."""

    def prepare(self, prior: Prior, rng: np.random.Generator) -> Mapping[str, Any]:
        rewards = prior.distribution.rewards.max(axis=(0, 1))
        return {
            "best": int(rewards.argmax()),
            "gamma": prior.gamma,
            "horizon": prior.horizon,
            "drawn": float(rng.random()),
        }

    def restore(self, prior: Prior, prepared: Mapping[str, Any]) -> None:
        self.prepared = dict(prepared)
        self.states = prior.distribution.states

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        self.actions = briefing.actions

    def act(self, reward: float, observation: Observation) -> int:
        assert self.prepared["gamma"] == 0.95
        return int(self.prepared["best"]) % self.actions


class Failing(Counting):
    """Cannot prepare."""

    def prepare(self, prior: Prior, rng: np.random.Generator) -> Mapping[str, Any]:
        raise RuntimeError("no idea")


class Unserialisable(Counting):
    """Prepares something that is not JSON."""

    def prepare(self, prior: Prior, rng: np.random.Generator) -> Mapping[str, Any]:
        return {"nothing": object()}


class Changing(Counting):
    """Prepares something else each time."""

    made = 0

    def prepare(self, prior: Prior, rng: np.random.Generator) -> Mapping[str, Any]:
        Changing.made += 1
        return {**super().prepare(prior, rng), "made": Changing.made}
