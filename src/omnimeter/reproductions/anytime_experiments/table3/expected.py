"""Table 3 as printed, and the rules by which a cell of ours is said to be the same."""

from __future__ import annotations

from dataclasses import dataclass

from omnimeter.reproductions.anytime_experiments.table3.cells import Cell
from omnimeter.reproductions.anytime_experiments.table3.plan import (
    FAST_LEARNER,
    RANDOM,
    SLOW_LEARNER,
    STAGES,
    Kind,
    World,
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
    """Whether all sittings are at the end of the class, or nearly."""
    return cell.levels[0] >= NEARLY * world.levels[1]
