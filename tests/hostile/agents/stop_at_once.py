"""Stops before its first action."""

from omnimeter import Agent


class Hostile(Agent):
    """Stops before its first action."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return -1
