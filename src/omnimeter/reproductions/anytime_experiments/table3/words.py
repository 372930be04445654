"""What Table 3 of the anytime test expects, and what our runs say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from omnimeter.contract import Spec
from omnimeter.execution.conduct import environment_class
from omnimeter.reproductions.anytime_experiments.table3.cells import Cell, Found
from omnimeter.reproductions.anytime_experiments.table3.plan import (
    FAST_LEARNER,
    KINDS,
    RANDOM,
    SLOW_LEARNER,
    STAGES,
    Kind,
    World,
    spoken,
)
from omnimeter.reproductions.lambda_experiments.curves import said
from omnimeter.reproductions.reproduction import Statement

NOUGHT = 0.05
"""An interval that holds 0 and lies within this distance of it counts as 0."""

MUCH = 2.0
"""So many times the lowest level of a class is much more than the lowest."""

NEARLY = 0.99
"""From this share of the highest level on, there is hardly anything above."""

LISTED = 20_000
"""How many environments are counted at most."""

STOPPED = {
    "early": "stopped very early",
    "later": "stopped after several minutes",
    "late": "never stopped",
}


@dataclass(frozen=True)
class Expected:
    """What the paper prints in a cell.

    Attributes:
        score: Whether the score is ``0`` or ``> 0``.
        level: Whether the level is ``0``, ``> 0``, much more (``>> 0``), or ``infinite``.
    """

    score: str
    level: str


PUBLISHED = {
    RANDOM: (Expected("0", "> 0"), Expected("0", ">> 0"), Expected("0", "infinite")),
    SLOW_LEARNER: (Expected("0", "0"), Expected("> 0", "> 0"), Expected("> 0", "infinite")),
    FAST_LEARNER: (Expected("> 0", ">> 0"), Expected("> 0", ">> 0"), Expected("> 0", "infinite")),
}
"""Table 3."""


def expected(kind: Kind, stage: str) -> Expected:
    """What the paper prints in a cell."""
    return PUBLISHED[kind][STAGES.index(stage)]


def score_is(cell: Cell) -> str:
    """The sign of a cell's score, in the words of the table; empty if it is neither."""
    if cell.score.low > 0:
        return "> 0"
    within = -NOUGHT < cell.score.low <= 0 <= cell.score.high < NOUGHT
    return "0" if within or not cell.actions else ""


def level_is(cell: Cell, world: World) -> str:
    """The highest of the table's words for levels that a cell deserves."""
    lowest, highest = world.levels
    if cell.levels == (lowest, lowest):
        return "0"
    if cell.levels[0] >= NEARLY * highest:
        return "infinite"
    if cell.level.low > MUCH * lowest:
        return ">> 0"
    return "> 0" if cell.level.low > lowest else ""


LADDER = ("0", "> 0", ">> 0", "infinite")


def holds(cell: Cell, world: World) -> bool:
    """Whether a cell is what the paper expects, where more than ``> 0`` is ``> 0`` too."""
    wanted, found = expected(cell.kind, cell.stage), level_is(cell, world)
    reached = found == wanted.level if wanted.level == "0" else _as_high(found, wanted.level)
    return score_is(cell) == wanted.score and reached


def _as_high(found: str, wanted: str) -> bool:
    return found in LADDER and LADDER.index(found) >= LADDER.index(wanted)


def statements(found: Found) -> list[Statement]:
    """A statement for each cell, with the rules in the first of each sort."""
    return [*(_cell(found, each) for each in found.cells), _speed_matters_less(found)]


def _cell(found: Found, cell: Cell) -> Statement:
    wanted = expected(cell.kind, cell.stage)
    agrees = holds(cell, found.world)
    return Statement(
        f"{cell.kind.title}, {STOPPED[cell.stage]}: score {_equals(wanted.score)}, "
        f"level {_equals(wanted.level)}.",
        f"After {spoken(cell.seconds)} ({cell.rounds} rounds, {cell.actions:,.0f} actions): "
        f"{_score(cell)}, {_level(cell)}. {_rule(wanted, found.world)}",
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
        return f"level {lowest:.1f} in all {cell.level.count} sittings"
    return f"level {said(cell.level, 1)}, in single sittings from {lowest:.1f} to {highest:.1f}"


def _rule(wanted: Expected, world: World) -> str:
    lowest, highest = world.levels
    score = {
        "0": f"the score's interval holds 0 and lies within {NOUGHT} of it",
        "> 0": "the score's interval is above 0",
    }[wanted.score]
    level = {
        "0": f"all sittings are at the lowest level, {lowest:.0f}",
        "> 0": f"the level's interval is above the lowest level, {lowest:.0f}",
        ">> 0": f"the level's interval is above {MUCH:.0f} times the lowest level, {lowest:.0f}",
        "infinite": f"all sittings are within {1 - NEARLY:.0%} of the highest level that the class "
        f"has, {highest:.0f}",
    }[wanted.level]
    return f"Rule: {score}, and {level}."


def _reason(found: Found, cell: Cell) -> str:
    """Why a random agent does not rise; no reason for anything else."""
    if cell.kind is not RANDOM or score_is(cell) != "0":
        return ""
    levels = [f"{found.cell(RANDOM, stage).level.value:.1f}" for stage in STAGES]
    level, count = _counted(found.world)
    return (
        f"the level moves with the reward, and the longer the slots, the nearer a random agent's "
        f"reward is to 0. So its level stays about where the first, short slots have left it: "
        f"{', '.join(levels)} in the mean when stopped early, later, late. Then only bands that "
        f"are used up can raise it. A sitting uses up one environment per round, and there are "
        f"{count:,} at or below level {level:.0f}, and more than as many again above with each "
        f"bit. The level thus grows with the logarithm of the number of rounds, and this with the "
        f"logarithm of the length of the test: it is infinite in the limit, as the paper says, "
        f"but {count:,} rounds end with a slot of 10^{_digits(count)} seconds"
    )


def _counted(world: World) -> tuple[float, int]:
    """The highest level up to which the environments can be listed, and how many there are."""
    listing = environment_class(Spec(f"{world.name}-v1"))
    level, _ = world.levels
    count = 0
    while (members := listing.members(0, level, LISTED)) is not None:
        count = len(members)
        level += 1
    return level - 1, count


def _digits(rounds: int) -> int:
    from math import log10

    return round(-6 + rounds * log10(1.5))


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
        shares == sorted(shares) and len(set(shares)) == len(shares),
    )


def in_passing(found: Found) -> Statement:
    """What the cells are in another class, where the paper gives nothing to compare with."""
    cells = [found.cell(kind, stage) for kind in KINDS for stage in STAGES]
    return Statement(
        f"The same in the class {found.world.name}, where {found.world.learner} stands for the "
        "intelligent agents.",
        "; ".join(
            f"{cell.kind.title.lower()}, {spoken(cell.seconds)}: {_score(cell)}, "
            f"level {cell.level.value:.1f}"
            for cell in cells
        )
        + f". {sum(holds(cell, found.world) for cell in cells)} of {len(cells)} cells are what "
        "the table expects. There nobody learns anything in a few dozen actions: the table needs "
        "an agent for whom the time is enough.",
        None,
    )


def rows(founds: Sequence[Found]) -> list[dict[str, object]]:
    """All cells as records, with what the paper prints."""
    return [
        {
            "class": found.world.name,
            "agent": cell.kind.name,
            "stopped": cell.stage,
            "seconds": cell.seconds,
            "sittings": cell.score.count,
            "actions": cell.actions,
            "score": cell.score.value,
            "low": cell.score.low,
            "high": cell.score.high,
            "level": cell.level.value,
            "level-low": cell.levels[0],
            "level-high": cell.levels[1],
            "sign": score_is(cell) or "unclear",
            "sign.published": expected(cell.kind, cell.stage).score,
            "xi": level_is(cell, found.world) or "unclear",
            "xi.published": expected(cell.kind, cell.stage).level,
        }
        for found in founds
        for cell in found.cells
    ]
