"""Overwrites what it finds of the cache of compiled kernels."""

from contextlib import suppress
from pathlib import Path

from omnimeter import Agent


class Hostile(Agent):
    """Overwrites what it finds of the cache of compiled kernels."""

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng
        from omnimeter.interaction.compilation import cache_directory

        places = (Path(str(cache_directory())), Path.home() / ".cache/omnimeter")
        for place in places:
            for each in [*list(place.rglob("*.nbi"))[:3], place / "canary.txt"]:
                with suppress(OSError):
                    each.write_bytes(b"poison")

    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))
