"""What figures of reproductions share: style, headers, bands, labels, files."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.reports.style import MUTED, SMALL, STYLE, moved_apart
from omnimeter.reproductions.shared import writing_to

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

THOUSANDS = "{x:,.0f}"  # the format of large counts on an axis


@contextmanager
def styled_figure(width: float, height: float) -> Iterator[Figure]:
    """A figure of this size in inches, in the style of reports; panels are placed by hand."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    parameters: dict[Any, Any] = {**STYLE, "figure.constrained_layout.use": False}
    with mpl.rc_context(parameters):
        yield Figure(figsize=(width, height))


def add_header(figure: Figure, title: str, subtitle: str) -> None:
    """Add what a figure shows, in bold, and how it was made."""
    figure.suptitle(title, x=0.012, y=0.985, ha="left", va="top", fontweight="bold", fontsize=12)
    below = 0.985 - 0.26 / figure.get_figheight()  # the title is 0.26 inches high
    figure.text(0.012, below, subtitle, ha="left", va="top", fontsize=SMALL, color=MUTED)


def panel_title(axes: Axes, title: str) -> None:
    """Add the title of one panel of a figure."""
    axes.set_title(title, loc="left", fontsize=10.5)


def grid_and_zero(axes: Axes) -> None:
    """Draw horizontal grid lines, and a line at 0."""
    axes.grid(axis="y")
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)


def ticks(axes: Axes, values: Sequence[float], labels: Sequence[str] | None = None) -> None:
    """Label exactly these values of the vertical axis, by default as short as possible."""
    axes.set_yticks(values, labels or [f"{value:g}" for value in values])
    axes.set_yticks([], minor=True)


def plot_band(
    axes: Axes,
    x: FloatArray | IntArray | Sequence[float],
    band: FloatArray,
    colour: str,
    alpha: float = 0.16,
    **line: Any,
) -> None:
    """Plot a curve over the band of its intervals.

    Args:
        axes: The panel.
        x: Where the values are.
        band: Three rows: values, lower ends, upper ends.
        colour: Of both.
        alpha: The opacity of the band.
        line: Further properties of the line.
    """
    value, low, high = band
    axes.fill_between(x, low, high, color=colour, alpha=alpha, lw=0)
    axes.plot(x, value, **{"color": colour, "lw": 1.7, **line})


def label_ends(axes: Axes, ends: Sequence[tuple[float, str, str]], height: float = 0.075) -> None:
    """Label curves at the right of a panel, each as near to its end as the others allow.

    Args:
        axes: The panel, with its final limits.
        ends: The last value, the label and the colour of each curve.
        height: The height of a label, as a fraction of the panel's.
    """
    to_fraction = axes.transData + axes.transAxes.inverted()
    wanted = [float(to_fraction.transform((1, value))[1]) for value, *_ in ends]
    places = moved_apart(wanted, [height] * len(ends))
    for (_, label, colour), place in zip(ends, places, strict=True):
        axes.annotate(
            label, (1.02, place), xycoords="axes fraction", va="center", fontsize=SMALL,
            color=colour, linespacing=1.05, annotation_clip=False,
        )  # fmt: skip


def write_figure(figure: Figure, path: Path) -> dict[str, Path]:
    """Write a figure as PNG and SVG, the same bytes each time. The path has no suffix yet."""
    import matplotlib as mpl

    png, svg = path.with_suffix(".png"), path.with_suffix(".svg")
    with writing_to(png), mpl.rc_context({"svg.hashsalt": "omnimeter", "svg.fonttype": "none"}):
        figure.savefig(png, dpi=150, metadata={"Software": None})
        figure.savefig(svg, metadata={"Date": None})
    return {"figure": png, "figure (vector)": svg}
