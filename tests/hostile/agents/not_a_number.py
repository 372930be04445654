"""Answers with NaN."""

from omnimeter import Agent


class Hostile(Agent):
    """Answers with NaN."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return float("nan")
