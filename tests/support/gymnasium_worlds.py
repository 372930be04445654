"""Environments of Gymnasium as a third party registers them, for ``gymnasium_worlds:NAME``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Text, Tuple
from gymnasium.utils import EzPickle

if canary := os.environ.get("CANARY"):
    Path(canary).write_text("imported")

INFINITE = float("inf")

SPACES: dict[str, tuple[gymnasium.Space[Any], Any]] = {
    "discrete": (Discrete(3, start=5), 7),
    "several": (MultiDiscrete([[2, 3], [4, 5]], start=[[1, 0], [0, 0]]), [[1, 2], [3, 4]]),
    "binary": (MultiBinary(3), [1, 0, 1]),
    "integers": (Box(np.array([-2, 0]), np.array([2, 255]), dtype=np.int16), [-2, 255]),
    "wide": (Box(-(2**62), 2**62, (1,), dtype=np.int64), [3]),
    "floats": (Box(np.array([0.0, -1.0]), np.array([1.0, 1.0]), dtype=np.float64), [0.99, -5.0]),
    "open": (
        Box(
            np.array([-INFINITE, 20.0, -INFINITE, -3e38]),
            np.array([INFINITE, INFINITE, 20.0, 3e38]),
            dtype=np.float64,
        ),
        [9.9, 29.9, 10.1, -1e30],
    ),
    "tuple": (Tuple((Discrete(4), Tuple((Box(0.0, 8.0, (2,)), Discrete(2))))), (3, ([0.5, 7], 1))),
    "nan": (Box(0.0, 1.0, (1,)), [float("nan")]),
    "dict": (Dict({"a": Discrete(2)}), {"a": 1}),
    "text": (Text(3), "abc"),
}


class Lesson(gymnasium.Env[Any, Any]):
    """Pays the number of the step in its episode plus the action; three steps are an episode.

    It terminates after action 1 in the third step, and is truncated otherwise.
    """

    def __init__(self, space: str = "discrete", actions: str = "discrete", scale: float = 1.0):
        self.observation_space, self._seen = SPACES[space]
        self.action_space = Discrete(2, start=3) if actions == "discrete" else Box(0.0, 1.0)
        self._scale = scale

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self._step = 0
        return self._seen, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        assert action in self.action_space
        self._step += 1
        assert self._step <= 3, "it goes on after the end"
        over, last = self._step == 3, action == 4
        reward = float(self._step + action - 3) * self._scale
        return self._seen, reward, over and last, over and not last, {}


class Rebuilt(Lesson, EzPickle):
    """One that is pickled by its arguments: its copy has no state."""

    def __init__(self) -> None:
        Lesson.__init__(self)
        EzPickle.__init__(self)


gymnasium.register("Lesson-v0", entry_point=Lesson)
gymnasium.register("lessons/Rebuilt-v2", entry_point=Rebuilt)
