"""Leaves a process behind that no longer belongs to it."""

import os
import time

from omnimeter import Agent


class Hostile(Agent):
    """Leaves a process behind that no longer belongs to it."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        if os.fork() == 0:
            os.setsid()
            if os.fork() == 0:
                time.sleep(120)
            os._exit(0)

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
