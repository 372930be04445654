"""The variability of a grid of 256 x 256 squares with 64 propositions, beside all pairs in NumPy.

Run ``python benchmarks/variability.py``. The bar is 5 s by the clock on the wall. All pairs are
compared with propositions as bits of one word: on a small grid, where both must agree, and from
some of the squares on the large one.
"""

from __future__ import annotations

import sys
from time import perf_counter

import numpy as np
from measuring import verdict

from omnimeter.contract import Lattice, Overlay
from omnimeter.measures import variability

SIDE, COLUMNS, SECONDS = 256, 64, 5.0
SMALL = 32  # squares along each side of the grid with all pairs
SOURCES = 200
ROUNDS = 5


def make_overlay(side: int) -> Overlay:
    codes = np.random.default_rng(0).integers(0, 2, (side * side, COLUMNS), dtype=np.int32)
    return Overlay(Lattice((side, side)), {str(k): (True,) for k in range(COLUMNS)}, codes)


def all_pairs(overlay: Overlay, side: int, sources: int) -> float:
    """The sum of equation (1) over the first squares, from each to all others."""
    words = np.packbits(overlay.codes.astype(np.uint8), axis=1).view(np.uint64).ravel()
    x, y = np.divmod(np.arange(side * side), side)
    total = 0.0
    for square in range(sources):
        differences = np.bitwise_count(words ^ words[square])
        distances = np.abs(x - x[square]) + np.abs(y - y[square])
        distances[square] = 1
        total += float((differences / distances).sum())
    return total


def main() -> int:
    small, large = make_overlay(SMALL), make_overlay(SIDE)
    if not np.isclose(variability(small).total, all_pairs(small, SMALL, SMALL**2), rtol=1e-12):
        print("Both sides differ.")
        return 1
    seconds = []
    for _ in range(ROUNDS):
        before = perf_counter()
        variability(large)
        seconds.append(perf_counter() - before)
    before = perf_counter()
    all_pairs(large, SIDE, SOURCES)
    pairs = (perf_counter() - before) * SIDE**2 / SOURCES
    print(f"{SIDE} x {SIDE} squares, {COLUMNS} propositions: {min(seconds):.2f} s")
    print(f"all pairs in NumPy, from {SOURCES} squares: {pairs:.0f} s, {pairs / min(seconds):.0f}x")
    return 0 if verdict(f"of {SECONDS:g} s", min(seconds) / SECONDS, at_most=1) else 1


if __name__ == "__main__":
    sys.exit(main())
