"""Stops as soon as it has won something."""

from omnimeter import Agent


class Hostile(Agent):
    """Stops as soon as it has won something."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        if reward > 0:
            return -1
        return int(self.rng.integers(self.actions))
