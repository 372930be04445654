"""A curve as a few lines of text: braille dots, a scale, and a line at 0."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from omnimeter.reports.wording import number

_BLANK = 0x2800
_DOTS = ((0x01, 0x08), (0x02, 0x10), (0x04, 0x20), (0x40, 0x80))
"""The bit of each dot of a braille character, by its row and column."""

ZERO = "┄"
"""What the line at 0 is made of."""

SCALE = 7
"""Characters of the scale, the axis included."""


def plot(values: Sequence[float], width: int, height: int) -> list[str]:
    """Draw values from left to right, the oldest first.

    Args:
        values: The numbers; none of them is infinite.
        width: Characters of a line, the scale included.
        height: How many lines.

    Returns:
        The lines, all of the same width. Without values there is only the line at 0.
    """
    low, high = _reach(values, height)
    across, down = max(1, width - SCALE), 4 * height - 1

    def row(value: float) -> int:
        return round((high - value) / (high - low) * down)

    cells = [[_BLANK] * across for _ in range(height)]
    for column, dots in enumerate(_columns([row(value) for value in values], 2 * across)):
        for dot in dots:
            cells[dot // 4][column // 2] |= _DOTS[dot % 4][column % 2]
    zero = row(0.0) // 4
    return [
        _scale(place, zero, low, high, height) + _line(line, ZERO if place == zero else " ")
        for place, line in enumerate(cells)
    ]


def _reach(values: Sequence[float], height: int) -> tuple[float, float]:
    """From where to where the scale goes: 0 belongs to it, and so does a line below it."""
    low, high = min(0.0, *values, 0.0), max(0.0, *values, 0.0)
    span = max(high - low, 0.02)
    if low == 0.0 == high:
        return -span / 2, span / 2
    margin = span / (2 * height)
    return (low - margin if low < 0 else low), (high + margin if high > 0 else high)


def _columns(rows: Sequence[int], count: int) -> list[range]:
    """Which dots are set in each column: the curve and what connects it to the column before."""
    if not rows:
        return [range(0)] * count
    last = len(rows) - 1
    heights = [rows[0]] * count
    for column in range(count):
        place = column * last / max(1, count - 1)
        before = min(int(place), last)
        after = min(before + 1, last)
        heights[column] = round(rows[before] + (rows[after] - rows[before]) * (place - before))
    joined = [range(heights[0], heights[0] + 1)]
    for old, new in pairwise(heights):
        step = (new > old) - (new < old)
        joined.append(range(old + step, new + step, step) if step else range(new, new + 1))
    return joined


def _scale(place: int, zero: int, low: float, high: float, height: int) -> str:
    if place == zero:
        return f"{'0':>{SCALE - 2}} ┼"
    if place == 0 and zero > 1:
        return f"{number(high, 2, signed=True):>{SCALE - 2}} ┤"
    if place == height - 1 and zero < height - 2:
        return f"{number(low, 2, signed=True):>{SCALE - 2}} ┤"
    return f"{' ':>{SCALE - 2}} │"


def _line(cells: Sequence[int], background: str) -> str:
    return "".join(background if cell == _BLANK else chr(cell) for cell in cells)
