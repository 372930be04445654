"""Comparisons of agents on the same exercises or repetitions, as data."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import reduce
from math import isfinite
from statistics import fmean
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import InvalidInputError, Spec
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.protocol import Design
from omnimeter.estimation import (
    Estimate,
    Support,
    difference_sequence,
    mean,
    mean_sequence,
    paired_difference,
    stratified_difference,
    stratified_test,
)
from omnimeter.protocols import Result
from omnimeter.protocols.sample import cycle_means
from omnimeter.reports.scores import (
    EXERCISE,
    ScoreRow,
    UnitValues,
    eligibility_over,
    in_common,
    intersection,
    is_rising,
    ranked,
    score_rows,
    unit_values,
)

ERROR_RATE = 0.05
"""How often a difference may be claimed, over all comparisons, between equal agents."""


class Sample(NamedTuple):
    """The values of an agent, by number and instance of the exercise.

    Where exercises may differ between agents, the number is that of an independent part of the
    test, such as a repetition, and there is no instance.

    Attributes:
        taken: The numbers of all exercises that it took, in order, those without a value too.
    """

    numbers: IntArray
    instances: NDArray[np.uint64]
    values: FloatArray
    taken: IntArray


@dataclass(frozen=True)
class Samples:
    """What comparisons need to know of an evaluation.

    Attributes:
        design: What the test says of itself.
        support: Between which numbers every payoff lies, where that is known.
        complete: Whether all exercises are done.
        parts: How many parts of the test are strata.
        of: The values of each agent that has begun.
    """

    design: Design
    support: Support | None
    complete: bool
    parts: int
    of: Mapping[Spec, Sample]


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
        difference: The mean of its payoffs minus the other's; ``None`` without any in common, and
            where faults decide what that is.
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
    def is_shown(self) -> bool:
        """Whether a difference is shown."""
        return self.verdict in (Verdict.BETTER, Verdict.WORSE)

    @property
    def finding(self) -> str:
        """The verdict with the unit that was compared."""
        return finding(self.verdict, self.unit)


def finding(verdict: Verdict, unit: str) -> str:
    """A verdict with the unit that was compared."""
    return str(verdict).replace(EXERCISE, unit)


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
    return comparisons_over([samples_of(result)], score_rows(result), reference)


def comparisons_over(
    seeds: Sequence[Samples],
    rows: Sequence[ScoreRow],
    reference: Spec | None = None,
    planned: int = 0,
) -> list[Comparison]:
    """Every agent against one of them over the seeds of a test, each seed with the same weight.

    As ``comparisons``: the seeds are strata, as the parts of a test are. As long as a plan is not
    carried out, what was seen may be the reason for stopping, so that intervals that hold at every
    moment take the place of the others.

    Args:
        seeds: What was measured under each seed.
        rows: The scores over all of them, the best first.
        reference: The agent to compare with.
        planned: How many seeds there are in a plan; 0 without one.

    Raises:
        InvalidInputError: The reference took no part.
    """
    known = {row.agent: row for row in rows}
    if reference is not None and reference not in known:
        raise InvalidInputError(
            f"{reference.label} took no part in this evaluation.",
            "Compare with one of: " + ", ".join(row.label for row in rows) + ".",
        )
    ranked = [row for row in rows if row.value is not None]
    sound = (row for row in ranked if row.eligibility.is_sound)
    chosen = next(sound, None) if reference is None else known[reference]
    if not ranked or chosen is None:
        return []
    others = [row for row in ranked if row is not chosen]
    pairs = len(others) if reference else len(ranked) * (len(ranked) - 1) // 2
    return [_comparison(seeds, row, chosen, max(1, pairs), planned) for row in others]


def rows_over(results: Sequence[Result]) -> list[ScoreRow]:
    """The agents of some results, best first: their mean scores, and how they are ranked."""
    known: dict[Spec, list[ScoreRow]] = {}
    for result in results:
        for row in score_rows(result):
            known.setdefault(row.agent, []).append(row)

    def over(rows: Sequence[ScoreRow]) -> ScoreRow:
        values = [row.value for row in rows if row.value is not None]
        eligibility = eligibility_over(row.eligibility for row in rows)
        value = fmean(values) if values else None
        return replace(rows[0], value=value, eligibility=eligibility, rank=None)

    return ranked(map(over, known.values()))


def support_of(seeds: Sequence[Samples]) -> Support | None:
    """Between which numbers every payoff under some seeds lies, where that is known of all."""
    known = [each.support for each in seeds if each.support is not None]
    if not known or len(known) < len(seeds):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def _comparison(
    seeds: Sequence[Samples], row: ScoreRow, chosen: ScoreRow, simultaneous: int, planned: int
) -> Comparison:
    """One agent against another, as one of several comparisons."""
    agent, reference = row.agent, chosen.agent
    strata, support = strata_of(seeds, agent, reference), support_of(seeds)
    confidence = 1 - ERROR_RATE / simultaneous
    count = sum(map(len, strata[0]))
    # Its own faults decide which of its exercises can be compared, so nothing is said.
    sound = row.eligibility.is_sound and chosen.eligibility.is_sound
    estimate = stratified_difference(*strata, confidence, support) if count and sound else None
    low, high, p_value, verdict = None, None, None, Verdict.TOO_FEW
    sequential = any(each.design.sequential for each in seeds)
    unfinished = len(seeds) < planned or not all(each.complete for each in seeds)
    always, ends = sequential or (planned > 0 and unfinished), None
    if not sound:
        verdict = Verdict.FAULTY
    elif estimate is not None and count > 1:
        if always or unfinished:
            ends = watched_over(seeds, (agent, reference), confidence, max(planned, len(seeds)))
        if not always:
            p_value = min(1.0, simultaneous * stratified_test(*strata, support))
        low, high = (ends or (None, None)) if always else (estimate.low, estimate.high)
        verdict = verdict_of(low, high)
    return Comparison(
        agent=agent,
        reference=reference,
        difference=None if estimate is None else estimate.value,
        low=low,
        high=high,
        count=count,
        p_value=p_value,
        verdict=verdict,
        unit=seeds[0].design.unit,
        simultaneous=simultaneous,
        bounded=estimate is not None and estimate.bounded and not always,
        watched=ends,
        marks=(row.eligibility.mark, chosen.eligibility.mark),
    )


def watched_over(
    seeds: Sequence[Samples], agents: Sequence[Spec], confidence: float, planned: int
) -> tuple[float, float] | None:
    """The ends of the interval that holds at every moment, of the mean over seeds.

    Those of all seeds that are planned hold at once, so that it holds for any of them.

    Args:
        seeds: What was measured under each seed.
        agents: One agent, or two whose difference it is.
        confidence: The confidence of the interval.
        planned: How many seeds there are to be.
    """
    share = 1 - (1 - confidence) / planned
    both = [each for each in seeds if set(agents) <= each.of.keys()]
    known = [each for each in both if len(_common(each, agents)[0])]
    estimates = [watched(each, agents, share) for each in known]
    ends = [(each.low, each.high) for each in estimates if each is not None]
    if not ends or len(ends) < len(known):
        return None
    return fmean(low for low, _ in ends), fmean(high for _, high in ends)


def _common(seed: Samples, agents: Sequence[Spec]) -> tuple[IntArray, list[FloatArray]]:
    """The numbers of what agents have in common, and the values of each there."""
    return in_common([UnitValues(seed.of[each].numbers, seed.of[each].values) for each in agents])


def verdict_of(low: float | None, high: float | None) -> Verdict:
    """What an interval of a difference shows; nothing where there is none."""
    if low is None or high is None or low <= 0 <= high:
        return Verdict.NOT_SHOWN
    return Verdict.BETTER if low > 0 else Verdict.WORSE


def watched(seed: Samples, agents: Sequence[Spec], confidence: float) -> Estimate | None:
    """The mean of an agent, or the difference of two, with an interval that holds at every moment.

    Of exercises, and of whole repetitions where a precision decides on their number, it is a
    confidence sequence, up to the first that one of both has not taken. Otherwise repetitions have
    a mean of their own in each round, so the error rate is divided among all the rounds that there
    can be.

    Returns:
        The estimate; ``None`` where payoffs or the number of moments are not bounded, or too
        little is known.
    """
    sequence: Callable[..., Estimate] = mean_sequence
    once: Callable[..., Estimate] = mean
    if len(agents) > 1:
        sequence, once = difference_sequence, paired_difference
    design, support = seed.design, seed.support
    common, sides = _common(seed, agents)
    if design.unit != EXERCISE:
        if len(common) < 2:
            return None
        if design.precision is not None:
            return sequence(*sides, confidence, support)
        if design.moments is None:
            return None
        return once(*sides, 1 - (1 - confidence) / design.moments, support)
    if support is None or not all(map(isfinite, support)):
        return None
    taken = reduce(intersection, (seed.of[each].taken for each in agents))
    cycles = [_cycles(taken, common, values, design.parts) for values in sides]
    return sequence(*cycles, confidence, support) if len(cycles[0]) else None


def _cycles(numbers: IntArray, paid: IntArray, values: FloatArray, parts: int) -> FloatArray:
    """The cycle means of exercises of which only some, in ascending order, have a value."""
    payoffs = np.full(len(numbers), np.nan)
    payoffs[np.searchsorted(numbers, paid)] = values
    return cycle_means(numbers, payoffs, parts)


def samples_of(result: Result) -> Samples:
    """What comparisons need to know of a result; agents on the same exercises share arrays."""
    return result.once(_samples)


def _samples(result: Result) -> Samples:
    samples: dict[Spec, Sample] = {}
    for agent, done in result.outcomes.items():
        numbers, values = unit_values(result, agent)
        instances = np.zeros(len(numbers), np.uint64)
        if not result.values:
            instances = done.instances[done.paid]
        own = Sample(numbers, instances, values, done.numbers)
        for first in [*samples.values()][:1]:
            shared = (a if np.array_equal(a, b) else b for a, b in zip(first, own, strict=True))
            own = Sample._make(shared)
        samples[agent] = own
    parts = 1 if result.values else result.design.parts
    return Samples(result.design, result.support, result.complete, parts, samples)


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


def paired(seed: Samples, agent: Spec, reference: Spec) -> Pairs:
    """What two agents got in what both finished, in the order of the parts of the test."""
    first, second = seed.of[agent], seed.of[reference]
    same = all(map(np.array_equal, first[:2], second[:2])) and is_rising(first.numbers)
    if same:  # as mostly, and soon seen
        ours = theirs = np.arange(len(first.numbers))
    else:
        ours, theirs = matching_rows(first, second)
    part = first.numbers[ours] % seed.parts
    order = np.argsort(part, kind="stable")
    ours, theirs = ours[order], theirs[order]
    return Pairs(first.numbers[ours], part[order], first.values[ours], second.values[theirs])


def strata_of(
    seeds: Sequence[Samples], agent: Spec, reference: Spec
) -> tuple[list[FloatArray], list[FloatArray]]:
    """What two agents got in what both finished, by seed and by part of the test."""
    mine: list[FloatArray] = []
    other: list[FloatArray] = []
    for seed in seeds:
        if agent not in seed.of or reference not in seed.of:
            continue
        pairs = paired(seed, agent, reference)
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
