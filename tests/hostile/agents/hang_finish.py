"""Never comes back from finish."""

import time

from omnimeter import Agent


class Hostile(Agent):
    """Never comes back from finish."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))

    def finish(self, reward, observation):
        time.sleep(3600)
