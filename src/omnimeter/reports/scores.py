"""The scores as data: a row for each agent, means at each complexity, and reliability."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from math import inf, isnan
from typing import Any, NamedTuple

import numpy as np

from omnimeter.contract import Outcome, Outcomes, Spec
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.estimation import Estimate, Support, intraclass, mean
from omnimeter.protocols import Result

EXERCISE, REPETITION = "exercise", "repetition"
"""The units that can be counted and compared (``Design.unit``)."""


def is_adjusted(result: Result) -> bool:
    """Whether an exercise counts with another value than its payoff."""
    return bool(result.values) and result.design.unit == EXERCISE


def repetition_count(result: Result) -> int:
    """How many repetitions each agent takes side by side; 0 where exercises are independent."""
    return (result.design.units or 0) if result.design.unit == REPETITION else 0


class UnitValues(NamedTuple):
    """Values by the numbers of their units, such as exercises, repetitions or MDPs."""

    numbers: IntArray
    values: FloatArray


def unit_values(result: Result, agent: Spec) -> UnitValues:
    """The independent values of an agent, whose mean the score is."""
    if result.values:
        own = result.values.get(agent, {})
        numbers, values = list(own), list(own.values())
        return UnitValues(np.array(numbers, np.int64), np.array(values, np.float64))
    done = result.outcomes.get(agent, Outcomes())
    return UnitValues(done.numbers[done.paid], done.payoffs[done.paid])


def is_rising(numbers: IntArray) -> bool:
    """Whether each number is above the one before."""
    return bool((numbers[1:] > numbers[:-1]).all())


def intersection(first: IntArray, second: IntArray) -> IntArray:
    """The numbers that are in both, in ascending order."""
    same = np.array_equal(first, second) and is_rising(first)  # as mostly, and soon seen
    return first if same else np.intersect1d(first, second)


def in_common(sides: Sequence[UnitValues]) -> tuple[IntArray, list[FloatArray]]:
    """The units that all have, in order, and the values of each there."""
    common = reduce(intersection, (side.numbers for side in sides))
    chosen = []
    for numbers, values in sides:
        order = np.argsort(numbers, kind="stable")
        chosen.append(values[order[np.searchsorted(numbers[order], common)]])
    return common, chosen


PRIVILEGED, FAULTY = "*", "†"
"""Written after the name of an agent that had a privileged view, or faults of its own."""


@dataclass(frozen=True, slots=True)
class Eligibility:
    """Whether an agent is ranked with the others, and the mark that says why it is not.

    Agents with faults of their own come last: their faults decide which exercises count. Before
    them come agents with a privileged view, which are references for the rest.

    Attributes:
        own_faults: How many of its exercises ended in faults of its own.
        exercises: How many exercises have an outcome.
        privileged: The view by which it was told what others have to find out, if it was.
        seated_faults: How many of its exercises ended in faults of agents seated beside it.
    """

    own_faults: int = 0
    exercises: int = 0
    privileged: str = ""
    seated_faults: int = 0

    @property
    def is_sound(self) -> bool:
        """Whether no fault of its own, or of those seated beside it, decides what counts.

        Of other agents there are the scores, whose intervals allow for what is hidden, and nothing
        else: no comparison and no further estimate.
        """
        return not self.own_faults and not self.seated_faults

    @property
    def order(self) -> tuple[bool, bool]:
        """Sorts agents before their scores do."""
        return bool(self.own_faults), bool(self.privileged)

    @property
    def mark(self) -> str:
        """What is written after the agent's name; mostly empty."""
        return PRIVILEGED * bool(self.privileged) + FAULTY * bool(self.own_faults)


def eligibility_of(outcomes: Sequence[Outcome]) -> Eligibility:
    """Whether an agent with these outcomes is ranked with the others."""
    outcomes = Outcomes.of(outcomes)
    own, hidden = (int(each.sum()) for each in (outcomes.own_faults, outcomes.hidden_payoffs))
    return Eligibility(own, len(outcomes), privileged_view(outcomes), hidden - own)


def eligibilities(result: Result) -> dict[str, Eligibility]:
    """The same of each agent of a result, by its label."""
    return {agent.label: eligibility_of(done) for agent, done in result.outcomes.items()}


def eligibility_over(known: Iterable[Eligibility]) -> Eligibility:
    """The same of several evaluations."""
    every = list(known)
    faults, exercises = (sum(each.own_faults for each in every), sum(e.exercises for e in every))
    view = next((e.privileged for e in every if e.privileged), "")
    return Eligibility(faults, exercises, view, sum(each.seated_faults for each in every))


def privileged_view(outcomes: Outcomes) -> str:
    """The view by which an agent was told what others have to find out; empty without any."""
    views = outcomes.remarks("privileged")
    return str(min(views, key=lambda view: int(view[1][0]))[0]) if views else ""


BINS = 8
"""Into how many bins more than twelve different complexities are put at the most."""

FILLED = 5
"""How many exercises of an agent a bin has on average at the least."""


@dataclass(frozen=True, slots=True)
class ComplexityMean:
    """The mean payoff of one agent in one bin of complexities.

    Attributes:
        complexity: The mean complexity of the exercises.
        low: The lower end of the 95 % interval; ``None`` for a single exercise.
        count: From how many exercises or, where these depend on each other, repetitions.
        between: The lowest and the highest complexity of the bin.
    """

    complexity: float
    value: float
    low: float | None
    high: float | None
    count: int
    between: tuple[float, float]


def complexity_bins(*outcomes: Sequence[Outcome]) -> list[tuple[float, float]]:
    """The ends, both included, of bins of complexities: one for each, or of about equal size.

    Args:
        outcomes: The outcomes of each agent.
    """
    columns = map(Outcomes.of, outcomes)
    return bins_of([each.complexities[each.paid] for each in columns])


def bins_of(complexities: Sequence[FloatArray]) -> list[tuple[float, float]]:
    """The bins of some complexities; see ``complexity_bins``."""
    known = np.concatenate([np.empty(0), *complexities])
    distinct = np.unique(known)
    if len(distinct) <= 12:
        return [(each, each) for each in distinct.tolist()]
    # A repeated complexity must not fall into two bins, so the bounds are complexities themselves.
    count = min(BINS, max(2, max(map(len, complexities)) // FILLED))
    bounds = np.unique(np.quantile(known, np.arange(1, count) / count, method="lower"))
    places = np.searchsorted(bounds, distinct, side="left")
    groups = [distinct[places == place] for place in np.unique(places)]
    return [(float(group[0]), float(group[-1])) for group in groups]


def complexity_means(
    outcomes: Sequence[Outcome],
    bins: Iterable[tuple[float, float]],
    support: Support | None = None,
    repetitions: int = 0,
) -> tuple[ComplexityMean, ...]:
    """The mean payoff of one agent in each bin in which it has any.

    Exercises of one repetition depend on each other. So the mean of each repetition that came to
    the complexity counts once.

    Args:
        outcomes: The outcomes of the agent's exercises.
        bins: The bins, from ``complexity_bins`` over all agents.
        support: The lowest and the highest payoff there can be.
        repetitions: In how many repetitions they were taken in turn; 0 if all are independent.
    """
    outcomes = Outcomes.of(outcomes)
    paid = outcomes.paid
    group = outcomes.numbers[paid] % repetitions if repetitions else None
    return means_in_bins(outcomes.complexities[paid], outcomes.payoffs[paid], bins, support, group)


def means_in_bins(
    complexities: FloatArray,
    payoffs: FloatArray,
    bins: Iterable[tuple[float, float]],
    support: Support | None = None,
    group: IntArray | None = None,
) -> tuple[ComplexityMean, ...]:
    """The mean payoff in each bin of complexities; values of one group depend on each other."""
    means = []
    for lowest, highest in bins:
        inside = (lowest <= complexities) & (complexities <= highest)
        if inside.any():
            at, values = complexities[inside], payoffs[inside]
            if group is not None:
                at, values = (group_means(group[inside], column) for column in (at, values))
            estimate = mean(values, support=support)
            low, high = (estimate.low, estimate.high) if estimate.count > 1 else (None, None)
            complexity = float(np.mean(at))
            numbers = complexity, estimate.value, low, high, estimate.count
            means.append(ComplexityMean(*numbers, (lowest, highest)))
    return tuple(means)


def group_means(group: IntArray, values: FloatArray) -> FloatArray:
    """The mean of the values of each group, in the order of the groups' numbers."""
    _, places, counts = np.unique(group, return_inverse=True, return_counts=True)
    return np.bincount(places, weights=values) / counts


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """The score of one agent.

    Attributes:
        agent: The agent.
        value: Its score, if it has one.
        low: The lower end of the interval; ``None`` when that cannot be said.
        high: The upper end.
        confidence: The confidence of the interval.
        count: From how many exercises.
        faults: How many exercises of each kind of fault were left out.
        interactions: The mean number of interactions of those that count.
        complexities: The mean payoff at each complexity.
        repetitions: From how many repetitions; 0 where exercises are independent of each other.
        parts: Further named numbers, such as the secondary metrics.
        eligibility: Whether it is ranked with the others.
        rank: Its rank, from 1 on, which equal scores share; ``None`` without a score and for agents
            that are ranked apart.
    """

    agent: Spec
    value: float | None
    low: float | None
    high: float | None
    confidence: float
    count: int
    faults: Mapping[str, int]
    interactions: float | None
    complexities: tuple[ComplexityMean, ...]
    repetitions: int = 0
    parts: Mapping[str, Any] = field(default_factory=dict)
    eligibility: Eligibility = Eligibility()
    rank: int | None = None

    @property
    def label(self) -> str:
        """The agent as a person writes it."""
        return self.agent.label

    @property
    def name(self) -> str:
        """The label with its mark."""
        return self.label + self.eligibility.mark


def score_rows(result: Result) -> list[ScoreRow]:
    """The scores of all agents, the best first.

    Then come agents with a privileged view, those with faults of their own, and, among each of
    them last, those without a score (``Eligibility``).
    """
    return list(result.once(_score_rows))


def _score_rows(result: Result) -> list[ScoreRow]:
    bins = complexity_bins(*result.outcomes.values())
    repetitions = repetition_count(result)
    rows = []
    for agent, score in result.scores.items():
        outcomes = result.outcomes.get(agent, Outcomes())
        lengths = outcomes.interactions[outcomes.paid]
        low, high, confidence, _ = score.interval or (None, None, 0.95, False)
        rows.append(
            ScoreRow(
                agent=agent,
                value=score.value,
                low=low,
                high=high,
                confidence=confidence,
                count=score.count,
                faults=dict(sorted(score.faults.items())),
                interactions=int(lengths.sum()) / len(lengths) if len(lengths) else None,
                complexities=complexity_means(outcomes, bins, result.support, repetitions),
                repetitions=len(result.values.get(agent, ())) if repetitions else 0,
                parts=score.parts,
                eligibility=eligibility_of(outcomes),
            )
        )
    return ranked(rows)


def ranked(unordered: Iterable[ScoreRow]) -> list[ScoreRow]:
    """Rows in order, with the ranks of those that have one; see ``score_rows``.

    Equal scores share a rank, and the next one is as far behind as there are rows before it.
    """
    rows = sorted(
        unordered,
        key=lambda row: (
            row.eligibility.order,
            inf if row.value is None else -row.value,
            row.label,
        ),
    )
    first = rows[0].eligibility if rows else Eligibility()
    if first.own_faults:
        return rows
    places: dict[float, int] = {}
    done = []
    for place, row in enumerate(rows, 1):
        if row.value is None or row.eligibility.order != first.order:
            done.append(row)
        else:
            done.append(replace(row, rank=places.setdefault(row.value, place)))
    return done


def reliability_of(result: Result) -> Estimate | None:
    """The share of the differences between agents that is not error; ``None`` if not known.

    From the repetitions or exercises that all agents with a score have in common.
    """
    scored = [agent for agent, score in result.scores.items() if score.value is not None]
    values = [unit_values(result, agent) for agent in scored]
    if len(values) < 2:
        return None
    common, table = in_common(values)
    if len(common) < 2:
        return None
    estimate = intraclass(table)
    return None if isnan(estimate.value) else estimate
