"""From the data of a figure to a picture: SVG for pages, and files of any format."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnimeter.contract import InvalidInputError
from omnimeter.reports import look
from omnimeter.reports.shapes import CurveFigure, DotFigure, Figure
from omnimeter.results import durable

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

_UNDATED: Mapping[str, Mapping[str, Any]] = {
    "svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    "pdf": {"CreationDate": None, "Creator": None, "Producer": None},
    "png": {"Software": None},
}
"""What each format is told so that the same figure always has the same bytes."""

_RESOLUTION = 200
_TAG = re.compile(r"<[^>]*>")
_OPENING = re.compile(r'<svg\b[^>]*?viewBox="([^"]*)"[^>]*>')
_IDENTITY = re.compile(r'(\bid="|href="#|url\(#)')


def inline_svg(figure: Figure, places: Mapping[str, int]) -> str:
    """A figure as an SVG element for a page, whose style sheet may set its colours.

    Args:
        figure: What to draw.
        places: The place of each agent, by label, which decides on its colour and marker.
    """
    text = _picture(figure, places, "svg", titled=False).decode()
    text = _OPENING.sub(r'<svg viewBox="\1">', text[text.index("<svg") :], count=1)
    return _TAG.sub(lambda tag: _adapted(tag[0], figure.name), text)


def save_figure(figure: Figure, places: Mapping[str, int], path: Path) -> None:
    """Write a figure into a file, with its title; the suffix decides on the format.

    Args:
        figure: What to draw.
        places: The place of each agent, by label, which decides on its colour and marker.
        path: A file whose name ends in ``.svg``, ``.pdf`` or ``.png``.

    Raises:
        InvalidInputError: The name ends in something else.
        StoreError: The file could not be written.
    """
    kind = path.suffix.lower().removeprefix(".")
    if kind not in _UNDATED:
        raise InvalidInputError(
            f"A figure cannot be written as {path.name!r}.", "Use .svg, .pdf or .png."
        )
    durable.write(path, _picture(figure, places, kind, titled=True))


def _adapted(tag: str, name: str) -> str:
    """A tag with names that differ from other figures' on the page, and colours that have names."""
    tag = _IDENTITY.sub(rf"\g<1>{name}-", tag)
    for colour, variable in look.NAMES.items():
        tag = tag.replace(colour, f"var(--{variable}, {colour})")
    return tag


def _picture(figure: Figure, places: Mapping[str, int], kind: str, *, titled: bool) -> bytes:
    import matplotlib.style
    from matplotlib.figure import Figure as Canvas

    # Whatever the user has set up for other plots must not change what a report looks like.
    style = {**look.STYLE, "svg.hashsalt": figure.name}
    with matplotlib.style.context(style, after_reset=True), warnings.catch_warnings():
        # An agent may have a name that the font cannot show; the page itself can.
        warnings.filterwarnings("ignore", message="Glyph .* missing from", category=UserWarning)
        canvas = Canvas()
        _draw(figure, places, canvas)
        if titled:
            canvas.suptitle(
                figure.title, x=0.01, ha="left", fontsize=12, fontweight="bold", color=look.INK
            )
        sink = io.BytesIO()
        canvas.savefig(
            sink,
            format=kind,
            metadata=dict(_UNDATED[kind]),
            dpi=_RESOLUTION,
            facecolor="none" if kind == "svg" else "white",
        )
    return sink.getvalue()


def _draw(figure: Figure, places: Mapping[str, int], canvas: Canvas) -> None:
    from omnimeter.reports.curves_ink import draw_curves
    from omnimeter.reports.rows_ink import draw_dots, draw_strips

    if isinstance(figure, DotFigure):
        draw_dots(figure, places, canvas)
    elif isinstance(figure, CurveFigure):
        draw_curves(figure, places, canvas)
    else:
        draw_strips(figure, places, canvas)
