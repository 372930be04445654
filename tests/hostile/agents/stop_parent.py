"""Stops the process that started it, so that it never answers again."""

import os
import signal

from omnimeter import Agent


class Hostile(Agent):
    """Stops the process that started it, so that it never answers again."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        if os.getppid() > 1:
            os.kill(os.getppid(), signal.SIGSTOP)
        return int(self.rng.integers(self.actions))
