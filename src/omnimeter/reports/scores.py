"""Who scored what: the table of scores, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from omnimeter.contract import Spec
from omnimeter.protocols import Result
from omnimeter.reports.levels import Level, LevelMean, complexity_levels, level_means
from omnimeter.reports.sittings import EXERCISE, SITTING, sitting_count, sittings_of


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """What one agent scored.

    Attributes:
        agent: The agent.
        value: Its score; ``None`` when nothing could be judged.
        low: The lower end of the interval; ``None`` when that cannot be said.
        high: The upper end of the interval; ``None`` when that cannot be said.
        level: The level of the interval.
        count: From how many exercises.
        faults: How many exercises of each kind of fault were left out.
        interactions: The mean number of interactions of those that count.
        levels: The mean payoff at each level of complexity.
        sittings: From how many sittings; 0 where exercises are independent of each other.
        parts: Further named numbers beside the score.
    """

    agent: Spec
    value: float | None
    low: float | None
    high: float | None
    level: float
    count: int
    faults: Mapping[str, int]
    interactions: float | None
    levels: tuple[LevelMean, ...]
    sittings: int = 0
    parts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """What the score is a mean of: exercises or sittings."""
        return SITTING if self.sittings else EXERCISE

    @property
    def label(self) -> str:
        """The agent as a person writes it."""
        return self.agent.label


def score_table(result: Result) -> list[ScoreRow]:
    """The scores of all agents, the best first; agents without a score come last.

    Args:
        result: What an evaluation says.
    """
    levels = complexity_levels(each for done in result.outcomes.values() for each in done)
    rows = [_row(agent, result, levels) for agent in result.scores]
    return sorted(rows, key=lambda row: (inf if row.value is None else -row.value, row.label))


def _row(agent: Spec, result: Result, levels: tuple[Level, ...]) -> ScoreRow:
    score, outcomes = result.scores[agent], result.outcomes.get(agent, ())
    lengths = [each.interactions for each in outcomes if each.payoff is not None]
    interval = score.interval
    return ScoreRow(
        agent=agent,
        value=score.value,
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        level=0.95 if interval is None else interval.level,
        count=score.count,
        faults=dict(sorted(score.faults.items())),
        interactions=sum(lengths) / len(lengths) if lengths else None,
        levels=level_means(outcomes, levels, result.support, sitting_count(result)),
        sittings=sittings_of(agent, result),
        parts=score.parts,
    )
