"""Answers with a number of a hundred thousand digits."""

from omnimeter import Agent


class Hostile(Agent):
    """Answers with a number of a hundred thousand digits."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return 10**100_000
