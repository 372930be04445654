"""``omnimeter list`` and ``omnimeter show``: the parts that are installed."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Annotated, Any

import typer

from omnimeter.cli import options
from omnimeter.cli.display import console, print_json


def list_parts(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="environment, agent, protocol, payoff, adjustment or reproduction; "
            "all if left out.",
        ),
    ] = None,
    json: options.Json = False,
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


def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="An id (cups, random-v1) or a location (file.py:Name)."
        ),
    ],
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind", metavar="KIND", help="Which kind of part, if several have that name."
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Show what a part is and which parameters it takes."""
    from omnimeter.catalogue import Kind
    from omnimeter.contract import UnknownNameError

    if kind is not None and kind not in set(Kind):
        raise UnknownNameError("kind of part", kind, list(Kind))
    description = _describe(name, [Kind(kind)] if kind else list(Kind))
    if json:
        print_json(asdict(description))
        return
    _print(description)


def _describe(name: str, kinds: list[Any]) -> Any:
    from omnimeter.catalogue import Kind, describe, listing
    from omnimeter.contract import InvalidInputError, OmnimeterError, UnknownNameError

    errors: list[OmnimeterError] = []
    for kind in kinds:
        try:
            description = describe(kind, name)
        except UnknownNameError:
            continue
        except InvalidInputError as error:  # a location may hold a part of another kind
            errors.append(error)
            continue
        return replace(description, parameters=[]) if kind is Kind.REPRODUCTION else description
    if errors:
        raise errors[0]
    raise UnknownNameError("part", name, [entry.id for entry in listing()])


def _print(description: Any) -> None:
    from rich.markup import escape
    from rich.table import Table

    out = console()
    source = (
        f"{description.package}, {description.place}" if description.package else description.place
    )
    out.print(f"[bold]{description.id}[/bold]  [dim]{source}[/dim]\n")
    out.print(_flowing(description.doc), markup=False)
    if not description.parameters:
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("parameter", "type", "default", "meaning"):
        table.add_column(heading, no_wrap=heading == "parameter")
    for each in description.parameters:
        default = "required" if each.required else repr(each.default)
        table.add_row(*map(escape, (each.name, each.annotation, default, _unquoted(each.doc))))
    out.print()
    out.print(table)


def _flowing(text: str) -> str:
    """Paragraphs as single lines, so that the terminal breaks them where it needs to."""
    paragraphs = _unquoted(text).partition("\nRaises:")[0].split("\n\n")
    return "\n\n".join(
        paragraph if paragraph.startswith((" ", "-")) else " ".join(paragraph.split())
        for paragraph in paragraphs
    )


def _unquoted(text: str) -> str:
    """Without the marks that docstrings put around code."""
    return text.replace("``", "")
