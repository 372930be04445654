"""Never comes back from being imported."""

import time

from omnimeter import Agent

time.sleep(3600)


class Hostile(Agent):
    """Never comes back from being imported."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
