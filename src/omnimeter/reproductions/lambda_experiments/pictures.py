"""What the figures of chapter 5 have in common: the look, the agents' curves and their names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from omnimeter.reports.look import MUTED, SMALL, STYLE
from omnimeter.reports.placing import moved_apart
from omnimeter.reproductions.lambda_experiments.agents import REFERENCES
from omnimeter.reproductions.lambda_experiments.curves import Curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOWEST, HIGHEST = -0.12, 1.0
"""Average rewards that are shown; a single run may begin outside of them."""

HEIGHT_OF_NAME = 0.062
"""Of a panel."""

HEIGHT_OF_TITLE = 0.26
"""In inches."""


@contextmanager
def look() -> Iterator[None]:
    """Within it figures look as those of reports do; panels are placed by hand."""
    import matplotlib as mpl

    style: dict[Any, Any] = {**STYLE, "figure.constrained_layout.use": False}
    with mpl.rc_context(style):
        yield


def draw_curves(axes: Axes, curves: Mapping[str, Curve], *, band: bool = True) -> None:
    """The mean average reward of each agent along the interactions, named at its end."""
    for agent in REFERENCES:
        curve = curves[agent.name]
        if band:
            axes.fill_between(
                curve.points, curve.low, curve.high, color=agent.colour, alpha=0.16, lw=0
            )
        axes.plot(curve.points, curve.value, agent.line, color=agent.colour, lw=1.7)
    longest = max(int(curve.points[-1]) for curve in curves.values())
    axes.set(xlim=(0, longest), ylim=(LOWEST, HIGHEST))
    axes.set(xlabel="interactions", ylabel="average reward")
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.grid(axis="y")
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
    name_ends(axes, {name: float(curve.value[-1]) for name, curve in curves.items()})


def name_ends(axes: Axes, ends: Mapping[str, float]) -> None:
    """The name of each agent and its last value, at the right of a panel."""
    heights = [(ends[agent.name] - LOWEST) / (HIGHEST - LOWEST) for agent in REFERENCES]
    placed = moved_apart(heights, [2 * HEIGHT_OF_NAME] * len(heights))
    for agent, height in zip(REFERENCES, placed, strict=True):
        axes.annotate(
            f"{agent.title}\n{written(ends[agent.name])}",
            (1.02, height),
            xycoords="axes fraction",
            va="center",
            fontsize=SMALL,
            color=agent.colour,
            linespacing=1.05,
            annotation_clip=False,
        )


def written(value: float, digits: int = 2) -> str:
    """A number for a reader, with a real minus sign and without a minus nought."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")


def head(figure: Figure, title: str, below: str) -> None:
    """What a figure shows, in bold, and how it was made."""
    figure.suptitle(title, x=0.012, y=0.985, ha="left", va="top", fontweight="bold", fontsize=12)
    under = 0.985 - HEIGHT_OF_TITLE / figure.get_figheight()
    figure.text(0.012, under, below, ha="left", va="top", fontsize=SMALL, color=MUTED)
