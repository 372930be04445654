"""The table of scores as data: values, secondary metrics, complexity levels and reliability."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf, isnan
from typing import Any

import numpy as np

from omnimeter.contract import Outcome, Spec
from omnimeter.estimation import Estimate, Support, intraclass, mean
from omnimeter.protocols import Result
from omnimeter.reports.text import NOTHING, grouped, interval, number, percent

EXERCISE, REPETITION = "exercise", "repetition"
"""The two things that can be counted."""


def unit(result: Result) -> str:
    """What is independent of each other in a result, and therefore counted and compared.

    An adaptive test has a course. In it an exercise depends on what came of those before, and only
    repetitions are independent.
    """
    return REPETITION if any(result.courses.values()) else EXERCISE


def is_adjusted(result: Result) -> bool:
    """Whether an exercise counts with another value than its payoff."""
    return bool(result.values) and unit(result) == EXERCISE


def repetition_count(result: Result) -> int:
    """How many repetitions each agent took side by side; 0 where exercises are independent."""
    if unit(result) == EXERCISE:
        return 0
    return max((1 + number for each in result.values.values() for number in each), default=0)


def repetitions_of(agent: Spec, result: Result) -> int:
    """How many repetitions of an agent have a score; 0 where exercises are independent."""
    return len(result.values.get(agent, ())) if unit(result) == REPETITION else 0


MOST_LEVELS = 12
"""With more different complexities than this, neighbours are put together."""

BINS = 8
"""Into how many levels they are put together."""


@dataclass(frozen=True, slots=True)
class Level:
    """A complexity, or neighbouring ones put together.

    Attributes:
        low: The lowest complexity that belongs to it.
        high: The highest complexity that belongs to it.
    """

    low: float
    high: float

    def __contains__(self, complexity: float) -> bool:
        return self.low <= complexity <= self.high


@dataclass(frozen=True, slots=True)
class LevelMean:
    """What one agent's payoffs are at one level.

    Attributes:
        complexity: The mean complexity of the exercises.
        value: The mean payoff.
        low: The lower end of its 95 % interval; ``None`` when a single exercise says nothing.
        high: The upper end.
        count: From how many exercises or, where these depend on each other, repetitions.
    """

    complexity: float
    value: float
    low: float | None
    high: float | None
    count: int


def complexity_levels(outcomes: Iterable[Outcome]) -> tuple[Level, ...]:
    """The levels of some outcomes: each complexity by itself, or bins of about equal size."""
    found = np.array([each.exercise.complexity for each in outcomes if each.payoff is not None])
    distinct = np.unique(found)
    if len(distinct) <= MOST_LEVELS:
        return tuple(Level(grade, grade) for grade in distinct.tolist())
    # A repeated complexity must not fall into two bins, so the bounds are complexities themselves.
    bounds = np.unique(np.quantile(found, np.arange(1, BINS) / BINS, method="lower"))
    places = np.searchsorted(bounds, distinct, side="left")
    groups = [distinct[places == place] for place in np.unique(places)]
    return tuple(Level(float(group[0]), float(group[-1])) for group in groups)


def level_means(
    outcomes: Sequence[Outcome],
    levels: Iterable[Level],
    support: Support | None = None,
    repetitions: int = 0,
) -> tuple[LevelMean, ...]:
    """The mean payoff of one agent at each level at which it has any.

    Exercises of one repetition depend on each other. What counts there is the mean of each
    repetition that came to the level, once.

    Args:
        outcomes: What came of the agent's exercises.
        levels: The levels, from ``complexity_levels`` over all agents.
        support: The lowest and the highest payoff there can be.
        repetitions: In how many repetitions the exercises were taken in turn; 0 when all of them
            are independent.
    """
    judged = [
        (each.exercise.number, each.exercise.complexity, each.payoff)
        for each in outcomes
        if each.payoff is not None
    ]
    means = []
    for level in levels:
        inside = [each for each in judged if each[1] in level]
        if inside:
            grades, payoffs = zip(*_independent(inside, repetitions), strict=True)
            means.append(_level_mean(float(np.mean(grades)), payoffs, support))
    return tuple(means)


def _independent(
    judged: Sequence[tuple[int, float, float]], repetitions: int
) -> list[tuple[float, float]]:
    """Complexity and payoff of each exercise, or their means in each repetition."""
    if not repetitions:
        return [(grade, payoff) for _, grade, payoff in judged]
    groups: dict[int, list[tuple[float, float]]] = {}
    for place, grade, payoff in judged:
        groups.setdefault(place % repetitions, []).append((grade, payoff))
    means = [np.mean(groups[repetition], axis=0).tolist() for repetition in sorted(groups)]
    return [(grade, payoff) for grade, payoff in means]


def _level_mean(complexity: float, payoffs: Sequence[float], support: Support | None) -> LevelMean:
    estimate = mean(payoffs, support=support)
    if estimate.count < 2:
        return LevelMean(complexity, estimate.value, None, None, estimate.count)
    return LevelMean(complexity, estimate.value, estimate.low, estimate.high, estimate.count)


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """What one agent scored.

    Attributes:
        agent: The agent.
        value: Its score; ``None`` when nothing could be judged.
        low: The lower end of the interval; ``None`` when that cannot be said.
        high: The upper end of the interval; ``None`` when that cannot be said.
        confidence: The confidence of the interval.
        count: From how many exercises.
        faults: How many exercises of each kind of fault were left out.
        interactions: The mean number of interactions of those that count.
        levels: The mean payoff at each level of complexity.
        repetitions: From how many repetitions; 0 where exercises are independent of each other.
        parts: Further named numbers beside the score.
    """

    agent: Spec
    value: float | None
    low: float | None
    high: float | None
    confidence: float
    count: int
    faults: Mapping[str, int]
    interactions: float | None
    levels: tuple[LevelMean, ...]
    repetitions: int = 0
    parts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """What the score is a mean of: exercises or repetitions."""
        return REPETITION if self.repetitions else EXERCISE

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
        confidence=0.95 if interval is None else interval.confidence,
        count=score.count,
        faults=dict(sorted(score.faults.items())),
        interactions=sum(lengths) / len(lengths) if lengths else None,
        levels=level_means(outcomes, levels, result.support, repetition_count(result)),
        repetitions=repetitions_of(agent, result),
        parts=score.parts,
    )


@dataclass(frozen=True, slots=True)
class Column:
    """A named number of each agent.

    Attributes:
        key: What ``Score.parts`` calls it.
        heading: What people call it.
        meaning: What it says.
        words: How it is written.
    """

    key: str
    heading: str
    meaning: str
    words: Callable[[float], str]

    def cell(self, row: ScoreRow) -> str:
        """What stands in the line of an agent."""
        value = row.parts.get(self.key)
        return NOTHING if value is None else self.words(value)


def _thousandths(value: float) -> str:
    return number(value, 3)


COLUMNS = (
    Column(
        "stability",
        "Stability",
        "How settled the score was in the second half of the rounds, from 0 to 1: at 0.98 it lay "
        "typically 2\N{NO-BREAK SPACE}% of the whole scale away from where it ended. It is no "
        "interval: a score can settle where another repetition would not.",
        _thousandths,
    ),
    Column(
        "spread",
        "Spread",
        "The standard deviation between the scores of single repetitions.",
        _thousandths,
    ),
    Column(
        "level",
        "Level reached",
        "The mean complexity of the environments in the last round.",
        lambda level: number(level, 1),
    ),
    Column(
        "potential",
        "Potential",
        "The mean of the average rewards in those exercises in which the agent had time to act at "
        "all, however long it took.",
        _thousandths,
    ),
    Column(
        "speed",
        "Speed",
        "Actions per second of the agent's own time.",
        lambda speed: grouped(float(f"{speed:.3g}")),
    ),
    Column(
        "idle",
        "Without time",
        "The share of exercises that were over before the agent had acted; each counts as 0.",
        lambda share: f"{share * 100:.0f} %",
    ),
)


def columns(rows: Sequence[ScoreRow]) -> list[Column]:
    """The columns in which something is to be said; none where exercises are independent.

    How much time there was is only of interest where time counts.
    """
    if not any(row.repetitions for row in rows):
        return []
    timed = any("speed" in row.parts for row in rows)
    known = [each for each in COLUMNS if any(row.parts.get(each.key) is not None for row in rows)]
    return [each for each in known if timed or each.key != "idle"]


PLACES = 2
"""Decimals of a reliability."""


def reliability_of(result: Result) -> Estimate | None:
    """The share of the differences between agents that is not error, if it can be said.

    From the repetitions or exercises that all agents with a score have in common.
    """
    scored = [agent for agent, score in result.scores.items() if score.value is not None]
    tables = [_units(result, agent) for agent in scored]
    if len(tables) < 2:
        return None
    common = sorted(set.intersection(*map(set, tables)))
    if len(common) < 2:
        return None
    found = intraclass([[values[unit] for unit in common] for values in tables])
    return None if isnan(found.value) else found


def reliability_sentence(reliability: Estimate | None) -> str:
    """How far a comparison of these agents can be trusted; empty where it cannot be said."""
    if reliability is None:
        return ""
    value, low, high = reliability.value, reliability.low, reliability.high
    return (
        f"The reliability of the comparison (intraclass correlation) is {number(value, PLACES)}, "
        f"{percent(reliability.confidence)} interval {interval(low, high, PLACES)}: this share of "
        "the "
        "variance of the scores is due to the agents, the rest is error. Agents that are more "
        "alike are told apart less reliably."
    )


def _units(result: Result, agent: Spec) -> dict[int, float]:
    if result.values:
        return dict(result.values.get(agent, {}))
    return {
        each.exercise.number: each.payoff
        for each in result.outcomes[agent]
        if each.payoff is not None
    }
