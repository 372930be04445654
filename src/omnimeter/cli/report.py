"""``omnimeter report``: the page of a stored evaluation, or of several of the same test."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omnimeter.cli import options
from omnimeter.cli.display import busy, console, print_json
from omnimeter.cli.scores import made_json, print_result, print_seed, print_warnings


def report(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR", help="The directory of an evaluation, or several of the same test."
        ),
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

    Several evaluations of the same test become one: with the exercises and the agents of all. Its
    page needs --out.

    Code that only the evaluation names is not imported without --trust.
    """
    from omnimeter.api import load, merge
    from omnimeter.contract import InvalidInputError
    from omnimeter.reports import latex_table, result_json

    several = len(directories) > 1
    if several and out is None and not latex:
        raise InvalidInputError(
            "The page of several evaluations needs a place.", "For example: --out report.html"
        )
    loaded = [load(each, payoff=payoff, trust=trust) for each in directories]
    result = merge(*loaded) if several else loaded[0]
    print_warnings(result)
    if latex:
        typer.echo(latex_table(result.judged))
        return
    with busy("Writing the report", hidden=json):
        page = result.report(out)
    if json:
        data = {**result_json(result.judged), "memory": result.memory, **made_json(result)}
        places = [str(each) for each in directories]
        where = {"directories": places} if several else {"directory": places[0]}
        print_json({**data, "report": str(page), **where})
        return
    print_result(result.judged)
    print_seed(result)
    console().print(f"report: {page}", soft_wrap=True, markup=False)
