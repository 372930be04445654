"""``omnimeter explain``: what the words of tables and reports mean."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from omnimeter.cli import options
from omnimeter.cli.display import console, print_json


def explain(
    term: Annotated[
        str | None,
        typer.Argument(metavar="TERM", help="A word of a table or a report; all if left out."),
    ] = None,
    json: options.Json = False,
) -> None:
    """Explain a word of the tables and reports in a sentence or two."""
    from omnimeter.reports.glossary import TERMS, explained

    known = TERMS if term is None else (explained(term),)
    if json:
        print_json([asdict(each) for each in known])
        return
    if term is None:
        console().print(", ".join(each.name for each in known), markup=False)
        console().print("\nomnimeter explain TERM explains one of them.", style="dim")
        return
    for each in known:
        console().print(f"{each.name}: {each.text}", markup=False)
        source = f"{each.source}; " if each.source else ""
        console().print(f"({source}docs/{each.page})", style="dim", markup=False, soft_wrap=True)
