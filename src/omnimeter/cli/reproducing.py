"""``omnimeter reproduce``: an experiment of a paper, ours beside the published."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from omnimeter.cli.display import console, print_json, progress

if TYPE_CHECKING:
    from omnimeter.reproductions.reproduction import Reproduced


LONGEST_TITLE = 24
"""Characters that the first column of a table may take."""


def reproduce(
    name: Annotated[str, typer.Argument(help="See: omnimeter list reproduction.")],
    out: Annotated[
        Path | None,
        typer.Option(help="Where to write (by default reproductions/NAME)."),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Run an experiment of a paper and say whether we agree.

    Leaves with 1 when something differs from the paper without a written reason.
    """
    from omnimeter.catalogue import Kind, parse, resolve

    spec = parse(Kind.REPRODUCTION, name)
    experiment = resolve(Kind.REPRODUCTION, spec.id)
    short = spec.id.rpartition("-v")[0] or Path(spec.id.partition(":")[0]).stem
    directory = out or Path("reproductions") / short
    with progress(hidden=json) as bars:
        task = bars.add_task(f"Reproducing {short}", total=100, note="")
        result: Reproduced = experiment(
            directory,
            lambda doing, done: bars.update(task, completed=int(100 * done), note=doing),
        )
        bars.update(task, completed=100, note="")
    if json:
        print_json(result.to_json())
    else:
        _print(result)
    if not result.agrees:
        raise typer.Exit(1)


def _print(result: Reproduced) -> None:
    from rich.table import Table

    out = console()
    out.print(f"[bold]{result.title}[/bold]\n")
    if result.rows:
        table = Table(box=None, pad_edge=False)
        for heading in result.rows[0]:
            table.add_column(str(heading).replace("-", " "))
        titles = [str(next(iter(row.values()))) for row in result.rows]
        long = any(len(title) > LONGEST_TITLE for title in titles)
        for title, row in zip(titles, result.rows, strict=True):
            shown = title.partition(" ")[0] if long else title
            table.add_row(shown, *(str(value) for value in list(row.values())[1:]))
        out.print(table)
        if long:  # the first word stands for the title, which is spelled out below
            out.print("\n" + "\n".join(titles))
        out.print()
    for each in result.statements:
        if each.holds is None:
            sign = "[dim]ours   [/dim]"
        elif each.holds:
            sign = "[green]agrees [/green]"
        else:
            sign = "[yellow]differs[/yellow]" if each.reason else "[red]DIFFERS[/red]"
        out.print(f"{sign} {each.claim}\n        {each.found}")
        if each.reason:
            out.print(f"        [yellow]because:[/yellow] {each.reason}")
    out.print()
    for name, path in result.files.items():
        out.print(f"{name}: {path}", soft_wrap=True)
