"""Does not act before its time is over, then always."""

import time

from omnimeter import Agent


class Hostile(Agent):
    """Does not act before its time is over, then always."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        time.sleep(0.3)
        return int(self.rng.integers(self.actions))
