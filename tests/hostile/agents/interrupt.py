"""Raises KeyboardInterrupt, as if the user had pressed Ctrl-C."""

from omnimeter import Agent


class Hostile(Agent):
    """Raises KeyboardInterrupt, as if the user had pressed Ctrl-C."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        raise KeyboardInterrupt
