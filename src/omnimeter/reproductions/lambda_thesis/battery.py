"""The battery of Table 6.1 taken by the reference agents (Lambda thesis, chapter 6).

The exercises are those of the battery protocol itself: running the battery gives the same results.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import atanh, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.agents.temporal_difference import ExpectedSarsa, QLearning, Sarsa
from omnimeter.complexity import compressed_length
from omnimeter.contract import Spec
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.estimation import (
    Correlation,
    Estimate,
    Line,
    correlation,
    mean,
    paired_difference,
    regression,
)
from omnimeter.execution.pool import worker_pool
from omnimeter.execution.workers import Job, Options, cores
from omnimeter.interaction import run_single
from omnimeter.protocols.battery import Battery
from omnimeter.reports.style import INK, LINE, MUTED
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.lambda_thesis import shared as thesis
from omnimeter.reproductions.lambda_thesis.shared import (
    CONNECTIONS,
    FOLLOWER,
    NO_SWAPS,
    ORACLE,
    PRODUCT_SWAPS,
    Q_LEARNING,
    RANDOM,
    USUAL,
    WHOLE_TURNS,
)
from omnimeter.reproductions.shared import (
    REWARDS,
    Comparison,
    Report,
    Reproduced,
    Statement,
    Steps,
    fmt,
    join,
    silent,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BATTERY = "thesis-table-6-1"

FEW = 20  # tests in the thesis
MANY = 2_000  # tests for narrow intervals; the first of them are as many as in the thesis

AGENTS = (
    RANDOM,
    FOLLOWER,
    ORACLE,
    Q_LEARNING,
    thesis.Reference("sarsa", "SARSA", Sarsa, "#b5559a", "-.", "v"),
    thesis.Reference("expected-sarsa", "Expected SARSA", ExpectedSarsa, "#c28200", "-.", "P"),
)

Q, COLOUR = Q_LEARNING.name, Q_LEARNING.colour


@dataclass(frozen=True)
class Printed:
    """What section 6.3 and Table 6.2 print of those who took the 20 tests."""

    mean: float
    deviation: float  # over tests
    correlation: float  # over all exercises
    correlations: tuple[float, ...]  # for each number of cells
    p_values: tuple[float, ...]

    @property
    def standard_error(self) -> float:
        """That of the mean."""
        return self.deviation / sqrt(FEW)


LEARNER = Printed(
    0.259, 0.122, -0.444, (-0.612, -0.538, -0.526, -0.403, -0.442, -0.387, -0.465),
    (0.002, 0.008, 0.009, 0.039, 0.026, 0.046, 0.019),
)  # fmt: skip
PEOPLE = Printed(
    0.237, 0.150, -0.257, (-0.474, -0.134, -0.367, -0.515, -0.282, -0.189, -0.146),
    (0.017, 0.286, 0.056, 0.010, 0.114, 0.213, 0.270),
)  # fmt: skip
F_AGENT, F_CELLS = 0.461, 0.401
"""The repeated two-way analysis of variance of people and Q-learning: with 1 and 19, and with 6 and
114 degrees of freedom."""

FIRST_OF_TIES = "first-of-ties"
READINGS = (NO_SWAPS, PRODUCT_SWAPS, CONNECTIONS, WHOLE_TURNS, FIRST_OF_TIES)
"""What the text leaves open, besides the usual reading. The last one is about Q-learning."""

PORTION = 500  # exercises that a process is given at a time
COMMON = 40  # exercises of one complexity that are enough for a mean
ERROR = 0.05  # the significance level


@dataclass(frozen=True)
class Results:
    """The results of some tests, with one column for each exercise of the sequence."""

    cells: IntArray
    interactions: IntArray
    complexity: FloatArray  # the compressed length of the pattern, with one row per test
    rewards: Mapping[str, FloatArray]  # the average reward of each agent, in the same shape

    @property
    def tests(self) -> int:
        """How many tests were taken."""
        return len(self.complexity)

    def first(self, tests: int) -> Results:
        """The first tests of all."""
        return self._select(slice(tests))

    def only(self, place: int) -> Results:
        """One exercise of the sequence alone."""
        return self._select(places=slice(place, place + 1))

    def batteries(self, tests: int) -> Iterator[Results]:
        """All tests in batteries of this many; an incomplete last one is left out."""
        for first in range(0, self.tests - tests + 1, tests):
            yield self._select(slice(first, first + tests))

    def _select(self, tests: slice = slice(None), places: slice = slice(None)) -> Results:
        return Results(
            self.cells[places],
            self.interactions[places],
            self.complexity[tests, places],
            {name: values[tests, places] for name, values in self.rewards.items()},
        )

    def mean(self, agent: str) -> Estimate:
        """An agent's mean over all exercises."""
        return mean(self.rewards[agent].ravel(), support=REWARDS)

    def deviation(self, agent: str) -> float:
        """The standard deviation of an agent's rewards over all exercises."""
        return float(np.std(self.rewards[agent], ddof=1))

    def deviation_of_tests(self, agent: str) -> float:
        """The standard deviation of an agent's means over single tests."""
        return float(np.std(self.rewards[agent].mean(axis=1), ddof=1))

    def correlation(self, agent: str) -> Correlation:
        """The correlation of an agent's rewards with complexity, over all exercises."""
        return correlation(self.complexity.ravel(), self.rewards[agent].ravel())

    def correlations(self, agent: str) -> list[Correlation]:
        """The same for each number of cells."""
        return [self.only(place).correlation(agent) for place in range(len(self.cells))]

    def significant(self, agent: str) -> int:
        """For how many numbers of cells the correlation is significantly below 0."""
        return sum(each.value < 0 and each.p_value < ERROR for each in self.correlations(agent))

    def significant_by_pearson(self, agent: str) -> int:
        """The same by the usual one-sided test of Pearson's r, as in Table 6.2."""
        values = (each.value for each in self.correlations(agent))
        return sum(one_sided_p_value(each, self.tests) < ERROR for each in values)

    def comparisons(self, few: int) -> list[Comparison]:
        """What is printed of Q-learning, beside batteries of as many tests."""
        batteries = list(self.batteries(few))
        by_cells = np.array([[each.value for each in one.correlations(Q)] for one in batteries])
        return [
            Comparison.of("mean", [each.mean(Q).value for each in batteries], LEARNER.mean),
            Comparison.of(
                "sd of tests", [each.deviation_of_tests(Q) for each in batteries], LEARNER.deviation
            ),
            Comparison.of(
                "r", [each.correlation(Q).value for each in batteries], LEARNER.correlation
            ),
            *(
                # No correlation where all complexities are the same.
                Comparison.of(f"r, {cells} cells", values[np.isfinite(values)], printed)
                for cells, values, printed in zip(
                    self.cells, by_cells.T, LEARNER.correlations, strict=True
                )
            ),
        ]

    def line(self, agent: str) -> Line:
        """The regression of an agent's rewards on complexity, over all exercises."""
        return regression(self.complexity.ravel(), self.rewards[agent].ravel())

    def along_complexity(self, agent: str) -> tuple[FloatArray, FloatArray]:
        """The complexities that came up often enough, and an agent's mean reward at each."""
        values, counts = np.unique(self.complexity, return_counts=True)
        common = values[counts >= COMMON]
        rewards = self.rewards[agent]
        return common, np.array([rewards[self.complexity == each].mean() for each in common])

    def spread_trend(self, agent: str) -> Correlation:
        """The correlation of the number of cells with distances from the median at that number.

        This is the test of Brown and Forsythe, turned into a test for a trend.
        """
        rewards = self.rewards[agent]
        distances = np.abs(rewards - np.median(rewards, axis=0))
        return correlation(np.broadcast_to(self.cells, rewards.shape).ravel(), distances.ravel())

    def f_of_cells(self, agent: str) -> float:
        """F of a repeated analysis of variance: what the number of cells does, within tests."""
        rewards = self.rewards[agent]
        tests, places = rewards.shape
        of_cells, of_tests, whole = rewards.mean(axis=0), rewards.mean(axis=1), rewards.mean()
        rest = rewards - of_cells - of_tests[:, np.newaxis] + whole
        effect = tests * np.sum((of_cells - whole) ** 2) / (places - 1)
        return float(effect / (np.sum(rest**2) / ((tests - 1) * (places - 1))))

    def anova_p_value(self, agent: str) -> float:
        """The p-value of an analysis of variance: are the means of all numbers of cells the same?

        That of Alexander and Govern, since variances differ.
        """
        from scipy.stats import alexandergovern

        return float(alexandergovern(*self.rewards[agent].T).pvalue)


def run_battery(
    battery: Battery,
    agents: Sequence[thesis.Reference],
    workers: int = 1,
    report: Report = silent,
    steps: Steps = Steps(),  # noqa: B008 - a frozen value
) -> Results:
    """The reward of each agent in each exercise of a battery of Lambda environments.

    Args:
        battery: The test.
        agents: The agents that take it.
        workers: How many processes carry it out.
        report: Called with the progress.
        steps: Where the rewards of finished agents are kept.

    Raises:
        RuntimeError: An exercise failed.
    """
    report(f"drawing {battery.tests} tests", 0.0)
    items = battery.plan.exercises
    shape = (battery.tests, len(items))
    lengths = [compressed_length(each.data["pattern"]) for _, each in battery.drawn()]
    rewards = {}
    with worker_pool(Options(workers=workers)) as work:
        for place, agent in enumerate(agents):
            part = 0.1 + 0.5 * place / len(agents)
            report(f"{battery.exercises:,} exercises of the agent {agent.title}", part)
            taken = steps(_rewards, agent.spec, battery.tests, battery=battery, work=work)
            rewards[agent.name] = taken.reshape(shape)
    return Results(
        cells=np.array([item.environment_class.parameters["cells"] for item in items]),
        interactions=np.array([item.interactions for item in items]),
        complexity=np.array(lengths, dtype=np.float64).reshape(shape),
        rewards=rewards,
    )


def _rewards(
    agent: Spec, tests: int, battery: Battery, work: Callable[[Iterator[Job]], Iterator[Any]]
) -> FloatArray:
    """What an agent gets in each exercise of so many tests."""
    proposed, count = battery.propose(agent, []), len(battery.plan.exercises)
    alike = [proposed[place::count] for place in range(count)]  # in the same class
    jobs = (
        Job(tuple(each[first : first + PORTION]), battery.payoff(), keep=False)
        for each in alike
        for first in range(0, len(each), PORTION)
    )
    rewards = np.full(tests * count, np.nan)
    for outcome, _ in work(jobs):
        if outcome.payoff is None:
            raise RuntimeError(f"{agent.label} failed: {outcome.fault}")
        rewards[outcome.exercise.number] = outcome.payoff
    return rewards


def run_reading(reading: str, tests: int, plan: Results) -> Results:
    """Q-learning's rewards in as many tests of the same plan, read in another way."""
    lengths, rewards = [], []
    agent = QLearning(ties="first") if reading == FIRST_OF_TIES else QLearning()
    for cells, interactions in zip(plan.cells.tolist(), plan.interactions.tolist(), strict=True):
        environment_class = thesis.READINGS.get(reading, thesis.READINGS[USUAL])(
            cells=cells, stop=1 / cells
        )
        exercises = thesis.draw_exercises(environment_class, tests, interactions, seed=cells)
        lengths.append([compressed_length(each.instance.data["pattern"]) for each in exercises])
        traces = run_single(environment_class, agent, exercises)
        rewards.append([trace.rewards.mean() for trace in traces])
    complexity = np.array(lengths, dtype=np.float64).T
    return Results(plan.cells, plan.interactions, complexity, {Q: np.array(rewards).T})


def one_sided_p_value(r: float, count: int) -> float:
    """The probability of a correlation as low as this one, if there is none."""
    from scipy.stats import t

    return float(t.cdf(r * sqrt((count - 2) / (1 - r**2)), count - 2))


def _rows(agent: str, parts: dict[str, Results]) -> Iterator[dict[str, Any]]:
    """One row for each number of cells and one for all, with the numbers of each part."""
    cells = next(iter(parts.values())).cells.tolist()
    for place, name in enumerate([*cells, "all"]):
        row: dict[str, Any] = {"agent": agent, "cells": name}
        for suffix, results in parts.items():
            chosen = results if name == "all" else results.only(place)
            numbers = {
                **shared.fields(chosen.mean(agent), "mean"),
                "sd": chosen.deviation(agent),
                "sd-of-tests": chosen.deviation_of_tests(agent),
                **shared.fields(chosen.correlation(agent), "pearson"),
                "p": chosen.correlation(agent).p_value,
            }
            row |= {key + suffix: value for key, value in numbers.items()}
        yield row


def _draw(
    results: Results,
    small: Results,
    comparisons: Mapping[str, Sequence[Comparison]],
    out: Path,
) -> dict[str, Path]:
    """Draw the results of all tests and of the first few, beside what the thesis prints."""
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    figure = Figure(figsize=(17, 8.6), layout=ConstrainedLayoutEngine(w_pad=0.14, h_pad=0.12))
    ((means, histogram, boxes), (printed, scatter, strength)) = figure.subplots(2, 3)
    _draw_means(means, results)
    _draw_histogram(histogram, results, small)
    _draw_boxes(boxes, results, small)
    _draw_printed(printed, comparisons)
    _draw_scatter(scatter, results, small)
    _draw_correlations(strength, results, small)
    for axes in (means, histogram, boxes, printed, scatter, strength):
        axes.spines[["top", "right"]].set_visible(False)
        axes.title.set(fontsize=10.5, ha="left", position=(0, 1))
    figure.suptitle(
        f"The battery of Table 6.1: {len(AGENTS)} agents in {results.tests:,} tests, and what the "
        f"thesis prints of Q-learning and people in {FEW}",
        x=0.01, ha="left", fontweight="bold",
    )  # fmt: skip
    return plots.write_figure(figure, out / "battery")


PRINTED_STYLE: dict[str, Any] = {"mfc": "white", "mew": 1.6, "ls": "none"}


def _draw_means(axes: Axes, results: Results) -> None:
    """Who gets what in a test: means, with the standard deviation over tests."""
    takers = [
        (
            f"{name}, thesis", printed.mean, printed.deviation,
            {"color": colour, "marker": "D", "ms": 7, **PRINTED_STYLE},
        )
        for name, printed, colour in (("People", PEOPLE, INK), ("Q-learning", LEARNER, COLOUR))
    ]  # fmt: skip
    takers += [
        (
            agent.title, results.mean(agent.name).value, results.deviation_of_tests(agent.name),
            {"color": agent.colour, "marker": agent.marker, "ms": 7, "ls": "none"},
        )
        for agent in AGENTS
    ]  # fmt: skip
    takers.sort(key=lambda taker: taker[1])
    for place, (_, value, deviation, style) in enumerate(takers):
        axes.errorbar(value, place, xerr=deviation, lw=1.2, capsize=3, **style)
        axes.annotate(
            f"{value:z.3f}\nsd {deviation:.3f}", (1.02, place),
            xycoords=("axes fraction", "data"), va="center", fontsize=8.5, color=style["color"],
            annotation_clip=False,
        )  # fmt: skip
    axes.axvline(0, color=LINE, lw=0.8)
    axes.set_yticks(range(len(takers)), [name for name, *_ in takers])
    axes.set(
        title="Mean of a test, with its standard deviation over tests", xlabel="average reward",
        xlim=(-0.2, 1),
    )  # fmt: skip


READING_MARKERS = "os^vDP"


def _draw_printed(axes: Axes, comparisons: Mapping[str, Sequence[Comparison]]) -> None:
    """How far the printed numbers are from ours, by reading of the text."""
    usual = comparisons[USUAL]
    limit = shared.max_z(len(usual))
    axes.axvspan(-limit, limit, color="#f3f4f6", lw=0)
    axes.axvline(0, color=LINE, lw=0.8)
    places = np.arange(len(usual))[::-1]
    for (reading, compared), marker in zip(comparisons.items(), READING_MARKERS, strict=True):
        main = reading == USUAL
        axes.plot(
            [each.z for each in compared], places, marker, ms=8 if main else 5.5,
            color=COLOUR if main else MUTED, mfc=COLOUR if main else "white",
            alpha=1 if main else 0.8, zorder=4 if main else 3, label=reading,
        )  # fmt: skip
    axes.set_yticks(places, [f"{each.name}: {each.published:g}" for each in usual])
    axes.set(
        title="Printed numbers of Q-learning, by reading of the text",
        xlabel="ours minus printed, in standard errors", xlim=(-4.2, 6.6),
    )  # fmt: skip
    axes.legend(frameon=False, fontsize=8.5, loc="lower right")


def _draw_histogram(axes: Axes, results: Results, small: Results) -> None:
    """Figure 6.3: how often which reward."""
    few, many = (part.rewards[Q].ravel() for part in (small, results))
    places = np.linspace(-1, 1, 401)
    axes.hist(
        few, bins=np.linspace(-1, 1, 21).tolist(), density=True, color=COLOUR, alpha=0.28,
        edgecolor="white", label=f"{few.size} exercises of {small.tests} tests",
    )  # fmt: skip
    axes.plot(places, density(few, places), color=COLOUR, lw=1.4, ls="--", label="their density")
    axes.plot(
        places, density(many, places), color=COLOUR, lw=2.2,
        label=f"density of {results.tests:,} tests",
    )  # fmt: skip
    average = float(np.mean(many))
    axes.axvline(average, color=INK, lw=0.9)
    axes.annotate(
        f"mean {average:.3f}\nsd {np.std(many, ddof=1):.3f}",
        (average, 0.97), xycoords=("data", "axes fraction"), xytext=(6, 0),
        textcoords="offset points", va="top", fontsize=9, color=INK,
    )  # fmt: skip
    axes.set(
        title="How often which result", xlabel="average reward of an exercise", ylabel="density",
        xlim=(-1, 1),
    )  # fmt: skip
    axes.legend(frameon=False, fontsize=8.5, loc="upper left")


def density(values: FloatArray, places: FloatArray) -> FloatArray:
    """The estimated density of values in [-1, 1], reflected at the ends."""
    from scipy.stats import gaussian_kde

    estimate = gaussian_kde(values)
    mirrored = (estimate(at) for at in (places, 2 - places, -2 - places))
    return np.asarray(sum(mirrored), dtype=np.float64)


def _draw_boxes(axes: Axes, results: Results, small: Results) -> None:
    """Figure 6.4, left: results by number of cells, means connected."""
    axes.axhline(0, color=LINE, lw=0.8)
    axes.boxplot(
        list(results.rewards[Q].T), positions=results.cells.tolist(), widths=0.56,
        showfliers=False, patch_artist=True, manage_ticks=False,
        boxprops={"facecolor": "#fbe6d8", "edgecolor": COLOUR, "lw": 0.9},
        medianprops={"color": INK, "lw": 1.8}, whiskerprops={"color": COLOUR, "lw": 0.9},
        capprops={"color": COLOUR, "lw": 0.9},
    )  # fmt: skip
    jitter = np.random.default_rng(0).uniform(-0.17, 0.17, size=small.complexity.shape)
    axes.plot(
        (small.cells + jitter).ravel(), small.rewards[Q].ravel(), "o", ms=2.6, color=COLOUR,
        alpha=0.55, mew=0,
    )  # fmt: skip
    for agent in AGENTS:
        main = agent is Q_LEARNING
        axes.plot(
            results.cells, results.rewards[agent.name].mean(axis=0), agent.line,
            color=agent.colour, marker=agent.marker, ms=5 if main else 3.5,
            lw=2.2 if main else 1.2, label=agent.title, zorder=4 + main,
        )  # fmt: skip
    axes.set(
        title=f"By number of cells: boxes, means of {results.tests:,} tests; dots of {small.tests}",
        xlabel="cells", ylabel="average reward", ylim=(-1.05, 1.08), xticks=results.cells.tolist(),
    )  # fmt: skip
    axes.legend(frameon=False, fontsize=8.5, ncols=3, loc="lower center")


def _draw_scatter(axes: Axes, results: Results, small: Results) -> None:
    """Figure 6.4, right: rewards against complexity, with regression lines."""
    axes.axhline(0, color=LINE, lw=0.8)
    jitter = np.random.default_rng(0).uniform(-0.25, 0.25, size=small.complexity.size)
    axes.plot(
        small.complexity.ravel() + jitter, small.rewards[Q].ravel(), "o", ms=3.6, color=COLOUR,
        alpha=0.5, mew=0,
    )  # fmt: skip
    ends = np.array([small.complexity.min(), small.complexity.max()])
    axes.plot(ends, small.line(Q).at(ends), "--", color=COLOUR, lw=1.4)
    for agent in AGENTS:
        width = 2.4 if agent is Q_LEARNING else 1.2
        line = results.line(agent.name)
        axes.plot(ends, line.at(ends), agent.line, color=agent.colour, lw=width)
    axes.plot(*results.along_complexity(Q), color=INK, lw=1.0)
    axes.annotate(
        f"Q-learning: r = {fmt(results.correlation(Q))}\n"
        f"in {small.tests} tests: r = {small.correlation(Q).value:.3f} (dashed)\n"
        "black: its mean at each length",
        (0.98, 0.02), xycoords="axes fraction", ha="right", va="bottom", fontsize=9, color=COLOUR,
    )  # fmt: skip
    axes.set(
        title=f"Against complexity: dots of {small.tests} tests, lines of {results.tests:,}",
        xlabel="Kapprox: compressed length of the pattern in bytes", ylabel="average reward",
        ylim=(-1.05, 1.08),
    )  # fmt: skip


def _draw_correlations(axes: Axes, results: Results, small: Results) -> None:
    """Table 6.2 as a figure: the correlation for each number of cells."""
    axes.axhline(0, color=INK, lw=0.8)
    for part, offset, fill, size in ((small, -0.12, "white", 5.5), (results, 0.12, COLOUR, 6.5)):
        values, *ends = shared.bands(part.correlations(Q))
        axes.errorbar(
            part.cells + offset, values, np.abs(np.array(ends) - values), fmt="o", color=COLOUR,
            mfc=fill, ms=size, lw=1.3, capsize=2.5, label=f"ours, {part.tests:,} tests",
        )  # fmt: skip
    for name, printed, colour, offset in (
        ("thesis", LEARNER, COLOUR, -0.3), ("thesis, people", PEOPLE, INK, 0.3)
    ):  # fmt: skip
        axes.plot(
            results.cells + offset, printed.correlations, "D", color=colour, ms=6, label=name,
            **PRINTED_STYLE,
        )  # fmt: skip
    axes.set(
        title="Correlation by number of cells, with 95 % intervals",
        xlabel="cells", ylabel="Pearson's r", ylim=(-1, 0.85), xticks=results.cells.tolist(),
    )  # fmt: skip
    axes.legend(frameon=False, fontsize=8.5, loc="upper left", ncols=2)


def statements(
    results: Results, few: int, comparisons: Mapping[str, Sequence[Comparison]]
) -> list[Statement]:
    """The statements of chapter 6, from all tests and the first few.

    Args:
        results: All tests.
        few: How many tests the thesis had.
        comparisons: The printed numbers beside ours, by reading of the text; the usual one first.
    """
    small = results.first(few)
    random = results.mean("random")
    names = sorted(results.rewards, key=lambda name: -float(np.mean(results.rewards[name])))
    gain = paired_difference(results.rewards["follower"].ravel(), results.rewards[Q].ravel())
    by_cells = results.correlations(Q)
    return [
        Statement(
            "Section 6.4: the expected value of a random agent is 0.",
            f"Its mean is {fmt(random, 4)} in {results.tests:,} tests.",
            shared.contains_zero(random),
        ),
        _as_printed(results, small, comparisons[USUAL]),
        _people(results),
        _readings(comparisons),
        Statement(
            "Not in the thesis: which agent does best in exercises as short as these.",
            "; ".join(f"{name} {fmt(results.mean(name))}" for name in names)
            + f". The follower is ahead of Q-learning by {fmt(gain)}.",
            None,
        ),
        _spread(results, small, few),
        _same_means(results, small, few),
        _correlation(results, small, few),
        Statement(
            "Table 6.2: the same holds for each number of cells.",
            f"r = {join((each.value for each in by_cells), '.2f')} with {_cells(results)} cells; "
            f"the largest p is {max(each.p_value for each in by_cells):.2g} in "
            f"{results.tests:,} tests.",
            results.significant(Q) == len(by_cells),
        ),
        _always_significant(results, small, few),
        _others(results),
    ]


def _as_printed(results: Results, small: Results, comparisons: Sequence[Comparison]) -> Statement:
    few = small.tests
    return Statement(
        "Section 6.3 and Table 6.2: Q-learning's mean, the standard deviation, and the "
        "correlations r of its rewards with complexity.",
        f"{shared.describe(comparisons)} The standard error of a printed number is the spread of "
        f"the same number over our {results.tests // few} batteries of {few} tests. In the first "
        f"{few} tests the mean is {fmt(small.mean(Q))}, in {results.tests:,} {fmt(results.mean(Q))}"
        f". Over tests the standard deviation is {results.deviation_of_tests(Q):.3f}, over single "
        f"exercises {results.deviation(Q):.3f}: the printed one is over tests.",
        shared.agree(comparisons),
    )


def _people(results: Results) -> Statement:
    """People's mean beside those of our agents; their tests and ours are independent."""
    away = {}
    for agent in AGENTS:
        rewards = results.rewards[agent.name].mean(axis=1)
        error = sqrt(PEOPLE.standard_error**2 + float(np.var(rewards, ddof=1)) / results.tests)
        away[agent.title] = (float(rewards.mean()), (PEOPLE.mean - float(rewards.mean())) / error)
    ours = results.correlation(Q).value
    weaker = (atanh(PEOPLE.correlation) - atanh(ours)) * sqrt(FEW * len(results.cells) - 3)
    # The variance of the paired differences follows from F, and from it the covariance.
    of_pairs = FEW * (LEARNER.mean - PEOPLE.mean) ** 2 / F_AGENT
    shared_variance = (LEARNER.deviation**2 + PEOPLE.deviation**2 - of_pairs) / 2
    return Statement(
        "Sections 6.3 and 6.5: people are not better than Q-learning in this test, and complexity "
        "matters less to them.",
        f"{FEW} people have {PEOPLE.mean} with a standard deviation of {PEOPLE.deviation:.3f}, so "
        f"a standard error of {PEOPLE.standard_error:.3f}. Our agents have "
        + ", ".join(f"{name} {value:.3f} ({z:+.1f})" for name, (value, z) in away.items())
        + "; in brackets how many standard errors people are ahead. Their r is "
        f"{PEOPLE.correlation}, {weaker:+.1f} standard errors (Fisher's) from our Q-learning's "
        f"{ours:.3f}. The printed F of {F_AGENT} says that people and Q-learning correlate by "
        f"{shared_variance / LEARNER.deviation / PEOPLE.deviation:.2f} over the tests that they "
        f"share. Rule: people are less than {shared.max_z(1):.1f} ahead, and r is weaker by more.",
        away[Q_LEARNING.title][1] < shared.max_z(1) < weaker,
    )


def _readings(comparisons: Mapping[str, Sequence[Comparison]]) -> Statement:
    texts = []
    for name, compared in comparisons.items():
        verdict = "agree" if shared.agree(compared) else "do not agree"
        farthest = max(compared, key=lambda each: abs(each.z))
        texts.append(
            f"{name}: mean {compared[0].ours.value:.3f} ({compared[0].z:+.1f}), the farthest is "
            f"{farthest.name} ({farthest.z:+.1f}), the numbers {verdict}"
        )
    return Statement(
        "Not in the thesis: how near other ways to read its text come to its numbers.",
        f"Differences from the printed numbers, in standard errors. {'; '.join(texts)}.",
        None,
    )


def _spread(results: Results, small: Results, few: int) -> Statement:
    trend, trend_of_few = results.spread_trend(Q), small.spread_trend(Q)
    learner, random = (
        np.std(results.rewards[name], axis=0, ddof=1).tolist() for name in (Q, "random")
    )
    return Statement(
        "Section 6.3: the variances are smaller the larger the number of cells, because there are "
        "more interactions.",
        f"Q-learning's standard deviation is {join(learner, '.2f')} with {_cells(results)} cells; "
        f"the correlation of distances from the median with the number of cells is r = "
        f"{fmt(trend)} ({fmt(trend_of_few)} in {few} tests). The standard deviation of the random "
        f"agent falls from {random[0]:.2f} to {random[-1]:.2f}.",
        trend.high < 0 and learner[-1] < learner[0],
    )


def _same_means(results: Results, small: Results, few: int) -> Statement:
    p_value = small.anova_p_value(Q)
    batteries = [each.anova_p_value(Q) for each in results.batteries(few)]
    noticed = sum(each < ERROR for each in batteries)
    means = results.rewards[Q].mean(axis=0).tolist()
    ratios = [each.f_of_cells(Q) for each in results.batteries(few)]
    holds = p_value >= ERROR and all(0.15 <= each < 0.35 for each in means)
    return Statement(
        "Section 6.3: an analysis of variance shows no significant effect of the number of cells; "
        "the means are around 0.2 and 0.3.",
        f"p = {p_value:.2g} in {few} tests. But the means do differ: they are "
        f"{join(means, '.2f')} with {_cells(results)} cells in {results.tests:,} tests "
        f"(p {_below(results.anova_p_value(Q))}). Among {len(batteries)} batteries of {few} tests, "
        f"{noticed} are enough to notice it. The printed F(6, 114) of {F_CELLS} is that of people "
        f"and Q-learning together. Of Q-learning alone F is {small.f_of_cells(Q):.2f} in {few} "
        f"tests, {np.mean(ratios):.2f} on average, and {sum(each <= F_CELLS for each in ratios)} "
        "batteries have one as small. Rule: p is not significant, and all means round to 0.2 or "
        "0.3.",
        holds,
        "" if holds else "the means do differ, and these tests are enough to notice it",
    )


def _correlation(results: Results, small: Results, few: int) -> Statement:
    many, first = results.correlation(Q), small.correlation(Q)
    slope = results.line(Q).slope
    lengths, means = results.along_complexity(Q)
    bend = ""
    if len(lengths) >= 3:
        chosen = np.unique(np.linspace(0, len(lengths) - 1, 5).astype(int))
        points = ", ".join(f"{means[each]:.2f} at {lengths[each]:.0f}" for each in chosen)
        bend = f" It is no straight line: the mean is {points} bytes."
    return Statement(
        "Section 6.3: the rewards of Q-learning go down significantly as the complexity of the "
        "pattern goes up (Pearson).",
        f"r = {fmt(first)}, p = {first.p_value:.2g} in {few} tests; "
        f"r = {fmt(many)}, p {_below(many.p_value)} in {results.tests:,}. Each "
        f"further byte of the compressed pattern costs {-slope.value:.4f} "
        f"[{-slope.high:.4f}, {-slope.low:.4f}]." + bend,
        first.high < 0 and many.high < 0,
    )


def _always_significant(results: Results, small: Results, few: int) -> Statement:
    whole = len(results.cells)
    counts = [each.significant_by_pearson(Q) for each in results.batteries(few)]
    full = counts.count(whole)
    robust = [each.significant(Q) for each in results.batteries(few)]
    two_sided = sum(2 * one_sided_p_value(r, FEW) < ERROR for r in LEARNER.correlations)
    distance = max(
        abs(one_sided_p_value(r, FEW) - p)
        for printed in (LEARNER, PEOPLE)
        for r, p in zip(printed.correlations, printed.p_values, strict=True)
    )
    return Statement(
        f"Table 6.2: it is significant for each number of cells, with n = {few}.",
        f"The printed p are those of one-sided tests of the printed r, up to {distance:.3f}; by "
        f"two-sided tests {two_sided} of {whole} would be significant. By one-sided tests our "
        f"first {few} tests show {small.significant_by_pearson(Q)}, {len(counts)} batteries of "
        f"{few} tests show {np.mean(counts):.1f} on average, and {full} show all {whole}. By ours, "
        "which are two-sided and allow for variances that differ with complexity, the average is "
        f"{np.mean(robust):.1f}, and {robust.count(whole)} show all. Rule: at least one battery in "
        f"forty shows all {whole} by one-sided tests.",
        40 * full >= len(counts),
    )


def _others(results: Results) -> Statement:
    names = ("random", "oracle", "follower", "sarsa", "expected-sarsa")
    return Statement(
        "Section 5.4, of longer exercises: random agent, oracle and follower are hardly affected "
        "by complexity.",
        "; ".join(f"{name} r = {fmt(results.correlation(name))}" for name in names)
        + f". Q-learning: {fmt(results.correlation(Q))}. Rule: for these three r is less than a "
        "quarter of Q-learning's.",
        all(
            abs(results.correlation(name).value) < abs(results.correlation(Q).value) / 4
            for name in names[:3]
        ),
    )


def _cells(results: Results) -> str:
    return f"{results.cells[0]} to {results.cells[-1]}"


def _below(p_value: float) -> str:
    return "< 1e-9" if p_value < 1e-9 else f"= {p_value:.2g}"


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    few: int = FEW,
    many: int = MANY,
    workers: int = min(2, cores()),
) -> Reproduced:
    """Give the battery of Table 6.1 to each agent, in 20 tests and in 2,000.

    Args:
        out: Where to write.
        report: Called with the progress.
        few: Tests as in the thesis, the first of all.
        many: All tests.
        workers: How many processes take them.
    """
    steps = Steps(out)
    battery = Battery(BATTERY, tests=many, payoff="average-v1")
    results = run_battery(battery, AGENTS, workers, report, steps)
    small = results.first(few)
    comparisons = {USUAL: results.comparisons(few)}
    for number, reading in enumerate(READINGS):
        report(f"Q-learning, {reading}", 0.6 + 0.3 * number / len(READINGS))
        read = steps(run_reading, reading, many, plan=results)
        comparisons[reading] = read.comparisons(few)
    report("statements and figures", 0.9)
    parts = {"": results, f".{few}-tests": small}
    rows = [row for agent in AGENTS for row in _rows(agent.name, parts)]
    exercises = [
        {
            "test": test + 1,
            "cells": int(cells),
            "complexity": float(results.complexity[test, place]),
            **{name: float(rewards[test, place]) for name, rewards in results.rewards.items()},
        }
        for test in range(results.tests)
        for place, cells in enumerate(results.cells)
    ]
    printed = [
        {"reading": name, **each.record()}
        for name, compared in comparisons.items()
        for each in compared
    ]
    return Reproduced(
        name="lambda-battery",
        title=f"The battery of Table 6.1, taken {many:,} times by each reference agent",
        findings="docs/findings.md#lambda",
        statements=statements(results, few, comparisons),
        figures={
            f"{row['agent']}{suffix}.{name}": row[name + suffix]
            for suffix in parts
            for row in rows
            if row["cells"] == "all"
            for name in ("mean", "sd", "sd-of-tests", "pearson")
        },
        rows=rows,
        files={
            "table": shared.write_records(out / "table.csv", rows),
            "exercises": shared.write_records(out / "exercises.csv", exercises),
            "printed": shared.write_records(out / "printed.csv", printed),
            **_draw(results, small, comparisons, out),
        },
        comparisons=comparisons[USUAL],
    )
