"""Fails with a message of a million characters."""

from omnimeter import Agent


class Hostile(Agent):
    """Fails with a message of a million characters."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        raise RuntimeError("m" * 10**6)
