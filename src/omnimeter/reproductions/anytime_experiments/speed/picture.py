"""The figure of what speed is worth: score against slowness, a panel for each agent."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from omnimeter.reports.look import MUTED, SMALL
from omnimeter.reproductions.anytime_experiments.speed.found import Found
from omnimeter.reproductions.anytime_experiments.speed.plan import (
    AGENTS,
    DEFINITIONS,
    ENVIRONMENTS,
    PACE,
    Examined,
)
from omnimeter.reproductions.files import write_figure
from omnimeter.reproductions.pictures import head, look

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOWEST, HIGHEST = -0.2, 0.9
"""Scores that are shown."""

HEIGHT_OF_NAME = 0.15
"""Of a panel."""

LEFT, WIDTH, BETWEEN = 0.045, 0.245, 0.022
"""Of the figure: where the first panel begins, how wide it is, and the gap to the next."""


def draw(found: Found, out: Path) -> dict[str, Path]:
    """Draw a panel for each agent, and name the definitions beside the last."""
    from matplotlib.figure import Figure

    with look():
        figure = Figure(figsize=(13.2, 4.7))
        for place, agent in enumerate(AGENTS):
            left = LEFT + place * (WIDTH + BETWEEN)
            panel = figure.add_axes((left, 0.125, WIDTH, 0.675))
            _draw_agent(panel, found, agent)
            panel.set_title(agent.title, loc="left", fontsize=10.5)
            if place:
                panel.set_yticklabels([])
            else:
                panel.set_ylabel("score")
        _name_definitions(panel, found)
        head(
            figure,
            "The same agent, slower and slower",
            f"Scores with 95 % intervals, class {ENVIRONMENTS['id'].removesuffix('-v1')}. "
            f"The fastest copy takes {1000 * PACE:g} ms per action.",
        )
        return write_figure(figure, out / "speed")


def _draw_agent(axes: Axes, found: Found, agent: Examined) -> None:
    for each in DEFINITIONS:
        series = found.of(agent, each.number)
        scores = [series.score(slowness) for slowness in series.values]
        value = [score.value for score in scores]
        low, high = [score.low for score in scores], [score.high for score in scores]
        style = "-" if each.timed else "--"
        axes.fill_between(found.slowness, low, high, color=each.colour, alpha=0.14, lw=0)
        axes.plot(found.slowness, value, style, color=each.colour, lw=1.6, marker=each.marker, ms=4)
    axes.set(xscale="log", ylim=(LOWEST, HIGHEST), xlabel="times slower")
    axes.set_xticks(found.slowness, [f"{slowness}" for slowness in found.slowness])
    axes.set_xticks([], minor=True)
    axes.grid(axis="y")
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)


def _name_definitions(axes: Axes, found: Found) -> None:
    """The names of all definitions at the right, in the order in which their lines begin."""
    fastest = found.slowness[0]
    start = {each: found.of(AGENTS[0], each.number).score(fastest).value for each in DEFINITIONS}
    for place, each in enumerate(sorted(DEFINITIONS, key=lambda each: -start[each])):
        height = 0.85 - HEIGHT_OF_NAME * place
        axes.plot(
            [1.04, 1.12], [height] * 2, "-" if each.timed else "--", color=each.colour, lw=1.6,
            marker=each.marker, ms=4, transform=axes.transAxes, clip_on=False,
        )  # fmt: skip
        axes.annotate(
            each.title.replace(", ", "\n", 1), (1.15, height), xycoords="axes fraction",
            va="center", fontsize=SMALL, color=each.colour, linespacing=1.05,
            annotation_clip=False,
        )  # fmt: skip
