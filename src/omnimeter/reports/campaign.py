"""What a campaign says, as data: gathered by columns from its evaluations, one after another.

Of an evaluation only numbers are kept, eight bytes for each payoff, until its test is summed up.
"""

from __future__ import annotations

import json
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import groupby
from math import ceil, inf, isfinite
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.catalogue import files_in, without_consent
from omnimeter.contract import Fault, FaultKind, Score, Spec, Trace
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.errors import StoreError
from omnimeter.contract.protocol import Design
from omnimeter.contract.spec import JsonData
from omnimeter.estimation import (
    Correlation,
    Effect,
    Estimate,
    LearningSpeed,
    Line,
    combined_mean,
    interquartile_estimate,
    learning_speed,
    performance_profile,
    probability_of_improvement,
    rank_correlation,
    regression,
    regression_band,
    repeated_measures,
)
from omnimeter.protocols import Evaluation, Result, summarise
from omnimeter.reports import figures, summary
from omnimeter.reports.comparisons import (
    ERROR_RATE,
    Comparison,
    Sample,
    Verdict,
    comparison_of,
    matching_rows,
    pairs_of,
    sample_of,
    strata_in,
    watched_over,
)
from omnimeter.reports.figures import CurveFigure, Figure, LearningSums, Scale, Step, curve_of
from omnimeter.reports.scores import (
    REPETITION,
    Eligibility,
    ScoreRow,
    bins_of,
    is_adjusted,
    means_in_bins,
    privileged_view,
    ranked,
    repetition_count,
)
from omnimeter.reports.settings import Setting, settings_of
from omnimeter.reports.style import behind
from omnimeter.reports.text import counted, listed
from omnimeter.reports.time_figures import TimeReport, time_report_of
from omnimeter.results import files

if TYPE_CHECKING:
    from omnimeter.results import Record

DRAWN, LISTED = 12, 60
"""Agents of whom a figure has curves, and lines with a dot: the best of them."""

FAULTS_READ = 200
"""Faults whose messages are read, of one agent in one evaluation."""

CURVES, REWARDS = 200, 1_000_000
"""Traces of one agent in one evaluation, and rewards of one agent in a test, for its speed."""

THRESHOLDS, PLACES = 41, 5
"""Points of a performance profile, and of a line: its band bends inwards between them."""

WINDOW, LAST_PART = 10, 0.1
"""Interactions that learning curves are smoothed over, and their last part."""


@dataclass(frozen=True)
class Member:
    """An evaluation of a campaign.

    Attributes:
        name: Its name, which is that of its directory.
        path: Its directory, which there need not be yet.
        evaluation: What is evaluated.
        test: The test with its point in the grid.
        environment_class: The label of the class; empty where there is none or are several.
        expected: How many exercises each agent takes, where that is known beforehand.
        damaged: Where damaged files are noted, which are left out.
        folder: Where relative names of files begin.
    """

    name: str
    path: Path
    evaluation: Evaluation
    test: str
    environment_class: str = ""
    expected: int | None = None
    damaged: dict[Path, StoreError] = field(default_factory=dict)
    folder: str = ""

    @property
    def needs_seed(self) -> bool:
        """Whether its seed was drawn, and is not in the plan."""
        with files_in(self.folder):
            return self.evaluation.needs_seed

    @property
    def group(self) -> tuple[str, str]:
        """What it has in common with the evaluations of the same test under other seeds."""
        return self.test, self.environment_class


@dataclass(frozen=True)
class CampaignScore(JsonData):
    """The score of an agent in a test, over all seeds.

    Attributes:
        test: The test with its point in the grid.
        environment_class: The label of the class; empty where there is none or are several.
        agent: The label of the agent.
        value: The mean of the scores under each seed.
        low: The lower end of its 95 % interval.
        high: The upper end.
        evaluations: Of how many evaluations, one for each seed.
        expected: How many there are in the plan.
        exercises: Exercises with a payoff.
        faults: How many exercises ended in faults, by their kinds.
        complete: Whether all these evaluations are complete.
    """

    test: str
    environment_class: str
    agent: str
    value: float | None
    low: float | None
    high: float | None
    evaluations: int
    expected: int
    exercises: int
    faults: Mapping[str, int] = field(default_factory=dict)
    complete: bool = True

    @property
    def own_faults(self) -> int:
        """How many of them were faults of the agent itself, by which it is ranked last."""
        ours = str(FaultKind.INFRASTRUCTURE)
        return sum(count for kind, count in self.faults.items() if kind != ours)


Scored = Sequence[tuple[Score | None, bool]]
"""The score under each seed, if there is one, and whether its evaluation is complete."""


def campaign_scores(members: Sequence[Member], *, trust: bool = False) -> list[CampaignScore]:
    """The score of each agent in each test, over all seeds, with its 95 % interval.

    Args:
        members: The evaluations of a campaign.
        trust: Import code that their tests name.

    Raises:
        StoreError: An evaluation is damaged.
        InvalidInputError: Code is named that is not trusted.
    """
    scored: dict[tuple[str, str, str], list[tuple[Score | None, bool]]] = {}
    for member in members:
        with read_member(member, trust=trust) as opened:
            scores, complete = _scores(opened)
        for agent in member.evaluation.agents:
            row = scored.setdefault((*member.group, agent.label), [])
            row.append((scores.get(agent.label), complete))
    return [_combined(*names, row) for names, row in scored.items()]


def _scores(opened: tuple[Record, Result] | None) -> tuple[dict[str, Score], bool]:
    if opened is None:
        return {}, False
    _, result = opened
    return {agent.label: score for agent, score in result.scores.items()}, result.complete


@contextmanager
def read_member(member: Member, *, trust: bool) -> Iterator[tuple[Record, Result] | None]:
    """A stored evaluation and what it says; ``None`` if it has not begun, or cannot be read."""
    from omnimeter.results import Record

    begun = files.Layout(member.path).spec.exists()
    record = Record.intact(member.path, member.damaged) if begun else None
    if record is None:
        yield None
        return
    evaluation = Evaluation.from_json(record.spec).with_seed(record.seed)
    consent = nullcontext() if trust else without_consent(str(record.path), record.spec)
    with consent, files_in(member.folder):
        yield record, summarise(evaluation, record.outcomes())


def _combined(test: str, environment_class: str, agent: str, scored: Scored) -> CampaignScore:
    """The scores of an agent under each seed as one."""
    scores = [score for score, _ in scored if score is not None]
    estimates = [
        Estimate(s.value, s.interval.low, s.interval.high, s.interval.confidence, s.count)
        for s in scores
        if s.value is not None and s.interval is not None
    ]
    faults = Counter[str]()
    for score in scores:
        faults.update(score.faults)
    values = [score.value for score in scores if score.value is not None]
    # An interval only where every value has one, and where no seed lost its value by faults, which
    # may have hidden anything; all values count in the mean.
    hidden = any(score.value is None and score.faults for score in scores)
    sure = estimates and len(estimates) == len(values) and not hidden
    whole = combined_mean(estimates) if sure else None
    return CampaignScore(
        test,
        environment_class,
        agent,
        fmean(values) if values else None,
        whole.low if whole else None,
        whole.high if whole else None,
        len(values),
        len(scored),
        sum(score.count for score in scores),
        dict(faults),
        all(complete for _, complete in scored),
    )


@dataclass(frozen=True, slots=True)
class FaultCount:
    """A fault of one agent in a test, how often it was seen, and where it was first."""

    agent: Spec
    fault: Fault
    count: int
    first: str


@dataclass(frozen=True, slots=True)
class Pending:
    """An agent in an evaluation that is not complete, and how far it is."""

    evaluation: str
    agent: str
    finished: int
    expected: int | None


@dataclass(frozen=True, slots=True)
class Spread:
    """What the single values of one agent say beside their mean.

    Attributes:
        agent: The agent.
        name: Its label with its mark.
        middle: The interquartile mean.
        improvement: The probability of a higher value than the best agent; ``None`` of that itself,
            and where too little is in common.
    """

    agent: Spec
    name: str
    middle: Estimate
    improvement: Estimate | None


@dataclass(frozen=True, slots=True)
class Relation:
    """How the payoff of one agent depends on the complexity."""

    agent: Spec
    name: str
    rank: Correlation
    line: Line


@dataclass(frozen=True, slots=True)
class Variance:
    """The analysis of variance of agents on the same exercises."""

    effect: Effect
    agents: int
    units: int


@dataclass(frozen=True)
class Section:
    """What one test in one class says, over all seeds.

    Attributes:
        key: A short name, for files and anchors.
        title: The test, and its class if it has several.
        scores: The scores as ``campaign results`` tells them, by the labels of the agents.
        rows: The agents, the best first, with their ranks.
        compared: Every agent against the best, paired within each seed.
        spreads: What single values say.
        relations: How payoffs depend on the complexity.
        speeds: How fast each agent learnt, by its name.
        thinned: Whether only some of the traces count in the speeds.
        places: The place of each agent of the campaign, by its name in this test.
        seeds: Under how many seeds it was taken, of how many.
        known_seeds: Those that are no secret: given ones, and those of complete evaluations.
        remarks: What to know of agents before reading their scores.
        faults_read: Whether all faults were looked at one by one.
    """

    key: str
    title: str
    test: str
    environment_class: str
    design: Design
    scores: Mapping[str, CampaignScore]
    rows: Sequence[ScoreRow]
    compared: Sequence[Comparison]
    spreads: Sequence[Spread]
    relations: Sequence[Relation]
    variance: Variance | None
    speeds: Mapping[str, LearningSpeed]
    thinned: bool
    timed: TimeReport | None
    figures: Sequence[Figure]
    faults: Sequence[FaultCount]
    faults_read: bool
    places: Mapping[str, int]
    remarks: Sequence[str]
    complete: bool
    seeds: tuple[int, int]
    known_seeds: Sequence[int]

    @property
    def best(self) -> ScoreRow | None:
        """The agent that the others are compared with."""
        if self.compared:
            return next(row for row in self.rows if row.agent == self.compared[0].reference)
        return next((row for row in self.rows if row.rank == 1), None)

    @property
    def undecided(self) -> list[str]:
        """The agents of which it is not shown that they are worse than the best one."""
        open_verdicts = (Verdict.NOT_SHOWN, Verdict.TOO_FEW)
        return [each.agent.label for each in self.compared if each.verdict in open_verdicts]


Tell = Callable[[str, int, int], None]
"""Told what is done, and how many steps of how many are over."""


def sections_of(
    members: Sequence[Member], *, trust: bool = False, tell: Tell = lambda *_: None
) -> Iterator[tuple[Section, list[Pending], list[Mapping[str, Any]]]]:
    """What each test says, with what is not complete, and how results were made.

    Args:
        members: The evaluations of a campaign.
        trust: Import code that their tests name.
        tell: Told after each evaluation.

    Raises:
        StoreError: An evaluation is damaged.
        InvalidInputError: Code is named that is not trusted.
    """
    agents = list(dict.fromkeys(a.label for each in members for a in each.evaluation.agents))
    order = list(dict.fromkeys(each.group for each in members))
    taken: set[str] = set()
    done = 0
    for group, grouped in groupby(sorted(members, key=lambda m: order.index(m.group)), _group):
        own = list(grouped)
        gathered = _Gathered(own)
        for member in own:
            tell("Reading evaluations", done, len(members))
            with read_member(member, trust=trust) as opened:
                gathered.add(member, opened)
            done += 1
        tell("Reading evaluations", done, len(members))
        several = len({each for each in order if each[0] == group[0]}) > 1
        title = " · ".join(filter(None, group)) if several else group[0]
        yield (
            gathered.section(_slug(title, taken), title, agents),
            gathered.pending,
            gathered.provenance,
        )


def _group(member: Member) -> tuple[str, str]:
    return member.group


def _slug(text: str, taken: set[str]) -> str:
    """A name for files and anchors that is not taken yet."""
    plain = re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")[:40].strip("-") or "test"
    name, number = plain, 1
    while name in taken:
        number += 1
        name = f"{plain}-{number}"
    taken.add(name)
    return name


class _Gathered:
    """What is kept of the evaluations of one test in one class."""

    def __init__(self, members: Sequence[Member]) -> None:
        self._members = members
        self._agents = list(dict.fromkeys(a for m in members for a in m.evaluation.agents))
        self._design, self._adjusted = Design(), False
        self._parts = 1
        self._supports: list[tuple[float, float] | None] = []
        self._scored: dict[str, list[tuple[Score | None, bool]]] = defaultdict(list)
        # Those of each evaluation that has begun, in order; with the points of single exercises.
        self._samples: list[dict[Spec, Sample]] = []
        self._points: list[dict[Spec, tuple[FloatArray, FloatArray, IntArray | None]]] = []
        self._courses: list[dict[Spec, list[Step]]] = []
        self._results: list[Result] = []  # of a test whose precision decided on its length
        self._settings: dict[Spec, Setting] = {}
        self._learning = LearningSums()
        self._rewards: dict[Spec, list[FloatArray]] = defaultdict(list)
        self._thinned = False
        self._own, self._done, self._views = Counter[Spec](), Counter[Spec](), dict[Spec, str]()
        self._lengths: dict[Spec, list[int]] = defaultdict(lambda: [0, 0])
        self._faults: dict[tuple[Spec, str, str], FaultCount] = {}
        self._faults_read = True
        self._remarks: dict[str, None] = {}
        self._seeds: list[int] = []
        self.pending: list[Pending] = []
        self.provenance: list[Mapping[str, Any]] = []

    def add(self, member: Member, opened: tuple[Record, Result] | None) -> None:
        """Keep what is needed of one evaluation."""
        scores, complete = _scores(opened)
        for agent in member.evaluation.agents:
            self._scored[agent.label].append((scores.get(agent.label), complete))
        if opened is None:
            for agent in member.evaluation.agents:
                self.pending.append(Pending(member.name, agent.label, 0, member.expected))
            return
        record, result = opened
        given = member.evaluation.protocol.parameters.get("seed")
        seed = record.seed if given is None and complete else given
        self._seeds += [] if seed is None else [seed]
        self._design, self._adjusted = result.design, is_adjusted(result)
        self._parts = 1 if result.values else result.design.parts
        self._supports.append(result.support)
        for agent, done in result.outcomes.items():
            finished = len(done)
            left = member.expected is None or finished < member.expected
            if not complete and left and agent not in result.stopped:
                pending = Pending(member.name, agent.label, finished, member.expected)
                self.pending.append(pending)
            self._done[agent] += finished
            self._own[agent] += int(done.own_faults.sum())
            if view := privileged_view(done):
                self._views[agent] = view
            lengths = done.interactions[done.paid]
            self._lengths[agent][0] += int(lengths.sum())
            self._lengths[agent][1] += len(lengths)
        self._add_samples(result)
        self._add_faults(member, result)
        if self._design.precision is not None:
            self._results.append(result)
        self._courses.append({agent: figures.course_of(result, agent) for agent in result.outcomes})
        if any(done.remarks("online") for done in result.outcomes.values()):
            self._add_settings(result)
        if Evaluation.from_json(record.spec).traces:
            self._learning.add(result, self._noted(result, record.traces()))
        sentences = (
            summary.reproducibility_sentence(result),
            summary.sandbox_sentence(result),
            summary.fault_limit_sentence(result),
            summary.exhausted_sentence(result),
            result.design.warning,
        )
        self._remarks |= dict.fromkeys(filter(None, sentences))
        self.provenance += record.provenance()

    def _add_samples(self, result: Result) -> None:
        """Keep the values; agents on the same exercises share what says which these are."""
        samples: dict[Spec, Sample] = {}
        points: dict[Spec, tuple[FloatArray, FloatArray, IntArray | None]] = {}
        repetitions = repetition_count(result)
        shared: Sample | None = None
        for agent, done in result.outcomes.items():
            own = sample_of(result, agent)
            shared = own if shared is None else shared
            if all(map(np.array_equal, own[:2], shared[:2])):
                own = Sample(*shared[:2], own.values)
            samples[agent] = own
            complexities = done.complexities[done.paid]
            known = next(iter(points.values()), None)
            if known is not None and np.array_equal(known[0], complexities):
                complexities = known[0]
            payoffs = done.payoffs[done.paid] if result.values else own.values
            turn = done.numbers[done.paid] % repetitions if repetitions else None
            points[agent] = complexities, payoffs, turn
        self._samples.append(samples)
        self._points.append(points)

    def _add_faults(self, member: Member, result: Result) -> None:
        for agent, done in result.outcomes.items():
            rows = np.flatnonzero(done.faults)
            self._faults_read &= len(rows) <= FAULTS_READ
            for each in done.take(rows[:FAULTS_READ]):
                fault = each.fault
                if fault is None:
                    continue
                kind = agent, str(fault.kind), fault.message
                first = f"exercise {each.exercise.number} of {member.name}"
                known = self._faults.get(kind) or FaultCount(agent, fault, 0, first)
                self._faults[kind] = replace(known, count=known.count + 1)

    def _add_settings(self, result: Result) -> None:
        """Add returns and times; MDPs of different seeds are different ones."""
        for each in settings_of(result):
            known = self._settings.get(each.agent)
            if known is None:
                self._settings[each.agent] = each
                continue
            shift = max(known.returns, default=-1) + 1
            returns = {**known.returns, **{shift + n: v for n, v in each.returns.items()}}
            measured = dict(known.measured)
            for machine, times in each.measured.items():
                measured[machine] = measured[machine] + times if machine in measured else times
            faults = known.faults + each.faults
            self._settings[each.agent] = replace(
                known, returns=returns, measured=measured, faults=faults
            )

    def _noted(
        self, result: Result, traces: Iterable[tuple[str, Trace]]
    ) -> Iterator[tuple[str, Trace]]:
        """The traces, of some of which the rewards are kept: those of the first exercises."""
        wanted: dict[str, Spec] = {}
        for agent, done in result.outcomes.items():
            budgets = {each.budget for each in done.distinct_exercises()}
            if any(budget.interactions is None for budget in budgets):
                continue
            longest = max((budget.interactions or 0 for budget in budgets), default=0)
            most = max(1, min(CURVES, REWARDS // max(1, longest * len(self._members))))
            sound = done.keys[done.faults == 0]
            self._thinned |= len(sound) > most
            wanted |= {f"{key:016x}": agent for key in sound[:most].tolist()}
        for key, trace in traces:
            if key in wanted:
                self._rewards[wanted[key]].append(np.array(trace.rewards, dtype=np.float64))
            yield key, trace

    # What the evaluations say together.

    def section(self, key: str, title: str, agents: Sequence[str]) -> Section:
        """Sum up."""
        test, environment_class = self._members[0].group
        scores = {
            agent.label: _combined(test, environment_class, agent.label, self._scored[agent.label])
            for agent in self._agents
        }
        rows = ranked(map(self._row, self._agents, scores.values()))
        names = {row.agent: row.name for row in rows}
        compared = self._comparisons(rows)
        own = {row.label: row.name for row in rows}
        relations = list(self._relations(rows))
        speeds = {
            names[agent]: speed
            for agent in names
            if (speed := _speed(self._rewards.get(agent, []))) is not None
        }
        timed = time_report_of(list(self._settings.values())) if self._settings else None
        drawn: list[Figure | None] = [
            _score_figure(rows, len(self._members)),
            _difference_figure(compared),
            *self._course_figures(rows),
            self._complexity_figure(rows),
            self._line_figure(relations[:DRAWN]),
            self._learning.figure({row.agent: row.name for row in rows[:DRAWN]}),
            self._profile_figure(rows),
            *(timed.figures if timed else ()),
        ]
        return Section(
            key=key,
            title=title,
            test=test,
            environment_class=environment_class,
            design=self._design,
            scores=scores,
            rows=rows,
            compared=compared,
            spreads=list(self._spreads(rows, compared)),
            relations=relations,
            variance=self._variance(rows),
            speeds=speeds,
            thinned=self._thinned,
            timed=timed,
            figures=[replace(each, name=f"{key}-{each.name}") for each in drawn if each],
            faults=sorted(
                self._faults.values(), key=lambda each: (-each.count, each.agent.label, each.first)
            ),
            faults_read=self._faults_read,
            places={own.get(label, label): place for place, label in enumerate(agents)},
            remarks=list(self._remarks),
            complete=all(done for row in self._scored.values() for _, done in row),
            seeds=(len(self._samples), len(self._members)),
            known_seeds=self._seeds,
        )

    def _row(self, agent: Spec, score: CampaignScore) -> ScoreRow:
        total, count = self._lengths[agent]
        adaptive = self._design.unit == REPETITION
        parts: dict[str, Any] = {}
        for metric in self._design.metrics:
            known = [s.parts.get(metric.name) for s, _ in self._scored[agent.label] if s]
            numbers = [float(each) for each in known if isinstance(each, int | float)]
            parts[metric.name] = fmean(numbers) if numbers else None
        x, y, group = self._of_agent(agent)
        bins = self._bins
        return ScoreRow(
            agent=agent,
            value=score.value,
            low=score.low,
            high=score.high,
            confidence=0.95,
            count=score.exercises,
            faults=dict(sorted(score.faults.items())),
            interactions=total / count if count else None,
            complexities=means_in_bins(x, y, bins, self._support, group),
            repetitions=sum(len(each[agent].values) for each in self._samples if agent in each)
            if adaptive
            else 0,
            parts=parts,
            eligibility=Eligibility(
                self._own[agent], self._done[agent], self._views.get(agent, "")
            ),
        )

    def _of_agent(self, agent: Spec) -> tuple[FloatArray, FloatArray, IntArray | None]:
        """Complexities and payoffs of all exercises of an agent, and which depend on each other."""
        known = [(place, each[agent]) for place, each in enumerate(self._points) if agent in each]
        x = np.concatenate([np.empty(0), *(each[0] for _, each in known)])
        y = np.concatenate([np.empty(0), *(each[1] for _, each in known)])
        units = (self._design.units or 0) if self._design.unit == REPETITION else 0
        if not units:
            return x, y, None
        groups = [place * units + each[2] for place, each in known if each[2] is not None]
        return x, y, np.concatenate([np.empty(0, np.int64), *groups])

    @property
    def _support(self) -> tuple[float, float] | None:
        """Between which numbers every payoff lies, where that is known under all seeds."""
        known = [each for each in self._supports if each is not None]
        if not known or len(known) < len(self._supports):
            return None
        return min(low for low, _ in known), max(high for _, high in known)

    @property
    def _bins(self) -> list[tuple[float, float]]:
        if not hasattr(self, "_known_bins"):
            self._known_bins = bins_of([x for each in self._points for x, _, _ in each.values()])
        return self._known_bins

    def _comparisons(self, rows: Sequence[ScoreRow]) -> list[Comparison]:
        """Every agent against the best, within each seed; see ``comparisons``."""
        scored = [row for row in rows if row.value is not None]
        chosen = next((row for row in scored if not row.eligibility.own_faults), None)
        if chosen is None:
            return []
        pairs = len(scored) * (len(scored) - 1) // 2
        return [
            comparison_of(
                (row.agent, chosen.agent),
                self._strata(row.agent, chosen.agent),
                self._support,
                max(1, pairs),
                (row.eligibility.mark, chosen.eligibility.mark),
                unit=self._design.unit,
                faulty=row.eligibility.own_faults > 0,
                sequential=self._design.precision is not None,
                watched=None,
                always=partial(watched_over, self._results, row.agent, chosen.agent),
            )
            for row in scored
            if row is not chosen
        ]

    def _strata(self, agent: Spec, other: Spec) -> tuple[list[FloatArray], list[FloatArray]]:
        """The values of two agents in what both finished, by seed and part of the test."""
        return strata_in(
            pairs_of(each[agent], each[other], self._parts)
            for each in self._samples
            if agent in each and other in each
        )

    def _table(self, agents: Sequence[Spec]) -> FloatArray:
        """The values of some agents in all that each of them finished: a row for each exercise."""
        parts = [np.empty((0, len(agents)))]
        for each in self._samples:
            if not all(agent in each for agent in agents):
                continue
            first, *others = (each[agent] for agent in agents)
            columns, known = [first.values], np.ones(len(first.values), np.bool_)
            for other in others:
                if other.numbers is first.numbers:
                    columns.append(other.values)
                    continue
                rows, places = matching_rows(first, other)
                column = np.full(len(first.values), np.nan)
                column[rows] = other.values[places]
                columns.append(column)
                known &= ~np.isnan(column)
            parts.append(np.stack(columns, axis=1)[known])
        return np.concatenate(parts)

    def _spreads(
        self, rows: Sequence[ScoreRow], compared: Sequence[Comparison]
    ) -> Iterator[Spread]:
        """The middle of the values of each agent, and how likely it is better than the best."""
        verdicts = {each.agent: each for each in compared}
        for row in rows:
            values = self._values(row.agent)
            if not len(values) or self._design.precision is not None:
                continue
            improvement = None
            against = verdicts.get(row.agent)
            if against is not None and against.verdict not in (Verdict.FAULTY, Verdict.TOO_FEW):
                both = self._table([row.agent, against.reference])
                confidence = 1 - ERROR_RATE / against.simultaneous
                improvement = probability_of_improvement(both[:, 0], both[:, 1], confidence)
            middle = interquartile_estimate(values, support=self._support)
            yield Spread(row.agent, row.name, middle, improvement)

    def _values(self, agent: Spec) -> FloatArray:
        known = [each[agent].values for each in self._samples if agent in each]
        return np.concatenate([np.empty(0), *known])

    def _variance(self, rows: Sequence[ScoreRow]) -> Variance | None:
        """Whether agents differ on the same exercises, those without faults of their own."""
        sound = [r.agent for r in rows if r.value is not None and not r.eligibility.own_faults]
        if len(sound) < 2 or self._design.precision is not None:
            return None
        table = self._table(sound)
        if len(table) < 2:
            return None
        return Variance(repeated_measures(table), len(sound), len(table))

    def _relations(self, rows: Sequence[ScoreRow]) -> Iterator[Relation]:
        """How payoffs depend on the complexity, where exercises are independent."""
        if self._design.unit == REPETITION or len(self._bins) < 2:
            return
        for row in rows:
            x, y, _ = self._of_agent(row.agent)
            if len(x) > 2 and np.ptp(x) > 0:
                yield Relation(row.agent, row.name, rank_correlation(x, y), regression(x, y))

    def _complexity_figure(self, rows: Sequence[ScoreRow]) -> CurveFigure | None:
        return figures.complexity_figure(rows[:DRAWN], adjusted=self._adjusted)

    def _line_figure(self, relations: Sequence[Relation]) -> CurveFigure | None:
        """The lines of payoff against complexity, with their bands."""
        curves = []
        for relation in relations:
            x, y, _ = self._of_agent(relation.agent)
            places = np.linspace(float(x.min()), float(x.max()), PLACES)
            band = regression_band(x, y, places)
            ends = zip(band.lowest.tolist(), band.highest.tolist(), strict=True)
            curves.append(curve_of(relation.name, places.tolist(), band.values.tolist(), ends))
        if not curves:
            return None
        return CurveFigure(
            "lines",
            "Payoff against complexity: straight lines",
            "The straight line of least squares through all single exercises, with the band that "
            "holds the whole line with a confidence of 95 %. Whether a straight line is the right "
            f"shape, the means above show.{behind([each.label for each in curves])}",
            "Complexity of the environment",
            "Payoff",
            tuple(curves),
            banded=True,
            scale=Scale.VALUES,
        )

    def _profile_figure(self, rows: Sequence[ScoreRow]) -> CurveFigure | None:
        """The share of exercises, or repetitions, with more than each payoff."""
        # The faults of an agent decide which of its exercises have a value.
        sound = [row for row in rows[:DRAWN] if not row.eligibility.own_faults]
        values = {row.name: self._values(row.agent) for row in sound}
        known = {name: each for name, each in values.items() if len(each)}
        if not known or self._design.precision is not None:
            return None
        lowest = min(float(each.min()) for each in known.values())
        highest = max(float(each.max()) for each in known.values())
        if not lowest < highest:
            return None
        places = np.linspace(lowest, highest, THRESHOLDS)
        curves = []
        for name, each in known.items():
            band = performance_profile(each, places)
            ends = zip(band.lowest.tolist(), band.highest.tolist(), strict=True)
            curves.append(curve_of(name, places.tolist(), band.values.tolist(), ends))
        one = self._design.unit
        what = "score" if one == REPETITION else "payoff"
        return CurveFigure(
            "profile",
            "Performance profile",
            f"The share of {one}s with more than each {what}: a curve further up and to the right "
            "is better, and where two cross, each agent is better in a part of the "
            f"{one}s. The band holds the whole curve with a confidence of 95 %."
            + " Agents with faults of their own are left out." * (len(sound) < len(rows[:DRAWN]))
            + behind([each.label for each in curves]),
            f"{what.capitalize()} of one {one}",
            f"Share of {one}s with more",
            tuple(curves),
            banded=True,
            scale=Scale.VALUES,
        )

    def _course_figures(self, rows: Sequence[ScoreRow]) -> list[CurveFigure]:
        """The means of the courses under all seeds, round by round."""
        courses: dict[str, list[Step]] = {}
        for row in rows[:DRAWN]:
            known = [each[row.agent] for each in self._courses if each.get(row.agent)]
            rounds = min(map(len, known), default=0)
            if rounds > 1:
                courses[row.name] = [
                    _mean_step([course[place] for course in known]) for place in range(rounds)
                ]
        timed = self._design.length_unit == "seconds"
        return figures.figures_of_courses(courses, [row.name for row in rows[:DRAWN]], timed=timed)


def _mean_step(steps: Sequence[Step]) -> Step:
    """The same round under several seeds as one."""
    known = [
        Estimate(each.value, each.low, each.high, 0.95, 1)
        for each in steps
        if each.low is not None and each.high is not None
    ]
    whole = combined_mean(known) if len(known) == len(steps) else None
    return Step(
        fmean(each.length for each in steps),
        fmean(each.level for each in steps),
        fmean(each.value for each in steps),
        whole.low if whole else None,
        whole.high if whole else None,
    )


def _speed(curves: Sequence[FloatArray]) -> LearningSpeed | None:
    """How fast an agent learnt; ``None`` where curves are too short to tell."""
    long_enough = all(len(each) > max(ceil(LAST_PART * len(each)), WINDOW) for each in curves)
    if not curves or not long_enough:
        return None
    return learning_speed(curves, window=WINDOW, final=LAST_PART)


def _score_figure(rows: Sequence[ScoreRow], seeds: int) -> Figure | None:
    figure = figures.score_figure([replace(row, repetitions=0) for row in rows[:LISTED]])
    if figure is None:
        return None
    over = f"the mean of the scores under {counted(seeds, 'seed')}" if seeds > 1 else "the score"
    caption = f"The dot is {over}, the bar its 95 % interval."
    if any(dot.value is not None and dot.low is None for dot in figure.dots):
        caption += " A hollow dot has no interval."
    return replace(figure, caption=caption)


def _difference_figure(compared: Sequence[Comparison]) -> Figure | None:
    figure = figures.difference_figure(compared[:LISTED])
    if figure is None or "hollow" in figure.caption or all(d.low is not None for d in figure.dots):
        return figure
    return replace(figure, caption=f"{figure.caption} A hollow dot has no interval.")


def result_sentences(sections: Sequence[Section], agents: int, exercises: int) -> list[str]:
    """What was measured, who is best, and what is not decided: at most three sentences."""
    seeds = max((each.seeds[1] for each in sections), default=0)
    under = f" under {counted(seeds, 'seed')}" if seeds > 1 else ""
    what = counted(len(sections), "test")
    first = f"{counted(agents, 'agent')} took {what}{under}: {counted(exercises, 'exercise')}."
    shown, leading = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    undecided = []
    for section in sections:
        best = section.best
        if best is None:
            continue
        others = [each.verdict for each in section.compared]
        if section.undecided or Verdict.WORSE not in others:  # faulty ones are not compared
            leading[best.name].append(section.title)
        else:
            shown[best.name].append(section.title)
        if section.undecided:
            undecided.append(section)
    clauses = [f"{name} is shown to be best in {_named(tests)}" for name, tests in shown.items()]
    clauses += [f"{name} has the best score in {_named(tests)}" for name, tests in leading.items()]
    if len(clauses) > summary.NAMED:
        clauses = [*clauses[: summary.NAMED], "others are best in the rest"]
    second = f"{'; '.join(clauses)}." if clauses else "There is no score yet."
    if len(undecided) > 2:
        third = f"In {len(undecided)} of the {what} it is not decided which agent is best."
        if len(undecided) == len(sections):
            third = f"In none of the {what} is it decided which agent is best."
    elif undecided:
        cases = [
            f"whether {best.name} is better than {_few(each.undecided)} in {each.title}"
            for each in undecided
            if (best := each.best) is not None
        ]
        third = f"Not decided is {listed(cases)}."
    else:
        third = _decided_sentence([c.verdict for each in sections for c in each.compared])
    return [each for each in (first, second, third) if each]


def _decided_sentence(verdicts: Sequence[Verdict]) -> str:
    """What is said where no difference is undecided."""
    if Verdict.FAULTY not in verdicts:
        return "Every difference from the best agent is shown." if verdicts else ""
    if Verdict.WORSE not in verdicts:
        return "Agents with faults of their own are not compared."
    return (
        "Every other difference from the best agent is shown, but agents with faults of their own "
        "are not compared."
    )


def _named(tests: Sequence[str]) -> str:
    return listed(tests) if len(tests) <= summary.NAMED else counted(len(tests), "test")


def _few(names: Sequence[str]) -> str:
    if len(names) <= summary.NAMED:
        return " or ".join(names)
    return f"{', '.join(names[: summary.NAMED - 1])} or {len(names) - summary.NAMED + 1} others"


def finite_or_none(value: float | None) -> float | None:
    """The number, if it is one that can be drawn."""
    return value if value is not None and isfinite(value) and value != inf else None


def distinct_sessions(provenance: Sequence[Mapping[str, Any]]) -> list[tuple[dict[str, Any], int]]:
    """The different ways in which results were made, and how often, without the times."""
    counts = Counter[str]()
    for session in provenance:
        made = {name: session[name] for name in sorted(session) if name in _MADE}
        counts[json.dumps(made, sort_keys=True)] += 1
    return [(json.loads(text), count) for text, count in counts.items()]


_MADE = ("versions", "revisions", "machine")
