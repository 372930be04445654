"""Uses memory in many children, each of them within its own limit."""

import os
import time

from omnimeter import Agent


class Hostile(Agent):
    """Uses memory in many children, each of them within its own limit."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        children = []
        for _ in range(24):
            child = os.fork()
            if child == 0:
                kept = bytearray(2**26)
                kept[:: 2**12] = b"x" * 2**14
                time.sleep(20)
                os._exit(0)
            children.append(child)
        for child in children:
            if os.waitpid(child, 0)[1] != 0:
                raise MemoryError
        return int(self.rng.integers(self.actions))
