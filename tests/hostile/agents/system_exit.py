"""Raises SystemExit."""

import sys

from omnimeter import Agent


class Hostile(Agent):
    """Raises SystemExit."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        sys.exit(0)
        return int(self.rng.integers(self.actions))
