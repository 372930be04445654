"""Uses memory without end, up to eight gigabytes."""

from omnimeter import Agent


class Hostile(Agent):
    """Uses memory without end, up to eight gigabytes."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        self.kept = [bytearray(2**26) for _ in range(128)]
        return int(self.rng.integers(self.actions))
