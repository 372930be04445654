"""Drawing curves: together where there are few, each in a panel of its own where there are many."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from omnimeter.contract import FloatArray
from omnimeter.reports import look
from omnimeter.reports.labels import short_labels
from omnimeter.reports.shapes import Curve, CurveFigure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

_HEIGHT, _PANEL = 3.7, 1.75
"""Inches: of a figure, and of a panel where there are many."""

_COLUMNS = 3
_DODGE = 0.05
"""How far bars at the same place are put apart, as a part of the distance between places."""

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
        _curve(axes, curve, shift, figure.banded, look.SERIES[place], look.MARKERS[place])
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
        _curve(axes, curve, 0.0, figure.banded, look.SERIES[0], look.MARKERS[0])
        _furnish(axes)
        axes.locator_params(nbins=4)
        axes.set_title(names[curve.label], loc="left", color=look.INK, pad=4)
        if order + _COLUMNS >= len(figure.curves):
            axes.tick_params(labelbottom=True)
    canvas.supxlabel(figure.across, fontsize=look.SMALL, color=look.MUTED)
    canvas.supylabel(figure.upwards, fontsize=look.SMALL, color=look.MUTED)


def _curve(
    axes: Axes, curve: Curve, shift: float, banded: bool, colour: str, marker: str
) -> None:
    across = np.array(curve.places) + shift
    lows, highs = _ends(curve)
    if banded:
        axes.fill_between(across, lows, highs, color=colour, alpha=0.16, linewidth=0)
    else:
        axes.vlines(across, lows, highs, color=colour, linewidth=1.6, alpha=0.5)
    sparse = max(1, len(across) // 6) if banded else 1
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
    """Room for all values and their intervals."""
    numbers = np.concatenate(
        [np.array((*curve.values, *curve.lows, *curve.highs), dtype=float) for curve in curves]
    )
    low, high = float(np.nanmin(numbers)), float(np.nanmax(numbers))
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
            [1.0, 1.04],
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


def moved_apart(wanted: Sequence[float], sizes: Sequence[float]) -> list[float]:
    """Heights as near as possible to the wanted ones at which things of these sizes do not meet.

    Things that would meet become a block around the middle of what they wanted, until none do.

    Args:
        wanted: Where the middle of each would best be, between 0 and 1.
        sizes: How tall each is.
    """
    order = sorted(range(len(wanted)), key=lambda item: wanted[item])
    blocks: list[tuple[list[int], float]] = []
    for item in order:
        members, bottom = [item], wanted[item] - sizes[item] / 2
        while blocks and blocks[-1][1] + _extent(blocks[-1][0], sizes) > bottom:
            members = blocks.pop()[0] + members
            bottom = _bottom(members, wanted, sizes)
        blocks.append((members, bottom))
    heights = [0.0] * len(wanted)
    for members, bottom in blocks:
        reached = bottom
        for item in members:
            heights[item] = reached + sizes[item] / 2
            reached += sizes[item]
    return heights


def _extent(members: Sequence[int], sizes: Sequence[float]) -> float:
    return sum(sizes[item] for item in members)


def _bottom(members: Sequence[int], wanted: Sequence[float], sizes: Sequence[float]) -> float:
    """Where a block begins whose members are nearest to where they want to be."""
    before, shifts = 0.0, 0.0
    for item in members:
        shifts += wanted[item] - sizes[item] / 2 - before
        before += sizes[item]
    return shifts / len(members)
