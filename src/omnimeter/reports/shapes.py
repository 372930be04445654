"""The shapes that figures have, as data: dots, curves and strips; ``ink`` draws them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import isfinite


class Scale(StrEnum):
    """How the places of curves lie on the horizontal axis."""

    EVEN = "even"
    AMOUNTS = "numbers, logarithmic"
    SECONDS = "seconds, logarithmic"


@dataclass(frozen=True, slots=True)
class Dot:
    """A value with its interval.

    Attributes:
        label: Whose it is.
        value: The value; ``None`` when there is none.
        low: The lower end of the interval; ``None`` when that cannot be said.
        high: The upper end.
    """

    label: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class DotFigure:
    """Values with intervals, one line each, from top to bottom.

    Attributes:
        name: A short name, for files and anchors.
        title: What it shows.
        caption: How to read it.
        axis: What the values are.
        dots: The values.
    """

    name: str
    title: str
    caption: str
    axis: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """A value that depends on another, with intervals.

    Attributes:
        label: Whose it is.
        places: Where the values are known.
        values: The values.
        lows: The lower ends of their intervals; ``None`` where that cannot be said.
        highs: The upper ends.
    """

    label: str
    places: tuple[float, ...]
    values: tuple[float, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]


@dataclass(frozen=True, slots=True)
class CurveFigure:
    """Several curves over one axis.

    Attributes:
        name: A short name, for files and anchors.
        title: What it shows.
        caption: How to read it.
        across: What the horizontal axis is.
        upwards: What the vertical axis is.
        curves: The curves.
        banded: Whether intervals are a band along the curve, or a bar at each of its points.
        scale: How places lie on the horizontal axis.
    """

    name: str
    title: str
    caption: str
    across: str
    upwards: str
    curves: tuple[Curve, ...]
    banded: bool
    scale: Scale = Scale.EVEN


@dataclass(frozen=True, slots=True)
class Strip:
    """Single payoffs of one agent, or the scores of its sittings.

    Attributes:
        label: Whose they are.
        payoffs: The payoffs in ascending order, thinned out evenly if there are very many.
        mean: The mean of all of them; ``None`` when there is none.
        count: How many there are in all.
    """

    label: str
    payoffs: tuple[float, ...]
    mean: float | None
    count: int


@dataclass(frozen=True, slots=True)
class StripFigure:
    """Single payoffs, one line of dots for each agent, from top to bottom.

    Attributes:
        name: A short name, for files and anchors.
        title: What it shows.
        caption: How to read it.
        axis: What the values are.
        strips: The agents.
        unit: What each dot is.
    """

    name: str
    title: str
    caption: str
    axis: str
    strips: tuple[Strip, ...]
    unit: str = "exercise"


def drawable(number: float | None) -> float | None:
    """The number, unless it is none that could be drawn."""
    return number if number is not None and isfinite(number) else None


Figure = DotFigure | CurveFigure | StripFigure
