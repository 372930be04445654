"""Does the same action without end."""

from omnimeter import Agent


class Hostile(Agent):
    """Does the same action without end."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        return 0
