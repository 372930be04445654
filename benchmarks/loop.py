"""The compiled loop of cups and the random agent, against the same loop written in C++.

Run ``python benchmarks/loop.py``. Both sides do the same exercises and must write down the same
rewards and times. It ends with 1 if they do not, or if ours takes more than twice as long.
"""

from __future__ import annotations

import sys

import numpy as np
from cups_by_hand import cups_by_hand
from rivalry import Rivalry, judge, report
from yardstick import NO_COMPILER, build

from omnimeter.agents.simple import RandomAgent
from omnimeter.contract import Budget, Exercise, Spec
from omnimeter.environments.cups import Cups

SIZES = range(3, 9)
LONG, SHORT = (20, 100_000), (1_000, 100)
"""Exercises, and interactions in each."""

CUPS, AGENT = Cups(), RandomAgent()


def make_exercises(count: int, interactions: int) -> list[Exercise]:
    """Exercises with 3 to 8 cups in turn."""
    rng = np.random.default_rng(1)
    agent, cups = Spec("random-v1"), Spec("cups-v1")
    return [
        Exercise(
            agent=agent,
            environment_class=cups,
            instance=CUPS.draw(rng, SIZES[number % len(SIZES)]),
            budget=Budget(interactions=interactions),
            seed=1,
            number=number,
        )
        for number in range(count)
    ]


def main() -> int:
    run = build("cups")
    holds = True
    for count, interactions in (LONG, SHORT):
        print(f"{count} exercises of {interactions} interactions, 3 to 8 cups, random agent")
        exercises = make_exercises(count, interactions)
        theirs = None if run is None else cups_by_hand(run, CUPS, AGENT, exercises)
        rivalry = Rivalry(CUPS, AGENT, exercises, theirs)
        if theirs is not None and not rivalry.agree():
            print("The rewards or times of both sides differ: there is nothing to compare.")
            return 1
        result = rivalry.measure()
        report(result)
        if theirs is not None:
            print("  identical rewards and times")
        if (count, interactions) == LONG:
            holds &= judge(result)
        extra = (result["whole"] - result["loop"]) * interactions / 1000
        print(f"  Python around the loop, and the payoff: {extra:.0f} us per exercise")
    if run is None:
        print(NO_COMPILER)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
