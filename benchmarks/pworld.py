"""Element actions per second in a PWorld whose journal is on the disk, against a bar."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import numpy as np
from measuring import verdict

from omnimeter.environments.pworld import Journal, World
from omnimeter.environments.pworld.elements import Plants, Walker, Weather

BAR = 5_000
"""Actions of elements per second, every event written."""

SIZE, WALKERS, SECONDS = 64, 50, 3.0


def main() -> int:
    rng = np.random.default_rng(0)
    with TemporaryDirectory(dir=Path.cwd()) as directory:  # on a disk, which /tmp may not be
        journal = Journal(Path(directory) / "world.db")
        columns = {"ground-1": (True,), "ground-2": (True,), **Plants.columns, **Walker.columns}
        codes = rng.integers(2, size=(SIZE**2, len(columns))) * [1, 1, 0, 0, 0]
        world = World(SIZE, columns, codes.astype(np.int32), list(Plants.columns))
        journal.begin(world, "benchmark")
        world.add_element("weather", Weather(0.001), rng)
        world.add_element("plants", Plants(20), rng)
        for number in range(WALKERS):
            world.add_element(f"walker-{number}", Walker(), rng)
        start = perf_counter()
        while perf_counter() - start < SECONDS:
            world.advance()
            world.act(rng)
        journal.commit()
        rate = world.turn * len(world.elements) / (perf_counter() - start)
        events = journal.committed / (perf_counter() - start)
        written = sum(1 for _ in journal.events())
        journal.close()
    if written != journal.committed:
        raise AssertionError(f"{written} of {journal.committed} events are in the journal")
    print(f"{rate:,.0f} element actions and {events:,.0f} events per second, {written:,} written")
    return 0 if verdict("actions per second, bar", rate / BAR, at_least=1) else 1


if __name__ == "__main__":
    sys.exit(main())
