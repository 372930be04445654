"""Keeps what it learnt in its module, from one exercise to the next."""

from omnimeter import Agent

KEPT = []


class Hostile(Agent):
    """Keeps what it learnt in its module, from one exercise to the next."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        KEPT.append(reward)
        return int(self.rng.integers(self.actions))
