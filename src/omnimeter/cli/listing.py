"""``omnimeter list``: what there is."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from omnimeter.cli.display import console, print_json


def list_parts(
    kind: Annotated[
        str | None,
        typer.Argument(
            help="environment, agent, protocol, payoff, adjustment or reproduction; "
            "all if left out."
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """List the parts of the catalogue, ours and those of installed packages."""
    from omnimeter.catalogue import Kind, listing
    from omnimeter.contract import UnknownNameError

    wanted = None
    if kind is not None:
        names = {each.value: each for each in Kind} | {f"{each.value}s": each for each in Kind}
        if kind not in names:
            raise UnknownNameError("kind of part", kind, [each.value for each in Kind])
        wanted = names[kind]
    entries = listing(wanted)
    if json:
        print_json([asdict(entry) for entry in entries])
        return
    _print_table(entries)


def _print_table(entries: list) -> None:  # type: ignore[type-arg] # of catalogue entries
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in ("kind", "id", "what it is", "package"):
        table.add_column(heading, no_wrap=heading in ("kind", "id"))
    last = None
    for entry in entries:
        if last not in (None, entry.kind):
            table.add_row()
        shown = f"[red]{escape(entry.problem)}[/red]" if entry.problem else escape(entry.summary)
        table.add_row(
            "" if last == entry.kind else f"[bold]{entry.kind}[/bold]",
            entry.id,
            shown,
            f"[dim]{entry.package} {entry.version}[/dim]",
        )
        last = entry.kind
    console().print(table)
    console().print("\n[dim]omnimeter show ID tells more about one of them.[/dim]")
