"""Makes files of others writable, takes another identity, mounts a file system."""

import ctypes
import os
from contextlib import suppress
from pathlib import Path

from omnimeter import Agent


class Hostile(Agent):
    """Makes files of others writable, takes another identity, mounts a file system."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        for attempt in (
            lambda: os.chmod(Path.cwd(), 0o777),
            lambda: os.chmod(Path.cwd() / "canary.txt", 0o666),
            lambda: (Path.cwd() / "canary.txt").write_text("changed"),
            lambda: os.setuid(0),
        ):
            with suppress(OSError):
                attempt()
        ctypes.CDLL(None).mount(b"none", b"/usr", b"tmpfs", 0, None)

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
