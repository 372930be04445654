"""Comparisons of agents on the same exercises or repetitions, as data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce
from itertools import combinations
from math import isfinite
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import InvalidInputError, Outcomes, Spec
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.estimation import (
    Estimate,
    Support,
    difference_sequence,
    paired_difference,
    stratified_difference,
    stratified_test,
)
from omnimeter.protocols import Result
from omnimeter.protocols.sample import cycle_means
from omnimeter.reports.scores import (
    EXERCISE,
    Eligibility,
    ScoreRow,
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


Watched = Callable[[float], tuple[float, float] | None]
"""The ends of an interval that holds at every moment, by its confidence."""


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
    return comparisons_over([result], reference)


def comparisons_over(results: Sequence[Result], reference: Spec | None = None) -> list[Comparison]:
    """Every agent against one of them over the seeds of a test, each seed with the same weight.

    As ``comparisons``: the seeds are strata, as the parts of a test are.

    Args:
        results: The results of the same test under different seeds, or a single one.
        reference: The agent to compare with.

    Raises:
        InvalidInputError: The reference took no part.
    """
    eligibilities = ranked_over(results)
    ranked = list(eligibilities)
    known = dict.fromkeys(agent for result in results for agent in result.outcomes)
    if reference is not None and reference not in known:
        raise InvalidInputError(
            f"{reference.label} took no part in this evaluation.",
            "Compare with one of: " + ", ".join(agent.label for agent in known) + ".",
        )
    faulty = {agent for agent in known if has_own_faults(results, agent)}
    best = next((agent for agent in ranked if agent not in faulty), None)
    chosen = best if reference is None else reference
    if not ranked or chosen is None:
        return []
    others = [agent for agent in ranked if agent != chosen]
    pairs = list(combinations(ranked, 2)) if reference is None else [(chosen, o) for o in others]
    return [
        _comparison(results, agent, chosen, len(pairs), (mark.mark, _mark(results, chosen)))
        for agent, mark in eligibilities.items()
        if agent != chosen
    ]


def ranked_over(results: Sequence[Result]) -> dict[Spec, Eligibility]:
    """The agents that have a score under some seed, best first, and how they are ranked."""
    known: dict[Spec, list[ScoreRow]] = {}
    for result in results:
        for row in score_rows(result):
            if row.value is not None:
                known.setdefault(row.agent, []).append(row)

    def order(agent: Spec) -> tuple[tuple[bool, bool], float, str]:
        values = [row.value for row in known[agent] if row.value is not None]
        return eligibility(agent).order, -fmean(values), agent.label

    def eligibility(agent: Spec) -> Eligibility:
        own = [row.eligibility for row in known[agent]]
        privileged = next((each.privileged for each in own if each.privileged), "")
        faults, exercises = sum(e.own_faults for e in own), sum(e.exercises for e in own)
        return Eligibility(faults, exercises, privileged)

    return {agent: eligibility(agent) for agent in sorted(known, key=order)}


def has_own_faults(results: Sequence[Result], agent: Spec) -> bool:
    """Whether some exercise of an agent ended in a fault of its own."""
    return any(
        bool(result.outcomes[agent].own_faults.any())
        for result in results
        if agent in result.outcomes
    )


def _mark(results: Sequence[Result], agent: Spec) -> str:
    marks = [eligibility_of(r.outcomes[agent]).mark for r in results if agent in r.outcomes]
    return max(marks, key=len, default="")


def support_of(results: Sequence[Result]) -> Support | None:
    """Between which numbers every payoff of some results lies, where that is known of all."""
    known = [result.support for result in results if result.support is not None]
    if len(known) < len(results):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _comparison(
    results: Sequence[Result], agent: Spec, chosen: Spec, simultaneous: int, marks: tuple[str, str]
) -> Comparison:
    """One agent against another, as one of several comparisons."""

    def watched(confidence: float) -> tuple[float, float] | None:
        return watched_over(results, agent, chosen, confidence)

    return comparison_of(
        (agent, chosen),
        strata_of(results, agent, chosen),
        support_of(results),
        simultaneous,
        marks,
        unit=results[0].design.unit,
        faulty=has_own_faults(results, agent) or has_own_faults(results, chosen),
        sequential=any(result.design.precision is not None for result in results),
        watched=None if all(result.complete for result in results) else watched,
        always=watched,
    )


def comparison_of(
    agents: tuple[Spec, Spec],
    strata: tuple[Sequence[FloatArray], Sequence[FloatArray]],
    support: Support | None,
    simultaneous: int,
    marks: tuple[str, str],
    *,
    unit: str,
    faulty: bool,
    sequential: bool,
    watched: Watched | None,
    always: Watched,
) -> Comparison:
    """One agent against another by their values, as one of several comparisons.

    Args:
        agents: The agent, and the reference.
        strata: Their values in what both finished, by seed and by part of the test.
        support: The lowest and the highest possible value.
        simultaneous: For how many comparisons the interval holds at once.
        marks: The marks of both.
        unit: What is compared one by one.
        faulty: Whether one of them had faults of its own.
        sequential: Whether a precision decided on the length of the test.
        watched: Where the test was not completed, its interval that holds at every moment.
        always: The same where the test is sequential.
    """
    confidence = 1 - ERROR_RATE / max(1, simultaneous)
    count = sum(map(len, strata[0]))
    estimate = stratified_difference(*strata, confidence, support) if count else None
    difference = None if estimate is None else estimate.value
    low, high, p_value, verdict = None, None, None, Verdict.TOO_FEW
    if faulty:
        # Its own faults decide which of its exercises can be compared, so nothing is shown.
        verdict = Verdict.FAULTY
    elif estimate is not None and count > 1:
        low, high = estimate.low, estimate.high
        p_value = min(1.0, simultaneous * stratified_test(*strata, support))
        verdict = verdict_of(low, high)
    ends = None
    chosen = always if sequential else watched
    if verdict not in (Verdict.TOO_FEW, Verdict.FAULTY) and chosen is not None:
        ends = chosen(confidence)
    if sequential and ends and difference is not None:
        p_value, (low, high) = None, ends
        verdict = verdict_of(low, high)
    numbers = difference, low, high, count, p_value
    bounded = estimate is not None and estimate.bounded and not sequential
    agent, reference = agents
    return Comparison(agent, reference, *numbers, verdict, unit, simultaneous, bounded, ends, marks)


def watched_over(
    results: Sequence[Result], agent: Spec, reference: Spec, confidence: float
) -> tuple[float, float] | None:
    """The ends of the interval that holds at every moment, of the mean over seeds."""
    share = 1 - (1 - confidence) / len(results)  # so that those of all seeds hold at once
    known = [watched_difference(result, agent, reference, share) for result in results]
    ends = [(each.low, each.high) for each in known if each is not None]
    if len(ends) < len(results):
        return None
    return fmean(low for low, _ in ends), fmean(high for _, high in ends)


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
    done = result.outcomes.get(agent, Outcomes())
    return Sample(numbers, done.instances[done.paid], values)


class Pairs(NamedTuple):
    """What two agents got where both have something, in the order of the parts of the test.

    Attributes:
        numbers: The numbers of the exercises, or of the repetitions.
        parts: To which part of the test each belongs.
        first: What the one agent got.
        second: What the other one got.
    """

    numbers: IntArray
    parts: IntArray
    first: FloatArray
    second: FloatArray


def paired(result: Result, agent: Spec, reference: Spec) -> Pairs:
    """What two agents got in what both finished."""
    parts = 1 if result.values else result.design.parts
    return pairs_of(sample_of(result, agent), sample_of(result, reference), parts)


def pairs_of(first: Sample, second: Sample, parts: int) -> Pairs:
    """The values of two agents in what both finished, in the order of so many parts."""
    same = all(map(np.array_equal, first[:2], second[:2])) and is_rising(first.numbers)
    if same:  # as mostly, and soon seen
        ours = theirs = np.arange(len(first.numbers))
    else:
        ours, theirs = matching_rows(first, second)
    part = first.numbers[ours] % parts
    order = np.argsort(part, kind="stable")
    ours, theirs = ours[order], theirs[order]
    return Pairs(first.numbers[ours], part[order], first.values[ours], second.values[theirs])


def strata_of(
    results: Sequence[Result], agent: Spec, reference: Spec
) -> tuple[list[FloatArray], list[FloatArray]]:
    """What two agents got in what both finished, by seed and by part of the test."""
    return strata_in(paired(result, agent, reference) for result in results)


def strata_in(known: Iterable[Pairs]) -> tuple[list[FloatArray], list[FloatArray]]:
    """The values of two agents under each of some seeds, by seed and by part of the test."""
    mine: list[FloatArray] = []
    other: list[FloatArray] = []
    for pairs in known:
        if len(pairs.numbers):
            starts = np.flatnonzero(np.diff(pairs.parts)) + 1
            mine += np.split(pairs.first, starts)
            other += np.split(pairs.second, starts)
    return mine, other


def matching_rows(first: Sample, second: Sample) -> tuple[IntArray, IntArray]:
    """The rows in which both have the same number and instance, by number and then by instance."""
    codes = np.unique(np.append(first.instances, second.instances), return_inverse=True)[1]
    keys = np.append(first.numbers, second.numbers) * (int(codes.max(initial=0)) + 1) + codes
    size = len(first.numbers)
    _, ours, theirs = np.intersect1d(keys[:size], keys[size:], return_indices=True)
    return ours, theirs
