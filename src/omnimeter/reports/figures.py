"""What the figures of a report show, as data; ``ink`` draws it."""

from __future__ import annotations

from collections.abc import Sequence

from omnimeter.contract import Spec
from omnimeter.protocols import Result
from omnimeter.reports.comparisons import Comparison
from omnimeter.reports.learning import Learning
from omnimeter.reports.look import behind
from omnimeter.reports.scores import ScoreRow
from omnimeter.reports.shapes import (
    Curve,
    CurveFigure,
    Dot,
    DotFigure,
    Scale,
    Strip,
    StripFigure,
    drawable,
)
from omnimeter.reports.sittings import EXERCISE, SITTING, is_adjusted, unit
from omnimeter.reports.wording import percent

_DOTTED = "A dotted bar goes on beyond the edge."
_HOLLOW = "A hollow dot has no interval."

WIDE = 5.0
"""From this ratio of complexities on, those of an adaptive test are on a logarithmic axis."""

MOST_DOTS = 2400
"""A figure of single payoffs has no more dots than this, so that a page stays small."""


def score_figure(rows: Sequence[ScoreRow]) -> DotFigure | None:
    """The score of each agent with its interval; ``None`` when nobody has one."""
    dots = tuple(Dot(row.label, row.value, drawable(row.low), drawable(row.high)) for row in rows)
    if all(dot.value is None for dot in dots):
        return None
    caption = f"The dot is the score, the bar its {percent(rows[0].level)} interval."
    if max(row.sittings for row in rows) > 1:
        caption = caption.removesuffix(".") + ", from the spread between sittings."
    if any(dot.value is not None and dot.low is None for dot in dots):
        caption += f" {_HOLLOW}"
    if max(row.sittings for row in rows) == 1:
        caption += " One sitting cannot show how far another one would lie from it."
    return DotFigure("scores", "Scores", caption, "Score", dots)


def difference_figure(compared: Sequence[Comparison]) -> DotFigure | None:
    """How far each agent is from the reference; ``None`` when that can be said of nobody."""
    dots = tuple(
        Dot(each.agent.label, each.difference, drawable(each.low), drawable(each.high))
        for each in compared
        if each.difference is not None
    )
    if not dots:
        return None
    if compared[0].unit == SITTING:
        hollow = "" if all(dot.low is not None for dot in dots) else f" {_HOLLOW}"
        return DotFigure(
            "differences",
            "Differences sitting by sitting",
            f"Mean difference from {compared[0].reference.label}, sitting by sitting, with its "
            "95 % interval. Left of the line is worse. The same sitting of two agents meets the "
            f"same environments as long as both are at the same level.{hollow}",
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
    """Payoff against complexity; ``None`` with fewer than two levels.

    Args:
        rows: The scores.
        adjusted: Whether exercises count in the scores with other values than these payoffs.
    """
    curves = tuple(
        Curve(
            row.label,
            tuple(level.complexity for level in row.levels),
            tuple(level.value for level in row.levels),
            tuple(drawable(level.low) for level in row.levels),
            tuple(drawable(level.high) for level in row.levels),
        )
        for row in rows
        if row.levels
    )
    if max((len(curve.places) for curve in curves), default=0) < 2:
        return None
    sittings = max(row.sittings for row in rows)
    wide = sittings > 0 and _is_wide(curves)
    return CurveFigure(
        "complexity",
        "Payoff against complexity",
        _complexity_caption(sittings, adjusted)
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


def _complexity_caption(sittings: int, adjusted: bool) -> str:
    means = "Mean payoff at each complexity of the environment"
    if not sittings:
        before = ", before it is adjusted" if adjusted else ""
        return f"{means}{before}, with its 95 % interval. {_DOTTED}"
    sure = "" if sittings == 1 else ", and the 95 % interval is that of these sittings"
    return (
        f"{means}. Exercises of a sitting depend on each other; so each sitting that came to a "
        f"complexity counts there once, with its mean{sure}. Success leads to higher complexities, "
        "and later exercises are longer: the curve tells how well the agent did where the test led "
        "it, not what complexity alone does." + ("" if sittings == 1 else f" {_DOTTED}")
    )


def learning_figure(found: Learning | None, rows: Sequence[ScoreRow]) -> CurveFigure | None:
    """Average reward in the course of an exercise, in the order of the scores.

    An adaptive test has none: its long exercises are the late ones, in other environments than the
    short ones, so that a mean over those that last so long would jump from one to the other.
    """
    if found is None or max(len(curve.moments) for curve in found.curves) < 2:
        return None
    if any(row.sittings for row in rows):
        return None
    order = [row.agent for row in rows]
    curves = tuple(
        Curve(
            curve.agent.label,
            curve.moments,
            curve.values,
            tuple(drawable(low) for low in curve.lows),
            tuple(drawable(high) for high in curve.highs),
        )
        for curve in sorted(found.curves, key=lambda curve: order.index(curve.agent))
    )
    return CurveFigure(
        "learning",
        "Average reward so far",
        "The average of all rewards until each moment, averaged over exercises. The band is the "
        "95 % interval at each moment by itself." + behind([row.label for row in rows]),
        "Seconds" if found.timed else "Interactions",
        "Average reward so far",
        curves,
        banded=True,
    )


def distribution_figure(result: Result, rows: Sequence[ScoreRow]) -> StripFigure | None:
    """What every single exercise or sitting was worth; ``None`` when there is nothing to see."""
    most = max(100, MOST_DOTS // max(1, len(rows)))
    strips = tuple(_strip(row.label, _single(row.agent, result), most) for row in rows)
    if not any(strip.payoffs for strip in strips) or max(row.sittings for row in rows) == 1:
        return None
    thinned = any(len(strip.payoffs) < strip.count for strip in strips)
    one = unit(result)
    named = {SITTING: "Score", EXERCISE: "Adjusted payoff" if is_adjusted(result) else "Payoff"}
    return StripFigure(
        "distribution",
        f"{named[one]}s of single {one}s",
        f"Each dot is one {one}, the short line is the mean."
        + (f" Of more than {most} {one}s an even selection is drawn." if thinned else ""),
        f"{named[one]}{' of a sitting' if one == SITTING else ''}",
        strips,
        one,
    )


def _single(agent: Spec, result: Result) -> list[float]:
    """The values whose mean the score is."""
    if result.values:
        return sorted(result.values.get(agent, {}).values())
    outcomes = result.outcomes.get(agent, ())
    return sorted(each.payoff for each in outcomes if each.payoff is not None)


def _strip(label: str, payoffs: list[float], most: int) -> Strip:
    count = len(payoffs)
    if not count:
        return Strip(label, (), None, 0)
    mean = sum(payoffs) / count
    if count > most:  # evenly by rank, which leaves the distribution as it is
        payoffs = [payoffs[round(place * (count - 1) / (most - 1))] for place in range(most)]
    return Strip(label, tuple(payoffs), mean, count)
