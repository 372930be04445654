"""What the figures of reproductions have in common: the look, the heading, names beside curves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

from omnimeter.reports.look import MUTED, SMALL, STYLE
from omnimeter.reports.placing import moved_apart

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

HEIGHT_OF_TITLE = 0.26
"""In inches."""


@contextmanager
def look() -> Iterator[None]:
    """Within it figures look as those of reports do; panels are placed by hand."""
    import matplotlib as mpl

    style: dict[Any, Any] = {**STYLE, "figure.constrained_layout.use": False}
    with mpl.rc_context(style):
        yield


def head(figure: Figure, title: str, below: str) -> None:
    """What a figure shows, in bold, and how it was made."""
    figure.suptitle(title, x=0.012, y=0.985, ha="left", va="top", fontweight="bold", fontsize=12)
    under = 0.985 - HEIGHT_OF_TITLE / figure.get_figheight()
    figure.text(0.012, under, below, ha="left", va="top", fontsize=SMALL, color=MUTED)


class End(NamedTuple):
    """Where a curve ends, and who it is."""

    value: float
    name: str
    colour: str


def name_ends(axes: Axes, ends: Sequence[End], room: float) -> None:
    """Write the names of curves at the right of a panel, each as near to its end as there is room.

    Args:
        axes: The panel, with its final limits.
        ends: The curves.
        room: The height that a name takes, as a part of the panel's.
    """
    heights = [_height(axes, end.value) for end in ends]
    for end, height in zip(ends, moved_apart(heights, [room] * len(heights)), strict=True):
        axes.annotate(
            end.name,
            (1.02, height),
            xycoords="axes fraction",
            va="center",
            fontsize=SMALL,
            color=end.colour,
            linespacing=1.05,
            annotation_clip=False,
        )


def _height(axes: Axes, value: float) -> float:
    """The height of a value in a panel, from 0 at its bottom to 1 at its top."""
    return float(axes.transAxes.inverted().transform(axes.transData.transform((1, value)))[1])
