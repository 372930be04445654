"""The figure of the battery, after Figures 6.3 and 6.4 and Table 6.2 of the Lambda thesis."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.reproductions.files import write_figure
from omnimeter.reproductions.lambda_experiments.agents import Q_LEARNING, Reference
from omnimeter.reproductions.lambda_experiments.battery.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOUR = Q_LEARNING.colour
INK = "#1f2430"
FAINT = "#d5dae2"


def draw(
    results: Results, small: Results, agents: Sequence[Reference], out: Path
) -> dict[str, Path]:
    """Draw Q-learning's results among those of the other agents.

    Args:
        results: All tests.
        small: The first of them, as many as in the thesis.
        agents: Who took them.
        out: Where to write.
    """
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(11.5, 8.6), layout=ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.12))
    ((histogram, boxes), (scatter, strength)) = figure.subplots(2, 2)
    _histogram(histogram, results, small)
    _boxes(boxes, results, small, agents)
    _scatter(scatter, results, small, agents)
    _strength(strength, results, small)
    for axes in (histogram, boxes, scatter, strength):
        axes.spines[["top", "right"]].set_visible(False)
        axes.title.set(fontsize=10.5, ha="left", position=(0, 1))
    figure.suptitle(
        f"The battery of Table 6.1: Q-learning in {small.tests} tests and in {results.tests:,}",
        x=0.01,
        ha="left",
        fontweight="bold",
    )
    return write_figure(figure, out / "battery")


def _histogram(axes: Axes, results: Results, small: Results) -> None:
    """Figure 6.3: how often which reward."""
    few, all_of_them = (part.rewards[Q_LEARNING.name].ravel() for part in (small, results))
    places = np.linspace(-1, 1, 401)
    axes.hist(
        few, bins=np.linspace(-1, 1, 21).tolist(), density=True, color=COLOUR, alpha=0.28,
        edgecolor="white", label=f"{few.size} exercises of {small.tests} tests",
    )  # fmt: skip
    axes.plot(places, density(few, places), color=COLOUR, lw=1.4, ls="--", label="their density")
    axes.plot(
        places, density(all_of_them, places), color=COLOUR, lw=2.2,
        label=f"density of {results.tests:,} tests",
    )  # fmt: skip
    average = float(np.mean(all_of_them))
    axes.axvline(average, color=INK, lw=0.9)
    axes.annotate(
        f"mean {average:.3f}\nsd {np.std(all_of_them, ddof=1):.3f}",
        (average, 0.97), xycoords=("data", "axes fraction"), xytext=(6, 0),
        textcoords="offset points", va="top", fontsize=9, color=INK,
    )  # fmt: skip
    axes.set(
        title="How often which result", xlabel="average reward of an exercise", ylabel="density",
        xlim=(-1, 1),
    )  # fmt: skip
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")


def density(values: FloatArray, places: FloatArray) -> FloatArray:
    """The estimated density of values in [-1, 1], none of which leaks out at the ends."""
    from scipy.stats import gaussian_kde

    estimate = gaussian_kde(values)
    mirrored = (estimate(at) for at in (places, 2 - places, -2 - places))
    return np.asarray(sum(mirrored), dtype=np.float64)


def _boxes(axes: Axes, results: Results, small: Results, agents: Sequence[Reference]) -> None:
    """Figure 6.4, left: results by number of cells, means connected."""
    rewards = results.rewards[Q_LEARNING.name]
    axes.axhline(0, color=FAINT, lw=0.8)
    axes.boxplot(
        list(rewards.T), positions=results.cells.tolist(), widths=0.56, showfliers=False,
        patch_artist=True, boxprops={"facecolor": "#fbe6d8", "edgecolor": COLOUR, "lw": 0.9},
        medianprops={"color": INK, "lw": 1.8}, whiskerprops={"color": COLOUR, "lw": 0.9},
        capprops={"color": COLOUR, "lw": 0.9}, manage_ticks=False,
    )  # fmt: skip
    aside = np.random.default_rng(0).uniform(-0.17, 0.17, size=small.complexity.shape)
    axes.plot(
        (small.cells + aside).ravel(), small.rewards[Q_LEARNING.name].ravel(), "o", ms=2.6,
        color=COLOUR, alpha=0.55, mew=0,
    )  # fmt: skip
    for agent in agents:
        main = agent is Q_LEARNING
        means = results.rewards[agent.name].mean(axis=0)
        axes.plot(
            results.cells, means, agent.line, color=agent.colour, marker=agent.marker,
            ms=5 if main else 3.5, lw=2.2 if main else 1.2, label=agent.title, zorder=4 + main,
        )  # fmt: skip
    axes.set(
        title=f"By number of cells: boxes, means of {results.tests:,} tests; dots of {small.tests}",
        xlabel="cells", ylabel="average reward", ylim=(-1.05, 1.08), xticks=results.cells.tolist(),
    )  # fmt: skip
    axes.legend(frameon=False, fontsize=8.5, ncols=3, loc="lower center")


def _scatter(axes: Axes, results: Results, small: Results, agents: Sequence[Reference]) -> None:
    """Figure 6.4, right: rewards against complexity, with regression lines."""
    axes.axhline(0, color=FAINT, lw=0.8)
    aside = np.random.default_rng(0).uniform(-0.25, 0.25, size=small.complexity.size)
    axes.plot(
        small.complexity.ravel() + aside, small.rewards[Q_LEARNING.name].ravel(), "o", ms=3.6,
        color=COLOUR, alpha=0.5, mew=0,
    )  # fmt: skip
    ends = np.array([small.complexity.min(), small.complexity.max()])
    axes.plot(ends, small.line(Q_LEARNING.name).at(ends), "--", color=COLOUR, lw=1.4)
    for agent in agents:
        main = agent is Q_LEARNING
        axes.plot(
            ends, results.line(agent.name).at(ends), agent.line, color=agent.colour,
            lw=2.4 if main else 1.2,
        )  # fmt: skip
    axes.plot(*results.along_complexity(Q_LEARNING.name), color=INK, lw=1.0)
    found = results.correlation(Q_LEARNING.name)
    axes.annotate(
        f"Q-learning: r = {found.value:.3f} [{found.low:.3f}, {found.high:.3f}]\n"
        f"in {small.tests} tests: r = {small.correlation(Q_LEARNING.name).value:.3f} (dashed)\n"
        "black: its mean at each length",
        (0.98, 0.02), xycoords="axes fraction", ha="right", va="bottom", fontsize=9, color=COLOUR,
    )  # fmt: skip
    axes.set(
        title=f"Against complexity: dots of {small.tests} tests, lines of {results.tests:,}",
        xlabel="Kapprox: compressed length of the pattern in bytes", ylabel="average reward",
        ylim=(-1.05, 1.08),
    )  # fmt: skip


def _strength(axes: Axes, results: Results, small: Results) -> None:
    """Table 6.2 as a picture: the correlation for each number of cells."""
    axes.axhline(0, color=INK, lw=0.8)
    for part, aside, fill, size in ((small, -0.12, "white", 5.5), (results, 0.12, COLOUR, 6.5)):
        found = part.correlations(Q_LEARNING.name)
        values = np.array([each.value for each in found])
        ends = np.array([(each.low, each.high) for each in found]).T
        axes.errorbar(
            part.cells + aside, values, np.abs(ends - values), fmt="o", color=COLOUR, mfc=fill,
            ms=size, lw=1.3, capsize=2.5, label=f"{part.tests:,} tests",
        )  # fmt: skip
    axes.set(
        title="Correlation by number of cells, with 95 % intervals",
        xlabel="cells", ylabel="Pearson's r", ylim=(-1, 0.85), xticks=results.cells.tolist(),
    )  # fmt: skip
    axes.legend(frameon=False, fontsize=8.5, loc="upper left", ncols=2)
