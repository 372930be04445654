"""The figures of a campaign that a single evaluation does not have, as data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean

import numpy as np

from omnimeter.contract.agent import FloatArray
from omnimeter.estimation import Estimate, combined_mean, performance_profile, regression_band
from omnimeter.reports import figures
from omnimeter.reports.figures import CurveFigure, Figure, Scale, Step, curve_of, without_band
from omnimeter.reports.scores import REPETITION, ScoreRow
from omnimeter.reports.style import behind
from omnimeter.reports.text import counted

THRESHOLDS, PLACES = 41, 5
"""Points of a performance profile, and of a line: its band bends inwards between them."""


def score_figure(rows: Sequence[ScoreRow], seeds: Sequence[int]) -> Figure | None:
    """The scores over all seeds.

    Args:
        rows: The agents.
        seeds: Under how many seeds each of them has a score.
    """
    figure = figures.score_figure([replace(row, repetitions=0) for row in rows])
    if figure is None or max(seeds) < 2:
        return figure
    most = "up to " * (len({*seeds} - {0}) > 1) + counted(max(seeds), "seed")
    over = f"The dot is the mean of the scores under {most}"
    return replace(figure, caption=figure.caption.replace("The dot is the score", over))


def line_figure(points: Mapping[str, tuple[FloatArray, FloatArray]]) -> CurveFigure | None:
    """The lines of payoff against complexity, with their bands.

    Args:
        points: Complexities and payoffs of each agent, by its name.
    """
    curves = []
    for name, (x, y) in points.items():
        places = np.linspace(float(x.min()), float(x.max()), PLACES)
        band = regression_band(x, y, places)
        ends = zip(band.lowest.tolist(), band.highest.tolist(), strict=True)
        curves.append(curve_of(name, places.tolist(), band.values.tolist(), ends))
    if not curves:
        return None
    missing = ""
    if any(None in (*curve.lows, *curve.highs) for curve in curves):
        missing = (
            " Where a line has no band, it would be infinite: too few exercises tell how far off "
            f"the line is.{figures.DASHED if without_band(curves) else ''}"
        )
    return CurveFigure(
        "lines",
        "Payoff against complexity: straight lines",
        "The straight line of least squares through all single exercises, with the band that "
        "holds the whole line with a confidence of 95 %. Whether a straight line is the right "
        f"shape, the means above show.{missing}{behind([each.label for each in curves])}",
        "Complexity of the environment",
        "Payoff",
        tuple(curves),
        banded=True,
        scale=Scale.VALUES,
    )


def profile_figure(values: Mapping[str, FloatArray], unit: str) -> CurveFigure | None:
    """The share of exercises, or repetitions, with more than each payoff.

    Args:
        values: The values of each agent, by its name.
        unit: What each of them is of.
    """
    known = {name: each for name, each in values.items() if len(each)}
    if not known:
        return None
    lowest = min(float(each.min()) for each in known.values())
    highest = max(float(each.max()) for each in known.values())
    if not lowest < highest:
        return None
    places = np.linspace(lowest, highest, THRESHOLDS)
    curves = []
    for name, each in known.items():
        band = performance_profile(each, places)
        ends = zip(band.lowest.tolist(), band.highest.tolist(), strict=True)
        curves.append(curve_of(name, places.tolist(), band.values.tolist(), ends))
    what = "score" if unit == REPETITION else "payoff"
    return CurveFigure(
        "profile",
        "Performance profile",
        f"The share of {unit}s with more than each {what}: a curve further up and to the right "
        "is better, and where two cross, each agent is better in a part of the "
        f"{unit}s. The band holds the whole curve with a confidence of 95 %."
        + behind([each.label for each in curves]),
        f"{what.capitalize()} of one {unit}",
        f"Share of {unit}s with more",
        tuple(curves),
        banded=True,
        scale=Scale.VALUES,
    )


def course_figures(
    seeds: Mapping[str, Sequence[Sequence[Step]]], *, timed: bool
) -> list[CurveFigure]:
    """The means of the courses under all seeds, round by round.

    Args:
        seeds: The course of each agent under each seed, by its name.
        timed: Whether lengths are seconds.
    """
    courses: dict[str, list[Step]] = {}
    for name, own in seeds.items():
        known = [course for course in own if course]
        rounds = min(map(len, known), default=0)
        if rounds > 1:
            courses[name] = [_mean_step([course[at] for course in known]) for at in range(rounds)]
    return figures.figures_of_courses(courses, list(seeds), timed=timed)


def _mean_step(steps: Sequence[Step]) -> Step:
    """The same round under several seeds as one."""
    known = [
        Estimate(each.value, each.low, each.high, 0.95, 1)
        for each in steps
        if each.low is not None and each.high is not None
    ]
    whole = combined_mean(known) if len(known) == len(steps) else None
    return Step(
        fmean(each.length for each in steps),
        fmean(each.level for each in steps),
        fmean(each.value for each in steps),
        whole.low if whole else None,
        whole.high if whole else None,
    )
