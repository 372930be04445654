"""Raises MemoryError, though there is enough."""

from omnimeter import Agent


class Hostile(Agent):
    """Raises MemoryError, though there is enough."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        raise MemoryError
