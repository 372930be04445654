"""The figures of a report as data: dots, curves and strips."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from math import isfinite

import numpy as np

from omnimeter.contract import Budget, Exercise, Spec, Trace
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.exercise import FOREVER, NANOSECONDS
from omnimeter.contract.protocol import Moment
from omnimeter.payoffs import average_along
from omnimeter.payoffs.functions import running_averages
from omnimeter.protocols import Result
from omnimeter.reports.comparisons import Comparison
from omnimeter.reports.scores import (
    EXERCISE,
    REPETITION,
    ScoreRow,
    is_adjusted,
    repetition_count,
    unit_values,
)
from omnimeter.reports.style import behind
from omnimeter.reports.text import percent


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
    """Single payoffs of one agent, or the scores of its repetitions.

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
    """The number, or ``None`` if it is not finite and cannot be drawn."""
    return number if number is not None and isfinite(number) else None


def make_curve(
    label: str,
    places: Sequence[float],
    values: Sequence[float],
    ends: Sequence[tuple[float | None, float | None]],
) -> Curve:
    """A curve with the ends of its intervals, as far as they can be drawn."""
    lows, highs = (tuple(map(drawable, side)) for side in zip(*ends, strict=True))
    return Curve(label, tuple(places), tuple(values), lows, highs)


Figure = DotFigure | CurveFigure | StripFigure


POINTS = 200
"""At how many moments a curve is known at the most."""

_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Learning:
    """The running averages of rewards, averaged over exercises, with 95 % intervals.

    Attributes:
        timed: Whether places are seconds; otherwise they are numbers of interactions.
        curves: One curve for each agent that has traces.
    """

    timed: bool
    curves: tuple[Curve, ...]


def learning(
    exercises: Mapping[str, Exercise], traces: Iterable[tuple[str, Trace]]
) -> Learning | None:
    """The learning curves of stored traces.

    The average of an agent that stopped stays where it was. An exercise does not count at moments
    beyond its budget. Traces that ended in a fault are left out, as they are of the score.

    Args:
        exercises: The exercises by their keys.
        traces: Traces with the keys of their exercises, for example ``Record.traces()``.

    Returns:
        The curves, or ``None`` without any trace.
    """
    budgets = [exercise.budget for exercise in exercises.values()]
    timed = any(budget.interactions is None for budget in budgets)
    moments = _moments(max((_length(budget, timed) for budget in budgets), default=0), timed)
    if not len(moments):
        return None
    sums: dict[Spec, _Moments] = {}
    for key, trace in traces:
        if trace.fault is None and key in exercises:
            exercise = exercises[key]
            known = moments <= _length(exercise.budget, timed)
            own = sums.setdefault(exercise.agent, _Moments(len(moments)))
            own.add(_averages(trace, moments, timed), known)
    unit = NANOSECONDS if timed else 1
    curves = [own.curve(agent.label, moments / unit) for agent, own in sums.items()]
    return Learning(timed, tuple(curves)) if curves else None


def _length(budget: Budget, timed: bool) -> int:
    """How far an exercise goes, in nanoseconds or interactions."""
    if timed:
        return 0 if budget.end_ns == FOREVER else budget.end_ns
    return budget.max_interactions


def _moments(longest: int, timed: bool) -> IntArray:
    """Whole numbers, evenly up to the longest, from the first interaction or a small time on."""
    count = min(POINTS, longest)
    first = longest / POINTS if timed else 1.0
    return np.unique(np.linspace(first, longest, count).round().astype(np.int64))


def _averages(trace: Trace, moments: IntArray, timed: bool) -> FloatArray:
    if timed:
        return average_along(trace.rewards, trace.times, moments)
    return running_averages(trace.rewards)[np.minimum(moments, len(trace))]


@dataclass
class _Moments:
    """Count, mean and spread at each moment, kept up to date value by value (Welford)."""

    size: int
    count: IntArray = field(init=False)
    mean: FloatArray = field(init=False)
    squares: FloatArray = field(init=False)

    def __post_init__(self) -> None:
        self.count = np.zeros(self.size, dtype=np.int64)
        self.mean = np.zeros(self.size)
        self.squares = np.zeros(self.size)

    def add(self, values: FloatArray, known: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> None:
        """Add one more curve, where it is known."""
        self.count += known
        before = np.where(known, values - self.mean, 0.0)
        self.mean += before / np.maximum(self.count, 1)
        self.squares += before * (values - self.mean)

    def curve(self, label: str, moments: FloatArray) -> Curve:
        """The means so far, with Student's t interval at each moment."""
        from scipy.special import stdtrit  # much lighter than scipy.stats

        seen = self.count > 0
        count = self.count[seen].astype(np.float64)
        freedom = np.where(count > 1, count - 1, np.nan)
        errors = np.sqrt(self.squares[seen] / freedom / count)
        reach = stdtrit(freedom, (1 + _CONFIDENCE) / 2) * errors
        lows, highs = (self.mean[seen] - reach).tolist(), (self.mean[seen] + reach).tolist()
        ends = list(zip(lows, highs, strict=True))
        return make_curve(label, moments[seen].tolist(), self.mean[seen].tolist(), ends)


_DOTTED = "A dotted bar goes on beyond the edge."
_HOLLOW = "A hollow dot has no interval."

WIDE = 5.0
"""From this ratio of complexities on, those of an adaptive test are on a logarithmic axis."""

MOST_DOTS = 2400
"""A figure of single payoffs has no more dots than this, so that a page stays small."""


def score_figure(rows: Sequence[ScoreRow]) -> DotFigure | None:
    """The score of each agent with its interval; ``None`` when no agent has one."""
    dots = tuple(Dot(row.label, row.value, drawable(row.low), drawable(row.high)) for row in rows)
    if all(dot.value is None for dot in dots):
        return None
    caption = f"The dot is the score, the bar its {percent(rows[0].confidence)} interval."
    if max(row.repetitions for row in rows) > 1:
        caption = caption.removesuffix(".") + ", from the spread between repetitions."
    if any(dot.value is not None and dot.low is None for dot in dots):
        caption += f" {_HOLLOW}"
    if max(row.repetitions for row in rows) == 1:
        caption += " One repetition cannot show how far another one would lie from it."
    return DotFigure("scores", "Scores", caption, "Score", dots)


def difference_figure(compared: Sequence[Comparison]) -> DotFigure | None:
    """How far each agent is from the reference; ``None`` when none is known."""
    dots = tuple(
        Dot(each.agent.label, each.difference, drawable(each.low), drawable(each.high))
        for each in compared
        if each.difference is not None
    )
    if not dots:
        return None
    if compared[0].unit == REPETITION:
        hollow = "" if all(dot.low is not None for dot in dots) else f" {_HOLLOW}"
        return DotFigure(
            "differences",
            "Differences repetition by repetition",
            f"Mean difference from {compared[0].reference.label}, repetition by repetition, with "
            "its 95 % interval. Left of the line is worse. The same repetition of two agents meets "
            f"the same environments as long as both are at the same level.{hollow}",
            "Difference in score",
            dots,
        )
    return DotFigure(
        "differences",
        "Differences on the same exercises",
        f"Mean difference from {compared[0].reference.label}, exercise by exercise, with its 95 % "
        "interval. Left of the line is worse. The exercises are the same, so that these bars can "
        "be much shorter than those of the scores.",
        "Difference in payoff",
        dots,
    )


def complexity_figure(rows: Sequence[ScoreRow], *, adjusted: bool = False) -> CurveFigure | None:
    """Payoff against complexity; ``None`` with fewer than two complexities.

    Args:
        rows: The scores.
        adjusted: Whether exercises count in the scores with other values than these payoffs.
    """
    curves = tuple(
        make_curve(
            row.label,
            [each.complexity for each in row.complexities],
            [each.value for each in row.complexities],
            [(each.low, each.high) for each in row.complexities],
        )
        for row in rows
        if row.complexities
    )
    if max((len(curve.places) for curve in curves), default=0) < 2:
        return None
    repetitions = max(row.repetitions for row in rows)
    wide = repetitions > 0 and _is_wide(curves)
    return CurveFigure(
        "complexity",
        "Payoff against complexity",
        _complexity_caption(repetitions, adjusted)
        + (" The scale of complexity is logarithmic." if wide else "")
        + behind([row.label for row in rows]),
        "Complexity of the environment",
        "Mean payoff",
        curves,
        banded=False,
        scale=Scale.AMOUNTS if wide else Scale.EVEN,
    )


def _is_wide(curves: Sequence[Curve]) -> bool:
    """Whether places of very different size would crowd on an even axis."""
    places = [place for curve in curves for place in curve.places]
    return min(places) > 0 and max(places) / min(places) > WIDE


def _complexity_caption(repetitions: int, adjusted: bool) -> str:
    means = "Mean payoff at each complexity of the environment"
    if not repetitions:
        before = ", before it is adjusted" if adjusted else ""
        return f"{means}{before}, with its 95 % interval. {_DOTTED}"
    sure = "" if repetitions == 1 else ", and the 95 % interval is that of these repetitions"
    return (
        f"{means}. Exercises of a repetition depend on each other; so each repetition that came "
        f"to a complexity counts there once, with its mean{sure}. Success leads to higher "
        "complexities, and later exercises are longer: the curve tells how well the agent did "
        "where the test led it, not what complexity alone does."
        + ("" if repetitions == 1 else f" {_DOTTED}")
    )


def learning_figure(known: Learning | None, rows: Sequence[ScoreRow]) -> CurveFigure | None:
    """Average reward in the course of an exercise, in the order of the scores.

    An adaptive test has none: its long exercises are the late ones, in other environments than the
    short ones, so that a mean over those that last so long would jump from one to the other.
    """
    if known is None or max(len(curve.places) for curve in known.curves) < 2:
        return None
    if any(row.repetitions for row in rows):
        return None
    order = [row.label for row in rows]
    curves = tuple(sorted(known.curves, key=lambda curve: order.index(curve.label)))
    return CurveFigure(
        "learning",
        "Average reward so far",
        "The average of all rewards until each moment, averaged over exercises. The band is the "
        "95 % interval at each moment by itself." + behind([row.label for row in rows]),
        "Seconds" if known.timed else "Interactions",
        "Average reward so far",
        curves,
        banded=True,
    )


def distribution_figure(result: Result, rows: Sequence[ScoreRow]) -> StripFigure | None:
    """The value of every single exercise or repetition; ``None`` when there are too few."""
    most = max(100, MOST_DOTS // max(1, len(rows)))
    strips = tuple(
        _strip(row.label, sorted(unit_values(result, row.agent).values()), most) for row in rows
    )
    if not any(strip.payoffs for strip in strips) or max(row.repetitions for row in rows) == 1:
        return None
    thinned = any(len(strip.payoffs) < strip.count for strip in strips)
    one = result.design.unit
    named = {REPETITION: "Score", EXERCISE: "Adjusted payoff" if is_adjusted(result) else "Payoff"}
    return StripFigure(
        "distribution",
        f"{named[one]}s of single {one}s",
        f"Each dot is one {one}, the short line is the mean."
        + (f" Of more than {most} {one}s an even selection is drawn." if thinned else ""),
        f"{named[one]}{' of a repetition' if one == REPETITION else ''}",
        strips,
        one,
    )


def _strip(label: str, payoffs: list[float], most: int) -> Strip:
    count = len(payoffs)
    if not count:
        return Strip(label, (), None, 0)
    mean = sum(payoffs) / count
    if count > most:  # evenly by rank, which leaves the distribution as it is
        payoffs = [payoffs[round(place * (count - 1) / (most - 1))] for place in range(most)]
    return Strip(label, tuple(payoffs), mean, count)


def course_figure(result: Result, rows: Sequence[ScoreRow]) -> CurveFigure | None:
    """The score at each moment at which the test could have been stopped; ``None`` without two."""
    curves = _curves(result, rows, partial(_score_curve, idle=_idle_rounds(result)))
    if not curves:
        return None
    bands = any(low is not None for curve in curves for low in curve.lows)
    waited = bands and any(curve.lows[0] is None for curve in curves)
    return CurveFigure(
        "course",
        "Score in the course of the test",
        "The score after each round, when the test could have been stopped, against the length of "
        "a repetition by then, on a logarithmic scale. "
        + (
            "The band is the 95 % interval at each moment by itself; where it is wider than the "
            "figure, it is not drawn."
            if bands
            else "One repetition alone has no interval."
        )
        + (" Until it has had time to act, an agent has 0 and no band." if waited else "")
        + behind([row.label for row in rows]),
        _across(result),
        "Score so far",
        curves,
        banded=True,
        scale=_scale(result),
    )


def level_figure(result: Result, rows: Sequence[ScoreRow]) -> CurveFigure | None:
    """How complex the environments of each round were; ``None`` without two rounds."""
    curves = _curves(result, rows, _level_curve)
    if not curves:
        return None
    return CurveFigure(
        "level",
        "Complexity in the course of the test",
        "The mean complexity of the environments of each round. Success leads to harder ones, "
        "failure to easier ones." + behind([row.label for row in rows]),
        _across(result),
        "Complexity of the environments",
        curves,
        banded=True,
        scale=_scale(result),
    )


def _curves(
    result: Result, rows: Sequence[ScoreRow], curve: Callable[[str, Sequence[Moment]], Curve]
) -> tuple[Curve, ...]:
    """A curve of each agent that has come so far, in the order of the scores."""
    courses = [(row.label, result.courses.get(row.agent, ())) for row in rows]
    return tuple(curve(label, course) for label, course in courses if len(course) > 1)


def _idle_rounds(result: Result) -> dict[str, int]:
    """In how many rounds an agent had no time to act yet, so that its score is 0 by the rules."""
    count = repetition_count(result)
    return {
        agent.label: min(
            (each.exercise.number // count for each in done if each.interactions),
            default=len(result.courses[agent]),
        )
        for agent, done in result.outcomes.items()
        if count
    }


def _score_curve(label: str, course: Sequence[Moment], idle: Mapping[str, int]) -> Curve:
    ends: list[tuple[float | None, float | None]] = [
        each.interval[:2] if each.interval and place >= idle[label] else (None, None)
        for place, each in enumerate(course)
    ]
    lengths, values = [each.length for each in course], [each.value for each in course]
    return make_curve(label, lengths, values, ends)


def _level_curve(label: str, course: Sequence[Moment]) -> Curve:
    lengths, levels = [each.length for each in course], [each.level for each in course]
    return make_curve(label, lengths, levels, [(None, None)] * len(course))


def _scale(result: Result) -> Scale:
    return Scale.SECONDS if result.design.length_unit == "seconds" else Scale.AMOUNTS


def _across(result: Result) -> str:
    if result.design.length_unit == "seconds":
        return "Length of a repetition, in the agent's own time"
    return "Length of a repetition, in interactions"
