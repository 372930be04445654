"""Looks for the evaluation on disk, to rebuild its environments and look ahead."""

from contextlib import suppress
from pathlib import Path

from omnimeter import Agent


class Hostile(Agent):
    """Looks for the evaluation on disk, to rebuild its environments and look ahead."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        for folder in (Path.cwd(), *Path.cwd().parents):
            for name in ("spec.json", "canary.txt", "evaluations", "out"):
                if (folder / name).exists():
                    raise RuntimeError(f"{name} can be seen")
            for each in ("results", "evaluations"):
                with suppress(OSError):
                    if any((folder / each).rglob("*.json")):
                        raise RuntimeError(f"{each} can be read")

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
