"""What to expect of three kinds of agents, early, later and late (anytime test, Table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from omnimeter.contract import Spec
from omnimeter.contract.protocol import Moment
from omnimeter.estimation import Estimate, mean
from omnimeter.execution.workers import make_environment_class
from omnimeter.reports.style import MUTED
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.anytime.shared import CompletedTest, part_of, run_test
from omnimeter.reproductions.shared import (
    REWARDS,
    Report,
    Reproduced,
    Statement,
    Steps,
    fmt,
    silent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIRST_SLOT, GROWTH = 1e-6, 0.5
"""The first slot in seconds, and the relative growth of each slot over the one before."""

FAST, SLOW = 1e-5, 1.0  # seconds per action. A still faster agent could not be run for minutes
MAX_COUNTED = 20_000  # how many environments are counted at most

STAGES = ("early", "later", "late")
EARLY, LATER, LATE = 15, 45, 60
"""After how many rounds a test is stopped: about a millisecond, three minutes, twenty hours."""

EARLY_REPETITIONS, LONG_REPETITIONS = 100, 20  # tests that are stopped early cost little


class Kind(NamedTuple):
    """A row of the table: a kind of agent, with the seconds that an action takes."""

    name: str
    title: str
    learns: bool
    pace: float
    colour: str


RANDOM = Kind("random", "Random very fast agent", False, FAST, "#6f7683")
SLOW_LEARNER = Kind("slow", "Relatively slow intelligent agent", True, SLOW, "#d55e00")
FAST_LEARNER = Kind("fast", "Very fast intelligent agent", True, FAST, "#0072b2")
KINDS = (RANDOM, SLOW_LEARNER, FAST_LEARNER)


@dataclass(frozen=True)
class Setup:
    """A class of environments, and the intelligent agent for it.

    Attributes:
        fast_rounds: After how many rounds the test of a fast agent is stopped later, and late: as
            long as its actions can be run.
        max_states: That of the class, where it is not the usual one.
    """

    name: str
    learner: str
    fast_rounds: tuple[int, int]
    max_states: int | None = None

    @property
    def environment_class(self) -> Spec:
        """The class."""
        states = {} if self.max_states is None else {"max_states": self.max_states}
        return Spec(f"{self.name}-v1", states)

    def agent(self, kind: Kind) -> Spec:
        """The agent of a row."""
        inside = self.learner if kind.learns else "random-v1"
        return Spec("slowed-v1", {"agent": inside, "seconds": kind.pace})

    def rounds(self, kind: Kind, stage: str) -> int:
        """After how many rounds the test of such an agent is stopped."""
        later, late = self.fast_rounds if kind.pace == FAST else (LATER, LATE)
        return {"early": EARLY, "later": later, "late": late}[stage]

    @cached_property
    def levels(self) -> tuple[float, float]:
        """The lowest and the highest complexity in the class."""
        return make_environment_class(self.environment_class).complexity_range()

    def count(self, level: float) -> int | None:
        """How many environments there are at or below a level; ``None`` for too many."""
        members = make_environment_class(self.environment_class).members(0, level, MAX_COUNTED)
        return None if members is None else len(members)


AUTOMATA = Setup("automata", "model-learner-v1", fast_rounds=(LATER, 47))
TORUS = Setup("torus", "q-learning-v1", fast_rounds=(40, 42))

STATES = (10, 20, 30)  # of the largest automata, in classes that end at different levels


def length(rounds: int) -> float:
    """The seconds of so many rounds."""
    return float(FIRST_SLOT * ((1 + GROWTH) ** rounds - 1) / GROWTH)


def duration(seconds: float) -> str:
    """A period of time, as text."""
    for unit, name in ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms")):
        if seconds >= 0.8 * unit:
            return f"{seconds / unit:.2g} {name}"
    return f"{seconds / 1e-6:.2g} µs"


@dataclass(frozen=True)
class Cell:
    """A cell of the table: a kind of agents at a stage, with intervals over repetitions."""

    kind: Kind
    stage: str
    rounds: int  # after how many the test was stopped
    score: Estimate
    level: Estimate  # the mean complexity of the last environments
    levels: tuple[float, float]  # the lowest and the highest of these
    actions: float  # how many there were in a repetition, on average

    @property
    def seconds(self) -> float:
        """How long each repetition was."""
        return length(self.rounds)


@dataclass(frozen=True)
class Results:
    """All nine cells in one class."""

    setup: Setup
    cells: Sequence[Cell]
    courses: Mapping[str, Sequence[Moment]]  # of the longest test of each row, by its name

    def cell(self, kind: Kind, stage: str) -> Cell:
        """One of the cells."""
        return next(each for each in self.cells if (each.kind, each.stage) == (kind, stage))


def _run(setup: Setup, early: int, long: int, report: Report, steps: Steps) -> Results:
    """Let each agent take a short test, and a long one that also gives the stage between."""
    cells: list[Cell] = []
    courses = {}
    for place, kind in enumerate(KINDS):
        part = part_of(report, place, len(KINDS), f"{setup.name}: {kind.title.lower()}")
        row, courses[kind.name] = steps(_row, setup, kind, early, long, report=part)
        cells += row
    return Results(setup, cells, courses)


def _row(
    setup: Setup, kind: Kind, early: int, long: int, report: Report
) -> tuple[list[Cell], Sequence[Moment]]:
    short = run_to(setup, kind, "early", early, part_of(report, 0, 2))
    whole = run_to(setup, kind, "late", long, part_of(report, 1, 2))
    cells = [cell_of(setup, kind, stage, whole, long) for stage in STAGES[1:]]
    return [cell_of(setup, kind, "early", short, early), *cells], whole.course


def _top(setup: Setup, long: int) -> Cell:
    whole = run_to(setup, SLOW_LEARNER, "late", long)
    return cell_of(setup, SLOW_LEARNER, "late", whole, long)


def run_to(
    setup: Setup, kind: Kind, stage: str, repetitions: int, report: Report = silent
) -> CompletedTest:
    """The test of Definition 18, taken by an agent of a kind, until a stage."""
    parameters = {
        "environment_class": setup.environment_class.to_json(),
        "time": repetitions * length(setup.rounds(kind, stage)),
        "repetitions": repetitions,
        "clock": "virtual",
    }
    return run_test(Spec("anytime-timed-v1", parameters), setup.agent(kind), report)


def cell_of(setup: Setup, kind: Kind, stage: str, whole: CompletedTest, repetitions: int) -> Cell:
    """The cell that a test gives if it is stopped at a stage, whatever was done after it."""
    rounds = setup.rounds(kind, stage)
    stopped = replace(whole, outcomes=whole.outcomes[: rounds * repetitions])
    levels = [each.exercise.complexity for each in stopped.outcomes[-repetitions:]]
    return Cell(
        kind,
        stage,
        rounds,
        mean(list(stopped.values.values()), support=REWARDS),
        mean(levels, support=setup.levels),
        (min(levels), max(levels)),
        sum(each.interactions for each in stopped.outcomes) / repetitions,
    )


# What a cell says, in the symbols of the table.

NEAR_ZERO = 0.05  # an interval that contains 0 and lies within this distance of it counts as 0
MUCH = 2.0  # so many times the lowest level of a class is much more than the lowest
NEARLY = 0.99  # from this share of the highest level on, a level counts as the highest


class Expected(NamedTuple):
    """What the paper prints in a cell; as level 0 it writes the level with which a test begins."""

    score: str
    level: str


PUBLISHED = {
    RANDOM: (Expected("0", "> 0"), Expected("0", ">> 0"), Expected("0", "inf")),
    SLOW_LEARNER: (Expected("0", "0"), Expected("> 0", "> 0"), Expected("> 0", "inf")),
    FAST_LEARNER: (Expected("> 0", ">> 0"), Expected("> 0", ">> 0"), Expected("> 0", "inf")),
}


def expected(kind: Kind, stage: str) -> Expected:
    """What the paper prints in a cell."""
    return PUBLISHED[kind][STAGES.index(stage)]


def score_symbol(cell: Cell) -> str:
    """The score of a cell in the symbols of the table."""
    if cell.score.low > 0:
        return "> 0"
    near = shared.contains_zero(cell.score) and shared.is_within(cell.score, NEAR_ZERO)
    return "0" if near or not cell.actions else "unclear"


def level_symbol(cell: Cell, setup: Setup) -> str:
    """The level of a cell in the symbols of the table: the expected one if that is true, too."""
    lowest, _ = setup.levels
    true = {
        "inf": at_the_top(cell, setup),
        ">> 0": cell.level.low > MUCH * lowest,
        "> 0": cell.level.low > lowest,
        "0": cell.levels == (lowest, lowest),
    }
    wanted = expected(cell.kind, cell.stage).level
    if true[wanted]:
        return wanted
    return next((symbol for symbol, holds in true.items() if holds), "unclear")


def at_the_top(cell: Cell, setup: Setup) -> bool:
    """Whether all repetitions are at the end of the class, or nearly."""
    return cell.levels[0] >= NEARLY * setup.levels[1]


def _rows(all_results: Sequence[Results]) -> list[dict[str, object]]:
    """All cells as rounded records, with what the paper prints."""
    return [
        {
            "class": results.setup.name,
            "agent": cell.kind.name,
            "stage": cell.stage,
            "seconds": float(f"{cell.seconds:.3g}"),
            "score": float(f"{cell.score.value:z.3f}"),
            "low": float(f"{cell.score.low:z.3f}"),
            "high": float(f"{cell.score.high:z.3f}"),
            "level": round(cell.level.value, 1),
            "is": score_symbol(cell),
            "is.published": expected(cell.kind, cell.stage).score,
            "xi": level_symbol(cell, results.setup),
            "xi.published": expected(cell.kind, cell.stage).level,
        }
        for results in all_results
        for cell in results.cells
    ]


def _draw(results: Results, out: Path) -> dict[str, Path]:
    """Draw scores and levels against the length of the test."""
    with plots.styled_figure(11.5, 4.9) as figure:
        score = figure.add_axes((0.05, 0.12, 0.385, 0.7))
        level = figure.add_axes((0.495, 0.12, 0.325, 0.7))
        _draw_scores(score, results)
        _draw_levels(level, results)
        times = {1e-6: "1 µs", 1e-3: "1 ms", 1.0: "1 s", 60.0: "1 min", 3600.0: "1 h"}
        for panel in (score, level):
            panel.set(xscale="log", xlabel="length of each repetition", xlim=(FIRST_SLOT, None))
            panel.set_xticks(list(times), list(times.values()))
            panel.set_xticks([], minor=True)
            panel.grid(axis="y")
            for name, rounds in (("early", EARLY), ("later", LATER)):
                panel.axvline(length(rounds), color=MUTED, lw=0.8, ls=":")
                panel.annotate(
                    name, (length(rounds), 1.0), xycoords=("data", "axes fraction"),
                    xytext=(-3, 2), textcoords="offset points", ha="center", fontsize=8,
                    color=MUTED,
                )  # fmt: skip
        repetitions = results.cells[-1].score.count
        plots.add_header(
            figure,
            "Three kinds of agents in the anytime test, against its length",
            f"Definition 18 in the class {results.setup.name}. Mean of {repetitions} repetitions "
            "after each round; bands are 95 % intervals of the score.",
        )
        return plots.write_figure(figure, out / "table3")


def _draw_scores(axes: Axes, results: Results) -> None:
    for kind in KINDS:
        course = results.courses[kind.name]
        times = [each.length for each in course]
        axes.plot(times, [each.value for each in course], color=kind.colour, lw=1.7)
        low, high = zip(*(each.interval[:2] for each in course if each.interval), strict=True)
        # Before the first reward all repetitions are alike, and there is no interval.
        begun = next((place for place, each in enumerate(course) if each.value), len(course))
        axes.fill_between(
            times[begun:], low[begun:], high[begun:], color=kind.colour, alpha=0.16, lw=0
        )
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
    axes.set(ylabel="score", ylim=(-0.1, None))


def _draw_levels(axes: Axes, results: Results) -> None:
    ends = []
    for kind in KINDS:
        course = results.courses[kind.name]
        levels = [each.level for each in course]
        axes.plot([each.length for each in course], levels, color=kind.colour, lw=1.7)
        label = f"{kind.title}\n{duration(kind.pace)} per action"
        ends.append((levels[-1], label, kind.colour))
    lowest, highest = results.setup.levels
    axes.set(yscale="log", ylim=(0.85 * lowest, 1.3 * highest), ylabel="level (complexity, bits)")
    marked = [lowest, 2 * lowest, 100, 200, highest]
    plots.ticks(axes, marked, [f"{level:.0f}" for level in marked])
    for edge in (lowest, highest):
        axes.axhline(edge, color=MUTED, lw=0.7, ls=(0, (4, 3)), zorder=1)
    plots.label_ends(axes, ends, height=0.15)


def statements(results: Results) -> list[Statement]:
    """A statement for each cell, and what the text says of the influence of speed."""
    slow, fast = (
        [results.cell(kind, stage).score.value for stage in STAGES]
        for kind in (SLOW_LEARNER, FAST_LEARNER)
    )
    shares = [one / other for one, other in zip(slow, fast, strict=True)]
    speed = Statement(
        "The longer the test, the less speed matters for the score (section 5.2).",
        "Of the fast agent's score the slow one gets "
        + ", ".join(
            f"{share:.0%} when stopped {stage}" for share, stage in zip(shares, STAGES, strict=True)
        )
        + ". Rule: the share rises from stage to stage.",
        all(one < other for one, other in pairwise(shares)),
    )
    return [*(_cell(results, each) for each in results.cells), speed]


def _cell(results: Results, cell: Cell) -> Statement:
    wanted = expected(cell.kind, cell.stage)
    agrees = wanted == (score_symbol(cell), level_symbol(cell, results.setup))
    score, level = (each if each.startswith(">") else f"= {each}" for each in wanted)
    stopped = {
        "early": "stopped very early",
        "later": "stopped after several minutes",
        "late": "if the test could go on for ever",
    }
    lowest, highest = cell.levels
    reached = (
        f"level {lowest:.1f} in all {cell.level.count} repetitions"
        if lowest == highest
        else f"level {fmt(cell.level, 1)}, in single repetitions from {lowest:.1f} to {highest:.1f}"
    )
    return Statement(
        f"{cell.kind.title}, {stopped[cell.stage]}: score {score}, "
        f"level {level.replace('inf', 'infinite')}.",
        f"After {duration(cell.seconds)} ({cell.rounds} rounds, {cell.actions:,.0f} actions): "
        f"{_score(cell)}; {reached}. {_rule(wanted, results.setup)}",
        agrees,
        "" if agrees else _reason(results, cell),
    )


def _score(cell: Cell) -> str:
    if not cell.actions:
        return "score 0, as there was no time for any action"
    return f"score {fmt(cell.score)}"


def _rule(wanted: Expected, setup: Setup) -> str:
    lowest, highest = setup.levels
    score = {
        "0": f"the score's interval contains 0 and lies within {NEAR_ZERO} of it",
        "> 0": "the score's interval is above 0",
    }[wanted.score]
    level = {
        "0": f"all repetitions are at the lowest level, {lowest:.0f}",
        "> 0": f"the level's interval is above the lowest level, {lowest:.0f}",
        ">> 0": f"the level's interval is above {MUCH:.0f} times the lowest level, {lowest:.0f}",
        "inf": f"all repetitions are within {1 - NEARLY:.0%} of the highest level that the class "
        f"has, {highest:.0f}",
    }[wanted.level]
    return f"Rule: {score}, and {level}."


def _reason(results: Results, cell: Cell) -> str:
    """Why a random agent does not rise, or its score is undecided; none for anything else."""
    undecided = cell.score.bounded and shared.contains_zero(cell.score)
    if cell.kind != RANDOM or not (undecided or score_symbol(cell) == "0"):
        return ""
    score = (
        f"few of the {cell.score.count} repetitions carry the spread of the scores, so that the "
        "interval only rests on the lowest and the highest possible score, and is too wide to "
        "tell. And "
        if undecided
        else ""
    )
    if cell.stage == "late":
        return score + _used_up_slowly(results.setup)
    levels = ", ".join(
        f"{each.level.value:.1f} after {duration(each.seconds)}"
        for each in (results.cell(RANDOM, stage) for stage in STAGES)
    )
    return score + (
        "the level moves with the reward, and the longer the slots are, the nearer a random "
        "agent's reward is to 0. So its level stays where the first, short slots have left it: "
        f"{levels}"
    )


def _used_up_slowly(setup: Setup) -> str:
    # The highest level up to which the environments can be counted.
    level, highest = setup.levels
    counted, count = level, 0
    while (next_count := setup.count(level)) is not None and level <= highest:
        counted, count = level, next_count
        level += 1
    power = log10(FIRST_SLOT) + (count - 1) * log10(1 + GROWTH)
    return (
        "once rewards are near 0, only bands that are used up can raise the level. A repetition "
        f"uses up one environment per round, and there are {count:,} at or below level "
        f"{counted:.0f}. "
        "Their number grows exponentially with the level, and slots grow exponentially with the "
        "number of rounds. So the level is infinite in the limit, but grows with the logarithm of "
        f"the logarithm of the test's length: the last of {count:,} rounds takes 10^{power:.0f} "
        "seconds"
    )


def _grows_without_end(tops: Mapping[Setup, Cell]) -> Statement:
    """That a level is limited only by what the class has."""
    reached = [
        f"{cell.level.value:.0f} of {setup.levels[1]:.0f} with {setup.max_states} states"
        for setup, cell in tops.items()
    ]
    return Statement(
        "The level of an agent that learns grows without end.",
        f"Our classes have an end. Where it is, depends on how many states automata may have. "
        f"{SLOW_LEARNER.title} after {duration(next(iter(tops.values())).seconds)}: "
        f"{', '.join(reached)}. Rule: all repetitions of each are within {1 - NEARLY:.0%} of the "
        "end.",
        all(at_the_top(cell, setup) for setup, cell in tops.items()),
    )


def _in_another_class(results: Results) -> Statement:
    """What the cells are in another class, where the paper gives nothing to compare with."""
    setup = results.setup
    same = [score_symbol(cell) == expected(cell.kind, cell.stage).score for cell in results.cells]
    lowest, highest = setup.levels
    return Statement(
        f"The same in the class {setup.name}, where {setup.learner} stands for the intelligent "
        "agents.",
        "; ".join(
            f"{cell.kind.title}, {duration(cell.seconds)}: {_score(cell)}, level "
            f"{cell.level.value:.1f}"
            for cell in results.cells
        )
        + f". The signs of {sum(same)} of {len(same)} scores are those of the table. The levels "
        f"run from {lowest:.0f} to {highest:.0f}; at the lowest there are only "
        f"{setup.count(lowest)} environments, so that even an agent that never acts soon moves up.",
        None,
    )


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    early: int = EARLY_REPETITIONS,
    long: int = LONG_REPETITIONS,
    setups: tuple[Setup, Setup] = (AUTOMATA, TORUS),
) -> Reproduced:
    """Let three kinds of agents take the test of Definition 18, and stop it at three stages.

    Args:
        out: Where to write.
        report: Called with the progress.
        early: The repetitions of the tests that are stopped early.
        long: The repetitions of the others.
        setups: The class in which the table is decided, and another one.
    """
    steps = Steps(out)
    here, other = (
        _run(setup, early, long, part_of(report, place, len(setups)), steps)
        for place, setup in enumerate(setups)
    )
    largest = (replace(here.setup, max_states=states) for states in STATES)
    tops = {setup: steps(_top, setup, long) for setup in largest}
    rows = _rows([here, other])
    return Reproduced(
        name="anytime-table3",
        title="Three kinds of agents in a test that is stopped early, later and late",
        findings="docs/findings.md#three-kinds-of-agents-early-later-and-late",
        statements=[*statements(here), _grows_without_end(tops), _in_another_class(other)],
        figures={
            f"{results.setup.name}.{cell.kind.name}.{cell.stage}{suffix}": estimate.value
            for results in (here, other)
            for cell in results.cells
            for suffix, estimate in (("", cell.score), (".level", cell.level))
        },
        rows=rows,
        files={"table": shared.write_records(out / "cells.csv", rows), **_draw(here, out)},
    )
