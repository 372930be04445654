"""Tries nothing: acts at random, as most of the others do when their attempt fails."""

from omnimeter import Agent


class Hostile(Agent):
    """Tries nothing: acts at random, as most of the others do when their attempt fails."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
