"""``omnimeter compare``: stored evaluations of the same test in one table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from omnimeter.cli import options
from omnimeter.cli.display import console, print_json


def compare(
    directories: Annotated[
        list[Path], typer.Argument(metavar="DIR", help="Stored evaluations of the same test.")
    ],
    reference: options.Reference = None,
    json: options.Json = False,
) -> None:
    """Say which agents of stored evaluations are better, in one table. Runs nothing.

    The evaluations must be of the same test: protocol, parameters and seed. Differences are
    paired, exercise by exercise or repetition by repetition; their intervals hold all at once.
    """
    from omnimeter.api import compare as combine
    from omnimeter.api.result import agent_of
    from omnimeter.cli.scores import print_table, print_troubles, scores_json
    from omnimeter.reports.scores import reliability_of
    from omnimeter.reports.summary import reliability_sentence
    from omnimeter.reports.tables import comparison_table

    result = combine(*directories)
    chosen = None if reference is None else agent_of(result.evaluation, reference)
    if json:
        print_json(scores_json(result, chosen))
        return
    print_table(comparison_table(result.judged, result.compare(chosen)))
    if sentence := reliability_sentence(reliability_of(result.judged)):
        console().print(f"\n{sentence}")
    print_troubles(result.judged)
