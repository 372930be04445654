"""A small class whose complexities and members are known, for tests of how tests choose."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from omnimeter.contract import (
    Claims,
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    Percept,
    single,
)


class Coin(Environment):
    """Pays 1 for the right one of two actions and -1 for the other."""

    actions = 2
    space = single(1)

    def __init__(self, right: int) -> None:
        self.right = right

    def start(self, rng: Any) -> Percept:
        return Percept(0.0, 0)

    def step(self, action: int) -> Percept:
        return Percept(1.0 if action == self.right else -1.0, 0)


class Ladder(EnvironmentClass):
    """Rungs with some instances each.

    Args:
        rungs: How many instances each complexity has.
        listed: Whether its members can be listed.
        balanced: What it claims.
    """

    def __init__(
        self, rungs: dict[str, int] | None = None, listed: bool = True, balanced: bool = True
    ) -> None:
        self.rungs = {
            float(complexity): n for complexity, n in (rungs or {"2": 2, "2.5": 4, "4": 3}).items()
        }
        self.listed = listed
        self.balanced = balanced
        self.drawn = Counter[str]()

    def all(self, low: float, high: float) -> list[Instance]:
        return [
            Instance({"complexity": complexity, "number": number})
            for complexity, count in sorted(self.rungs.items())
            if low <= complexity <= high
            for number in range(count)
        ]

    def complexity_range(self) -> tuple[float, float]:
        return min(self.rungs), max(self.rungs)

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        low, high = self.complexity_range() if complexity is None else (complexity, complexity)
        drawn = self.draw_between(rng, low, high)
        if drawn is None:
            raise InvalidInputError("No such rung.", "Try another.")
        return drawn

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        members = self.all(low, high)
        if not members:
            return None
        weights = np.array([2.0 ** -self.complexity(each) for each in members])
        return members[int(rng.choice(len(members), p=weights / weights.sum()))]

    def members(self, low: float, high: float, limit: int) -> list[Instance] | None:
        members = self.all(low, high)
        return members if self.listed and len(members) <= limit else None

    def complexity(self, instance: Instance) -> float:
        return float(instance.data["complexity"])

    def build(self, instance: Instance) -> Coin:
        return Coin(instance.data["number"] % 2)

    def claims(self) -> Claims:
        return Claims(self.balanced, 1)
