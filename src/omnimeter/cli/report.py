"""``omnimeter report``: the page of a stored evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omnimeter.cli.display import busy, console, print_json
from omnimeter.cli.scores import print_result


def report(
    directory: Annotated[Path, typer.Argument(help="The directory of an evaluation.")],
    out: Annotated[
        Path | None, typer.Option(help="The page to write (by default DIR/report.html).")
    ] = None,
    payoff: Annotated[
        str | None, typer.Option(help="Judge the kept traces by another payoff.")
    ] = None,
    latex: Annotated[bool, typer.Option("--latex", help="Print a LaTeX table instead.")] = False,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Score a stored evaluation again and write its report page. Runs nothing."""
    from omnimeter.catalogue import Kind, parse
    from omnimeter.protocols import Evaluation, summarise
    from omnimeter.reports import latex_table, rejudge, result_json, write_report
    from omnimeter.results import Record

    record = Record(directory)
    evaluation = Evaluation.from_json(record.spec)
    chosen = None if payoff is None else parse(Kind.PAYOFF, payoff)

    if chosen is None:  # noqa: SIM108 - mypy follows it only this way
        result = summarise(evaluation, record.outcomes())
    else:
        result = rejudge(record, chosen)
    if latex:
        typer.echo(latex_table(result))
        return
    with busy("Writing the report", hidden=json):
        page = write_report(record, out, payoff=chosen)
    if json:
        print_json({**result_json(result), "report": str(page), "directory": str(directory)})
        return
    print_result(result)
    console().print(f"report: {page}", soft_wrap=True)
