"""Figures of how values are distributed, as data and drawn: histograms, and boxes side by side."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.reports import style
from omnimeter.reports.text import counted, number, short_labels

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

BINS = 20
"""Bins of a histogram, at least; fewer where values are few."""


@dataclass(frozen=True, slots=True)
class Histogram:
    """How many values are in each bin, with what is told of all of them."""

    label: str
    counts: tuple[int, ...]
    mean: float
    deviation: float | None


@dataclass(frozen=True, slots=True)
class HistogramFigure:
    """Histograms with the same bins, each in a panel of its own.

    Attributes:
        edges: The edges of the bins, one more than there are bins.
        unit: What is counted, one of them.
    """

    name: str
    title: str
    caption: str
    axis: str
    edges: tuple[float, ...]
    histograms: tuple[Histogram, ...]
    unit: str


@dataclass(frozen=True, slots=True)
class Box:
    """The quartiles of some values, their mean, and how far they reach.

    Attributes:
        low: The lowest value that is no outlier: no more than 1.5 times the distance of the
            quartiles below the first.
        high: The highest, likewise.
        outliers: The other values.
    """

    low: float
    first: float
    median: float
    third: float
    high: float
    mean: float
    count: int
    outliers: tuple[float, ...] = ()

    @classmethod
    def of(cls, values: ArrayLike) -> Box:
        """The box of one value or more."""
        known = np.sort(np.asarray(values, dtype=np.float64))
        first, median, third = np.quantile(known, (0.25, 0.5, 0.75)).tolist()
        reach = 1.5 * (third - first)
        inside = known[(known >= first - reach) & (known <= third + reach)]
        outside = np.setdiff1d(known, inside).tolist()
        ends = float(inside[0]), float(inside[-1])
        return cls(
            ends[0], first, median, third, ends[1], float(known.mean()), len(known), tuple(outside)
        )


@dataclass(frozen=True, slots=True)
class BoxFigure:
    """Boxes of several agents side by side, at each of several places.

    Attributes:
        across: What the places are.
        upwards: What the values are.
        places: The names of the places.
        boxes: The boxes of each agent, by its name, one for each place.
    """

    name: str
    title: str
    caption: str
    across: str
    upwards: str
    places: tuple[str, ...]
    boxes: tuple[tuple[str, tuple[Box, ...]], ...]


def histograms(values: Mapping[str, ArrayLike], unit: str, axis: str) -> HistogramFigure:
    """The histograms of the values of some agents.

    Args:
        values: The values of each, one or more, by its name.
        unit: What each of them is of.
        axis: What they are.
    """
    known = {name: np.asarray(each, dtype=np.float64).ravel() for name, each in values.items()}
    every = np.concatenate([*known.values()])
    low, high = float(every.min()), float(every.max())
    if low == high:
        low, high = low - 0.5, high + 0.5
    bins = int(np.clip(np.ceil(np.sqrt(max(map(len, known.values())))) + 2, 5, BINS))
    edges = np.linspace(low, high, bins + 1)
    return HistogramFigure(
        "histograms",
        f"{axis}s of all {unit}s",
        f"How often which {axis.lower()}, over all {unit}s. The line is the mean.",
        axis,
        tuple(edges.tolist()),
        tuple(
            Histogram(
                name,
                tuple(np.histogram(each, edges)[0].tolist()),
                float(each.mean()),
                float(each.std(ddof=1)) if len(each) > 1 else None,
            )
            for name, each in known.items()
        ),
        unit,
    )


def draw_histograms(figure: HistogramFigure, places: Mapping[str, int], canvas: Canvas) -> None:
    """Draw each histogram into a panel, all with the same axes."""
    columns = min(3, len(figure.histograms))
    rows = -(-len(figure.histograms) // columns)
    canvas.set_size_inches(style.WIDTH, rows * 2.1 + 0.4)
    panels = canvas.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
    names = short_labels(each.label for each in figure.histograms)
    edges = np.array(figure.edges)
    for order, axes in enumerate(panels):
        if order >= len(figure.histograms):
            axes.set_visible(False)
            continue
        each = figure.histograms[order]
        axes.bar(
            edges[:-1], each.counts, width=np.diff(edges), align="edge", linewidth=0.6,
            color=style.colour(places[each.label], len(places)), edgecolor=style.SURFACE, alpha=0.7,
        )  # fmt: skip
        axes.axvline(each.mean, color=style.INK, linewidth=1.6)
        said = f"mean {number(each.mean, 3)}"
        said += "" if each.deviation is None else f", SD {number(each.deviation, 3)}"
        axes.set_title(f"{names[each.label]}\n{said}", loc="left", color=style.INK, pad=4)
        axes.grid(visible=True, axis="y")
        axes.locator_params(axis="x", nbins=5)
        axes.yaxis.get_major_locator().set_params(integer=True)
        axes.spines["left"].set_visible(False)
        if order + columns >= len(figure.histograms):
            axes.tick_params(labelbottom=True)
    canvas.supxlabel(figure.axis, fontsize=style.SMALL, color=style.MUTED)
    canvas.supylabel(f"{figure.unit.capitalize()}s", fontsize=style.SMALL, color=style.MUTED)


def draw_boxes(figure: BoxFigure, places: Mapping[str, int], canvas: Canvas) -> None:
    """Draw boxes side by side; a line connects the means of an agent."""
    canvas.set_size_inches(style.WIDTH, 3.9)
    axes = canvas.add_subplot()
    low, high = np.inf, -np.inf
    names = short_labels(label for label, _ in figure.boxes)
    width = 0.8 / len(figure.boxes)
    for order, (label, boxes) in enumerate(figure.boxes):
        shift = width * (order - (len(figure.boxes) - 1) / 2)
        at = np.arange(len(boxes)) + shift
        colour = style.colour(places[label], len(places))
        for x, box in zip(at.tolist(), boxes, strict=True):
            _box(axes, x, box, 0.8 * width, colour)
            low, high = min(low, box.low, *box.outliers), max(high, box.high, *box.outliers)
        axes.plot(
            at, [box.mean for box in boxes], color=colour, linewidth=1.2, zorder=4,
            marker=style.marker(places[label], len(places)), markersize=5.5,
            markeredgecolor=style.SURFACE, markeredgewidth=0.6, label=names[label],
        )  # fmt: skip
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    axes.set_ylim(low - margin, high + margin)
    if low <= 0 <= high:
        axes.axhline(0, color=style.MUTED, linewidth=0.9, zorder=1)
    axes.grid(visible=True, axis="y")
    axes.spines["left"].set_visible(False)
    axes.set_xlim(-0.6, len(figure.places) - 0.4)
    turned = max(map(len, figure.places)) * len(figure.places) > 80
    axes.set_xticks(
        range(len(figure.places)), figure.places, rotation=25 * turned,
        ha="right" if turned else "center", rotation_mode="anchor",
    )  # fmt: skip
    axes.set_xlabel(figure.across)
    axes.set_ylabel(figure.upwards)
    canvas.legend(
        *axes.get_legend_handles_labels(), loc="outside upper left", ncols=len(figure.boxes),
        frameon=False, fontsize=style.SMALL, labelcolor=style.INK,
    )  # fmt: skip


def _box(axes: Axes, x: float, box: Box, width: float, colour: str) -> None:
    from matplotlib.patches import Rectangle

    for ends in ((box.low, box.first), (box.third, box.high)):
        axes.vlines(x, *ends, color=colour, linewidth=1.0, zorder=2)
    corner = x - width / 2, box.first
    shape = Rectangle(corner, width, box.third - box.first, facecolor=colour, alpha=0.25, zorder=2)
    axes.add_patch(shape)
    border = Rectangle(
        corner, width, box.third - box.first, fill=False, edgecolor=colour, linewidth=1.0, zorder=2
    )
    axes.add_patch(border)
    axes.hlines(box.median, x - width / 2, x + width / 2, color=style.INK, linewidth=1.8, zorder=3)
    if box.outliers:
        axes.scatter(
            [x] * len(box.outliers), box.outliers, s=9, color=colour, alpha=0.7, linewidths=0
        )


def boxes(
    name: str,
    title: str,
    values: Mapping[str, Sequence[ArrayLike]],
    places: Sequence[str],
    axes: tuple[str, str],
) -> BoxFigure:
    """The boxes of the values of some agents.

    Args:
        name: A short name, for files and anchors.
        title: What it shows.
        values: The values of each agent at each place, by its name.
        places: The names of the places.
        axes: What the places are, and what the values.
    """
    made = tuple((label, tuple(map(Box.of, each))) for label, each in values.items())
    count = max(box.count for _, own in made for box in own)
    return BoxFigure(
        name,
        title,
        "A box reaches from the first to the third quartile; the short line in it is the median, "
        "the marker the mean. The whiskers reach to the last value within 1.5 times the height of "
        f"the box, dots are values beyond. Each box is of {counted(count, 'participant')}.",
        *axes,
        tuple(places),
        made,
    )
