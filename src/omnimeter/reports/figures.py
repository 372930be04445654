"""What the figures of a report show, as data; ``ink`` draws it."""

from __future__ import annotations

from collections.abc import Sequence
from math import isfinite

from omnimeter.contract import Outcome
from omnimeter.protocols import Result
from omnimeter.reports.comparisons import Comparison
from omnimeter.reports.learning import Learning
from omnimeter.reports.look import few
from omnimeter.reports.scores import ScoreRow
from omnimeter.reports.shapes import (
    Curve,
    CurveFigure,
    Dot,
    DotFigure,
    Strip,
    StripFigure,
)
from omnimeter.reports.wording import percent

MOST_DOTS = 2400
"""A figure of single payoffs has no more dots than this, so that a page stays small."""


def score_figure(rows: Sequence[ScoreRow]) -> DotFigure | None:
    """The score of each agent with its interval; ``None`` when nobody has one."""
    dots = tuple(Dot(row.label, row.value, _finite(row.low), _finite(row.high)) for row in rows)
    if all(dot.value is None for dot in dots):
        return None
    caption = f"The dot is the score, the bar its {percent(rows[0].level)} interval."
    if any(dot.value is not None and dot.low is None for dot in dots):
        caption += " A hollow dot has no interval."
    return DotFigure("scores", "Scores", caption, "Score", dots)


def difference_figure(compared: Sequence[Comparison]) -> DotFigure | None:
    """How far each agent is from the reference; ``None`` when that can be said of nobody."""
    dots = tuple(
        Dot(each.agent.label, each.difference, _finite(each.low), _finite(each.high))
        for each in compared
        if each.difference is not None
    )
    if not dots:
        return None
    return DotFigure(
        "differences",
        "Differences on the same exercises",
        f"Mean difference from {compared[0].reference.label}, exercise by exercise, with its 95 % "
        "interval. Left of the line is worse. The exercises are the same, so that these bars can "
        "be much shorter than those of the scores.",
        "Difference in payoff",
        dots,
    )


def complexity_figure(rows: Sequence[ScoreRow]) -> CurveFigure | None:
    """Payoff against complexity; ``None`` with fewer than two levels."""
    curves = tuple(
        Curve(
            row.label,
            tuple(level.complexity for level in row.levels),
            tuple(level.value for level in row.levels),
            tuple(_finite(level.low) for level in row.levels),
            tuple(_finite(level.high) for level in row.levels),
        )
        for row in rows
        if row.levels
    )
    if max((len(curve.places) for curve in curves), default=0) < 2:
        return None
    return CurveFigure(
        "complexity",
        "Payoff against complexity",
        "Mean payoff at each complexity of the environment, with its 95 % interval. A dotted bar "
        "goes on beyond the edge." + _behind(rows),
        "Complexity of the environment",
        "Mean payoff",
        curves,
        banded=False,
    )


def learning_figure(found: Learning | None, rows: Sequence[ScoreRow]) -> CurveFigure | None:
    """Average reward in the course of an exercise, in the order of the scores."""
    if found is None or max(len(curve.moments) for curve in found.curves) < 2:
        return None
    order = [row.agent for row in rows]
    curves = tuple(
        Curve(
            curve.agent.label,
            curve.moments,
            curve.values,
            tuple(_finite(low) for low in curve.lows),
            tuple(_finite(high) for high in curve.highs),
        )
        for curve in sorted(found.curves, key=lambda curve: order.index(curve.agent))
    )
    return CurveFigure(
        "learning",
        "Average reward so far",
        "The average of all rewards until each moment, averaged over exercises. The band is the "
        "95 % interval at each moment by itself." + _behind(rows),
        "Seconds" if found.timed else "Interactions",
        "Average reward so far",
        curves,
        banded=True,
    )


def distribution_figure(result: Result, rows: Sequence[ScoreRow]) -> StripFigure | None:
    """The payoff of every single exercise; ``None`` when there is none."""
    most = max(100, MOST_DOTS // max(1, len(rows)))
    strips = tuple(_strip(row.label, result.outcomes.get(row.agent, ()), most) for row in rows)
    if not any(strip.payoffs for strip in strips):
        return None
    thinned = any(len(strip.payoffs) < strip.count for strip in strips)
    return StripFigure(
        "distribution",
        "Payoffs of single exercises",
        "Each dot is one exercise, the short line is the mean."
        + (f" Of more than {most} exercises an even selection is drawn." if thinned else ""),
        "Payoff",
        strips,
    )


def _behind(rows: Sequence[ScoreRow]) -> str:
    """What is drawn in grey where every agent has a panel of its own."""
    return "" if few(len(rows)) else f" The grey line is {rows[0].label}."


def _strip(label: str, outcomes: Sequence[Outcome], most: int) -> Strip:
    payoffs = sorted(each.payoff for each in outcomes if each.payoff is not None)
    count = len(payoffs)
    if not count:
        return Strip(label, (), None, 0)
    mean = sum(payoffs) / count
    if count > most:  # evenly by rank, which leaves the distribution as it is
        payoffs = [payoffs[round(place * (count - 1) / (most - 1))] for place in range(most)]
    return Strip(label, tuple(payoffs), mean, count)


def _finite(number: float | None) -> float | None:
    """The number, unless it is none that could be drawn."""
    return number if number is not None and isfinite(number) else None
