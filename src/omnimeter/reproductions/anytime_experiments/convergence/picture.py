"""The figure of convergence: scores of many tests, widths of intervals, and what narrows them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from omnimeter.reports.look import INK, MUTED
from omnimeter.reproductions.anytime_experiments.convergence.found import Found
from omnimeter.reproductions.anytime_experiments.convergence.law import sitting_spread
from omnimeter.reproductions.files import write_figure
from omnimeter.reproductions.pictures import End, head, look, name_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes

HEIGHT_OF_LINE = 0.075
"""Of a panel."""

LINES = ("random", "q-learning", "model-learner", "torus-agent")
"""Whose single tests are drawn."""

SHORT = 8
"""After how many exercises longer sittings and more of them are compared."""


def draw(found: Found, out: Path) -> dict[str, Path]:
    """Draw the three panels."""
    from matplotlib.figure import Figure

    with look():
        figure = Figure(figsize=(13.2, 4.9))
        scores, widths, ways = (
            figure.add_axes((left, 0.125, width, 0.635))
            for left, width in ((0.05, 0.2), (0.385, 0.19), (0.735, 0.18))
        )
        _draw_scores(scores, found)
        _draw_widths(widths, found)
        _draw_ways(ways, found)
        count, _, sittings = next(iter(found.values())).rewards.shape
        head(
            figure,
            "Longer tests are better, with the logarithm of their length",
            f"{count} tests of Definition 19 for each agent, each with a seed of its own and "
            f"{sittings} sittings; in automata, dashed in the torus. On the right, how the spread "
            "of the score falls\nfrom short sittings on: if they get longer, by agent, and if "
            "there are more of them.",
        )
        return write_figure(figure, out / "convergence")


def _draw_scores(axes: Axes, found: Found) -> None:
    ends = {}
    for name in LINES:
        tests = found[name]
        colour = tests.subject.colour
        for running in tests.scores.mean(axis=2):
            axes.plot(tests.lengths, running, color=colour, lw=0.5, alpha=0.55)
        ends[tests.subject.title] = (tests.score(len(tests.lengths)).value, colour)
    axes.set(ylim=(-0.4, 0.7), ylabel="score when the test is stopped here")
    axes.set_title("scores of single tests", loc="left", fontsize=10.5)
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
    _lengths(axes, found)
    _name(axes, {f"{name}: {end:.2f}": (end, colour) for name, (end, colour) in ends.items()})


def _draw_widths(axes: Axes, found: Found) -> None:
    ends = {}
    for tests in found.values():
        width = tests.widths.mean(axis=0)
        subject = tests.subject
        axes.plot(tests.lengths, width, subject.line, color=subject.colour, lw=1.7)
        ends[f"{subject.title}: {width[-1]:.3f}"] = (float(width[-1]), subject.colour)
    axes.set_yscale("log")
    axes.set(ylim=(0.01, 2), ylabel="mean width of the 95 % interval")
    axes.set_yticks(ticks := [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2], [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.set_title("width of the interval", loc="left", fontsize=10.5)
    _lengths(axes, found)
    _name(axes, ends)


def _draw_ways(axes: Axes, found: Found) -> None:
    """How the spread falls from that of short sittings: if they get longer, or more."""
    ends = {}
    place = min(SHORT, len(next(iter(found.values())).lengths) - 1) - 1
    for name in LINES:
        tests = found[name]
        spread, subject = sitting_spread(tests)[place:], tests.subject
        times = tests.lengths[place:] / tests.lengths[place]
        relative = spread / spread[0]
        axes.plot(times, relative, subject.line, color=subject.colour, lw=1.7)
        ends[subject.title] = (float(relative[-1]), subject.colour)
    axes.plot(times, 1 / np.sqrt(times), ":", color=INK, lw=1.3)
    ends["more sittings"] = (float(1 / np.sqrt(times[-1])), INK)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set(xlim=(1, times[-1]), ylim=(0.015, 1.1))
    axes.set_yticks(ticks := [0.02, 0.05, 0.1, 0.2, 0.5, 1], [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.set(xlabel=f"times the interactions of sittings of {tests.lengths[place]:,.0f}")
    axes.set_ylabel("spread of the score, as a part of theirs")
    axes.set_title("longer sittings, or more", loc="left", fontsize=10.5)
    axes.grid(axis="y")
    _name(axes, ends)


def _lengths(axes: Axes, found: Found) -> None:
    longest = max(float(tests.lengths[-1]) for tests in found.values())
    axes.set_xscale("log")
    axes.set(xlim=(1, longest), xlabel="interactions in a sitting")
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.grid(axis="y")


def _name(axes: Axes, ends: dict[str, tuple[float, str]]) -> None:
    """The name of each curve beside its end, at the right of a panel."""
    named = [End(value, name, colour) for name, (value, colour) in ends.items()]
    name_ends(axes, named, HEIGHT_OF_LINE)
