"""People and agents in the same exercises: the analysis of the Lambda thesis (6.3), as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.errors import StoreError
from omnimeter.estimation import (
    Correlation,
    Estimate,
    Support,
    TwoWay,
    correlation,
    mean,
    paired_difference,
    rank_correlation,
    repeated_measures,
    stratified_test,
    two_way_repeated_measures,
)
from omnimeter.estimation.variance import Effect
from omnimeter.reports.comparisons import ERROR_RATE, Verdict, verdict_of

PEOPLE = "people"
"""What the people of a study are called, all of them together."""

BOTH = "carried or fresh"
"""The memory of an agent that got the same with both: it keeps nothing between exercises."""


@dataclass(frozen=True, slots=True)
class Taker:
    """Those who took the exercises: the people, or one agent with one kind of memory.

    Attributes:
        agent: The label of the agent; ``people`` for the people.
        memory: Whether one agent took all exercises of a participant in order, as people do, or a
            new one each, or ``BOTH``; ``None`` for people.
    """

    agent: str
    memory: str | None = None

    @property
    def name(self) -> str:
        """What tables and figures call them."""
        return self.agent if self.memory in (None, BOTH) else f"{self.agent}, {self.memory}"


@dataclass(frozen=True)
class Questions:
    """A question that participants answered.

    Attributes:
        kind: ``scale``, ``choice`` or ``text``.
        options: The possible answers: the steps of a scale as numbers, or the options of a choice.
        answers: The answers of those who gave one.
        asked: How many came to the question.
        shown: Whether a page has the words of free answers.
    """

    name: str
    kind: str
    options: tuple[int | str, ...]
    answers: tuple[int | str, ...]
    asked: int
    shown: bool = False

    @property
    def counts(self) -> list[int]:
        """How many gave each of the possible answers."""
        given = Counter(self.answers)
        return [given[option] for option in self.options]


@dataclass(frozen=True)
class Taken:
    """What people and agents got in the same exercises.

    Arrays have a row for each participant with a complete test, and a column for each exercise of
    the battery, wherever in the order of a participant it came. An anytime test, in which exercises
    depend on what one does, is one column: the score.

    Attributes:
        title: The title of the study.
        participants: The names of the participants whose tests are complete.
        absent: Why other participants are left out, each reason with their names.
        withdrawn: How many have withdrawn; nothing else is known of them.
        exercises: The names of the columns.
        payoffs: The payoffs of each taker, the people first; not numbers in the rows where an
            agent has no complete test.
        complexities: The complexities of the environments; not numbers for an anytime test.
        positions: In which place each exercise came, from 1 on.
        support: Between which numbers payoffs lie, where that is known.
        levels: The mean complexity at the end of an anytime test, for each taker; else empty.
        reactions: The milliseconds that participants took for their answers, by columns: for each
            participant those of each exercise.
        questions: What was asked at the end.
        restarts: How often participants with a complete test began an exercise anew after an
            interruption, of those who did.
        damaged: The directories of tests that are damaged, and why.
    """

    title: str
    participants: tuple[str, ...]
    absent: Mapping[str, tuple[str, ...]]
    withdrawn: int
    exercises: tuple[str, ...]
    payoffs: Mapping[Taker, FloatArray]
    complexities: FloatArray
    positions: IntArray
    support: Support | None = None
    levels: Mapping[Taker, FloatArray] = field(default_factory=dict)
    reactions: Sequence[Sequence[FloatArray]] = ()
    questions: Sequence[Questions] = ()
    restarts: Mapping[str, int] = field(default_factory=dict)
    damaged: Mapping[Path, StoreError] = field(default_factory=dict)

    @property
    def unit(self) -> str:
        """What a column is one of."""
        return "test" if self.levels else "exercise"

    @property
    def value(self) -> str:
        """What a number in the payoffs is."""
        return "Score" if self.levels else "Payoff"

    @property
    def takers(self) -> list[Taker]:
        """The people, and each agent with each kind of memory."""
        return list(self.payoffs)

    @property
    def is_ordered(self) -> bool:
        """Whether exercises came in different orders, so that the order can be told from them."""
        return bool(np.any(self.positions != self.positions[:1]))

    def known(self, *takers: Taker) -> list[FloatArray]:
        """The payoffs of some takers, of those participants of whom all have them."""
        tables = [self.payoffs[taker] for taker in takers]
        complete = np.all([np.isfinite(table).all(axis=1) for table in tables], axis=0)
        return [table[complete] for table in tables]


class Mean(NamedTuple):
    """What one taker got over all: the mean over participants, with the spread of exercises."""

    taker: Taker
    estimate: Estimate
    deviation: float | None
    level: Estimate | None


@dataclass(frozen=True, slots=True)
class Difference:
    """The paired mean difference of two takers, participant by participant.

    Attributes:
        estimate: The first minus the second; its interval holds at once with all of its table.
        p_value: The smallest error rate at which the interval excludes 0; ``None`` of one pair.
        differing: In how many exercises both got something different.
        exercises: In how many exercises they were compared.
        level: The same difference of levels, where there are any.
    """

    first: Taker
    second: Taker
    estimate: Estimate
    p_value: float | None
    verdict: Verdict
    differing: int
    exercises: int
    level: Estimate | None = None


class Variance(NamedTuple):
    """The two-way repeated-measures analysis of variance of people and one agent.

    ``exercise`` and ``interaction`` are ``None`` where there is one exercise only.
    """

    taker: Taker
    participants: int
    agent: Effect
    exercise: Effect | None
    interaction: Effect | None

    @classmethod
    def of(cls, taker: Taker, people: FloatArray, agent: FloatArray) -> Variance:
        """The analysis of two participants or more."""
        values = np.stack((people, agent), axis=1)
        if values.shape[2] < 2:
            return cls(taker, len(values), repeated_measures(values[:, :, 0]), None, None)
        both: TwoWay = two_way_repeated_measures(values)
        return cls(taker, len(values), both.first, both.second, both.interaction)


class Relation(NamedTuple):
    """How payoffs depend on the complexity, in one exercise; in all where ``exercise`` is empty."""

    taker: Taker
    exercise: str
    pearson: Correlation
    spearman: Correlation


class Group(NamedTuple):
    """The payoffs of one taker in one exercise, or in one position."""

    taker: Taker
    place: str
    values: FloatArray
    estimate: Estimate


class Reaction(NamedTuple):
    """How long participants took in one exercise, in seconds: the median of their medians.

    ``first`` and ``third`` are the quartiles of the medians of participants.
    """

    exercise: str
    median: float
    first: float
    third: float
    participants: int
    answers: int


@dataclass(frozen=True)
class People:
    """The analysis of what people and agents got in the same exercises.

    Attributes:
        measured: What they got. In ``taken``, an agent that got the same with both kinds of memory
            is there once.
    """

    measured: Taken

    @cached_property
    def taken(self) -> Taken:
        """What is compared."""
        payoffs = dict(self.measured.payoffs)
        for first, second in self._memories:
            if np.array_equal(payoffs[first], payoffs[second], equal_nan=True):
                merged = Taker(first.agent, BOTH)
                del payoffs[second]
                payoffs = {merged if t == first else t: each for t, each in payoffs.items()}
        return replace(self.measured, payoffs=payoffs)

    @property
    def _memories(self) -> list[tuple[Taker, Taker]]:
        """Each agent with carried memory, and the same with fresh memory."""
        known = self.measured.takers
        pairs = [(each, Taker(each.agent, "fresh")) for each in known if each.memory == "carried"]
        return [pair for pair in pairs if pair[1] in known]

    @property
    def agents(self) -> list[Taker]:
        """All takers but the people."""
        return [taker for taker in self.taken.takers if taker.memory is not None]

    @cached_property
    def missing(self) -> dict[Taker, int]:
        """In the place of how many participants an agent has no complete test, if of any."""
        known = {taker: len(self.taken.known(taker)[0]) for taker in self.agents}
        whole = len(self.taken.participants)
        return {taker: whole - count for taker, count in known.items() if count < whole}

    @cached_property
    def means(self) -> list[Mean]:
        """What each taker got over all."""
        means, support = [], self.taken.support
        for taker in self.taken.takers:
            (values,) = self.taken.known(taker)
            if not len(values):
                continue
            spread = float(values.std(ddof=1)) if values.size > 1 else None
            level = self.taken.levels.get(taker)
            known = None if level is None else level[np.isfinite(level)]
            means.append(
                Mean(
                    taker,
                    mean(values.mean(axis=1), 1 - ERROR_RATE, support),
                    spread,
                    mean(known) if known is not None and len(known) else None,
                )
            )
        return means

    @cached_property
    def differences(self) -> list[Difference]:
        """The people minus each agent."""
        people = Taker(PEOPLE)
        pairs = [(people, taker) for taker in self.agents]
        return list(self._differences(self.taken, pairs))

    @cached_property
    def memories(self) -> list[Difference]:
        """Each agent with carried memory minus the same with fresh memory."""
        return list(self._differences(self.measured, self._memories))

    @staticmethod
    def _differences(taken: Taken, pairs: Sequence[tuple[Taker, Taker]]) -> Iterator[Difference]:
        support, confidence = taken.support, 1 - ERROR_RATE / max(1, len(pairs))
        for first, second in pairs:
            one, other = taken.known(first, second)
            if not len(one):
                continue
            sides = one.mean(axis=1), other.mean(axis=1)
            estimate, p_value = paired_difference(*sides, confidence, support), None
            verdict = Verdict.TOO_FEW
            if len(one) > 1:
                p_value = stratified_test([sides[0]], [sides[1]], support)
                p_value = min(1.0, len(pairs) * p_value)
                verdict = verdict_of(estimate.low, estimate.high)
            level = None
            if taken.levels:
                low, high = taken.levels[first], taken.levels[second]
                both = np.isfinite(low) & np.isfinite(high)
                if both.any():
                    level = paired_difference(low[both], high[both], confidence)
            differing = int(np.sum(one != other))
            yield Difference(first, second, estimate, p_value, verdict, differing, one.size, level)

    @cached_property
    def variances(self) -> list[Variance]:
        """The analysis of variance of people and each agent; of two participants or more."""
        pairs = [(taker, self.taken.known(Taker(PEOPLE), taker)) for taker in self.agents]
        return [Variance.of(taker, *both) for taker, both in pairs if len(both[0]) > 1]

    @cached_property
    def groups(self) -> list[Group]:
        """The payoffs of each taker in each exercise."""
        every = enumerate(self.taken.exercises)
        return [
            self._group(taker, name, self.taken.known(taker)[0][:, place])
            for place, name in every
            for taker in self.taken.takers
            if len(self.taken.known(taker)[0])
        ]

    @cached_property
    def by_position(self) -> list[Group]:
        """The payoffs of each taker in each place of the order; none where all have one order."""
        if not self.taken.is_ordered:
            return []
        groups = []
        for place in range(1, len(self.taken.exercises) + 1):
            for taker in self.taken.takers:
                values = self.taken.payoffs[taker][self.taken.positions == place]
                if len(values := values[np.isfinite(values)]):
                    groups.append(self._group(taker, str(place), values))
        return groups

    def _group(self, taker: Taker, place: str, values: FloatArray) -> Group:
        return Group(taker, place, values, mean(values, 1 - ERROR_RATE, self.taken.support))

    @cached_property
    def relations(self) -> list[Relation]:
        """The correlations with complexity, in all exercises and in each; of two points or more."""
        names = list(enumerate(self.taken.exercises)) if len(self.taken.exercises) > 1 else []
        relations = []
        for place, name in [(None, ""), *names]:
            for taker in self.taken.takers:
                x, y = self.points(taker, place)
                if len(x) > 1:
                    both = correlation(x, y), rank_correlation(x, y)
                    relations.append(Relation(taker, name, *both))
        return relations

    def points(self, taker: Taker, place: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Complexities and payoffs of a taker, of one column or of all."""
        x, y = self.taken.complexities, self.taken.payoffs[taker]
        rows = np.isfinite(y).all(axis=1) & np.isfinite(x).all(axis=1)
        columns = slice(None) if place is None else slice(place, place + 1)
        return x[rows, columns].ravel(), y[rows, columns].ravel()

    @cached_property
    def reactions(self) -> list[Reaction]:
        """How long participants took, in each exercise and in all (an empty name)."""
        known = []
        rows = self.taken.reactions
        names = list(enumerate(self.taken.exercises)) if len(self.taken.exercises) > 1 else []
        for place, name in [*names, (-1, "")]:
            own = [np.concatenate(row) if place < 0 else row[place] for row in rows]
            medians = [float(np.median(each)) / 1e3 for each in own if len(each)]
            if medians:
                first, median, third = np.quantile(medians, (0.25, 0.5, 0.75)).tolist()
                answers = sum(map(len, own))
                known.append(Reaction(name, median, first, third, len(medians), answers))
        return known
