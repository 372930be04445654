"""What to expect of three kinds of agents, early, later and late (anytime test, Table 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING

from omnimeter.contract import Spec
from omnimeter.contract.protocol import Moment
from omnimeter.estimation import Estimate, mean
from omnimeter.execution.workers import make_environment_class
from omnimeter.reports.style import MUTED
from omnimeter.reproductions.anytime.shared import Taken, part_of, taken
from omnimeter.reproductions.shared import (
    REWARDS,
    End,
    Report,
    Reproduced,
    Statement,
    head,
    look,
    name_ends,
    said,
    silent,
    write_figure,
    write_records,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIRST_SLOT, GROWTH = 1e-6, 0.5
"""The first slot in seconds, and by which part each is longer than the one before."""

FAST, SLOW = 1e-5, 1.0
"""Seconds per action. A still faster agent could not be followed for minutes."""

LISTED = 20_000
"""How many environments are counted at most."""

STAGES = ("early", "later", "late")
EARLY, LATER, LATE = 15, 45, 60
"""After how many rounds a test is stopped: about a millisecond, three minutes, twenty hours."""


@dataclass(frozen=True)
class Kind:
    """A row of the table.

    Attributes:
        name: In rows of programs.
        title: For a reader.
        learns: Whether it is intelligent.
        pace: Seconds that an action takes.
        colour: Of its lines; told apart by colour-blind people.
    """

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
class World:
    """A class of environments, and who is intelligent there.

    Attributes:
        name: Of the class.
        learner: The agent that learns.
        longest: After how many rounds the test of a fast agent is stopped later, and late: as long
            as its actions can be followed.
        most_states: That of the class, where it is not the usual one.
    """

    name: str
    learner: str
    longest: tuple[int, int]
    most_states: int | None = None

    @property
    def environments(self) -> Spec:
        """The class."""
        states = {} if self.most_states is None else {"max_states": self.most_states}
        return Spec(f"{self.name}-v1", states)

    def agent(self, kind: Kind) -> Spec:
        """Who stands for a row here."""
        inside = self.learner if kind.learns else "random-v1"
        return Spec("slowed-v1", {"agent": inside, "seconds": kind.pace})

    def rounds(self, kind: Kind, stage: str) -> int:
        """After how many rounds the test of such an agent is stopped."""
        later, late = self.longest if kind.pace == FAST else (LATER, LATE)
        return {"early": EARLY, "later": later, "late": late}[stage]

    @cached_property
    def levels(self) -> tuple[float, float]:
        """The lowest and the highest complexity there."""
        return make_environment_class(self.environments).complexity_range()

    def count(self, level: float) -> int | None:
        """How many environments there are at or below a level; none where they are too many."""
        members = make_environment_class(self.environments).members(0, level, LISTED)
        return None if members is None else len(members)


AUTOMATA = World("automata", "model-learner-v1", longest=(LATER, 47))
TORUS = World("torus", "q-learning-v1", longest=(40, 42))

STATES = (10, 20, 30)
"""Of the largest automata, in classes that go to different levels."""


def wider(automata: World) -> list[World]:
    """Classes of automata that end at different levels."""
    return [replace(automata, most_states=states) for states in STATES]


def length(rounds: int) -> float:
    """The seconds of so many rounds."""
    return float(FIRST_SLOT * ((1 + GROWTH) ** rounds - 1) / GROWTH)


def spoken(seconds: float) -> str:
    """A length of time for a reader."""
    for unit, name in ((3600.0, "h"), (60.0, "min"), (1.0, "s"), (1e-3, "ms")):
        if seconds >= 0.8 * unit:
            return f"{seconds / unit:.2g} {name}"
    return f"{seconds / 1e-6:.2g} µs"


@dataclass(frozen=True)
class Cell:
    """A cell of the table.

    Attributes:
        kind: Its row.
        stage: Its column.
        rounds: After how many rounds the test was stopped.
        score: The score, with its interval over repetitions.
        level: The mean complexity of the last environments, with its interval over repetitions.
        levels: The lowest and the highest of these.
        actions: How many actions there were in a repetition, on average.
    """

    kind: Kind
    stage: str
    rounds: int
    score: Estimate
    level: Estimate
    levels: tuple[float, float]
    actions: float

    @property
    def seconds(self) -> float:
        """How long each repetition was."""
        return length(self.rounds)


@dataclass(frozen=True)
class Found:
    """What was found in one class.

    Attributes:
        world: The class.
        cells: All nine cells.
        courses: How the longest test of each row went, by its name.
    """

    world: World
    cells: Sequence[Cell]
    courses: Mapping[str, Sequence[Moment]]

    def cell(self, kind: Kind, stage: str) -> Cell:
        """One of the cells."""
        (found,) = [each for each in self.cells if (each.kind, each.stage) == (kind, stage)]
        return found


def find(world: World, early: int, long: int, report: Report) -> Found:
    """Let each agent take a short test, and a long one that is looked at on its way too.

    Args:
        world: The class.
        early: The repetitions of the short test.
        long: The repetitions of the long one.
        report: Told what is being done.
    """
    cells: list[Cell] = []
    courses = {}
    for place, kind in enumerate(KINDS):
        part = part_of(report, place, len(KINDS), f"{world.name}: {kind.title.lower()}")
        short = _taken(world, kind, "early", early, part_of(part, 0, 2))
        whole = _taken(world, kind, "late", long, part_of(part, 1, 2))
        cells += [cell_of(world, kind, "early", short, early)]
        cells += [cell_of(world, kind, stage, whole, long) for stage in STAGES[1:]]
        courses[kind.name] = whole.course
    return Found(world, cells, courses)


def longest_of_slow(world: World, repetitions: int) -> Cell:
    """What becomes of the slow agent that learns, in the longest test."""
    whole = _taken(world, SLOW_LEARNER, "late", repetitions, silent)
    return cell_of(world, SLOW_LEARNER, "late", whole, repetitions)


def _taken(world: World, kind: Kind, stage: str, repetitions: int, report: Report) -> Taken:
    parameters = {
        "environment_class": world.environments.to_json(),
        "time": repetitions * length(world.rounds(kind, stage)),
        "repetitions": repetitions,
        "clock": "virtual",
    }
    return taken(Spec("anytime-timed-v1", parameters), world.agent(kind), report)


def cell_of(world: World, kind: Kind, stage: str, whole: Taken, repetitions: int) -> Cell:
    """The cell that a test gives if it is stopped at a stage, whatever was done after it."""
    rounds = world.rounds(kind, stage)
    stopped = replace(whole, outcomes=whole.outcomes[: rounds * repetitions])
    levels = [each.exercise.complexity for each in stopped.outcomes[-repetitions:]]
    return Cell(
        kind,
        stage,
        rounds,
        mean(list(stopped.values.values()), support=REWARDS),
        mean(levels, support=world.levels),
        (min(levels), max(levels)),
        sum(each.interactions for each in stopped.outcomes) / repetitions,
    )


NOUGHT = 0.05
"""An interval that holds 0 and lies within this distance of it counts as 0."""

MUCH = 2.0
"""So many times the lowest level of a class is much more than the lowest."""

NEARLY = 0.99
"""From this share of the highest level on, there is hardly anything above."""

UNCLEAR = "unclear"


@dataclass(frozen=True)
class Expected:
    """What the paper prints in a cell.

    Attributes:
        score: Whether the score is ``0`` or ``> 0``.
        level: Whether the level is ``0``, ``> 0``, ``>> 0`` or ``inf``. What the paper writes
            as 0 is the level with which a test begins.
    """

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


def holds(cell: Cell, world: World) -> bool:
    """Whether a cell is what the paper expects."""
    wanted = expected(cell.kind, cell.stage)
    return score_is(cell) == wanted.score and level_is(cell, world) == wanted.level


def score_is(cell: Cell) -> str:
    """The score of a cell in the words of the table."""
    if cell.score.low > 0:
        return "> 0"
    near = -NOUGHT < cell.score.low <= 0 <= cell.score.high < NOUGHT
    return "0" if near or not cell.actions else UNCLEAR


def level_is(cell: Cell, world: World) -> str:
    """The level of a cell in the words of the table: what it expects if that is true, too."""
    lowest, _ = world.levels
    true = {
        "inf": at_the_top(cell, world),
        ">> 0": cell.level.low > MUCH * lowest,
        "> 0": cell.level.low > lowest,
        "0": cell.levels == (lowest, lowest),
    }
    wanted = expected(cell.kind, cell.stage).level
    if true[wanted]:
        return wanted
    return next((word for word, deserved in true.items() if deserved), UNCLEAR)


def at_the_top(cell: Cell, world: World) -> bool:
    """Whether all repetitions are at the end of the class, or nearly."""
    return cell.levels[0] >= NEARLY * world.levels[1]


TIMES = {1e-6: "1 µs", 1e-3: "1 ms", 1.0: "1 s", 60.0: "1 min", 3600.0: "1 h"}
HEIGHT_OF_LINE = 0.075
"""Of a panel."""


def draw(found: Found, out: Path) -> dict[str, Path]:
    """Draw both panels."""
    from matplotlib.figure import Figure

    with look():
        figure = Figure(figsize=(11.5, 4.9))
        score = figure.add_axes((0.05, 0.12, 0.385, 0.7))
        level = figure.add_axes((0.495, 0.12, 0.325, 0.7))
        _draw_scores(score, found)
        _draw_levels(level, found)
        for panel in (score, level):
            _mark_stages(panel)
        repetitions = found.cells[-1].score.count
        head(
            figure,
            "Three kinds of agents in the anytime test, against its length",
            f"Definition 18 in the class {found.world.name}. Mean of {repetitions} repetitions "
            "after "
            "each round; bands are 95 % intervals of the score.",
        )
        return write_figure(figure, out / "table3")


def _draw_scores(axes: Axes, found: Found) -> None:
    for kind in KINDS:
        course = found.courses[kind.name]
        axes.plot(_times(course), [each.value for each in course], color=kind.colour, lw=1.7)
        low, high = zip(*(each.interval[:2] for each in course if each.interval), strict=True)
        # Before anything has happened all repetitions are alike, and an interval says nothing.
        begun = next((place for place, each in enumerate(course) if each.value), len(course))
        axes.fill_between(
            _times(course)[begun:], low[begun:], high[begun:], color=kind.colour, alpha=0.16, lw=0
        )
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
    axes.set(ylabel="score", ylim=(-0.1, None))


def _draw_levels(axes: Axes, found: Found) -> None:
    for kind in KINDS:
        course = found.courses[kind.name]
        axes.plot(_times(course), [each.level for each in course], color=kind.colour, lw=1.7)
    lowest, highest = found.world.levels
    axes.set(yscale="log", ylim=(0.85 * lowest, 1.3 * highest), ylabel="level (complexity, bits)")
    ticks = [lowest, 2 * lowest, 100, 200, highest]
    axes.set_yticks(ticks, [f"{tick:.0f}" for tick in ticks])
    axes.set_yticks([], minor=True)
    for edge in (lowest, highest):
        axes.axhline(edge, color=MUTED, lw=0.7, ls=(0, (4, 3)), zorder=1)
    _name_ends(axes, found)


def _name_ends(axes: Axes, found: Found) -> None:
    """Who each line is, at the right, at the height of its end."""
    ends = [
        End(
            found.courses[kind.name][-1].level,
            f"{kind.title}\n{spoken(kind.pace)} per action",
            kind.colour,
        )
        for kind in KINDS
    ]
    name_ends(axes, ends, 2 * HEIGHT_OF_LINE)


def _mark_stages(axes: Axes) -> None:
    """The time axis, and when tests are stopped."""
    axes.set(xscale="log", xlabel="length of each repetition", xlim=(FIRST_SLOT, None))
    axes.set_xticks(list(TIMES), list(TIMES.values()))
    axes.set_xticks([], minor=True)
    axes.grid(axis="y")
    for name, rounds in (("early", EARLY), ("later", LATER)):
        axes.axvline(length(rounds), color=MUTED, lw=0.8, ls=":")
        axes.annotate(
            name, (length(rounds), 1.0), xycoords=("data", "axes fraction"),
            xytext=(-3, 2), textcoords="offset points", ha="center", fontsize=8, color=MUTED,
        )  # fmt: skip


def _times(course: Sequence[Moment]) -> list[float]:
    return [each.length for each in course]


STOPPED = {
    "early": "stopped very early",
    "later": "stopped after several minutes",
    "late": "if the test could go on for ever",
}


def statements(found: Found) -> list[Statement]:
    """A statement for each cell, and what the text says of the influence of speed."""
    return [*(_cell(found, each) for each in found.cells), _speed_matters_less(found)]


def _cell(found: Found, cell: Cell) -> Statement:
    wanted = expected(cell.kind, cell.stage)
    agrees = holds(cell, found.world)
    return Statement(
        f"{cell.kind.title}, {STOPPED[cell.stage]}: score {_equals(wanted.score)}, "
        f"level {_equals(wanted.level).replace('inf', 'infinite')}.",
        f"After {spoken(cell.seconds)} ({cell.rounds} rounds, {cell.actions:,.0f} actions): "
        f"{_score(cell)}; {_level(cell)}. {_rule(wanted, found.world)}",
        agrees,
        "" if agrees else _reason(found, cell),
    )


def _equals(value: str) -> str:
    return value if value.startswith(">") else f"= {value}"


def _score(cell: Cell) -> str:
    if not cell.actions:
        return "score 0, as there was no time for any action"
    return f"score {said(cell.score)}"


def _level(cell: Cell) -> str:
    lowest, highest = cell.levels
    if lowest == highest:
        return f"level {lowest:.1f} in all {cell.level.count} repetitions"
    return f"level {said(cell.level, 1)}, in single repetitions from {lowest:.1f} to {highest:.1f}"


def _rule(wanted: Expected, world: World) -> str:
    lowest, highest = world.levels
    score = {
        "0": f"the score's interval holds 0 and lies within {NOUGHT} of it",
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


def _reason(found: Found, cell: Cell) -> str:
    """Why a random agent does not rise; no reason for anything else."""
    if cell.kind is not RANDOM or score_is(cell) != "0":
        return ""
    if cell.stage == "late":
        return _used_up_slowly(found.world)
    early, later, late = (found.cell(RANDOM, stage) for stage in STAGES)
    return (
        "the level moves with the reward, and the longer the slots are, the nearer a random "
        "agent's reward is to 0. So its level stays where the first, short slots have left it: "
        f"{early.level.value:.1f} after {spoken(early.seconds)}, {later.level.value:.1f} after "
        f"{spoken(later.seconds)}, {late.level.value:.1f} after {spoken(late.seconds)}"
    )


def _used_up_slowly(world: World) -> str:
    level, count = _counted(world)
    power = log10(FIRST_SLOT) + (count - 1) * log10(1 + GROWTH)
    return (
        "once rewards are near 0, only bands that are used up can raise the level. A repetition "
        "uses "
        f"up one environment per round, and there are {count:,} at or below level {level:.0f}. "
        "Their number grows exponentially with the level, and slots grow exponentially with the "
        "number of rounds. So the level is infinite in the limit, but grows with the logarithm of "
        f"the logarithm of the test's length: the last of {count:,} rounds takes 10^{power:.0f} "
        "seconds"
    )


def _counted(world: World) -> tuple[float, int]:
    """The highest level up to which the environments can be counted, and how many there are."""
    level, _ = world.levels
    found = level, 0
    while (count := world.count(level)) is not None and level <= world.levels[1]:
        found = level, count
        level += 1
    return found


def _speed_matters_less(found: Found) -> Statement:
    slow, fast = (
        [found.cell(kind, stage).score.value for stage in STAGES]
        for kind in (SLOW_LEARNER, FAST_LEARNER)
    )
    shares = [one / other for one, other in zip(slow, fast, strict=True)]
    return Statement(
        "The longer the test, the less speed matters for the score (section 5.2).",
        "Of the fast agent's score the slow one gets "
        + ", ".join(
            f"{share:.0%} when stopped {stage}" for share, stage in zip(shares, STAGES, strict=True)
        )
        + ". Rule: the share rises from stage to stage.",
        all(one < other for one, other in pairwise(shares)),
    )


def without_end(tops: Mapping[World, Cell]) -> Statement:
    """That a level is limited only by what the class has."""
    reached = [
        f"{cell.level.value:.0f} of {world.levels[1]:.0f} with {world.most_states} states"
        for world, cell in tops.items()
    ]
    return Statement(
        "The level of an agent that learns grows without end.",
        f"Our classes have an end. Where it is, depends on how many states automata may have. "
        f"{SLOW_LEARNER.title} after {spoken(next(iter(tops.values())).seconds)}: "
        f"{', '.join(reached)}. Rule: all repetitions of each are within {1 - NEARLY:.0%} of the "
        "end.",
        all(at_the_top(cell, world) for world, cell in tops.items()),
    )


def elsewhere(found: Found) -> Statement:
    """What the cells are in another class, where the paper gives nothing to compare with."""
    world = found.world
    same = [score_is(cell) == expected(cell.kind, cell.stage).score for cell in found.cells]
    lowest = world.levels[0]
    return Statement(
        f"The same in the class {world.name}, where {world.learner} stands for the intelligent "
        "agents.",
        "; ".join(
            f"{cell.kind.title}, {spoken(cell.seconds)}: {_score(cell)}, level "
            f"{cell.level.value:.1f}"
            for cell in found.cells
        )
        + f". The signs of {sum(same)} of {len(same)} scores are those of the table. The levels "
        f"run from {lowest:.0f} to {world.levels[1]:.0f}; at the lowest there are only "
        f"{world.count(lowest)} environments, so that even who never acts is soon moved up.",
        None,
    )


def rows(founds: Sequence[Found]) -> list[dict[str, object]]:
    """All cells as records for a reader, with what the paper prints."""
    return [
        {
            "class": found.world.name,
            "agent": cell.kind.name,
            "stage": cell.stage,
            "seconds": float(f"{cell.seconds:.3g}"),
            "score": _rounded(cell.score.value),
            "low": _rounded(cell.score.low),
            "high": _rounded(cell.score.high),
            "level": round(cell.level.value, 1),
            "is": score_is(cell),
            "is.published": expected(cell.kind, cell.stage).score,
            "xi": level_is(cell, found.world),
            "xi.published": expected(cell.kind, cell.stage).level,
        }
        for found in founds
        for cell in found.cells
    ]


def _rounded(score: float) -> float:
    return round(score, 3) + 0.0  # no minus nought


EARLY_REPETITIONS, LONG_REPETITIONS = 100, 10
"""Tests that are stopped early cost little."""


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    early: int = EARLY_REPETITIONS,
    long: int = LONG_REPETITIONS,
    worlds: tuple[World, World] = (AUTOMATA, TORUS),
) -> Reproduced:
    """Let three kinds of agents take the test of Definition 18, and stop it at three stages.

    Args:
        out: Where to write.
        report: Told what is being done.
        early: The repetitions of the tests that are stopped early.
        long: The repetitions of the others.
        worlds: The class in which the table is decided, and another one.
    """
    founds = [
        find(world, early, long, part_of(report, place, len(worlds)))
        for place, world in enumerate(worlds)
    ]
    here, other = founds
    tops = {world: longest_of_slow(world, long) for world in wider(here.world)}
    records = rows(founds)
    return Reproduced(
        name="anytime-table3",
        title="Three kinds of agents in a test that is stopped early, later and late",
        statements=[
            *statements(here),
            without_end(tops),
            elsewhere(other),
        ],
        figures=_figures(founds),
        rows=records,
        files={"table": write_records(out / "cells.csv", records), **draw(here, out)},
    )


def _figures(founds: list[Found]) -> dict[str, float]:
    return {
        f"{found.world.name}.{cell.kind.name}.{cell.stage}{what}": value
        for found in founds
        for cell in found.cells
        for what, value in (("", cell.score.value), (".level", cell.level.value))
    }
