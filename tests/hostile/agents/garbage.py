"""Writes binary garbage into every pipe that it finds."""

import os
from contextlib import suppress

from omnimeter import Agent


class Hostile(Agent):
    """Writes binary garbage into every pipe that it finds."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        for each in range(3, 64):
            with suppress(OSError):
                os.write(each, bytes(range(256)) * 4)
        return int(self.rng.integers(self.actions))
