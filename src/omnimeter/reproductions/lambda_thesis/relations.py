"""Reward against complexity (sections 5.4 and 5.5): samples, estimates, figures and statements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.contract import Exercise
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.complexity import ComplexityMeasure
from omnimeter.estimation import Correlation, Estimate, Line, correlation, regression
from omnimeter.reports.style import INK, MUTED, SMALL
from omnimeter.reproductions.lambda_thesis.shared import (
    FOLLOWER,
    INTERACTIONS,
    ORACLE,
    Q_LEARNING,
    RANDOM,
    REFERENCES,
    Curve,
    Reference,
    alone,
    curve_of,
    draw_curves,
    exercises,
    joint,
    points_along,
)
from omnimeter.reproductions.shared import Report, Statement, head, look, said, silent, write_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Measure:
    """One reading.

    Attributes:
        name: In rows.
        grade: What the class calls it.
        title: For a reader.
        axis: What it is made of.
        per: Slopes are told for a difference this large.
        unit: That difference, for a reader.
        mark: What stands before the last word in names of figures.
    """

    name: str
    grade: ComplexityMeasure
    title: str
    axis: str
    per: int
    unit: str
    mark: str = ""


COMPRESSED = Measure(
    "compressed-length",
    "environment",
    "compressed length",
    "compressed length of space and pattern, in bytes",
    100,
    "100 bytes",
)

PRODUCT = Measure(
    "product",
    "product",
    "product",
    "compressed length of space and pattern, times the length of the pattern",
    10_000,
    "10,000",
    "product.",
)

MEASURES = (COMPRESSED, PRODUCT)


SIZES = (3, 6, 9)
"""How many cells the environments have."""

ENVIRONMENTS = 100
"""How many there are of each size."""

STOP = 0.01
"""With which probability the pattern of Good and Evil ends after each of its actions."""


@dataclass(frozen=True)
class Sample:
    """Environments of one size, and what each agent got there.

    Attributes:
        cells: How many cells they have.
        complexity: By the name of a measure the complexity of each one.
        points: After which interactions averages were kept.
        averages: By the name of an agent its average reward, one row per environment, one column
            per point.
    """

    cells: int
    complexity: Mapping[str, FloatArray]
    points: IntArray
    averages: Mapping[str, FloatArray]

    @property
    def environments(self) -> int:
        """How many there are."""
        return len(next(iter(self.averages.values())))

    def final(self, agent: str) -> FloatArray:
        """An agent's average reward at the end, for each environment."""
        return self.averages[agent][:, -1]


def samples(
    environments: int = ENVIRONMENTS,
    interactions: int = INTERACTIONS,
    report: Report = silent,
    *,
    social: bool = False,
) -> list[Sample]:
    """The environments of all sizes, the same ones and with the same chances at every call.

    Args:
        environments: How many of each size.
        interactions: How long each exercise lasts.
        report: Told what is being done.
        social: Whether all agents are in an environment at once, or each is there alone.
    """
    points = points_along(interactions)
    found = []
    for number, cells in enumerate(SIZES):
        report(f"{environments} environments of {cells} cells", number / len(SIZES))
        environment_class = Lambda(cells=cells, stop=STOP)
        # Another root for each size, so that no chance is used twice.
        taken = exercises(environment_class, environments, interactions, seed=cells)
        run = _together if social else _alone
        averages = run(environment_class, taken, points)
        found.append(Sample(cells, _complexities(taken), points, averages))
    return found


def learner_among_strangers(environments: int, interactions: int) -> FloatArray:
    """What Q-learning gets in the smallest environments among three agents that tell it nothing."""
    cells = SIZES[0]
    environment_class = Lambda(cells=cells, stop=STOP)
    taken = exercises(environment_class, environments, interactions, seed=cells)
    strangers = [replace(RANDOM, name=f"random-{number}") for number in (1, 2, 3)]
    points = np.array([interactions])
    averages = joint(environment_class, [Q_LEARNING, *strangers], taken, points)
    return averages[Q_LEARNING.name][:, -1]


def _alone(
    environment_class: Lambda, taken: Sequence[Exercise], points: IntArray
) -> dict[str, FloatArray]:
    return {agent.name: alone(environment_class, agent, taken, points) for agent in REFERENCES}


def _together(
    environment_class: Lambda, taken: Sequence[Exercise], points: IntArray
) -> dict[str, FloatArray]:
    return joint(environment_class, REFERENCES, taken, points)


def _complexities(taken: Sequence[Exercise]) -> dict[str, FloatArray]:
    graded = {measure.name: Lambda(complexity_measure=measure.grade) for measure in MEASURES}
    return {
        name: np.array([grading.complexity(exercise.instance) for exercise in taken])
        for name, grading in graded.items()
    }


Curves = Mapping[int, Mapping[str, Curve]]
"""By the number of cells and the name of an agent its mean curve."""


def curves_of(found: Sequence[Sample]) -> Curves:
    """The mean curves of all agents in environments of all sizes."""
    return {
        sample.cells: {
            name: curve_of(sample.points, runs) for name, runs in sample.averages.items()
        }
        for sample in found
    }


def curve_rows(curves: Curves) -> list[dict[str, Any]]:
    """All mean curves as records."""
    return [
        {
            "cells": cells,
            "agent": name,
            "interactions": int(point),
            "value": float(value),
            "low": float(low),
            "high": float(high),
        }
        for cells, by_name in curves.items()
        for name, curve in by_name.items()
        for point, value, low, high in zip(
            curve.points, curve.value, curve.low, curve.high, strict=True
        )
    ]


def draw_sizes(
    curves: Curves, title: str, path: Path, learner_alone: Curves | None = None
) -> dict[str, Path]:
    """Draw a panel for each size.

    Args:
        curves: What the agents got.
        title: What is shown.
        path: Where to, without an ending.
        learner_alone: What they get alone, to compare Q-learning with; none by default.
    """
    from matplotlib.figure import Figure

    with look():
        figure = Figure(figsize=(13.2, 4.7))
        for place, (cells, by_name) in enumerate(curves.items()):
            panel = figure.add_axes((0.05 + 0.325 * place, 0.125, 0.215, 0.675))
            draw_curves(panel, by_name)
            panel.set_title(f"{cells} cells", loc="left", fontsize=10.5)
            if place:
                panel.set_ylabel("")
            if learner_alone:
                _draw_learner_alone(panel, learner_alone[cells][Q_LEARNING.name])
        head(figure, title, "Mean of the average reward so far, with its 95 % interval.")
        return write_figure(figure, path)


def _draw_learner_alone(panel: Axes, curve: Curve) -> None:
    panel.plot(curve.points, curve.value, "-", color=Q_LEARNING.colour, lw=0.8)
    panel.text(
        0.98 * curve.points[-1],
        float(curve.value[-1]) + 0.012,
        "Q-learning alone",
        ha="right",
        va="bottom",
        fontsize=8,
        color=Q_LEARNING.colour,
    )


WEAK = 0.3
"""A correlation whose interval is within this distance of 0 explains less than a tenth of what
differs: such an agent is hardly affected."""


@dataclass(frozen=True)
class Relation:
    """How the rewards of one agent go with one measure of complexity.

    Attributes:
        agent: Its name.
        among: In which environments.
        measure: What complexity is.
        line: The least-squares line.
        correlation: Pearson's.
    """

    agent: str
    among: str
    measure: Measure
    line: Line
    correlation: Correlation

    @property
    def slope(self) -> Estimate:
        """The change of the reward for so much more complexity as the measure says."""
        slope, per = self.line.slope, self.measure.per
        return replace(slope, value=per * slope.value, low=per * slope.low, high=per * slope.high)

    @property
    def weak(self) -> bool:
        """Whether the agent is hardly affected."""
        return self.correlation.low > -WEAK and self.correlation.high < WEAK

    @property
    def falls(self) -> bool:
        """Whether the agent gets less in more complex environments."""
        return self.slope.high < 0


def among(found: Sequence[Sample]) -> dict[str, Sequence[Sample]]:
    """The environments of the two panels: those of the largest size, and all."""
    return {f"{found[-1].cells}-cells": found[-1:], "all-sizes": found}


def complexities(found: Sequence[Sample], measure: Measure) -> FloatArray:
    """The complexity of each environment."""
    return np.concatenate([sample.complexity[measure.name] for sample in found])


def rewards(found: Sequence[Sample], agent: str) -> FloatArray:
    """What an agent got in each environment."""
    return np.concatenate([sample.final(agent) for sample in found])


def relate(
    agent: str, where: str, measure: Measure, complexity: FloatArray, gained: FloatArray
) -> Relation:
    """How what an agent gained goes with complexity."""
    line, strength = regression(complexity, gained), correlation(complexity, gained)
    return Relation(agent, where, measure, line, strength)


def relations(found: Sequence[Sample]) -> list[Relation]:
    """All of them: for both measures, both panels and each agent."""
    return [
        relate(
            agent.name, where, measure, complexities(chosen, measure), rewards(chosen, agent.name)
        )
        for measure in MEASURES
        for where, chosen in among(found).items()
        for agent in REFERENCES
    ]


def relations_of(
    related: Sequence[Relation], agent: Reference, measure: Measure
) -> dict[str, Relation]:
    """Those of one agent by one measure, by the environments that are meant."""
    return {
        each.among: each
        for each in related
        if (each.agent, each.measure.name) == (agent.name, measure.name)
    }


def relation_rows(related: Sequence[Relation]) -> list[dict[str, Any]]:
    """All relations as records; slopes are for 100 bytes, or 10,000 of the product."""
    return [
        {
            "agent": relation.agent,
            "among": relation.among,
            "measure": relation.measure.name,
            "slope": relation.slope.value,
            "slope-low": relation.slope.low,
            "slope-high": relation.slope.high,
            "correlation": relation.correlation.value,
            "correlation-low": relation.correlation.low,
            "correlation-high": relation.correlation.high,
            "p": relation.correlation.p_value,
        }
        for relation in related
    ]


def relation_figures(related: Sequence[Relation]) -> dict[str, float]:
    """Slopes and correlations by name."""
    return {
        f"{each.agent}.{each.among}.{each.measure.mark}{what}": value
        for each in related
        for what, value in (
            ("slope", each.slope.value),
            ("correlation", each.correlation.value),
        )
    }


def point_rows(found: Sequence[Sample]) -> list[dict[str, Any]]:
    """What each agent got in each environment, as records."""
    return [
        {
            "cells": sample.cells,
            "environment": number,
            **_at(sample.complexity, number),
            **{agent.name: float(sample.final(agent.name)[number]) for agent in REFERENCES},
        }
        for sample in found
        for number in range(sample.environments)
    ]


def _at(columns: Mapping[str, FloatArray], number: int) -> dict[str, float]:
    return {name: float(values[number]) for name, values in columns.items()}


def draw_relations(
    found: Sequence[Sample], related: Sequence[Relation], title: str, path: Path
) -> dict[str, Path]:
    """Draw two panels, for environments of the largest size and for all, in a row per measure."""
    from matplotlib.figure import Figure

    with look():
        figure = Figure(figsize=(12.4, 9.4))
        for row, measure in enumerate(MEASURES):
            lines = relations_of(related, Q_LEARNING, measure)
            for place, (where, chosen) in enumerate(among(found).items()):
                corner = (0.055 + 0.48 * place, 0.525 - 0.465 * row)
                panel = figure.add_axes((*corner, 0.445, 0.36))
                _draw_panel(panel, chosen, measure, lines[where])
                if place:
                    panel.set_ylabel("")
        handles, names = panel.get_legend_handles_labels()
        figure.legend(
            [handles[names.index(agent.title)] for agent in REFERENCES],
            [agent.title for agent in REFERENCES],
            loc="upper right",
            bbox_to_anchor=(0.988, 0.978),
            ncols=len(names),
            frameon=False,
            handletextpad=0.2,
            columnspacing=1.4,
            fontsize=9.5,
            labelcolor="linecolor",
        )
        below = "One point per agent and environment. The line is that of Q-learning."
        head(figure, title, f"{below} Rows: two readings of complexity.")
        return write_figure(figure, path)


def _draw_panel(
    panel: Axes, chosen: Sequence[Sample], measure: Measure, relation: Relation
) -> None:
    x = complexities(chosen, measure)
    _draw_points(panel, chosen, x)
    _draw_line(panel, x, relation)
    cells = ", ".join(str(sample.cells) for sample in chosen)
    panel.set_title(f"{len(x)} environments of {cells} cells", loc="left", fontsize=10.5)
    panel.set(xlabel=measure.axis)
    panel.xaxis.set_major_formatter(lambda length, _: f"{length:,.0f}")


def _draw_points(panel: Axes, chosen: Sequence[Sample], x: FloatArray) -> None:
    for agent in (RANDOM, FOLLOWER, ORACLE, Q_LEARNING):  # the one in question lies on top
        panel.plot(
            x,
            rewards(chosen, agent.name),
            agent.marker,
            ms=4.6,
            mfc=agent.colour,
            mec="white",
            mew=0.4,
            alpha=0.75,
            color=agent.colour,
            label=agent.title,
            ls="none",
        )
    panel.set(ylim=(-0.42, 1.06), ylabel="average reward")
    panel.grid(axis="y")
    panel.axhline(0, color=MUTED, lw=0.7, zorder=1)


def _draw_line(panel: Axes, x: FloatArray, relation: Relation) -> None:
    ends = np.array([x.min(), x.max()])
    panel.plot(ends, relation.line.at(ends), "-", color="white", lw=4.2, zorder=4)
    panel.plot(ends, relation.line.at(ends), "-", color=Q_LEARNING.colour, lw=2.2, zorder=5)
    slope, strength = (_written(each) for each in (relation.slope, relation.correlation))
    panel.text(
        0.015,
        0.03,
        f"Q-learning: slope {slope} for {relation.measure.unit},\ncorrelation {strength}",
        transform=panel.transAxes,
        va="bottom",
        fontsize=SMALL,
        color=INK,
    )


def _written(estimate: Estimate) -> str:
    return said(estimate, 2).replace("-", "\N{MINUS SIGN}")


def hardly_affected(related: Sequence[Relation], agent: Reference) -> Statement:
    """That complexity does not matter to an agent, by either measure."""
    by_measure = {measure: relations_of(related, agent, measure) for measure in MEASURES}
    return Statement(
        f"{agent.title}: hardly affected by complexity.",
        "Correlation with the "
        + "; with the ".join(
            f"{measure.title}: "
            + ", ".join(f"{where} {said(each.correlation, 2)}" for where, each in found.items())
            for measure, found in by_measure.items()
        )
        + f". Rule: all four intervals are within {WEAK} of 0.",
        all(each.weak for found in by_measure.values() for each in found.values()),
    )


def learner_falls(
    found: Sequence[Sample], related: Sequence[Relation], agent: Reference, measure: Measure
) -> Statement:
    """That an agent gets less the more complex an environment is, by one measure."""
    by_place = relations_of(related, agent, measure)
    holds = all(each.falls for each in by_place.values())
    return Statement(
        f"{agent.title} does significantly worse the more complex the environment is "
        f"(complexity: the {measure.title}).",
        "; ".join(
            f"{where}: slope {said(each.slope)} for {measure.unit}, correlation "
            f"{said(each.correlation, 2)}, p = {each.correlation.p_value:.1g}"
            for where, each in by_place.items()
        )
        + ". Rule: the intervals of both slopes are below 0.",
        holds,
        "" if holds else _why_it_does_not_fall(found, agent, measure),
    )


def _why_it_does_not_fall(found: Sequence[Sample], agent: Reference, measure: Measure) -> str:
    """Whether it is a single environment far from all others; no reason otherwise."""
    x, y = complexities(found, measure), rewards(found, agent.name)
    *_, next_to_it, farthest = np.sort(x).tolist()
    rest = x < farthest
    without = relate(agent.name, "all-sizes", measure, x[rest], y[rest])
    if not without.falls:
        return ""
    return (
        f"one environment lies far from all others: its {measure.title} is {farthest:,.0f}, the "
        f"next is {next_to_it:,.0f}, the median {np.median(x):,.0f}. The line over all sizes hangs "
        f"on it. Without it the slope is {said(without.slope)}. By ranks, where no value is far "
        f"from the next, the correlation is {said(_of_ranks(x, y), 2)} with it"
    )


def what_the_reading_does(found: Sequence[Sample], agent: Reference) -> Statement:
    """What difference it makes which of the two measures is meant."""
    chosen = among(found)["all-sizes"]
    one, other = (complexities(chosen, measure) for measure in MEASURES)
    gained = rewards(chosen, agent.name)
    plain, product = (_of_ranks(x, gained) for x in (one, other))
    return Statement(
        "The formula of section 5.4 has lost the sign between the compressed length and the length "
        "of the pattern. Most likely it was that of a product; its example has the compressed "
        "length alone.",
        f"Both order the environments in much the same way: the correlation of their ranks is "
        f"{said(_of_ranks(one, other), 2)} over all sizes. But half of the environments lie in the "
        f"lowest {_half_lie_below(other):.0%} of the range of products, and in the lowest "
        f"{_half_lie_below(one):.0%} of that of lengths: by the product, few environments decide "
        f"where a line goes. By ranks {agent.title} goes with the product by {said(product, 2)}, "
        f"with the compressed length by {said(plain, 2)}.",
        None,
    )


def _half_lie_below(x: FloatArray) -> float:
    """In which part of its range, from the lowest value on, half of the values lie."""
    return float((np.median(x) - x.min()) / np.ptp(x))


def _of_ranks(x: FloatArray, y: FloatArray) -> Correlation:
    from scipy.stats import rankdata

    return correlation(rankdata(x), rankdata(y))
