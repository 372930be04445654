"""Starts processes without end, up to a thousand."""

import os
import time

from omnimeter import Agent


class Hostile(Agent):
    """Starts processes without end, up to a thousand."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        for _ in range(1000):
            if os.fork() == 0:
                time.sleep(60)
        return int(self.rng.integers(self.actions))
