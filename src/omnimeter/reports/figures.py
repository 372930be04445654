"""The figures of a report as data: dots, curves and strips."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import inf, isfinite
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.catalogue import Kind, make
from omnimeter.contract import Ending, Spec, Trace
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.exercise import FOREVER, NANOSECONDS
from omnimeter.estimation import Support, mean
from omnimeter.payoffs import Average, diminishing_along
from omnimeter.payoffs.functions import running_averages
from omnimeter.protocols import Result
from omnimeter.protocols.sample import payoff_bounds
from omnimeter.reports.comparisons import Comparison
from omnimeter.reports.distributions import BoxFigure, HistogramFigure
from omnimeter.reports.scores import (
    EXERCISE,
    REPETITION,
    ScoreRow,
    is_adjusted,
    repetition_count,
    unit_values,
)
from omnimeter.reports.style import behind
from omnimeter.reports.text import counted, percent
from omnimeter.reports.time_figures import BoundsFigure, TimeFigure


class Scale(StrEnum):
    """How the places of curves lie on the horizontal axis."""

    EVEN = "even"
    BINS = "ranges, one beside the other"
    VALUES = "even, not from the beginning of something"
    AMOUNTS = "numbers, logarithmic"
    SECONDS = "seconds, logarithmic"


@dataclass(frozen=True, slots=True)
class Dot:
    """A value with its interval; ``None`` where one cannot be said."""

    label: str
    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class DotFigure:
    """Values with intervals, one line each, from top to bottom.

    Attributes:
        name: A short name, for files and anchors.
        axis: What the values are.
    """

    name: str
    title: str
    caption: str
    axis: str
    dots: tuple[Dot, ...]


@dataclass(frozen=True, slots=True)
class Curve:
    """A value that depends on another, with intervals; ``None`` where an end cannot be said.

    Attributes:
        points: Single values that are drawn with it, with their places.
        bins: The range that each place stands for, where it is the middle of one.
        counts: From how many exercises or repetitions each value is, where that is told.
    """

    label: str
    places: tuple[float, ...]
    values: tuple[float, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]
    points: tuple[tuple[float, float], ...] = ()
    bins: tuple[tuple[float, float], ...] = ()
    counts: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class CurveFigure:
    """Several curves over one axis.

    Attributes:
        across: What the horizontal axis is.
        upwards: What the vertical axis is.
        banded: Whether intervals are a band along the curve, or a bar at each of its points.
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
        payoffs: The payoffs in ascending order, thinned out evenly if there are very many.
        mean: The mean of all of them; ``None`` without any.
        count: How many there are in all.
    """

    label: str
    payoffs: tuple[float, ...]
    mean: float | None
    count: int


@dataclass(frozen=True, slots=True)
class StripFigure:
    """Single payoffs, one line of dots for each agent, from top to bottom; a dot is a unit."""

    name: str
    title: str
    caption: str
    axis: str
    strips: tuple[Strip, ...]
    unit: str = EXERCISE


Figure = (
    DotFigure | CurveFigure | StripFigure | TimeFigure | BoundsFigure | HistogramFigure | BoxFigure
)

_DOTTED = "A dotted bar goes on beyond the edge."
_HOLLOW = "A hollow dot has no interval."
DASHED = " A dashed line has no band."

POINTS = 200
"""At how many moments a learning curve is known at the most."""

MOST_KEPT = 1_000
"""Traces of an agent up to which its learning curve has the interval of ``estimation.mean``."""

MOST_DOTS = 2400
"""A figure of single payoffs has no more dots than this, so that a page stays small."""


def _drawable(number: float | None) -> float | None:
    return number if number is not None and isfinite(number) else None


def curve_of(
    label: str,
    places: Iterable[float],
    values: Iterable[float],
    ends: Iterable[tuple[float | None, float | None]],
) -> Curve:
    """A curve with the ends of its intervals, as far as they can be drawn."""
    lows, highs = (tuple(map(_drawable, side)) for side in zip(*ends, strict=True))
    return Curve(label, tuple(places), tuple(values), lows, highs)


def without_band(curves: Sequence[Curve]) -> list[str]:
    """The labels of curves without any interval, if others have one: they are drawn dashed."""
    bare = [curve.label for curve in curves if set(curve.lows) == set(curve.highs) == {None}]
    return bare if len(bare) < len(curves) else []


def score_figure(rows: Sequence[ScoreRow]) -> DotFigure | None:
    """The score of each agent with its interval; ``None`` when no agent has one."""
    dots = tuple(Dot(row.name, row.value, _drawable(row.low), _drawable(row.high)) for row in rows)
    if all(dot.value is None for dot in dots):
        return None
    repetitions = max(row.repetitions for row in rows)
    spread = ", from the spread between repetitions" if repetitions > 1 else ""
    caption = f"The dot is the score, the bar its {percent(rows[0].confidence)} interval{spread}."
    if any(dot.value is not None and dot.low is None for dot in dots):
        caption += f" {_HOLLOW}"
    if repetitions == 1:
        caption += " One repetition cannot show how far another one would lie from it."
    return DotFigure("scores", "Scores", caption, "Score", dots)


def difference_figure(compared: Sequence[Comparison]) -> DotFigure | None:
    """How far each agent is from the reference; ``None`` when none is known."""
    dots = tuple(
        Dot(each.name, each.difference, _drawable(each.low), _drawable(each.high))
        for each in compared
        if each.difference is not None
    )
    if not dots:
        return None
    title, axis = "Differences on the same exercises", "Difference in payoff"
    note = (
        "The exercises are the same, so that these bars can be much shorter than those of the "
        "scores."
    )
    unit = compared[0].unit
    if unit == REPETITION:
        title, axis = "Differences repetition by repetition", "Difference in score"
        note = (
            "The same repetition of two agents meets the same environments as long as both are at "
            "the same level."
        )
    if any(dot.low is None for dot in dots):
        note += f" {_HOLLOW}"
    kind = "95 % interval, all of which hold at once" if len(compared) > 1 else "95 % interval"
    caption = (
        f"Mean difference from {compared[0].reference_name}, {unit} by {unit}, with its {kind}. "
        f"Left of the line is worse. {note}"
    )
    return DotFigure("differences", title, caption, axis, dots)


def complexity_figure(rows: Sequence[ScoreRow], *, adjusted: bool = False) -> CurveFigure | None:
    """Payoff against complexity; ``None`` with fewer than two complexities.

    Args:
        rows: The scores.
        adjusted: Whether exercises count in the scores with other values than these payoffs.
    """
    curves = tuple(
        replace(
            curve_of(
                row.name,
                (each.complexity for each in row.complexities),
                (each.value for each in row.complexities),
                ((each.low, each.high) for each in row.complexities),
            ),
            bins=tuple(each.between for each in row.complexities),
            counts=tuple(each.count for each in row.complexities),
        )
        for row in rows
        if row.complexities
    )
    if max((len(curve.places) for curve in curves), default=0) < 2:
        return None
    repetitions = max(row.repetitions for row in rows)
    places = [place for curve in curves for place in curve.places]
    # Complexities of very different size would crowd on an even axis.
    binned = any(low < high for curve in curves for low, high in curve.bins)
    wide = not binned and repetitions > 0 and min(places) > 0 and max(places) / min(places) > 5
    unit = REPETITION if repetitions else EXERCISE
    counts = [count for curve in curves for count in curve.counts]
    fewest = f"{min(counts)} to " if min(counts) < max(counts) else ""
    some = fewest + counted(max(counts), unit)
    caption = "Mean payoff at each complexity of the environment"
    if binned:
        caption = (
            "Mean payoff in ranges of the complexity of the environment, with the number of "
            f"{unit}s of each agent in parentheses"
        )
    if repetitions:
        sure = "" if repetitions == 1 else ", and the 95 % interval is that of these repetitions"
        caption += (
            ". Exercises of a repetition depend on each other; so each repetition that came to a "
            f"complexity counts there once, with its mean{sure}. Success leads to higher "
            "complexities, and later exercises are longer: the curve tells how well the agent did "
            "where the test led it, not what complexity alone does."
        )
    else:
        caption += f"{', before it is adjusted' if adjusted else ''}, with its 95 % interval."
    caption += "" if binned else f" Each mean is from {some}."
    caption += "" if repetitions == 1 else f" {_DOTTED}"
    if 1 in counts and repetitions != 1:
        caption += f" A hollow point is a single {unit}, without an interval."
    caption += " The scale of complexity is logarithmic." if wide else ""
    return CurveFigure(
        "complexity",
        "Payoff against complexity",
        caption + behind([row.name for row in rows]),
        "Complexity of the environment",
        "Mean payoff",
        curves,
        banded=False,
        scale=Scale.BINS if binned else Scale.AMOUNTS if wide else Scale.EVEN,
    )


def learning_figure(
    result: Result, rows: Sequence[ScoreRow], traces: Iterable[tuple[str, Trace]]
) -> CurveFigure | None:
    """Average reward in the course of an exercise, with 95 % intervals; ``None`` without traces.

    What an agent that stopped left undone counts as the default payoffs have it: as 0 of a number
    of interactions, and as by ``diminishing-v1`` of a time. An exercise does not count at moments
    beyond its budget. Traces that ended in a fault are left out, as they are of the score.

    An adaptive test has none: its long exercises are the late ones, in other environments than the
    short ones, so that a mean over those that last so long would jump from one to the other. Its
    traces are not read.

    Args:
        result: The result of an evaluation.
        rows: Its scores.
        traces: Traces with the keys of their exercises, for example ``Record.traces()``.
    """
    sums = LearningSums()
    sums.add(result, traces)
    return sums.figure({row.agent: row.name for row in rows})


_SMALLEST = 1126
"""Every floating-point number is a whole multiple of two to the power of minus this."""


class LearningSums:
    """What a learning figure is made of, gathered over the traces of evaluations of one test.

    The moments are those of the first evaluation. The order of traces, which is that in which they
    happened to be stored, does not count: up to ``MOST_KEPT`` values of an agent at each moment are
    kept and sorted, and more of them become exact sums.
    """

    def __init__(self) -> None:
        self._timed = False
        self._moments: IntArray | None = None
        self._supports: list[Support | None] = []
        # The values of each trace at each moment, NaN where they do not count.
        self._values: dict[Spec, list[FloatArray]] = {}
        # At each moment the count, the sum and the sum of squares, as integers of any size.
        self._sums: dict[Spec, NDArray[np.object_]] = {}

    def add(self, result: Result, traces: Iterable[tuple[str, Trace]]) -> None:
        """Add the traces of an evaluation."""
        if result.design.unit == REPETITION:
            return
        if self._moments is None:
            self._timed, self._moments = _moments(result)
        moments, timed = self._moments, self._timed
        taken: _Taken | None = None  # made for the first trace: mostly there are none
        for key, trace in traces:
            if taken is None:
                taken = _Taken(result, timed=timed)
                self._supports.append(_support(result))
            owner, length = taken.find(key)
            known = moments <= length
            if trace.fault is not None or not known.any():
                continue
            own = self._values.setdefault(owner, [])
            own.append(np.where(known, _so_far(trace, moments, timed=timed), np.nan))
            if len(own) > MOST_KEPT:
                self._fold(owner)

    def _fold(self, agent: Spec) -> None:
        """Add the values of an agent to its exact sums."""
        for values in self._values[agent]:
            known = np.isfinite(values)  # which averages of huge rewards are not
            parts, exponents = np.frexp(np.where(known, values, 0.0))
            digits = np.ldexp(parts, 53).astype(np.int64).astype(object)
            shifts = (exponents + (_SMALLEST - 53)).astype(object)
            zeros = np.zeros((3, len(values)), dtype=object)
            count, total, squares = self._sums.setdefault(agent, zeros)
            count += known.astype(object)
            total += digits << shifts
            squares += digits**2 << 2 * shifts
        self._values[agent].clear()

    def _curve(self, agent: Spec, label: str, places: FloatArray) -> Curve:
        if agent in self._sums:
            self._fold(agent)
            return _curve_of_sums(label, places, self._sums[agent])
        support = None
        known = [each for each in self._supports if each is not None]
        if len(known) == len(self._supports):
            support = min(low for low, _ in known), max(high for _, high in known)
        return _curve_of_values(label, places, self._values[agent], support)

    def figure(self, names: Mapping[Spec, str]) -> CurveFigure | None:
        """The figure of agents by their names; ``None`` where there is nothing to draw."""
        if self._moments is None:
            return None
        order, timed = list(names.values()), self._timed
        places = self._moments / (NANOSECONDS if timed else 1)
        curves = tuple(
            self._curve(agent, name, places)
            for agent, name in names.items()
            if agent in self._values
        )
        if max((len(curve.places) for curve in curves), default=0) < 2:
            return None
        undone = "what an agent that stopped left undone counts as 0."
        if timed:
            undone = "with diminishing history (diminishing-v1): what a stop leaves undone counts."
        student = f"; of more than {MOST_KEPT:,} exercises it is Student's".replace(",", " ")
        return CurveFigure(
            "learning",
            "Average reward so far",
            f"The average of all rewards until each moment, averaged over exercises; {undone} The "
            "band is the 95 % interval of the mean at each moment by itself"
            f"{student if self._sums else ''}.{DASHED if without_band(curves) else ''}"
            f"{behind(order)}",
            "Seconds" if timed else "Interactions",
            "Average reward so far",
            curves,
            banded=True,
        )


def _so_far(trace: Trace, moments: IntArray, *, timed: bool) -> FloatArray:
    """The average reward until each moment, in which what an agent left undone counts."""
    if timed:
        return diminishing_along(trace.rewards, trace.times, moments, trace.planned)
    done = np.minimum(moments, len(trace))
    averages = running_averages(trace.rewards)[done]
    return averages * (done / moments) if trace.ending is Ending.STOPPED else averages


def _support(result: Result) -> Support | None:
    """Between which numbers averages of rewards lie, if all environment classes say it."""
    classes = {
        each.environment_class
        for done in result.outcomes.values()
        for each in done.distinct_exercises()
    }
    ranges = [make(Kind.ENVIRONMENT, each).reward_range() for each in classes]
    return None if not ranges or None in ranges else payoff_bounds(Average(), ranges)


def _moments(result: Result) -> tuple[bool, IntArray]:
    """Whether exercises are as long as a time, and the moments at which rewards are averaged."""
    budgets = {
        each.budget for done in result.outcomes.values() for each in done.distinct_exercises()
    }
    timed = any(budget.interactions is None for budget in budgets)
    lengths = (each.end_ns if timed else each.max_interactions for each in budgets)
    longest = max((each for each in lengths if each != FOREVER), default=0)
    first = longest / POINTS if timed else 1.0
    spaced = np.linspace(first, longest, min(POINTS, longest))
    return timed, np.unique(spaced.round().astype(np.int64))


class _Taken:
    """Who took the exercise of a key, and how long it could last."""

    def __init__(self, result: Result, *, timed: bool) -> None:
        lengths, keys = [], []
        for done in result.outcomes.values():
            budgets = list({each.budget for each in done.distinct_exercises()})
            if len(budgets) != 1:
                budgets = [each.exercise.budget for each in done]
            ends = [each.end_ns if timed else each.max_interactions for each in budgets]
            lengths.append(np.broadcast_to(np.array(ends, np.int64), len(done)))
            keys.append(done.keys)
        self._agents = list(result.outcomes)
        owners = np.repeat(np.arange(len(keys)), [len(each) for each in keys])
        order = np.argsort(np.concatenate(keys))
        self._keys, self._owners = np.concatenate(keys)[order], owners[order]
        self._lengths = np.concatenate(lengths)[order]

    def find(self, key: str) -> tuple[Spec, int]:
        """The agent and the length; -1 for an unknown or endless exercise."""
        code = np.uint64(int(key, 16))
        place = int(np.searchsorted(self._keys, code))
        if place == len(self._keys) or self._keys[place] != code:
            return self._agents[0], -1
        length = int(self._lengths[place])
        return self._agents[self._owners[place]], -1 if length == FOREVER else length


def _curve_of_values(
    label: str, places: FloatArray, rows: Sequence[FloatArray], support: Support | None
) -> Curve:
    """The means with the interval of ``estimation.mean`` at each moment."""
    values = np.array(rows)
    values[~np.isfinite(values)] = np.nan  # as averages of huge rewards
    values.sort(axis=0)  # NaN comes last
    counts = np.count_nonzero(~np.isnan(values), axis=0)
    seen = counts > 0
    if support is not None:  # and what a class that breaks its own range paid beyond it
        low, high = float(np.nanmin(values)), float(np.nanmax(values))
        support = min(support[0], low), max(support[1], high)
    known = zip(values.T[seen], counts[seen].tolist(), strict=True)
    means = [mean(own[:count], support=support) for own, count in known]
    ends = [(each.low, each.high) for each in means]
    return curve_of(label, places[seen].tolist(), [each.value for each in means], ends)


def _curve_of_sums(label: str, places: FloatArray, sums: NDArray[np.object_]) -> Curve:
    """The means with Student's t interval at each moment, from ``LearningSums``."""
    from scipy.special import stdtrit  # much lighter than scipy.stats

    seen = (sums[0] > 0).astype(np.bool_)
    count, total, squares = sums[:, seen]
    middle = _quotients(total, count << _SMALLEST)
    deviations = _quotients(count * squares - total**2, count << 2 * _SMALLEST)
    count = count.astype(np.float64)
    freedom = np.where(count > 1, count - 1, np.nan)
    reach = stdtrit(freedom, 0.975) * np.sqrt(deviations / freedom / count)
    ends = np.stack((middle - reach, middle + reach), axis=1)
    return curve_of(label, places[seen].tolist(), middle.tolist(), ends.tolist())


def _quotients(above: Iterable[int], below: Iterable[int]) -> FloatArray:
    """Quotients of integers of any size, each the nearest floating-point number."""

    def one(dividend: int, divisor: int) -> float:
        try:
            return dividend / divisor
        except OverflowError:
            return inf

    return np.array(list(map(one, above, below)), dtype=np.float64)


def distribution_figure(result: Result, rows: Sequence[ScoreRow]) -> StripFigure | None:
    """The value of every single exercise or repetition; ``None`` when there are too few."""
    most = max(100, MOST_DOTS // max(1, len(rows)))
    strips = []
    for row in rows:
        payoffs = np.sort(unit_values(result, row.agent).values).tolist()
        count = len(payoffs)
        middle = sum(payoffs) / count if count else None
        if count > most:  # evenly by rank, which leaves the distribution as it is
            payoffs = [payoffs[round(place * (count - 1) / (most - 1))] for place in range(most)]
        strips.append(Strip(row.name, tuple(payoffs), middle, count))
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
        tuple(strips),
        one,
    )


def course_figures(result: Result, rows: Sequence[ScoreRow]) -> list[CurveFigure]:
    """Score and complexity at each moment at which the test could have been stopped.

    Empty where no agent has come to two such moments.
    """
    courses = {row.name: course_of(result, row.agent) for row in rows}
    return figures_of_courses(
        {name: course for name, course in courses.items() if len(course) > 1},
        [row.name for row in rows],
        timed=result.design.length_unit == "seconds",
    )


class Step(NamedTuple):
    """A moment at which a test could have been stopped, with the score and its interval there."""

    length: float
    level: float
    value: float
    low: float | None
    high: float | None


def course_of(result: Result, agent: Spec) -> list[Step]:
    """The course of the test of one agent; without an interval until it had time to act."""
    course = result.courses.get(agent, ())
    # Rounds in which the agent had no time to act yet, so that its score is 0 by the rules.
    done = result.outcomes[agent]
    acted = done.numbers[done.interactions > 0] // max(1, repetition_count(result))
    idle = int(acted.min(initial=len(course)))
    steps = []
    for place, each in enumerate(course):
        low, high = each.interval[:2] if each.interval and place >= idle else (None, None)
        steps.append(Step(each.length, each.level, each.value, low, high))
    return steps


def figures_of_courses(
    courses: Mapping[str, Sequence[Step]], order: Sequence[str], *, timed: bool
) -> list[CurveFigure]:
    """The figures of courses by the names of agents, whose ``order`` names all of them."""
    scores, levels = [], []
    for name, course in courses.items():
        lengths, unknown = [each.length for each in course], [(None, None)] * len(course)
        ends = [(each.low, each.high) for each in course]
        scores.append(curve_of(name, lengths, [each.value for each in course], ends))
        levels.append(curve_of(name, lengths, [each.level for each in course], unknown))
    if not scores:
        return []
    if any(low is not None for curve in scores for low in curve.lows):
        note = (
            "The band is the 95 % interval at each moment by itself; where it is wider than the "
            "figure, it is not drawn."
        )
        if any(curve.lows[0] is None for curve in scores):
            note += " Until it has had time to act, an agent has 0 and no band."
        note += DASHED if without_band(scores) else ""
    else:
        note = "One repetition alone has no interval."
    across = "Length of a repetition, in " + ("the agent's own time" if timed else "interactions")
    scale = Scale.SECONDS if timed else Scale.AMOUNTS
    grey = behind(order)
    course_figure = CurveFigure(
        "course",
        "Score in the course of the test",
        "The score after each round, when the test could have been stopped, against the length of "
        f"a repetition by then, on a logarithmic scale. {note}{grey}",
        across,
        "Score so far",
        tuple(scores),
        banded=True,
        scale=scale,
    )
    level_figure = CurveFigure(
        "level",
        "Complexity in the course of the test",
        "The mean complexity of the environments of each round. Success leads to harder ones, "
        f"failure to easier ones.{grey}",
        across,
        "Complexity of the environments",
        tuple(levels),
        banded=True,
        scale=scale,
    )
    return [course_figure, level_figure]
