"""The same agent, slower and slower, by the tests with time and those without (section 7.2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.contract import Spec
from omnimeter.contract.agent import FloatArray
from omnimeter.estimation import Estimate, mean, paired_difference
from omnimeter.reports.style import SMALL
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.anytime.shared import part_of, run_test
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    Steps,
    fmt,
    join,
    silent,
)

if TYPE_CHECKING:
    pass

PACE = 0.001  # seconds per action of the first
ACTIONS = 256  # how many it has time for in each environment of Definition 17
REPETITION = 10.0  # the seconds of a repetition of Definition 18
INTERACTIONS = 1000  # those of a repetition of Definition 19

ENVIRONMENT_CLASS = {"id": "automata-v1"}


@dataclass(frozen=True)
class Sizes:
    """How much is run."""

    environments: int = 400  # in the tests of Definitions 15 and 17
    repetitions: int = 60  # in those of Definitions 18 and 19
    slowness: tuple[int, ...] = tuple(2**power for power in range(10))  # times slower, rising


@dataclass(frozen=True)
class Definition:
    """One of the tests, by the number of its definition."""

    number: int
    title: str
    timed: bool
    colour: str
    marker: str

    @property
    def line(self) -> str:
        """The style of its line."""
        return "-" if self.timed else "--"

    def spec(self, sizes: Sizes) -> Spec:
        """The test of this size."""
        sample = {"environment_class": ENVIRONMENT_CLASS, "exercises": sizes.environments}
        anytime = {"environment_class": ENVIRONMENT_CLASS, "repetitions": sizes.repetitions}
        time, interactions = (each * sizes.repetitions for each in (REPETITION, INTERACTIONS))
        tests: dict[int, tuple[str, dict[str, Any]]] = {
            15: ("universal-adjusted-v1", sample | {"interactions": ACTIONS}),
            17: ("universal-timed-v1", sample | {"seconds": ACTIONS * PACE, "clock": "virtual"}),
            18: ("anytime-timed-v1", anytime | {"time": time, "clock": "virtual"}),
            19: ("anytime-untimed-v1", anytime | {"interactions": interactions}),
        }
        return Spec(*tests[self.number])


DEFINITIONS = (
    Definition(15, "Definition 15, without time", False, "#d55e00", "s"),
    Definition(17, "Definition 17, with time", True, "#0072b2", "o"),
    Definition(18, "Definition 18, anytime, with time", True, "#009e73", "^"),
    Definition(19, "Definition 19, anytime, without time", False, "#b5559a", "D"),
)


@dataclass(frozen=True)
class Subject:
    """One of the agents, and whether it improves with experience."""

    name: str
    title: str
    learns: bool

    @property
    def spec(self) -> Spec:
        """The agent itself, as it is in the catalogue."""
        return Spec(f"{self.name}-v1")

    def slowed(self, slowness: int) -> Spec:
        """A copy that takes so many times longer for each action."""
        return Spec("slowed-v1", {"agent": self.spec.id, "seconds": PACE * slowness})


MODEL_LEARNER = Subject("model-learner", "Model learner", True)
Q_LEARNING = Subject("q-learning", "Q-learning", True)
RANDOM = Subject("random", "Random", False)
AGENTS = (MODEL_LEARNER, Q_LEARNING, RANDOM)

ERROR = 0.05  # the probability that a claim about several intervals at once is wrong


@dataclass(frozen=True)
class Series:
    """One agent by one definition."""

    agent: Subject
    definition: Definition
    values: Mapping[int, FloatArray]  # of environments or repetitions, by how much slower it is

    def score(self, slowness: int, confidence: float = 1 - ERROR) -> Estimate:
        """The score of a copy."""
        return mean(self.values[slowness], confidence, support=REWARDS)

    def gains(self) -> list[Estimate]:
        """What each copy has more than the one before, paired, all at once (Bonferroni)."""
        confidence = 1 - ERROR / (len(self.values) - 1)
        return [
            paired_difference(slower, faster, confidence, support=REWARDS)
            for faster, slower in pairwise(self.values.values())
        ]

    def lead(self) -> Estimate:
        """What the first has more than the slowest."""
        first, *_, last = self.values.values()
        return paired_difference(first, last, support=REWARDS)

    @property
    def all_the_same(self) -> bool:
        """Whether every copy has exactly the same values."""
        first, *others = self.values.values()
        return all(np.array_equal(first, other) for other in others)


Results = Mapping[tuple[Subject, int], Series]  # by agent and number of the definition


def run(sizes: Sizes, report: Report, steps: Steps) -> Results:
    """Let all copies take all tests.

    Copies have the same random stream, so that the slower one is really the same agent: it does
    exactly what the faster one does, later. By Definition 17 both are in the same environments; by
    Definition 18 as long as their rewards, and so their levels, are the same.
    """
    pairs = list(product(AGENTS, DEFINITIONS))
    results = {}
    for place, (agent, definition) in enumerate(pairs):
        doing = f"{agent.title}, definition {definition.number}"
        part = part_of(report, place, len(pairs), doing)
        values = {}
        for number, slowness in enumerate(sizes.slowness):
            one = part_of(part, number, len(sizes.slowness))
            values[slowness] = steps(_values, agent, definition, slowness, sizes, report=one)
        results[agent, definition.number] = Series(agent, definition, values)
    return results


def _values(
    agent: Subject, definition: Definition, slowness: int, sizes: Sizes, report: Report
) -> FloatArray:
    """What a copy that is so many times slower gets, by environment or repetition."""
    copy = agent.slowed(slowness)
    test = run_test(definition.spec(sizes), copy, report, stream_of=agent.spec)
    return np.array([test.values[unit] for unit in sorted(test.values)])


def _slowness(results: Results) -> list[int]:
    return list(next(iter(results.values())).values)


def _draw(results: Results, out: Path) -> dict[str, Path]:
    """Draw a panel for each agent, and label the definitions next to the last."""
    with plots.styled_figure(13.2, 4.7) as figure:
        for place, agent in enumerate(AGENTS):
            left = 0.045 + place * (0.245 + 0.022)
            panel = figure.add_axes((left, 0.125, 0.245, 0.675))
            for each in DEFINITIONS:
                series = results[agent, each.number]
                band = shared.bands(series.score(slowness) for slowness in series.values)
                plots.plot_band(
                    panel, _slowness(results), band, each.colour, 0.14,
                    ls=each.line, lw=1.6, marker=each.marker, ms=4,
                )  # fmt: skip
            panel.set(xscale="log", ylim=(-0.2, 0.9), xlabel="times slower")
            panel.set_xticks(_slowness(results), [f"{each}" for each in _slowness(results)])
            panel.set_xticks([], minor=True)
            plots.grid_and_zero(panel)
            plots.panel_title(panel, agent.title)
            if place:
                panel.set_yticklabels([])
            else:
                panel.set_ylabel("score")
        # All definitions at the right, in the order in which their lines begin.
        fastest = _slowness(results)[0]
        start = {each: results[AGENTS[0], each.number].score(fastest).value for each in DEFINITIONS}
        for place, each in enumerate(sorted(DEFINITIONS, key=lambda each: -start[each])):
            height = 0.85 - 0.15 * place
            panel.plot(
                [1.04, 1.12], [height] * 2, each.line, color=each.colour, lw=1.6,
                marker=each.marker, ms=4, transform=panel.transAxes, clip_on=False,
            )  # fmt: skip
            panel.annotate(
                each.title.replace(", ", "\n", 1), (1.15, height), xycoords="axes fraction",
                va="center", fontsize=SMALL, color=each.colour, linespacing=1.05,
                annotation_clip=False,
            )  # fmt: skip
        plots.add_header(
            figure,
            "The same agent, slower and slower",
            f"Scores with 95 % intervals, class {ENVIRONMENT_CLASS['id'].removesuffix('-v1')}. "
            f"The fastest copy takes {1000 * PACE:g} ms per action.",
        )
        return plots.write_figure(figure, out / "speed")


BAD = 0.05  # scores below this are very bad
GOOD = 0.3  # scores above this are very good

TIMED, UNTIMED = (17, 18), (15, 19)


def statements(results: Results) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided."""
    learners = [agent for agent in AGENTS if agent.learns]
    return [
        *(slower_is_not_better(results[each, number]) for number in TIMED for each in learners),
        *(_slower_is_the_same(results, number) for number in UNTIMED),
        _random_stays_at_0(results),
        _slow_but_intelligent(results),
    ]


def slower_is_not_better(series: Series) -> Statement:
    """That the score falls with the pace of an agent that learns."""
    gains, lead = series.gains(), series.lead()
    highest = max(gains, key=lambda gain: gain.value)
    down, up = sum(gain.high < 0 for gain in gains), sum(gain.low > 0 for gain in gains)
    scores = join((series.score(each).value for each in series.values), ".3f")
    return Statement(
        f"Definition {series.definition.number}, {series.agent.title}: of two agents that do the "
        "same and improve with experience, the slower one has the lower score.",
        f"{join(series.values, 'd')} times slower: {scores}. The first is {fmt(lead)} above the "
        f"last. Of {len(gains)} steps {down} lead down significantly, {up} up; the highest of them "
        f"is {fmt(highest)}. Rule: no step leads up significantly, all intervals of paired "
        "differences holding at once, and the interval of the first's lead over the last is above "
        "0.",
        not up and lead.low > 0,
    )


def _slower_is_the_same(results: Results, number: int) -> Statement:
    series = [results[agent, number] for agent in AGENTS]
    texts = [
        f"and exactly the same for all {len(each.values)} copies"
        if each.all_the_same
        else "but copies differ"
        for each in series
    ]
    return Statement(
        f"Definition {number}: two agents that do the same have the same score, however slow.",
        "; ".join(
            f"{each.agent.title} {fmt(each.score(1))}, {text}"
            for each, text in zip(series, texts, strict=True)
        )
        + ". Rule: every copy has the same value in every environment or repetition, bit for bit.",
        all(each.all_the_same for each in series),
    )


def _random_stays_at_0(results: Results) -> Statement:
    own = [each for each in results.values() if each.agent is RANDOM]
    confidence = 1 - ERROR / sum(len(each.values) for each in own)  # Bonferroni
    scores = {
        each.definition.number: [each.score(slowness, confidence) for slowness in each.values]
        for each in own
    }
    furthest = {
        number: max(copies, key=lambda score: abs(score.value)) for number, copies in scores.items()
    }
    return Statement(
        "An agent that does not learn neither gains nor loses by its speed: a random one is "
        "expected to have 0 by every definition.",
        "The score that is furthest from 0: "
        + ", ".join(f"{fmt(score)} by Definition {number}" for number, score in furthest.items())
        + ". Rule: the intervals of all copies by all definitions contain 0, all at once.",
        all(shared.contains_zero(score) for copies in scores.values() for score in copies),
    )


def _slow_but_intelligent(results: Results) -> Statement:
    slowest = max(_slowness(results))
    scores = {
        agent: [results[agent, number].score(slowest) for number in (18, 19)] for agent in AGENTS
    }
    return Statement(
        "Very bad results with Definition 18 and then very good ones with Definition 19 tell a "
        "very slow, but intelligent, agent.",
        f"The slowest copies, {slowest} times slower than the first: "
        + "; ".join(
            f"{agent.title} {fmt(timed)} with time, {fmt(untimed)} without"
            for agent, (timed, untimed) in scores.items()
        )
        + f". Rule: for the two that learn the first interval ends below {BAD} and the second "
        f"begins above {GOOD}, and not so for the random one.",
        all(
            (timed.high < BAD and untimed.low > GOOD) == agent.learns
            for agent, (timed, untimed) in scores.items()
        ),
    )


def reproduce(out: Path, report: Report = silent, *, sizes: Sizes = Sizes()) -> Reproduced:  # noqa: B008 - a frozen value
    """Let copies of agents, each slower than the one before, take the tests of four definitions."""
    results = run(sizes, report, Steps(out))
    # A row for each copy of each agent, a column for each definition.
    rows = [
        {
            "agent": agent.name,
            "times-slower": slowness,
            **{
                f"definition-{each.number}": results[agent, each.number].score(slowness).value
                for each in DEFINITIONS
            },
        }
        for agent in AGENTS
        for slowness in sizes.slowness
    ]
    intervals: list[dict[str, Any]] = [
        {
            "agent": each.agent.name,
            "definition": each.definition.number,
            "times-slower": slowness,
            **shared.fields(each.score(slowness)),
        }
        for each in results.values()
        for slowness in each.values
    ]
    return Reproduced(
        name="anytime-speed",
        title="The same agent, slower and slower: its score with time and without",
        findings="docs/findings.md#what-speed-is-worth",
        statements=statements(results),
        figures={
            f"{row['agent']}.definition-{row['definition']}.{row['times-slower']}": row["value"]
            for row in intervals
        },
        rows=rows,
        files={
            "table": shared.write_records(out / "speed.csv", rows),
            "intervals": shared.write_records(out / "intervals.csv", intervals),
            **_draw(results, out),
        },
    )
