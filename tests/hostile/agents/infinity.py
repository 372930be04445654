"""Answers with infinity."""

from omnimeter import Agent


class Hostile(Agent):
    """Answers with infinity."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return float("inf")
