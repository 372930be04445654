"""Draws ``mdp-scenes.png``: the three MDP distributions of the Bayesian RL benchmark.

Run ``python docs/images/mdp_scenes.py``. Figures 3 to 5 of the paper show the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, FancyArrowPatch

from omnimeter.environments.mdp import GeneralisedChain, GeneralisedDoubleLoop, Grid

PALE, SMALL, LARGE = "#a8a8a8", "#d55e00", "#0072b2"
"""Transitions without a reward, with the smaller one, and with the largest."""

GOAL = 24
"""The state of the grid's goal."""


def arrow(axes: Axes, start: Any, end: Any, height: float, radius: float, colour: str) -> Any:
    """Draw an arrow between the borders of two states; return the middle of its arc.

    Args:
        axes: Where to draw.
        start: The place of the state where it begins.
        end: The place of the state where it ends.
        height: How far its middle lies to the left of the straight line.
        radius: The radius of a state.
        colour: Its colour.
    """
    start, end = np.array(start), np.array(end)
    length = float(np.hypot(*(end - start)))
    if length == 0:  # a loop above the state
        side, up = np.array([0.5 * radius, 0]), np.array([0, 0.87 * radius])
        start, end = start - side + up, end + side + up
        length, height, radius = radius, 1.6 * radius, 0.0
    along = (end - start) / length
    left = np.array([-along[1], along[0]])
    control = (start + end) / 2 + left * 2 * height  # of a quadratic curve
    ends = [each + radius * (control - each) / np.hypot(*(control - each)) for each in (start, end)]
    height = float(left @ (control - ends[0])) / 2
    bend = 2 * height / float(np.hypot(*(ends[1] - ends[0])))
    axes.add_patch(
        FancyArrowPatch(
            *ends, connectionstyle=f"arc3,rad={-bend}", arrowstyle="-|>", mutation_scale=11,
            shrinkA=0, shrinkB=0, color=colour, linewidth=1.5,
        )
    )  # fmt: skip
    return (ends[0] + ends[1]) / 2 + left * height


def draw(
    axes: Axes,
    title: str,
    scene: Mapping[str, Any],
    height: Callable[[int, int], float],
    radius: float,
) -> None:
    places = [each["position"] for each in scene["states"]]
    highest = max(each["reward"] for each in scene["transitions"])
    for each in scene["transitions"]:
        reward = each["reward"]
        colour = LARGE if reward == highest else SMALL if reward else PALE
        x, y = each["from"], each["to"]
        middle = arrow(axes, places[x], places[y], height(x, y), radius, colour)
        if reward:
            axes.text(
                *middle, f"{reward:g}", color=colour, ha="center", va="center", fontsize=10,
                fontweight="bold", bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
            )  # fmt: skip
    for number, (place, each) in enumerate(zip(places, scene["states"], strict=True)):
        colour = "#f0e442" if number == scene["state"] else "white"
        state = Circle(place, radius, facecolor=colour, edgecolor="black", linewidth=1.2, zorder=3)
        axes.add_patch(state)
        name = each["name"].replace(",", " ")
        axes.text(*place, name, ha="center", va="center", fontsize=9.5, zorder=4)
    axes.set_title(title, fontsize=10.5)
    axes.set_aspect("equal")
    axes.autoscale_view()
    axes.axis("off")


def chain_height(x: int, y: int) -> float:
    """Back to the first state below the chain, back to the second above it."""
    return 0.0 if y == x + 1 else 0.06 + 0.21 * x if y == 0 else -0.42


def loop_height(x: int, y: int) -> float:
    """Bent where the same states are joined in both directions."""
    return 0.12 if {x, y} == {0, 5} else 0.0


def grid_height(_: int, y: int) -> float:
    """Bent, since moves go both ways, except into the goal."""
    return 0.0 if y == GOAL else 0.09


def shown(scene: Mapping[str, Any]) -> dict[str, Any]:
    """The scene of the grid as in figure 5: with the goal, but without what is never seen.

    Failed moves are left out, and so is what leads away from the goal: the agent is moved to the
    start before it could act there.
    """
    edges = [
        {**each, "to": GOAL} if each["reward"] else each
        for each in scene["transitions"]
        if each["from"] not in (each["to"], GOAL)
    ]
    return {**scene, "transitions": edges}


def main() -> None:
    figure = Figure(figsize=(9.5, 7.6), layout="constrained")
    panels = figure.subplot_mosaic([["gc", "gc"], ["gdl", "grid"]], height_ratios=(2, 3.2))
    chain, loops, grid = GeneralisedChain(), GeneralisedDoubleLoop(), Grid()
    scenes = [each.scene(each.draw(np.random.default_rng(0)), 0) for each in (chain, loops, grid)]
    title = "GC: three actions, each leads on or back"
    draw(panels["gc"], title, scenes[0], chain_height, 0.17)
    panels["gc"].set(xlim=(-0.4, 4.4), ylim=(-1.05, 0.65))
    title = "GDL: two actions; one loop cannot be left"
    draw(panels["gdl"], title, scenes[1], loop_height, 0.2)
    title = "Grid: four moves that may fail; G leads to S"
    draw(panels["grid"], title, shown(scenes[2]), grid_height, 0.27)
    path = Path(__file__).with_name("mdp-scenes.png")
    figure.savefig(path, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
