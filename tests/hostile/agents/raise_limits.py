"""Lifts the limits that were set for it, then uses memory."""

import resource
from contextlib import suppress

from omnimeter import Agent


class Hostile(Agent):
    """Lifts the limits that were set for it, then uses memory."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        for kind in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_FSIZE):
            with suppress(OSError, ValueError):
                resource.setrlimit(kind, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        self.kept = [bytearray(2**26) for _ in range(128)]
        return int(self.rng.integers(self.actions))
