"""The experiment on perturbation tolerance: Q-learning with and without metacognitive control.

A learner takes 10,000 turns in an 8 x 8 grid with rewards in two corners, which then change
abruptly, and 10,000 more. Its performance is its average reward per turn over the ideal one. How
much it suffers is compared with the degree of the perturbation (equation 6).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

import numpy as np

from omnimeter.catalogue import Kind, make
from omnimeter.contract import Budget, Spec
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.corners import Perturbation, ideal_policy
from omnimeter.environments.switch import Switch
from omnimeter.estimation import Estimate
from omnimeter.interaction import KernelAgent, run_single
from omnimeter.reports.style import INK, MUTED, SERIES, SMALL
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.shared import Report, Reproduced, Statement, Steps, fmt, join, silent

Rewards = tuple[float, float]

INITIAL: tuple[Rewards, ...] = ((10, -10), (25, 5), (35, 15), (19, 21), (15, 35), (5, 25))
LATER: tuple[Rewards, ...] = ((25, 5), (35, 15), (19, 21), (15, 35), (5, 25), (-10, 10))
NEARLY_EQUAL: tuple[Rewards, Rewards] = ((19, 21), (21, 19))
"""The first of these turns into the second, not into itself."""

TURNS = 10_000  # before the switch, and after it
LAST = 1_000  # turns before the switch that show what was learnt
RUNS, QUICK_RUNS = 1_000, 40
SEARCH_RUNS, QUICK_SEARCH_RUNS = 40, 4
RESAMPLES = 2_000  # of the runs
PERMUTATIONS = 9_999  # of the cases
LARGE = 5.0  # the degree from which on a perturbation is called large: chosen after the first runs
NEAR_0 = 0.05  # a performance below which a ratio to it says nothing

GRID: Mapping[str, Sequence[float]] = {
    "alpha": (0.1, 0.3, 0.5, 0.7, 1.0),
    "gamma": (0.5, 0.7, 0.8, 0.9),
    "epsilon": (0.01, 0.05, 0.1),
}
"""Among these, parameters are chosen by performance before the switch."""

CHOSEN: Mapping[str, float] = {"alpha": 1.0, "gamma": 0.7, "epsilon": 0.05}
RANGE: Mapping[str, Sequence[float]] = {
    "alpha": (0.1, 0.3, 1.0),
    "gamma": (0.7, 0.9),
    "epsilon": (0.05, 0.1),
}
"""For these, correlations are shown too."""

MONITORS: Sequence[Mapping[str, float]] = (
    {"limit": 2},
    {"limit": 5},
    {"tolerance": 2},
    {"tolerance": 8},
    {"exploration": 0.2},
    {"exploration": 0.9},
    {"length": 500},
    {"length": 2000},
    {"slower": 2},
    {"slower": 10},
)
"""For these settings of the monitor too; the others are its defaults."""

UNMASKED: Mapping[str, float] = {"masked": False}
"""And without the response to rewards that may be masked."""


# The cases and their degrees.


@dataclass(frozen=True)
class Case(Perturbation):
    """A reward structure that turns into another one."""

    @property
    def name(self) -> str:
        """Both structures, as text."""
        return " to ".join("[{:g},{:g}]".format(*each) for each in (self.before, self.after))

    @property
    def ideal(self) -> tuple[float, float]:
        """The ideal average reward per turn, before and after."""
        return float(ideal_policy(self.before).average), float(ideal_policy(self.after).average)


def all_cases() -> list[Case]:
    """The 32 cases: each initial structure turns into each later one, but not into itself."""
    same, other = NEARLY_EQUAL
    pairs = ((a, other if a == b == same else b) for a, b in product(INITIAL, LATER))
    return [Case(a, b) for a, b in pairs if a != b]


def distinct_cases() -> list[Case]:
    """The 22 of them that are left if mirror images count once.

    In a mirror image both corners are exchanged, before and after. For this [19,21] and [21,19]
    count as one structure. The paper says 22 and not which: that these are meant is an inference.
    """

    def structure(rewards: Rewards, mirrored: bool) -> Rewards:
        first, second = rewards[::-1] if mirrored else rewards
        return NEARLY_EQUAL[0] if (first, second) in NEARLY_EQUAL else (first, second)

    distinct: dict[frozenset[tuple[Rewards, ...]], Case] = {}
    for case in all_cases():
        both = frozenset(
            (structure(case.before, mirrored), structure(case.after, mirrored))
            for mirrored in (False, True)
        )
        distinct.setdefault(both, case)
    return list(distinct.values())


# The runs.


def plain_learner(parameters: Mapping[str, float]) -> KernelAgent:
    """The Q-learner of the paper: all values 0 at first, rewards as they are."""
    agent: KernelAgent = make(Kind.AGENT, Spec.from_json(_learner(parameters)))
    return agent


def monitored_learner(parameters: Mapping[str, float], **settings: Any) -> KernelAgent:
    """The same with metacognitive control."""
    spec = Spec("monitored-v1", {"agent": _learner(parameters), **settings})
    agent: KernelAgent = make(Kind.AGENT, spec)
    return agent


def _learner(parameters: Mapping[str, float]) -> dict[str, Any]:
    start = {"initial_value": 0.0, "shift": False}
    return {"id": "q-learning-v1", "parameters": {**parameters, **start}}


def performance(
    case: Case, agent: KernelAgent, runs: int, turns: int = 2 * TURNS
) -> tuple[FloatArray, ...]:
    """The performance of each run: before the switch, at the end of that, and after it."""
    before, after = (
        {"id": "corners-v1", "parameters": {"rewards": list(each)}}
        for each in (case.before, case.after)
    )
    environment_class = Switch(first=before, second=after, at=TURNS)
    exercises = shared.draw_exercises(environment_class, Budget(turns), runs)
    ideal = case.ideal
    parts = ((0, TURNS, ideal[0]), (TURNS - LAST, TURNS, ideal[0]), (TURNS, turns, ideal[1]))
    rows = [
        [trace.rewards[start:end].mean() / best for start, end, best in parts if end > start]
        for trace in run_single(environment_class, agent, exercises)
    ]
    return tuple(np.array(rows).T)


def _both(
    case: Case, runs: int, parameters: Mapping[str, float], settings: Mapping[str, float]
) -> tuple[tuple[FloatArray, ...], FloatArray]:
    """The performance of the plain learner, and that after the switch of the monitored one."""
    learners = plain_learner(parameters), monitored_learner(parameters, **settings)
    return performance(case, learners[0], runs), performance(case, learners[1], runs)[-1]


@dataclass(frozen=True)
class Experiment:
    """Both learners in all cases.

    Attributes:
        cases: The cases, by degree.
        plain: The performance after the switch, ``[case, run]``.
        monitored: The same with metacognitive control.
        before: The performance of the plain learner before the switch, and in its last turns.
    """

    cases: Sequence[Case]
    plain: FloatArray
    monitored: FloatArray
    before: FloatArray

    @classmethod
    def of(
        cls,
        cases: Iterable[Case],
        runs: int,
        parameters: Mapping[str, float] = CHOSEN,
        settings: Mapping[str, float] = MappingProxyType({}),
        report: Report = silent,
        steps: Steps = Steps(),  # noqa: B008 - a frozen value
    ) -> Experiment:
        """Run it."""
        ordered = sorted(cases, key=lambda case: case.degree)
        plain, monitored, before = [], [], []
        for number, case in enumerate(ordered):
            report(f"{runs} runs of both learners, {case.name}", number / len(ordered))
            (*early, late), after = steps(_both, case, runs, dict(parameters), dict(settings))
            before.append([each.mean() for each in early])
            plain.append(late)
            monitored.append(after)
        return cls(ordered, np.array(plain), np.array(monitored), np.array(before))

    @property
    def degrees(self) -> FloatArray:
        """The degree of each case."""
        return np.array([case.degree for case in self.cases])

    @cached_property
    def _means(self) -> FloatArray:
        """The mean performances of runs drawn with replacement, ``[resample, agent, case]``.

        A run is one seed with which all cases and both learners are run: it is drawn as a whole.
        """
        rng = np.random.default_rng(0)
        runs = self.plain.shape[1]
        counts = rng.multinomial(runs, np.full(runs, 1 / runs), size=RESAMPLES) / runs
        return np.stack([counts @ self.plain.T, counts @ self.monitored.T], axis=1)

    def estimate(self, statistic: Any) -> Any:
        """A statistic of the mean performances of both learners, with its bootstrap interval.

        Cases are fixed, runs are drawn (percentile intervals, 95 %).

        Args:
            statistic: Gets ``[..., case]`` of the plain and of the monitored learner.
        """
        value = statistic(self.plain.mean(axis=1), self.monitored.mean(axis=1))
        drawn = statistic(self._means[:, 0], self._means[:, 1])
        low, high = np.quantile(drawn, (0.025, 0.975), axis=0)
        runs = self.plain.shape[1]
        if np.ndim(value) == 0:
            return Estimate(float(value), float(low), float(high), 0.95, runs)
        bounds = zip(value.tolist(), low.tolist(), high.tolist(), strict=True)
        return [Estimate(each, least, most, 0.95, runs) for each, least, most in bounds]

    def relation(self, what: str, *, ranks: bool = False) -> tuple[Estimate, float]:
        """The correlation of something with the degree: its interval over runs, its p-value.

        The p-value is that of the permutation test over cases: the share of random orders of the
        degrees with a correlation as strong, in either direction. It needs no assumption on how
        the cases spread, and a few of them carry the correlation of the ratio.

        Args:
            what: One of ``MEASURES``.
            ranks: Whether to correlate ranks (Spearman).
        """
        estimate: Estimate = self.estimate(
            lambda plain, monitored: correlated(
                self.degrees, MEASURES[what](plain, monitored), ranks=ranks
            )
        )
        values = MEASURES[what](self.plain.mean(axis=1), self.monitored.mean(axis=1))
        orders = np.random.default_rng(0).permuted(np.tile(values, (PERMUTATIONS, 1)), axis=1)
        drawn = np.abs(correlated(self.degrees, orders, ranks=ranks))
        as_strong = int((drawn >= abs(estimate.value) - 1e-12).sum())
        return estimate, (as_strong + 1) / (PERMUTATIONS + 1)


def correlated(degrees: FloatArray, values: FloatArray, *, ranks: bool = False) -> Any:
    """Pearson's correlation, or Spearman's, of the degrees with ``[..., case]``."""
    if ranks:
        from scipy.stats import rankdata

        degrees, values = rankdata(degrees), rankdata(values, axis=-1)
    x = (degrees - degrees.mean()) / degrees.std()
    deviations = values - values.mean(axis=-1, keepdims=True)
    return (deviations * x).mean(axis=-1) / values.std(axis=-1)


MEASURES: Mapping[str, Any] = {
    "plain": lambda plain, monitored: plain,  # noqa: ARG005
    "monitored": lambda plain, monitored: monitored,  # noqa: ARG005
    "ratio": lambda plain, monitored: monitored / plain,
    "gain": lambda plain, monitored: monitored - plain,
}
"""What is compared with the degree, as functions of the mean performances of both learners."""


def search(
    runs: int,
    report: Report = silent,
    steps: Steps = Steps(),  # noqa: B008 - a frozen value
) -> list[dict[str, float]]:
    """The mean performance before the switch for all parameters of the grid, best first."""
    rows = []
    combined = list(product(*GRID.values()))
    for number, values in enumerate(combined):
        report("the search for parameters", number / len(combined))
        parameters = dict(zip(GRID, values, strict=True))
        means = steps(_early, parameters, runs)
        rows.append({**parameters, "performance": float(means[0]), "last": float(means[1])})
    return sorted(rows, key=lambda row: -row["performance"])


def _early(parameters: Mapping[str, float], runs: int) -> FloatArray:
    """The mean performance before the switch, and at the end of that."""
    learner = plain_learner(parameters)
    early = [performance(Case(each, each), learner, runs, TURNS) for each in INITIAL]
    means: FloatArray = np.mean([[part.mean() for part in parts] for parts in early], axis=0)
    return means


def sensitivity(
    runs: int,
    cases: Sequence[Case],
    report: Report = silent,
    steps: Steps = Steps(),  # noqa: B008 - a frozen value
) -> list[dict[str, Any]]:
    """The correlations for a range of parameters of the learner, then of the monitor."""
    rows = []
    learners = [dict(zip(RANGE, values, strict=True)) for values in product(*RANGE.values())]
    combined: list[tuple[Mapping[str, float], Mapping[str, float]]]
    combined = [(each, {}) for each in learners] + [
        (CHOSEN, each) for each in (*MONITORS, UNMASKED)
    ]
    for number, (parameters, settings) in enumerate(combined):
        report("a range of parameters", number / len(combined))
        result = Experiment.of(cases, runs, parameters, settings, steps=steps)
        plain, monitored = result.plain.mean(axis=1), result.monitored.mean(axis=1)
        degrees = result.degrees
        large = degrees >= LARGE
        ratio = None
        if plain.min() >= NEAR_0:
            ratio = float(correlated(degrees, monitored / plain))
        rows.append(
            {
                **parameters,
                "monitor": _settings(settings),
                "alarms": None if settings else steps(false_alarms, runs, parameters)[0],
                "plain": float(correlated(degrees, plain)),
                "ratio": ratio,
                "gain": float(correlated(degrees, monitored - plain)),
                "large-plain": float(plain[large].mean()),
                "large-monitored": float(monitored[large].mean()),
                "small-plain": float(plain[~large].mean()),
                "small-monitored": float(monitored[~large].mean()),
            }
        )
    return rows


def _settings(settings: Mapping[str, float]) -> str:
    return ", ".join(f"{name}={value:g}" for name, value in settings.items())


def false_alarms(runs: int, parameters: Mapping[str, float] = CHOSEN) -> tuple[float, float]:
    """Without any switch: the share of runs with an alarm, and what the monitor costs.

    A monitor that needs a billion violations does nothing. A run with an alarm differs from its.
    """
    watching, idle = (monitored_learner(parameters, limit=limit) for limit in (3.0, 1e9))
    alarms, costs = [], []
    for rewards in INITIAL:
        case = Case(rewards, rewards)
        both = [np.array(performance(case, each, runs)) for each in (watching, idle)]
        alarms.append((both[0] != both[1]).any(axis=0).mean())
        costs.append((both[1] - both[0])[[0, 2]].mean())
    return float(np.mean(alarms)), float(np.mean(costs))


# What is drawn and stated.


def _draw(result: Experiment, out: Path) -> dict[str, Path]:
    degrees = result.degrees
    ratio, gap = result.relation("ratio")[0], result.relation("plain")[0]
    with plots.styled_figure(9.6, 4.5) as figure:
        left = figure.add_axes((0.065, 0.13, 0.41, 0.62))
        right = figure.add_axes((0.565, 0.13, 0.41, 0.62))
        plots.add_header(
            figure,
            "Q-learning after an abrupt change of its rewards, with and without a monitor",
            f"{len(degrees)} cases, {result.plain.shape[1]} runs each; bars: 95 % intervals over "
            f"runs. Performance: the average reward per turn over the ideal one, in the\n"
            f"{TURNS:,} turns after the switch. Degree of perturbation: equation 6.",
        )
        for what, colour, marker, label in (
            ("plain", SERIES[0], "o", "Q-learning"),
            ("monitored", SERIES[1], "s", "with metacognitive control"),
        ):
            value, low, high = shared.bands(result.estimate(MEASURES[what]))
            left.errorbar(
                degrees, value, (value - low, high - value), fmt=marker, ms=4.5, lw=1,
                color=colour, label=label, mfc=colour if what == "plain" else "none",
            )  # fmt: skip
        left.set(
            ylim=(0, 1), xlabel="degree of perturbation", ylabel="performance after the switch"
        )
        left.legend(frameon=False, loc="lower left", fontsize=SMALL)
        plots.panel_title(left, f"Performance: r = {gap.value:.2f} without the monitor")
        value, low, high = shared.bands(result.estimate(MEASURES["ratio"]))
        right.errorbar(
            degrees, value, (value - low, high - value), fmt="D", ms=4.5, lw=1, color=INK
        )
        right.axhline(1, color=MUTED, lw=0.7)
        right.set(ylim=(0, None), xlabel="degree of perturbation", ylabel="monitored / plain")
        plots.panel_title(right, f"Ratio (figure 1): r = {ratio.value:.2f}")
        for axes in (left, right):
            axes.set_xlim(-0.3, 8.4)
            axes.grid(axis="y")
        return plots.write_figure(figure, out / "perturbation-tolerance")


def statements(
    result: Experiment,
    searched: Sequence[Mapping[str, float]],
    range_rows: Sequence[Mapping[str, Any]],
    alarms: tuple[float, float],
) -> list[Statement]:
    """What the paper says, and what we add."""
    largest, nearly_none = Case((10, -10), (-10, 10)), Case(*NEARLY_EQUAL)
    plain, ratio = result.relation("plain"), result.relation("ratio")
    gain, by_rank = result.relation("gain"), result.relation("ratio", ranks=True)
    plain_rank = result.relation("plain", ranks=True)
    large = result.degrees >= LARGE

    def mean_of(what: str, chosen: Any) -> Estimate:
        each = MEASURES[what]
        estimate: Estimate = result.estimate(
            lambda one, other: each(
                one[..., chosen].mean(axis=-1), other[..., chosen].mean(axis=-1)
            )
        )
        return estimate

    best, chosen = searched[0], _row_of(searched, CHOSEN)
    *others, unmasked = [row for row in range_rows if row["monitor"]]
    range_rows = [row for row in range_rows if not row["monitor"]]
    known = [row for row in range_rows if row["ratio"] is not None]
    last = result.before[:, 1]
    ratios = result.monitored.mean(axis=1) / result.plain.mean(axis=1)
    return [
        Statement(
            "There are 22 perturbations.",
            f"36 pairs of structures without the identical ones are {len(all_cases())}; mirror "
            "images counted once, [19,21] and [21,19] as one structure, leave "
            f"{len(distinct_cases())}. That these are meant is our inference; the 32 are run with "
            "cases=32.",
            len(distinct_cases()) == 22,
        ),
        Statement(
            "From [10,-10] to [-10,10] all 64 squares of the ideal policy change; from [19,21] to "
            "[21,19] essentially none.",
            f"D_o is {largest.policy_difference} and {nearly_none.policy_difference} (the squares "
            f"as far from one corner as from the other); D_p {largest.degree:g} and "
            f"{nearly_none.degree:g}.",
            largest.policy_difference == 64 and nearly_none.policy_difference <= 8,
        ),
        Statement(
            "10,000 turns are enough for a very good policy, which is not optimal.",
            f"In the last {LAST:,} turns before the switch, exploration included, the learner has "
            f"{last.min():.2f} to {last.max():.2f} of the ideal average. Its parameters are the "
            f"best of {len(searched)} by the performance before the switch, or within "
            f"0.01 of it: alpha {CHOSEN['alpha']:g}, gamma {CHOSEN['gamma']:g}, epsilon "
            f"{CHOSEN['epsilon']:g} have {chosen['performance']:.3f}, the best found here (alpha "
            f"{best['alpha']:g}, gamma {best['gamma']:g}, epsilon {best['epsilon']:g}) "
            f"{best['performance']:.3f}.",
            bool(last.min() >= 0.7 and last.max() < 1)
            and best["performance"] - chosen["performance"] <= 0.01,
        ),
        Statement(
            "The performance of the Q-learner after the perturbation is negatively correlated with "
            "its degree.",
            f"r = {fmt(plain[0])} over runs, p = {plain[1]:.2g} (permutations of the "
            f"{len(result.cases)} cases); by ranks {fmt(plain_rank[0])}.",
            plain[0].high < 0 and plain[1] < 0.05,
        ),
        Statement(
            "The ratio of the performance with metacognitive control to that without rises with "
            "the degree, with a high correlation (figure 1).",
            f"r = {fmt(ratio[0])} over runs, p = {ratio[1]:.2g} (permutations of the cases); the "
            f"difference in place of the ratio has {fmt(gain[0])} (p = {gain[1]:.2g}). By ranks "
            f"the ratio has only {fmt(by_rank[0])} (p = {by_rank[1]:.2g}): up to a degree of "
            f"{LARGE:g} it is near 1, and the large perturbations carry the correlation. Rule: the "
            "lower end is above 0.5, and p below 0.05.",
            ratio[0].low > 0.5 and ratio[1] < 0.05,
        ),
        Statement(
            "Metacognitive control can greatly improve perturbation tolerance.",
            f"Above a degree of {LARGE:g} the mean performance is "
            f"{fmt(mean_of('monitored', large))} with it and {fmt(mean_of('plain', large))} "
            f"without, below {fmt(mean_of('monitored', ~large))} and "
            f"{fmt(mean_of('plain', ~large))}. The ratios of the {large.sum()} large ones are "
            f"{join(ratios[large], '.2f')}, those of the others {ratios[~large].min():.2f} to "
            f"{ratios[~large].max():.2f}.",
            mean_of("ratio", large).low > 1.5 and mean_of("ratio", ~large).low > 0.9,
        ),
        Statement(
            "False alarms, of which the paper says nothing:",
            f"{alarms[0]:.2%} of the runs of {2 * TURNS:,} turns in one structure have an alarm; "
            f"the performance is lower by {alarms[1]:.4f}. With {len(range_rows)} other "
            "combinations of the learner's parameters the share of runs is "
            f"{_span(range_rows, 'alarms')}.",
            None,
        ),
        Statement(
            "The paper does not tell the parameters of its Q-learner. Others than ours:",
            f"Over {len(range_rows)} combinations of alpha {join(RANGE['alpha'], 'g')}, gamma "
            f"{join(RANGE['gamma'], 'g')} and epsilon {join(RANGE['epsilon'], 'g')}, performance "
            f"has r from {_span(range_rows, 'plain')}, the difference between both learners from "
            f"{_span(range_rows, 'gain')}. The ratio has r from {_span(known, 'ratio')} in the "
            f"{len(known)} combinations in which every plain performance is at least {NEAR_0:g}; "
            "in the others one is near 0 or below, and a ratio to it says nothing. Large "
            f"perturbations leave the plain learner {_span(range_rows, 'large-plain')} of the "
            f"ideal, the monitored one {_span(range_rows, 'large-monitored')}.",
            None,
        ),
        Statement(
            "Nor does it tell how its monitor works. The settings of ours were chosen by hand, "
            "with these cases in view. Others:",
            f"With {len(others)} other settings ({'; '.join(row['monitor'] for row in others)}) "
            f"the ratio has r from {_span(others, 'ratio')}; the monitored learner has "
            f"{_span(others, 'large-monitored')} of the ideal after large perturbations, "
            f"{_span(others, 'small-monitored')} after the others. If it never starts afresh at "
            f"once (masked=false), r is {_span([unmasked], 'ratio')}, and it has "
            f"{_span([unmasked], 'large-monitored')} and {_span([unmasked], 'small-monitored')}.",
            None,
        ),
    ]  # fmt: skip


def _row_of(
    rows: Sequence[Mapping[str, float]], parameters: Mapping[str, float]
) -> Mapping[str, float]:
    return next(row for row in rows if all(row[name] == parameters[name] for name in parameters))


def _span(rows: Sequence[Mapping[str, Any]], name: str) -> str:
    """The least and the greatest value of a field, where it is known."""
    values = [row[name] for row in rows if row[name] is not None]
    ends = sorted({f"{pick(values):.2f}" for pick in (min, max)}, key=float) if values else ["none"]
    return " to ".join(ends)


def reproduce(
    out: Path, report: Report = silent, *, quick: bool = False, cases: Literal[22, 32] = 22
) -> Reproduced:
    """Run both learners in all cases, and compare performance with the degree of perturbation.

    Args:
        out: Where it is written.
        report: Told of the progress.
        quick: Few runs.
        cases: 22, or all 32 with mirror images.
    """
    runs, few = (QUICK_RUNS, QUICK_SEARCH_RUNS) if quick else (RUNS, SEARCH_RUNS)
    chosen = distinct_cases() if cases == 22 else all_cases()

    def part(start: float, share: float) -> Report:
        return lambda doing, done: report(doing, start + share * done)

    steps = Steps(out)
    result = Experiment.of(chosen, runs, report=part(0.0, 0.55), steps=steps)
    parameters = search(few, part(0.55, 0.1), steps)
    range_rows = sensitivity(few, chosen, part(0.65, 0.3), steps)
    report("runs without a perturbation", 0.95)
    alarms = steps(false_alarms, few)
    names = ("plain", "monitored", "ratio")
    estimates = [result.estimate(MEASURES[name]) for name in names]
    rows = [
        {
            "case": case.name,
            "D_o": case.policy_difference,
            "degree": case.degree,
            "ideal": case.ideal[1],
            "before": float(before[0]),
            **{key: number for name, each in zip(names, values, strict=True)
               for key, number in shared.fields(each, name).items()},
        }
        for case, before, *values in zip(result.cases, result.before, *estimates, strict=True)
    ]  # fmt: skip
    relations = {what: result.relation(what) for what in MEASURES}
    return Reproduced(
        name="perturbation-tolerance",
        title="Performance after a perturbation against its degree, with and without a monitor",
        findings="docs/findings.md#perturbation-tolerance",
        statements=statements(result, parameters, range_rows, alarms),
        figures={
            "cases": float(len(result.cases)),
            **{f"correlation.{what}": each[0].value for what, each in relations.items()},
            **{f"correlation.{what}.low": each[0].low for what, each in relations.items()},
            **{f"correlation.{what}.high": each[0].high for what, each in relations.items()},
            **{f"p-value.{what}": each[1] for what, each in relations.items()},
            "alarms.unperturbed": alarms[0],
        },
        rows=rows,
        files={
            "table": shared.write_records(out / "cases.csv", rows),
            "search": shared.write_records(out / "search.csv", parameters),
            "range": shared.write_records(out / "range.csv", range_rows),
            **_draw(result, out),
        },
        columns=["case", "D_o", "degree", "ideal", "before", *names],
    )
