"""Prints without end, up to a hundred megabytes a turn."""

import os

from omnimeter import Agent


class Hostile(Agent):
    """Prints without end, up to a hundred megabytes a turn."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        for _ in range(100):
            os.write(1, b"x" * 2**20)
            os.write(2, b"x" * 2**20)
        return int(self.rng.integers(self.actions))
