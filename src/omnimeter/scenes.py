"""Pictures of scenes: from what a person is shown, as data, to shapes, and to SVG.

A scene is what ``EnvironmentClass.scene`` returns. It is drawn by its ``kind``; one that is not
known here is drawn as a list of its entries, so that every class has a picture.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from math import ceil, cos, hypot, pi, sin, sqrt
from textwrap import wrap
from typing import Any, Literal

Tag = Literal["rect", "circle", "polygon", "line", "path", "text"]
Attributes = dict[str, str | float]

INK, LINE, PAPER, DARK = "#1f2933", "#9aa5b1", "#ffffff", "#3e4c59"
PLAIN = "#d9e2ec"
"""The colour of all cells where colours are turned off."""

LONGEST, LINE_LENGTH = 600, 60
"""Characters of an entry that are shown, and of a line, in scenes that are drawn as a list."""

UP, NEUTRAL, DOWN = "up", "neutral", "down"

SYMBOLS = ("square", "diamond", "triangle", "pentagon", "hexagon", "cross", "ring", "star")
"""Neutral symbols of what is not the participant: none tells good from evil."""

ARROWS = ("left", "right", "up", "down")


@dataclass(frozen=True, slots=True)
class Shape:
    """An element of a picture, with the name and the attributes that it has in SVG."""

    tag: Tag
    attributes: Mapping[str, str | float]
    text: str = ""


@dataclass(frozen=True, slots=True)
class Part:
    """What belongs together in a picture, such as a cell and what is in it.

    Attributes:
        shapes: Its elements, the lowest first.
        name: What it is, in a word that pages translate: ``cell``, ``state``, ``cup`` and so on.
        number: Which of these it is, from 1 on; 0 for what is not counted.
        contains: The words for what is in it.
        actions: The actions that lead there, or that are meant by it.
        box: Left, top, width and height of what can be clicked.
    """

    shapes: tuple[Shape, ...]
    name: str = ""
    number: int = 0
    contains: tuple[str, ...] = ()
    actions: tuple[int, ...] = ()
    box: tuple[float, float, float, float] = (0.0, 0.0, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Picture:
    """A scene as shapes.

    Attributes:
        width: How wide it is, in units of its own.
        height: How high it is.
        parts: What it is made of, the lowest first.
        buttons: The name of each action, where actions are not all in the picture.
        reward: The sign of the last reward, ``up``, ``neutral`` or ``down``; ``None`` if the scene
            does not have it.
    """

    width: float
    height: float
    parts: tuple[Part, ...]
    buttons: tuple[str, ...] = ()
    reward: str | None = None


@dataclass(frozen=True, slots=True)
class Style:
    """How scenes are drawn.

    Attributes:
        colours: Whether cells have colours of their own.
        symbols: Which symbol stands for each symbol of scenes but the participant's circle.
        turn: By how many places the colours of cells are moved on.
    """

    colours: bool = True
    symbols: Mapping[str, str] = field(default_factory=dict)
    turn: int = 0

    @classmethod
    def of_exercise(cls, number: int, *, colours: bool = True) -> Style:
        """The style of an exercise of a test: symbols and colours depend on its number alone.

        So people who take the same test see the same (Lambda thesis, 6.2.2), and no symbol keeps
        its role from one exercise to the next.
        """
        turned = [SYMBOLS[(place + 3 * number) % len(SYMBOLS)] for place in range(len(SYMBOLS))]
        return cls(colours, dict(zip(SYMBOLS, turned, strict=True)), number)


def sign_of(reward: float) -> str:
    """The sign of a reward, as scenes have it."""
    return UP if reward > 0 else DOWN if reward < 0 else NEUTRAL


def picture(scene: Mapping[str, Any], actions: int = 0, style: Style | None = None) -> Picture:
    """A scene as shapes.

    Args:
        scene: What an environment class shows.
        actions: The number of actions, where the scene has no names for them.
        style: How it is drawn.
    """
    draw = _DRAWN.get(str(scene.get("kind")), _entries)
    return draw(scene, actions, style or Style())


def symbol(name: str, x: float, y: float, size: float) -> Shape:
    """A symbol around a place, as wide as a size: the participant's own is filled."""
    radius = size / 2
    stroke: Attributes = {"stroke": INK, "stroke-width": round(size / 10, 3)}
    if name == "circle":
        return Shape("circle", {"cx": x, "cy": y, "r": radius, "fill": INK, **stroke})
    if name == "ring":
        return Shape("circle", {"cx": x, "cy": y, "r": radius, "fill": "none", **stroke})
    corners = _CORNERS.get(name, _CORNERS["square"])
    points = " ".join(f"{x + radius * a:.3f},{y + radius * b:.3f}" for a, b in corners)
    return Shape("polygon", {"points": points, "fill": PAPER, "stroke-linejoin": "round", **stroke})


def to_svg(drawn: Picture, *, title: str = "") -> str:
    """A picture as an SVG element."""
    body = "".join(_element(shape) for part in drawn.parts for shape in part.shapes)
    name = f"<title>{escape(title)}</title>" if title else ""
    return (
        '<svg xmlns="http://www.w3.org/2000/svg" role="img" '
        f'viewBox="0 0 {drawn.width:g} {drawn.height:g}">{name}{body}</svg>'
    )


def _element(shape: Shape) -> str:
    given = "".join(f' {name}="{escape(str(value))}"' for name, value in shape.attributes.items())
    text = "".join(each if each.isprintable() else " " for each in shape.text)  # XML has no others
    return f"<{shape.tag}{given}>{escape(text)}</{shape.tag}>"


def _regular(corners: int, turn: float = 0.0, inner: float = 1.0) -> list[tuple[float, float]]:
    """The corners of a regular polygon, or of a star, from the top."""
    count = corners * (2 if inner < 1 else 1)
    angles = [2 * pi * (place + turn) / count - pi / 2 for place in range(count)]
    radii = [inner if inner < 1 and place % 2 else 1.0 for place in range(count)]
    return [(r * cos(angle), r * sin(angle)) for r, angle in zip(radii, angles, strict=True)]


_ARM = 0.36
_CORNERS: Mapping[str, Sequence[tuple[float, float]]] = {
    "square": [(-0.85, -0.85), (0.85, -0.85), (0.85, 0.85), (-0.85, 0.85)],
    "diamond": _regular(4),
    "triangle": _regular(3),
    "pentagon": _regular(5),
    "hexagon": _regular(6, 0.5),
    "star": _regular(5, inner=0.45),
    "cross": [
        (-_ARM, -1), (_ARM, -1), (_ARM, -_ARM), (1, -_ARM), (1, _ARM), (_ARM, _ARM),
        (_ARM, 1), (-_ARM, 1), (-_ARM, _ARM), (-1, _ARM), (-1, -_ARM), (-_ARM, -_ARM),
    ],
}  # fmt: skip


def _rectangle(
    x: float, y: float, width: float, height: float, fill: str, *, line: float = 0.02,
    stroke: str = LINE, opacity: float = 1.0,
) -> Shape:  # fmt: skip
    given: Attributes = {
        "x": x, "y": y, "width": width, "height": height, "rx": 0.06, "fill": fill,
        "stroke": stroke, "stroke-width": line,
    }  # fmt: skip
    return Shape("rect", given if opacity == 1 else {**given, "fill-opacity": opacity})


def _text(x: float, y: float, text: str, size: float, *, fill: str = INK) -> Shape:
    given: Attributes = {"x": x, "y": y, "font-size": size, "fill": fill}
    return Shape("text", {**given, "text-anchor": "middle", "dominant-baseline": "central"}, text)


def _symbols(names: Sequence[str], x: float, y: float) -> list[Shape]:
    """Symbols beside each other in a cell whose upper left corner is at a place."""
    columns = max(1, ceil(sqrt(len(names))))
    size, drawn = 0.62 / columns if columns > 1 else 0.44, []
    rows = ceil(len(names) / columns)
    for place, name in enumerate(names):
        row, column = divmod(place, columns)
        across = 0.5 + (column - (min(columns, len(names) - row * columns) - 1) / 2) * size * 1.25
        down = 0.5 + (row - (rows - 1) / 2) * size * 1.25
        drawn.append(symbol(name, x + across, y + down, size))
    return drawn


def _cell(
    place: tuple[float, float],
    number: int,
    symbols: Sequence[str],
    actions: Sequence[int],
    style: Style,
    fill: str = PLAIN,
) -> Part:
    """A square cell; those that can be reached have a thicker border and a stronger colour."""
    x, y = place
    reached = bool(len(actions))
    border = {"line": 0.07, "stroke": INK} if reached else {"line": 0.02, "stroke": LINE}
    back = _rectangle(x + 0.05, y + 0.05, 0.9, 0.9, fill, opacity=1 if reached else 0.45, **border)  # type: ignore[arg-type]
    # In the order of what they look like: another one would tell which is which in each exercise.
    names = sorted(style.symbols.get(name, name) for name in symbols)
    shapes = (back, *_symbols(names, x, y))
    return Part(shapes, "cell", number, tuple(names), tuple(actions), (x, y, 1.0, 1.0))


def _lambda(scene: Mapping[str, Any], _: int, style: Style) -> Picture:
    """Cells in rows of at most five: their order says nothing of how they are connected."""
    cells = scene["cells"]
    rows = ceil(len(cells) / 5)
    columns = ceil(len(cells) / rows)
    palette = [cell["colour"] for cell in cells]
    parts = []
    for number, cell in enumerate(cells):
        row, column = divmod(number, columns)
        fill = palette[(number + style.turn) % len(palette)] if style.colours else PLAIN
        place = float(column), float(row)
        parts.append(_cell(place, number + 1, cell["symbols"], cell["actions"], style, fill))
    return Picture(columns, rows, tuple(parts), reward=scene["reward"])


def _torus(scene: Mapping[str, Any], _: int, style: Style) -> Picture:
    """The five cells of a cross; a limit is drawn as a bar on the side that is beyond."""
    parts = []
    for number, cell in enumerate(scene["cells"]):
        x, y = float(cell["column"]), float(cell["row"])
        part = _cell((x, y), number + 1, cell["symbols"], [cell["action"]], style)
        if cell["limit"]:
            bar = _rectangle(x + 0.2, y + 0.82, 0.6, 0.08, DARK, stroke=DARK)
            named = (*part.contains, "limit")
            part = Part((*part.shapes, bar), "cell", number + 1, named, part.actions, part.box)
        parts.append(part)
    return Picture(3, 3, tuple(parts), tuple(scene["buttons"]), sign_of(scene["reward"]))


def _row(
    name: str, contents: Sequence[str], draw: Callable[[str, float], list[Shape]], actions: bool
) -> tuple[Part, ...]:
    """Things from left to right, such as cups, each of which may stand for an action."""
    parts = []
    for place, content in enumerate(contents):
        back = _rectangle(
            place + 0.05, 0.05, 0.9, 0.9, PAPER, line=0.07 if actions else 0.02, stroke=INK
        )
        shapes = (back, *draw(content, place + 0.5))
        own = (place,) if actions else ()
        parts.append(Part(shapes, name, place + 1, (content,), own, (place, 0, 1.0, 1.0)))
    return tuple(parts)


_BALLS = {"black": (INK, PAPER), "white": (PAPER, INK), "ball": ("#7b8794", PAPER)}
"""The colours of balls and of their seams."""


def _ball(content: str, x: float, y: float = 0.5, radius: float = 0.28) -> list[Shape]:
    """A ball, if that is in a cell; its seams tell it from the participant's circle."""
    if content not in _BALLS:
        return []
    fill, seam = _BALLS[content]
    ball: Attributes = {"cx": x, "cy": y, "r": radius, "fill": fill}
    top, bottom = y - 0.7 * radius, y + 0.7 * radius
    arcs = (
        f"M{x + side * 0.7 * radius:.3f} {top:.3f} "
        f"Q{x - side * 0.1 * radius:.3f} {y:.3f} {x + side * 0.7 * radius:.3f} {bottom:.3f}"
        for side in (-1, 1)
    )
    seams: Attributes = {"d": " ".join(arcs), "fill": "none", "stroke": seam}
    return [
        Shape("circle", {**ball, "stroke": INK, "stroke-width": 0.03}),
        Shape("path", {**seams, "stroke-width": round(radius / 7, 3)}),
    ]


def _cup(content: str, x: float) -> list[Shape]:
    """The outline of a cup, and the ball in it."""
    way = f"M{x - 0.32:.3f} 0.2 L{x - 0.25:.3f} 0.82 L{x + 0.25:.3f} 0.82 L{x + 0.32:.3f} 0.2"
    outline: Attributes = {"d": way, "fill": "none", "stroke": DARK, "stroke-width": 0.04}
    return [Shape("path", {**outline, "stroke-linejoin": "round"}), *_ball(content, x, 0.58, 0.2)]


def _here(content: str, x: float) -> list[Shape]:
    return [symbol("circle", x, 0.5, 0.56)] if content else []


def _cups(scene: Mapping[str, Any], _: int, __: Style) -> Picture:
    parts = _row("cup", scene["cups"], _cup, actions=True)
    return Picture(len(parts), 1, parts, tuple(scene["buttons"]))


def _buttons(scene: Mapping[str, Any], _: int, __: Style) -> Picture:
    parts = _row("cell", scene["cells"], _ball, actions=False)
    return Picture(len(parts), 1, parts, tuple(scene["buttons"]))


def _automata(scene: Mapping[str, Any], _: int, __: Style) -> Picture:
    contents = ["here" if each["here"] else "" for each in scene["circles"]]
    parts = _row("state", contents, _here, actions=False)
    return Picture(len(parts), 1, parts, tuple(scene["buttons"]), scene["reward"])


def _corners(scene: Mapping[str, Any], _: int, style: Style) -> Picture:
    """The grid; the squares beside the agent are those that the four actions lead to."""
    size, row, column = scene["size"], scene["row"], scene["column"]
    steps = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}
    leads = {
        (row + steps[name][0], column + steps[name][1]): (action,)
        for action, name in enumerate(scene["buttons"])
    }
    parts = [
        _cell(
            (float(x), float(y)), y * size + x + 1, ["circle"] * ((y, x) == (row, column)),
            leads.get((y, x), ()), style,
        )
        for y in range(size)
        for x in range(size)
    ]  # fmt: skip
    return Picture(size, size, tuple(parts), tuple(scene["buttons"]), sign_of(scene["reward"]))


def _mdp(scene: Mapping[str, Any], _: int, __: Style) -> Picture:
    """States as circles, possible transitions as lines, the present state filled."""
    places = [(float(x), float(-y)) for x, y in (each["position"] for each in scene["states"])]
    left, top = (min(each[axis] for each in places) - 0.6 for axis in (0, 1))
    right, bottom = (max(each[axis] for each in places) + 0.6 for axis in (0, 1))
    lines = []
    for pair in sorted({(each["from"], each["to"]) for each in scene["transitions"]}):
        (x1, y1), (x2, y2) = (places[state] for state in pair)
        length = hypot(x2 - x1, y2 - y1)
        if not length:
            continue
        # A bow to the left of its way, so that there and back are two lines.
        bend = 0.12 * length
        across = (x1 + x2) / 2 - bend * (y2 - y1) / length - left
        down = (y1 + y2) / 2 + bend * (x2 - x1) / length - top
        ends = (x1 - left, y1 - top), (across, down), (x2 - left, y2 - top)
        way = "M{:.3f} {:.3f} Q{:.3f} {:.3f} {:.3f} {:.3f}".format(
            *(c for end in ends for c in end)
        )
        lines.append(
            Shape("path", {"d": way, "fill": "none", "stroke": LINE, "stroke-width": 0.02})
        )
    parts = [Part(tuple(lines))]
    for number, ((x, y), state) in enumerate(zip(places, scene["states"], strict=True)):
        here = number == scene["state"]
        disc: Attributes = {"cx": x - left, "cy": y - top, "r": 0.26, "stroke": INK}
        shapes = (
            Shape("circle", {**disc, "stroke-width": 0.04, "fill": INK if here else PAPER}),
            _text(x - left, y - top, str(state["name"]), 0.2, fill=PAPER if here else INK),
        )
        contains = ("here",) if here else ()
        parts.append(Part(shapes, "state", number + 1, contains))
    sign = sign_of(scene["reward"])
    return Picture(right - left, bottom - top, tuple(parts), tuple(scene["buttons"]), sign)


def _pworld(scene: Mapping[str, Any], _: int, style: Style) -> Picture:
    """The squares that are perceived, with a mark for each proposition that holds there."""
    cells, size = scene["cells"], scene["size"]
    names = sorted({name for cell in cells for name in cell["holds"]})
    parts = []
    for cell in cells:
        x, y = float(cell["column"]), float(cell["row"])
        square = _cell((x, y), cell["row"] * size + cell["column"] + 1, (), (), style)
        marks, side = [], ceil(sqrt(max(1, len(names))))
        for place, name in enumerate(names):
            if name in cell["holds"]:
                down, across = divmod(place, side)
                mark: Attributes = {"width": 0.56 / side, "height": 0.56 / side, "fill": DARK}
                at = {"x": x + 0.12 + 0.76 * across / side, "y": y + 0.12 + 0.76 * down / side}
                marks.append(Shape("rect", {**at, **mark}))
        own = _symbols(["circle"] * bool(cell["elements"]), x, y)
        held = tuple(f"{k}={v}" if v is not True else k for k, v in cell["holds"].items())
        contains = (*cell["elements"], *held)
        parts.append(Part((*square.shapes, *marks, *own), "cell", square.number, contains))
    reward = sign_of(scene["reward"]) if "reward" in scene else None
    return Picture(size, size, tuple(parts), tuple(scene.get("buttons", ())), reward)


OPTIONS_ABREAST = 13


def _c_test(scene: Mapping[str, Any], _: int, __: Style) -> Picture:
    """The series, then what is asked for, in a row; below it the options, in rows of their own."""
    asked = ("✓", "answered") if scene["answered"] else ("?", "question")
    letters, options = [(each, each) for each in scene["letters"]] + [asked], scene["buttons"]
    abreast = min(len(options), OPTIONS_ABREAST)
    width = float(max(len(letters), abreast))
    parts = []
    for place, (text, word) in enumerate(letters):
        x = (width - len(letters)) / 2 + place
        dark = place == len(letters) - 1
        box = _rectangle(x + 0.05, 0.05, 0.9, 0.9, DARK if dark else PAPER)
        shown = _text(x + 0.5, 0.5, text, 0.5, fill=PAPER if dark else INK)
        parts.append(Part((box, shown), "letter", place + 1, (word,)))
    for action, letter in enumerate(options):
        row, column = divmod(action, abreast)
        x, y = (width - abreast) / 2 + column, 1.4 + row
        border = {"line": 0.02} if scene["answered"] else {"line": 0.07, "stroke": INK}
        box = _rectangle(x + 0.05, y + 0.05, 0.9, 0.9, PLAIN, **border)
        shapes = (box, _text(x + 0.5, y + 0.5, letter, 0.5))
        area = (x, y, 1.0, 1.0)
        parts.append(Part(shapes, "option", action + 1, (letter,), (action,), area))
    height = 1.4 + ceil(len(options) / abreast)
    return Picture(width, height, tuple(parts), reward=sign_of(scene["reward"]))


def _entries(scene: Mapping[str, Any], actions: int, _: Style) -> Picture:
    """Any other scene: its entries, each from a new line on."""
    reward = scene.get("reward")
    shown = {name: value for name, value in scene.items() if name not in ("kind", "buttons")}
    said = [f"{name}: {value}" for name, value in shown.items()]
    said = [text if len(text) <= LONGEST else f"{text[:LONGEST]}..." for text in said]
    lines, parts = [line for text in said for line in wrap(text, LINE_LENGTH)], []
    for row, line in enumerate(lines):
        at: Attributes = {"x": 0.1, "y": 0.5 + 0.5 * row, "font-size": 0.3, "fill": INK}
        parts.append(Part((Shape("text", at, line),), "text", contains=(line,)))
    width = 0.3 + 0.17 * max(map(len, lines), default=1)
    buttons = scene.get("buttons") or [str(number + 1) for number in range(actions)]
    sign = reward if reward in (UP, NEUTRAL, DOWN) else None
    if sign is None and isinstance(reward, int | float):
        sign = sign_of(reward)
    names = tuple(map(str, buttons))
    return Picture(width, 0.5 + 0.5 * max(1, len(lines)), tuple(parts), names, sign)


_DRAWN: Mapping[str, Callable[[Mapping[str, Any], int, Style], Picture]] = {
    "lambda": _lambda,
    "torus": _torus,
    "cups": _cups,
    "buttons": _buttons,
    "automata": _automata,
    "corners": _corners,
    "mdp": _mdp,
    "pworld": _pworld,
    "c-test": _c_test,
}
