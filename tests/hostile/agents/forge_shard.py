"""Writes a forged shard of results beside those of the evaluation."""

from contextlib import suppress
from pathlib import Path

from omnimeter import Agent


class Hostile(Agent):
    """Writes a forged shard of results beside those of the evaluation."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        for place in (Path.cwd(), *Path.cwd().parents):
            for each in (*place.glob("out/*/outcomes"), place / "evaluations", place):
                with suppress(OSError):
                    (each / "forged.parquet").write_bytes(b"PAR1" * 9)

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
