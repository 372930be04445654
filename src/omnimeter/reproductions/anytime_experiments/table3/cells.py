"""The cells of Table 3, found by taking the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from omnimeter.contract import Moment, Spec
from omnimeter.reproductions.anytime_experiments.runs import Taken, part_of, taken
from omnimeter.reproductions.anytime_experiments.table3.plan import (
    KINDS,
    SLOW_LEARNER,
    STAGES,
    Kind,
    World,
    length,
)
from omnimeter.reproductions.estimates import REWARDS
from omnimeter.reproductions.reproduction import Report, silent
from omnimeter.statistics import Estimate, mean


@dataclass(frozen=True)
class Cell:
    """A cell of the table.

    Attributes:
        kind: Its row.
        stage: Its column.
        rounds: After how many rounds the test was stopped.
        score: The score, with its interval over sittings.
        level: The mean complexity of the last environments, with its interval over sittings.
        levels: The lowest and the highest of these.
        actions: How many actions there were in a sitting, on average.
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
        """How long each sitting was."""
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
        early: The sittings of the short test.
        long: The sittings of the long one.
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


def longest_of_slow(world: World, sittings: int) -> Cell:
    """What becomes of the slow agent that learns, in the longest test."""
    whole = _taken(world, SLOW_LEARNER, "late", sittings, silent)
    return cell_of(world, SLOW_LEARNER, "late", whole, sittings)


def _taken(world: World, kind: Kind, stage: str, sittings: int, report: Report) -> Taken:
    parameters = {
        "environments": world.environments.to_json(),
        "time": sittings * length(world.rounds(kind, stage)),
        "sittings": sittings,
        "clock": "virtual",
    }
    return taken(Spec("anytime-timed-v1", parameters), world.agent(kind), report)


def cell_of(world: World, kind: Kind, stage: str, whole: Taken, sittings: int) -> Cell:
    """The cell that a test gives if it is stopped at a stage, whatever was done after it."""
    rounds = world.rounds(kind, stage)
    stopped = replace(whole, outcomes=whole.outcomes[: rounds * sittings])
    levels = [each.exercise.complexity for each in stopped.outcomes[-sittings:]]
    return Cell(
        kind,
        stage,
        rounds,
        mean(list(stopped.values.values()), support=REWARDS),
        mean(levels, support=world.levels),
        (min(levels), max(levels)),
        sum(each.interactions for each in stopped.outcomes) / sittings,
    )
