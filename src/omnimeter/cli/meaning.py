"""What a test's result means, in plain sentences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from omnimeter.cli.standing import runs_by_wall_clock, share
from omnimeter.contract import Protocol, Score, Spec
from omnimeter.protocols import Result
from omnimeter.protocols.anytime import Anytime, AnytimeTimed
from omnimeter.protocols.universal_base import Universal
from omnimeter.reports.wording import counted, duration, grouped, interval, listed, number

if TYPE_CHECKING:
    from omnimeter.execution.harness import HarnessCost

MOSTLY = 0.5
"""The share of exercises from which on an agent counts as idle."""

USED_UP = 0.9
"""A test that ended although less than this share of its length was used has run out of class."""


def estimated(protocol: Protocol, result: Result) -> str:
    """What the score is an estimate of."""
    over = "over environments, the agent's chance and the environments'"
    if runs_by_wall_clock(protocol):
        over += ", and what time it took"
    return f"The score estimates the expected score of {_subject(protocol, result)}, {over}."


def _subject(protocol: Protocol, result: Result) -> str:
    if isinstance(protocol, Anytime):
        where = protocol.environments.label
        if not result.complete:
            return f"a sitting in {where} that is stopped where this one was"
        share_of_each = share(protocol, ()).total / protocol.sittings
        timed = isinstance(protocol, AnytimeTimed)
        length = duration(share_of_each) if timed else counted(round(share_of_each), "interaction")
        return f"a sitting of {length} in {where}"
    if isinstance(protocol, Universal):
        each = protocol.budget.seconds
        length = counted(protocol.budget.most, "interaction") if each is None else duration(each)
        where = f"{counted(protocol.exercises, 'environment')} of {protocol.environments.label}"
        return f"a test in {where}, {length} each"
    return "this test"


def hints(protocol: Protocol, result: Result) -> Iterator[str]:
    """What to mind in a result, and what to do about it."""
    if isinstance(protocol, Anytime) and protocol.sittings == 1:
        yield (
            "One sitting has no interval, as nothing shows how far another would lie from it. "
            "--sittings 10 gives one."
        )
    idle = [agent for agent, score in result.scores.items() if score.parts.get("idle", 0) > MOSTLY]
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
    if not (isinstance(protocol, Anytime) and result.complete):
        return False
    done, total, _ = share(protocol, result.outcomes[agent])
    return done < USED_UP * total


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
    does not count; nobody else is. Slow is who had no time to act in most exercises, or whose score
    where time counts is shown to be lower, and is not half of the other. An intelligent agent is
    fast if it is shown to score more than 0 where time counts, too.

    Args:
        agent: The agent.
        timed: Its score where time counts (Definition 18).
        untimed: Its score where it does not (Definition 19).
    """
    if timed.interval is None or untimed.interval is None:
        return Verdict(agent, Kind.UNTOLD, "One of the scores has no interval.")
    if timed.value is None or untimed.value is None:
        return Verdict(agent, Kind.UNTOLD, "One of the tests has no score.")
    pair = f"With time it scores {_scored(timed)}, without {_scored(untimed)}{_speed(timed)}."
    idle = timed.parts.get("idle", 0.0) > MOSTLY
    if untimed.interval.low <= 0:
        kind = Kind.SLOW_AND_DULL if idle else Kind.FAST_BUT_DULL
        return Verdict(agent, kind, f"{pair} Nothing shows that it is better than chance, at 0.")
    apart = timed.interval.high < untimed.interval.low
    if idle or (apart and timed.value < untimed.value / 2):
        return Verdict(agent, Kind.SLOW_BUT_INTELLIGENT, pair)
    if timed.interval.low > 0:
        return Verdict(agent, Kind.FAST_AND_INTELLIGENT, pair)
    return Verdict(agent, Kind.UNTOLD, f"{pair} It is intelligent; a longer test tells how fast.")


def _scored(score: Score) -> str:
    found = number(score.value, 3)
    if score.interval is None:
        return found
    return f"{found} ({interval(score.interval.low, score.interval.high, 3)})"


def _speed(timed: Score) -> str:
    speed = timed.parts.get("speed")
    return f", at {grouped(speed)} actions per second" if speed else ""
