"""Rewards of all agents against complexity, with a line for Q-learning (as Figures 5.4 and 5.6)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.reports.look import INK, MUTED, SMALL
from omnimeter.reproductions.estimates import said
from omnimeter.reproductions.files import write_figure
from omnimeter.reproductions.lambda_experiments.agents import (
    FOLLOWER,
    ORACLE,
    Q_LEARNING,
    RANDOM,
    REFERENCES,
)
from omnimeter.reproductions.lambda_experiments.measures import MEASURES, Measure
from omnimeter.reproductions.lambda_experiments.relations import (
    Relation,
    among,
    complexities,
    relations_of,
    rewards,
)
from omnimeter.reproductions.lambda_experiments.samples import Sample
from omnimeter.reproductions.pictures import head, look
from omnimeter.statistics import Estimate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_relations(
    found: Sequence[Sample], related: Sequence[Relation], title: str, path: Path
) -> dict[str, Path]:
    """Draw two panels, for environments of the largest size and for all, in a row per measure."""
    from matplotlib.figure import Figure

    with look():
        figure = Figure(figsize=(12.4, 9.4))
        for row, measure in enumerate(MEASURES):
            lines = relations_of(related, Q_LEARNING, measure)
            for place, (where, chosen) in enumerate(among(found).items()):
                corner = (0.055 + 0.48 * place, 0.525 - 0.465 * row)
                panel = figure.add_axes((*corner, 0.445, 0.36))
                _draw_panel(panel, chosen, measure, lines[where])
                if place:
                    panel.set_ylabel("")
        handles, names = panel.get_legend_handles_labels()
        figure.legend(
            [handles[names.index(agent.title)] for agent in REFERENCES],
            [agent.title for agent in REFERENCES],
            loc="upper right",
            bbox_to_anchor=(0.988, 0.978),
            ncols=len(names),
            frameon=False,
            handletextpad=0.2,
            columnspacing=1.4,
            fontsize=9.5,
            labelcolor="linecolor",
        )
        below = "One point per agent and environment. The line is that of Q-learning."
        head(figure, title, f"{below} Rows: two readings of complexity.")
        return write_figure(figure, path)


def _draw_panel(
    panel: Axes, chosen: Sequence[Sample], measure: Measure, relation: Relation
) -> None:
    x = complexities(chosen, measure)
    _draw_points(panel, chosen, x)
    _draw_line(panel, x, relation)
    cells = ", ".join(str(sample.cells) for sample in chosen)
    panel.set_title(f"{len(x)} environments of {cells} cells", loc="left", fontsize=10.5)
    panel.set(xlabel=measure.axis)
    panel.xaxis.set_major_formatter(lambda length, _: f"{length:,.0f}")


def _draw_points(panel: Axes, chosen: Sequence[Sample], x: FloatArray) -> None:
    for agent in (RANDOM, FOLLOWER, ORACLE, Q_LEARNING):  # the one in question lies on top
        panel.plot(
            x,
            rewards(chosen, agent.name),
            agent.marker,
            ms=4.6,
            mfc=agent.colour,
            mec="white",
            mew=0.4,
            alpha=0.75,
            color=agent.colour,
            label=agent.title,
            ls="none",
        )
    panel.set(ylim=(-0.42, 1.06), ylabel="average reward")
    panel.grid(axis="y")
    panel.axhline(0, color=MUTED, lw=0.7, zorder=1)


def _draw_line(panel: Axes, x: FloatArray, relation: Relation) -> None:
    ends = np.array([x.min(), x.max()])
    panel.plot(ends, relation.line.at(ends), "-", color="white", lw=4.2, zorder=4)
    panel.plot(ends, relation.line.at(ends), "-", color=Q_LEARNING.colour, lw=2.2, zorder=5)
    slope, strength = (_written(each) for each in (relation.slope, relation.correlation))
    panel.text(
        0.015,
        0.03,
        f"Q-learning: slope {slope} for {relation.measure.unit},\ncorrelation {strength}",
        transform=panel.transAxes,
        va="bottom",
        fontsize=SMALL,
        color=INK,
    )


def _written(estimate: Estimate) -> str:
    return said(estimate, 2).replace("-", "\N{MINUS SIGN}")
