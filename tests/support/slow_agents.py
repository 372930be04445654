"""An agent that takes its time."""

import time

import numpy as np

from omnimeter import Agent, Briefing, Observation


class Sleeper(Agent):
    """Sleeps before each action.

    Args:
        seconds: How long.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        self.rng, self.actions = rng, briefing.actions

    def act(self, reward: float, observation: Observation) -> int:
        time.sleep(self.seconds)
        return int(self.rng.integers(self.actions))
