"""The figures of an evaluation as files of their own, for papers and slides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from omnimeter.contract import Spec
from omnimeter.reports.contents import gather
from omnimeter.reports.ink import save_figure
from omnimeter.results import durable

if TYPE_CHECKING:
    from omnimeter.results import Record


def write_figures(
    record: Record, directory: Path, kind: str = "svg", payoff: Spec | None = None
) -> list[Path]:
    """Write each figure of an evaluation into a file named like the figure.

    Args:
        record: The evaluation.
        directory: Where the files go.
        kind: ``svg``, ``pdf`` or ``png``.
        payoff: Judge its traces by this payoff instead of its own.

    Returns:
        The files that were written.

    Raises:
        InvalidInputError: Another payoff cannot be computed, or there is no such kind of file.
        StoreError: The record cannot be read or a file cannot be written.
    """
    contents = gather(record, payoff)
    durable.make_directory(directory)
    paths = []
    for figure in contents.figures:
        paths.append(directory / f"{figure.name}.{kind}")
        save_figure(figure, contents.places, paths[-1])
    return paths
