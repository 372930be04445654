"""Calls itself until the stack is full."""

from omnimeter import Agent


class Hostile(Agent):
    """Calls itself until the stack is full."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return self.act(reward, observation)
