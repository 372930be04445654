"""What came of a battery: rewards by test, exercise and agent, and how they go with complexity."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np

from omnimeter.contract import FloatArray, IntArray
from omnimeter.statistics import Correlation, Estimate, Line, correlation, mean, regression

COMMON = 40
"""Exercises of one complexity that are enough to speak of their mean."""


@dataclass(frozen=True)
class Results:
    """The results of some tests.

    Attributes:
        cells: The number of cells of each exercise of the sequence.
        interactions: How long each of them lasts.
        complexity: The compressed length of the pattern: one row per test, one column per exercise.
        rewards: The average reward of each agent, in the same form.
    """

    cells: IntArray
    interactions: IntArray
    complexity: FloatArray
    rewards: Mapping[str, FloatArray]

    @property
    def tests(self) -> int:
        """How many tests were taken."""
        return len(self.complexity)

    def first(self, tests: int) -> Results:
        """The first tests of all."""
        return self._some(slice(tests), slice(None))

    def only(self, place: int) -> Results:
        """One exercise of the sequence alone."""
        return self._some(slice(None), slice(place, place + 1))

    def batteries(self, tests: int) -> Iterator[Results]:
        """All tests in batteries of this many; what is left over is left out."""
        for first in range(0, self.tests - tests + 1, tests):
            yield self._some(slice(first, first + tests), slice(None))

    def _some(self, tests: slice, places: slice) -> Results:
        return replace(
            self,
            cells=self.cells[places],
            interactions=self.interactions[places],
            complexity=self.complexity[tests, places],
            rewards={name: values[tests, places] for name, values in self.rewards.items()},
        )

    def mean(self, agent: str) -> Estimate:
        """An agent's mean over all exercises."""
        return mean(self.rewards[agent].ravel(), support=(-1.0, 1.0))

    def correlation(self, agent: str) -> Correlation:
        """How an agent's rewards go with complexity, over all exercises."""
        return correlation(self.complexity.ravel(), self.rewards[agent].ravel())

    def correlations(self, agent: str) -> list[Correlation]:
        """The same for each number of cells."""
        return [self.only(place).correlation(agent) for place in range(len(self.cells))]

    def usually_significant(self, agent: str, error: float) -> int:
        """For how many numbers of cells the usual test of Pearson's r finds that it is below 0."""
        from scipy.stats import pearsonr

        columns = zip(self.complexity.T, self.rewards[agent].T, strict=True)
        found = [pearsonr(*pair) for pair in columns if all(map(np.ptp, pair))]
        return sum(each.statistic < 0 and each.pvalue < error for each in found)

    def line(self, agent: str) -> Line:
        """An agent's rewards against complexity, over all exercises."""
        return regression(self.complexity.ravel(), self.rewards[agent].ravel())

    def along_complexity(self, agent: str) -> tuple[FloatArray, FloatArray]:
        """The complexities that came up often enough, and an agent's mean reward at each."""
        values, counts = np.unique(self.complexity, return_counts=True)
        common = values[counts >= COMMON]
        rewards = self.rewards[agent]
        return common, np.array([rewards[self.complexity == each].mean() for each in common])

    def spread_trend(self, agent: str) -> Correlation:
        """How distances from the median of a number of cells go with that number.

        This is the test of Brown and Forsythe, made to look for a trend.
        """
        rewards = self.rewards[agent]
        distances = np.abs(rewards - np.median(rewards, axis=0))
        return correlation(np.broadcast_to(self.cells, rewards.shape).ravel(), distances.ravel())

    def chance_of_same_means(self, agent: str) -> float:
        """The p-value of an analysis of variance: are the means of all numbers of cells the same?

        That of Alexander and Govern, since spreads differ.
        """
        from scipy.stats import alexandergovern

        return float(alexandergovern(*self.rewards[agent].T).pvalue)
