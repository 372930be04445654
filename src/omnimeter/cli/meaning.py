"""What a test's result means, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from math import inf
from typing import TYPE_CHECKING

from omnimeter.cli.standing import runs_by_wall_clock, share
from omnimeter.contract import Protocol, Score, Spec
from omnimeter.protocols import Result
from omnimeter.protocols.adaptive import Anytime
from omnimeter.protocols.anytime import AnytimeTimed
from omnimeter.protocols.universal_base import Universal
from omnimeter.reports.wording import counted, duration, grouped, interval, listed, number

if TYPE_CHECKING:
    from omnimeter.execution.harness import HarnessCost

MOSTLY = 0.5
"""The share of exercises from which on an agent counts as idle."""

NEAR_NOTHING = 0.1
"""Who is known to score less than this, with time and without, counts as dull."""

FEW_ROUNDS = 10
"""A test of fewer rounds has hardly left the scale at which it began, and tells of no slowness."""


def estimated(protocol: Protocol, result: Result) -> str:
    """What the score is an estimate of."""
    over = "over environments, the agent's chance and the environments'"
    if all(score.value is None for score in result.scores.values()):
        return "There is no score: no round of exercises was completed."
    if runs_by_wall_clock(protocol):
        over += ", and what time it took"
    return f"The score estimates the expected score of {_subject(protocol, result)}, {over}."


def _subject(protocol: Protocol, result: Result) -> str:
    if isinstance(protocol, Anytime):
        where = protocol.environments.label
        if not result.complete:
            return f"a sitting in {where} that is stopped where this one was"
        return f"a sitting of {_length(protocol, result)} in {where}"
    if isinstance(protocol, Universal):
        each = protocol.budget.seconds
        length = counted(protocol.budget.most, "interaction") if each is None else duration(each)
        where = f"{counted(protocol.exercises, 'environment')} of {protocol.environments.label}"
        return f"a test in {where}, {length} each"
    return "this test"


def _length(protocol: Anytime, result: Result) -> str:
    """How long the sittings were; of several agents that took different times, as was planned."""
    lengths = {course[-1].length for course in result.courses.values() if course}
    planned = share(protocol, ()).total / protocol.sittings
    if not isinstance(protocol, AnytimeTimed):
        return counted(round(lengths.pop() if len(lengths) == 1 else planned), "interaction")
    if not runs_by_wall_clock(protocol):
        return duration(planned)
    own = " to ".join(duration(each) for each in sorted({min(lengths), max(lengths)}))
    return f"{duration(planned)}, of which slots of the agent's own time made up {own},"


def hints(protocol: Protocol, result: Result) -> Iterator[str]:
    """What to mind in a result, and what to do about it."""
    if isinstance(protocol, Anytime) and protocol.sittings == 1:
        yield (
            "One sitting has no interval, as nothing shows how far another would lie from it. "
            "--sittings 10 gives one."
        )
    for agent, done in result.outcomes.items():
        if done and not any(each.interactions for each in done):
            yield f"{agent.label} has not completed a single action."
    idle = [
        agent
        for agent, score in result.scores.items()
        if isinstance(protocol, AnytimeTimed) and score.parts.get("idle", 0) > MOSTLY
    ]
    for agent in idle:
        yield _idle(agent, result.scores[agent], protocol)
    if any(score.parts.get("unbalanced") for score in result.scores.values()):
        yield "--unbalanced: random behaviour may be worth something in this class."
    used_up = [agent.label for agent in result.scores if _used_up(protocol, result, agent)]
    if used_up:
        yield f"The test of {listed(used_up)} ended early: the class has no further environments."


def _idle(agent: Spec, score: Score, protocol: Protocol) -> str:
    part = f"{agent.label} had no time to act in {score.parts['idle']:.0%} of its exercises."
    speed = score.parts.get("speed")
    if not isinstance(protocol, AnytimeTimed) or protocol.sittings * protocol.slot >= protocol.time:
        return part
    slot = 2 / speed if speed else protocol.time / protocol.sittings / 4
    return f"{part} --slot {slot:.1g} begins with longer ones."


def _used_up(protocol: Protocol, result: Result, agent: Spec) -> bool:
    return isinstance(protocol, Anytime) and protocol.is_used_up(result.outcomes[agent])


def harness_sentence(cost: HarnessCost) -> str:
    """What the harness itself takes, in one line."""
    where = " in a process of its own" if cost.isolated else ""
    return (
        f"Harness: an agent that does nothing{where} is charged {duration(cost.charged / 1e9)} "
        f"per action; environment and loop take {duration(cost.uncharged / 1e9)} more."
    )


class Kind(StrEnum):
    """What the tests with and without time say of an agent together (anytime test, section 7.2)."""

    FAST_AND_INTELLIGENT = "fast and intelligent"
    SLOW_BUT_INTELLIGENT = "slow but intelligent"
    FAST_BUT_DULL = "fast but dull"
    SLOW_AND_DULL = "slow and dull"
    UNTOLD = "cannot be told"


@dataclass(frozen=True)
class Verdict:
    """What both tests say of an agent.

    Attributes:
        agent: The agent.
        kind: In a few words.
        reason: Why, in a sentence.
    """

    agent: Spec
    kind: Kind
    reason: str


def verdict(agent: Spec, timed: Score, untimed: Score) -> Verdict:
    """Whether an agent's results are due to its intelligence or to its speed.

    Random behaviour is worth 0. Intelligent is who is shown to score more than that where time
    does not count. Dull is who is shown to score next to nothing, with time and without. Slow is
    who had no time to act in most exercises of a test that was not short, or whose score where time
    counts is shown to be lower, and is not half of the other. An intelligent agent is
    fast if it is shown to score more than 0 where time counts, too.

    Args:
        agent: The agent.
        timed: Its score where time counts (Definition 18).
        untimed: Its score where it does not (Definition 19).
    """
    if None in (timed.interval, untimed.interval, timed.value, untimed.value):
        return Verdict(agent, Kind.UNTOLD, "One of the tests has no score, or no interval.")
    pair = f"With time it scores {_scored(timed)}, without {_scored(untimed)}{_speed(timed)}."
    if timed.parts.get("rounds", 0) < FEW_ROUNDS:
        kind, why = Kind.UNTOLD, "The test with time was too short to tell."
    elif _low(untimed) > 0:
        kind, why = _of_intelligent(timed, untimed)
    else:
        kind, why = _of_others(timed, untimed)
    return Verdict(agent, kind, f"{pair} {why}".strip())


def _of_intelligent(timed: Score, untimed: Score) -> tuple[Kind, str]:
    apart = _high(timed) < _low(untimed) and (timed.value or 0.0) < (untimed.value or 0.0) / 2
    if apart or _is_idle(timed):
        return Kind.SLOW_BUT_INTELLIGENT, ""
    if _low(timed) > 0:
        return Kind.FAST_AND_INTELLIGENT, ""
    return Kind.UNTOLD, "It is intelligent; a longer test tells how fast."


def _of_others(timed: Score, untimed: Score) -> tuple[Kind, str]:
    if _low(timed) > 0:
        return Kind.UNTOLD, "With time it is better than chance; without, the test was too short."
    if max(_high(timed), _high(untimed)) >= NEAR_NOTHING:
        return Kind.UNTOLD, "Whether it is better than chance, at 0, a longer test would tell."
    kind = Kind.SLOW_AND_DULL if _is_idle(timed) else Kind.FAST_BUT_DULL
    return kind, "It is hardly better than chance, at 0."


def _is_idle(timed: Score) -> bool:
    return bool(timed.parts.get("idle", 0.0) > MOSTLY)


def _low(score: Score) -> float:
    return -inf if score.interval is None else score.interval.low


def _high(score: Score) -> float:
    return inf if score.interval is None else score.interval.high


def _scored(score: Score) -> str:
    found = number(score.value, 3)
    if score.interval is None:
        return found
    return f"{found} ({interval(score.interval.low, score.interval.high, 3)})"


def _speed(timed: Score) -> str:
    speed = timed.parts.get("speed")
    return f", at {grouped(speed)} actions per second" if speed else ""
