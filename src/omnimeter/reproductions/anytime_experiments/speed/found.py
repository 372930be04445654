"""What agents and their slower copies score by each definition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.reproductions.anytime_experiments.runs import part_of, taken
from omnimeter.reproductions.anytime_experiments.speed.plan import (
    AGENTS,
    DEFINITIONS,
    Definition,
    Examined,
    Sizes,
)
from omnimeter.reproductions.estimates import REWARDS
from omnimeter.reproductions.reproduction import Report
from omnimeter.statistics import Estimate, mean, paired_difference

ERROR = 0.05
"""How often a claim about several intervals at once may be wrong."""


@dataclass(frozen=True)
class Series:
    """One agent by one definition.

    Attributes:
        agent: Who.
        definition: By which.
        values: The value of each environment or sitting, by how many times slower the copy is.
    """

    agent: Examined
    definition: Definition
    values: Mapping[int, FloatArray]

    def score(self, slowness: int, level: float = 1 - ERROR) -> Estimate:
        """The score of a copy."""
        return mean(self.values[slowness], level, support=REWARDS)

    def gains(self) -> list[Estimate]:
        """What each copy has more than the one before, pair by pair, all at once (Bonferroni)."""
        level = 1 - ERROR / (len(self.values) - 1)
        return [
            paired_difference(slower, faster, level, support=REWARDS)
            for faster, slower in pairwise(self.values.values())
        ]

    def lead(self) -> Estimate:
        """What the first has more than the slowest."""
        first, *_, last = self.values.values()
        return paired_difference(first, last, support=REWARDS)

    @property
    def all_the_same(self) -> bool:
        """Whether every copy has exactly the same values."""
        first, *others = self.values.values()
        return all(np.array_equal(first, other) for other in others)


@dataclass(frozen=True)
class Found:
    """All agents by all definitions.

    Attributes:
        series: One for each agent and definition.
    """

    series: Sequence[Series]

    @property
    def slowness(self) -> Sequence[int]:
        """How many times slower than the first the copies are."""
        return list(self.series[0].values)

    def scores_at_once(self, agent: Examined) -> dict[int, list[Estimate]]:
        """An agent's scores by all definitions, with intervals that all hold at once (Bonferroni).

        By the number of the definition, those of all copies.
        """
        own = [each for each in self.series if each.agent is agent]
        level = 1 - ERROR / sum(len(each.values) for each in own)
        return {
            each.definition.number: [each.score(slowness, level) for slowness in each.values]
            for each in own
        }

    def of(self, agent: Examined, number: int) -> Series:
        """One agent by one definition."""
        (found,) = [
            each for each in self.series if (each.agent, each.definition.number) == (agent, number)
        ]
        return found


def find(sizes: Sizes, report: Report) -> Found:
    """Let all copies take all tests.

    Copies have the same chance, so that the slower one is really the same agent: it does exactly
    what the faster one does, later. By Definition 17 both are in the same environments; by
    Definition 18 as long as their rewards, and so their levels, are the same.
    """
    whole = list(product(AGENTS, DEFINITIONS))
    series = []
    for place, (agent, definition) in enumerate(whole):
        doing = f"{agent.title}, definition {definition.number}"
        part = part_of(report, place, len(whole), doing)
        values = {}
        for number, slowness in enumerate(sizes.slowness):
            one = part_of(part, number, len(sizes.slowness))
            copy = agent.slowed(slowness)
            done = taken(definition.spec(sizes), copy, one, chance_of=agent.spec)
            values[slowness] = np.array([done.values[unit] for unit in sorted(done.values)])
        series.append(Series(agent, definition, values))
    return Found(series)
