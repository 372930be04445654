"""A space as a graph: cells in a circle, and an arrow for where each action leads."""

from __future__ import annotations

from math import cos, hypot, pi, sin
from typing import TYPE_CHECKING

from omnimeter.environments.lambda_class.description import read_space
from omnimeter.reports.look import INK, MUTED, SMALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Place = tuple[float, float]

BEND = 0.16
"""How far an arrow bends to its side, so that the way back is another line."""

AWAY = 0.4
"""How far from its start the label of an arrow sits: near, so that it is clear whose action it is.
Cells are at distance 1 from the middle."""

COLOURS = ("#7a3e9d", "#3d4454", "#a8790f")
"""Of the actions 1, 2, 3 and so on; none of them is an agent's."""

OUTSIDE = 1.24
"""How far from the middle the actions that stay are named."""


def draw_space(axes: Axes, description: str) -> None:
    """Draw a space; action 0, which stays everywhere, is left out."""
    paths = read_space(description).successors()
    cells, actions = paths.shape
    places = [_place(cell, cells) for cell in range(cells)]
    for cell in range(cells):
        for target in sorted(set(paths[cell].tolist()) - {cell}):
            leading = [action for action in range(1, actions) if paths[cell, action] == target]
            # The ring itself bends outwards, where there is room, unless somebody comes back on it.
            along_the_ring = target == (cell + 1) % cells and cell not in paths[target]
            bend = -BEND if along_the_ring else BEND
            _draw_arrow(axes, places[cell], places[target], leading, bend)
        staying = [f"a{action}" for action in range(1, actions) if paths[cell, action] == cell]
        _draw_cell(axes, places[cell], f"c{cell + 1}", ", ".join(staying))
    axes.set(xlim=(-1.45, 1.45), ylim=(-1.4, 1.4), aspect="equal")
    axes.axis("off")


def _place(cell: int, cells: int) -> Place:
    """Clockwise, the first one at the top on the left."""
    angle = pi / 2 + pi / cells - 2 * pi * cell / cells
    return cos(angle), sin(angle)


def _draw_cell(axes: Axes, place: Place, name: str, staying: str) -> None:
    axes.plot(*place, "o", ms=21, mfc="white", mec=INK, mew=1.3, zorder=3)
    axes.text(*place, name, ha="center", va="center", fontsize=9.5, color=INK, zorder=4)
    if staying:
        x, y = (OUTSIDE * part for part in place)
        side = "left" if x > 0.1 else "right" if x < -0.1 else "center"
        axes.text(x, y, f"{staying} stays", ha=side, va="center", fontsize=7.5, color=MUTED)


def _draw_arrow(axes: Axes, start: Place, end: Place, leading: list[int], bend: float) -> None:
    from matplotlib.patches import FancyArrowPatch

    colour = COLOURS[(leading[0] - 1) % len(COLOURS)]
    axes.add_patch(
        FancyArrowPatch(
            start,
            end,
            connectionstyle=f"arc3,rad={bend}",
            arrowstyle="-|>,head_length=4.5,head_width=2.2",
            shrinkA=11,
            shrinkB=12,
            color=colour,
            lw=1.1,
            zorder=1,
        )
    )
    axes.text(
        *_on_arrow(start, end, bend),
        ",".join(f"a{action}" for action in leading),
        ha="center",
        va="center",
        fontsize=SMALL - 1,
        color=colour,
        zorder=2,
        bbox={"boxstyle": "round,pad=0.12", "fc": "white", "ec": "none"},
    )


def _on_arrow(start: Place, end: Place, bend: float) -> Place:
    """A point on the curve that ``arc3`` draws, about as far from every start."""
    (x0, y0), (x2, y2) = start, end
    x1 = (x0 + x2) / 2 + bend * (y2 - y0)
    y1 = (y0 + y2) / 2 - bend * (x2 - x0)
    part = min(0.5, AWAY / hypot(x2 - x0, y2 - y0))
    rest = 1 - part
    return (
        rest**2 * x0 + 2 * rest * part * x1 + part**2 * x2,
        rest**2 * y0 + 2 * rest * part * y1 + part**2 * y2,
    )
