"""How fast anytime tests are, and how honest their time is.

Run ``python benchmarks/anytime.py``, or with the names of some of its parts: ``rate``, ``plain``,
``drawing``, ``harness``, ``theta``, ``memory``. It ends with 1 if a bar does not hold.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from statistics import median

import anytime_drawing
import anytime_time
from anytime_test import WARM_UP, Cost, in_fresh_process, take_stored_test, take_test
from measuring import examine_parts, verdict

LENGTH = 50_000_000
RATE = 20e6
"""Interactions per second of processor time."""

TURNS = 5

PLAIN_LENGTHS = (50_000, 300_000)
PLAIN_TURNS = 3
SPEED_UP = 200.0

LONG = 100_000_000
MEMORY = 1e9


def rate() -> bool:
    """Whole tests, without a store and with one."""
    print(f"{LENGTH} interactions of Q-learning in automata, ten repetitions, median of {TURNS}")
    ways = {"the whole test": take_test, "with evaluate and store": take_stored_test}
    verdicts = [_rate(name, take) for name, take in ways.items()]
    return all(verdicts)


def _rate(name: str, take: Callable[[int, int], Cost]) -> bool:
    take(WARM_UP, 0)
    costs = [take(LENGTH, seed) for seed in range(TURNS)]
    result = LENGTH / median(cost.seconds for cost in costs)
    waited = LENGTH / median(cost.waiting for cost in costs)
    print(
        f"  {name}: {result / 1e6:.1f} million interactions per second of processor time, "
        f"{waited / 1e6:.1f} million by the clock on the wall"
    )
    return verdict("    of 20 million", result / RATE, at_least=1)


def plain() -> bool:
    """The same test by ordinary Python, which would take minutes.

    Its time grows in proportion to the interactions, apart from what exercises cost. So two short
    tests say what an interaction costs, and what a long one would.
    """
    print(f"the same with the JIT disabled, by tests of {PLAIN_LENGTHS} interactions")
    short, middle = PLAIN_LENGTHS
    ours = in_fresh_process([short, middle, LENGTH] * PLAIN_TURNS)
    theirs = in_fresh_process([short, middle] * PLAIN_TURNS, compiled=False)
    if [cost.score for cost in theirs] != [cost.score for n, cost in enumerate(ours) if n % 3 < 2]:
        print("The scores of both differ: there is nothing to compare.")
        return False
    print("  identical scores")
    compiled = _medians(ours, 3)
    slow = _medians(theirs, 2)
    each = (slow[1] - slow[0]) / (middle - short)
    whole = slow[1] + each * (LENGTH - middle)
    ours_each = (compiled[2] - compiled[1]) / (LENGTH - middle)
    print(f"  a further interaction alone: {each / ours_each:.0f}x the time")
    return verdict(f"  a test of {LENGTH}", whole / compiled[2], at_least=SPEED_UP)


def _medians(costs: list[Cost], kinds: int) -> list[float]:
    """The median processor seconds of each kind, where kinds take turns."""
    return [median(cost.seconds for cost in costs[kind::kinds]) for kind in range(kinds)]


def memory() -> bool:
    """The largest memory of a long test, of which the warm-up has a part."""
    little, much = in_fresh_process([WARM_UP, LONG])
    print(f"a test of {LONG} interactions: {much.memory / 1e6:.0f} MB at most", end="")
    print(f", {(much.memory - little.memory) / 1e6:.0f} MB of them for its length")
    return verdict("  of a gigabyte", much.memory / MEMORY, at_most=1)


PARTS: dict[str, Callable[[], bool]] = {
    "rate": rate,
    "plain": plain,
    "drawing": anytime_drawing.examine,
    "harness": anytime_time.harness,
    "theta": anytime_time.theta,
    "memory": memory,
}


if __name__ == "__main__":
    sys.exit(examine_parts(PARTS, sys.argv[1:]))
