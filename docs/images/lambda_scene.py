"""Draws ``lambda-scene.png``: a moment in a Lambda environment as a person will see it.

Run ``python docs/images/lambda_scene.py``.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from omnimeter.contract import stream
from omnimeter.environments.lambda_class import Lambda

MARKERS = {"circle": "o", "square": "s", "diamond": "D", "triangle": "^", "star": "*"}
REWARDS = {"up": ("#2e8b57", "^"), "neutral": ("#888888", "s"), "down": ("#b5442b", "v")}
SPACE = "1+2-|1+2-|12--|1+2++|1+2-"


def draw_cell(axes: Axes, number: int, cell: dict) -> None:
    reached = bool(cell["actions"])
    axes.add_patch(
        Rectangle(
            (number, 0),
            0.9,
            0.9,
            facecolor=cell["colour"],
            alpha=0.9 if reached else 0.35,
            edgecolor="black" if reached else "#bbbbbb",
            linewidth=3.5 if reached else 1,
        )
    )
    for place, symbol in enumerate(cell["symbols"]):
        x = number + 0.45 + 0.26 * (place - (len(cell["symbols"]) - 1) / 2)
        axes.plot(x, 0.45, MARKERS[symbol], ms=15, mfc="white", mec="black", mew=1.8)


def draw(scene: dict) -> Figure:
    figure = Figure(figsize=(7, 2.1), layout="constrained")
    axes = figure.subplots()
    for number, cell in enumerate(scene["cells"]):
        draw_cell(axes, number, cell)
    cells = len(scene["cells"])
    colour, mark = REWARDS[scene["reward"]]
    axes.plot(cells + 0.45, 0.45, "o", ms=44, color=colour)
    axes.plot(cells + 0.45, 0.45, mark, ms=17, color="white")
    axes.set(xlim=(-0.1, cells + 1.1), ylim=(-0.1, 1), aspect="equal")
    axes.axis("off")
    return figure


def main() -> None:
    world = Lambda(space=SPACE, pattern="1012")
    instance = world.draw(np.random.default_rng(0))
    environment = world.build(instance)
    percept = environment.start(stream(4, "picture").generator())
    for action in (1, 1, 2, 1, 0, 1, 2, 1, 1, 1):
        percept = environment.step(action)
        if percept.reward > 0:
            break
    scene = world.scene(instance, percept.observation, percept.reward)
    path = Path(__file__).with_name("lambda-scene.png")
    draw(dict(scene)).savefig(path, dpi=130, metadata={"Software": None})


if __name__ == "__main__":
    main()
