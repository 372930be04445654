"""Answers with a text."""

from omnimeter import Agent


class Hostile(Agent):
    """Answers with a text."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return "the best action"
