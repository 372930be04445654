"""Writes a file without end, up to four gigabytes."""

import tempfile

from omnimeter import Agent


class Hostile(Agent):
    """Writes a file without end, up to four gigabytes."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        with tempfile.TemporaryFile() as file:
            for _ in range(4096):
                file.write(bytes(2**20))
        return int(self.rng.integers(self.actions))
