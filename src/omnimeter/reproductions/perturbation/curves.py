"""Tolerance curves: how searchers perform as each measure of their world grows.

The paper on perturbation tolerance proposes to divide the change of a measure of the world by the
change of performance (complexity, variability and volatility tolerance), and prints no curve. Here
a dial of the PWorld moves one measure at a time, from an easy world on, and reference agents locate
targets in the same worlds.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from math import inf
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from omnimeter.agents.searchers import BayesSearcher, RuleSearcher, Sweep
from omnimeter.agents.simple import RandomAgent
from omnimeter.contract import Agent, Budget, Exercise, Instance, stream
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.pworld import PWorld, objects
from omnimeter.environments.pworld.tasks import HIKER
from omnimeter.estimation import Estimate, mean
from omnimeter.interaction import run_single
from omnimeter.measures import Belief, measure
from omnimeter.measures.performance import (
    RATES,
    Tolerance,
    rates,
    relative_reward,
    search,
    tolerances,
)
from omnimeter.reports.style import MUTED, SERIES
from omnimeter.reproductions import plots, shared
from omnimeter.reproductions.shared import SIMULATED, Report, Reproduced, Statement, fmt, silent

REPETITIONS, QUICK_REPETITIONS = 100, 12

AGENTS: Mapping[str, Callable[[], Agent]] = {
    "random": RandomAgent,
    "sweep": Sweep,
    "rules": RuleSearcher,
    "Bayes": BayesSearcher,
    "learner": partial(BayesSearcher, profiles="learnt"),
}
"""The agents; the learner is the Bayesian searcher that is not told what matters."""

COLOURS = dict(zip(AGENTS, (MUTED, *SERIES), strict=False))

BASE: Mapping[str, Any] = {
    "task": "locate", "size": 12, "targets": 9, "lookalikes": 18, "background": 8,
    "variability": 0.5, "volatility": 0.0, "inconsistency": 0.0, "accuracy": 0.5,
}  # fmt: skip
"""The world from which each dial is turned; one square in 16 has a target, two a look-alike."""

TURNS = 2  # for each square, after which agents that do not stop are stopped

MOMENTS = 30  # turns over which volatility and inconsistency are measured


@dataclass(frozen=True)
class Dial:
    """A series of worlds in which one measure grows.

    Attributes:
        measure: The measure.
        title: What it is called in the figure, in its mean form.
        worlds: What differs from the base in each world.
    """

    measure: str
    title: str
    worlds: Sequence[Mapping[str, Any]]


def _worlds(parameter: str, *values: float) -> list[dict[str, Any]]:
    return [{parameter: value} for value in values]


DIALS = (
    Dial(
        "size",
        "size n: squares",
        [{"size": n, "targets": n * n // 16, "lookalikes": n * n // 8} for n in (8, 12, 16, 20)],
    ),
    Dial("density", "density: propositions per square", _worlds("background", 2, 8, 16, 32)),
    Dial("variability", "variability: ratio of means", _worlds("variability", 0, 0.25, 0.5, 1)),
    Dial("volatility", "volatility: mean difference to time 1", _worlds("volatility", 0, 0.01, 0.05, 0.3)),
    Dial("inconsistency", "inconsistency: share of beliefs", _worlds("inconsistency", 0, 0.25, 0.5, 1)),
)

ACCURACY = Dial("accuracy", "value of accuracy R_V", _worlds("accuracy", 0, 0.25, 0.5, 0.75, 0.95))
"""The domain variable, which changes nothing in the world but is told to agents."""

ISOLATED = ("size", "density", "difference", "volatility", "inconsistency")
"""What dials shall move one at a time. Instead of variability, which is the mean propositional
difference divided by the mean distance: that distance grows with the size, whatever holds."""

METRICS = ("M", "M with FP", *RATES, "area", "turns", "reward")

OWN = {dial.measure: dial.measure for dial in DIALS} | {"variability": "difference"}


@dataclass(frozen=True)
class Results:
    """What was measured in one world: a value for each repetition.

    Attributes:
        measures: Of the world, by name.
        metrics: Of each agent's performance, by agent and name; not a number where undefined.
    """

    measures: Mapping[str, FloatArray]
    metrics: Mapping[tuple[str, str], FloatArray]


Key = tuple[str, int]
"""A dial and the place of a world in its series."""


def measured(world: PWorld, instance: Instance, number: int) -> dict[str, float]:
    """The measures of one instance, by name."""
    told = world.build(instance).briefing().remarks
    beliefs = [
        Belief(row * told["size"] + column, name, value)
        for row, column, name, value in told["knowledge"]
    ]
    overlay = world.overlay(instance, stream(0, "overlay", number).generator(), MOMENTS)
    result = measure(overlay, beliefs)
    assert result.variability is not None  # a grid is connected
    values = {name: value for name, value in result.values().items() if value is not None}
    return values | {"difference": result.variability.difference}


def explore(parameters: Mapping[str, Any], repetitions: int) -> Results:
    """Measure a world and let all agents locate its targets, each repetition in a new instance."""
    world = PWorld(**{**BASE, **parameters})
    size = world.setting.size
    measures: list[dict[str, float]] = []
    metrics: dict[tuple[str, str], list[float]] = {}
    for number in range(repetitions):
        instance = world.draw(stream(0, "instance", number).generator())
        measures.append(measured(world, instance, number))
        kinds = {square: kind == HIKER for square, kind in objects(instance).items()}
        budget = Budget(interactions=TURNS * size * size)
        exercise = Exercise(SIMULATED, SIMULATED, instance, budget, seed=0, number=number)
        for name, make in AGENTS.items():
            (trace,) = run_single(world, make, [exercise], record=True)
            assert trace.actions is not None
            assert trace.observations is not None
            if trace.fault is not None:
                raise RuntimeError(f"{name} failed: {trace.fault.message}")
            said = np.select([trace.actions == 4, trace.actions == 5], [1, 0], -1)
            places = trace.observations[:, :2]
            done = search(kinds, (size, size), places, said, world.perception)
            ideal = done.targets / len(done)  # all targets, and nothing else, for 1 each
            values = {
                "M": done.performance()[-1],
                "M with FP": done.performance(subtract=True)[-1],
                **{rate: rates([done.counts()], rate)[0] for rate in RATES},
                "area": done.area[-1],
                "turns": len(done),
                "reward": relative_reward(trace.rewards, ideal),
            }
            for metric, value in values.items():
                metrics.setdefault((name, metric), []).append(float(value))
    return Results(
        {name: np.array([each[name] for each in measures]) for name in measures[0]},
        {key: np.array(values) for key, values in metrics.items()},
    )


def run_dials(repetitions: int, workers: int, report: Report = silent) -> dict[Key, Results]:
    """The results of all worlds of all dials, the same whatever the number of processes."""
    keys = [(dial.measure, place) for dial in (*DIALS, ACCURACY) for place in range(len(dial.worlds))]
    worlds = [world for dial in (*DIALS, ACCURACY) for world in dial.worlds]
    results: dict[Key, Results] = {}
    with ExitStack() as stack:
        apply: Callable[..., Iterator[Results]] = map
        if workers > 1:
            pool = ProcessPoolExecutor(workers, mp_context=get_context("spawn"))
            apply = stack.enter_context(pool).map
        for key, result in zip(keys, apply(partial(explore, repetitions=repetitions), worlds), strict=True):
            results[key] = result
            report(f"{repetitions} repetitions in each of {len(keys)} worlds", len(results) / len(keys))
    return results


# Tables.


def _series(results: Mapping[Key, Results], dial: Dial, what: str | tuple[str, str]) -> FloatArray:
    """A measure, or a metric of an agent: by repetition (rows) and world (columns)."""
    worlds = [results[dial.measure, place] for place in range(len(dial.worlds))]
    if isinstance(what, str):
        return np.array([each.measures[what] for each in worlds]).T
    return np.array([each.metrics[what] for each in worlds]).T


def _mean(values: FloatArray) -> Estimate | None:
    """The mean of what is defined."""
    defined = values[np.isfinite(values)]
    return mean(defined) if len(defined) else None


def curve_rows(results: Mapping[Key, Results]) -> list[dict[str, Any]]:
    """Each metric of each agent in each world, with the measures of the world."""
    rows = []
    for dial in (*DIALS, ACCURACY):
        for place, world in enumerate(dial.worlds):
            result = results[dial.measure, place]
            means = {name: float(values.mean()) for name, values in result.measures.items()}
            for (agent, metric), values in result.metrics.items():
                estimate = _mean(values)
                rows.append({
                    "dial": dial.measure, "world": place, "setting": list(world.values())[0],
                    **means, "agent": agent, "metric": metric,
                    "repetitions": int(np.isfinite(values).sum()),
                    **(dict.fromkeys(("value", "low", "high")) if estimate is None else shared.fields(estimate)),
                })  # fmt: skip
    return rows


def tolerance_rows(results: Mapping[Key, Results]) -> list[dict[str, Any]]:
    """The tolerances of all agents, for M and each rate, step by step and on average.

    X is the measure that the dial moves; beside it the complexity C of the same worlds.
    """
    rows = []
    for dial in DIALS:
        for measure_name in (dial.measure, "complexity"):
            X = _series(results, dial, measure_name)
            for agent in AGENTS:
                for metric in ("M", *RATES):
                    found = tolerances(X, _series(results, dial, (agent, metric)))
                    rows += [
                        {"dial": dial.measure, "X": measure_name, "agent": agent, "metric": metric, **_record(each, X)}
                        for each in found
                    ]
    return rows


def _record(each: Tolerance, X: FloatArray) -> dict[str, Any]:
    before, after = (float(X[:, place].mean()) for place in (each.first, each.last))
    return {
        "from": before,
        "to": after,
        **shared.fields(each.value, "tolerance"),
        **shared.fields(each.response, "response"),
        "repetitions": each.value.count,
        "undefined because": each.reason,
    }


# The figure.


def draw(results: Mapping[Key, Results], repetitions: int, out: Path) -> dict[str, Path]:
    """Draw M against each measure, and the rates of two agents against the value of accuracy."""
    highest = max(
        float(np.nanmean(values))
        for (dial, _), result in results.items()
        for (_, metric), values in result.metrics.items()
        if metric == "M" and dial != ACCURACY.measure
    )
    with plots.styled_figure(11.5, 6.6) as figure:
        for number, dial in enumerate((*DIALS, ACCURACY)):
            row, column = divmod(number, 3)
            axes = figure.add_axes((0.055 + 0.325 * column, 0.535 - 0.455 * row, 0.235, 0.31))
            ends = []
            if dial is ACCURACY:
                x = np.array([world["accuracy"] for world in dial.worlds])
                for agent in ("rules", "Bayes"):
                    for metric, label, line in (("ppv", "PPV", "-"), ("sensitivity", "sensitivity", "--")):
                        band = _band(_series(results, dial, (agent, metric)))
                        plots.plot_band(axes, x, band, COLOURS[agent], ls=line)
                        ends.append((band[0, -1], f"{agent},\n{label}", COLOURS[agent]))
                axes.set(ylim=(0, 1.02), ylabel="rate")
            else:
                x = _series(results, dial, dial.measure).mean(axis=0)
                for agent, colour in COLOURS.items():
                    band = _band(_series(results, dial, (agent, "M")))
                    plots.plot_band(axes, x, band, colour, marker="o", ms=3)
                    ends.append((band[0, -1], agent, colour))
                axes.set(ylim=(0, 1.12 * highest), ylabel="M: targets per turn (5)")
            axes.set(xlabel=dial.title)
            axes.grid(axis="y")
            plots.panel_title(axes, dial.measure if dial is not ACCURACY else "value of accuracy")
            plots.label_ends(axes, ends, 0.075 if dial is not ACCURACY else 0.14)
        plots.add_header(
            figure,
            "Tolerance curves of five searchers",
            f"Target location in worlds in which one measure grows; mean of {repetitions} "
            "repetitions with 95 % intervals.",
        )
        return plots.write_figure(figure, out / "tolerance-curves")


def _band(series: FloatArray) -> FloatArray:
    """The means of the columns and the ends of their intervals."""
    return np.array([
        (each.value, each.low, each.high) if (each := _mean(column)) else (np.nan,) * 3
        for column in series.T
    ]).T
