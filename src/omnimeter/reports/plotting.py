"""Drawing figures with matplotlib: axes, curves, rows, and files."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import log10
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.contract import InvalidInputError
from omnimeter.contract.agent import FloatArray
from omnimeter.reports import style
from omnimeter.reports.distributions import (
    BoxFigure,
    HistogramFigure,
    draw_boxes,
    draw_histograms,
)
from omnimeter.reports.figures import (
    Curve,
    CurveFigure,
    DotFigure,
    Figure,
    Scale,
    StripFigure,
    without_band,
)
from omnimeter.reports.text import (
    MISSING,
    counted,
    decimals,
    duration,
    grouped,
    number,
    range_texts,
    short_labels,
)
from omnimeter.reports.time_figures import BoundsFigure, TimeFigure, draw_bounds, draw_times
from omnimeter.results import files

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


_LINEAR = (Scale.EVEN, Scale.VALUES, Scale.BINS)


def _set_scale(axes: Axes, figure: CurveFigure, marks: int) -> None:
    """How far the horizontal axis goes, and what is written at its marks, of which so many fit."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, LogLocator, NullLocator

    if figure.scale is Scale.BINS:
        ranges = _ranges(figure)
        labels = [
            f"{text} ({_counts(figure, each)})"
            for each, text in zip(ranges, range_texts(ranges), strict=True)
        ]
        axes.set_xlim(-0.5, len(ranges) - 0.5)
        slanted = {"rotation": 35, "ha": "right"} if marks > _FEW_MARKS else {"rotation": 90}
        axes.set_xticks(range(len(ranges)), labels, rotation_mode="anchor", **slanted)
        return
    bare = figure.banded and not any(curve.points for curve in figure.curves)
    axes.margins(x=0.0 if bare else 0.03)
    if figure.scale in _LINEAR:
        if figure.banded and figure.scale is Scale.EVEN:  # from the beginning of time
            axes.set_xlim(left=0)
        return
    places = [place for curve in figure.curves for place in curve.places]
    first, last = min(places), max(places)
    margin = (last / first) ** (0.01 if figure.banded else 0.03)
    axes.set_xscale("log")
    axes.set_xlim(first / margin, last * margin)
    # Over fewer than two powers of ten there are marks between them too.
    between = (1.0, 2.0, 5.0) if log10(last / first) < 2 else (1.0,)
    locator = LogLocator(subs=between, numticks=marks)
    marked = [place for place in locator.tick_values(first, last) if first <= place <= last]
    # Where a range is so narrow that there would be one mark or none, its ends are marked.
    axes.xaxis.set_major_locator(locator if len(marked) > 1 else FixedLocator([first, last]))
    axes.xaxis.set_minor_locator(NullLocator())

    def label(place: float, _: int | None) -> str:
        if figure.scale is Scale.SECONDS:
            return duration(place)
        return f"{place / 1e6:g} million" if place >= 1e6 else grouped(place)

    # Not the usual powers of ten, which would need the mathematical text that labels must not be.
    axes.xaxis.set_major_formatter(FuncFormatter(label))


_FEW_MARKS = 4
"""So many marks fit into a panel of several."""


def _ranges(figure: CurveFigure) -> list[tuple[float, float]]:
    """All ranges of a figure, in ascending order."""
    return sorted({each for curve in figure.curves for each in curve.bins})


def _counts(figure: CurveFigure, chosen: tuple[float, float]) -> str:
    """From how many exercises the values in a range are."""
    counts = [
        count
        for curve in figure.curves
        for each, count in zip(curve.bins, curve.counts, strict=True)
        if each == chosen
    ]
    return " to ".join(dict.fromkeys((str(min(counts)), str(max(counts)))))


def _places(curve: Curve, figure: CurveFigure) -> FloatArray:
    """Where the values of a curve are drawn: in the order of the ranges, or where they are."""
    ranges = _ranges(figure) if figure.scale is Scale.BINS else []
    return np.array([ranges.index(each) for each in curve.bins] if ranges else curve.places, float)


_ROW, _LINE, _ROWS_MARGIN = 0.30, 0.13, 0.62
"""Inches: a line of the figure, each line of its label, and what is around them."""


def _draw_dots(figure: DotFigure, places: Mapping[str, int], canvas: Canvas) -> None:
    axes = _lines(canvas, [dot.label for dot in figure.dots], figure.axis, _ROW)
    shown = [n for dot in figure.dots for n in (dot.value, dot.low, dot.high) if n is not None]
    digits = decimals(shown)
    for line, dot in enumerate(figure.dots):
        if dot.value is None:
            _annotate(axes, line, MISSING, "no score")
            continue
        place, agents = places[dot.label], len(places)
        colour, ends = style.colour(place, agents), "no interval"
        known = dot.low is not None and dot.high is not None
        if dot.low is not None and dot.high is not None:
            axes.hlines(line, dot.low, dot.high, color=colour, linewidth=2.6, alpha=0.45, zorder=2)
            ends = f"{number(dot.low, digits)} … {number(dot.high, digits)}"
        axes.plot(
            [dot.value],
            [line],
            marker=style.marker(place, agents),
            markersize=7.5,
            color=colour,
            markerfacecolor=colour if known else style.SURFACE,
            markeredgecolor=style.SURFACE if known else colour,
            markeredgewidth=0.8 if known else 1.6,
            zorder=3,
            clip_on=False,
        )
        _annotate(axes, line, number(dot.value, digits), ends)
    _fit(axes, [*shown, 0.0])
    axes.axvline(0, color=style.MUTED, linewidth=0.9, zorder=1)


def _draw_strips(figure: StripFigure, places: Mapping[str, int], canvas: Canvas) -> None:
    axes = _lines(canvas, [strip.label for strip in figure.strips], figure.axis, _ROW + 0.16)
    _fit(axes, [payoff for strip in figure.strips for payoff in strip.payoffs])
    low, high = axes.get_xlim()
    if low <= 0 <= high:
        axes.axvline(0, color=style.MUTED, linewidth=0.9, zorder=1)
    for line, strip in enumerate(figure.strips):
        if strip.mean is not None:
            payoffs = np.array(strip.payoffs)
            axes.scatter(
                payoffs,
                line + _offsets(payoffs, low, high),
                s=11,
                color=style.colour(places[strip.label], len(places)),
                alpha=0.55,
                linewidths=0,
                zorder=2,
                clip_on=False,
            )
            ends = line - 0.3, line + 0.3
            axes.vlines(strip.mean, *ends, color=style.INK, linewidth=2.0, zorder=3)
        _annotate(axes, line, counted(strip.count, figure.unit))


def _lines(canvas: Canvas, labels: Sequence[str], axis: str, row: float) -> Axes:
    """Axes with one line for each label, the first on top."""
    names = list(short_labels(labels).values())
    height = sum(row + _LINE * name.count("\n") for name in names) + _ROWS_MARGIN
    canvas.set_size_inches(style.WIDTH, height)
    axes = canvas.add_subplot()
    axes.set_ylim(len(labels) - 0.5, -0.5)
    axes.set_yticks(range(len(labels)), names, color=style.INK, fontsize=style.NORMAL)
    axes.spines["left"].set_visible(False)
    axes.grid(visible=True, axis="x")
    axes.set_xlabel(axis)
    axes.locator_params(axis="x", nbins=6)
    return axes


def _fit(axes: Axes, numbers: Sequence[float]) -> None:
    """Leave a margin around the numbers, even if there is only one."""
    low, high = min(numbers), max(numbers)
    margin = 0.05 * (high - low) or 0.1 * abs(high) or 1.0
    axes.set_xlim(low - margin, high + margin)


def _annotate(axes: Axes, line: int, main: str, aside: str = "") -> None:
    """Write at the right end of a line: a number, right-aligned, and a note after it."""
    columns = [(main, 50.0 if aside else 10.0, "right" if aside else "left", style.INK)]
    columns += [(aside, 62.0, "left", style.MUTED)] if aside else []
    for text, distance, side, colour in columns:
        axes.annotate(
            text,
            (1.0, line),
            xycoords=axes.get_yaxis_transform(),
            xytext=(distance, 0),
            textcoords="offset points",
            horizontalalignment=side,
            verticalalignment="center_baseline",
            fontsize=style.SMALL,
            color=colour,
            annotation_clip=False,
        )


def _offsets(payoffs: FloatArray, low: float, high: float) -> FloatArray:
    """How far each dot is moved from its line, so that dots of about the same payoff are seen."""
    bins = np.floor((payoffs - low) / (high - low) * 70)
    offsets = np.zeros(len(payoffs))
    for each in np.unique(bins):
        inside = np.flatnonzero(bins == each)
        reach = min(0.36, 0.085 * (len(inside) - 1) / 2)
        # Alternating sides, so that neighbours in payoff do not form a slanted line.
        spread = np.linspace(-reach, reach, len(inside))
        offsets[inside] = spread[np.argsort(np.argsort(np.arange(len(inside)) * 7 % len(inside)))]
    return offsets


def _in_one_panel(figure: CurveFigure, places: Mapping[str, int], canvas: Canvas) -> None:
    canvas.set_size_inches(style.WIDTH, 3.7)
    axes = canvas.add_subplot()
    axes.set_ylim(*_limits(figure.curves))
    everywhere = np.unique(np.concatenate([_places(curve, figure) for curve in figure.curves]))
    spacing = float(np.min(np.diff(everywhere))) if len(everywhere) > 1 else 1.0
    step = 0.0 if figure.banded else 0.05 * spacing  # so that bars at the same place are seen
    for order, curve in enumerate(figure.curves):
        shift = step * (order - (len(figure.curves) - 1) / 2)
        place = places[curve.label]
        _curve(axes, curve, shift, figure, style.SERIES[place], style.MARKERS[place])
    _set_scale(axes, figure, 2 * _FEW_MARKS)
    _furnish(axes)
    axes.set_xlabel(figure.across)
    axes.set_ylabel(figure.upwards)
    _name(axes, figure, places)


def _in_panels(figure: CurveFigure, canvas: Canvas) -> None:
    """One panel for each curve, with the first one in grey behind it for comparison."""
    columns = 3
    rows = -(-len(figure.curves) // columns)
    canvas.set_size_inches(style.WIDTH, rows * 1.75 + 0.4)
    panels = canvas.subplots(rows, columns, sharex=True, sharey=True, squeeze=False).flat
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
            before = _places(best, figure), _joined(best)
            axes.plot(*before, color=style.MUTED, linewidth=1.0, alpha=0.6)
        mark = "" if figure.banded else style.MARKERS[0]
        _curve(axes, curve, 0.0, figure, style.SERIES[0], mark)
        _set_scale(axes, figure, _FEW_MARKS)
        _furnish(axes)
        if figure.scale in _LINEAR and figure.scale is not Scale.BINS:
            axes.locator_params(axis="x", nbins=5)
        axes.locator_params(axis="y", nbins=4)
        axes.set_title(names[curve.label], loc="left", color=style.INK, pad=4)
        if order + columns >= len(figure.curves):
            axes.tick_params(labelbottom=True)
    canvas.supxlabel(figure.across, fontsize=style.SMALL, color=style.MUTED)
    canvas.supylabel(figure.upwards, fontsize=style.SMALL, color=style.MUTED)


def _curve(
    axes: Axes, curve: Curve, shift: float, figure: CurveFigure, colour: str, marker: str
) -> None:
    across = _places(curve, figure) + shift
    lows, highs = _ends(curve)
    bottom, top = axes.get_ylim()
    bare = figure.banded and curve.label in without_band(figure.curves)
    if figure.banded:
        # Early in a test, which a logarithmic axis shows at length, hardly anything is known: an
        # interval that does not end inside the figure would darken its whole height.
        seen = None if figure.scale in _LINEAR else ((lows > bottom) | (highs < top)).tolist()
        axes.fill_between(across, lows, highs, where=seen, color=colour, alpha=0.16, linewidth=0)
    else:  # an interval at each place; dotted where it does not fit into the figure
        fits = (lows >= bottom) & (highs <= top)
        lows, highs = np.maximum(lows, bottom), np.minimum(highs, top)
        for chosen, width, dashes in ((fits, 1.6, "solid"), (~fits, 1.0, (0, (1, 2.5)))):
            bars = across[chosen], lows[chosen], highs[chosen]
            axes.vlines(*bars, color=colour, linewidth=width, linestyle=dashes, alpha=0.5)
    if curve.points:
        x, y = np.array(curve.points).T
        axes.scatter(x, y, s=9, color=colour, alpha=0.4, linewidths=0)
    sparse = max(1, len(across) // 6) if figure.banded else 1
    joined = _joined(curve)
    single = np.isnan(joined)
    if marker and single.any():
        axes.plot(
            across[single],
            np.array(curve.values)[single],
            linestyle="none",
            color=colour,
            marker=marker,
            markersize=5.0,
            markerfacecolor=style.SURFACE,
        )
    axes.plot(
        across,
        joined,
        color=colour,
        linewidth=1.7,
        linestyle=(0, (4, 2)) if bare else "solid",
        marker=marker,
        markevery=(sparse // 2, sparse),
        markersize=5.0,
        markeredgecolor=style.SURFACE,
        markeredgewidth=0.6,
        zorder=3,
    )


def _joined(curve: Curve) -> FloatArray:
    """The values that a line joins, NaN in the place of those of a single exercise."""
    values = np.array(curve.values, dtype=float)
    return np.where(np.array(curve.counts) > 1, values, np.nan) if curve.counts else values


def _ends(curve: Curve) -> tuple[FloatArray, FloatArray]:
    """The ends of the intervals, NaN where they are not known."""
    return np.array(curve.lows, dtype=float), np.array(curve.highs, dtype=float)


def _furnish(axes: Axes) -> None:
    low, high = axes.get_ylim()
    if low <= 0 <= high:
        axes.axhline(0, color=style.MUTED, linewidth=0.9, zorder=1)
    axes.grid(visible=True, axis="y")
    axes.spines["left"].set_visible(False)


def _limits(curves: Sequence[Curve]) -> tuple[float, float]:
    """Limits of the vertical axis for all values and their intervals.

    Intervals of more than three times the median length, which would flatten the rest, are cut off.
    """
    values = np.concatenate([np.array(curve.values) for curve in curves])
    points = [height for curve in curves for _, height in curve.points]
    lows, highs = (np.concatenate(ends) for ends in zip(*map(_ends, curves), strict=True))
    reaches = (highs - lows) / 2
    known = ~np.isnan(reaches)
    longest = 3 * float(np.median(reaches[known])) if known.any() else 0.0
    low = float(min(np.min(values), *np.maximum(lows, values - longest)[known], *points, np.inf))
    high = float(max(np.max(values), *np.minimum(highs, values + longest)[known], *points, -np.inf))
    margin = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    return low - margin, high + margin


def _name(axes: Axes, figure: CurveFigure, places: Mapping[str, int]) -> None:
    """Write the name of each curve at the height of its end, moved apart where they would meet."""
    curves = figure.curves
    low, high = axes.get_ylim()
    names = short_labels(curve.label for curve in curves)
    ends = [(curve.values[-1] - low) / (high - low) for curve in curves]
    tall = [0.062 * (1 + names[curve.label].count("\n")) for curve in curves]
    for curve, end, height in zip(curves, ends, style.moved_apart(ends, tall), strict=True):
        place = places[curve.label]
        line: dict[str, Any] = {
            "transform": axes.transAxes,
            "color": style.SERIES[place],
            "clip_on": False,
        }
        # Where the curve ends between the left edge, 0, and the right edge, 1.
        last = axes.transScale.transform((_places(curve, figure)[-1], low))
        x = float(axes.transLimits.transform(last)[0])
        axes.plot([x, 1.04], [end, height], linewidth=0.8, alpha=0.6, **line)
        axes.plot([1.04], [height], marker=style.MARKERS[place], markersize=6, **line)
        axes.text(
            1.06,
            height,
            names[curve.label],
            transform=axes.transAxes,
            verticalalignment="center",
            fontsize=style.NORMAL,
            linespacing=1.1,
        )


_UNDATED: Mapping[str, Mapping[str, Any]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
"""Metadata of each format without dates, so that the same figure always has the same bytes."""


def inline_svg(figure: Figure, places: Mapping[str, int]) -> str:
    """A figure as an SVG element for a page, whose style sheet may set its colours.

    Args:
        figure: What to draw.
        places: The place of each agent, by label, which decides on its colour and marker.
    """
    return _inline(figure, _rendered(figure, places, "svg", titled=False)["svg"])


def inline_svg_and_pdf(figure: Figure, places: Mapping[str, int]) -> tuple[str, bytes]:
    """A figure as ``inline_svg`` gives it, and as a PDF file without its title, drawn once."""
    both = _rendered(figure, places, "svg", "pdf", titled=False)
    return _inline(figure, both["svg"]), both["pdf"]


def _inline(figure: Figure, content: bytes) -> str:
    text = content.decode()
    opening = r'<svg\b[^>]*?viewBox="([^"]*)"[^>]*>'
    text = re.sub(opening, r'<svg viewBox="\1">', text[text.index("<svg") :], count=1)

    def adapted(tag: re.Match[str]) -> str:
        # Names that differ from other figures' on the page, and colours that have names.
        new = re.sub(r'(\bid="|href="#|url\(#)', rf"\g<1>{figure.name}-", tag[0])
        for colour, variable in style.NAMES.items():
            new = new.replace(colour, f"var(--{variable}, {colour})")
        return new

    return re.sub(r"<[^>]*>", adapted, text)


def save_figure(figure: Figure, places: Mapping[str, int], path: Path) -> None:
    """Write a figure into a file, with its title; the suffix decides on the format.

    Args:
        figure: What to draw.
        places: The place of each agent, by label, which decides on its colour and marker.
        path: A file whose name ends in ``.svg``, ``.pdf`` or ``.png``.

    Raises:
        InvalidInputError: The name ends in something else.
        StoreError: The file could not be written.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _UNDATED:
        raise InvalidInputError(
            f"A figure cannot be written as {path.name!r}.", "Use .svg, .pdf or .png."
        )
    files.write(path, _rendered(figure, places, kind, titled=True)[kind])


def matplotlib_figure(figure: Figure, places: Mapping[str, int], *, titled: bool = True) -> Canvas:
    """A figure drawn in the style of reports.

    Args:
        figure: What to draw.
        places: The place of each agent, by label, which decides on its colour and marker.
        titled: Whether the title is part of it.
    """
    from matplotlib.figure import Figure as Canvas

    with _styled(figure):
        canvas = Canvas()
        match figure:
            case DotFigure():
                _draw_dots(figure, places, canvas)
            case StripFigure():
                _draw_strips(figure, places, canvas)
            case TimeFigure():
                draw_times(figure, canvas)
            case BoundsFigure():
                draw_bounds(figure, canvas)
            case HistogramFigure():
                draw_histograms(figure, places, canvas)
            case BoxFigure():
                draw_boxes(figure, places, canvas)
            case _ if style.few(len(places)):
                _in_one_panel(figure, places, canvas)
            case _:
                _in_panels(figure, canvas)
        if titled:
            canvas.suptitle(
                figure.title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=style.INK
            )
    return canvas


@contextmanager
def _styled(figure: Figure) -> Iterator[None]:
    import matplotlib.style

    # The user's settings for other plots must not change the style of a report.
    settings = {**style.STYLE, "svg.hashsalt": figure.name}
    with matplotlib.style.context(settings, after_reset=True), warnings.catch_warnings():
        # An agent may have a name that the font cannot show; the page itself can.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        yield


def _rendered(
    figure: Figure, places: Mapping[str, int], *kinds: str, titled: bool
) -> dict[str, bytes]:
    """A figure in some formats, which are drawn with one layout."""
    rendered = {}
    with _styled(figure):
        canvas = matplotlib_figure(figure, places, titled=titled)
        canvas.draw_without_rendering()
        canvas.set_layout_engine("none")  # done; each format would do it again
        for kind in kinds:
            sink = io.BytesIO()
            canvas.savefig(
                sink,
                format=kind,
                metadata=dict(_UNDATED[kind]),
                dpi=200,
                facecolor="none" if kind == "svg" else "white",
            )
            rendered[kind] = sink.getvalue()
    return rendered
