"""Asks for the view that tells what others have to find out."""

from omnimeter import Agent


class Hostile(Agent):
    """Asks for the view that tells what others have to find out."""

    view = "model"

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
