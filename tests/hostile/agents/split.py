"""Splits in two processes that both answer."""

import os

from omnimeter import Agent


class Hostile(Agent):
    """Splits in two processes that both answer."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        self.split = False

    def act(self, reward, observation):
        if not self.split:
            self.split = True
            os.fork()
        return int(self.rng.integers(self.actions))
