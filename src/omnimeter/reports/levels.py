"""How payoffs depend on complexity: levels, and the mean payoff at each."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from omnimeter.contract import Outcome
from omnimeter.statistics import Support, mean

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
        count: From how many exercises or, where these depend on each other, sittings.
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
    sittings: int = 0,
) -> tuple[LevelMean, ...]:
    """The mean payoff of one agent at each level at which it has any.

    Exercises of one sitting depend on each other. What counts there is the mean of each sitting
    that came to the level, once.

    Args:
        outcomes: What came of the agent's exercises.
        levels: The levels, from ``complexity_levels`` over all agents.
        support: The lowest and the highest payoff there can be.
        sittings: In how many sittings the exercises were taken in turn; 0 when all of them are
            independent.
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
            grades, payoffs = zip(*_independent(inside, sittings), strict=True)
            means.append(_level_mean(float(np.mean(grades)), payoffs, support))
    return tuple(means)


def _independent(
    judged: Sequence[tuple[int, float, float]], sittings: int
) -> list[tuple[float, float]]:
    """Complexity and payoff of each exercise, or their means in each sitting."""
    if not sittings:
        return [(grade, payoff) for _, grade, payoff in judged]
    groups: dict[int, list[tuple[float, float]]] = {}
    for number, grade, payoff in judged:
        groups.setdefault(number % sittings, []).append((grade, payoff))
    means = [np.mean(groups[sitting], axis=0).tolist() for sitting in sorted(groups)]
    return [(grade, payoff) for grade, payoff in means]


def _level_mean(complexity: float, payoffs: Sequence[float], support: Support | None) -> LevelMean:
    estimate = mean(payoffs, support=support)
    if estimate.count < 2:
        return LevelMean(complexity, estimate.value, None, None, estimate.count)
    return LevelMean(complexity, estimate.value, estimate.low, estimate.high, estimate.count)
