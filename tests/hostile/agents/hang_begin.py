"""Never comes back from begin."""

import time

from omnimeter import Agent


class Hostile(Agent):
    """Never comes back from begin."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        time.sleep(3600)

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
