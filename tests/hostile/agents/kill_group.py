"""Kills its process group, to which the harness might belong."""

import os
import signal

from omnimeter import Agent


class Hostile(Agent):
    """Kills its process group, to which the harness might belong."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        os.killpg(0, signal.SIGKILL)
        return int(self.rng.integers(self.actions))
