"""Our compiled loop and the same loop written by hand, side by side."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from unittest import mock

import numpy as np
from measuring import ROUNDS, Stopwatch, fastest, verdict
from yardstick import HandWritten

from omnimeter.contract import Exercise
from omnimeter.interaction import dispatch, run_single
from omnimeter.interaction.compilation import runner
from omnimeter.kernels import KernelAgent, KernelEnvironmentClass
from omnimeter.payoffs import Average

BAR = 2.0
NAMES = {"C++": "C++ -O3", "loop": "the compiled loop", "whole": "run_single and the payoff"}


@dataclass(frozen=True)
class Rivalry:
    """The same exercises for both sides.

    Attributes:
        environment_class: Where the exercises' instances come from.
        agent: Who takes them.
        exercises: The exercises.
        theirs: The loop written by hand, where it could be compiled.
    """

    environment_class: KernelEnvironmentClass
    agent: KernelAgent
    exercises: Sequence[Exercise]
    theirs: HandWritten | None

    def measure(self, rounds: int = ROUNDS) -> dict[str, float]:
        """Nanoseconds per interaction of C++, of our loop alone, and of all around it."""
        seated = self.environment_class.with_views([self.agent.view])  # its kernels show the view
        ours = Stopwatch(runner(seated.kernels, self.agent.kernels))
        payoff = Average()

        def whole() -> None:
            """What an evaluation does: build both sides, run, make traces, judge them."""
            for trace in run_single(self.environment_class, self.agent, self.exercises):
                payoff(trace)
            ours.end_round()

        rivals = {"whole": whole} | ({} if self.theirs is None else {"C++": self.theirs})
        with mock.patch.object(dispatch, "runner", return_value=ours):
            taken = fastest(rivals, rounds)
        interactions = sum(exercise.budget.max_interactions for exercise in self.exercises)
        return {name: best / interactions for name, best in {"loop": ours.best, **taken}.items()}

    def agree(self) -> bool:
        """Whether both sides write down the same, bit for bit."""
        assert self.theirs is not None
        traces = list(run_single(self.environment_class, self.agent, self.exercises))
        rewards = np.concatenate([trace.rewards for trace in traces])
        times = np.concatenate([trace.times for trace in traces])
        same = self.theirs() == len(rewards) and np.array_equal(rewards, self.theirs.rewards)
        return same and np.array_equal(times, self.theirs.times)


def report(result: dict[str, float]) -> None:
    for name, text in NAMES.items():
        if name in result:
            ratio = f"  {result[name] / result['C++']:5.2f}x" if "C++" in result else ""
            print(f"  {text:26}{result[name]:8.1f} ns per interaction{ratio}")


def judge(result: dict[str, float]) -> bool:
    """Whether our loop, and all of it, is at most twice as slow; true without a peer to compare."""
    if "C++" not in result:
        return True
    loop = verdict("  the loop", result["loop"] / result["C++"], at_most=BAR)
    whole = verdict("  with all around it", result["whole"] / result["C++"], at_most=BAR)
    return loop and whole
