"""Scores in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import TYPE_CHECKING, Any

from omnimeter.cli.display import console

if TYPE_CHECKING:
    from omnimeter.contract import Score, Spec
    from omnimeter.protocols import Result


def result_json(result: Result, reference: Spec | None = None) -> dict[str, Any]:
    """The scores and comparisons for a program.

    Args:
        result: What an evaluation says.
        reference: Whom to compare with; by default the best.
    """
    from omnimeter.reports import comparisons

    return {
        "complete": result.complete,
        "scores": [
            {**_score_json(agent, score), **_history_json(result, agent)}
            for agent, score in result.scores.items()
        ],
        "comparisons": [
            {
                "agent": each.agent.label,
                "reference": each.reference.label,
                "difference": _finite(each.difference),
                "interval": [_finite(each.low), _finite(each.high)],
                "count": each.count,
                "p": each.chance,
                "verdict": str(each.verdict),
            }
            for each in comparisons(result, reference)
        ],
    }


def _score_json(agent: Spec, score: Score) -> dict[str, Any]:
    interval = score.interval
    return {
        "agent": agent.to_json(),
        "label": agent.label,
        "value": _finite(score.value),
        "interval": None if interval is None else list(map(_finite, interval[:2])),
        "level": None if interval is None else interval.level,
        "count": score.count,
        "faults": dict(score.faults),
    }


def _history_json(result: Result, agent: Spec) -> dict[str, Any]:
    """What else a score is made of, in tests that say so."""
    parts, course = result.scores[agent].parts, result.courses.get(agent, ())
    found: dict[str, Any] = {}
    if parts:
        found["parts"] = {name: _plain(value) for name, value in parts.items()}
    if agent in result.values:
        found["values"] = {str(unit): value for unit, value in result.values[agent].items()}
    if course:
        found["course"] = [
            {
                "length": moment.length,
                "slot": moment.slot,
                "level": moment.level,
                "value": moment.value,
                "interval": moment.interval and list(map(_finite, moment.interval[:2])),
            }
            for moment in course
        ]
    return found


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(name): _plain(each) for name, each in value.items()}
    return _finite(value) if isinstance(value, float) else value


def _finite(number: float | None) -> float | None:
    """JSON knows no infinity: an end that is not known is null."""
    return number if number is not None and isfinite(number) else None


def print_result(result: Result) -> None:
    """The table of scores, what the comparisons show, and what went wrong."""
    from rich.markup import escape
    from rich.table import Table

    from omnimeter.reports import comparisons, score_table
    from omnimeter.reports.summary import comparison_sentence
    from omnimeter.reports.wording import decimals, interval, number

    out = console()
    table = Table(box=None, pad_edge=False)
    table.add_column("agent", overflow="fold")
    for heading in ("score", "95 % interval", "exercises", "faults"):
        table.add_column(heading, justify="right", no_wrap=True)
    rows = score_table(result)
    places = decimals(each for row in rows for each in (row.value, row.low, row.high))
    for row in rows:
        value, reach = number(row.value, places), interval(row.low, row.high, places)
        faults = ", ".join(f"{count} {kind}" for kind, count in row.faults.items()) or "none"
        style = "red" if row.faults else "dim"
        numbers = (f"[bold]{value}[/bold]", reach, str(row.count), f"[{style}]{faults}[/]")
        table.add_row(escape(row.label), *numbers)
    out.print(table)
    for each in comparisons(result):
        out.print(f"[dim]{escape(comparison_sentence(each))}[/dim]")
    print_troubles(result)


def print_troubles(result: Result) -> None:
    """Whether something is not done yet, and what went wrong."""
    from rich.markup import escape

    from omnimeter.reports.adaptive import stopped_sentence

    out = console()
    if sentence := stopped_sentence(result):
        out.print(f"[yellow]{escape(sentence)}[/yellow]")
    if not result.complete:
        out.print("[yellow]Not all exercises are done; the same command goes on.[/yellow]")
    messages = {
        f"{outcome.exercise.agent.label}: {outcome.fault.kind}: {outcome.fault.message}": None
        for outcomes in result.outcomes.values()
        for outcome in outcomes
        if outcome.fault is not None
    }
    for message in list(messages)[:5]:
        out.print(f"[red]fault[/red] {escape(message)}", soft_wrap=True)
