"""The figure of Table 3: score and level of three agents against the length of the test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from omnimeter.contract import Moment
from omnimeter.reports.look import MUTED
from omnimeter.reproductions.anytime_experiments.table3.cells import Found
from omnimeter.reproductions.anytime_experiments.table3.plan import (
    EARLY,
    FIRST_SLOT,
    KINDS,
    LATER,
    length,
    spoken,
)
from omnimeter.reproductions.files import write_figure
from omnimeter.reproductions.pictures import End, head, look, name_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TIMES = {1e-6: "1 µs", 1e-3: "1 ms", 1.0: "1 s", 60.0: "1 min", 3600.0: "1 h"}
HEIGHT_OF_LINE = 0.075
"""Of a panel."""


def draw(found: Found, out: Path) -> dict[str, Path]:
    """Draw both panels."""
    from matplotlib.figure import Figure

    with look():
        figure = Figure(figsize=(11.5, 4.9))
        score = figure.add_axes((0.05, 0.12, 0.385, 0.7))
        level = figure.add_axes((0.495, 0.12, 0.325, 0.7))
        _draw_scores(score, found)
        _draw_levels(level, found)
        for panel in (score, level):
            _mark_stages(panel)
        sittings = found.cells[-1].score.count
        head(
            figure,
            "Three kinds of agents in the anytime test, against its length",
            f"Definition 18 in the class {found.world.name}. Mean of {sittings} sittings after "
            "each round; bands are 95 % intervals of the score.",
        )
        return write_figure(figure, out / "table3")


def _draw_scores(axes: Axes, found: Found) -> None:
    for kind in KINDS:
        course = found.courses[kind.name]
        axes.plot(_times(course), [each.value for each in course], color=kind.colour, lw=1.7)
        low, high = zip(*(each.interval[:2] for each in course if each.interval), strict=True)
        # Before anything has happened all sittings are alike, and an interval says nothing.
        begun = next((place for place, each in enumerate(course) if each.value), len(course))
        axes.fill_between(
            _times(course)[begun:], low[begun:], high[begun:], color=kind.colour, alpha=0.16, lw=0
        )
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
    axes.set(ylabel="score", ylim=(-0.1, None))


def _draw_levels(axes: Axes, found: Found) -> None:
    for kind in KINDS:
        course = found.courses[kind.name]
        axes.plot(_times(course), [each.level for each in course], color=kind.colour, lw=1.7)
    lowest, highest = found.world.levels
    axes.set(yscale="log", ylim=(0.85 * lowest, 1.3 * highest), ylabel="level (complexity, bits)")
    ticks = [lowest, 2 * lowest, 100, 200, highest]
    axes.set_yticks(ticks, [f"{tick:.0f}" for tick in ticks])
    axes.set_yticks([], minor=True)
    for edge in (lowest, highest):
        axes.axhline(edge, color=MUTED, lw=0.7, ls=(0, (4, 3)), zorder=1)
    _name_ends(axes, found)


def _name_ends(axes: Axes, found: Found) -> None:
    """Who each line is, at the right, at the height of its end."""
    ends = [
        End(
            found.courses[kind.name][-1].level,
            f"{kind.title}\n{spoken(kind.pace)} per action",
            kind.colour,
        )
        for kind in KINDS
    ]
    name_ends(axes, ends, 2 * HEIGHT_OF_LINE)


def _mark_stages(axes: Axes) -> None:
    """The time axis, and when tests are stopped."""
    axes.set(xscale="log", xlabel="length of each sitting", xlim=(FIRST_SLOT, None))
    axes.set_xticks(list(TIMES), list(TIMES.values()))
    axes.set_xticks([], minor=True)
    axes.grid(axis="y")
    for name, rounds in (("early", EARLY), ("later", LATER)):
        axes.axvline(length(rounds), color=MUTED, lw=0.8, ls=":")
        axes.annotate(
            name, (length(rounds), 1.0), xycoords=("data", "axes fraction"),
            xytext=(-3, 2), textcoords="offset points", ha="center", fontsize=8, color=MUTED,
        )  # fmt: skip


def _times(course: Sequence[Moment]) -> list[float]:
    return [each.length for each in course]
