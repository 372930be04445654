"""Scores, differences and faults in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from omnimeter.cli.display import console, readable

if TYPE_CHECKING:
    from omnimeter.api import Result as TestResult
    from omnimeter.api.evaluation import Session
    from omnimeter.contract import Fault, Spec
    from omnimeter.contract.errors import StoreError
    from omnimeter.protocols import Result
    from omnimeter.reports.comparisons import Comparison
    from omnimeter.reports.tables import Table as ScoreTable

LINES, WIDTH = 5, 200
"""Of a fault's detail so many of the last lines are printed, and so many characters of each."""


def print_warnings(made: Session | TestResult) -> None:
    """Print on the standard error how scores can be had without skill, if they can."""
    from rich.markup import escape

    from omnimeter.api.result import seed_warning

    for warning in (made.protocol.describe().warning, seed_warning(made.evaluation)):
        if warning:
            console(errors=True).print(f"[yellow]Warning: {escape(warning)}[/yellow]")


def print_seed(result: TestResult) -> None:
    """Print the seed that was drawn for an evaluation, once it is complete."""
    if result.complete and (seed := result.record.seed) is not None:
        drawn = f"seed: {seed}, drawn for this evaluation (--seed {seed} repeats it)"
        console().print(drawn, soft_wrap=True)


def made_json(result: TestResult) -> dict[str, Any]:
    """How an evaluation was made: its seed, as far as it is not secret, and warnings.

    With the files that had to be left out, where there are any.
    """
    damaged = damaged_json(result.record.damaged)
    known = {"damaged": damaged} if damaged else {}
    return {"seed": result.seed, "warnings": result.warnings, **known}


def damaged_json(damaged: Mapping[Path, StoreError]) -> list[dict[str, str]]:
    """Files that were left out, and why."""
    return [
        {"file": str(path), "reason": damaged[path].message, "advice": damaged[path].advice}
        for path in sorted(damaged)
    ]


def leave_if_damaged(damaged: Mapping[Path, StoreError]) -> None:
    """If files were left out, say which and why on the standard error, and leave with 4."""
    if not damaged:
        return
    from omnimeter.contract.errors import StoreError
    from omnimeter.reports.text import counted

    out = console(errors=True)
    out.print(f"Left out of all this: {counted(len(damaged), 'damaged file')}.", style="red")
    for path in sorted(damaged):
        out.print(f"  {damaged[path].message}", soft_wrap=True, markup=False)
    for advice in dict.fromkeys(error.advice for error in damaged.values()):
        out.print(f"  {advice}", soft_wrap=True, markup=False)
    raise typer.Exit(StoreError.exit_code)


def print_table(contents: ScoreTable) -> None:
    """Print a table; the name of an agent may be broken, a number is never cut off."""
    from rich.table import Table
    from rich.text import Text

    styles = {"strong": "bold", "error": "red", "dim": "dim"}
    table = Table(box=None, pad_edge=False)
    for place, heading in enumerate(contents.headings):
        name = heading[0].lower() + heading[1:]
        table.add_column(name, justify="right" if place else "left", overflow="fold")
    for row in contents.rows:
        table.add_row(*(Text(readable(cell.text), styles.get(cell.style, "")) for cell in row))
    console().print(table)


def print_hint(*tables: ScoreTable | None) -> None:
    """Print once below tables where their words are explained, on the standard error."""
    from omnimeter.reports.glossary import terms_in

    headings = [heading for table in tables if table for heading in table.headings[1:]]
    if rare := [each.name for each in terms_in(headings) if each.name not in _COMMON]:
        said = f"omnimeter explain {plain_word(rare[0])} tells more, also of other words."
        console(errors=True).print(said, style="dim", markup=False)


_COMMON = ("score", "interval", "exercise", "fault", "difference", "repetition", "interactions")
"""Words that need no hint."""


def plain_word(word: str) -> str:
    """A word as it is typed in a command."""
    return f"'{word}'" if " " in word else word


def print_result(result: Result, *, ran: bool = False) -> None:
    """Print the scores, what the comparisons show, and what went wrong; ``ran`` as below."""
    from rich.markup import escape

    from omnimeter.reports import comparisons, score_table
    from omnimeter.reports.degrees import degree_table
    from omnimeter.reports.summary import comparison_sentence, precision_sentence
    from omnimeter.reports.tables import metric_table

    compared = comparisons(result)
    if result.design.unit == "repetition":
        print_test(result, compared, ran=ran)
        return
    print_table(score_table(result))
    if metrics := metric_table(result):
        console().print()
        print_table(metrics)
    if degrees := degree_table(result):
        console().print()
        print_table(degrees)
    print_hint(metrics, degrees)
    for each in compared:
        console().print(f"[dim]{escape(comparison_sentence(each))}[/dim]")
    if sentence := precision_sentence(result):
        console().print(escape(sentence))
    print_troubles(result, compared, ran=ran)


def print_test(
    result: Result, compared: Sequence[Comparison], *remarks: str, ran: bool = False
) -> None:
    """Print a test: scores, secondary metrics, differences, and how to read them."""
    from rich.markup import escape

    from omnimeter.reports.scores import reliability_of
    from omnimeter.reports.summary import (
        estimate_sentence,
        hints,
        precision_sentence,
        reliability_sentence,
    )

    out = console()
    print_scores(result, compared)
    if sentence := reliability_sentence(reliability_of(result)):
        out.print(f"\n{sentence}")
    out.print(f"\n{escape(estimate_sentence(result))}")
    if sentence := precision_sentence(result):
        out.print(escape(sentence))
    for hint in hints(result):
        out.print(f"[yellow]{escape(hint)}[/yellow]")
    for remark in remarks:
        out.print(f"[dim]{escape(remark)}[/dim]")
    print_troubles(result, compared, ran=ran)


def print_troubles(
    result: Result, compared: Sequence[Comparison] = (), *, ran: bool = False
) -> None:
    """Print whether something is not done yet, and what went wrong.

    Args:
        result: What is printed.
        compared: Its comparisons.
        ran: Whether it was carried out by this command, which then goes on with it.
    """
    from rich.markup import escape

    from omnimeter.reports.summary import (
        bounded_sentence,
        remarks,
        stopped_sentence,
    )

    out = console()
    if result.memory == "carried":
        out.print("Memory is carried from exercise to exercise.")
    for sentence in (
        bounded_sentence(result),
        stopped_sentence(result, compared),
        *remarks(result),
    ):
        if sentence:
            out.print(f"[yellow]{escape(sentence)}[/yellow]")
    if not result.complete:
        again = "; the same command goes on" * ran
        out.print(f"[yellow]Not all exercises are done{again}.[/yellow]")
    faults: dict[str, Fault] = {}
    for outcomes in result.outcomes.values():
        for outcome in outcomes.where(outcomes.faults != 0):
            if (fault := outcome.fault) is not None:
                name = outcome.exercise.agent.label
                faults.setdefault(f"{name}: {fault.kind}: {fault.message}", fault)
    for message, fault in list(faults.items())[:5]:
        out.print(f"[red]fault[/red] {escape(message)}", soft_wrap=True)
        print_detail(fault)


def print_detail(fault: Fault) -> None:
    """Print the end of a traceback, or of what an agent has printed; all of it is on the page."""
    for line in fault.detail.rstrip().split("\n")[-LINES:] if fault.detail else ():
        shown = line if len(line) <= WIDTH else line[: WIDTH - 1] + "…"
        console().print("  " + shown, style="dim", markup=False, soft_wrap=True)


def print_scores(result: Result, compared: Sequence[Comparison]) -> None:
    """Print scores, secondary metrics and differences, best first."""
    from rich.markup import escape

    from omnimeter.reports.tables import difference_table, metric_table, score_table

    print_table(score_table(result))
    if metrics := metric_table(result):
        console().print()
        print_table(metrics)
    print_hint(metrics)
    if compared:
        console().print(f"\nAgainst [bold]{escape(compared[0].reference_name)}[/bold]:")
        print_table(difference_table(compared))


def scores_json(result: TestResult, reference: Spec | None) -> dict[str, Any]:
    """A test, its scores and their reliability."""
    from omnimeter.reports import result_json
    from omnimeter.reports.scores import reliability_of

    reliability = reliability_of(result.judged)
    return {
        "test": result.evaluation.protocol.to_json(),
        **result_json(result.judged, reference),
        "reliability": reliability
        and {"value": reliability.value, "interval": [reliability.low, reliability.high]},
        **made_json(result),
    }
