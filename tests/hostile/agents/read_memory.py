"""Reads the memory of its parent, where the environment lives, and attaches to it."""

import ctypes
import os
from contextlib import suppress

from omnimeter import Agent


class Hostile(Agent):
    """Reads the memory of its parent, where the environment lives, and attaches to it."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        parent = os.getppid()
        if parent > 1:  # otherwise there is none that it could see
            with suppress(OSError), open(f"/proc/{parent}/mem", "rb") as memory:
                raise RuntimeError(f"the memory of {parent} can be read: {memory}")
            attached = ctypes.CDLL(None).ptrace(16, parent, 0, 0)  # PTRACE_ATTACH
            if attached == 0:
                raise RuntimeError("the harness can be traced")

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
