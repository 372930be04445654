"""How scores and intervals settle as a test gets longer (anytime test, section 5.2)."""

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
from omnimeter.protocols.anytime import AnytimeUntimed
from omnimeter.protocols.repetitions import Repetitions
from omnimeter.reports.style import INK, MUTED, SERIES
from omnimeter.reproductions.anytime.shared import part_of, taken
from omnimeter.reproductions.shared import (
    REWARDS,
    End,
    Report,
    Reproduced,
    Statement,
    head,
    look,
    name_ends,
    said,
    silent,
    write_figure,
    write_records,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class Subject:
    """An agent in a class of environments.

    Attributes:
        name: In rows.
        title: For a reader.
        agent: The agent's id.
        environments: The id of the class.
        colour: Of its lines.
        line: Their style.
    """

    name: str
    title: str
    agent: str
    environments: str
    colour: str
    line: str = "-"

    @property
    def is_random(self) -> bool:
        """Whether its expected score is 0."""
        return self.agent == "random-v1"

    def test(self, seed: int, repetitions: int, rounds: int) -> Spec:
        """One test of Definition 19.

        Args:
            seed: The root of all chance.
            repetitions: How many.
            rounds: How many exercises each of them has, none of them cut off.
        """
        endless = AnytimeUntimed(self.environments, 2**62, repetitions=1)
        parameters: dict[str, Any] = {
            "environment_class": {"id": self.environments},
            "interactions": repetitions * sum(endless.slots[:rounds]),
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


STOPS = (4, 8, 12, 16, 22)
"""After how many exercises tests are looked at in rows, and at their end."""


@dataclass(frozen=True)
class Series:
    """The tests that one agent has taken.

    Attributes:
        subject: The agent.
        lengths: How many interactions a repetition has after each exercise.
        rewards: What the exercises were worth, by test, round and repetition.
    """

    subject: Subject
    lengths: FloatArray
    rewards: FloatArray

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
        found: FloatArray = np.cumsum(self.rewards, axis=1) / self.exercises[:, np.newaxis]
        return found

    @cached_property
    def _intervals(self) -> FloatArray:
        """The ends of the interval of each test at each length."""
        estimates = [[mean(row, support=REWARDS) for row in test] for test in self.scores]
        return np.array([[(each.low, each.high) for each in test] for test in estimates])

    @cached_property
    def widths(self) -> FloatArray:
        """The widths of the 95 % intervals, by test and round."""
        found: FloatArray = self._intervals[..., 1] - self._intervals[..., 0]
        return found

    @cached_property
    def hold_0(self) -> NDArray[np.bool_]:
        """Whether they hold 0, by test and round."""
        found: NDArray[np.bool_] = (self._intervals[..., 0] <= 0) & (self._intervals[..., 1] >= 0)
        return found

    @cached_property
    def spread(self) -> FloatArray:
        """The standard deviation of the score between tests, at each length."""
        found: FloatArray = np.std(self.scores.mean(axis=2), axis=0, ddof=1)
        return found

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


def find(seeds: int, repetitions: int, rounds: int, report: Report) -> dict[str, Series]:
    """Let all agents take all tests.

    Args:
        seeds: How many tests each takes.
        repetitions: How many repetitions each test has.
        rounds: How many exercises each repetition has.
        report: Told what is being done.
    """
    found = {}
    for place, subject in enumerate(SUBJECTS):
        part = part_of(report, place, len(SUBJECTS), f"{seeds} tests: {subject.title}")
        tables = []
        for seed in range(seeds):
            protocol = subject.test(seed, repetitions, rounds)
            test = taken(protocol, Spec(subject.agent), part_of(part, seed, seeds))
            done = Repetitions(repetitions, test.outcomes)
            tables.append(done.table())
        slots = [each[0].exercise.budget.max_interactions for each in done.complete()]
        lengths = np.cumsum(np.array(slots, dtype=np.float64))
        found[subject.name] = Series(subject, lengths, np.array(tables))
    return found


Found = Mapping[str, Series]
"""What was found, by the names of the agents."""


FIRST = 8
"""From this exercise on laws are looked at: the slots before it are shorter than 20 interactions,
which is too short for most to learn anything."""

RESAMPLES = 999

GROUPS = (1, 2, 5, 10, 20)
"""Repetitions of a test, where tests are made from all repetitions anew."""


def repetition_spread(tests: Series) -> FloatArray:
    """The standard deviation of a repetition's score, after each exercise."""
    found: FloatArray = np.std(_repetitions(tests), axis=1, ddof=1)
    return found


def exponent(tests: Series) -> Estimate:
    """The power of the number of exercises with which the spread of a repetition falls.

    The interval is made of resampled repetitions.
    """
    return _resampled(tests, lambda scores: _power(tests.exercises, scores))


def variance_per_exercise(tests: Series) -> Estimate:
    """By how much each further exercise, from FIRST on, adds to the variance of the sum of rewards.

    If it adds nothing, the spread of the mean falls like 1/k, otherwise like k^-1/2 in the end.
    """
    return _resampled(tests, lambda scores: _growth(tests.exercises, scores))


def by_repetitions(tests: Series) -> dict[int, float]:
    """The spread of the final score between tests, by how many repetitions they have.

    The same repetitions are put together in other ways. Where too few tests would be left, there is
    nothing.
    """
    final = _repetitions(tests)[-1]
    found = {}
    for size in GROUPS:
        count = len(final) // size
        if count >= 5:
            groups = final[: count * size].reshape(count, size)
            found[size] = float(np.std(groups.mean(axis=1), ddof=1))
    return found


def power_of_repetitions(tests: Series) -> float:
    """The power of the number of repetitions with which the spread between tests falls."""
    found = by_repetitions(tests)
    return _slope(np.log(list(found)), np.log(list(found.values())))


def _repetitions(tests: Series) -> FloatArray:
    """The running scores of all repetitions: a row per round, a column per repetition."""
    found: FloatArray = np.concatenate(list(tests.scores), axis=1)
    return found


def _power(exercises: FloatArray, scores: FloatArray) -> float:
    spread = np.std(scores, axis=1, ddof=1)
    return _slope(np.log(exercises[FIRST - 1 :]), np.log(spread[FIRST - 1 :]))


def _growth(exercises: FloatArray, scores: FloatArray) -> float:
    sums = np.var(scores * exercises[:, np.newaxis], axis=1, ddof=1)
    return _slope(exercises[FIRST - 1 :], sums[FIRST - 1 :])


def _slope(x: FloatArray, y: FloatArray) -> float:
    away = x - x.mean()
    return float(away @ y / (away @ away))


def _resampled(tests: Series, statistic: Callable[[FloatArray], float]) -> Estimate:
    """A statistic of all curves with the percentile interval of resampled repetitions."""
    scores = _repetitions(tests)
    count = scores.shape[1]
    rng = stream(0, "convergence", tests.subject.name).generator()
    drawn = [statistic(scores[:, rng.integers(count, size=count)]) for _ in range(RESAMPLES)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Estimate(statistic(scores), float(low), float(high), 0.95, count)


HEIGHT_OF_LINE = 0.075
"""Of a panel."""

LINES = ("random", "q-learning", "model-learner", "torus-agent")
"""Whose single tests are drawn."""

SHORT = 8
"""After how many exercises longer repetitions and more of them are compared."""


def draw(found: Found, out: Path) -> dict[str, Path]:
    """Draw the three panels."""
    from matplotlib.figure import Figure

    with look():
        figure = Figure(figsize=(13.2, 4.9))
        scores, widths, ways = (
            figure.add_axes((left, 0.125, width, 0.635))
            for left, width in ((0.05, 0.2), (0.385, 0.19), (0.735, 0.18))
        )
        _draw_scores(scores, found)
        _draw_widths(widths, found)
        _draw_ways(ways, found)
        count, _, repetitions = next(iter(found.values())).rewards.shape
        head(
            figure,
            "Longer tests are better, with the logarithm of their length",
            f"{count} tests of Definition 19 for each agent, each with a seed of its own and "
            f"{repetitions} repetitions; in automata, dashed in the torus. On the right, how the "
            "spread "
            "of the score falls\nfrom short repetitions on: if they get longer, by agent, and if "
            "there are more of them.",
        )
        return write_figure(figure, out / "convergence")


def _draw_scores(axes: Axes, found: Found) -> None:
    ends = {}
    for name in LINES:
        tests = found[name]
        colour = tests.subject.colour
        for running in tests.scores.mean(axis=2):
            axes.plot(tests.lengths, running, color=colour, lw=0.5, alpha=0.55)
        ends[tests.subject.title] = (tests.score(len(tests.lengths)).value, colour)
    axes.set(ylim=(-0.4, 0.7), ylabel="score when the test is stopped here")
    axes.set_title("scores of single tests", loc="left", fontsize=10.5)
    axes.axhline(0, color=MUTED, lw=0.7, zorder=1)
    _lengths(axes, found)
    _name(axes, {f"{name}: {end:.2f}": (end, colour) for name, (end, colour) in ends.items()})


def _draw_widths(axes: Axes, found: Found) -> None:
    ends = {}
    for tests in found.values():
        width = tests.widths.mean(axis=0)
        subject = tests.subject
        axes.plot(tests.lengths, width, subject.line, color=subject.colour, lw=1.7)
        ends[f"{subject.title}: {width[-1]:.3f}"] = (float(width[-1]), subject.colour)
    axes.set_yscale("log")
    axes.set(ylim=(0.01, 2), ylabel="mean width of the 95 % interval")
    axes.set_yticks(ticks := [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2], [f"{t:g}" for t in ticks])
    axes.minorticks_off()
    axes.set_title("width of the interval", loc="left", fontsize=10.5)
    _lengths(axes, found)
    _name(axes, ends)


def _draw_ways(axes: Axes, found: Found) -> None:
    """How the spread falls from that of short repetitions: if they get longer, or more."""
    ends = {}
    place = min(SHORT, len(next(iter(found.values())).lengths) - 1) - 1
    for name in LINES:
        tests = found[name]
        spread, subject = repetition_spread(tests)[place:], tests.subject
        times = tests.lengths[place:] / tests.lengths[place]
        relative = spread / spread[0]
        axes.plot(times, relative, subject.line, color=subject.colour, lw=1.7)
        ends[subject.title] = (float(relative[-1]), subject.colour)
    axes.plot(times, 1 / np.sqrt(times), ":", color=INK, lw=1.3)
    ends["more repetitions"] = (float(1 / np.sqrt(times[-1])), INK)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set(xlim=(1, times[-1]), ylim=(0.015, 1.1))
    axes.set_yticks(ticks := [0.02, 0.05, 0.1, 0.2, 0.5, 1], [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.set(xlabel=f"times the interactions of repetitions of {tests.lengths[place]:,.0f}")
    axes.set_ylabel("spread of the score, as a part of theirs")
    axes.set_title("longer repetitions, or more", loc="left", fontsize=10.5)
    axes.grid(axis="y")
    _name(axes, ends)


def _lengths(axes: Axes, found: Found) -> None:
    longest = max(float(tests.lengths[-1]) for tests in found.values())
    axes.set_xscale("log")
    axes.set(xlim=(1, longest), xlabel="interactions in a repetition")
    axes.xaxis.set_major_formatter(lambda count, _: f"{count:,.0f}")
    axes.grid(axis="y")


def _name(axes: Axes, ends: dict[str, tuple[float, str]]) -> None:
    """The name of each curve beside its end, at the right of a panel."""
    named = [End(value, name, colour) for name, (value, colour) in ends.items()]
    name_ends(axes, named, HEIGHT_OF_LINE)


COVERED = 0.95
"""How many of the intervals should hold what they are about."""


def rows(found: Found) -> list[dict[str, Any]]:
    """Some of the lengths; with as many digits as mean something, so that a table stays narrow."""
    return [
        {
            "agent": tests.subject.name,
            "length": int(tests.lengths[stop - 1]),
            "exercises": stop,
            "score": round(tests.score(stop).value, 4),
            "width": round(float(tests.widths[:, stop - 1].mean()), 4),
            "spread": round(float(tests.spread[stop - 1]), 4),
            "stability": round(float(tests.stabilities[:, stop - 1].mean()), 4),
            "holding-0": float(tests.hold_0[:, stop - 1].mean()),
        }
        for tests in found.values()
        for stop in tests.stops
    ]


def zero_rows(found: Found) -> list[dict[str, Any]]:
    """At each length the share of intervals that hold 0, with its own interval."""
    records = []
    for tests in found.values():
        for place, held in enumerate(tests.hold_0.T):
            share = proportion(int(held.sum()), len(held))
            records.append(
                {
                    "agent": tests.subject.name,
                    "length": int(tests.lengths[place]),
                    "holding-0": share.value,
                    "low": share.low,
                    "high": share.high,
                }
            )
    return records


def law_rows(found: Found) -> list[dict[str, Any]]:
    """The law of each agent: how its scores come together."""
    return [
        {
            "agent": tests.subject.name,
            **_fields("power-of-exercises", exponent(tests)),
            **_fields("variance-per-exercise", variance_per_exercise(tests)),
            "power-of-repetitions": power_of_repetitions(tests),
            **{f"spread-of-{size}": spread for size, spread in by_repetitions(tests).items()},
        }
        for tests in found.values()
    ]


def _fields(name: str, estimate: Estimate) -> dict[str, float]:
    return {name: estimate.value, f"{name}-low": estimate.low, f"{name}-high": estimate.high}


def curve_rows(found: Found) -> list[dict[str, Any]]:
    """All lengths of all tests."""
    return [
        {
            "agent": tests.subject.name,
            "seed": seed,
            "length": int(length),
            "exercises": place + 1,
            "score": float(tests.scores[seed, place].mean()),
            "width": float(tests.widths[seed, place]),
            "stability": float(tests.stabilities[seed, place]),
        }
        for tests in found.values()
        for seed in range(len(tests.rewards))
        for place, length in enumerate(tests.lengths)
    ]


def statements(found: Found) -> list[Statement]:
    """What the text says, each with the rule by which it was decided, and what it does not say."""
    return [
        _more_time_is_better(found),
        _random_stays_at_0(found),
        _the_law(found),
        _more_repetitions(found),
        _the_score_moves(found),
    ]


def _more_time_is_better(found: Found) -> Statement:
    shrinking, told = [], []
    for tests in found.values():
        widths = tests.widths.mean(axis=0)[np.array(tests.stops) - 1]
        spreads = tests.spread[np.array(tests.stops) - 1]
        shrinking.append(bool(np.all(np.diff(widths) < 0) and spreads[-1] < spreads[0]))
        told.append(
            f"{tests.subject.title} {', '.join(f'{width:.3f}' for width in widths)} "
            f"(tests spread by {spreads[0]:.3f} at first and {spreads[-1]:.3f} in the end)"
        )
    first = next(iter(found.values()))
    lengths = ", ".join(f"{first.lengths[stop - 1]:,.0f}" for stop in first.stops)
    return Statement(
        "A test that is stopped soon gives a rough approximation, one that is given more time a "
        "better one.",
        f"Mean width of the 95 % intervals of {len(first.rewards)} tests of "
        f"{first.rewards.shape[2]} repetitions, after {lengths} interactions in each: "
        f"{'; '.join(told)}. Rule: the width falls from each of these lengths to the next, and "
        "the spread between tests is smaller in the end.",
        all(shrinking),
    )


def _random_stays_at_0(found: Found) -> Statement:
    fine, told = [], []
    for tests in found.values():
        if not tests.subject.is_random:
            continue
        count, looks = tests.hold_0.shape
        holding = tests.hold_0.sum(axis=0)
        joint = 1 - (1 - COVERED) / looks
        shares = [proportion(int(each), count, joint) for each in holding]
        pooled = [tests.score(stop) for stop in range(1, looks + 1)]
        fine.append(
            all(each.high >= COVERED for each in shares) and pooled[-1].low <= 0 <= pooled[-1].high
        )
        last = proportion(int(holding[-1]), count)
        with_0 = sum(each.low <= 0 <= each.high for each in pooled)
        told.append(
            f"{tests.subject.title}: between {holding.min()} and {holding.max()} of {count} "
            f"intervals hold 0, in the end {said(last, 2)}; the mean of all {pooled[-1].count} "
            f"repetitions is {said(pooled[-1], 4)} in the end, and its interval holds 0 at "
            f"{with_0} "
            f"of {looks} lengths"
        )
    return Statement(
        "The expectation of a random agent is 0, however long the test.",
        f"{'; '.join(told)}. Rule: at all lengths together the share that holds 0 is not below "
        f"{COVERED:.0%} (binomial intervals with the error shared among the lengths), and the "
        "last mean's interval holds 0.",
        all(fine),
    )


def tenth(tests: Series) -> int:
    """Which length is about a tenth of the last one."""
    return int(np.argmin(np.abs(np.log(tests.lengths * 10 / tests.lengths[-1]))))


def _the_law(found: Found) -> Statement:
    powers, added, narrower = [], [], []
    for tests in found.values():
        before, widths = tenth(tests), tests.widths.mean(axis=0)
        title = tests.subject.title
        powers.append(f"{title} {said(exponent(tests), 2)}")
        added.append(f"{title} {said(variance_per_exercise(tests), 3)}")
        narrower.append(f"{1 - widths[-1] / widths[before]:.0%}")
    times = tests.lengths[-1] / tests.lengths[before]
    return Statement(
        "The text does not say how fast. A repetition of n interactions has about k = log(1 + "
        "n/2) / "
        "log 1.5 exercises, since slots grow by one half.",
        f"From exercise {FIRST} on the spread of a repetition's score falls with this power of k: "
        f"{'; '.join(powers)}. Each further exercise adds to the variance of the sum of rewards: "
        f"{'; '.join(added)}. Repetitions {times:.0f} times as long make the interval narrower by "
        f"{', '.join(narrower)}. So the approximation gets better with the logarithm of the "
        "length only. What is left of the random agent's score is the luck of the first short "
        "slots, divided by k: a power of -1. Where long slots differ too, because an agent is good "
        "in some environments only, each adds its share, and the power tends to -1/2.",
        None,
    )


def _more_repetitions(found: Found) -> Statement:
    powers = {tests.subject.title: power_of_repetitions(tests) for tests in found.values()}
    spreads = [
        f"{tests.subject.title} "
        f"{', '.join(f'{each:.4f}' for each in by_repetitions(tests).values())}"
        for tests in found.values()
    ]
    sizes = ", ".join(map(str, by_repetitions(next(iter(found.values())))))
    return Statement(
        "The text does not speak of several repetitions. Scores of tests with m of them should "
        "spread like 1/sqrt(m).",
        f"With {sizes} repetitions the final scores spread by: {'; '.join(spreads)}. The powers of "
        f"m are {', '.join(f'{power:.2f}' for power in powers.values())}. Ten times as many "
        f"repetitions make the spread {sqrt(10):.1f} times smaller, ten times longer ones far "
        "less. "
        "But what they measure is the score at their own length.",
        None,
    )


def _the_score_moves(found: Found) -> Statement:
    told = []
    for tests in found.values():
        before = tenth(tests)
        told.append(
            f"{tests.subject.title} from {tests.score(before + 1).value:.3f} to "
            f"{tests.score(len(tests.lengths)).value:.3f}, with a stability of "
            f"{tests.stabilities[:, before].mean():.3f} and then "
            f"{tests.stabilities[:, -1].mean():.3f}"
        )
    return Statement(
        "The text speaks of an approximation of the agent's intelligence. Is it there when the "
        "interval is narrow?",
        f"In the last tenfold of the length the mean score went: {'; '.join(told)}. Learners' "
        "scores still grow, as short slots in which nothing could be learnt count as much as long "
        "ones, and their weight goes with 1/k. The interval is about the expected score at that "
        "length, and does not tell where an endless test would lead. The stability shows it: it "
        "is lower for scores that move than for those of random agents.",
        None,
    )


SEEDS, REPETITIONS, ROUNDS = 20, 10, 27


def reproduce(
    out: Path,
    report: Report = silent,
    *,
    seeds: int = SEEDS,
    repetitions: int = REPETITIONS,
    rounds: int = ROUNDS,
) -> Reproduced:
    """Let agents take tests with many seeds, and look at them at every length.

    Args:
        out: Where to write.
        report: Told what is being done.
        seeds: How many tests each agent takes.
        repetitions: How many repetitions a test has.
        rounds: How many exercises each repetition has.
    """
    return describe(find(seeds, repetitions, rounds, report), out)


def describe(found: Found, out: Path) -> Reproduced:
    """Say and draw what the tests have shown."""
    records = rows(found)
    return Reproduced(
        name="anytime-convergence",
        title="Scores and their intervals as a test gets longer",
        statements=statements(found),
        figures=_figures(found),
        rows=records,
        files={
            "table": write_records(out / "lengths.csv", records),
            "laws": write_records(out / "laws.csv", law_rows(found)),
            "holding 0": write_records(out / "zero.csv", zero_rows(found)),
            "tests": write_records(out / "tests.csv", curve_rows(found)),
            **draw(found, out),
        },
    )


def _figures(found: Found) -> dict[str, float]:
    figures = {}
    for name, tests in found.items():
        figures[name] = tests.score(len(tests.lengths)).value
        figures[f"{name}.width"] = float(tests.widths[:, -1].mean())
        figures[f"{name}.spread-of-tests"] = float(tests.spread[-1])
        figures[f"{name}.stability"] = float(tests.stabilities[:, -1].mean())
        figures[f"{name}.holding-0"] = float(tests.hold_0[:, -1].mean())
        figures[f"{name}.power-of-exercises"] = exponent(tests).value
        figures[f"{name}.variance-per-exercise"] = variance_per_exercise(tests).value
        figures[f"{name}.power-of-repetitions"] = power_of_repetitions(tests)
    return figures
