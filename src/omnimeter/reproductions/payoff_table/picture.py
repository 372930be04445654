"""The table as a picture: colours for answers, frames for disagreements."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from omnimeter.reproductions.files import write_figure
from omnimeter.reproductions.payoff_table.columns import COLUMNS
from omnimeter.reproductions.payoff_table.features import FEATURES

if TYPE_CHECKING:
    from omnimeter.reproductions.payoff_table import Cell

COLOURS = {"Yes": "#cfe8dc", "No": "#f6ddd3", "*": "#ece7f2"}
OTHER = "#b5442b"


def draw(cells: Sequence[Cell], out: Path) -> dict[str, Path]:
    """Draw the table and write it."""
    from matplotlib.figure import Figure
    from matplotlib.patches import Rectangle

    figure = Figure(figsize=(12, 6.2), layout="constrained")
    axes = figure.add_subplot()
    for cell in cells:
        x = [column.name for column in COLUMNS].index(cell.column)
        y = cell.feature - 1
        axes.add_patch(Rectangle((x, y), 1, 1, facecolor=COLOURS[cell.ours], edgecolor="white"))
        axes.text(x + 0.5, y + 0.5, cell.ours, ha="center", va="center", fontsize=11)
        if not cell.agrees:
            corner = (x + 0.04, y + 0.06)
            axes.add_patch(Rectangle(corner, 0.92, 0.88, fill=False, edgecolor=OTHER, lw=2))
            axes.text(
                x + 0.92, y + 0.84, f"paper: {cell.published}", ha="right", va="center",
                fontsize=6.5, color=OTHER,
            )  # fmt: skip
    axes.set(xlim=(0, len(COLUMNS)), ylim=(len(FEATURES), 0))
    axes.set_xticks(
        [x + 0.5 for x in range(len(COLUMNS))],
        [f"{column.environments.name}\n{column.symbol}" for column in COLUMNS],
    )
    axes.set_yticks(
        [y + 0.5 for y in range(len(FEATURES))],
        [f"{number}. {question}" for number, (question, _) in enumerate(FEATURES, start=1)],
    )
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(
        "What each payoff does, decided by running agents. Framed: the paper says otherwise.",
        loc="left",
        fontsize=11,
        pad=12,
    )
    return write_figure(figure, out / "table")
