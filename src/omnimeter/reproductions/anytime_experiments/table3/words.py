"""What Table 3 of the anytime test expects, and what our runs say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from math import log10

from omnimeter.reproductions.anytime_experiments.table3.cells import Cell, Found
from omnimeter.reproductions.anytime_experiments.table3.expected import (
    MUCH,
    NEARLY,
    NOUGHT,
    Expected,
    at_the_top,
    expected,
    holds,
    level_is,
    score_is,
)
from omnimeter.reproductions.anytime_experiments.table3.plan import (
    FAST_LEARNER,
    FIRST_SLOT,
    GROWTH,
    RANDOM,
    SLOW_LEARNER,
    STAGES,
    World,
    spoken,
)
from omnimeter.reproductions.estimates import said
from omnimeter.reproductions.reproduction import Statement

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
        "inf": f"all sittings are within {1 - NEARLY:.0%} of the highest level that the class "
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
        "once rewards are near 0, only bands that are used up can raise the level. A sitting uses "
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
        f"{', '.join(reached)}. Rule: all sittings of each are within {1 - NEARLY:.0%} of the end.",
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
