"""Kills the process that started it, as soon as it loses."""

import os
import signal

from omnimeter import Agent


class Hostile(Agent):
    """Kills the process that started it, as soon as it loses."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        if reward < 0:
            os.kill(os.getppid(), signal.SIGKILL)
        return int(self.rng.integers(self.actions))
