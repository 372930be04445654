"""Fails as soon as it has lost more than it has won, to keep its good exercises."""

from omnimeter import Agent


class Hostile(Agent):
    """Fails as soon as it has lost more than it has won, to keep its good exercises."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        self.sum = 0.0

    def act(self, reward, observation):
        self.sum += reward
        if self.sum < 0:
            raise RuntimeError("I do not like this exercise")
        return int(self.rng.integers(self.actions))
