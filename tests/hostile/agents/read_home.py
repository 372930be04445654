"""Reads the home, secrets in environment variables, and files of other users."""

import os
from contextlib import suppress
from pathlib import Path

from omnimeter import Agent


class Hostile(Agent):
    """Reads the home, secrets in environment variables, and files of other users."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        secret = [
            name for name in os.environ if "SECRET" in name or name.startswith("OMNIMETER_KEY")
        ]
        for place in (Path.home(), Path("/root"), Path("/home")):
            with suppress(OSError):
                secret += [str(each) for each in place.iterdir() if each.name == ".bashrc"]
        with suppress(OSError):
            secret += [Path("/etc/shadow").read_text()[:1]]
        if secret:
            raise RuntimeError(f"{secret} can be read")

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
