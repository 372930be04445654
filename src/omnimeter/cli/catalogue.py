"""``omnimeter list`` and ``omnimeter show``: the parts that are installed."""

from __future__ import annotations

from dataclasses import asdict, replace
from math import isinf
from typing import TYPE_CHECKING, Annotated, Any

import typer

from omnimeter.cli import options
from omnimeter.cli.display import console, print_json

if TYPE_CHECKING:
    from omnimeter.catalogue import Kind


def list_parts(
    kind: Annotated[
        str | None,
        typer.Argument(
            metavar="KIND",
            help="environment, agent, protocol, payoff, adjustment, element or reproduction; "
            "all if left out.",
        ),
    ] = None,
    complexities: Annotated[
        bool,
        typer.Option(
            "--complexities", help="Which complexities the environment classes have instead."
        ),
    ] = False,
    json: options.Json = False,
) -> None:
    """List the parts of the catalogue, ours and those of installed packages."""
    from rich.markup import escape
    from rich.table import Table

    from omnimeter.catalogue import listing

    if complexities:
        _list_complexities(kind, json=json)
        return
    entries = listing(None if kind is None else _kind(kind))
    if json:
        shown = ({"summary": entry.summary, "problem": entry.problem} for entry in entries)
        print_json([asdict(entry) | more for entry, more in zip(entries, shown, strict=True)])
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("kind", "id", "what it is", "package"):
        table.add_column(heading, no_wrap=heading in ("kind", "id"))
    last = None
    for entry in entries:
        if last not in (None, entry.kind):
            table.add_row()
        table.add_row(
            "" if last == entry.kind else f"[bold]{entry.kind}[/bold]",
            entry.id,
            f"[red]{escape(problem)}[/red]"
            if (problem := entry.problem)
            else escape(entry.summary),
            f"[dim]{entry.package} {entry.version}[/dim]",
        )
        last = entry.kind
    console().print(table)
    console().print("\n[dim]omnimeter show ID tells more about one of them.[/dim]")


LISTED = 12
"""Complexities that are listed one by one; of more, how far they reach."""


def _list_complexities(kind: str | None, *, json: bool) -> None:
    """Print which complexities the environment classes have with their defaults."""
    from rich.markup import escape
    from rich.table import Table

    from omnimeter.catalogue import Kind, listing, make
    from omnimeter.contract import InvalidInputError, OmnimeterError, Spec
    from omnimeter.protocols.sample import DRAWS, complexities_of

    if kind is not None and _kind(kind) is not Kind.ENVIRONMENT:
        message = f"Parts of the kind {kind} have no complexities."
        raise InvalidInputError(message, "Type: omnimeter list environment --complexities")
    rows: list[tuple[str, str, str]] = []
    data: list[dict[str, Any]] = []
    for entry in listing(Kind.ENVIRONMENT):
        try:
            known = complexities_of(make(Kind.ENVIRONMENT, Spec(entry.id)))
        except OmnimeterError as error:
            rows.append((entry.id, "", f"[dim]{escape(error.message)}[/dim]"))
            data.append({"id": entry.id, "problem": error.message})
            continue
        lowest, highest, drawn = known
        finite = None if isinf(highest) else highest
        data.append({"id": entry.id, "lowest": lowest, "highest": finite, "drawn": drawn})
        possible = f"{lowest:g}" if lowest == highest else f"{lowest:g} to {highest:g}"
        said = ", ".join(f"{each:g}" for each in drawn)
        if len(drawn) > LISTED:
            said = f"{len(drawn)} different ones, {drawn[0]:g} to {drawn[-1]:g}"
        rows.append((entry.id, possible.replace("inf", "∞"), said))
    if json:
        print_json(data)
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("class", "possible", f"of {DRAWS} environments drawn without a wish"):
        table.add_column(heading, no_wrap=heading == "class")
    for row in rows:
        table.add_row(*row)
    console().print(table)


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
    from omnimeter.catalogue import Kind, describe, listing
    from omnimeter.contract import InvalidInputError, UnknownNameError

    errors = []
    for each in list(Kind) if kind is None else [_kind(kind)]:
        try:
            description = describe(each, name)
        except UnknownNameError:
            continue
        except InvalidInputError as error:  # a location may hold a part of another kind
            errors.append(error)
            continue
        if each is Kind.REPRODUCTION:
            description = replace(description, parameters=[])
        if json:
            print_json(asdict(description))
        else:
            _print(description)
        return
    raise errors[0] if errors else UnknownNameError("part", name, [each.id for each in listing()])


def _kind(name: str) -> Kind:
    """The kind of a name, which may be in the plural."""
    from omnimeter.catalogue import Kind
    from omnimeter.contract import UnknownNameError

    if (singular := name.removesuffix("s")) not in set(Kind):
        raise UnknownNameError("kind of part", name, list(Kind))
    return Kind(singular)


def _print(description: Any) -> None:
    from rich.markup import escape
    from rich.table import Table

    from omnimeter.contract.text import clean, clean_line

    out = console()
    source = ", ".join(filter(None, (description.package, description.location)))
    out.print(f"[bold]{escape(clean_line(description.id))}[/bold]  [dim]{escape(source)}[/dim]\n")
    # Paragraphs as single lines, so that the terminal breaks them where it needs to.
    paragraphs = clean(description.doc).replace("``", "").partition("\nRaises:")[0].split("\n\n")
    lines = [each if each.startswith((" ", "-")) else " ".join(each.split()) for each in paragraphs]
    out.print("\n\n".join(lines), markup=False)
    if not description.parameters:
        return
    table = Table(box=None, pad_edge=False)
    for heading in ("parameter", "type", "default", "meaning"):
        table.add_column(heading, no_wrap=heading == "parameter")
    for each in description.parameters:
        default = "required" if each.required else repr(each.default)
        doc = clean(each.doc).replace("``", "")
        table.add_row(*map(escape, (each.name, each.annotation, default, doc)))
    out.print()
    out.print(table)
