"""Curves of all agents, one panel for each size of environment (as Figures 5.3 and 5.5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnimeter.reproductions.files import write_figure
from omnimeter.reproductions.lambda_experiments.agents import Q_LEARNING
from omnimeter.reproductions.lambda_experiments.curves import Curve, curve_of
from omnimeter.reproductions.lambda_experiments.pictures import draw_curves
from omnimeter.reproductions.lambda_experiments.samples import Sample
from omnimeter.reproductions.pictures import head, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Curves = Mapping[int, Mapping[str, Curve]]
"""By the number of cells and the name of an agent its mean curve."""


def curves_of(found: Sequence[Sample]) -> Curves:
    """The mean curves of all agents in environments of all sizes."""
    return {
        sample.cells: {
            name: curve_of(sample.points, runs) for name, runs in sample.averages.items()
        }
        for sample in found
    }


def curve_rows(curves: Curves) -> list[dict[str, Any]]:
    """All mean curves as records."""
    return [
        {
            "cells": cells,
            "agent": name,
            "interactions": int(point),
            "value": float(value),
            "low": float(low),
            "high": float(high),
        }
        for cells, by_name in curves.items()
        for name, curve in by_name.items()
        for point, value, low, high in zip(
            curve.points, curve.value, curve.low, curve.high, strict=True
        )
    ]


def draw_sizes(
    curves: Curves, title: str, path: Path, learner_alone: Curves | None = None
) -> dict[str, Path]:
    """Draw a panel for each size.

    Args:
        curves: What the agents got.
        title: What is shown.
        path: Where to, without an ending.
        learner_alone: What they get alone, to compare Q-learning with; none by default.
    """
    from matplotlib.figure import Figure

    with look():
        figure = Figure(figsize=(13.2, 4.7))
        for place, (cells, by_name) in enumerate(curves.items()):
            panel = figure.add_axes((0.05 + 0.325 * place, 0.125, 0.215, 0.675))
            draw_curves(panel, by_name)
            panel.set_title(f"{cells} cells", loc="left", fontsize=10.5)
            if place:
                panel.set_ylabel("")
            if learner_alone:
                _draw_learner_alone(panel, learner_alone[cells][Q_LEARNING.name])
        head(figure, title, "Mean of the average reward so far, with its 95 % interval.")
        return write_figure(figure, path)


def _draw_learner_alone(panel: Axes, curve: Curve) -> None:
    panel.plot(curve.points, curve.value, "-", color=Q_LEARNING.colour, lw=0.8)
    panel.text(
        0.98 * curve.points[-1],
        float(curve.value[-1]) + 0.012,
        "Q-learning alone",
        ha="right",
        va="bottom",
        fontsize=8,
        color=Q_LEARNING.colour,
    )
