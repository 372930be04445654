"""Leaves links where the harness might write through them."""

from contextlib import suppress
from pathlib import Path

from omnimeter import Agent


class Hostile(Agent):
    """Leaves links where the harness might write through them."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        for place in (Path.cwd(), Path(__file__).parent, Path("/tmp")):
            for name in ("report.html", "results", "evaluations"):
                with suppress(OSError):
                    (place / name).symlink_to("/etc/passwd")

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
