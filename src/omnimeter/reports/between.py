"""Two agents: whether they differ, on what, by how much, and how many more exercises decide it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np

from omnimeter.contract import InvalidInputError, Outcomes, Spec
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.estimation import (
    Estimate,
    Needed,
    SignedRank,
    combined_mean,
    pairs_needed,
    probability_of_improvement,
    stratified_difference,
    stratified_test,
    wilcoxon,
)
from omnimeter.protocols import Result
from omnimeter.reports.comparisons import (
    ERROR_RATE,
    Comparison,
    Samples,
    Verdict,
    comparisons_over,
    paired,
    rows_over,
    samples_of,
    strata_of,
    support_of,
    verdict_of,
    watched_over,
)
from omnimeter.reports.scores import (
    EXERCISE,
    complexity_bins,
    group_means,
    repetition_count,
)
from omnimeter.reports.text import range_texts

SHOWN = 5
"""How many of the exercises in which two agents differ most are shown."""


class Taken(NamedTuple):
    """A test that agents took, or are to take.

    Attributes:
        name: What it is called; empty where there is one only.
        results: Its results, one for each seed that has begun.
        planned: How many seeds there are in a plan; 0 without one.
        agents: Who takes it by that plan.
    """

    name: str
    results: Sequence[Result]
    planned: int = 0
    agents: Sequence[Spec] = ()

    @property
    def is_open(self) -> bool:
        """Whether a plan is not carried out yet, so that what was seen may be why one stopped."""
        return len(self.results) < self.planned or (
            self.planned > 0 and not all(seed.complete for seed in self.seeds)
        )

    @property
    def seeds(self) -> list[Samples]:
        """What was measured under each seed."""
        return [samples_of(result) for result in self.results]

    def of(self, agent: Spec, reference: Spec) -> Taken | None:
        """The results of two agents; ``None`` if they do not meet in this test."""
        both = {agent, reference}
        results = [result for result in self.results if both <= result.outcomes.keys()]
        return self._replace(results=results) if results or both <= {*self.agents} else None

    def shared(self, agent: Spec, reference: Spec) -> list[Samples]:
        """What was measured under the seeds in which two agents have something in common."""
        return [seed for seed in self.seeds if strata_of([seed], agent, reference)[0]]


@dataclass(frozen=True, slots=True)
class Line:
    """The difference in some of the exercises.

    Attributes:
        kind: What they have in common: ``test``, ``class``, ``complexity`` or ``part``.
        name: Which of these it is.
        difference: The mean of one agent's payoffs minus the other's.
        low: The lower end of the interval, which holds for all lines at once; ``None`` for a single
            exercise.
        high: The upper end.
        count: How many exercises, or repetitions, both finished.
        p_value: The smallest error rate, for all lines at once, at which the interval excludes 0.
        verdict: What this shows.
        unit: What is compared one by one.
        wins: In how many the agent got more.
        losses: In how many the reference got more.
    """

    kind: str
    name: str
    difference: float
    low: float | None
    high: float | None
    count: int
    p_value: float | None
    verdict: Verdict
    unit: str
    wins: int
    losses: int


@dataclass(frozen=True, slots=True)
class Extreme:
    """An exercise, or a repetition, in which two agents differ much.

    Attributes:
        test: In which test, where there are several.
        seed: Under which seed, where there are several that are not secret.
        number: Its number.
        environment_class: The label of the class; empty for a repetition.
        complexity: The complexity of the environment; ``None`` for a repetition.
        instance: The key of the environment; empty for a repetition.
        first: What the agent got.
        second: What the reference got.
    """

    test: str
    seed: int | None
    number: int
    environment_class: str
    complexity: float | None
    instance: str
    first: float
    second: float

    @property
    def difference(self) -> float:
        """By how much the agent was better."""
        return self.first - self.second


@dataclass(frozen=True, slots=True)
class Between:
    """All that is known of the difference between two agents.

    Attributes:
        overall: The mean difference with its interval and verdict: a single comparison that was
            chosen beforehand. Of several tests, each has the same weight.
        tests: In how many tests both have something in common.
        seeds: Under how many seeds of a test at most.
        complete: Whether all exercises of these two are done.
        reason: Why there is no overall difference, a clause; mostly empty.
        wins: In how many exercises the agent got more; where tests have no common scale, the
            lines of the tests say that alone.
        ties: In how many both got the same.
        losses: In how many the reference got more.
        improvement: The probability that the agent gets more; ties count half.
        typical: The typical difference (Hodges and Lehmann), with Wilcoxon's signed-rank test.
        needed: How many exercises would show the difference.
        breakdown: The difference by test, class, complexity and part of the test. All its intervals
            hold at once.
        extremes: Where both differ most.
    """

    overall: Comparison
    tests: int = 1
    seeds: int = 1
    complete: bool = True
    reason: str = ""
    wins: int = 0
    ties: int = 0
    losses: int = 0
    improvement: Estimate | None = None
    typical: SignedRank | None = None
    needed: Needed | None = None
    breakdown: tuple[Line, ...] = ()
    extremes: tuple[Extreme, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Whether the agent is shown to be better or worse than the reference."""
        return self.overall.verdict

    def __str__(self) -> str:
        """All of it as text."""
        from omnimeter.reports.between_text import (
            between_sentences,
            between_tables,
            simultaneous_sentence,
        )

        tables = "\n\n".join(f"{heading}\n{table}" for heading, table in between_tables(self))
        said = "\n".join(between_sentences(self)), tables, simultaneous_sentence(self)
        return "\n\n".join(filter(None, said))


def between(tests: Sequence[Taken], agent: Spec, reference: Spec) -> Between:
    """Compare two agents that were chosen beforehand.

    Args:
        tests: The tests, each under one seed or several; those of a plan too that have not begun.
        agent: The one agent.
        reference: The other one.

    Raises:
        InvalidInputError: They are the same, or both took part in no test.
    """
    if agent == reference:
        message = f"{agent.label} cannot be compared with itself."
        raise InvalidInputError(message, "Give two different agents.")
    chosen = [own for test in tests if (own := test.of(agent, reference)) is not None]
    if not any(test.results for test in chosen):
        message = f"{agent.label} and {reference.label} took part in no test together."
        raise InvalidInputError(message, "Compare two agents of the same test.")
    seeds = [seed for test in chosen for seed in test.seeds]
    overall, reason = _overall(chosen, agent, reference)
    counts = [len(test.shared(agent, reference)) for test in chosen]
    is_open = any(test.is_open for test in chosen)
    complete = not is_open and all(seed.complete for seed in seeds)
    said = Between(overall, sum(map(bool, counts)), max(counts), complete, reason)
    strata = strata_of(seeds, agent, reference)
    mine, other = (np.concatenate([np.empty(0), *side]) for side in strata)
    if overall.verdict is Verdict.FAULTY or len(mine) < 2:
        return said
    if not reason:
        wins, losses = _won(mine, other)
        extremes = tuple(_extremes(chosen, agent, reference))
        ties = len(mine) - wins - losses
        said = replace(said, wins=wins, ties=ties, losses=losses, extremes=extremes)
    if any(seed.design.sequential for seed in seeds):
        # Under which no interval holds but that of the overall difference.
        decided = "a precision" if any(seed.design.precision for seed in seeds) else "what was seen"
        needed = Needed(len(mine), reason=f"{decided} decided how many exercises there are")
        return replace(said, needed=needed)
    if is_open:
        lines = tuple(_watched_lines(chosen, agent, reference))
    else:
        lines = tuple(_lines(_groups(chosen, agent, reference, apart=bool(reason))))
    if reason:
        return replace(said, needed=Needed(len(mine), reason=reason), breakdown=lines)
    if is_open:  # nothing of what follows has an interval that holds at every moment
        needed = Needed(len(mine), reason="not all exercises are done")
        return replace(said, needed=needed, breakdown=lines)
    support = support_of(seeds)
    needed = Needed(len(mine), reason="the tests have different numbers of parts or seeds")
    if _is_balanced(chosen, agent, reference):
        needed = pairs_needed(*strata, support=support)
    return replace(
        said,
        needed=needed,
        breakdown=lines,
        improvement=probability_of_improvement(mine, other),
        typical=wilcoxon(mine, other, support=support),
    )


def _won(first: FloatArray, second: FloatArray) -> tuple[int, int]:
    """In how many pairs the first got more, and the second."""
    return int((first > second).sum()), int((first < second).sum())


def _overall(tests: Sequence[Taken], agent: Spec, reference: Spec) -> tuple[Comparison, str]:
    """The mean difference over tests, and why there is none."""
    shared = [seed for test in tests for seed in test.shared(agent, reference)]
    seeds = shared or [seed for test in tests for seed in test.seeds]
    units = {seed.design.unit for seed in seeds}
    unit = min(units) if len(units) == 1 else "pair"
    none = Comparison(agent, reference, None, None, None, 0, None, Verdict.TOO_FEW, unit)
    # Against the reference alone: other agents of the test are no further comparisons.
    alone = [(_alone(test, agent, reference) if test.results else None) or none for test in tests]
    if len(tests) == 1:
        return alone[0], ""
    count = sum(each.count for each in alone)
    none = replace(none, count=count, marks=max((each.marks for each in alone), key=str))
    if any(each.verdict is Verdict.FAULTY for each in alone):
        return replace(none, verdict=Verdict.FAULTY), ""
    if len(units) > 1:
        return none, "some tests are compared by exercises, others by repetitions"
    if len({(seed.design.payoff, seed.support) for seed in seeds}) > 1:
        return none, "the tests are paid by different payoffs"
    is_open = any(test.is_open for test in tests)
    of_tests = [each for each in _watched(tests, agent, reference) if each] if is_open else []
    if any(each.low is None for each in alone) or (is_open and len(of_tests) < len(tests)):
        return none, "some test has no interval yet"
    known = [
        Estimate(e.difference, e.low, e.high, 1 - ERROR_RATE, e.count, bounded=e.bounded)
        for e in alone
        if e.difference is not None and e.low is not None and e.high is not None
    ]
    p, ends, whole = None, None, combined_mean(known)
    sequential = any(seed.design.sequential for seed in seeds)
    if is_open:  # the intervals of the tests hold at once, so that their mean holds too
        ends = fmean(low for low, _ in of_tests), fmean(high for _, high in of_tests)
        whole = replace(whole, low=ends[0], high=ends[1], bounded=False)
    elif _is_balanced(tests, agent, reference) and not sequential:
        strata, support = strata_of(seeds, agent, reference), support_of(seeds)
        whole = stratified_difference(*strata, 1 - ERROR_RATE, support)
        p = stratified_test(*strata, support)
    return replace(
        none,
        difference=whole.value,
        low=whole.low,
        high=whole.high,
        p_value=p,
        verdict=verdict_of(whole.low, whole.high),
        bounded=whole.bounded,
        watched=ends,
    ), ""


def _alone(test: Taken, agent: Spec, reference: Spec) -> Comparison | None:
    """The comparison of two agents, were there no others in the test."""
    rows = [row for row in rows_over(test.results) if row.agent in (agent, reference)]
    compared = comparisons_over(test.seeds, rows, reference, test.planned)
    return next((each for each in compared if each.agent == agent), None)


def _watched(
    tests: Sequence[Taken], agent: Spec, reference: Spec
) -> list[tuple[float, float] | None]:
    """The ends of the interval of each test; all of them hold at once, and at every moment."""
    share = 1 - ERROR_RATE / len(tests)
    return [
        watched_over(test.seeds, (agent, reference), share, max(test.planned, len(test.results)))
        for test in tests
    ]


def _watched_lines(tests: Sequence[Taken], agent: Spec, reference: Spec) -> Iterator[Line]:
    """The difference in each of several tests, with intervals that hold at every moment."""
    if len(tests) < 2:
        return
    for test, ends in zip(tests, _watched(tests, agent, reference), strict=True):
        strata = strata_of(test.seeds, agent, reference)
        if strata[0]:
            unit = test.results[0].design.unit
            first, second = map(np.concatenate, strata)
            size = stratified_difference(*strata, 1 - ERROR_RATE).value
            low, high = ends or (None, None)
            verdict = verdict_of(low, high) if ends else Verdict.TOO_FEW
            won = _won(first, second)
            yield Line("test", test.name, size, low, high, len(first), None, verdict, unit, *won)


def only(result: Result, agents: Sequence[Spec]) -> Result:
    """The same result of some agents only."""
    return replace(
        result,
        scores={a: result.scores[a] for a in agents},
        outcomes={a: result.outcomes[a] for a in agents},
        values={a: result.values[a] for a in agents if a in result.values},
        courses={a: result.courses[a] for a in agents if a in result.courses},
    )


def _is_balanced(tests: Sequence[Taken], agent: Spec, reference: Spec) -> bool:
    """Whether all tests have as many strata, so that equal weights of strata are those of tests."""
    return len({len(strata_of(test.seeds, agent, reference)[0]) for test in tests}) == 1


class _Group(NamedTuple):
    """The pairs of one line, by strata."""

    kind: str
    name: str
    first: list[FloatArray]
    second: list[FloatArray]
    support: tuple[float, float] | None
    unit: str


class _Described(NamedTuple):
    """The pairs of one result with what is known of each exercise."""

    test: str
    result: Result
    numbers: IntArray
    parts: IntArray
    first: FloatArray
    second: FloatArray
    rows: IntArray
    done: Outcomes


def _described(test: Taken, agent: Spec, reference: Spec) -> Iterator[_Described]:
    """The pairs of each seed of a test; ``rows`` are those of the agent's outcomes."""
    for result in test.results:
        pairs, done = paired(samples_of(result), agent, reference), result.outcomes[agent]
        rows = np.empty(0, np.int64)
        if result.design.unit == EXERCISE:
            order = np.argsort(done.numbers, kind="stable")
            rows = order[np.searchsorted(done.numbers[order], pairs.numbers)]
        numbers, parts, first, second = pairs
        yield _Described(test.name, result, numbers, parts, first, second, rows, done)


def _groups(
    tests: Sequence[Taken], agent: Spec, reference: Spec, *, apart: bool
) -> Iterator[_Group]:
    """Every kind of groups that says something which no earlier kind says.

    Args:
        tests: The tests.
        agent: The one agent.
        reference: The other one.
        apart: Whether differences of several tests have no common scale.
    """
    results = [result for test in tests for result in test.results]
    support, unit = support_of([*map(samples_of, results)]), results[0].design.unit
    if len(tests) > 1:
        for test in tests:
            strata, its_unit = strata_of(test.seeds, agent, reference), test.results[0].design.unit
            if strata[0]:
                yield _Group("test", test.name, *strata, support_of(test.seeds), its_unit)
    if apart:
        return
    if unit != EXERCISE:
        yield from _repeated(results, agent, reference)
        return
    described = [each for test in tests for each in _described(test, agent, reference)]
    known: list[IntArray] = []
    for kind, wanted, labels in _kinds(described, several=len(tests) > 1):
        names, codes = np.unique(np.concatenate(labels), return_inverse=True)
        if len(names) < 2 or any(_same_groups(codes, other) for other in known):
            continue
        known.append(codes)
        for name in [] if kind == "test" else wanted:  # tests are there already
            first, second = [], []
            for each, own in zip(described, labels, strict=True):
                inside = own == name
                if inside.any():
                    starts = np.flatnonzero(np.diff(each.parts[inside])) + 1
                    first += np.split(each.first[inside], starts)
                    second += np.split(each.second[inside], starts)
            if first:
                yield _Group(kind, name, first, second, support, unit)


def _kinds(
    described: Sequence[_Described], *, several: bool
) -> Iterator[tuple[str, Sequence[str], list[Any]]]:
    """The ways to group exercises: the kind, the names in order, and that of each pair."""
    classes = [_labels(each) for each in described]
    if several:
        tests = [np.full(len(each.rows), each.test) for each in described]
        yield "test", [], tests
    yield "class", list(dict.fromkeys(np.concatenate(classes).tolist())), classes
    if len({spec.id for each in described for spec, _ in each.done.classes()}) == 1:
        bins = complexity_bins(*(each.done for each in described))
        names, tops = range_texts(bins), np.array([high for _, high in bins])
        complexities = (each.done.complexities[each.rows] for each in described)
        yield "complexity", names, [np.array(names)[np.searchsorted(tops, c)] for c in complexities]
    if not several:
        parts = [_part_names(each) for each in described]
        yield "part", list(dict.fromkeys(np.concatenate(parts).tolist())), parts


def _repeated(results: Sequence[Result], agent: Spec, reference: Spec) -> Iterator[_Group]:
    """At each complexity, the means of the repetitions in which both came to it."""
    if any(result.values and not repetition_count(result) for result in results):
        return
    every = [result.outcomes[who] for result in results for who in (agent, reference)]
    if len({spec.id for done in every for spec, _ in done.classes()}) > 1:
        return
    bins = complexity_bins(*every)
    groups = []
    for (low, high), name in zip(bins, range_texts(bins), strict=True):
        sides: tuple[list[FloatArray], list[FloatArray]] = [], []
        for result in results:
            means = []
            for who in (agent, reference):
                done = result.outcomes[who]
                inside = done.paid & (low <= done.complexities) & (done.complexities <= high)
                repetition = done.numbers[inside] % repetition_count(result)
                means.append((np.unique(repetition), group_means(repetition, done.payoffs[inside])))
            _, ours, theirs = np.intersect1d(means[0][0], means[1][0], return_indices=True)
            if len(ours):
                sides[0].append(means[0][1][ours])
                sides[1].append(means[1][1][theirs])
        if sides[0]:
            unit, support = results[0].design.unit, support_of([*map(samples_of, results)])
            groups.append(_Group("complexity", name, *sides, support, unit))
    if len(groups) > 1:
        yield from groups


def _labels(pairs: _Described) -> Any:
    """The label of the class of each pair."""
    labels = np.full(len(pairs.done), "", dtype=object)
    for spec, rows in pairs.done.classes():
        labels[rows] = spec.label
    return labels[pairs.rows].astype(str)


def _part_names(pairs: _Described) -> Any:
    """The name of the part of each pair."""
    names = {part: f"part {part + 1}" for part in np.unique(pairs.parts).tolist()}
    for part, label in zip(pairs.parts.tolist(), _labels(pairs).tolist(), strict=True):
        names[part] = f"part {part + 1}: {label}"
    return np.array([names[part] for part in pairs.parts.tolist()])


def _same_groups(one: IntArray, other: IntArray) -> bool:
    """Whether two ways to group the same pairs are the same."""
    both = np.unique(np.stack((one, other)), axis=1).shape[1]
    return bool(both == len(np.unique(one)) == len(np.unique(other)))


def _lines(groups: Iterator[_Group]) -> Iterator[Line]:
    """The difference in each group; the error rate is divided among all of them (Bonferroni)."""
    every = list(groups)
    simultaneous = max(1, sum(sum(map(len, group.first)) > 1 for group in every))
    for kind, name, first, second, support, unit in every:
        count = sum(map(len, first))
        won = _won(np.concatenate(first), np.concatenate(second))
        estimate = stratified_difference(first, second, 1 - ERROR_RATE / simultaneous, support)
        low, high, p, verdict = None, None, None, Verdict.TOO_FEW
        if count > 1:
            low, high, verdict = (
                estimate.low,
                estimate.high,
                verdict_of(estimate.low, estimate.high),
            )
            p = min(1.0, simultaneous * stratified_test(first, second, support))
        yield Line(kind, name, estimate.value, low, high, count, p, verdict, unit, *won)


def _extremes(tests: Sequence[Taken], agent: Spec, reference: Spec) -> list[Extreme]:
    """The exercises with the largest differences."""
    extremes: list[Extreme] = []
    for test in tests:
        several = len(test.results) > 1
        for each in _described(test, agent, reference):
            size = np.abs(each.first - each.second)
            rows = np.argsort(-size, kind="stable")[:SHOWN]
            done, by_exercise = each.done, len(each.rows) > 0
            objects = done.objects(each.rows[rows]) if by_exercise else [None] * len(rows)
            for row, outcome in zip(rows.tolist(), objects, strict=True):
                if not size[row]:
                    continue
                exercise = None if outcome is None else outcome.exercise
                extremes.append(
                    Extreme(
                        each.test if len(tests) > 1 else "",
                        each.result.seed if several else None,
                        int(each.numbers[row]),
                        exercise.environment_class.label if exercise else "",
                        exercise.complexity if exercise else None,
                        exercise.instance.key if exercise else "",
                        float(each.first[row]),
                        float(each.second[row]),
                    )
                )
    return sorted(extremes, key=lambda extreme: -abs(extreme.difference))[:SHOWN]
