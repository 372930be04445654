"""``omnimeter export``: stored results as a table for other programs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omnimeter.cli import options
from omnimeter.cli.display import busy, console, print_json
from omnimeter.cli.scores import damaged_json, leave_if_damaged


def export(
    directory: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="The directory of an evaluation or of a campaign."),
    ],
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="The file to write, .csv or .parquet (by default DIR/outcomes.csv).",
        ),
    ] = None,
    json: options.Json = False,
) -> None:
    """Write stored results as a table, one row for each exercise. Runs and imports nothing.

    Damaged files are left out and named; then it leaves with 4.
    """
    from omnimeter import results
    from omnimeter.contract import InvalidInputError
    from omnimeter.reports.text import counted

    target = out or directory / "outcomes.csv"
    if target.suffix not in (".csv", ".parquet"):
        message = f"{target} does not say in which form the table is wanted."
        raise InvalidInputError(message, "Name a file that ends in .csv or .parquet.")
    stored = results.open(directory, damaged="skip")
    with busy("Writing", hidden=json):
        rows = stored.export("csv" if target.suffix == ".csv" else "parquet", target)
    if json:
        print_json({"rows": rows, "file": str(target), "damaged": damaged_json(stored.damaged)})
    else:
        said = f"{counted(rows, 'exercise')}: {target}"
        console().print(said, soft_wrap=True, markup=False)
    leave_if_damaged(stored.damaged)
