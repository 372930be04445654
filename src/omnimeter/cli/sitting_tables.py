"""The result of a test in a terminal: scores, what they rest on, and who is better."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from omnimeter.cli.display import console

if TYPE_CHECKING:
    from rich.table import Table

    from omnimeter.contract import Score
    from omnimeter.protocols import Result
    from omnimeter.reports.comparisons import Comparison
    from omnimeter.statistics import Estimate


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
    from omnimeter.reports.wording import NOTHING, decimals, fault_counts, interval, number

    table = _table("agent", "score", "95 % interval", "sittings", "exercises", "faults")
    rows = score_table(result)
    places = decimals(each for row in rows for each in (row.value, row.low, row.high))
    for row in rows:
        sittings = result.values.get(row.agent)
        faults = fault_counts(row.faults)
        table.add_row(
            escape(row.label),
            f"[bold]{number(row.value, places)}[/bold]",
            interval(row.low, row.high, places),
            str(len(sittings)) if sittings and _adaptive(result.scores[row.agent]) else NOTHING,
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
    from omnimeter.reports.wording import NOTHING, duration, grouped, number

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
    """How far agents lie from one of them, sitting by sitting."""
    from rich.markup import escape

    from omnimeter.reports.wording import chance

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
    from omnimeter.reports.wording import chance, decimals, fault_counts, interval, number

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
    from omnimeter.reports.wording import decimals

    return decimals(n for each in compared for n in (each.difference, each.low, each.high))


def _difference(each: Comparison, places: int) -> tuple[str, str]:
    from omnimeter.reports.wording import interval, number

    reach = interval(each.low, each.high, places, signed=True)
    return number(each.difference, places, signed=True), reach


def print_reliability(reliability: Estimate | None) -> None:
    """How much of the differences between agents is not error, if it can be said."""
    from omnimeter.reports.wording import interval

    if reliability is not None:
        reach = interval(reliability.low, reliability.high, 2)
        console().print(
            f"\nReliability of the comparison (intraclass correlation): {reliability.value:.2f} "
            f"({reach})"
        )
