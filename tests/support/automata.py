"""Automata as environment classes, and what the tests of audits share."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnimeter.audits import Audit, Finding, audit
from omnimeter.contract import Claims, Environment, EnvironmentClass, Instance, Percept, single


class Automaton(Environment):
    """States with a row of next states and a row of rewards each, seen by numbers, or as shown."""

    def __init__(
        self,
        following: list[list[int]],
        rewards: list[list[float]],
        shown: list[int] | None = None,
    ) -> None:
        self.following, self.pays = following, rewards
        self.shown = list(range(len(following))) if shown is None else shown
        self.actions = len(following[0])
        self.space = single(len(following))
        self.state = 0

    def start(self, rng: np.random.Generator) -> Percept:
        self.state = 0
        return Percept(0.0, self.shown[0])

    def step(self, action: int) -> Percept:
        reward = self.pays[self.state][action]
        self.state = self.following[self.state][action]
        return Percept(reward, self.shown[self.state])


class Automata(EnvironmentClass):
    """Always the same automaton, under as many names as are drawn."""

    def __init__(
        self,
        following: list[list[int]],
        rewards: list[list[float]],
        claims: Claims = Claims(),  # noqa: B008 - a frozen value
        shown: list[int] | None = None,
    ) -> None:
        self.following, self.rewards, self._claims = following, rewards, claims
        self.shown = shown

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"name": int(rng.integers(1000))})

    def complexity(self, instance: Instance) -> float:
        return 1.0

    def build(self, instance: Instance) -> Environment:
        return Automaton(self.following, self.rewards, self.shown)

    def claims(self) -> Claims:
        return self._claims


class Coins(Automata):
    """Pays 1 or -1 at random, whatever the action; one instance."""

    def __init__(self, mean: float, claims: Claims = Claims()) -> None:  # noqa: B008
        super().__init__([[0, 0]], [[0.0, 0.0]], claims)
        self.mean = mean

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({})

    def build(self, instance: Instance) -> Environment:
        return Coin(self.mean)


class Coin(Environment):
    actions = 2
    space = single(1)

    def __init__(self, mean: float) -> None:
        self.probability = (1 + mean) / 2

    def start(self, rng: np.random.Generator) -> Percept:
        self.rng = rng
        return Percept(0.0, 0)

    def step(self, action: int) -> Percept:
        return Percept(1.0 if self.rng.random() < self.probability else -1.0, 0)


MATCH = [[0, 1], [0, 1]]
"""Action 0 leads to state 0, action 1 to state 1."""

FAIR = [[1.0, -1.0], [-1.0, 1.0]]
"""Going to state 0 is good in state 0 and bad in state 1: nothing on average."""


def finding(result: Audit, check: str) -> Finding:
    return next(each for each in result.findings if each.check == check)


def small(environment_class: EnvironmentClass, **changes: Any) -> Audit:
    return audit(environment_class, **{"instances": 8, "interactions": 120, **changes})
