"""Answers with an object whose conversion to an action fails in an odd way."""

from omnimeter import Agent


class Odd:
    """Pretends to be a number."""

    def __index__(self):
        raise KeyboardInterrupt

    def __repr__(self):
        raise RuntimeError


class Hostile(Agent):
    """Answers with an object whose conversion to an action fails in an odd way."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return Odd()
