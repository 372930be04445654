"""Samples of environments of three sizes, and rewards against complexity (sections 5.4 and 5.5)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.complexity import ComplexityMeasure
from omnimeter.estimation import (
    Correlation,
    Estimate,
    Line,
    correlation,
    mean,
    paired_difference,
    regression,
)
from omnimeter.reports.style import INK, SMALL
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.lambda_thesis import shared as thesis
from omnimeter.reproductions.lambda_thesis.shared import FOLLOWER, ORACLE, Q_LEARNING, RANDOM
from omnimeter.reproductions.shared import REWARDS, Report, Statement, Steps, fmt, silent

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Measure:
    """One reading of what the complexity of an environment is."""

    name: str  # in rows
    class_name: ComplexityMeasure  # the measure in the class
    title: str  # in texts
    axis: str
    per: int  # slopes are given for a difference this large
    unit: str  # that difference, in texts
    prefix: str = ""  # put before the last part of the names of figures


COMPRESSED = Measure(
    "compressed-length", "environment", "compressed length",
    "compressed length of space and pattern, in bytes", 100, "100 bytes",
)  # fmt: skip
PRODUCT = Measure(
    "product", "product", "product",
    "compressed length of space and pattern, times the length of the pattern", 10_000, "10,000",
    prefix="product.",
)  # fmt: skip
MEASURES = (COMPRESSED, PRODUCT)

SIZES = (3, 6, 9)  # how many cells the environments have
ENVIRONMENTS = 100  # how many there are of each size
STOP = 0.01  # the probability that the pattern of Good and Evil ends after each of its actions


@dataclass(frozen=True)
class Sample:
    """Environments of one size, and the rewards of each agent in them."""

    cells: int
    complexity: Mapping[str, FloatArray]  # of each environment, by measure
    points: IntArray  # the interactions after which averages are known
    averages: Mapping[str, FloatArray]  # by agent, a row per environment and a column per point

    def final(self, agent: str) -> FloatArray:
        """An agent's average reward at the end, for each environment."""
        return self.averages[agent][:, -1]

    def mean(self, agent: str) -> Estimate:
        """The mean of these."""
        return thesis.final(self.averages[agent])

    def lead(self, first: str, second: str) -> Estimate:
        """How much more the first of two agents gets than the second, paired by environment."""
        return paired_difference(self.final(first), self.final(second), support=REWARDS)

    @cached_property
    def curves(self) -> Mapping[str, FloatArray]:
        """The mean curve of each agent with its band, in three rows."""
        return {
            name: shared.bands(mean(column, support=REWARDS) for column in runs.T)
            for name, runs in self.averages.items()
        }


def draw_samples(
    environments: int = ENVIRONMENTS,
    interactions: int = thesis.INTERACTIONS,
    report: Report = silent,
    *,
    joint: bool = False,
    steps: Steps = Steps(),  # noqa: B008 - a frozen value
) -> list[Sample]:
    """The environments of all sizes, the same ones with the same random streams at every call.

    Args:
        environments: How many of each size.
        interactions: How long each exercise lasts.
        report: Called with the progress.
        joint: Whether all agents are in an environment at once, or each is there alone.
        steps: Where finished samples are kept.
    """
    samples = []
    for number, cells in enumerate(SIZES):
        report(f"{environments} environments of {cells} cells", number / len(SIZES))
        samples.append(steps(_draw_sample, cells, environments, interactions, joint))
    return samples


def _draw_sample(cells: int, environments: int, interactions: int, joint: bool) -> Sample:
    environment_class = Lambda(cells=cells, stop=STOP)
    # Another seed for each size, so that no random stream is used twice.
    exercises = thesis.draw_exercises(environment_class, environments, interactions, seed=cells)
    complexity = {}
    for measure in MEASURES:
        measured = Lambda(complexity_measure=measure.class_name)
        complexity[measure.name] = np.array(
            [measured.complexity(exercise.instance) for exercise in exercises]
        )
    average = thesis.joint_averages if joint else thesis.alone_averages
    points = thesis.checkpoints(interactions)
    averages = average(environment_class, thesis.REFERENCES, exercises, points)
    return Sample(cells, complexity, points, averages)


def learner_among_random(environments: int, interactions: int) -> FloatArray:
    """The final averages of Q-learning in the smallest environments among three random agents."""
    environment_class = Lambda(cells=SIZES[0], stop=STOP)
    exercises = thesis.draw_exercises(environment_class, environments, interactions, seed=SIZES[0])
    others = [replace(RANDOM, name=f"random-{number}") for number in (1, 2, 3)]
    points = np.array([interactions])
    averages = thesis.joint_averages(environment_class, [Q_LEARNING, *others], exercises, points)
    return averages[Q_LEARNING.name][:, -1]


# Curves against the interactions.


def curve_rows(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """All mean curves as records."""
    return [
        {
            "cells": sample.cells,
            "agent": name,
            "interactions": int(point),
            "value": float(value),
            "low": float(low),
            "high": float(high),
        }
        for sample in samples
        for name, curve in sample.curves.items()
        for point, value, low, high in zip(sample.points, *curve, strict=True)
    ]


def draw_sizes(
    samples: Sequence[Sample], title: str, path: Path, alone: Sequence[Sample] = ()
) -> dict[str, Path]:
    """Draw a panel for each size.

    Args:
        samples: The rewards of the agents.
        title: What is shown.
        path: Where to, without a suffix.
        alone: The rewards of each alone, to compare Q-learning with.
    """
    with plots.styled_figure(13.2, 4.7) as figure:
        for place, sample in enumerate(samples):
            panel = figure.add_axes((0.05 + 0.325 * place, 0.125, 0.215, 0.675))
            thesis.draw_curves(panel, sample.points, sample.curves)
            plots.panel_title(panel, f"{sample.cells} cells")
            if place:
                panel.set_ylabel("")
            if alone:
                value = alone[place].curves[Q_LEARNING.name][0]
                panel.plot(sample.points, value, "-", color=Q_LEARNING.colour, lw=0.8)
                panel.text(
                    0.98 * sample.points[-1], float(value[-1]) + 0.012, "Q-learning alone",
                    ha="right", va="bottom", fontsize=8, color=Q_LEARNING.colour,
                )  # fmt: skip
        subtitle = "Mean of the average reward so far, with its 95 % interval."
        plots.add_header(figure, title, subtitle)
        return plots.write_figure(figure, path)


# Rewards against complexity.

WEAK = 0.3
"""A correlation whose interval is within this distance of 0 explains less than a tenth of the
variance: such an agent is hardly affected."""


@dataclass(frozen=True)
class Relation:
    """The relation between the rewards of one agent and one measure of complexity."""

    agent: str
    among: str  # in which environments
    measure: Measure
    line: Line  # of least squares
    correlation: Correlation  # Pearson's

    @property
    def slope(self) -> Estimate:
        """The change of the reward per unit of the measure."""
        slope, per = self.line.slope, self.measure.per
        return replace(slope, value=per * slope.value, low=per * slope.low, high=per * slope.high)

    @property
    def falls(self) -> bool:
        """Whether the agent gets less in more complex environments."""
        return self.slope.high < 0


def among(samples: Sequence[Sample]) -> dict[str, Sequence[Sample]]:
    """The environments of the two panels: those of the largest size, and all."""
    return {f"{samples[-1].cells}-cells": samples[-1:], "all-sizes": samples}


def complexities(samples: Sequence[Sample], measure: Measure) -> FloatArray:
    """The complexity of each environment."""
    return np.concatenate([sample.complexity[measure.name] for sample in samples])


def rewards(samples: Sequence[Sample], agent: str) -> FloatArray:
    """The average reward of an agent in each environment."""
    return np.concatenate([sample.final(agent) for sample in samples])


def relate(agent: str, where: str, measure: Measure, x: FloatArray, y: FloatArray) -> Relation:
    """The relation between complexity and rewards, or differences of rewards."""
    return Relation(agent, where, measure, regression(x, y), correlation(x, y))


def all_relations(samples: Sequence[Sample]) -> list[Relation]:
    """The relations for both measures, both panels and each agent."""
    return [
        relate(
            agent.name, where, measure, complexities(chosen, measure), rewards(chosen, agent.name)
        )
        for measure in MEASURES
        for where, chosen in among(samples).items()
        for agent in thesis.REFERENCES
    ]


def relations_of(
    relations: Sequence[Relation], agent: thesis.Reference, measure: Measure
) -> dict[str, Relation]:
    """The relations of one agent by one measure, by the environments."""
    return {
        each.among: each
        for each in relations
        if (each.agent, each.measure.name) == (agent.name, measure.name)
    }


def relation_rows(relations: Sequence[Relation]) -> list[dict[str, Any]]:
    """All relations as records; slopes are for 100 bytes, or 10,000 of the product."""
    return [
        {
            "agent": relation.agent,
            "among": relation.among,
            "measure": relation.measure.name,
            **shared.fields(relation.slope, "slope"),
            **shared.fields(relation.correlation, "correlation"),
            "p": relation.correlation.p_value,
        }
        for relation in relations
    ]


def relation_figures(relations: Sequence[Relation]) -> dict[str, float]:
    """Slopes and correlations by name."""
    return {
        f"{each.agent}.{each.among}.{each.measure.prefix}{name}": estimate.value
        for each in relations
        for name, estimate in (("slope", each.slope), ("correlation", each.correlation))
    }


def point_rows(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """The complexity of each environment and the reward of each agent in it, as records."""
    return [
        {
            "cells": sample.cells,
            "environment": number,
            **{name: float(values[number]) for name, values in sample.complexity.items()},
            **{agent.name: float(sample.final(agent.name)[number]) for agent in thesis.REFERENCES},
        }
        for sample in samples
        for number in range(len(sample.final(ORACLE.name)))
    ]


def draw_relations(
    samples: Sequence[Sample], relations: Sequence[Relation], title: str, path: Path
) -> dict[str, Path]:
    """Draw two panels, for environments of the largest size and for all, in a row per measure."""
    with plots.styled_figure(12.4, 9.4) as figure:
        for row, measure in enumerate(MEASURES):
            lines = relations_of(relations, Q_LEARNING, measure)
            for place, (where, chosen) in enumerate(among(samples).items()):
                corner = (0.055 + 0.48 * place, 0.525 - 0.465 * row)
                panel = figure.add_axes((*corner, 0.445, 0.36))
                _draw_panel(panel, chosen, lines[where])
                if place:
                    panel.set_ylabel("")
        handles, names = panel.get_legend_handles_labels()
        figure.legend(
            [handles[names.index(agent.title)] for agent in thesis.REFERENCES],
            [agent.title for agent in thesis.REFERENCES],
            loc="upper right", bbox_to_anchor=(0.988, 0.978), ncols=len(names), frameon=False,
            handletextpad=0.2, columnspacing=1.4, fontsize=9.5, labelcolor="linecolor",
        )  # fmt: skip
        subtitle = "One point per agent and environment. The line is that of Q-learning."
        plots.add_header(figure, title, f"{subtitle} Rows: two readings of complexity.")
        return plots.write_figure(figure, path)


def _draw_panel(panel: Axes, samples: Sequence[Sample], relation: Relation) -> None:
    x = complexities(samples, relation.measure)
    for agent in (RANDOM, FOLLOWER, ORACLE, Q_LEARNING):  # the one in question lies on top
        panel.plot(
            x, rewards(samples, agent.name), agent.marker, ms=4.6, mfc=agent.colour, mec="white",
            mew=0.4, alpha=0.75, color=agent.colour, label=agent.title, ls="none",
        )  # fmt: skip
    panel.set(ylim=(-0.42, 1.06), ylabel="average reward")
    plots.grid_and_zero(panel)
    ends = np.array([x.min(), x.max()])
    panel.plot(ends, relation.line.at(ends), "-", color="white", lw=4.2, zorder=4)
    panel.plot(ends, relation.line.at(ends), "-", color=Q_LEARNING.colour, lw=2.2, zorder=5)
    slope, strength = (
        fmt(each, 2).replace("-", "\N{MINUS SIGN}")
        for each in (relation.slope, relation.correlation)
    )
    text = f"Q-learning: slope {slope} for {relation.measure.unit},\ncorrelation {strength}"
    panel.text(0.015, 0.03, text, transform=panel.transAxes, va="bottom", fontsize=SMALL, color=INK)
    cells = ", ".join(str(sample.cells) for sample in samples)
    plots.panel_title(panel, f"{len(x)} environments of {cells} cells")
    panel.set(xlabel=relation.measure.axis)
    panel.xaxis.set_major_formatter(plots.THOUSANDS)


def hardly_affected(
    samples: Sequence[Sample], relations: Sequence[Relation], agent: thesis.Reference
) -> Statement:
    """That complexity does not matter to an agent, by either measure."""
    by_measure = {measure: relations_of(relations, agent, measure) for measure in MEASURES}
    affected = [
        each for by_place in by_measure.values() for each in by_place.values() if not _is_weak(each)
    ]
    return Statement(
        f"{agent.title}: hardly affected by complexity.",
        "Correlation with the "
        + "; with the ".join(
            f"{measure.title}: "
            + ", ".join(f"{where} {fmt(each.correlation, 2)}" for where, each in by_place.items())
            for measure, by_place in by_measure.items()
        )
        + f". Rule: all four intervals are within {WEAK} of 0.",
        not affected,
        _outlier(samples, affected, _is_weak),
    )


def learner_falls(
    samples: Sequence[Sample],
    relations: Sequence[Relation],
    agent: thesis.Reference,
    measure: Measure,
) -> Statement:
    """That an agent gets less the more complex an environment is, by one measure."""
    by_place = relations_of(relations, agent, measure)
    steady = [each for each in by_place.values() if not each.falls]
    return Statement(
        f"{agent.title} does significantly worse the more complex the environment is "
        f"(complexity: the {measure.title}).",
        "; ".join(
            f"{where}: slope {fmt(each.slope)} for {measure.unit}, correlation "
            f"{fmt(each.correlation, 2)}, p = {each.correlation.p_value:.1g}"
            for where, each in by_place.items()
        )
        + ". Rule: the intervals of both slopes are below 0.",
        not steady,
        _outlier(samples, steady, lambda each: each.falls),
    )


def _is_weak(relation: Relation) -> bool:
    return shared.is_within(relation.correlation, WEAK)


def _outlier(
    samples: Sequence[Sample],
    failing: Sequence[Relation],
    holds: Callable[[Relation], bool],
) -> str:
    """The reason, if one or two environments far from the others are it; otherwise nothing.

    Args:
        samples: The environments.
        failing: The relations for which a claim does not hold.
        holds: Whether it holds for a relation.
    """
    reasons = []
    for each in failing:
        chosen = among(samples)[each.among]
        x, y = complexities(chosen, each.measure), rewards(chosen, each.agent)
        order = np.argsort(x, kind="stable")
        for far in (1, 2):
            rest = order[:-far]
            without = relate(each.agent, each.among, each.measure, x[rest], y[rest])
            if holds(without):
                break
        else:
            return ""
        reasons.append(
            f"{each.among}: {'one environment lies' if far == 1 else 'two environments lie'} far "
            f"from all others and nearly alone decide{'s' if far == 1 else ''} the relation. The "
            f"{each.measure.title} there is {shared.join(x[order[-far:]], ',.0f', ' and ')}, the "
            f"next is {x[rest[-1]]:,.0f}, the median {np.median(x):,.0f}. With the rest only the "
            f"slope is {fmt(without.slope)}, the correlation {fmt(without.correlation, 2)}. By "
            "ranks, where no value is far from the next, the correlation of all is "
            f"{fmt(_rank_correlation(x, y), 2)}"
        )
    return "; ".join(reasons)


def compare_measures(samples: Sequence[Sample], agent: thesis.Reference) -> Statement:
    """What difference it makes which of the two measures is meant."""
    lengths, products = (complexities(samples, measure) for measure in MEASURES)
    y = rewards(samples, agent.name)
    # In which part of its range, from the lowest value on, half of the values lie.
    half_of_lengths, half_of_products = (
        float((np.median(x) - x.min()) / np.ptp(x)) for x in (lengths, products)
    )
    return Statement(
        "The formula of section 5.4 has lost the sign between the compressed length and the length "
        "of the pattern. Most likely it was that of a product; its example has the compressed "
        "length alone.",
        f"Both order the environments in much the same way: the correlation of their ranks is "
        f"{fmt(_rank_correlation(lengths, products), 2)} over all sizes. But half of the "
        f"environments lie in the lowest {half_of_products:.0%} of the range of products, and in "
        f"the lowest {half_of_lengths:.0%} of that of lengths: by the product, few environments "
        f"decide the line. The rank correlation of {agent.title} with the product is "
        f"{fmt(_rank_correlation(products, y), 2)}, with the compressed length "
        f"{fmt(_rank_correlation(lengths, y), 2)}.",
        None,
    )


def _rank_correlation(x: FloatArray, y: FloatArray) -> Correlation:
    from scipy.stats import rankdata

    return correlation(rankdata(x), rankdata(y))
