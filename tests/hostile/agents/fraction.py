"""Answers with a fraction between two actions."""

from omnimeter import Agent


class Hostile(Agent):
    """Answers with a fraction between two actions."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return 0.5
