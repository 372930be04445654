"""Drawing curves: together where there are few, each in a panel of its own where there are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.reports import look
from omnimeter.reports.labels import short_labels
from omnimeter.reports.placing import moved_apart
from omnimeter.reports.scales_ink import part_of_width, set_scale
from omnimeter.reports.shapes import Curve, CurveFigure, Scale

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_HEIGHT, _PANEL = 3.7, 1.75
"""Inches: of a figure, and of a panel where there are many."""

_COLUMNS = 3
_DODGE = 0.05
"""How far bars at the same place are put apart, as a part of the distance between places."""

_LONG = 3.0
"""How many times as long as the middle one an interval may be and still be drawn in full."""

_MARKS, _FEW_MARKS = 8, 4
"""Marks on a logarithmic axis: of a figure, and of a panel."""

_LINE = 0.062
"""How much of the height of a figure one line of text takes."""


def draw_curves(figure: CurveFigure, places: Mapping[str, int], canvas: Canvas) -> None:
    """Draw curves with their intervals."""
    if look.few(len(places)):
        _together(figure, places, canvas)
    else:
        _apart(figure, canvas)


def _together(figure: CurveFigure, places: Mapping[str, int], canvas: Canvas) -> None:
    canvas.set_size_inches(look.WIDTH, _HEIGHT)
    axes = canvas.add_subplot()
    axes.set_ylim(*_limits(figure.curves))
    step = 0.0 if figure.banded else _DODGE * _spacing(figure.curves)
    for order, curve in enumerate(figure.curves):
        shift = step * (order - (len(figure.curves) - 1) / 2)
        place = places[curve.label]
        _curve(axes, curve, shift, figure, look.SERIES[place], look.MARKERS[place])
    set_scale(axes, figure, _MARKS)
    _furnish(axes)
    axes.set_xlabel(figure.across)
    axes.set_ylabel(figure.upwards)
    _name(axes, figure.curves, places)


def _apart(figure: CurveFigure, canvas: Canvas) -> None:
    """One panel for each curve, with the first one in grey behind it for comparison."""
    rows = -(-len(figure.curves) // _COLUMNS)
    canvas.set_size_inches(look.WIDTH, rows * _PANEL + 0.4)
    panels = canvas.subplots(rows, _COLUMNS, sharex=True, sharey=True, squeeze=False).flat
    names = short_labels(curve.label for curve in figure.curves)
    limits = _limits(figure.curves)
    best = figure.curves[0]
    for order, axes in enumerate(panels):
        if order >= len(figure.curves):
            axes.set_visible(False)
            continue
        curve = figure.curves[order]
        axes.set_ylim(*limits)
        if order:
            axes.plot(best.places, best.values, color=look.MUTED, linewidth=1.0, alpha=0.6)
        mark = "" if figure.banded else look.MARKERS[0]
        _curve(axes, curve, 0.0, figure, look.SERIES[0], mark)
        set_scale(axes, figure, _FEW_MARKS)
        _furnish(axes)
        if figure.scale is Scale.EVEN:
            axes.locator_params(axis="x", nbins=5)
        axes.locator_params(axis="y", nbins=4)
        axes.set_title(names[curve.label], loc="left", color=look.INK, pad=4)
        if order + _COLUMNS >= len(figure.curves):
            axes.tick_params(labelbottom=True)
    canvas.supxlabel(figure.across, fontsize=look.SMALL, color=look.MUTED)
    canvas.supylabel(figure.upwards, fontsize=look.SMALL, color=look.MUTED)


def _curve(
    axes: Axes, curve: Curve, shift: float, figure: CurveFigure, colour: str, marker: str
) -> None:
    across = np.array(curve.places) + shift
    lows, highs = _ends(curve)
    if figure.banded:
        seen = _seen(axes, lows, highs) if figure.scale is not Scale.EVEN else None
        axes.fill_between(across, lows, highs, where=seen, color=colour, alpha=0.16, linewidth=0)
    else:
        _bars(axes, across, lows, highs, colour)
    sparse = max(1, len(across) // 6) if figure.banded else 1
    axes.plot(
        across,
        curve.values,
        color=colour,
        linewidth=1.7,
        marker=marker,
        markevery=(sparse // 2, sparse),
        markersize=5.0,
        markeredgecolor=look.SURFACE,
        markeredgewidth=0.6,
        zorder=3,
    )


def _seen(axes: Axes, lows: FloatArray, highs: FloatArray) -> list[bool]:
    """Where an interval ends inside the figure; elsewhere it would darken the whole height.

    Early in a test, which a logarithmic axis shows at length, almost nothing is known.
    """
    bottom, top = axes.get_ylim()
    return [bool(seen) for seen in (lows > bottom) | (highs < top)]


def _bars(axes: Axes, across: FloatArray, lows: FloatArray, highs: FloatArray, colour: str) -> None:
    """An interval at each place; dotted where it does not fit into the figure."""
    low, high = axes.get_ylim()
    fits = (lows >= low) & (highs <= high)
    for chosen, width, dashes in ((fits, 1.6, "solid"), (~fits, 1.0, (0, (1, 2.5)))):
        ends = across[chosen], np.maximum(lows, low)[chosen], np.minimum(highs, high)[chosen]
        axes.vlines(*ends, color=colour, linewidth=width, linestyle=dashes, alpha=0.5)


def _ends(curve: Curve) -> tuple[FloatArray, FloatArray]:
    """The ends of the intervals, not a number where there is none."""
    lows, highs = np.array(curve.lows, dtype=float), np.array(curve.highs, dtype=float)
    return lows, highs


def _furnish(axes: Axes) -> None:
    low, high = axes.get_ylim()
    if low <= 0 <= high:
        axes.axhline(0, color=look.MUTED, linewidth=0.9, zorder=1)
    axes.grid(visible=True, axis="y")
    axes.spines["left"].set_visible(False)


def _limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """Room for all values and their intervals.

    A few intervals that are much longer than the others would flatten everything else. They are
    cut off at the edge.
    """
    values = np.concatenate([np.array(curve.values) for curve in curves])
    lows, highs = (np.concatenate(ends) for ends in zip(*map(_ends, curves), strict=True))
    reaches = (highs - lows) / 2
    known = ~np.isnan(reaches)
    longest = _LONG * float(np.median(reaches[known])) if known.any() else 0.0
    low = float(min(np.min(values), *np.maximum(lows, values - longest)[known], np.inf))
    high = float(max(np.max(values), *np.minimum(highs, values + longest)[known], -np.inf))
    room = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return low - room, high + room


def _spacing(curves: Sequence[Curve]) -> float:
    """The smallest distance between two places."""
    everywhere = np.unique(np.concatenate([curve.places for curve in curves]))
    return float(np.min(np.diff(everywhere), initial=np.inf)) if len(everywhere) > 1 else 1.0


def _name(axes: Axes, curves: Sequence[Curve], places: Mapping[str, int]) -> None:
    """Write the name of each curve at the height of its end, moved apart where they would meet."""
    low, high = axes.get_ylim()
    names = short_labels(curve.label for curve in curves)
    ends = [(curve.values[-1] - low) / (high - low) for curve in curves]
    tall = [_LINE * (1 + names[curve.label].count("\n")) for curve in curves]
    for curve, end, height in zip(curves, ends, moved_apart(ends, tall), strict=True):
        place = places[curve.label]
        colour = look.SERIES[place]
        axes.plot(
            [part_of_width(axes, curve.places[-1]), 1.04],
            [end, height],
            transform=axes.transAxes,
            color=colour,
            linewidth=0.8,
            alpha=0.6,
            clip_on=False,
        )
        axes.plot(
            [1.04],
            [height],
            transform=axes.transAxes,
            color=colour,
            marker=look.MARKERS[place],
            markersize=6,
            clip_on=False,
        )
        axes.text(
            1.06,
            height,
            names[curve.label],
            transform=axes.transAxes,
            verticalalignment="center",
            fontsize=look.NORMAL,
            linespacing=1.1,
        )
