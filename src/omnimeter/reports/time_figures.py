"""The graphs of performance and computation time (Bayesian RL benchmark, §4), as data and drawn.

Scores against offline time (figure 6 of the paper), against online time (figure 7), and the best
algorithms by pair of bounds (figure 8). An algorithm has the same colour in all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10
from typing import TYPE_CHECKING

from omnimeter.contract import InvalidInputError
from omnimeter.protocols import Result
from omnimeter.protocols.times import Feature, feature
from omnimeter.reports import style
from omnimeter.reports.decisions import BoundsGrid, best_under, bounds_grid, test_in_words
from omnimeter.reports.settings import (
    INSTANT,
    Setting,
    algorithm_names,
    on_one_machine,
    settings_of,
    time_text,
)
from omnimeter.reports.text import listed

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

COLOURS = (*style.SERIES, *style.FURTHER)
MARKERS = (*style.MARKERS, "X", "h")


@dataclass(frozen=True, slots=True)
class Point:
    """A setting with its time and score; ``best`` if none of its algorithm has a higher one."""

    label: str
    time: float
    value: float
    low: float | None
    high: float | None
    best: bool


@dataclass(frozen=True, slots=True)
class Series:
    """The settings of one algorithm; its place decides on its colour and marker."""

    label: str
    place: int
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class TimeFigure:
    """Scores against a computation time, on a logarithmic scale.

    Attributes:
        across: What the horizontal axis is.
        upwards: What the vertical axis is.
        instant: Times up to this one are beside the logarithmic axis, where each algorithm has a
            place of its own; agents without an offline phase would else cover each other.
    """

    name: str
    title: str
    caption: str
    across: str
    upwards: str
    series: tuple[Series, ...]
    instant: float = 0.0


Cells = frozenset[tuple[int, int]]
"""Cells of a grid, by row and column, counted from below and from the left."""


@dataclass(frozen=True, slots=True)
class Region:
    """Neighbouring pairs of bounds under which the same algorithms are best."""

    algorithms: tuple[str, ...]
    cells: Cells


@dataclass(frozen=True, slots=True)
class BoundsFigure:
    """The best algorithms by pair of bounds.

    Attributes:
        columns: The bounds of the horizontal axis, ascending.
        rows: The bounds of the vertical axis, ascending.
        regions: Where which algorithms are best.
        places: The place of each algorithm, which decides on its colour.
    """

    name: str
    title: str
    caption: str
    across: str
    upwards: str
    columns: tuple[str, ...]
    rows: tuple[str, ...]
    regions: tuple[Region, ...]
    places: tuple[str, ...]


def _marked(settings: Sequence[Setting]) -> str:
    """Which settings are no rivals of the others, as an end of a caption; mostly empty."""
    why = {
        "with a privileged view": [each.label for each in settings if each.privileged],
        "with faults of their own": [each.label for each in settings if each.faults],
    }
    return "".join(f" Settings {what}: {listed(who)}." for what, who in why.items() if who)


def time_figure(
    settings: Sequence[Setting], online: bool = False, phi: str | Feature | None = None
) -> TimeFigure | None:
    """The score of each setting against one of its times; ``None`` where all are 0 or not known.

    Args:
        settings: The settings of one problem.
        online: Whether the time is that of a decision, and not of the offline phase.
        phi: Which time it is; by default the offline time, or the mean of a decision.
    """
    what, chosen = feature(phi or ("mean" if online else "offline"))
    names = algorithm_names(settings)
    series = []
    for place, (algorithm, name) in enumerate(names.items()):
        known = [
            (time, each.score, each)
            for each in settings
            if each.algorithm == algorithm and each.times.decisions
            if (time := chosen(each.times)) is not None and each.score is not None
        ]
        sound = [score.value for _, score, each in known if not each.faults]
        highest = max(sound, default=None)
        points = tuple(
            Point(
                each.label + each.eligibility.mark,
                time,
                score.value,
                score.low if isfinite(score.low) else None,
                score.high if isfinite(score.high) else None,
                score.value == highest,
            )
            for time, score, each in sorted(known, key=lambda one: one[0])
        )
        if points:
            series.append(Series(name, place, points))
    times = [point.time for each in series for point in each.points]
    if max(times, default=0.0) == 0.0:
        return None
    caption = (
        f"Each mark is a setting: the mean discounted return, with its 95 % interval, against "
        f"{'its' if what.startswith('offline') else 'the'} {what}. The full mark is the best "
        "setting of its algorithm on these MDPs."
    )
    caption += _marked(settings)
    instant = INSTANT if not online and max(times) > INSTANT else 0.0
    if min(times) <= instant:
        how = f"up to {time_text(instant)}" if instant else "of 0"
        caption += f" Times {how} are left of the line, where algorithms lie side by side."
    return TimeFigure(
        "online" if online else "offline",
        "Score against online time" if online else "Score against offline time",
        caption,
        what[0].upper() + what[1:],
        "Score",
        tuple(series),
        instant,
    )


def bounds_figure(grid: BoundsGrid, settings: Sequence[Setting]) -> BoundsFigure:
    """The best algorithms by pair of bounds.

    Args:
        grid: Which algorithms are best.
        settings: The settings that it was made of, in the order of the other figures.
    """
    names = algorithm_names(settings)
    order = list(names)
    sets = [[tuple(sorted(cell, key=order.index)) for cell in row] for row in grid.best]
    regions = tuple(
        Region(tuple(names[each] for each in algorithms), cells)
        for algorithms, cells in _regions(sets)
    )
    caption = (
        "The algorithms whose best setting within the bounds is not shown, "
        f"{test_in_words(grid.test)}, to be worse "
        f"than the best of all. {' '.join(grid.remarks)}"
    )
    across, upwards = (f"{name[0].upper()}{name[1:]}, at most" for name in grid.features)
    return BoundsFigure(
        "bounds",
        "Best algorithms by bounds on time",
        caption.strip(),
        across,
        upwards,
        tuple(map(time_text, grid.offline)),
        tuple(map(time_text, grid.online)),
        regions,
        tuple(names.values()),
    )


def _regions(sets: Sequence[Sequence[tuple[str, ...]]]) -> Iterator[tuple[tuple[str, ...], Cells]]:
    """Neighbouring cells with the same set, from below and the left."""
    left = {(row, column) for row, line in enumerate(sets) for column in range(len(line))}
    while left:
        start = min(left)
        inside = sets[start[0]][start[1]]
        members, reached = set(), [start]
        while reached:
            row, column = reached.pop()
            if (row, column) in left and sets[row][column] == inside:
                left.remove((row, column))
                members.add((row, column))
                reached += [(row + 1, column), (row - 1, column)]
                reached += [(row, column + 1), (row, column - 1)]
        yield inside, frozenset(members)


def largest_rectangle(cells: Cells) -> tuple[int, int, int, int]:
    """Row, column, height and width of the largest rectangle of cells, the widest of equal ones."""
    best = (0, 0, 0, 0)
    for row, column in sorted(cells):
        width, height = len(cells), 0
        while (row + height, column) in cells:
            reach = 0
            while reach < width and (row + height, column + reach) in cells:
                reach += 1
            width, height = reach, height + 1
            if (width * height, width) > (best[2] * best[3], best[3]):
                best = row, column, height, width
    return best


@dataclass(frozen=True)
class TimeReport:
    """What a page says of the computation times of an evaluation.

    Attributes:
        settings: The settings, with times that can be compared; without any if they cannot.
        figures: The graphs for which there is something to draw.
        note: The decision without bounds, and what one must know.
    """

    settings: tuple[Setting, ...]
    figures: tuple[TimeFigure | BoundsFigure, ...]
    note: str


def time_report(result: Result) -> TimeReport | None:
    """What the measured decisions of an evaluation say; ``None`` where none were measured.

    Times of different machines are scaled, which the note says.
    """
    if not any(done.remarks("online") for done in result.outcomes.values()):
        return None
    return time_report_of(settings_of(result))


def time_report_of(all_settings: Sequence[Setting]) -> TimeReport | None:
    """What the measured decisions of settings say; ``None`` where none were measured."""
    settings = [each for each in all_settings if each.times.decisions and each.returns]
    if not settings:
        return None
    try:
        scaled, _ = on_one_machine(settings, mix=True)
    except InvalidInputError as error:
        return TimeReport((), (), str(error))
    graphs: list[TimeFigure | BoundsFigure | None] = [
        time_figure(scaled),
        time_figure(scaled, online=True),
    ]
    sound = [each for each in scaled if not each.eligibility.mark]
    note = ""
    if sound and len(set.intersection(*(set(each.returns) for each in sound))) > 1:
        graphs.append(bounds_figure(bounds_grid(settings, mix=True), scaled))
        decision = best_under(settings, mix=True)
        note = " ".join([decision.sentence, *decision.remarks])
    return TimeReport(tuple(scaled), tuple(each for each in graphs if each is not None), note)


_WIDE, _TALL = 6.5, 3.6
"""About how many inches a panel of points has."""


def draw_times(figure: TimeFigure, canvas: Canvas) -> None:
    """Draw scores against a time, on a logarithmic axis with a column of instant times beside."""
    canvas.set_size_inches(style.WIDTH, _TALL + 0.7)
    axes = canvas.add_subplot()
    points = [point for series in figure.series for point in series.points]
    logs = [log10(point.time) for point in points if point.time > figure.instant]
    first, last = (min(logs), max(logs)) if logs else (0.0, 0.0)
    beside = [s for s in figure.series if any(p.time <= figure.instant for p in s.points)]
    share = min(0.5, 0.05 + 0.065 * len(beside)) if beside else 0.0  # of the width
    span = (last - first or 0.5) * 1.08 / (1 - share)
    margin = 0.04 * (last - first or 0.5)
    edge = first - margin
    left = edge - share * span

    def place(series: Series, point: Point) -> float:
        if point.time > figure.instant:
            return log10(point.time)
        # In a row, so that intervals can be told apart.
        near = [each for each in series.points if each.time <= figure.instant]
        offset = 0.5 + 0.55 * ((near.index(point) + 0.5) / len(near) - 0.5)
        return left + share * span * (beside.index(series) + offset) / len(beside)

    for series in figure.series:
        colour, marker = COLOURS[series.place % len(COLOURS)], MARKERS[series.place % len(MARKERS)]
        for point in series.points:
            x = place(series, point)
            if point.low is not None and point.high is not None:
                axes.vlines(
                    x,
                    point.low,
                    point.high,
                    color=colour,
                    linewidth=1.6 if point.best else 1.1,
                    alpha=0.45 if point.best else 0.22,
                )
            axes.plot(
                [x],
                [point.value],
                marker=marker,
                color=colour,
                markersize=8.0 if point.best else 5.5,
                markerfacecolor=colour if point.best else style.SURFACE,
                markeredgecolor=style.SURFACE if point.best else colour,
                markeredgewidth=0.8 if point.best else 1.2,
                zorder=4 if point.best else 3,
            )
    axes.set_xlim(left, left + span)
    ends = [end for p in points for end in (p.low, p.high, p.value) if end is not None]
    low, high = min(ends), max(ends)
    room = 0.06 * (high - low) or 0.1 * abs(high) or 1.0
    axes.set_ylim(low - room, high + room)
    ticks = _ticks(first, last) if logs else []
    names = [time_text(10.0**tick) for tick in ticks]
    if beside:
        axes.axvline(edge, color=style.LINE, linewidth=1.2)
        ticks.append((left + edge) / 2)
        names.append(f"up to {time_text(figure.instant)}" if figure.instant else "none")
    axes.set_xticks(ticks, names)
    axes.grid(visible=True, axis="y")
    axes.spines["left"].set_visible(False)
    axes.set_xlabel(figure.across)
    axes.set_ylabel(figure.upwards)
    drawn = [(s, [(place(s, p), p) for p in s.points]) for s in figure.series]
    _label(axes, drawn, [edge] if beside else [])


def _ticks(first: float, last: float) -> list[float]:
    """Powers of ten, or parts of them over a short range, as logarithms: two or more of them."""
    if last - first < log10(5):  # in which there may be one of these parts, or none
        from matplotlib.ticker import MaxNLocator

        even = MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(10.0**first, 10.0**last)
        marks = [log10(mark) for mark in even if mark > 0] if first < last else [first]
    elif last - first < 1.5:
        parts = [log10(part) for part in (1, 2, 5)]
        marks = [power + part for power in range(floor(first), ceil(last) + 1) for part in parts]
    else:
        step = ceil((last - first) / 9)
        marks = [float(power) for power in range(ceil(first), floor(last) + 1, step)]
    return [mark for mark in marks if first - 1e-9 <= mark <= last + 1e-9]


_SPOTS = (
    ("left", 0.1, 0.0),
    ("right", -0.1, 0.0),
    ("center", 0.0, 0.16),
    ("center", 0.0, -0.16),
    ("left", 0.08, 0.12),
    ("left", 0.08, -0.12),
    ("right", -0.08, 0.12),
    ("right", -0.08, -0.12),
)
"""Where a name may be beside a point: which of its sides is how many inches away."""


def _label(
    axes: Axes,
    drawn: Sequence[tuple[Series, Sequence[tuple[float, Point]]]],
    lines: Sequence[float],
) -> None:
    """Write the name of each algorithm beside one of its points, where it covers the least."""
    (left, right), (bottom, top) = axes.get_xlim(), axes.get_ylim()

    def spot(x: float, y: float) -> tuple[float, float]:
        return (x - left) / (right - left) * _WIDE, (y - bottom) / (top - bottom) * _TALL

    # What a label should not cover, in inches: points and lines, and intervals less so.
    boxes = [(spot(x, 0)[0] - 0.02, 0.0, spot(x, 0)[0] + 0.02, _TALL, 3.0) for x in lines]
    for _, points in drawn:
        for x, point in points:
            across, up = spot(x, point.value)
            boxes.append((across - 0.06, up - 0.06, across + 0.06, up + 0.06, 3.0))
            if point.low is not None and point.high is not None:
                ends = spot(x, point.low)[1], spot(x, point.high)[1]
                boxes.append((across - 0.02, ends[0], across + 0.02, ends[1], 0.7))
    for series, points in sorted(drawn, key=lambda one: len(one[1])):
        wide, tall = 0.068 * len(series.label) + 0.04, 0.15
        choices = []
        for x, point in points:
            across, up = spot(x, point.value)
            for away, (side, dx, dy) in enumerate(_SPOTS):
                start = across + dx - wide * ("left", "center", "right").index(side) / 2
                box = start, up + dy - tall / 2, start + wide, up + dy + tall / 2
                cost = 0.02 * away + (0.0 if point.best else 0.15)
                cost += sum(
                    weight
                    for west, south, east, north, weight in boxes
                    if box[0] < east and west < box[2] and box[1] < north and south < box[3]
                )
                inside = box[0] >= 0 and box[2] <= _WIDE and box[1] >= 0 and box[3] <= _TALL
                choices.append((cost + (0 if inside else 20), box, side, across + dx, up + dy))
        _, box, side, across, up = min(choices)
        boxes.append((*box, 8.0))
        axes.annotate(
            series.label,
            (across / _WIDE, up / _TALL),
            xycoords="axes fraction",
            horizontalalignment=side,
            verticalalignment="center",
            fontsize=style.SMALL,
            fontweight="bold",
            color=COLOURS[series.place % len(COLOURS)],
            zorder=5,
        )


_LETTER, _LINE = 0.0086, 0.0172
"""Inches of a letter and of a line, for each point of their size."""


def draw_bounds(figure: BoundsFigure, canvas: Canvas) -> None:
    """Draw the regions of a grid, each with the colours and the names of its algorithms."""
    from matplotlib.collections import LineCollection, PatchCollection
    from matplotlib.patches import Rectangle

    rows, columns = len(figure.rows), len(figure.columns)
    wide, tall = 6.4 / columns, max(min(0.5, max(0.34, 5.0 / rows)), 2.4 / rows)
    for region in figure.regions:  # so that names fit in small letters
        height, width = largest_rectangle(region.cells)[2:]
        lines = _packed(region.algorithms, width * wide, _LETTER * 6)
        tall = max(tall, min(1.0, (len(lines) * _LINE * 6 + 0.06) / height))
    canvas.set_size_inches(style.WIDTH, rows * tall + 1.0)
    axes = canvas.add_subplot()
    axes.set_xlim(0, columns)
    axes.set_ylim(0, rows)
    bands: list[Rectangle] = []
    colours: list[str] = []
    borders: list[tuple[tuple[float, float], ...]] = []
    for region in figure.regions:
        count = len(region.algorithms)
        for row, column in sorted(region.cells):
            for band, name in enumerate(region.algorithms):
                colours.append(COLOURS[figure.places.index(name) % len(COLOURS)])
                bands.append(Rectangle((column, row + 1 - (band + 1) / count), 1, 1 / count))
            if column + 1 < columns and (row, column + 1) not in region.cells:
                borders.append(((column + 1, row), (column + 1, row + 1)))
            if row + 1 < rows and (row + 1, column) not in region.cells:
                borders.append(((column, row + 1), (column + 1, row + 1)))
        _write_names(axes, region, wide, tall)
    axes.add_collection(PatchCollection(bands, facecolors=colours, alpha=0.28, linewidths=0))
    grid = [((place, 0), (place, rows)) for place in range(1, columns)]
    grid += [((0, place), (columns, place)) for place in range(1, rows)]
    axes.add_collection(LineCollection(grid, colors=style.SURFACE, linewidths=0.6, zorder=2))
    axes.add_collection(LineCollection(borders, colors=style.INK, linewidths=1.0, zorder=3))
    turned = wide < 0.075 * max(map(len, figure.columns))
    axes.set_xticks(
        [column + 0.5 for column in range(columns)], figure.columns, rotation=40 * turned,
        ha="right" if turned else "center", rotation_mode="anchor",
    )  # fmt: skip
    axes.set_yticks([row + 0.5 for row in range(rows)], figure.rows)
    for side in ("left", "bottom"):
        axes.spines[side].set_visible(False)
    axes.tick_params(length=0)
    axes.set_xlabel(figure.across)
    axes.set_ylabel(figure.upwards)


def _write_names(axes: Axes, region: Region, wide: float, tall: float) -> None:
    """Write the names of a region in its largest rectangle, as large as they fit."""
    row, column, height, width = largest_rectangle(region.cells)
    for size in (8.5, 7.5, 6.5, 6.0, 5.0):
        lines = _packed(region.algorithms or ("none",), width * wide, _LETTER * size)
        fits = max(map(len, lines)) * _LETTER * size <= width * wide - 0.04
        if fits and len(lines) * _LINE * size <= height * tall - 0.04:
            break
    most = max(3, int((width * wide - 0.04) / (_LETTER * size)))
    axes.text(
        column + width / 2,
        row + height / 2,
        "\n".join(line if len(line) <= most else line[: most - 1] + "…" for line in lines),
        horizontalalignment="center",
        verticalalignment="center",
        fontsize=size,
        linespacing=1.1,
        color=style.INK,
        bbox={
            "boxstyle": "round,pad=0.15",
            "facecolor": style.SURFACE,
            "alpha": 0.7,
            "linewidth": 0,
        },
        zorder=4,
    )


def _packed(names: Sequence[str], wide: float, letter: float) -> list[str]:
    """Names in as few lines as fit into a width, given that of a letter."""
    lines: list[str] = []
    for name in names:
        if lines and letter * len(f"{lines[-1]}, {name}") <= wide - 0.04:
            lines[-1] += f", {name}"
        else:
            lines.append(name)
    return lines
