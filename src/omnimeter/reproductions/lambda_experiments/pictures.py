"""What the figures of chapter 5 have in common: the agents' curves and their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from omnimeter.reports.look import MUTED
from omnimeter.reproductions.lambda_experiments.agents import REFERENCES
from omnimeter.reproductions.lambda_experiments.curves import Curve
from omnimeter.reproductions.pictures import End, name_ends

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LOWEST, HIGHEST = -0.12, 1.0
"""Average rewards that are shown; a single run may begin outside of them."""

HEIGHT_OF_LINE = 0.062
"""Of a panel."""


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
    name_agents(axes, {name: float(curve.value[-1]) for name, curve in curves.items()})


def name_agents(axes: Axes, ends: Mapping[str, float]) -> None:
    """The name of each agent and its last value, at the right of a panel."""
    named = [
        End(ends[each.name], f"{each.title}\n{written(ends[each.name])}", each.colour)
        for each in REFERENCES
    ]
    name_ends(axes, named, 2 * HEIGHT_OF_LINE)


def written(value: float, digits: int = 2) -> str:
    """A number for a reader, with a real minus sign and without a minus nought."""
    text = f"{value:.{digits}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "\N{MINUS SIGN}")
