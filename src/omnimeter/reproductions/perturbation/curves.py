"""Tolerance curves: how searchers perform as each measure of their world grows.

The paper on perturbation tolerance proposes to divide the change of a measure of the world by the
change of performance, and prints no curve. Here one measure at a time grows in a series of PWorlds,
and reference agents locate targets in the same worlds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import repeat
from math import inf
from pathlib import Path
from typing import Any

import numpy as np

from omnimeter.agents.searchers import BayesSearcher, RuleSearcher, Sweep
from omnimeter.agents.simple import RandomAgent
from omnimeter.contract import Agent, Budget, Exercise, Instance, stream
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.pworld import PWorld, located
from omnimeter.estimation import Estimate, mean
from omnimeter.execution.workers import cores
from omnimeter.interaction import run_single
from omnimeter.measures import measure
from omnimeter.measures.performance import (
    RATES,
    Search,
    Tolerance,
    rates,
    relative_reward,
    tolerances,
)
from omnimeter.reports.style import MUTED, SERIES
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.shared import (
    SIMULATED,
    Report,
    Reproduced,
    Statement,
    Steps,
    contains_zero,
    fmt,
    join,
    processes,
    silent,
)

REPETITIONS, QUICK = 100, 10

AGENTS: Mapping[str, Callable[[], Agent]] = {
    "random": RandomAgent,
    "sweep": Sweep,
    "rules": RuleSearcher,
    "Bayes": BayesSearcher,
    "learner": partial(BayesSearcher, profiles="learnt"),
}
"""The agents; the learner is the Bayesian searcher that is not told what matters."""

COLOURS = dict(zip(AGENTS, (MUTED, *SERIES), strict=False))

SIZE, BACKGROUND = 16, 8  # of the world from which each dial is turned
VARIABILITY = 0.3  # of that world, in the mean form
OBJECTS = 1.36  # the mean difference of two squares in what is about objects; one in 5.3 has one

EARLY = 0.25  # turns for each square, after which M is taken
TURNS = 1.0  # turns for each square, after which agents that do not stop are stopped
MOMENTS = 30  # turns over which volatility and inconsistency are measured


def _world(size: int = SIZE, background: int = BACKGROUND, **more: float) -> dict[str, Any]:
    """A world in which a sixteenth of all squares have targets, and twice as many look-alikes.

    Its variability, mean difference by mean distance 2 n / 3, does not depend on size and density.
    """
    parameters = {
        "task": "locate", "size": size, "targets": size**2 // 16, "lookalikes": size**2 // 8,
        "background": background, "variability": VARIABILITY * 2 * size / 3 - OBJECTS,
    }  # fmt: skip
    return {**parameters, **more}


@dataclass(frozen=True)
class Dial:
    """A series of worlds in which one measure grows.

    Attributes:
        measure: The measure.
        title: What it is called in the figure.
        worlds: The parameters of each world.
    """

    measure: str
    title: str
    worlds: Sequence[Mapping[str, Any]]


DIALS = (
    Dial("size", "size: squares", [_world(size=n) for n in (8, 12, 16, 24)]),
    Dial(
        "density",
        "density: propositions per square",
        [_world(background=each) for each in (4, 8, 16, 32)],
    ),
    Dial(
        "variability",
        "variability: mean difference / mean distance",
        [_world(variability=each) for each in (0.0, 1.75, 3.0, 4.0)],
    ),
    Dial(
        "volatility",
        "volatility: mean difference to time 1",
        [_world(volatility=each) for each in (0.0, 0.01, 0.03, 0.1)],
    ),
    Dial(
        "inconsistency",
        "inconsistency: share of beliefs",
        [_world(inconsistency=each) for each in (0.0, 0.25, 0.5, 1.0)],
    ),
)

ACCURACY = Dial(
    "accuracy",
    "value of accuracy R_V",
    [_world(accuracy=each) for each in (0.0, 0.25, 0.5, 0.75, 0.95)],
)
"""The domain variable, which changes nothing in the world but is told to agents."""

ISOLATED = tuple(dial.measure for dial in DIALS)
LEAK = 0.05
"""A dial moves another measure by less than this share of what that one's own dial moves it."""

METRICS = ("M", "M less FP", *RATES, "turns", "reward")

Key = tuple[str, int]
"""A dial and the place of a world in its series."""


@dataclass(frozen=True)
class Results:
    """What was measured in one world: a value for each repetition.

    Attributes:
        measures: Of the world, by name.
        metrics: Of performance, by agent and name; not a number where undefined.
    """

    measures: Mapping[str, FloatArray]
    metrics: Mapping[tuple[str, str], FloatArray]


# Runs.


def measured(world: PWorld, instance: Instance, number: int) -> dict[str, float]:
    """The measures of one instance, by name; the difference D_o is that to what is believed."""
    overlay = world.overlay(instance, stream(0, "overlay", number).generator(), MOMENTS)
    believed, names = overlay.codes.copy(), list(overlay.columns)
    for square, name, value in overlay.knowledge or ():
        code = 0 if value is False else 1 + list(overlay.columns[name]).index(value)
        believed[square, names.index(name)] = code
    values = measure(overlay, other=replace(overlay, codes=believed)).values()
    return {name: value for name, value in values.items() if value is not None}


def performed(done: Search, rewards: FloatArray, squares: int) -> dict[str, float]:
    """The metrics of one search, by name."""
    early = round(EARLY * squares)
    return {
        "M": done.performance_at(early),
        "M less FP": done.performance_at(early, subtract=True),
        **{rate: float(rates([done.counts()], rate)[0]) for rate in RATES},
        "turns": float(len(done)),
        # All targets and nothing else, for 1 each, in the same time.
        "reward": relative_reward(rewards, done.targets / len(done)),
    }


def explore(parameters: Mapping[str, Any], repetitions: int) -> Results:
    """Measure a world and let all agents locate its targets, each repetition in a new instance."""
    world = PWorld(**parameters)
    size = parameters["size"]
    budget = Budget(interactions=round(TURNS * size * size))
    measures: list[dict[str, float]] = []
    metrics: dict[tuple[str, str], list[float]] = {}
    for number in range(repetitions):
        instance = world.draw(stream(0, "instance", number).generator())
        measures.append(measured(world, instance, number))
        exercise = Exercise(SIMULATED, SIMULATED, instance, budget, seed=0, number=number)
        for name, make in AGENTS.items():
            (trace,) = run_single(world, make, [exercise], record=True)
            assert trace.fault is None, trace.fault
            done = located(instance, trace, world.perception)
            for metric, value in performed(done, trace.rewards, size * size).items():
                metrics.setdefault((name, metric), []).append(value)
    return Results(
        {name: np.array([each[name] for each in measures]) for name in measures[0]},
        {key: np.array(values) for key, values in metrics.items()},
    )


def run_dials(
    repetitions: int,
    workers: int,
    report: Report = silent,
    steps: Steps = Steps(),  # noqa: B008 - a frozen value
) -> dict[Key, Results]:
    """The results of all worlds of all dials, the same whatever the number of processes."""
    series = (*DIALS, ACCURACY)
    keys = [(dial.measure, place) for dial in series for place in range(len(dial.worlds))]
    worlds = [world for dial in series for world in dial.worlds]
    doing = f"{repetitions} repetitions of {len(AGENTS)} agents in each of {len(worlds)} worlds"
    results: dict[Key, Results] = {}
    report(doing, 0.0)
    with processes(workers) as apply:
        explored = apply(partial(steps, explore), worlds, repeat(repetitions))
        for key, result in zip(keys, explored, strict=True):
            results[key] = result
            report(doing, len(results) / len(keys))
    return results


# Tables.


@dataclass(frozen=True)
class Curves:
    """The results of all worlds, read along the dials."""

    results: Mapping[Key, Results]

    def measures(self, dial: Dial, name: str) -> FloatArray:
        """A measure by repetition (rows) and world (columns)."""
        places = range(len(dial.worlds))
        return np.array([self.results[dial.measure, each].measures[name] for each in places]).T

    def metrics(self, dial: Dial, agent: str, name: str) -> FloatArray:
        """A metric of an agent by repetition (rows) and world (columns)."""
        places = range(len(dial.worlds))
        return np.array(
            [self.results[dial.measure, each].metrics[agent, name] for each in places]
        ).T

    def band(self, dial: Dial, agent: str, name: str) -> FloatArray:
        """The means of a metric in all worlds, and the ends of their intervals."""
        columns = self.metrics(dial, agent, name).T
        defined = [column[np.isfinite(column)] for column in columns]
        support = (0.0, 1.0) if name in RATES else None
        unknown = Estimate(np.nan, np.nan, np.nan, 0.95, 0)
        return shared.bands(
            mean(each, support=support) if len(each) else unknown for each in defined
        )

    def change(self, dial: Dial, agent: str, name: str = "M") -> Estimate:
        """By how much a metric differs between the last and the first world, paired.

        Exactly 0 where nothing that the agent does depends on the dial.
        """
        values = self.metrics(dial, agent, name)
        gains = values[:, -1] - values[:, 0]
        gains = gains[np.isfinite(gains)]
        return mean(gains) if np.any(gains) else Estimate(0.0, 0.0, 0.0, 0.95, len(gains))

    def leak(self, dial: Dial, other: Dial) -> float:
        """How far a dial moves the measure of another, as a share of what that one moves it."""
        moved, own = (
            np.ptp(self.measures(each, other.measure).mean(axis=0)) for each in (dial, other)
        )
        return float(moved / own)

    def curve_rows(self) -> list[dict[str, Any]]:
        """Each metric of each agent in each world, with the mean measures of the world."""
        rows = []
        for dial in (*DIALS, ACCURACY):
            for agent in AGENTS:
                for metric in METRICS:
                    for place, (value, low, high) in enumerate(self.band(dial, agent, metric).T):
                        each = self.results[dial.measure, place].measures
                        means = {name: float(values.mean()) for name, values in each.items()}
                        row = {"dial": dial.measure, "world": place + 1, **means}
                        row |= {"agent": agent, "metric": metric}
                        rows.append({**row, "value": value, "low": low, "high": high})
        return rows

    def tolerance_rows(self) -> list[dict[str, Any]]:
        """The tolerances of all agents, step by step and on average, of M and each rate.

        X is the measure that the dial moves, then the complexity C; where beliefs become wrong also
        the overlay difference D_o to what is believed, which gives the domain flexibility.
        """
        rows = []
        for dial in DIALS:
            further = ["difference"] if dial.measure == "inconsistency" else []
            for what in (dial.measure, "complexity", *further):
                X = self.measures(dial, what)
                for agent in AGENTS:
                    for metric in ("M", *RATES):
                        along = tolerances(X, self.metrics(dial, agent, metric))
                        of = {"dial": dial.measure, "X": what, "agent": agent, "metric": metric}
                        rows += [{**of, **_record(X, each)} for each in along]
        return rows

    def summary(self) -> list[dict[str, Any]]:
        """M in the first and the last world of each dial, and the average tolerance."""
        rows = []
        for dial in DIALS:
            X = self.measures(dial, dial.measure)
            for agent in AGENTS:
                values = self.metrics(dial, agent, "M")
                average = tolerances(X, values)[-1]
                known = average.value.high < inf
                rows.append(
                    {
                        "dial": dial.measure,
                        "agent": agent,
                        "from": float(X[:, 0].mean()),
                        "to": float(X[:, -1].mean()),
                        "M first": float(values[:, 0].mean()),
                        "M last": float(values[:, -1].mean()),
                        "change of M": fmt(self.change(dial, agent)),
                        "tolerance": fmt(average.value, 1) if known else "undefined",
                    }
                )
        return rows


def _record(X: FloatArray, each: Tolerance) -> dict[str, Any]:
    return {
        "from": float(X[:, each.first].mean()),
        "to": float(X[:, each.last].mean()),
        **shared.fields(each.value, "tolerance"),
        **shared.fields(each.response, "response"),
        "repetitions": each.value.count,
        "undefined because": each.reason,
    }


# Statements.


def statements(curves: Curves) -> list[Statement]:
    """What the curves show, with numbers."""
    size, density, variability, volatility, inconsistency = DIALS

    def listed(dial: Dial, metric: str, agents: Sequence[str], digits: int = 3) -> str:
        """How a metric of some agents changes from the first to the last world."""
        parts = []
        for agent in agents:
            first, *_, last = curves.band(dial, agent, metric)[0]
            change = fmt(curves.change(dial, agent, metric), digits)
            parts.append(f"{agent} {first:.{digits}f} to {last:.{digits}f} (change {change})")
        return "; ".join(parts)

    def falls(dial: Dial, agent: str, metric: str = "M") -> bool:
        return curves.change(dial, agent, metric).high < 0

    def undecided(dial: Dial, agent: str) -> str:
        """The reason if there are too few repetitions to tell whether M of an agent falls."""
        change = curves.change(dial, agent)
        unknown = contains_zero(change)
        return f"{change.count} repetitions leave it undecided" if unknown else ""

    pairs = [(one, other) for one in DIALS for other in DIALS if one is not other]
    leaks = {(one.measure, other.measure): curves.leak(one, other) for one, other in pairs}
    worst = max(leaks, key=lambda each: leaks[each])
    told, searchers = ("sweep", "rules", "Bayes"), ("sweep", "rules", "Bayes", "learner")
    base, net = ({a: curves.band(inconsistency, a, m)[0, 0] for a in told} for m in METRICS[:2])
    X, D = (curves.measures(inconsistency, each) for each in ("inconsistency", "difference"))
    M = curves.metrics(inconsistency, "Bayes", "M")
    tolerance, flexibility = (tolerances(each, M)[-1].value for each in (X, D))
    complexities = curves.measures(volatility, "complexity").mean(axis=0)
    varied = curves.measures(variability, "variability").mean(axis=0)
    changed = curves.measures(volatility, "volatility").mean(axis=0)
    changes = [curves.change(each, a) for each in (variability, volatility) for a in searchers]
    unmoved = [each for each in changes if contains_zero(each)]
    exactly = sum(each.low == each.high == 0 for each in unmoved)
    smaller = [falls(size, agent) for agent in searchers]
    others = " and ".join(a for a, less in zip(searchers, smaller, strict=True) if not less)
    accurate = [("rules", "ppv"), ("Bayes", "ppv")]
    return [
        Statement(
            "Kinds of complexity can be isolated: each dial moves its own measure, and no other.",
            f"The largest side effect: {worst[0]} moves {worst[1]} by {leaks[worst]:.1%} of what "
            f"that one's own dial moves it. Rule: none by {LEAK:.0%} or more.",
            leaks[worst] < LEAK,
        ),
        Statement(
            "A large world is harder to search than a small one, other things equal.",
            f"M from {join(curves.measures(size, 'size')[0, [0, -1]], '.0f', ' to ')} squares with "
            f"as many targets for each: {listed(size, 'M', searchers)}. Rule: all four fall.",
            all(smaller),
            ""
            if all(smaller)
            else f"for {others} the interval is not below 0. M is a rate: if a searcher covers as "
            "much area in a turn and identifies the same share of the targets there, t grows as T "
            "does and P as A, so that by equation (5) M is the same in any size",
        ),
        Statement(
            "A more intricate world is harder: there is more to think about, or to ignore.",
            f"M: {listed(density, 'M', searchers)}. Only the learner, which is not told which "
            "propositions matter, has something to ignore. Rule: its M falls.",
            falls(density, "learner"),
            undecided(density, "learner"),
        ),
        Statement(
            "Which kinds of variation affect which task is an empirical question.",
            f"Variability of the ground from {join(varied[[0, -1]], '.2f', ' to ')} and volatility "
            f"up to {changed[-1]:.2f} affect no searcher visibly: the interval of the change of M "
            f"contains 0 in {len(unmoved)} of {2 * len(searchers)} cases, and in {exactly} M is "
            f"exactly the same, so that the tolerance is undefined. Variability: "
            f"{listed(variability, 'M', ['learner'])}. Volatility: "
            f"{listed(volatility, 'M', ['learner'])}.",
            None,
        ),
        Statement(
            "A world that differs from what is believed is harder.",
            f"M: {listed(inconsistency, 'M', ['Bayes'])}; a tolerance of {fmt(tolerance, 1)} "
            "shares of wrong beliefs, and a domain flexibility of "
            f"{fmt(flexibility, 0)} propositions for one M. What is perceived replaces what was "
            "believed, so wrong beliefs cost time only: the final sensitivity "
            f"{listed(inconsistency, 'sensitivity', ['Bayes'])}. Other agents have no beliefs.",
            falls(inconsistency, "Bayes"),
            undecided(inconsistency, "Bayes"),
        ),
        Statement(
            "M penalises fast and sloppy search: time is divided by the completion P.",
            f"Not what is wrongly identified: M is {base['sweep']:.3f} for the sweep, which calls "
            f"every object a target, and {base['rules']:.3f} for rules. With T = TP - FP it is "
            f"{net['sweep']:.3f} and {net['rules']:.3f}. Rule: with TP - FP the sweep is below all "
            "that classify.",
            min(net, key=lambda agent: net[agent]) == "sweep",
        ),
        Statement(
            "The value of accuracy R_V tells an agent when to be careful.",
            f"From R_V 0 to {ACCURACY.worlds[-1]['accuracy']}, PPV: "
            f"{listed(ACCURACY, 'ppv', ['rules', 'Bayes'], 2)}. Sensitivity: "
            f"{listed(ACCURACY, 'sensitivity', ['rules', 'Bayes'], 2)}. Rule: PPV rises and "
            "sensitivity falls for both.",
            all(curves.change(ACCURACY, *each).low > 0 for each in accurate)
            and all(falls(ACCURACY, agent, "sensitivity") for agent, _ in accurate),
        ),
        Statement(
            "Complexity (4) grows with each measure that contributes to it.",
            f"Along the dial of volatility C is {join(complexities, '.0f')}.",
            bool(np.all(np.diff(complexities) > 0)),
            "measures that are 0 are left out of the product, and those below 1 lower it: a world "
            "that hardly changes counts as simpler than one that never does. The sum of the "
            "measures, which the paper leaves open, does not have this fault",
        ),
    ]


# The figure.


def draw(curves: Curves, repetitions: int, out: Path) -> dict[str, Path]:
    """Draw M against each measure, and rates against the value of accuracy."""
    rates_drawn = (("ppv", "PPV", "-"), ("sensitivity", "sensitivity", "--"))
    highest = 1.15 * max(
        curves.band(dial, agent, "M")[0].max() for dial in DIALS for agent in AGENTS
    )
    with plots.styled_figure(11.5, 6.8) as figure:
        for number, dial in enumerate((*DIALS, ACCURACY)):
            row, column = divmod(number, 3)
            axes = figure.add_axes((0.055 + 0.325 * column, 0.55 - 0.465 * row, 0.225, 0.31))
            ends = []
            if dial is ACCURACY:
                x = np.array([world["accuracy"] for world in dial.worlds])
                for agent in ("rules", "Bayes"):
                    for metric, label, line in rates_drawn:
                        band = curves.band(dial, agent, metric)
                        plots.plot_band(axes, x, band, COLOURS[agent], ls=line)
                        ends.append((float(band[0, -1]), f"{agent},\n{label}", COLOURS[agent]))
                axes.set(ylim=(0, 1.02), ylabel="rate")
            else:
                x = curves.measures(dial, dial.measure).mean(axis=0)
                for agent, colour in COLOURS.items():
                    band = curves.band(dial, agent, "M")
                    # The same value in all repetitions has no interval, and gets no band.
                    band = np.where(np.isfinite(band), np.clip(band, 0, highest), np.nan)
                    plots.plot_band(axes, x, band, colour, marker="o", ms=3)
                    ends.append((float(band[0, -1]), agent, colour))
                axes.set(ylim=(0, highest), ylabel="M")
            axes.set(xlabel=dial.title)
            axes.grid(axis="y")
            plots.panel_title(axes, f"{'abcdef'[number]}  {dial.measure}")
            plots.label_ends(axes, ends, 0.075 if dial is not ACCURACY else 0.15)
        plots.add_header(
            figure,
            "Tolerance curves of five searchers",
            f"Target location where one measure of the world grows: M = TP/(tA) after "
            f"{EARLY:g} turns for each square; (f) rates at the end. Means of {repetitions} "
            "repetitions, 95 % intervals.",
        )
        return plots.write_figure(figure, out / "tolerance-curves")


def reproduce(
    out: Path, report: Report = silent, *, quick: bool = False, workers: int | None = None
) -> Reproduced:
    """Draw M of five agents against each measure of their world, with tolerances.

    Args:
        out: Where to write.
        report: Called with the progress.
        quick: Only ten repetitions.
        workers: Processes that work at once; two by default, or one if there is one core.
    """
    repetitions = QUICK if quick else REPETITIONS
    curves = Curves(run_dials(repetitions, workers or min(2, cores()), report, Steps(out)))
    rows = curves.summary()
    figures = {
        f"{dial.measure}.{agent}.{name}": value
        for dial in DIALS
        for agent in AGENTS
        for name, value in shared.fields(curves.change(dial, agent), "change-of-M").items()
    }
    return Reproduced(
        name="tolerance-curves",
        title="Performance of searchers as each measure of their world grows",
        findings="docs/findings.md#perturbation-tolerance",
        statements=statements(curves),
        figures={**figures, "repetitions": float(repetitions)},
        rows=rows,
        files={
            "table": shared.write_records(out / "summary.csv", rows),
            "curves": shared.write_records(out / "curves.csv", curves.curve_rows()),
            "tolerances": shared.write_records(out / "tolerances.csv", curves.tolerance_rows()),
            **draw(curves, repetitions, out),
        },
    )
