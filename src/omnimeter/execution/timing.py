"""Real time in tests that must be over in time: what is got ready before, and what is spent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import inf
from time import perf_counter

from omnimeter.contract import Budget, Exercise, Payoff, Spec
from omnimeter.execution.workforce import Finished, Job


def rehearse(
    proposed: Mapping[Spec, Sequence[Exercise]],
    work: Callable[[Iterable[Job]], Iterator[Finished]],
    payoff: Payoff,
) -> None:
    """Let agents whose test has an end in real time do one action that does not count.

    Whatever happens only once is then done before the time runs: kernels are compiled, files read,
    processes started. It lasts as long as the test at the most, or as patience with the agent.

    Args:
        proposed: The first exercises of each agent.
        work: Carries out jobs.
        payoff: What judges traces.
    """
    trials = [
        replace(first, budget=Budget(interactions=1, limit=first.budget.limit * len(exercises)))
        for exercises in proposed.values()
        if (first := exercises[0]).budget.limit is not None
    ]
    for _ in work(Job((trial,), payoff, keep=False) for trial in trials):
        pass


class Stopwatch:
    """Says of each finished exercise how much real time has passed since the one before.

    Attributes:
        late: Whether an agent has taken more real time for what was proposed to it than the limits
            of all of it allow.
    """

    def __init__(self) -> None:
        self._last = perf_counter()
        self._left: dict[Spec, float] = {}
        self.late = False

    def begin(self, proposed: Mapping[Spec, Sequence[Exercise]]) -> None:
        """Look at what is to be done next."""
        self.late = False
        self._left = {
            agent: sum(
                inf if each.budget.limit is None else each.budget.limit for each in exercises
            )
            for agent, exercises in proposed.items()
        }

    def timed(self, finished: Finished) -> Finished:
        """The same, with the real time that it took where that matters: the remark ``elapsed``.

        All that was done since the last one counts: choosing it, building it, writing down others.
        """
        outcome, trace = finished
        now = perf_counter()
        elapsed, self._last = now - self._last, now
        self._left[outcome.exercise.agent] -= elapsed
        self.late = self.late or self._left[outcome.exercise.agent] < 0
        if outcome.exercise.budget.limit is None:
            return finished
        return replace(outcome, remarks={**outcome.remarks, "elapsed": elapsed}), trace
