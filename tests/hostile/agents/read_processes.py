"""Reads the command lines and environments of all other processes, for a seed."""

from contextlib import suppress
from pathlib import Path

from omnimeter import Agent


class Hostile(Agent):
    """Reads the command lines and environments of all other processes, for a seed."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        for folder in Path("/proc").glob("[0-9]*"):
            for name in ("cmdline", "environ"):
                with suppress(OSError):
                    text = (folder / name).read_bytes()
                    if b"pytest" in text or b"--seed" in text or b"SECRET" in text:
                        raise RuntimeError(f"{folder}/{name} can be read")

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
