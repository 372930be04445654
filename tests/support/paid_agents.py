"""Costly agents with memory, for the tests of journals. Each answer is a line in a log."""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np

from omnimeter.contract import Agent, Briefing, Move, Observation

LOG = "PAID_LOG"
"""The environment variable with the path of the log."""


class Paid(Agent):
    """Answers by all that has happened so far, and by nothing else."""

    costly = True

    def __init__(self, pause: float = 0.0, delay: float = 0.0) -> None:
        self._pause, self._delay = pause, delay

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        self._actions, self._known = briefing.actions, [len(briefing.space.sizes)]
        log("begin")

    def act(self, reward: float, observation: Observation) -> int | Move:
        log("act")
        time.sleep(self._pause)
        action = self._take_up(reward, observation)
        return Move(action, self._delay * (1 + action)) if self._delay else action

    def recall(self, reward: float, observation: Observation, action: int) -> None:
        log("recall")
        assert self._take_up(reward, observation) == action

    def finish(self, reward: float, observation: Observation) -> None:
        self._take_up(reward, observation)
        log(f"finish {len(self._known)}")

    def _take_up(self, reward: float, observation: Observation) -> int:
        seen: Any = np.atleast_1d(observation).tolist()
        self._known += [hash((round(reward, 6), *seen)) % 1009]
        return sum(n * each for n, each in enumerate(self._known)) % self._actions


class Forgetful(Paid):
    """Is not told of what happened before an interruption, and answers by the observation."""

    def recall(self, reward: float, observation: Observation, action: int) -> None:
        log("recall")

    def _take_up(self, reward: float, observation: Observation) -> int:
        return int(np.sum(observation)) % self._actions


def log(line: str) -> None:
    if path := os.environ.get(LOG):
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, f"{line}\n".encode())
        os.close(file)
