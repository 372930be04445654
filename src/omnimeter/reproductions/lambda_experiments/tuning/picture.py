"""The figure of the tuning: mean reward over learning rate and discount factor."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.reproductions.files import write_figure
from omnimeter.reproductions.lambda_experiments.tuning.grid import Grid, Place

if TYPE_CHECKING:
    from matplotlib.axes import Axes

INK = "#1f2430"
NEAR = 0.01
"""What is less than this below the best is outlined."""


def draw(grid: Grid, best: Place, published: Place, out: Path) -> dict[str, Path]:
    """Draw the grid as a map, and some of its rows as curves."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.5, 5.2), layout="constrained")
    heat, curves = figure.subplots(1, 2, width_ratios=(1.25, 1))
    _heat(heat, grid, best, published)
    _curves(curves, grid, published)
    figure.legend(
        *heat.get_legend_handles_labels(),
        loc="outside lower left",
        ncols=3,
        frameon=False,
        fontsize=9,
    )
    figure.suptitle(
        f"Mean reward of Q-learning in {grid.sessions} sessions, by learning rate and discount",
        x=0.01,
        ha="left",
        fontweight="bold",
    )
    return write_figure(figure, out / "tuning")


def _heat(axes: Axes, grid: Grid, best: Place, published: Place) -> None:
    picture = axes.pcolormesh(grid.gammas, grid.alphas, grid.means, cmap="cividis", lw=0)
    bar = axes.figure.colorbar(picture, ax=axes, pad=0.02)
    bar.outline.set_visible(False)
    bar.set_label("mean reward")
    _outline(axes, grid)
    for place, marker, size, label in (
        (best, "*", 13, f"best: {grid.named(best)} ({grid.means[best]:.3f})"),
        (published, "o", 9, f"published: {grid.named(published)} ({grid.means[published]:.3f})"),
    ):
        axes.plot(
            grid.gammas[place[1]], grid.alphas[place[0]], marker, ms=size, mfc="none",
            mec="#c1121f", mew=1.8, ls="none", label=label,
        )  # fmt: skip
    axes.plot([], [], color=INK, lw=1.4, label=f"within {NEAR} of the best")
    axes.set(xlabel="gamma (discount factor)", ylabel="alpha (learning rate)")
    axes.spines[:].set_visible(False)


def _outline(axes: Axes, grid: Grid) -> None:
    """A line around the combinations that are hardly worse than the best."""
    near = grid.means >= grid.means.max() - NEAR
    step_x, step_y = grid.gammas[1] - grid.gammas[0], grid.alphas[1] - grid.alphas[0]
    for row, column in np.argwhere(near):
        x, y = grid.gammas[column] - step_x / 2, grid.alphas[row] - step_y / 2
        sides = (
            ((row - 1, column), (x, x + step_x), (y, y)),
            ((row + 1, column), (x, x + step_x), (y + step_y, y + step_y)),
            ((row, column - 1), (x, x), (y, y + step_y)),
            ((row, column + 1), (x + step_x, x + step_x), (y, y + step_y)),
        )
        for (other_row, other_column), xs, ys in sides:
            inside = 0 <= other_row < near.shape[0] and 0 <= other_column < near.shape[1]
            if not (inside and near[other_row, other_column]):
                axes.plot(xs, ys, color=INK, lw=1.4, solid_capstyle="round")


def _curves(axes: Axes, grid: Grid, published: Place) -> None:
    rows = sorted({published[0], *(grid.place(alpha, 0)[0] for alpha in (0.25, 0.5, 1.0))})
    colours = ("#c1121f", "#d98b2b", "#5a8f7b", "#33658a")
    means, errors = grid.means, _errors(grid)
    for row, colour in zip(rows, colours, strict=False):
        low, high = means[row] - 1.96 * errors[row], means[row] + 1.96 * errors[row]
        axes.fill_between(grid.gammas, low, high, color=colour, alpha=0.13, lw=0)
        axes.plot(
            grid.gammas, means[row], marker="o", ms=3, lw=1.7, color=colour,
            label=f"alpha {grid.alphas[row]:.2f}",
        )  # fmt: skip
    axes.axvline(0.5, color=INK, lw=0.8, ls=":")
    axes.annotate(
        "beyond, getting nothing is worth\nmore than the initial value, and\n"
        "nothing new is tried any more",
        (0.5, 0.99), xycoords=("data", "axes fraction"), xytext=(6, 0),
        textcoords="offset points", va="top", fontsize=8.5, color=INK,
    )  # fmt: skip
    axes.set(xlabel="gamma (discount factor)", ylabel="mean reward", ylim=(0, None))
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8.5, loc="lower left")


def _errors(grid: Grid) -> FloatArray:
    """The standard error of each combination's mean."""
    spread = grid.rewards.reshape(*grid.means.shape, -1).std(axis=-1, ddof=1)
    return np.asarray(spread / np.sqrt(grid.sessions), dtype=np.float64)
