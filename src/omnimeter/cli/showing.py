"""``omnimeter show``: one part of the catalogue, or a part in a file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from omnimeter.cli.display import console, print_json


def show(
    name: Annotated[str, typer.Argument(help="An id (cups, random-v1) or a place (file.py:Name).")],
    kind: Annotated[
        str | None, typer.Option("--kind", help="Which kind of part, if several have that name.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Show what a part is and which parameters it takes."""
    from omnimeter.catalogue import Kind

    found = _describe(name, [Kind(kind)] if kind in set(Kind) else list(Kind))
    if json:
        print_json(asdict(found))
        return
    _print(found)


def _describe(name: str, kinds: list[Any]) -> Any:
    from omnimeter.catalogue import describe, listing
    from omnimeter.contract import UnknownNameError

    for kind in kinds:
        try:
            return describe(kind, name)
        except UnknownNameError:
            continue
    raise UnknownNameError("part", name, [entry.id for entry in listing()])


def _print(found: Any) -> None:
    from rich.table import Table

    out = console()
    origin = f"{found.package}, {found.place}" if found.package else found.place
    out.print(f"[bold]{found.id}[/bold]  [dim]{origin}[/dim]\n")
    out.print(found.doc, markup=False)
    if not found.parameters:
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("parameter", "type", "default", "meaning"):
        table.add_column(heading, no_wrap=heading == "parameter")
    for each in found.parameters:
        default = "required" if each.required else repr(each.default)
        table.add_row(f"[bold]{each.name}[/bold]", each.annotation, default, each.doc)
    out.print()
    out.print(table)
