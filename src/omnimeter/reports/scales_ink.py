"""Drawing the horizontal axis of curves: even, or logarithmic in numbers or seconds."""

from __future__ import annotations

from math import log10
from typing import TYPE_CHECKING

from omnimeter.reports.shapes import CurveFigure, Scale
from omnimeter.reports.wording import duration, grouped

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MARGIN = 0.03
"""Room around bars, as a part of the axis."""

_EDGE = 0.01
"""Room for a marker at either end of a logarithmic axis, as a part of it."""

_FEW_DECADES = 2.0
"""Over fewer powers of ten there are marks between them too."""

_MILLION = 1_000_000


def set_scale(axes: Axes, figure: CurveFigure, marks: int) -> None:
    """How far the horizontal axis goes, and what stands at its marks.

    Args:
        axes: Where everything is drawn already.
        figure: What is drawn.
        marks: About how many marks there is room for.
    """
    axes.margins(x=0.0 if figure.banded else _MARGIN)
    if figure.scale is Scale.EVEN:
        if figure.banded:  # from the beginning of time
            axes.set_xlim(left=0)
        return
    _set_logarithmic(axes, figure, marks)


def _set_logarithmic(axes: Axes, figure: CurveFigure, marks: int) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    places = [place for curve in figure.curves for place in curve.places]
    first, last = min(places), max(places)
    dense = log10(last / first) < _FEW_DECADES
    words = duration if figure.scale is Scale.SECONDS else _amount
    axes.set_xscale("log")
    room = (last / first) ** (_EDGE if figure.banded else _MARGIN)
    axes.set_xlim(first / room, last * room)
    axes.xaxis.set_major_locator(
        LogLocator(subs=(1.0, 2.0, 5.0) if dense else (1.0,), numticks=marks)
    )
    axes.xaxis.set_minor_locator(NullLocator())
    # Not the usual powers of ten, which would need the mathematical text that labels must not be.
    axes.xaxis.set_major_formatter(FuncFormatter(lambda place, _: words(place)))


def _amount(number: float) -> str:
    return f"{number / _MILLION:g} million" if number >= _MILLION else grouped(number)


def part_of_width(axes: Axes, place: float) -> float:
    """Where a place lies between the left edge, 0, and the right edge, 1."""
    x, _ = axes.transLimits.transform(axes.transScale.transform((place, axes.get_ylim()[0])))
    return float(x)
