"""Scenes as texts, as arrays of pixels, and in a window."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract.spec import canonical_json
from omnimeter.scenes import Picture, Shape, picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from matplotlib.path import Path
    from matplotlib.transforms import Affine2D

WIDTH, HEIGHT = 480, 360
"""The pixels of every frame: they do not depend on the instance, as videos need it."""

FILLED = 0.94
"""The share of a frame's width or height that a picture takes."""

Frame = NDArray[np.uint8]


def scene_text(scene: Mapping[str, Any]) -> str:
    """One line for each entry of a scene."""
    lines = []
    for name, value in scene.items():
        if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
            lines.append(f"{name}:")
            for number, item in enumerate(value, 1):
                entries = ", ".join(f"{key} {_value_text(entry)}" for key, entry in item.items())
                lines.append(f"  {number}: {entries}")
        else:
            lines.append(f"{name}: {_value_text(value)}")
    return "\n".join(lines)


def _value_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return " ".join(value)
    return canonical_json(value) if value != [] else "none"


class Canvas:
    """Renders scenes as texts or as arrays of pixels, with matplotlib without its global state."""

    _figure: Figure | None = None  # of matplotlib, which is imported when something is drawn
    _canvas: Any = None

    def render(self, scene: Mapping[str, Any], actions: int, mode: str) -> Frame | str:
        """A scene as text in the mode ``ansi``, and as pixels in all others."""
        return scene_text(scene) if mode == "ansi" else self.draw(scene, actions)

    def draw(self, scene: Mapping[str, Any], actions: int) -> Frame:
        """A scene in the middle of a frame, as large as it fits: height, width, red-green-blue."""
        drawn = picture(scene, actions)
        if self._figure is None:
            from matplotlib.backends.backend_agg import FigureCanvasAgg
            from matplotlib.figure import Figure

            # At 72 dots per inch a point is a pixel.
            self._figure = Figure((WIDTH / 72, HEIGHT / 72), dpi=72, facecolor="white")
            self._canvas = FigureCanvasAgg(self._figure)
        self._figure.clear()
        scale = FILLED * min(WIDTH / drawn.width, HEIGHT / drawn.height)
        placed = _placed(drawn, scale)
        for part in drawn.parts:
            for shape in part.shapes:
                _add(self._figure, shape, scale, placed)
        self._canvas.draw()
        return np.array(self._canvas.buffer_rgba())[..., :3].copy()


def _add(figure: Figure, shape: Shape, scale: float, placed: Affine2D) -> None:
    from matplotlib.patches import PathPatch

    given = shape.attributes
    if shape.tag == "text":
        x, y = placed.transform((given["x"], given["y"]))
        figure.text(
            x / WIDTH,
            y / HEIGHT,
            "".join(each if each.isprintable() else " " for each in shape.text),
            fontsize=float(given["font-size"]) * scale,
            color=given["fill"],
            horizontalalignment="center" if "text-anchor" in given else "left",
            verticalalignment="center" if "dominant-baseline" in given else "baseline",
            parse_math=False,
        )
        return
    fill = given.get("fill", "none")
    patch = PathPatch(
        _path(shape),
        transform=placed,
        facecolor=fill if fill == "none" else _colour(fill, given.get("fill-opacity", 1)),
        edgecolor=given.get("stroke", "none"),
        linewidth=float(given.get("stroke-width", 0)) * scale,
    )
    figure.add_artist(patch)


def _colour(name: str | float, opacity: str | float) -> tuple[str, float]:
    return str(name), float(opacity)


def _placed(drawn: Picture, scale: float) -> Affine2D:
    """From the units of a picture, where y goes down, to pixels, where it goes up."""
    from matplotlib.transforms import Affine2D

    centred = Affine2D().translate(-drawn.width / 2, -drawn.height / 2)
    return centred.scale(scale, -scale).translate(WIDTH / 2, HEIGHT / 2)


def _path(shape: Shape) -> Path:
    """The outline of a shape that is no text, in the units of its picture."""
    from matplotlib.patches import BoxStyle
    from matplotlib.path import Path

    given = shape.attributes
    rounded: Any = BoxStyle.Round(pad=0, rounding_size=float(given.get("rx", 0)))

    def numbers(*names: str) -> list[float]:
        return [float(given.get(name, 0)) for name in names]

    match shape.tag:
        case "rect":
            outline: Path = rounded(*numbers("x", "y", "width", "height"), 1.0)
            return outline
        case "circle":
            x, y, radius = numbers("cx", "cy", "r")
            return Path.circle((x, y), radius)
        case "line":
            x1, y1, x2, y2 = numbers("x1", "y1", "x2", "y2")
            return Path([(x1, y1), (x2, y2)])
    if shape.tag == "polygon":
        points = _points(str(given["points"]))
        return Path(np.vstack([points, points[:1]]), closed=True)
    parts = [(way[0], _points(way[1:])) for way in _WAY.findall(str(given["d"]))]
    codes = [getattr(Path, _CODES[letter]) for letter, points in parts for _ in points]
    return Path(np.vstack([points for _, points in parts]), codes)


def _points(text: str) -> Any:
    """The points in a text of numbers."""
    return np.array(_NUMBER.findall(text), dtype=float).reshape(-1, 2)


_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_WAY = re.compile(r"[MLQC][^MLQC]*")
_CODES = {"M": "MOVETO", "L": "LINETO", "Q": "CURVE3", "C": "CURVE4"}
"""The letters that paths of scenes are written with, and their names in matplotlib."""


class Window:
    """A window that shows frames; where there is no display, or it was closed, it shows nothing.

    Args:
        title: What its title bar says.
        frames_per_second: How many frames it shows in a second at the most.

    Attributes:
        exists: Whether there is a window at all.
    """

    def __init__(self, title: str, frames_per_second: float) -> None:
        import matplotlib.pyplot as plt

        self._plt, self._pause = plt, 1 / frames_per_second
        self._figure = plt.figure(figsize=(WIDTH / 72, HEIGHT / 72), dpi=72)
        canvas: Any = self._figure.canvas
        self.exists = getattr(canvas, "required_interactive_framework", None) is not None
        if not self.exists:  # matplotlib draws into files or notebooks only
            plt.close(self._figure)
            return
        canvas.manager.set_window_title(title)
        axes = self._figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        self._image = axes.imshow(np.full((HEIGHT, WIDTH, 3), 255, dtype=np.uint8))
        canvas.manager.show()

    def show(self, frame: Frame) -> None:
        """Show a frame for as long as a frame lasts."""
        if self._plt.fignum_exists(self._figure.number):
            self._image.set_data(frame)
            self._figure.canvas.draw_idle()
            self._figure.canvas.start_event_loop(self._pause)

    def close(self) -> None:
        """Close it."""
        self._plt.close(self._figure)
