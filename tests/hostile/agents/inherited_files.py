"""Uses descriptors that the harness left open."""

import os
from contextlib import suppress

from omnimeter import Agent


class Hostile(Agent):
    """Uses descriptors that the harness left open."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        for each in os.listdir("/proc/self/fd"):
            with suppress(OSError):
                target = os.readlink(f"/proc/self/fd/{each}")
                if target.startswith("/") and not target.startswith(("/dev", "/proc")):
                    raise RuntimeError(f"{target} is open")

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
