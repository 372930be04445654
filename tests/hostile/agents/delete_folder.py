"""Deletes its own folder, and the working directory."""

import shutil
from pathlib import Path

from omnimeter import Agent


class Hostile(Agent):
    """Deletes its own folder, and the working directory."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        shutil.rmtree(Path(__file__).parent, ignore_errors=True)
        shutil.rmtree(Path.cwd(), ignore_errors=True)

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
