"""What an adaptive test was and what its score estimates, in words."""

from __future__ import annotations

from collections.abc import Sequence

from omnimeter.contract import ClockKind, Exercise, Protocol, Spec
from omnimeter.protocols import Result
from omnimeter.protocols.anytime import AnytimeTimed, AnytimeUntimed
from omnimeter.reports.scores import ScoreRow
from omnimeter.reports.wording import (
    MINUS,
    counted,
    decimals,
    duration,
    grouped,
    interval,
    listed,
)

Anytime = AnytimeTimed | AnytimeUntimed

ONE_SITTING = (
    "There is no interval: one sitting cannot show how far another one would lie from it, because "
    "each of its exercises depends on those before. Several sittings can."
)
"""Why one sitting has no interval."""

UNBALANCED = (
    "The class does not claim to be balanced, and somebody insisted on it. Random behaviour may be "
    "worth something there, so that a score above 0 need not mean more than chance."
)
"""What must be said before anybody reads such a score."""


def as_anytime(protocol: Protocol) -> Anytime | None:
    """The protocol, if it is an anytime test."""
    return protocol if isinstance(protocol, AnytimeTimed | AnytimeUntimed) else None


def sittings_words(test: Anytime) -> str:
    """How many sittings of which length."""
    each = " each" if test.sittings > 1 else ""
    return f"{counted(test.sittings, 'sitting')} of {_planned(test, test.sittings)}{each}"


def estimate_sentence(test: Anytime, result: Result) -> str:
    """What the score estimates."""
    chances = "its mean over environments, over the agent's chance and over the environments'"
    if test.clock.kind is ClockKind.WALL:
        chances += ", and over the time that everything takes"
    return (
        f"The score estimates the expected score of a sitting of {_taken(test, result)}: {chances}."
    )


def stopped_sentence(result: Result) -> str:
    """What holds if the score was the reason for stopping; empty where nothing was stopped."""
    known = {
        agent.label: score.parts["watched"]
        for agent, score in result.scores.items()
        if "watched" in score.parts
    }
    if result.complete or not known:
        return ""
    places = decimals(end for ends in known.values() for end in ends)
    reach = [f"{label} ({interval(low, high, places)})" for label, (low, high) in known.items()]
    these = "these 95 % intervals do" if len(known) > 1 else "this 95 % interval does"
    compared = " Differences between agents then do not." if len(result.scores) > 1 else ""
    return (
        "The interval above holds for a test that was not stopped because of its score. If it was, "
        f"{these}: {listed(reach)}.{compared}"
    )


def rejudged_sentence(payoff: Spec) -> str:
    """What another payoff cannot change any more."""
    return (
        "The environments were chosen by the payoff that the test was taken with; with "
        f"{payoff.label} from the beginning, it would have gone another way."
    )


def used_up_sentence(test: Anytime, result: Result) -> str:
    """That sittings ended before their time, because nothing was left to choose; mostly empty."""
    if not (isinstance(test, AnytimeUntimed) and result.complete):
        return ""
    planned = test.interactions // test.sittings
    if all(course[-1].length >= planned for course in result.courses.values() if course):
        return ""
    return "Some sittings ended before their time: every environment of the class was used up."


def adaptive_setting(test: Anytime, exercises: Sequence[Exercise]) -> list[tuple[str, str]]:
    """What was measured, as far as only adaptive tests have it.

    Args:
        test: The test.
        exercises: Its exercises, as far as they are known.
    """
    first = test.slot if isinstance(test, AnytimeTimed) else test.slots[0]
    lowest = ", the lowest of the class" if test.level is None else ""
    return [
        ("Length", f"{_planned(test, 1)} in all"),
        ("Sittings", sittings_words(test) + (", side by side" if test.sittings > 1 else "")),
        (
            "Slots",
            f"{_slot(test, first)} in the first round, each further one longer by "
            f"{test.growth * 100:g} %",
        ),
        ("Budget of an exercise", _budgets(test, exercises)),
        (
            "Level",
            f"begins with {grouped(test.lowest_level)}{lowest}; a reward of 1 raises it by "
            f"{test.step * 100:g} %, a reward of {MINUS}1 lowers it by as much",
        ),
        ("Balance", _balance(test)),
    ]


def balance_warning(protocol: Protocol, rows: Sequence[ScoreRow]) -> str:
    """What must be said of a class that is not balanced; empty where there is nothing to say."""
    test = as_anytime(protocol)
    if test is not None and test.environment_class.claims().balanced:
        return ""  # insisting changed nothing
    return UNBALANCED if any(row.parts.get("unbalanced") for row in rows) else ""


def _balance(test: Anytime) -> str:
    if test.environment_class.claims().balanced:
        return "the class claims it"
    return "the class does not claim it, and somebody insisted"


def _planned(test: Anytime, parts: int) -> str:
    """The length of the test, or of one of its equal parts."""
    if isinstance(test, AnytimeUntimed):
        return counted(test.interactions // parts, "interaction")
    real = " of real time" if test.clock.kind is ClockKind.WALL else ""
    return f"{duration(test.time / parts)}{real}"


def _taken(test: Anytime, result: Result) -> str:
    """How long a sitting was; real time is known only where the whole of it was used."""
    if test.clock.kind is ClockKind.WALL:
        return _planned(test, test.sittings) if result.complete else "the length reached so far"
    lengths = {course[-1].length for course in result.courses.values() if course}
    return _slot(test, lengths.pop()) if len(lengths) == 1 else "the length reached so far"


def _slot(test: Anytime, length: float) -> str:
    if isinstance(test, AnytimeTimed):
        return duration(length)
    return counted(round(length), "interaction")


def _budgets(test: Anytime, exercises: Sequence[Exercise]) -> str:
    """From the shortest to the longest."""
    lengths = [each.budget.seconds or each.budget.most for each in exercises]
    shortest, longest = min(lengths), max(lengths)
    if shortest == longest:
        return _slot(test, longest)
    first = duration(shortest) if isinstance(test, AnytimeTimed) else grouped(shortest)
    return f"{first} to {_slot(test, longest)}"
