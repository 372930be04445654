"""Ends its process as if all were well."""

import os

from omnimeter import Agent


class Hostile(Agent):
    """Ends its process as if all were well."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        os._exit(0)
        return int(self.rng.integers(self.actions))
