"""``omnimeter report``: the page of a stored evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omnimeter.cli import options
from omnimeter.cli.display import busy, console, print_json
from omnimeter.cli.scores import made_json, print_result, print_seed, print_warnings


def report(
    directory: Annotated[
        Path, typer.Argument(metavar="DIRECTORY", help="The directory of an evaluation.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="The page to write (by default DIR/report.html)."),
    ] = None,
    payoff: Annotated[
        str | None,
        typer.Option(metavar="PAYOFF", help="Judge the kept traces by another payoff."),
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print LaTeX tables instead.")] = False,
    trust: options.Trust = False,
    json: options.Json = False,
) -> None:
    """Score a stored evaluation again and write its report page. Runs nothing.

    Code that only the evaluation names is not imported without --trust.
    """
    from omnimeter.api import load
    from omnimeter.reports import latex_table, result_json

    result = load(directory, payoff=payoff, trust=trust)
    print_warnings(result)
    if latex:
        typer.echo(latex_table(result.judged))
        return
    with busy("Writing the report", hidden=json):
        page = result.report(out)
    if json:
        data = {**result_json(result.judged), "memory": result.memory, **made_json(result)}
        print_json({**data, "report": str(page), "directory": str(directory)})
        return
    print_result(result.judged)
    print_seed(result)
    console().print(f"report: {page}", soft_wrap=True, markup=False)
