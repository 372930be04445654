"""What a result says, in sentences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from omnimeter.contract import ClockKind, Exercise, Protocol, Spec
from omnimeter.protocols import Result
from omnimeter.protocols.anytime import AnytimeTimed, AnytimeUntimed
from omnimeter.reports.comparisons import Comparison, Verdict
from omnimeter.reports.scores import EXERCISE, REPETITION, ScoreRow
from omnimeter.reports.text import (
    MINUS,
    counted,
    decimals,
    duration,
    fault_counts,
    grouped,
    interval,
    listed,
    number,
    percent,
)

_PAIRED = {EXERCISE: "on the same exercises", REPETITION: "repetition by repetition"}

NAMED = 4
"""How many agents are named one by one before the rest is only counted."""


def score_sentences(rows: Sequence[ScoreRow]) -> list[str]:
    """Who scored what."""
    scored = [row for row in rows if row.value is not None]
    if not scored:
        return ["No exercise has been finished with a payoff, so there is no score yet."]
    places = decimals(n for row in scored for n in (row.value, row.low, row.high))
    level = f"{percent(scored[0].confidence)} interval "
    first, *others = [
        _score(row, places, "" if order else level) for order, row in enumerate(scored)
    ]
    if not others:
        return [f"{first}."]
    named = [first + ", the best score", *others[: NAMED - 1]]
    rest = len(scored) - len(named)
    if rest:
        named.append(f"{counted(rest, 'more agent')} scored less")
    return ["; ".join(named) + "."]


def _score(row: ScoreRow, places: int, introduction: str) -> str:
    text = f"{row.label} scored {number(row.value, places)}"
    if row.low is None or row.high is None:
        return text
    return f"{text} ({introduction}{interval(row.low, row.high, places)})"


def comparison_sentence(comparison: Comparison) -> str:
    """What one comparison shows."""
    agent, reference = comparison.agent.label, comparison.reference.label
    size = comparison.difference
    common = counted(comparison.count, comparison.unit)
    if comparison.verdict is Verdict.TOO_FEW or size is None:
        return f"{agent} and {reference} have {common} in common, too few to compare them."
    if comparison.verdict is Verdict.FAULTY:
        return (
            f"{agent} and {reference} are not compared, because faults of their own decided which "
            "exercises could be."
        )
    low, high = comparison.low, comparison.high
    places = decimals((size, low, high))
    if comparison.verdict is Verdict.NOT_SHOWN:
        return (
            f"No difference between {agent} and {reference} is shown: "
            f"{number(size, places, signed=True)} "
            f"(95 % interval {interval(low, high, places)}, {common})."
        )
    if comparison.verdict is Verdict.WORSE and low is not None and high is not None:
        size, low, high = -size, -high, -low
    return (
        f"{agent} is {comparison.verdict} than {reference} by {number(size, places)} "
        f"{_PAIRED[comparison.unit]} (95 % interval {interval(low, high, places)}, {common})."
    )


def comparison_sentences(compared: Sequence[Comparison]) -> list[str]:
    """Which differences are shown: one by one if they are few, otherwise counted."""
    if len(compared) < NAMED:
        return [comparison_sentence(each) for each in compared]
    reference = compared[0].reference.label
    parts = []
    for verdict, words in (
        (Verdict.BETTER, "better than it"),
        (Verdict.WORSE, "worse than it"),
    ):
        if amount := sum(each.verdict is verdict for each in compared):
            parts.append(f"{counted(amount, 'is', 'are')} shown to be {words}")
    if same := [each.agent.label for each in compared if each.verdict is Verdict.NOT_SHOWN]:
        named = listed(same) if len(same) < NAMED else f"{len(same)} of them"
        parts.append(f"for {named} no difference is shown")
    if few := sum(each.verdict is Verdict.TOO_FEW for each in compared):
        parts.append(f"for {few} there are too few {compared[0].unit}s in common")
    if faulty := sum(each.verdict is Verdict.FAULTY for each in compared):
        parts.append(f"for {faulty} faults of their own forbid it")
    return [f"Of {len(compared)} agents compared with {reference}, {'; '.join(parts)}."]


def fault_sentence(rows: Sequence[ScoreRow], outcomes: int) -> str:
    """How many faults of which kind, and whose."""
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row.faults)
    amount = sum(total.values())
    if not amount:
        return "No exercise ended in a fault." if outcomes else ""
    whose = [row.label for row in rows if sum(row.faults.values())]
    names = listed(whose) if len(whose) <= NAMED else counted(len(whose), "agent")
    are = "ended in a fault and is" if amount == 1 else "ended in a fault and are"
    return (
        f"{amount} of {outcomes} exercises {are} left out of the scores: "
        f"{fault_counts(dict(sorted(total.items())))} of {names}."
    )


Anytime = AnytimeTimed | AnytimeUntimed

ONE_REPETITION = (
    "There is no interval: one repetition cannot show how far another one would lie from it, "
    "because "
    "each of its exercises depends on those before. Several repetitions can."
)
"""Why one repetition has no interval."""

UNBALANCED = (
    "The class does not claim to be balanced, and somebody insisted on it. Random behaviour may be "
    "worth something there, so that a score above 0 need not mean more than chance."
)
"""What must be said before anybody reads such a score."""


def as_anytime(protocol: Protocol) -> Anytime | None:
    """The protocol, if it is an anytime test."""
    return protocol if isinstance(protocol, AnytimeTimed | AnytimeUntimed) else None


def repetitions_words(test: Anytime) -> str:
    """How many repetitions of which length."""
    each = " each" if test.repetitions > 1 else ""
    return f"{counted(test.repetitions, 'repetition')} of {_planned(test, test.repetitions)}{each}"


def estimate_sentence(test: Anytime, result: Result) -> str:
    """What the score estimates."""
    chances = "its mean over environments, over the agent's chance and over the environments'"
    if test.clock.kind is ClockKind.WALL:
        chances += ", and over the time that everything takes"
    length = _taken(test, result)
    return f"The score estimates the expected score of a repetition of {length}: {chances}."


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
    """Says that repetitions ended early because the class was used up; mostly empty."""
    if not (isinstance(test, AnytimeUntimed) and result.complete):
        return ""
    planned = test.interactions // test.repetitions
    if all(course[-1].length >= planned for course in result.courses.values() if course):
        return ""
    return "Some repetitions ended before their time: every environment of the class was used up."


def adaptive_setting(test: Anytime, exercises: Sequence[Exercise]) -> list[tuple[str, str]]:
    """What was measured, as far as only adaptive tests have it.

    Args:
        test: The test.
        exercises: Its exercises, as far as they are known.
    """
    first = test.slot if isinstance(test, AnytimeTimed) else test.slots[0]
    lowest = ", the lowest of the class" if test.start_complexity is None else ""
    return [
        ("Length", f"{_planned(test, 1)} in all"),
        (
            "Repetitions",
            repetitions_words(test) + (", side by side" if test.repetitions > 1 else ""),
        ),
        (
            "Slots",
            f"{_slot(test, first)} in the first round, each further one longer by "
            f"{test.growth * 100:g} %",
        ),
        ("Budget of an exercise", _budgets(test, exercises)),
        (
            "Level",
            f"begins with {grouped(test.start_level)}{lowest}; a reward of 1 raises it by "
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
    """How long a repetition was; real time is known only where the whole of it was used."""
    if test.clock.kind is ClockKind.WALL:
        return _planned(test, test.repetitions) if result.complete else "the length reached so far"
    lengths = {course[-1].length for course in result.courses.values() if course}
    return _slot(test, lengths.pop()) if len(lengths) == 1 else "the length reached so far"


def _slot(test: Anytime, length: float) -> str:
    if isinstance(test, AnytimeTimed):
        return duration(length)
    return counted(round(length), "interaction")


def _budgets(test: Anytime, exercises: Sequence[Exercise]) -> str:
    """From the shortest to the longest."""
    lengths = [each.budget.seconds or each.budget.max_interactions for each in exercises]
    shortest, longest = min(lengths), max(lengths)
    if shortest == longest:
        return _slot(test, longest)
    first = duration(shortest) if isinstance(test, AnytimeTimed) else grouped(shortest)
    return f"{first} to {_slot(test, longest)}"
