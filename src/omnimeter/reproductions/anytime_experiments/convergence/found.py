"""The scores of many tests with seeds of their own, wherever they can be stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import FloatArray, Spec
from omnimeter.protocols.sittings import Sittings
from omnimeter.reproductions.anytime_experiments.convergence.plan import SUBJECTS, Subject
from omnimeter.reproductions.anytime_experiments.runs import part_of, taken
from omnimeter.reproductions.estimates import REWARDS
from omnimeter.reproductions.reproduction import Report
from omnimeter.statistics import Estimate, mean, stability

STOPS = (4, 8, 12, 16, 22)
"""After how many exercises tests are looked at in rows, and at their end."""


@dataclass(frozen=True)
class Series:
    """The tests that one agent has taken.

    Attributes:
        subject: The agent.
        lengths: How many interactions a sitting has after each exercise.
        rewards: What the exercises were worth, by test, round and sitting.
    """

    subject: Subject
    lengths: FloatArray
    rewards: FloatArray

    @property
    def stops(self) -> Sequence[int]:
        """After how many exercises rows are made."""
        return [*(stop for stop in STOPS if stop < len(self.lengths)), len(self.lengths)]

    @cached_property
    def exercises(self) -> FloatArray:
        """How many exercises a sitting has, at each length."""
        return np.arange(1, len(self.lengths) + 1, dtype=np.float64)

    @cached_property
    def scores(self) -> FloatArray:
        """The score of each sitting, by test, round and sitting."""
        found: FloatArray = np.cumsum(self.rewards, axis=1) / self.exercises[:, np.newaxis]
        return found

    @cached_property
    def _intervals(self) -> FloatArray:
        """The ends of the interval of each test at each length."""
        estimates = [[mean(row, support=REWARDS) for row in test] for test in self.scores]
        return np.array([[(each.low, each.high) for each in test] for test in estimates])

    @cached_property
    def widths(self) -> FloatArray:
        """The widths of the 95 % intervals, by test and round."""
        found: FloatArray = self._intervals[..., 1] - self._intervals[..., 0]
        return found

    @cached_property
    def hold_0(self) -> NDArray[np.bool_]:
        """Whether they hold 0, by test and round."""
        found: NDArray[np.bool_] = (self._intervals[..., 0] <= 0) & (self._intervals[..., 1] >= 0)
        return found

    @cached_property
    def spread(self) -> FloatArray:
        """The standard deviation of the score between tests, at each length."""
        found: FloatArray = np.std(self.scores.mean(axis=2), axis=0, ddof=1)
        return found

    @cached_property
    def stabilities(self) -> FloatArray:
        """The stability of the running score, by test and round."""
        running = self.scores.mean(axis=2)
        return np.array(
            [[stability(test[:stop]) for stop in range(1, len(test) + 1)] for test in running]
        )

    def score(self, stop: int) -> Estimate:
        """The mean over all sittings of all tests after so many exercises."""
        return mean(self.scores[:, stop - 1].ravel(), support=REWARDS)


def find(seeds: int, sittings: int, rounds: int, report: Report) -> dict[str, Series]:
    """Let all agents take all tests.

    Args:
        seeds: How many tests each takes.
        sittings: How many sittings each test has.
        rounds: How many exercises each sitting has.
        report: Told what is being done.
    """
    found = {}
    for place, subject in enumerate(SUBJECTS):
        part = part_of(report, place, len(SUBJECTS), f"{seeds} tests: {subject.title}")
        tables = []
        for seed in range(seeds):
            protocol = subject.test(seed, sittings, rounds)
            test = taken(protocol, Spec(subject.agent), part_of(part, seed, seeds))
            done = Sittings(sittings, test.outcomes)
            tables.append(done.table())
        slots = [each[0].exercise.budget.most for each in done.complete()]
        lengths = np.cumsum(np.array(slots, dtype=np.float64))
        found[subject.name] = Series(subject, lengths, np.array(tables))
    return found


Found = Mapping[str, Series]
"""What was found, by the names of the agents."""
