"""Scores in a terminal and as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from omnimeter.cli.display import console

if TYPE_CHECKING:
    from rich.table import Table

    from omnimeter.contract import Score, Spec
    from omnimeter.estimation import Estimate
    from omnimeter.protocols import Result
    from omnimeter.reports.comparisons import Comparison


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
        "level": None if interval is None else interval.confidence,
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
    from omnimeter.reports.text import decimals, interval, number

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

    from omnimeter.reports.summary import stopped_sentence

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


def _table(*headings: str) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    table.add_column(headings[0], overflow="fold")
    for heading in headings[1:]:
        table.add_column(heading, justify="right", overflow="fold")  # never cut off a number
    return table


def print_scores(result: Result) -> None:
    """Who scored what, the best first."""
    from rich.markup import escape

    from omnimeter.reports import score_table
    from omnimeter.reports.text import NOTHING, decimals, fault_counts, interval, number

    table = _table("agent", "score", "95 % interval", "repetitions", "exercises", "faults")
    rows = score_table(result)
    places = decimals(each for row in rows for each in (row.value, row.low, row.high))
    for row in rows:
        repetitions = result.values.get(row.agent)
        faults = fault_counts(row.faults)
        table.add_row(
            escape(row.label),
            f"[bold]{number(row.value, places)}[/bold]",
            interval(row.low, row.high, places),
            str(len(repetitions))
            if repetitions and _adaptive(result.scores[row.agent])
            else NOTHING,
            str(row.count),
            f"[red]{faults}[/red]" if faults else "[dim]none[/dim]",
        )
    console().print(table)


def _adaptive(score: Score) -> bool:
    return "rounds" in score.parts


def print_history(result: Result) -> None:
    """What the scores rest on: how settled they are, the level reached, potential and speed."""
    from rich.markup import escape

    from omnimeter.reports import score_table
    from omnimeter.reports.text import NOTHING, duration, grouped, number

    agents = [row.agent for row in score_table(result) if "level" in result.scores[row.agent].parts]
    if not agents:
        return
    timed = "speed" in result.scores[agents[0]].parts
    table = _table(
        "agent", "stability", "spread", "level", "slot", "potential", *["actions/s", "idle"] * timed
    )
    for agent in agents:
        parts = result.scores[agent].parts
        slot = parts["slot"]
        speed = parts.get("speed")
        table.add_row(
            escape(agent.label),
            f"{parts['stability']:.3f}",
            number(parts["spread"], 3),
            grouped(parts["level"]),
            duration(slot) if timed else grouped(slot),
            number(parts["potential"], 3),
            *([NOTHING if speed is None else grouped(speed), f"{parts['idle']:.0%}"] * timed),
        )
    console().print()
    console().print(table)


def print_differences(compared: Sequence[Comparison]) -> None:
    """How far agents lie from one of them, repetition by repetition."""
    from rich.markup import escape

    from omnimeter.reports.text import chance

    if not compared:
        return
    table = _table("agent", "difference", "95 % interval", "p (Holm)", "verdict")
    places = _places(compared)
    for each in compared:
        value, reach = _difference(each, places)
        table.add_row(
            escape(each.agent.label), value, reach, chance(each.chance), str(each.verdict)
        )
    out = console()
    out.print(f"\nAgainst [bold]{escape(compared[0].reference.label)}[/bold]:")
    out.print(table)


def print_comparison(result: Result, compared: Sequence[Comparison]) -> None:
    """Scores and differences in one table, each above its interval."""
    from rich.markup import escape

    from omnimeter.reports import score_table
    from omnimeter.reports.text import chance, decimals, fault_counts, interval, number

    by_agent = {each.agent: each for each in compared}
    rows = score_table(result)
    places = decimals(each for row in rows for each in (row.value, row.low, row.high))
    table = _table(
        "agent", "score\n95 % interval", "difference\n95 % interval", "p (Holm)", "verdict"
    )
    table.columns[0].min_width = 16  # rather than a name, a long verdict is broken
    table.columns[-1].no_wrap = False
    for row in rows:
        each = by_agent.get(row.agent)
        score = f"[bold]{number(row.value, places)}[/bold]\n{interval(row.low, row.high, places)}"
        faults = fault_counts(row.faults)
        name = escape(row.label) + (f"\n[red]{faults}[/red]" if faults else "")
        if each is None:
            table.add_row(name, score, "", "", "reference" if compared else "")
            continue
        difference = "\n".join(_difference(each, _places(compared)))
        table.add_row(name, score, difference, chance(each.chance), str(each.verdict))
    console().print(table)


def _places(compared: Sequence[Comparison]) -> int:
    from omnimeter.reports.text import decimals

    return decimals(n for each in compared for n in (each.difference, each.low, each.high))


def _difference(each: Comparison, places: int) -> tuple[str, str]:
    from omnimeter.reports.text import interval, number

    reach = interval(each.low, each.high, places, signed=True)
    return number(each.difference, places, signed=True), reach


def print_reliability(reliability: Estimate | None) -> None:
    """How much of the differences between agents is not error, if it can be said."""
    from omnimeter.reports.text import interval

    if reliability is not None:
        reach = interval(reliability.low, reliability.high, 2)
        console().print(
            f"\nReliability of the comparison (intraclass correlation): {reliability.value:.2f} "
            f"({reach})"
        )
