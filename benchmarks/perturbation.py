"""How long the experiment on perturbation tolerance takes.

Run ``python benchmarks/perturbation.py``: 22 cases, 100 repetitions of 20,000 turns, both learners,
88 million turns in all. The bar is 30 seconds on two cores by the clock on the wall; one is used.
It ends with 1 if the bar does not hold.
"""

from __future__ import annotations

import sys
from time import perf_counter, process_time

from measuring import verdict

from omnimeter.reproductions.perturbation.tolerance import TURNS, Experiment, distinct_cases

BAR = 30.0
"""Seconds."""

REPETITIONS = 100


def main() -> bool:
    cases = distinct_cases()
    Experiment.of(cases[:1], 1)  # compiles
    wall, cpu = perf_counter(), process_time()
    Experiment.of(cases, REPETITIONS)
    wall, cpu = perf_counter() - wall, process_time() - cpu
    turns = len(cases) * REPETITIONS * 2 * TURNS * 2
    print(
        f"{turns / 1e6:.0f} million turns: {wall:.1f} s on the wall, {cpu:.1f} s of processor time"
    )
    print(f"{1e9 * cpu / turns:.0f} ns of processor time per turn")
    return verdict("the experiment, with 30 s", wall / BAR, at_most=1)


if __name__ == "__main__":
    sys.exit(0 if main() else 1)
