"""What a result says, in plain sentences with numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from omnimeter.reports.comparisons import Comparison, Verdict
from omnimeter.reports.scores import ScoreRow
from omnimeter.reports.sittings import EXERCISE, SITTING
from omnimeter.reports.wording import (
    counted,
    decimals,
    fault_counts,
    interval,
    listed,
    number,
    percent,
)

_PAIRED = {EXERCISE: "on the same exercises", SITTING: "sitting by sitting"}

NAMED = 4
"""How many agents are named one by one before the rest is only counted."""


def score_sentences(rows: Sequence[ScoreRow]) -> list[str]:
    """Who scored what."""
    scored = [row for row in rows if row.value is not None]
    if not scored:
        return ["No exercise has been finished with a payoff, so there is no score yet."]
    places = decimals(n for row in scored for n in (row.value, row.low, row.high))
    level = f"{percent(scored[0].level)} interval "
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
