"""Kills every process that it may signal, from inside of a process namespace."""

import os
import signal

from omnimeter import Agent


class Hostile(Agent):
    """Kills every process that it may signal, from inside of a process namespace."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        if os.getpid() < 100:  # never outside of one
            os.kill(-1, signal.SIGKILL)
        return int(self.rng.integers(self.actions))
