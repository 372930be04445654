"""The compiled loop of cups and the random agent, against the same loop written in C++.

Run ``python benchmarks/loop.py``. Both sides do the same exercises and must write down the same
rewards and times. It ends with 1 if they do not, or if ours takes more than twice as long.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from unittest import mock

import numpy as np
from measuring import Stopwatch, fastest, verdict
from yardstick import HandWritten, build

from omnimeter.agents.random_agent import RandomAgent
from omnimeter.contract import Budget, Exercise, Spec
from omnimeter.environments.cups import Cups
from omnimeter.interaction import batch
from omnimeter.interaction.batch import run_batch
from omnimeter.interaction.compilation import runner
from omnimeter.payoffs import Average

BAR = 2.0
SIZES = range(3, 9)
LONG, SHORT = (20, 100_000), (1_000, 100)
"""Exercises, and interactions in each."""

CUPS, AGENT, PAYOFF = Cups(), RandomAgent(), Average()


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


def measure(exercises: Sequence[Exercise], theirs: HandWritten | None) -> dict[str, float]:
    """Nanoseconds per interaction of C++, of our loop alone, and of all around it."""
    ours = Stopwatch(runner(CUPS.kernels, AGENT.kernels))

    def whole() -> None:
        """What an evaluation does: build both sides, run, make traces, judge them."""
        for trace in run_batch(CUPS, AGENT, exercises):
            PAYOFF(trace)
        ours.end_round()

    rivals = {"whole": whole} | ({} if theirs is None else {"C++": theirs})
    with mock.patch.object(batch, "runner", return_value=ours):
        taken = fastest(rivals)
    interactions = sum(exercise.budget.most for exercise in exercises)
    return {name: best / interactions for name, best in {"loop": ours.best, **taken}.items()}


def agree(exercises: Sequence[Exercise], theirs: HandWritten) -> bool:
    """Whether both sides write down the same, bit for bit."""
    traces = list(run_batch(CUPS, AGENT, exercises))
    rewards = np.concatenate([trace.rewards for trace in traces])
    times = np.concatenate([trace.times for trace in traces])
    same = theirs() == len(rewards) and np.array_equal(rewards, theirs.rewards)
    return same and np.array_equal(times, theirs.times)


def report(found: dict[str, float]) -> None:
    for name, text in (
        ("C++", "C++ -O3"),
        ("loop", "the compiled loop"),
        ("whole", "run_batch and the payoff"),
    ):
        if name in found:
            ratio = f"  {found[name] / found['C++']:5.2f}x" if "C++" in found else ""
            print(f"  {text:26}{found[name]:8.1f} ns per interaction{ratio}")


def main() -> int:
    run = build()
    holds = True
    for count, interactions in (LONG, SHORT):
        print(f"{count} exercises of {interactions} interactions, 3 to 8 cups, random agent")
        exercises = make_exercises(count, interactions)
        theirs = None if run is None else HandWritten(run, CUPS, AGENT, exercises)
        if theirs is not None and not agree(exercises, theirs):
            print("The rewards or times of both sides differ: there is nothing to compare.")
            return 1
        found = measure(exercises, theirs)
        report(found)
        if theirs is not None:
            print("  identical rewards and times")
        if theirs is not None and (count, interactions) == LONG:
            holds &= verdict("  the loop", found["loop"] / found["C++"], at_most=BAR)
            holds &= verdict("  with all around it", found["whole"] / found["C++"], at_most=BAR)
        extra = (found["whole"] - found["loop"]) * interactions / 1000
        print(f"  Python around the loop, and the payoff: {extra:.0f} us per exercise")
    if run is None:
        print("No C++ compiler works here, so nothing was compared. Name one in CXX.")
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())
