"""How scores and intervals converge as a test gets longer (anytime test, section 5.2)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import Spec, stream
from omnimeter.contract.agent import FloatArray
from omnimeter.estimation import Estimate, mean, proportion, stability
from omnimeter.protocols.repetitions import Repetitions
from omnimeter.reports.style import INK, MUTED, SERIES
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.anytime import remainder
from omnimeter.reproductions.anytime.shared import part_of, run_test, whole_slots
from omnimeter.reproductions.shared import (
    REWARDS,
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

SEEDS, REPETITIONS, ROUNDS = 20, 20, 27

STOPS = (4, 8, 12, 16, 22)  # after how many exercises tests are evaluated in rows, and at their end


@dataclass(frozen=True)
class Subject:
    """An agent in a class of environments, by their ids, and the style of its lines."""

    name: str
    title: str
    agent: str
    environment_class: str
    colour: str
    line: str = "-"

    def test(self, seed: int, repetitions: int, rounds: int) -> Spec:
        """One test of Definition 19.

        Args:
            seed: The seed.
            repetitions: How many.
            rounds: How many exercises each of them has, none of them cut off.
        """
        parameters: dict[str, Any] = {
            "environment_class": {"id": self.environment_class},
            "interactions": repetitions * whole_slots(self.environment_class, rounds),
            "repetitions": repetitions,
            "seed": seed,
        }
        return Spec("anytime-untimed-v1", parameters)


SUBJECTS = (
    Subject("random", "random", "random-v1", "automata-v1", SERIES[4]),
    Subject("q-learning", "Q-learning", "q-learning-v1", "automata-v1", SERIES[1]),
    Subject("model-learner", "model learner", "model-learner-v1", "automata-v1", SERIES[0]),
    Subject("torus-random", "random, torus", "random-v1", "torus-v1", SERIES[4], "--"),
    Subject("torus-agent", "torus agent", "torus-agent-v1", "torus-v1", SERIES[2], "--"),
)


@dataclass(frozen=True)
class Series:
    """The tests that one agent has taken."""

    subject: Subject
    lengths: FloatArray  # how many interactions a repetition has after each exercise
    rewards: FloatArray  # the payoffs of the exercises, by test, round and repetition

    @property
    def stops(self) -> Sequence[int]:
        """After how many exercises rows are made."""
        return [*(stop for stop in STOPS if stop < len(self.lengths)), len(self.lengths)]

    @cached_property
    def exercises(self) -> FloatArray:
        """How many exercises a repetition has, at each length."""
        return np.arange(1, len(self.lengths) + 1, dtype=np.float64)

    @cached_property
    def scores(self) -> FloatArray:
        """The score of each repetition, by test, round and repetition."""
        return np.asarray(np.cumsum(self.rewards, axis=1) / self.exercises[:, np.newaxis])

    @cached_property
    def _intervals(self) -> FloatArray:
        """The ends of the interval of each test at each length."""
        estimates = [[mean(row, support=REWARDS) for row in test] for test in self.scores]
        return np.array([[(each.low, each.high) for each in test] for test in estimates])

    @cached_property
    def widths(self) -> FloatArray:
        """The widths of the 95 % intervals, by test and round."""
        return np.asarray(self._intervals[..., 1] - self._intervals[..., 0])

    @cached_property
    def contain_0(self) -> NDArray[np.bool_]:
        """Whether they contain 0, by test and round."""
        return np.asarray((self._intervals[..., 0] <= 0) & (self._intervals[..., 1] >= 0))

    @cached_property
    def spread(self) -> FloatArray:
        """The standard deviation of the score between tests, at each length."""
        return np.asarray(np.std(self.scores.mean(axis=2), axis=0, ddof=1))

    @cached_property
    def stabilities(self) -> FloatArray:
        """The stability of the running score, by test and round."""
        running = self.scores.mean(axis=2)
        return np.array(
            [[stability(test[:stop]) for stop in range(1, len(test) + 1)] for test in running]
        )

    def score(self, stop: int) -> Estimate:
        """The mean over all repetitions of all tests after so many exercises."""
        return mean(self.scores[:, stop - 1].ravel(), support=REWARDS)

    @property
    def pooled(self) -> FloatArray:
        """The running scores of all repetitions: a row per round, a column per repetition."""
        return np.concatenate(list(self.scores), axis=1)

    def tenth(self) -> int:
        """Which length is about a tenth of the last one."""
        return int(np.argmin(np.abs(np.log(self.lengths * 10 / self.lengths[-1]))))


Results = Mapping[str, Series]  # by the names of the agents


def _run(seeds: int, repetitions: int, rounds: int, report: Report, steps: Steps) -> Results:
    """Let all agents take a test for each seed."""
    results = {}
    for place, subject in enumerate(SUBJECTS):
        part = part_of(report, place, len(SUBJECTS), f"{seeds} tests: {subject.title}")
        tables = []
        for seed in range(seeds):
            one = part_of(part, seed, seeds)
            lengths, table = steps(_take, subject, seed, repetitions, rounds, report=one)
            tables.append(table)
        results[subject.name] = Series(subject, lengths, np.array(tables))
    return results


def _take(
    subject: Subject, seed: int, repetitions: int, rounds: int, report: Report
) -> tuple[FloatArray, FloatArray]:
    """The lengths and the payoffs of one test, by round and repetition."""
    test = run_test(subject.test(seed, repetitions, rounds), Spec(subject.agent), report)
    done = Repetitions(repetitions, test.outcomes)
    slots = [each[0].exercise.budget.max_interactions for each in done.complete()]
    return np.cumsum(np.array(slots, dtype=np.float64)), done.table()


# The laws by which scores converge.

FIRST = 8
"""From this exercise on laws are fitted: the slots before it are shorter than 20 interactions,
which is too short for most agents to learn anything."""

RESAMPLES = 999

GROUPS = (1, 2, 5, 10, 20)  # repetitions of a test, where tests are made from all repetitions anew


def exponent(tests: Series) -> Estimate:
    """The power of the number of exercises with which the spread of a repetition falls."""

    def power(scores: FloatArray) -> float:
        spread = np.std(scores, axis=1, ddof=1)
        return _slope(np.log(tests.exercises[FIRST - 1 :]), np.log(spread[FIRST - 1 :]))

    return _resampled(tests, power)


def variance_per_exercise(tests: Series) -> Estimate:
    """By how much each further exercise, from FIRST on, adds to the variance of the sum of rewards.

    If it adds nothing, the spread of the mean falls like 1/k, otherwise like k^-1/2 in the end.
    """

    def growth(scores: FloatArray) -> float:
        variances = np.var(scores * tests.exercises[:, np.newaxis], axis=1, ddof=1)
        return _slope(tests.exercises[FIRST - 1 :], variances[FIRST - 1 :])

    return _resampled(tests, growth)


def by_repetitions(tests: Series) -> dict[int, float]:
    """The spread of the final score between tests, by how many repetitions they have.

    The same repetitions are grouped in other ways, as long as at least five tests are left.
    """
    final = tests.pooled[-1]
    spreads = {}
    for size in GROUPS:
        count = len(final) // size
        if count >= 5:
            groups = final[: count * size].reshape(count, size)
            spreads[size] = float(np.std(groups.mean(axis=1), ddof=1))
    return spreads


def power_of_repetitions(tests: Series) -> float:
    """The power of the number of repetitions with which the spread between tests falls."""
    spreads = by_repetitions(tests)
    return _slope(np.log(list(spreads)), np.log(list(spreads.values())))


def _slope(x: FloatArray, y: FloatArray) -> float:
    away = x - x.mean()
    return float(away @ y / (away @ away))


def _resampled(tests: Series, statistic: Callable[[FloatArray], float]) -> Estimate:
    """A statistic of all curves with the percentile interval of resampled repetitions."""
    scores = tests.pooled
    count = scores.shape[1]
    rng = stream(0, "convergence", tests.subject.name).generator()
    drawn = [statistic(scores[:, rng.integers(count, size=count)]) for _ in range(RESAMPLES)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Estimate(statistic(scores), float(low), float(high), 0.95, count)


# Tables.


def _tables(results: Results) -> dict[str, list[dict[str, Any]]]:
    """The rows of each table, by the name of its file."""
    # Some of the lengths, rounded, so that this table stays narrow.
    lengths = [
        {
            "agent": tests.subject.name,
            "length": int(tests.lengths[stop - 1]),
            "exercises": stop,
            "score": round(tests.score(stop).value, 4),
            "width": round(float(np.median(tests.widths[:, stop - 1])), 4),
            "spread": round(float(tests.spread[stop - 1]), 4),
            "stability": round(float(tests.stabilities[:, stop - 1].mean()), 4),
            "holding-0": float(tests.contain_0[:, stop - 1].mean()),
        }
        for tests in results.values()
        for stop in tests.stops
    ]
    laws = [
        {
            "agent": tests.subject.name,
            **shared.fields(exponent(tests), "power-of-exercises"),
            **shared.fields(variance_per_exercise(tests), "variance-per-exercise"),
            "power-of-repetitions": power_of_repetitions(tests),
            **{f"spread-of-{size}": spread for size, spread in by_repetitions(tests).items()},
        }
        for tests in results.values()
    ]
    zero = []
    for tests in results.values():
        for length, contained in zip(tests.lengths, tests.contain_0.T, strict=True):
            share = proportion(int(contained.sum()), len(contained))
            row = {"agent": tests.subject.name, "length": int(length), "holding-0": share.value}
            zero.append({**row, "low": share.low, "high": share.high})
    every_test = [
        {
            "agent": tests.subject.name,
            "seed": seed,
            "length": int(length),
            "exercises": place + 1,
            "score": float(tests.scores[seed, place].mean()),
            "width": float(tests.widths[seed, place]),
            "stability": float(tests.stabilities[seed, place]),
        }
        for tests in results.values()
        for seed in range(len(tests.rewards))
        for place, length in enumerate(tests.lengths)
    ]
    return {"lengths": lengths, "laws": laws, "zero": zero, "tests": every_test}


def _figures(results: Results) -> dict[str, float]:
    figures = {}
    for name, tests in results.items():
        figures[name] = tests.score(len(tests.lengths)).value
        figures[f"{name}.width"] = float(np.median(tests.widths[:, -1]))
        figures[f"{name}.spread-of-tests"] = float(tests.spread[-1])
        figures[f"{name}.stability"] = float(tests.stabilities[:, -1].mean())
        figures[f"{name}.holding-0"] = float(tests.contain_0[:, -1].mean())
        figures[f"{name}.power-of-exercises"] = exponent(tests).value
        figures[f"{name}.variance-per-exercise"] = variance_per_exercise(tests).value
        figures[f"{name}.power-of-repetitions"] = power_of_repetitions(tests)
    return figures


# Figures.

LINES = ("random", "q-learning", "model-learner", "torus-agent")  # whose single tests are drawn
SHORT = 8  # after how many exercises longer repetitions and more of them are compared


def _draw(results: Results, out: Path) -> dict[str, Path]:
    """Draw the three panels."""
    with plots.styled_figure(13.2, 4.9) as figure:
        scores, widths, spreads = (
            figure.add_axes((left, 0.125, width, 0.635))
            for left, width in ((0.05, 0.2), (0.385, 0.19), (0.735, 0.18))
        )
        _draw_scores(scores, results)
        _draw_widths(widths, results)
        _draw_spreads(spreads, results)
        count, _, repetitions = next(iter(results.values())).rewards.shape
        plots.add_header(
            figure,
            "Longer tests are better, with the logarithm of their length",
            f"{count} tests of Definition 19 for each agent, each with a seed of its own and "
            f"{repetitions} repetitions; in automata, dashed in the torus. On the right, how the "
            "spread of the score falls\nfrom short repetitions on: if they get longer, by agent, "
            "and if there are more of them.",
        )
        return plots.write_figure(figure, out / "convergence")


def _draw_scores(axes: Axes, results: Results) -> None:
    ends = []
    for name in LINES:
        tests = results[name]
        for running in tests.scores.mean(axis=2):
            axes.plot(tests.lengths, running, color=tests.subject.colour, lw=0.5, alpha=0.55)
        end = tests.score(len(tests.lengths)).value
        ends.append((end, f"{tests.subject.title}: {end:.2f}", tests.subject.colour))
    axes.set(ylim=(-0.4, 0.7), ylabel="score when the test is stopped here")
    plots.panel_title(axes, "scores of single tests")
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
    _set_lengths(axes, results)
    plots.label_ends(axes, ends)


def _draw_widths(axes: Axes, results: Results) -> None:
    ends = []
    for tests in results.values():
        width, subject = np.median(tests.widths, axis=0), tests.subject
        axes.plot(tests.lengths, width, subject.line, color=subject.colour, lw=1.7)
        label = f"{subject.title}: {width[-1]:.3f}"
        ends.append((float(width[-1]), label, subject.colour))
    axes.set_yscale("log")
    axes.set(ylim=(0.01, 2), ylabel="median width of the 95 % interval")
    plots.ticks(axes, [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2])
    plots.panel_title(axes, "width of the interval")
    _set_lengths(axes, results)
    plots.label_ends(axes, ends)


def _draw_spreads(axes: Axes, results: Results) -> None:
    """Draw how the spread falls from that of short repetitions: if they get longer, or more."""
    ends = []
    place = min(SHORT, len(next(iter(results.values())).lengths) - 1) - 1
    for name in LINES:
        tests = results[name]
        spread, subject = np.std(tests.pooled, axis=1, ddof=1)[place:], tests.subject
        times = tests.lengths[place:] / tests.lengths[place]
        relative = spread / spread[0]
        axes.plot(times, relative, subject.line, color=subject.colour, lw=1.7)
        ends.append((float(relative[-1]), subject.title, subject.colour))
    axes.plot(times, 1 / np.sqrt(times), ":", color=INK, lw=1.3)
    ends.append((float(1 / np.sqrt(times[-1])), "more repetitions", INK))
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set(xlim=(1, times[-1]), ylim=(0.015, 1.1))
    plots.ticks(axes, [0.02, 0.05, 0.1, 0.2, 0.5, 1])
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(plots.THOUSANDS)
    axes.set(xlabel=f"times the interactions of repetitions of {tests.lengths[place]:,.0f}")
    axes.set_ylabel("spread of the score, as a part of theirs")
    plots.panel_title(axes, "longer repetitions, or more")
    axes.grid(axis="y")
    plots.label_ends(axes, ends)


def _set_lengths(axes: Axes, results: Results) -> None:
    longest = max(float(tests.lengths[-1]) for tests in results.values())
    axes.set_xscale("log")
    axes.set(xlim=(1, longest), xlabel="interactions in a repetition")
    axes.xaxis.set_major_formatter(plots.THOUSANDS)
    axes.grid(axis="y")


# Statements.

COVERAGE = 0.95  # the share of the intervals that should contain the expected score


def statements(results: Results) -> list[Statement]:
    """What the text says, each with the rule by which it was decided, and what it does not say."""
    return [
        _more_time_is_better(results),
        _random_stays_at_0(results),
        _the_law(results),
        _more_repetitions(results),
        _the_score_moves(results),
    ]


def _more_time_is_better(results: Results) -> Statement:
    shrinking, texts = [], []
    for tests in results.values():
        widths = np.median(tests.widths, axis=0)[np.array(tests.stops) - 1]
        spreads = tests.spread[np.array(tests.stops) - 1]
        shrinking.append(bool(np.all(np.diff(widths) < 0) and spreads[-1] < spreads[0]))
        texts.append(
            f"{tests.subject.title} {join(widths, '.3f')} "
            f"(tests spread by {spreads[0]:.3f} at first and {spreads[-1]:.3f} in the end)"
        )
    first = next(iter(results.values()))
    lengths = join((first.lengths[stop - 1] for stop in first.stops), ",.0f")
    return Statement(
        "A test that is stopped soon gives a rough approximation, one that is given more time a "
        "better one.",
        f"Median width of the 95 % intervals of {len(first.rewards)} tests of "
        f"{first.rewards.shape[2]} repetitions, after {lengths} interactions in each: "
        f"{'; '.join(texts)}. Rule: the width falls from each of these lengths to the next, and "
        "the spread between tests is smaller in the end.",
        all(shrinking),
    )


def _random_stays_at_0(results: Results) -> Statement:
    fine, texts = [], []
    for tests in results.values():
        if tests.subject.agent != "random-v1":
            continue
        count, lengths = tests.contain_0.shape
        contained = tests.contain_0.sum(axis=0)
        confidence = 1 - (1 - COVERAGE) / lengths
        shares = [proportion(int(each), count, confidence) for each in contained]
        pooled = [tests.score(stop) for stop in range(1, lengths + 1)]
        fine.append(
            all(each.high >= COVERAGE for each in shares) and shared.contains_zero(pooled[-1])
        )
        last = proportion(int(contained[-1]), count)
        texts.append(
            f"{tests.subject.title}: between {contained.min()} and {contained.max()} of {count} "
            f"intervals contain 0, in the end {fmt(last, 2)}; the mean of all {pooled[-1].count} "
            f"repetitions is {fmt(pooled[-1], 4)} in the end, and its interval contains 0 at "
            f"{sum(map(shared.contains_zero, pooled))} of {lengths} lengths"
        )
    return Statement(
        "The expectation of a random agent is 0, however long the test.",
        f"{'; '.join(texts)}. Rule: at all lengths at once the share that contains 0 is not below "
        f"{COVERAGE:.0%} (binomial intervals with the error shared among the lengths), and the "
        "last mean's interval contains 0.",
        all(fine),
    )


def _the_law(results: Results) -> Statement:
    powers, added, narrower = [], [], []
    for tests in results.values():
        before, widths = tests.tenth(), np.median(tests.widths, axis=0)
        title = tests.subject.title
        powers.append(f"{title} {fmt(exponent(tests), 2)}")
        added.append(f"{title} {fmt(variance_per_exercise(tests), 3)}")
        narrower.append(1 - widths[-1] / widths[before])
    times = tests.lengths[-1] / tests.lengths[before]
    return Statement(
        "The text does not say how fast. A repetition of n interactions has about k = log(1 + "
        "n/2) / log 1.5 exercises, since slots grow by one half.",
        f"From exercise {FIRST} on the spread of a repetition's score falls with this power of k: "
        f"{'; '.join(powers)}. Each further exercise adds to the variance of the sum of rewards: "
        f"{'; '.join(added)}. Repetitions {times:.0f} times as long make the interval narrower by "
        f"{join(narrower, '.0%')}. So the approximation gets better with the logarithm of the "
        "length only. The random agent's score is the noise of the first short slots, divided by "
        "k: a power of -1. Where long slots differ too, because an agent is good in some "
        "environments only, each adds its share, and the power tends to -1/2.",
        None,
    )


def _more_repetitions(results: Results) -> Statement:
    spreads = [
        f"{tests.subject.title} {join(by_repetitions(tests).values(), '.4f')}"
        for tests in results.values()
    ]
    sizes = join(by_repetitions(next(iter(results.values()))), "d")
    powers = join(map(power_of_repetitions, results.values()), ".2f")
    return Statement(
        "The text does not speak of several repetitions. Scores of tests with m of them should "
        "spread like 1/sqrt(m).",
        f"With {sizes} repetitions the final scores spread by: {'; '.join(spreads)}. The powers of "
        f"m are {powers}. Ten times as many repetitions make the spread {sqrt(10):.1f} times "
        "smaller, ten times longer ones far less. But what they measure is the score at their own "
        "length.",
        None,
    )


def _the_score_moves(results: Results) -> Statement:
    texts = []
    for tests in results.values():
        before = tests.tenth()
        texts.append(
            f"{tests.subject.title} from {tests.score(before + 1).value:.3f} to "
            f"{tests.score(len(tests.lengths)).value:.3f}, with a stability of "
            f"{tests.stabilities[:, before].mean():.3f} and then "
            f"{tests.stabilities[:, -1].mean():.3f}"
        )
    return Statement(
        "The text speaks of an approximation of the agent's intelligence. Is it reached when the "
        "interval is narrow?",
        f"In the last tenfold of the length the mean score went: {'; '.join(texts)}. Learners' "
        "scores still grow, as short slots in which nothing could be learnt count as much as long "
        "ones, and their weight goes with 1/k. The interval is about the expected score at that "
        "length, and does not tell where an endless test would lead. The stability shows it: it "
        "is lower for scores that move than for those of random agents.",
        None,
    )


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    seeds: int = SEEDS,
    repetitions: int = REPETITIONS,
    rounds: int = ROUNDS,
) -> Reproduced:
    """Let agents take tests with many seeds, and evaluate them at every length.

    Args:
        out: Where to write.
        report: Called with the progress.
        seeds: How many tests each agent takes.
        repetitions: How many repetitions a test has.
        rounds: How many exercises each repetition has.
    """
    steps = Steps(out)
    results = _run(seeds, repetitions, rounds, part_of(report, 0, 2), steps)
    ends = remainder.curves(seeds * repetitions, rounds * 2 // 3, part_of(report, 1, 2), steps)
    tables = {**_tables(results), "remainder": [row for each in ends for row in each.rows()]}
    files = {name: shared.write_records(out / f"{name}.csv", rows) for name, rows in tables.items()}
    return Reproduced(
        name="anytime-convergence",
        title="Scores and their intervals as a test gets longer",
        findings="docs/findings.md#how-scores-converge",
        statements=[*statements(results), remainder.statement(ends)],
        figures={**_figures(results), **remainder.figures(ends)},
        rows=tables["lengths"],
        files={
            "table": files["lengths"],
            "laws": files["laws"],
            "holding 0": files["zero"],
            "tests": files["tests"],
            "remainder": files["remainder"],
            **_draw(results, out),
            **remainder.draw(ends, out),
        },
    )
