"""``omnimeter reproduce``: an experiment of a paper, our results and the published ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnimeter.cli import options
from omnimeter.cli.display import console, print_json, progress

if TYPE_CHECKING:
    from omnimeter.reproductions.shared import Reproduced, Statement

LONGEST_TITLE = 24
"""Characters that the first column of a table may take."""

MOST_ROWS = 30
"""Rows that a terminal is shown; longer tables are left to their file."""


def reproduce(
    name: Annotated[str, typer.Argument(metavar="NAME", help="See: omnimeter list reproduction.")],
    out: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Where to write (by default reproductions/NAME)."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Run an experiment of a paper and say whether we agree.

    Leaves with 1 when something differs from the paper without a written reason.
    """
    from omnimeter.api import reproduce as repeat
    from omnimeter.catalogue import Kind, parse

    spec = parse(Kind.REPRODUCTION, name)
    short = spec.id.rpartition("-v")[0] or Path(spec.id.partition(":")[0]).stem
    directory = out or Path("reproductions") / short
    with progress(hidden=json) as bars:
        task = bars.add_task(f"Reproducing {short}", total=100, note="")
        result = repeat(
            name,
            out=directory,
            progress=lambda doing, done: bars.update(task, completed=int(100 * done), note=doing),
        )
        bars.update(task, completed=100, note="")
    if json:
        print_json(result.to_json())
    else:
        print_result(result)
    if not result.agrees:
        raise typer.Exit(1)


def print_result(result: Reproduced) -> None:
    """Print the table, the statements and the paths of the files of a reproduction."""
    out = console()
    out.print(f"[bold]{result.title}[/bold]\n")
    if len(result.rows) > MOST_ROWS:
        place = result.files.get("table", "the JSON (--json)")
        out.print(f"{len(result.rows)} rows are in {place}.\n", soft_wrap=True)
    elif result.rows:
        _print_rows(result.rows)
    _print_statements(result.statements)
    out.print()
    for name, path in result.files.items():
        out.print(f"{name}: {path}", soft_wrap=True)


def _print_rows(rows: Sequence[Mapping[str, Any]]) -> None:
    """Our table and, where the paper prints one too, the published one below it."""
    from omnimeter.reproductions.shared import PUBLISHED_FIELD

    out = console()
    first, *fields = (name for name in rows[0] if not name.endswith(PUBLISHED_FIELD))
    titles = [str(row[first]) for row in rows]
    long = any(len(title) > LONGEST_TITLE for title in titles)
    shown = [title.partition(" ")[0] if long else title for title in titles]
    ours = [[_marked(row, name, PUBLISHED_FIELD) for name in fields] for row in rows]
    if all(name + PUBLISHED_FIELD in rows[0] for name in fields):
        theirs = [[_written(row[name + PUBLISHED_FIELD]) for name in fields] for row in rows]
        headings = [name.replace("-", "\n") for name in (first, *fields)]  # to stay narrow
        _print_table(headings, shown, ours, "Ours (! differs from the paper)")
        _print_table(headings, shown, theirs, "Published")
    else:
        _print_table([name.replace("-", " ") for name in (first, *fields)], shown, ours)
    if long:  # the first word stands for the title, which is spelled out below
        out.print("\n".join(titles) + "\n")


def _marked(row: Mapping[str, Any], name: str, ending: str) -> str:
    """A cell of our table, with a mark where the published one is another."""
    differs = row.get(name + ending, row[name]) != row[name]
    return _written(row[name]) + (" [bold red]![/bold red]" if differs else "")


def _written(value: object) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _print_table(
    headings: Sequence[str], titles: Sequence[str], cells: Sequence[Sequence[str]], over: str = ""
) -> None:
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading)
    for title, row in zip(titles, cells, strict=True):
        table.add_row(title, *row)
    out = console()
    if over:
        out.print(f"[italic]{over}[/italic]")
    out.print(table)
    out.print()


def _print_statements(statements: Sequence[Statement]) -> None:
    out = console()
    for each in statements:
        if each.holds is None:
            sign = "[dim]ours   [/dim]"
        elif each.holds:
            sign = "[green]agrees [/green]"
        else:
            sign = "[yellow]differs[/yellow]" if each.reason else "[red]DIFFERS[/red]"
        out.print(f"{sign} {each.claim}\n        {each.evidence}")
        if each.reason:
            out.print(f"        [yellow]because:[/yellow] {each.reason}")
