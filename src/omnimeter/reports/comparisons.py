"""Comparisons of agents on the same exercises or repetitions, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations
from math import isfinite

from omnimeter.contract import InvalidInputError, Spec
from omnimeter.contract.exercise import is_own_fault
from omnimeter.estimation import (
    Estimate,
    difference_sequence,
    paired_difference,
    stratified_difference,
    stratified_test,
)
from omnimeter.protocols import Result
from omnimeter.protocols.sample import cycle_means
from omnimeter.reports.scores import EXERCISE, eligibility_of, score_rows, unit_values

ERROR_RATE = 0.05
"""How often a difference may be claimed, over all comparisons, between equal agents."""

_Payoffs = Mapping[tuple[int, str], float]
"""By number and instance of the exercise or, where exercises may differ between agents, by the
number of an independent part of the test, such as a repetition."""


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
        low: The lower end of the simultaneous 95 % interval; ``None`` when that cannot be said.
        high: The upper end.
        count: How many exercises or repetitions both finished.
        p_value: The smallest error rate, for all comparisons at once, at which the interval
            excludes 0; ``None`` if not computed.
        verdict: What this shows: a difference where the interval excludes 0.
        unit: What is compared one by one: exercises or, if these are dependent, repetitions.
        simultaneous: For how many comparisons the intervals hold at once.
        bounded: Whether the interval only rests on the possible payoffs (``Estimate.bounded``).
        watched: The ends of the interval that holds even if what was seen was the reason for
            stopping, for all comparisons at once; ``None`` for a test that was not stopped.
        marks: The marks of agent and reference (``omnimeter.reports.scores.Eligibility``).
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
    simultaneous: int = 1
    bounded: bool = False
    watched: tuple[float, float] | None = None
    marks: tuple[str, str] = ("", "")

    @property
    def name(self) -> str:
        """The agent's label with its mark."""
        return self.agent.label + self.marks[0]

    @property
    def reference_name(self) -> str:
        """The reference's label with its mark."""
        return self.reference.label + self.marks[1]

    @property
    def finding(self) -> str:
        """The verdict with the unit that was compared."""
        return str(self.verdict).replace(EXERCISE, self.unit)


def comparisons(result: Result, reference: Spec | None = None) -> list[Comparison]:
    """Every agent against one of them, best first, on the same exercises.

    The error rate is divided among the comparisons (Bonferroni), so that all intervals hold at once
    with a confidence of 95 %. A difference counts as shown when its interval does not contain 0.
    Against a reference that was chosen beforehand, the comparisons with it count. The best agent,
    however, is selected by the very same payoffs, and could have been any; then all pairs of agents
    count.

    Where a precision decided on the number of exercises, only intervals that hold at every number
    at once say something. A difference then counts as shown when its own, with the error rate
    divided among the comparisons, does not contain 0; there is no p-value.

    Args:
        result: The result of an evaluation.
        reference: The agent to compare with; by default the best without faults of its own, and
            without a privileged view if there is one. Without any nothing is compared.

    Raises:
        InvalidInputError: The reference took no part.
    """
    eligibilities = {
        row.agent: row.eligibility for row in score_rows(result) if row.value is not None
    }
    ranked = list(eligibilities)
    payoffs: dict[Spec, _Payoffs] = {
        agent: {(unit, ""): value for unit, value in result.values.get(agent, {}).items()}
        if result.values
        else {
            (each.exercise.number, each.exercise.instance.key): each.payoff
            for each in done
            if each.payoff is not None
        }
        for agent, done in result.outcomes.items()
    }
    if reference is not None and reference not in payoffs:
        raise InvalidInputError(
            f"{reference.label} took no part in this evaluation.",
            "Compare with one of: " + ", ".join(agent.label for agent in payoffs) + ".",
        )
    faulty = {agent for agent, done in result.outcomes.items() if any(map(is_own_fault, done))}
    best = next((agent for agent in ranked if agent not in faulty), None)
    chosen = best if reference is None else reference
    if not ranked or chosen is None:
        return []
    others = [agent for agent in ranked if agent != chosen]
    pairs = list(combinations(ranked, 2)) if reference is None else [(chosen, o) for o in others]
    strata = {} if result.values else result.strata
    confidence = 1 - ERROR_RATE / max(1, len(pairs))
    compared = []
    for agent in others:
        shared = _shared(payoffs[agent], payoffs[chosen], strata)
        count = sum(map(len, shared[0]))
        estimate = stratified_difference(*shared, confidence, result.support) if count else None
        difference = None if estimate is None else estimate.value
        low, high, p_value, verdict = None, None, None, Verdict.TOO_FEW
        if {agent, chosen} & faulty:
            # Its own faults decide which of its exercises can be compared, so nothing is shown.
            verdict = Verdict.FAULTY
        elif estimate is not None and count > 1:
            low, high = estimate.low, estimate.high
            p_value = min(1.0, len(pairs) * stratified_test(*shared, result.support))
            verdict = verdict_of(low, high)
        watched = None
        sequential = result.design.precision is not None
        if verdict not in (Verdict.TOO_FEW, Verdict.FAULTY) and (sequential or not result.complete):
            always = watched_difference(result, agent, chosen, confidence)
            watched = None if always is None else (always.low, always.high)
        if sequential and watched and difference is not None:
            p_value, (low, high) = None, watched
            verdict = verdict_of(low, high)
        numbers = difference, low, high, count, p_value
        unit = result.design.unit
        bounded = estimate is not None and estimate.bounded and not sequential
        marks = eligibilities[agent].mark, eligibility_of(result.outcomes[chosen]).mark
        compared.append(
            Comparison(agent, chosen, *numbers, verdict, unit, len(pairs), bounded, watched, marks)
        )
    return compared


def verdict_of(low: float, high: float) -> Verdict:
    """What an interval of a difference shows."""
    if low <= 0 <= high:
        return Verdict.NOT_SHOWN
    return Verdict.BETTER if low > 0 else Verdict.WORSE


def watched_difference(
    result: Result, agent: Spec, reference: Spec, confidence: float
) -> Estimate | None:
    """The difference of two agents, with an interval that holds at every moment at once.

    Of exercises, and of whole repetitions where a precision decides on their number, it is a
    confidence sequence, up to the first that one of both has not taken. Otherwise repetitions have
    a difference of their own in each round, so the error rate is divided among all the rounds that
    there can be.

    Returns:
        The estimate; ``None`` where payoffs or the number of moments are not bounded, or too
        little is known.
    """
    ours, theirs = unit_values(result, agent), unit_values(result, reference)
    design = result.design
    if design.unit != EXERCISE:
        common = sorted(ours.keys() & theirs.keys())
        if len(common) < 2:
            return None
        first, second = ([each[unit] for unit in common] for each in (ours, theirs))
        if design.precision is not None:
            return difference_sequence(first, second, confidence, result.support)
        if design.moments is None:
            return None
        share = 1 - (1 - confidence) / design.moments
        return paired_difference(first, second, share, result.support)
    if result.support is None or not all(map(isfinite, result.support)):
        return None
    both = set.intersection(
        *({each.exercise.number for each in result.outcomes[who]} for who in (agent, reference))
    )
    paid = ours.keys() & theirs.keys()
    first, second = (
        cycle_means({unit: side[unit] if unit in paid else None for unit in both}, design.parts)
        for side in (ours, theirs)
    )
    return difference_sequence(first, second, confidence, result.support) if first else None


def _shared(
    first: _Payoffs, second: _Payoffs, strata: Mapping[int, int]
) -> tuple[list[list[float]], list[list[float]]]:
    """The payoffs of two agents in what both finished, stratum by stratum."""
    groups: dict[int, list[tuple[int, str]]] = {}
    for key in sorted(first.keys() & second.keys()):
        groups.setdefault(strata.get(key[0], 0), []).append(key)
    parts = [groups[stratum] for stratum in sorted(groups)]
    ours, theirs = ([[each[key] for key in part] for part in parts] for each in (first, second))
    return ours, theirs
