"""Comparisons of agents on the same exercises or repetitions, as data."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from itertools import combinations
from math import isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import InvalidInputError, Spec
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.estimation import (
    Estimate,
    difference_sequence,
    paired_difference,
    stratified_difference,
    stratified_test,
)
from omnimeter.protocols import Result
from omnimeter.protocols.sample import cycle_means
from omnimeter.reports.scores import (
    EXERCISE,
    eligibility_of,
    in_common,
    intersection,
    is_rising,
    score_rows,
    unit_values,
)

ERROR_RATE = 0.05
"""How often a difference may be claimed, over all comparisons, between equal agents."""


class Sample(NamedTuple):
    """The values of an agent, by number and instance of the exercise.

    Where exercises may differ between agents, the number is that of an independent part of the
    test, such as a repetition, and there is no instance.
    """

    numbers: IntArray
    instances: NDArray[np.uint64]
    values: FloatArray


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
    outcomes = result.outcomes
    if reference is not None and reference not in outcomes:
        raise InvalidInputError(
            f"{reference.label} took no part in this evaluation.",
            "Compare with one of: " + ", ".join(agent.label for agent in outcomes) + ".",
        )
    faulty = {agent for agent, done in outcomes.items() if done.own_faults.any()}
    best = next((agent for agent in ranked if agent not in faulty), None)
    chosen = best if reference is None else reference
    if not ranked or chosen is None:
        return []
    others = [agent for agent in ranked if agent != chosen]
    pairs = list(combinations(ranked, 2)) if reference is None else [(chosen, o) for o in others]
    parts = 1 if result.values else result.design.parts
    confidence = 1 - ERROR_RATE / max(1, len(pairs))
    compared = []
    for agent in others:
        shared = in_both(sample_of(result, agent), sample_of(result, chosen), parts)
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
        marks = eligibilities[agent].mark, eligibility_of(outcomes[chosen]).mark
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
        common, (first, second) = in_common((ours, theirs))
        if len(common) < 2:
            return None
        if design.precision is not None:
            return difference_sequence(first, second, confidence, result.support)
        if design.moments is None:
            return None
        share = 1 - (1 - confidence) / design.moments
        return paired_difference(first, second, share, result.support)
    if result.support is None or not all(map(isfinite, result.support)):
        return None
    numbers = (result.outcomes[who].numbers for who in (agent, reference))
    both = reduce(intersection, numbers)
    paid, sides = in_common((ours, theirs))
    first, second = (_cycles(both, paid, values, design.parts) for values in sides)
    return difference_sequence(first, second, confidence, result.support) if len(first) else None


def _cycles(numbers: IntArray, paid: IntArray, values: FloatArray, parts: int) -> FloatArray:
    """The cycle means of exercises of which only some, in ascending order, have a value."""
    payoffs = np.full(len(numbers), np.nan)
    payoffs[np.searchsorted(numbers, paid)] = values
    return cycle_means(numbers, payoffs, parts)


def sample_of(result: Result, agent: Spec) -> Sample:
    """What an agent got; its independent values where the test has some of its own."""
    numbers, values = unit_values(result, agent)
    if result.values:
        return Sample(numbers, np.zeros(len(numbers), np.uint64), values)
    done = result.outcomes[agent]
    return Sample(numbers, done.instances[done.paid], values)


def in_both(first: Sample, second: Sample, parts: int) -> tuple[list[FloatArray], list[FloatArray]]:
    """The payoffs of two agents in what both finished, part by part of the test."""
    same = all(map(np.array_equal, first[:2], second[:2])) and is_rising(first.numbers)
    if same:  # as mostly, and soon seen
        ours = theirs = np.arange(len(first.numbers))
    else:
        ours, theirs = matching_rows(first, second)
    part = first.numbers[ours] % parts
    order = np.argsort(part, kind="stable")
    starts = np.unique(part[order], return_index=True)[1]
    mine, other = (
        np.split(values[order], starts[1:])
        for values in (first.values[ours], second.values[theirs])
    )
    return mine, other


def matching_rows(first: Sample, second: Sample) -> tuple[IntArray, IntArray]:
    """The rows in which both have the same number and instance, by number and then by instance."""
    codes = np.unique(np.append(first.instances, second.instances), return_inverse=True)[1]
    keys = np.append(first.numbers, second.numbers) * (int(codes.max(initial=0)) + 1) + codes
    size = len(first.numbers)
    _, ours, theirs = np.intersect1d(keys[:size], keys[size:], return_indices=True)
    return ours, theirs
