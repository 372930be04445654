"""What figures show of the course of an adaptive test, as data: its score and its level."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from omnimeter.contract import Moment
from omnimeter.protocols import Result
from omnimeter.reports.look import behind
from omnimeter.reports.scores import ScoreRow
from omnimeter.reports.shapes import Curve, CurveFigure, Scale, drawable
from omnimeter.reports.sittings import sitting_count


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
        "a sitting by then, on a logarithmic scale. "
        + (
            "The band is the 95 % interval at each moment by itself; where it is wider than the "
            "figure, it is not drawn."
            if bands
            else "One sitting alone has no interval."
        )
        + (" Until it has had time to act, an agent stands at 0 without a band." if waited else "")
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


def _is_timed(result: Result) -> bool:
    """Whether exercises end after some seconds; otherwise after some interactions."""
    return any(
        each.exercise.budget.seconds is not None
        for done in result.outcomes.values()
        for each in done[:1]
    )


def _curves(
    result: Result, rows: Sequence[ScoreRow], curve: Callable[[str, Sequence[Moment]], Curve]
) -> tuple[Curve, ...]:
    """A curve of each agent that has come so far, in the order of the scores."""
    courses = [(row.label, result.courses.get(row.agent, ())) for row in rows]
    return tuple(curve(label, course) for label, course in courses if len(course) > 1)


def _idle_rounds(result: Result) -> dict[str, int]:
    """In how many rounds an agent had no time to act yet, so that its score is 0 by the rules."""
    count = sitting_count(result)
    return {
        agent.label: min(
            (each.exercise.number // count for each in done if each.interactions),
            default=len(result.courses[agent]),
        )
        for agent, done in result.outcomes.items()
        if count
    }


def _score_curve(label: str, course: Sequence[Moment], idle: Mapping[str, int]) -> Curve:
    ends = [
        each.interval[:2] if each.interval and place >= idle[label] else (None, None)
        for place, each in enumerate(course)
    ]
    return Curve(
        label,
        tuple(each.length for each in course),
        tuple(each.value for each in course),
        tuple(drawable(low) for low, _ in ends),
        tuple(drawable(high) for _, high in ends),
    )


def _level_curve(label: str, course: Sequence[Moment]) -> Curve:
    nothing = (None,) * len(course)
    lengths = tuple(each.length for each in course)
    return Curve(label, lengths, tuple(each.level for each in course), nothing, nothing)


def _scale(result: Result) -> Scale:
    return Scale.SECONDS if _is_timed(result) else Scale.AMOUNTS


def _across(result: Result) -> str:
    unit = "the agent's own time" if _is_timed(result) else "interactions"
    return f"Length of a sitting, in {unit}"
