"""The same agent, slower and slower, by the tests with time and those without (section 7.2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, product
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.contract import Spec
from omnimeter.contract.agent import FloatArray
from omnimeter.estimation import Estimate, mean, paired_difference
from omnimeter.reports.style import MUTED, SMALL
from omnimeter.reproductions.anytime.shared import part_of, taken
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    fields,
    head,
    look,
    said,
    silent,
    write_figure,
    write_records,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SLOWNESS = tuple(2**power for power in range(10))
"""How many times slower than the first the copies are."""

PACE = 0.001
"""Seconds per action of the first."""

ACTIONS = 256
"""How many it has time for in each environment of Definition 17."""

REPETITION = 10.0
"""The seconds of a repetition of Definition 18."""

INTERACTIONS = 1000
"""Those of a repetition of Definition 19."""

ENVIRONMENTS = {"id": "automata-v1"}


@dataclass(frozen=True)
class Sizes:
    """How much is done.

    Attributes:
        environments: How many there are in the tests of Definitions 15 and 17.
        repetitions: How many there are in those of Definitions 18 and 19.
        slowness: How many times slower than the first the copies are, from 1 on, rising.
    """

    environments: int
    repetitions: int
    slowness: tuple[int, ...] = SLOWNESS


@dataclass(frozen=True)
class Definition:
    """One of the tests.

    Attributes:
        number: That of its definition.
        title: For a reader.
        timed: Whether it takes time into account.
        colour: Of its line; told apart by colour-blind people.
        marker: The shape of its points.
    """

    number: int
    title: str
    timed: bool
    colour: str
    marker: str

    def spec(self, sizes: Sizes) -> Spec:
        """The test of this size."""
        many = {"environment_class": ENVIRONMENTS, "exercises": sizes.environments}
        side_by_side = {"environment_class": ENVIRONMENTS, "repetitions": sizes.repetitions}
        tests: dict[int, tuple[str, dict[str, Any]]] = {
            15: ("universal-adjusted-v1", many | {"interactions": ACTIONS}),
            17: ("universal-timed-v1", many | {"seconds": ACTIONS * PACE, "clock": "virtual"}),
            18: (
                "anytime-timed-v1",
                side_by_side | {"time": REPETITION * sizes.repetitions, "clock": "virtual"},
            ),
            19: (
                "anytime-untimed-v1",
                side_by_side | {"interactions": INTERACTIONS * sizes.repetitions},
            ),
        }
        return Spec(*tests[self.number])


DEFINITIONS = (
    Definition(15, "Definition 15, without time", False, "#d55e00", "s"),
    Definition(17, "Definition 17, with time", True, "#0072b2", "o"),
    Definition(18, "Definition 18, anytime, with time", True, "#009e73", "^"),
    Definition(19, "Definition 19, anytime, without time", False, "#b5559a", "D"),
)


@dataclass(frozen=True)
class Examined:
    """One of the agents.

    Attributes:
        name: In rows of programs.
        title: For a reader.
        learns: Whether it improves with experience.
    """

    name: str
    title: str
    learns: bool

    @property
    def spec(self) -> Spec:
        """Itself, as it is in the catalogue."""
        return Spec(f"{self.name}-v1")

    def slowed(self, slowness: int) -> Spec:
        """A copy that takes so many times longer for each action."""
        return Spec("slowed-v1", {"agent": self.spec.id, "seconds": PACE * slowness})


MODEL_LEARNER = Examined("model-learner", "Model learner", True)
Q_LEARNING = Examined("q-learning", "Q-learning", True)
RANDOM = Examined("random", "Random", False)
AGENTS = (MODEL_LEARNER, Q_LEARNING, RANDOM)


ERROR = 0.05
"""How often a claim about several intervals at once may be wrong."""


@dataclass(frozen=True)
class Series:
    """One agent by one definition.

    Attributes:
        agent: Who.
        definition: By which.
        values: The value of each environment or repetition, by how many times slower the copy is.
    """

    agent: Examined
    definition: Definition
    values: Mapping[int, FloatArray]

    def score(self, slowness: int, level: float = 1 - ERROR) -> Estimate:
        """The score of a copy."""
        return mean(self.values[slowness], level, support=REWARDS)

    def gains(self) -> list[Estimate]:
        """What each copy has more than the one before, pair by pair, all at once (Bonferroni)."""
        level = 1 - ERROR / (len(self.values) - 1)
        return [
            paired_difference(slower, faster, level, support=REWARDS)
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


@dataclass(frozen=True)
class Found:
    """All agents by all definitions.

    Attributes:
        series: One for each agent and definition.
    """

    series: Sequence[Series]

    @property
    def slowness(self) -> Sequence[int]:
        """How many times slower than the first the copies are."""
        return list(self.series[0].values)

    def scores_at_once(self, agent: Examined) -> dict[int, list[Estimate]]:
        """An agent's scores by all definitions, with intervals that all hold at once (Bonferroni).

        By the number of the definition, those of all copies.
        """
        own = [each for each in self.series if each.agent is agent]
        level = 1 - ERROR / sum(len(each.values) for each in own)
        return {
            each.definition.number: [each.score(slowness, level) for slowness in each.values]
            for each in own
        }

    def of(self, agent: Examined, number: int) -> Series:
        """One agent by one definition."""
        (found,) = [
            each for each in self.series if (each.agent, each.definition.number) == (agent, number)
        ]
        return found


def find(sizes: Sizes, report: Report) -> Found:
    """Let all copies take all tests.

    Copies have the same chance, so that the slower one is really the same agent: it does exactly
    what the faster one does, later. By Definition 17 both are in the same environments; by
    Definition 18 as long as their rewards, and so their levels, are the same.
    """
    whole = list(product(AGENTS, DEFINITIONS))
    series = []
    for place, (agent, definition) in enumerate(whole):
        doing = f"{agent.title}, definition {definition.number}"
        part = part_of(report, place, len(whole), doing)
        values = {}
        for number, slowness in enumerate(sizes.slowness):
            one = part_of(part, number, len(sizes.slowness))
            copy = agent.slowed(slowness)
            done = taken(definition.spec(sizes), copy, one, chance_of=agent.spec)
            values[slowness] = np.array([done.values[unit] for unit in sorted(done.values)])
        series.append(Series(agent, definition, values))
    return Found(series)


LOWEST, HIGHEST = -0.2, 0.9
"""Scores that are shown."""

HEIGHT_OF_NAME = 0.15
"""Of a panel."""

LEFT, WIDTH, BETWEEN = 0.045, 0.245, 0.022
"""Of the figure: where the first panel begins, how wide it is, and the gap to the next."""


def draw(found: Found, out: Path) -> dict[str, Path]:
    """Draw a panel for each agent, and name the definitions beside the last."""
    from matplotlib.figure import Figure

    with look():
        figure = Figure(figsize=(13.2, 4.7))
        for place, agent in enumerate(AGENTS):
            left = LEFT + place * (WIDTH + BETWEEN)
            panel = figure.add_axes((left, 0.125, WIDTH, 0.675))
            _draw_agent(panel, found, agent)
            panel.set_title(agent.title, loc="left", fontsize=10.5)
            if place:
                panel.set_yticklabels([])
            else:
                panel.set_ylabel("score")
        _name_definitions(panel, found)
        head(
            figure,
            "The same agent, slower and slower",
            f"Scores with 95 % intervals, class {ENVIRONMENTS['id'].removesuffix('-v1')}. "
            f"The fastest copy takes {1000 * PACE:g} ms per action.",
        )
        return write_figure(figure, out / "speed")


def _draw_agent(axes: Axes, found: Found, agent: Examined) -> None:
    for each in DEFINITIONS:
        series = found.of(agent, each.number)
        scores = [series.score(slowness) for slowness in series.values]
        value = [score.value for score in scores]
        low, high = [score.low for score in scores], [score.high for score in scores]
        style = "-" if each.timed else "--"
        axes.fill_between(found.slowness, low, high, color=each.colour, alpha=0.14, lw=0)
        axes.plot(found.slowness, value, style, color=each.colour, lw=1.6, marker=each.marker, ms=4)
    axes.set(xscale="log", ylim=(LOWEST, HIGHEST), xlabel="times slower")
    axes.set_xticks(found.slowness, [f"{slowness}" for slowness in found.slowness])
    axes.set_xticks([], minor=True)
    axes.grid(axis="y")
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)


def _name_definitions(axes: Axes, found: Found) -> None:
    """The names of all definitions at the right, in the order in which their lines begin."""
    fastest = found.slowness[0]
    start = {each: found.of(AGENTS[0], each.number).score(fastest).value for each in DEFINITIONS}
    for place, each in enumerate(sorted(DEFINITIONS, key=lambda each: -start[each])):
        height = 0.85 - HEIGHT_OF_NAME * place
        axes.plot(
            [1.04, 1.12], [height] * 2, "-" if each.timed else "--", color=each.colour, lw=1.6,
            marker=each.marker, ms=4, transform=axes.transAxes, clip_on=False,
        )  # fmt: skip
        axes.annotate(
            each.title.replace(", ", "\n", 1), (1.15, height), xycoords="axes fraction",
            va="center", fontsize=SMALL, color=each.colour, linespacing=1.05,
            annotation_clip=False,
        )  # fmt: skip


NOUGHT = 0.05
"""Scores below this are very bad."""

GOOD = 0.3
"""Scores above this are very good."""

TIMED, UNTIMED = (17, 18), (15, 19)


def statements(found: Found) -> list[Statement]:
    """The section's statements, each with the rule by which it was decided."""
    learners = [agent for agent in AGENTS if agent.learns]
    return [
        *(_slower_is_not_better(found.of(each, number)) for number in TIMED for each in learners),
        *(_slower_is_the_same(found, number) for number in UNTIMED),
        _random_stays_at_0(found),
        _slow_but_intelligent(found),
    ]


def _slower_is_not_better(series: Series) -> Statement:
    gains, lead = series.gains(), series.lead()
    most = max(gains, key=lambda gain: gain.value)
    down, up = sum(gain.high < 0 for gain in gains), sum(gain.low > 0 for gain in gains)
    return Statement(
        f"Definition {series.definition.number}, {series.agent.title}: of two agents that do the "
        "same and improve with experience, the slower one has the lower score.",
        f"{_scores(series)}. The first is {said(lead)} above the last. Of {len(gains)} steps "
        f"{down} lead down for certain, {up} up; the highest of them is {said(most)}. Rule: no "
        "step leads up for certain, all intervals of paired differences holding at once, and the "
        "interval of the first's lead over the last is above 0.",
        not up and lead.low > 0,
    )


def _slower_is_the_same(found: Found, number: int) -> Statement:
    series = [found.of(agent, number) for agent in AGENTS]
    return Statement(
        f"Definition {number}: two agents that do the same have the same score, however slow.",
        "; ".join(
            f"{each.agent.title} {said(each.score(1))}, "
            + (
                f"and exactly the same for all {len(each.values)} copies"
                if each.all_the_same
                else "but copies differ"
            )
            for each in series
        )
        + ". Rule: every copy has the same value in every environment or repetition, bit for bit.",
        all(each.all_the_same for each in series),
    )


def _random_stays_at_0(found: Found) -> Statement:
    scores = found.scores_at_once(RANDOM)
    furthest = {
        number: max(copies, key=lambda score: abs(score.value)) for number, copies in scores.items()
    }
    return Statement(
        "An agent that does not learn neither gains nor loses by its speed: a random one is "
        "expected to have 0 by every definition.",
        "The score that is furthest from 0: "
        + ", ".join(f"{said(score)} by Definition {number}" for number, score in furthest.items())
        + ". Rule: the intervals of all copies by all definitions hold 0, all at once.",
        all(score.low <= 0 <= score.high for copies in scores.values() for score in copies),
    )


def _slow_but_intelligent(found: Found) -> Statement:
    told = {}
    for agent in AGENTS:
        with_time, without = found.of(agent, 18), found.of(agent, 19)
        slowest = max(with_time.values)
        told[agent] = with_time.score(slowest), without.score(slowest)
    slow_but_intelligent = {
        agent: bad.high < NOUGHT and good.low > GOOD for agent, (bad, good) in told.items()
    }
    return Statement(
        "Very bad results with Definition 18 and then very good ones with Definition 19 tell a "
        "very slow, but intelligent, agent.",
        f"The slowest copies, {slowest} times slower than the first: "
        + "; ".join(
            f"{agent.title} {said(bad)} with time, {said(good)} without"
            for agent, (bad, good) in told.items()
        )
        + f". Rule: of the two that learn the first interval ends below {NOUGHT} and the second "
        f"begins above {GOOD}, and not so of the random one.",
        all(slow_but_intelligent[agent] == agent.learns for agent in AGENTS),
    )


def _scores(series: Series) -> str:
    """The scores of all copies, from the fastest to the slowest."""
    slowness = [f"{each}" for each in series.values]
    scores = [f"{series.score(each).value:.3f}" for each in series.values]
    return f"{', '.join(slowness)} times slower: {', '.join(scores)}"


USUAL = Sizes(environments=400, repetitions=60)


def reproduce(out: Path, report: Report = silent, *, sizes: Sizes = USUAL) -> Reproduced:
    """Let copies of agents, each slower than the one before, take the tests of four definitions."""
    found = find(sizes, report)
    records = _rows(found)
    return Reproduced(
        name="anytime-speed",
        title="The same agent, slower and slower: its score with time and without",
        statements=statements(found),
        figures=_figures(found),
        rows=records,
        files={
            "table": write_records(out / "speed.csv", records),
            "intervals": write_records(out / "intervals.csv", _intervals(found)),
            **draw(found, out),
        },
    )


def _rows(found: Found) -> list[dict[str, object]]:
    """A row for each copy of each agent, a column for each definition."""
    return [
        {
            "agent": agent.name,
            "times-slower": slowness,
            **{
                f"definition-{each.number}": found.of(agent, each.number).score(slowness).value
                for each in DEFINITIONS
            },
        }
        for agent in AGENTS
        for slowness in found.slowness
    ]


def _intervals(found: Found) -> list[dict[str, object]]:
    return [
        {
            "agent": each.agent.name,
            "definition": each.definition.number,
            "times-slower": slowness,
            **fields(each.score(slowness)),
        }
        for each in found.series
        for slowness in each.values
    ]


def _figures(found: Found) -> dict[str, float]:
    return {
        f"{each.agent.name}.definition-{each.definition.number}.{slowness}": each.score(
            slowness
        ).value
        for each in found.series
        for slowness in each.values
    }
