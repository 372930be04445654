"""Closes the pipes to the harness."""

import os

from omnimeter import Agent


class Hostile(Agent):
    """Closes the pipes to the harness."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        os.closerange(0, 256)
        return int(self.rng.integers(self.actions))
