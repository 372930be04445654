"""Comparisons of agents on the same exercises or repetitions, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

from omnimeter.contract import InvalidInputError, Spec
from omnimeter.contract.exercise import is_own_fault
from omnimeter.estimation import Support, holm, stratified_difference, stratified_test
from omnimeter.protocols import Result
from omnimeter.reports.scores import EXERCISE, score_rows

ERROR_RATE = 0.05
"""How often a difference may be claimed, over all comparisons, where there is none."""

FEWEST = 2
"""With fewer exercises or repetitions in common there is no p-value."""

Meeting = tuple[int, str]
"""What two agents must share to be compared: number and instance of an exercise, or the number of
an independent part of the test, such as a repetition, in which their exercises may differ."""


class Verdict(StrEnum):
    """What a comparison shows of an agent, seen from it."""

    BETTER = "better"
    WORSE = "worse"
    NOT_SHOWN = "no difference shown"
    TOO_FEW = "too few exercises in common"
    FAULTY = "not compared, because of faults"


@dataclass(frozen=True, slots=True)
class Comparison:
    """One agent against another on the exercises, or repetitions, that both finished.

    Attributes:
        agent: The agent.
        reference: The agent that it is compared with.
        difference: The mean of its payoffs minus the other's; ``None`` without any in common.
        low: The lower end of the 95 % interval; ``None`` when that cannot be said.
        high: The upper end.
        count: How many exercises or repetitions both finished.
        p_value: The p-value, corrected for all comparisons made; ``None`` when there is none.
        verdict: What this shows.
        unit: What is compared one by one: exercises or, where these depend on each other,
            repetitions.
    """

    agent: Spec
    reference: Spec
    difference: float | None
    low: float | None
    high: float | None
    count: int
    p_value: float | None
    verdict: Verdict
    unit: str = EXERCISE

    @property
    def finding(self) -> str:
        """The verdict with the unit that was compared."""
        return str(self.verdict).replace(EXERCISE, self.unit)


def comparisons(result: Result, reference: Spec | None = None) -> list[Comparison]:
    """Every agent against one of them, best first, on the same exercises.

    A difference counts as shown when its p-value, corrected by Holm's method, is at most 0.05 and
    its interval does not contain 0. Against a reference that was chosen beforehand the correction
    is for the comparisons with it. The best agent, however, is selected by the very same payoffs,
    and could have been any; the correction is then for all pairs of agents.

    Args:
        result: The result of an evaluation.
        reference: The agent to compare with; by default the one with the best score among those
            without faults of their own.

    Raises:
        InvalidInputError: The reference took no part.
    """
    ranked = [row.agent for row in score_rows(result) if row.value is not None]
    payoffs = {agent: _payoffs(agent, result) for agent in result.outcomes}
    if reference is not None and reference not in payoffs:
        raise InvalidInputError(
            f"{reference.label} took no part in this evaluation.",
            "Compare with one of: " + ", ".join(agent.label for agent in payoffs) + ".",
        )
    if not ranked:
        return []
    faulty = {agent for agent, done in result.outcomes.items() if any(map(is_own_fault, done))}
    best = next((agent for agent in ranked if agent not in faulty), ranked[0])
    chosen = best if reference is None else reference
    others = [agent for agent in ranked if agent != chosen]
    pairs = list(combinations(ranked, 2)) if reference is None else [(chosen, o) for o in others]
    strata = {} if result.values else result.strata
    p_values = _corrected(payoffs, pairs, strata)
    compared = [
        replace(
            _compare(agent, chosen, payoffs, strata, result.support, p_values),
            unit=result.design.unit,
        )
        for agent in others
    ]
    # An agent's own faults decide which of its exercises can be compared, so nothing is shown.
    return [
        replace(each, low=None, high=None, p_value=None, verdict=Verdict.FAULTY)
        if {each.agent, each.reference} & faulty
        else each
        for each in compared
    ]


def _payoffs(agent: Spec, result: Result) -> dict[Meeting, float]:
    """What an agent's exercises were worth or, where they are not independent, its repetitions."""
    if result.values:
        return {(unit, ""): value for unit, value in result.values.get(agent, {}).items()}
    return {
        (each.exercise.number, each.exercise.instance.key): each.payoff
        for each in result.outcomes[agent]
        if each.payoff is not None
    }


Shared = tuple[list[list[float]], list[list[float]]]
"""The payoffs of two agents in the exercises that both finished, stratum by stratum."""


def _shared(
    first: Mapping[Meeting, float], second: Mapping[Meeting, float], strata: Mapping[int, int]
) -> Shared:
    groups: dict[int, list[Meeting]] = {}
    for meeting in sorted(first.keys() & second.keys()):
        groups.setdefault(strata.get(meeting[0], 0), []).append(meeting)
    parts = [groups[stratum] for stratum in sorted(groups)]
    ours, theirs = (
        [[payoffs[meeting] for meeting in part] for part in parts] for payoffs in (first, second)
    )
    return ours, theirs


def _corrected(
    payoffs: Mapping[Spec, Mapping[Meeting, float]],
    pairs: Sequence[tuple[Spec, Spec]],
    strata: Mapping[int, int],
) -> dict[frozenset[Spec], float]:
    """The p-value of each pair that has enough exercises in common, corrected for all of them."""
    raw = {}
    for first, second in pairs:
        shared = _shared(payoffs[first], payoffs[second], strata)
        if sum(map(len, shared[0])) >= FEWEST:
            raw[frozenset((first, second))] = stratified_test(*shared)
    return dict(zip(raw, holm(list(raw.values())).tolist(), strict=True))


def _compare(
    agent: Spec,
    reference: Spec,
    payoffs: Mapping[Spec, Mapping[Meeting, float]],
    strata: Mapping[int, int],
    support: Support | None,
    p_values: Mapping[frozenset[Spec], float],
) -> Comparison:
    shared = _shared(payoffs[agent], payoffs[reference], strata)
    count = sum(map(len, shared[0]))
    if not count:
        return Comparison(agent, reference, None, None, None, 0, None, Verdict.TOO_FEW)
    estimate = stratified_difference(*shared, 1 - ERROR_RATE, support)
    value, low, high = estimate.value, estimate.low, estimate.high
    if count < FEWEST:
        return Comparison(agent, reference, value, None, None, count, None, Verdict.TOO_FEW)
    p_value = p_values[frozenset((agent, reference))]
    verdict = Verdict.NOT_SHOWN
    if p_value <= ERROR_RATE and not low <= 0 <= high:
        verdict = Verdict.BETTER if value > 0 else Verdict.WORSE
    return Comparison(agent, reference, value, low, high, count, p_value, verdict)
