"""What each test of a campaign says, as data: gathered by columns, one evaluation after another.

Of an evaluation only numbers are kept, eight bytes for each payoff, until its test is summed up.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isfinite
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.contract import Ending, Fault, Spec, Trace
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.protocol import Design
from omnimeter.estimation import (
    Correlation,
    Effect,
    Estimate,
    LearningSpeed,
    Line,
    interquartile_estimate,
    learning_speed,
    probability_of_improvement,
    rank_correlation,
    regression,
    repeated_measures,
)
from omnimeter.protocols import Evaluation, Result
from omnimeter.reports import campaign_figures, figures, summary
from omnimeter.reports.campaign import (
    CampaignScore,
    Member,
    Scored,
    add_scores,
    combined_score,
    read_member,
)
from omnimeter.reports.comparisons import (
    ERROR_RATE,
    Comparison,
    Samples,
    Verdict,
    comparisons_over,
    matching_rows,
    samples_of,
    support_of,
)
from omnimeter.reports.figures import Figure, LearningSums, Step
from omnimeter.reports.page import payoff_text, taken_sentence
from omnimeter.reports.scores import (
    REPETITION,
    ScoreRow,
    bins_of,
    eligibility_over,
    is_adjusted,
    means_in_bins,
    ranked,
    repetition_count,
)
from omnimeter.reports.settings import Setting, settings_of
from omnimeter.reports.time_figures import TimeReport, time_report_of

if TYPE_CHECKING:
    from omnimeter.results import Record

DRAWN, LISTED = 12, 60
"""Agents of whom a figure has curves, and lines with a dot: the best of them."""

FAULTS_READ = 200
"""Faults whose messages are read, of one agent in one evaluation."""

CURVES, REWARDS = 200, 1_000_000
"""Traces of one agent in one evaluation, and rewards of one agent in a test, for its speed."""

SHORTEST = 20
"""Interactions of a learning curve from which on it tells how fast was learnt."""


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
        speeds: How fast each agent learnt, by its name. Here, as in spreads, variance, relations
            and figures of these, agents with faults of their own are left out. Agents with a
            privileged view are left out of the variance.
        untold: The names of the others of which that cannot be told.
        thinned: Whether only some of the traces count in the speeds.
        places: The place of each agent of the campaign, by its name in this test.
        seeds: Under how many seeds some exercise was finished, of how many.
        known_seeds: Those that are no secret: given ones, and those of complete evaluations.
        setting: What each agent takes, and how it is judged, in sentences.
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
    untold: Sequence[str]
    thinned: bool
    timed: TimeReport | None
    figures: Sequence[Figure]
    faults: Sequence[FaultCount]
    faults_read: bool
    places: Mapping[str, int]
    setting: Sequence[str]
    remarks: Sequence[str]
    complete: bool
    seeds: tuple[int, int]
    known_seeds: Sequence[int]

    @property
    def tied(self) -> list[ScoreRow]:
        """All agents with the best score; mostly one."""
        best = self.best
        return [row for row in self.rows if best and best.rank and row.rank == best.rank]

    @property
    def best(self) -> ScoreRow | None:
        """The agent that the others are compared with."""
        if self.compared:
            return next(row for row in self.rows if row.agent == self.compared[0].reference)
        return next((row for row in self.rows if row.rank == 1), None)

    @property
    def learnt(self) -> bool:
        """Whether something is known of how fast some agent learnt."""
        return any(isfinite(each.value) for each in self.speeds.values())

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
    groups: dict[tuple[str, str], list[Member]] = {}
    for member in members:
        groups.setdefault(member.group, []).append(member)
    taken: set[str] = set()
    done = 0
    for group, own in groups.items():
        gathered = _Gathered(own)
        for member in own:
            tell("Reading evaluations", done, len(members))
            with read_member(member, trust=trust) as opened:
                gathered.add(member, opened)
            done += 1
        tell("Reading evaluations", done, len(members))
        several = sum(test == group[0] for test, _ in groups) > 1
        title = " · ".join(filter(None, group)) if several else group[0]
        yield (
            gathered.section(_slug(title, taken), title, agents),
            gathered.pending,
            gathered.provenance,
        )


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
        self._scored: dict[Spec, list[Scored]] = {}
        # Those of each evaluation that has begun, in order; with the points of single exercises.
        self._seeds: list[Samples] = []
        self._points: list[dict[Spec, tuple[FloatArray, FloatArray, IntArray | None]]] = []
        self._courses: list[dict[Spec, list[Step]]] = []
        self._settings: dict[Spec, Setting] = {}
        self._learning = LearningSums()
        self._rewards: dict[Spec, list[FloatArray]] = defaultdict(list)
        self._thinned = False
        self._lengths: dict[Spec, list[int]] = defaultdict(lambda: [0, 0])
        self._faults: dict[tuple[Spec, str, str], FaultCount] = {}
        self._faults_read = True
        self._setting: list[str] = []
        self._remarks: dict[str, None] = {}
        self._known_seeds: list[int] = []
        self.pending: list[Pending] = []
        self.provenance: list[Mapping[str, Any]] = []

    def add(self, member: Member, opened: tuple[Record, Result] | None) -> None:
        """Keep what is needed of one evaluation."""
        add_scores(self._scored, member, opened)
        if opened is None:
            for agent in member.evaluation.agents:
                self.pending.append(Pending(member.name, agent.label, 0, member.expected))
            return
        record, result = opened
        self._known_seeds += [] if result.seed is None else [result.seed]
        self._design, self._adjusted = result.design, is_adjusted(result)
        self._setting = self._setting or self._told(member, result)
        for agent, done in result.outcomes.items():
            finished = len(done)
            left = member.expected is None or finished < member.expected
            if not result.complete and left and agent not in result.stopped:
                pending = Pending(member.name, agent.label, finished, member.expected)
                self.pending.append(pending)
            lengths = done.interactions[done.paid]
            self._lengths[agent][0] += int(lengths.sum())
            self._lengths[agent][1] += len(lengths)
        self._add_points(result)
        self._add_faults(member, result)
        self._courses.append({agent: figures.course_of(result, agent) for agent in result.outcomes})
        if any(done.remarks("online") for done in result.outcomes.values()):
            self._add_settings(result)
        if Evaluation.from_json(record.spec).traces:
            self._learning.add(result, self._noted(result, record.traces()))
        sentences = (
            summary.reproducibility_sentence(result),
            summary.extension_sentence(result),
            summary.sandbox_sentence(result),
            summary.fault_limit_sentence(result),
            summary.exhausted_sentence(result),
            result.design.warning,
        )
        self._remarks |= dict.fromkeys(filter(None, sentences))
        self.provenance += record.provenance()

    def _told(self, member: Member, result: Result) -> list[str]:
        """What each agent takes, and how it is judged; empty while no exercise is known."""
        known = [e for done in result.outcomes.values() for e in done.distinct_exercises()]
        if not known:
            return []
        payoff = payoff_text(member.evaluation.protocol, result.design)
        judged = f"Payoff: {payoff}" if payoff else ""
        taken = taken_sentence(result.design, known, member.expected, len(self._members))
        return [taken, judged] if judged else [taken]

    def _add_points(self, result: Result) -> None:
        """Keep the values; agents on the same exercises share what says which these are."""
        self._seeds.append(samples_of(result))
        points: dict[Spec, tuple[FloatArray, FloatArray, IntArray | None]] = {}
        repetitions = repetition_count(result)
        for agent, done in result.outcomes.items():
            complexities = done.complexities[done.paid]
            known = next(iter(points.values()), None)
            if known is not None and np.array_equal(known[0], complexities):
                complexities = known[0]
            own = self._seeds[-1].of[agent].values
            payoffs = done.payoffs[done.paid] if result.values else own
            turn = done.numbers[done.paid] % repetitions if repetitions else None
            points[agent] = complexities, payoffs, turn
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
        """Add returns and times; MDPs of different seeds are different ones, for all agents."""
        shift = 1 + max((n for known in self._settings.values() for n in known.returns), default=-1)
        for each in settings_of(result):
            if not each.problem:  # it has not begun
                continue
            # What decided on the MDPs differs from seed to seed, and not between agents of a test.
            known = self._settings.get(each.agent) or replace(
                each, returns={}, measured={}, faults=0, draw=""
            )
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
        """The traces, of some of which the rewards are kept: those of the first exercises.

        What an agent that stopped left undone has the reward 0, as in the score by default: or to
        stop after good rewards would be to keep them.
        """
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
                left = (trace.planned or 0) - len(trace) if trace.ending is Ending.STOPPED else 0
                rewards = np.pad(np.asarray(trace.rewards, np.float64), (0, max(left, 0)))
                self._rewards[wanted[key]].append(rewards)
            yield key, trace

    # What the evaluations say together.

    def section(self, key: str, title: str, agents: Sequence[str]) -> Section:
        """Sum up."""
        group = self._members[0].group
        scores = {a.label: combined_score(group, a, self._scored[a]) for a in self._agents}
        rows = ranked(map(self._row, self._agents, scores.values()))
        # Nothing but scores is said of agents whose faults decide which exercises count.
        sound = [row for row in rows if row.value is not None and row.eligibility.is_sound]
        drawn, design = sound[:DRAWN], self._design
        compared = comparisons_over(self._seeds, rows, planned=len(self._members))
        own = {row.label: row.name for row in rows}
        relations = list(self._relations(sound))
        timed = time_report_of(list(self._settings.values())) if self._settings else None
        begun = sum(any(len(own.taken) for own in seed.of.values()) for seed in self._seeds)
        lines = {each.name: self._of_agent(each.agent)[:2] for each in relations[:DRAWN]}
        profiled = {} if design.sequential else {r.name: self._values(r.agent) for r in drawn}
        speeds = {r.name: s for r in sound if (s := _speed(self._rewards.get(r.agent, [])))}
        shown: list[Figure | None] = [
            campaign_figures.score_figure(
                rows[:LISTED], [scores[row.label].evaluations for row in rows[:LISTED]]
            ),
            figures.difference_figure(compared[:LISTED]),
            *campaign_figures.course_figures(
                {row.name: [each.get(row.agent, []) for each in self._courses] for row in drawn},
                timed=design.length_unit == "seconds",
            ),
            figures.complexity_figure(drawn, adjusted=self._adjusted) if drawn else None,
            campaign_figures.line_figure(lines),
            self._learning.figure({row.agent: row.name for row in drawn}),
            campaign_figures.profile_figure(profiled, design.unit),
            *(timed.figures if timed else ()),
        ]
        return Section(
            key=key,
            title=title,
            test=group[0],
            environment_class=group[1],
            design=design,
            scores=scores,
            rows=rows,
            compared=compared,
            spreads=list(self._spreads(sound, compared)),
            relations=relations,
            variance=self._variance([row.agent for row in sound if not row.eligibility.privileged]),
            speeds=speeds,
            untold=[r.name for r in sound if self._rewards and r.name not in speeds],
            thinned=self._thinned,
            timed=timed,
            figures=[replace(each, name=f"{key}-{each.name}") for each in shown if each],
            faults=sorted(
                self._faults.values(), key=lambda each: (-each.count, each.agent.label, each.first)
            ),
            faults_read=self._faults_read,
            places={own.get(label, label): place for place, label in enumerate(agents)},
            setting=self._setting,
            remarks=list(self._remarks),
            complete=all(score.complete for score in scores.values()),
            seeds=(begun, len(self._members)),
            known_seeds=self._known_seeds,
        )

    def _row(self, agent: Spec, score: CampaignScore) -> ScoreRow:
        total, count = self._lengths[agent]
        adaptive = self._design.unit == REPETITION
        parts: dict[str, Any] = {}
        for metric in self._design.metrics:
            known = [e.score.parts.get(metric.name) for e in self._scored[agent] if e.score]
            numbers = [float(each) for each in known if isinstance(each, int | float)]
            parts[metric.name] = fmean(numbers) if numbers else None
        eligibility = eligibility_over(each.eligibility for each in self._scored[agent])
        x, y, group = self._of_agent(agent)
        bins = self._bins if eligibility.is_sound else []
        return ScoreRow(
            agent=agent,
            value=score.value,
            low=score.low,
            high=score.high,
            confidence=0.95,
            count=score.exercises,
            faults=dict(sorted(score.faults.items())),
            interactions=total / count if count else None,
            complexities=means_in_bins(x, y, bins, support_of(self._seeds), group),
            repetitions=len(self._values(agent)) if adaptive else 0,
            parts=parts,
            eligibility=eligibility,
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

    @cached_property
    def _bins(self) -> list[tuple[float, float]]:
        return bins_of([self._of_agent(agent)[0] for agent in self._agents])

    def _table(self, agents: Sequence[Spec]) -> FloatArray:
        """The values of some agents in all that each of them finished: a row for each exercise."""
        parts = [np.empty((0, len(agents)))]
        for each in self._seeds:
            if not all(agent in each.of for agent in agents):
                continue
            first, *others = (each.of[agent] for agent in agents)
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
            if not len(values) or self._design.sequential:
                continue
            improvement = None
            against = verdicts.get(row.agent)
            if against is not None and against.verdict is not Verdict.TOO_FEW:
                both = self._table([row.agent, against.reference])
                confidence = 1 - ERROR_RATE / against.simultaneous
                improvement = probability_of_improvement(both[:, 0], both[:, 1], confidence)
            middle = interquartile_estimate(values, support=support_of(self._seeds))
            yield Spread(row.agent, row.name, middle, improvement)

    def _values(self, agent: Spec) -> FloatArray:
        known = [each.of[agent].values for each in self._seeds if agent in each.of]
        return np.concatenate([np.empty(0), *known])

    def _variance(self, agents: Sequence[Spec]) -> Variance | None:
        """Whether agents differ on the same exercises."""
        if len(agents) < 2 or self._design.sequential:
            return None
        table = self._table(agents)
        return None if len(table) < 2 else Variance(repeated_measures(table), *table.shape[::-1])

    def _relations(self, rows: Sequence[ScoreRow]) -> Iterator[Relation]:
        """How payoffs depend on the complexity, where exercises are independent."""
        if self._design.unit == REPETITION or len(self._bins) < 2:
            return
        for row in rows:
            x, y, _ = self._of_agent(row.agent)
            if len(x) > 2 and np.ptp(x) > 0:
                yield Relation(row.agent, row.name, rank_correlation(x, y), regression(x, y))


def _speed(curves: Sequence[FloatArray]) -> LearningSpeed | None:
    """How fast an agent learnt; ``None`` where no curve is long enough to tell."""
    long = [each for each in curves if len(each) >= SHORTEST]
    return learning_speed(long) if long else None


def distinct_sessions(
    provenance: Sequence[Mapping[str, Any]],
) -> list[tuple[dict[str, Any], list[str]]]:
    """The different ways in which results were made, and when each of their sessions started."""
    ways = defaultdict[str, list[str]](list)
    for session in provenance:
        made = {name: session[name] for name in sorted(session) if name in _MADE}
        ways[json.dumps(made, sort_keys=True)].append(str(session.get("started", "")))
    return [(json.loads(text), sorted(started)) for text, started in ways.items()]


_MADE = ("versions", "revisions", "machine")
