"""Takes 20 milliseconds for each action, and says so."""

import time

from omnimeter import Agent


class Hostile(Agent):
    """Takes 20 milliseconds for each action, and says so."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        time.sleep(0.02)
        return int(self.rng.integers(self.actions))
