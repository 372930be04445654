"""``omnimeter report``: the page of an evaluation, of several of one test, or of a campaign."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omnimeter.cli import options
from omnimeter.cli.display import busy, console, print_json, shorten, slow_progress
from omnimeter.cli.scores import (
    damaged_json,
    leave_if_damaged,
    made_json,
    print_result,
    print_seed,
    print_warnings,
)


def report(
    directories: Annotated[
        list[Path],
        typer.Argument(
            metavar="DIR",
            help="The directory of an evaluation, several of the same test, or that of a campaign.",
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

    That of a campaign comes with folders latex and data. Code that only the evaluation names is
    not imported without --trust. Damaged files are left out and named; then it leaves with 4.
    """
    from omnimeter.api import load, merge
    from omnimeter.contract import InvalidInputError
    from omnimeter.reports import latex_table, result_json

    if len(directories) == 1 and (directories[0] / "campaign.json").is_file():
        _report_campaign(directories[0], out, payoff=payoff, latex=latex, trust=trust, json=json)
        return
    several = len(directories) > 1
    if several and out is None and not latex:
        raise InvalidInputError(
            "The page of several evaluations needs a place.", "For example: --out report.html"
        )
    loaded = [load(each, payoff=payoff, trust=trust, damaged="skip") for each in directories]
    result = merge(*loaded) if several else loaded[0]
    shorten(result.agents)
    print_warnings(result)
    if latex:
        typer.echo(latex_table(result.judged))
        leave_if_damaged(result.record.damaged)
        return
    with busy("Writing the report", hidden=json):
        page = result.report(out)
    if json:
        data = {**result_json(result.judged), "memory": result.memory, **made_json(result)}
        places = [str(each) for each in directories]
        where = {"directories": places} if several else {"directory": places[0]}
        print_json({**data, "report": str(page), **where})
    else:
        print_result(result.judged)
        print_seed(result)
        console().print(f"report: {page}", soft_wrap=True, markup=False)
    leave_if_damaged(result.record.damaged)


def _report_campaign(
    directory: Path, out: Path | None, *, payoff: str | None, latex: bool, trust: bool, json: bool
) -> None:
    """Write the report of a campaign."""
    from omnimeter.api.campaign import Campaign
    from omnimeter.contract import InvalidInputError
    from omnimeter.reports.campaign_page import write_campaign_report

    if payoff is not None:
        message = "The traces of a whole campaign cannot be judged by another payoff."
        advice = f"Give one of its evaluations: omnimeter report {directory}/evaluations/NAME"
        raise InvalidInputError(message, advice)
    study = Campaign.open(directory).study
    with slow_progress(hidden=json) as tell:
        report, written = write_campaign_report(study, out, trust=trust, tell=tell)
    if latex:
        for file in sorted(written["latex"].glob("*-*.tex")):
            if not file.stem.endswith(("-scores", "-differences")):
                continue
            typer.echo(f"% {file.stem}\n{file.read_text(encoding='utf-8')}")
    elif json:
        print_json(
            {
                "directory": str(directory),
                "complete": report.complete,
                "result": list(report.sentences),
                "scores": [each.to_json() for each in report.scores],
                **{name: str(path) for name, path in written.items()},
                "damaged": damaged_json(study.damaged),
            }
        )
    else:
        out_console = console()
        out_console.print(" ".join(report.sentences), markup=False)
        if not report.complete:
            out_console.print("Not all exercises are done.")
        for name, path in written.items():
            out_console.print(f"{name}: {path}", soft_wrap=True, markup=False)
    leave_if_damaged(study.damaged)
