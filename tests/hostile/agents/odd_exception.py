"""Raises an exception that cannot be shown."""

from omnimeter import Agent


class OddError(Exception):
    """Fails when it is shown."""

    def __str__(self):
        raise RuntimeError

    __repr__ = __str__


class Hostile(Agent):
    """Raises an exception that cannot be shown."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        raise OddError
