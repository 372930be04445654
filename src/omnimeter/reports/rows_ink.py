"""Drawing figures with one line for each agent: dots with intervals, and strips of payoffs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.reports import look
from omnimeter.reports.labels import short_labels
from omnimeter.reports.shapes import Dot, DotFigure, Strip, StripFigure
from omnimeter.reports.wording import NOTHING, counted, decimals, number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_ROW, _LINE, _MARGIN = 0.30, 0.13, 0.62
"""Inches: a line of the figure, each line of its label, and what is around them."""

_BINS = 70
_DOT_STEP, _HALF_STRIP = 0.085, 0.36
"""How far dots of nearly the same payoff are put apart, and how far from their line at most."""


def draw_dots(figure: DotFigure, places: Mapping[str, int], canvas: Canvas) -> None:
    """Draw values with their intervals."""
    axes = _lines(canvas, [dot.label for dot in figure.dots], figure.axis, _ROW)
    shown = [n for dot in figure.dots for n in (dot.value, dot.low, dot.high) if n is not None]
    digits = decimals(shown)
    for line, dot in enumerate(figure.dots):
        _dot(axes, line, dot, places[dot.label], len(places))
        _beside(axes, line, *_dot_words(dot, digits))
    _fit(axes, [*shown, 0.0])
    axes.axvline(0, color=look.MUTED, linewidth=0.9, zorder=1)


def draw_strips(figure: StripFigure, places: Mapping[str, int], canvas: Canvas) -> None:
    """Draw single payoffs."""
    axes = _lines(canvas, [strip.label for strip in figure.strips], figure.axis, _ROW + 0.16)
    everything = [payoff for strip in figure.strips for payoff in strip.payoffs]
    _fit(axes, everything)
    low, high = axes.get_xlim()
    if low <= 0 <= high:
        axes.axvline(0, color=look.MUTED, linewidth=0.9, zorder=1)
    for line, strip in enumerate(figure.strips):
        _strip(axes, line, strip, (low, high), look.colour(places[strip.label], len(places)))
        _beside(axes, line, counted(strip.count, figure.unit))


def _lines(canvas: Canvas, labels: Sequence[str], axis: str, row: float) -> Axes:
    """Axes with one line for each label, the first on top."""
    names = list(short_labels(labels).values())
    height = sum(row + _LINE * name.count("\n") for name in names) + _MARGIN
    canvas.set_size_inches(look.WIDTH, height)
    axes = canvas.add_subplot()
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_yticks(range(len(labels)), names, color=look.INK, fontsize=look.NORMAL)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True, axis="x")
    axes.set_xlabel(axis)
    axes.locator_params(axis="x", nbins=6)
    return axes


def _fit(axes: Axes, numbers: Sequence[float]) -> None:
    """Leave some room around the numbers, even if there is only one."""
    low, high = min(numbers), max(numbers)
    room = 0.05 * (high - low) or 0.1 * abs(high) or 1.0
    axes.set_xlim(low - room, high + room)


def _dot(axes: Axes, line: int, dot: Dot, place: int, agents: int) -> None:
    if dot.value is None:
        return
    colour = look.colour(place, agents)
    known = dot.low is not None and dot.high is not None
    if dot.low is not None and dot.high is not None:
        axes.hlines(line, dot.low, dot.high, color=colour, linewidth=2.6, alpha=0.45, zorder=2)
    axes.plot(
        [dot.value],
        [line],
        marker=look.marker(place, agents),
        markersize=7.5,
        color=colour,
        markerfacecolor=colour if known else look.SURFACE,
        markeredgecolor=look.SURFACE if known else colour,
        markeredgewidth=0.8 if known else 1.6,
        zorder=3,
        clip_on=False,
    )


def _dot_words(dot: Dot, digits: int) -> tuple[str, str]:
    if dot.value is None:
        return NOTHING, "no score"
    if dot.low is None or dot.high is None:
        return number(dot.value, digits), "no interval"
    return number(dot.value, digits), f"{number(dot.low, digits)} … {number(dot.high, digits)}"


def _beside(axes: Axes, line: int, main: str, aside: str = "") -> None:
    """Write at the right end of a line: a number, right-aligned, and something beside it."""
    columns = [(main, 50.0 if aside else 10.0, "right" if aside else "left", look.INK)]
    columns += [(aside, 62.0, "left", look.MUTED)] if aside else []
    for text, distance, side, colour in columns:
        axes.annotate(
            text,
            (1.0, line),
            xycoords=axes.get_yaxis_transform(),
            xytext=(distance, 0),
            textcoords="offset points",
            horizontalalignment=side,
            verticalalignment="center_baseline",
            fontsize=look.SMALL,
            color=colour,
            annotation_clip=False,
        )


def _strip(axes: Axes, line: int, strip: Strip, limits: tuple[float, float], colour: str) -> None:
    if strip.mean is None:
        return
    payoffs = np.array(strip.payoffs)
    axes.scatter(
        payoffs,
        line + _offsets(payoffs, limits),
        s=11,
        color=colour,
        alpha=0.55,
        linewidths=0,
        zorder=2,
        clip_on=False,
    )
    axes.vlines(strip.mean, line - 0.3, line + 0.3, color=look.INK, linewidth=2.0, zorder=3)


def _offsets(payoffs: FloatArray, limits: tuple[float, float]) -> FloatArray:
    """How far each dot is moved from its line, so that dots of about the same payoff are seen."""
    bins = np.floor((payoffs - limits[0]) / (limits[1] - limits[0]) * _BINS)
    offsets = np.zeros(len(payoffs))
    for each in np.unique(bins):
        inside = np.flatnonzero(bins == each)
        reach = min(_HALF_STRIP, _DOT_STEP * (len(inside) - 1) / 2)
        # Alternating sides, so that neighbours in payoff do not form a slanted line.
        spread = np.linspace(-reach, reach, len(inside))
        offsets[inside] = spread[np.argsort(np.argsort(np.arange(len(inside)) * 7 % len(inside)))]
    return offsets
