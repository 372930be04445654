"""Answers with ten megabytes."""

from omnimeter import Agent


class Hostile(Agent):
    """Answers with ten megabytes."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return "x" * 10_000_000
