"""How often intervals hold the true value, and how wide they are, over the whole catalogue.

Run ``python benchmarks/coverage.py``. Every shipped environment class that is balanced and every
shipped agent that can act in it with default parameters make pools of real results. Samples of
these, with the mean of the pool as the truth, make a *cell* for each kind of interval, class, agent
and number of values. The results go to ``evaluations/coverage``: one row per cell in ``cells.csv``,
the comparison of methods in ``methods.csv``, and ``tables.md``, which ``--write docs/intervals.md``
puts into the docs. It ends with 1 if bounded intervals are more than a tenth of the cells from 20
values on.
"""

from __future__ import annotations

if __name__ == "coverage":
    # Numba, in any script of this folder, looks for the package of this name and finds this file.
    raise ImportError("this is a script, and not the package coverage")

import argparse
import csv
import pickle
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from math import isnan, log, log1p, nan, sqrt
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy import special

import omnimeter as om
from omnimeter.catalogue import Kind, listing, make
from omnimeter.contract import InvalidInputError, Spec
from omnimeter.estimation import (
    Estimate,
    correlation,
    mean,
    mean_sequence,
    paired_difference,
    regression,
    stratified_mean,
)
from omnimeter.estimation.likelihood import Part, highest_mean
from omnimeter.interaction import run_single

Values = NDArray[np.float64]
SIZES = (5, 10, 20, 60, 200)
SET_SIZES = (5, 20)
REPETITIONS = (10, 20)
TESTS = (1, 2, 20)
RELATED = (5, 20, 60)
BATTERY = "thesis-table-6-1"
KINDS = (
    "score", "difference", "strata", "battery", "universal", "anytime", "correlation", "slope",
    "methods",
)  # fmt: skip
SUPPORT = (-1.0, 1.0)
"""Where the payoffs of all shipped classes lie."""

ROUNDING = 1e-12
"""Differences up to this are rounding errors."""

BAND = (0.93, 0.97)
"""Where the coverage of intervals of confidence 0.95 should lie."""


@dataclass(frozen=True)
class Amounts:
    """How much is drawn: results of each agent in each pool, and samples of each cell."""

    exercises: int = 10_000
    stratum: int = 3_000
    tests: int = 2_000
    sets: int = 2_000
    repetitions: int = 2_000
    resamples: int = 4_000


@dataclass(frozen=True)
class Cell:
    """What was measured of the intervals of one kind, class, agent and number of values.

    Attributes:
        kind: What the interval is of.
        environment_class: The class.
        agent: The agent, or two of which it is the difference.
        count: The number of values.
        coverage: The share of intervals that hold the true value.
        below: The share that lies below it.
        above: The share that lies above it.
        width: The median width.
        bounded: The share that rests on the support only, or is infinite without one.
        carriers: How many values of a sample carry the spread of the pool (see ``mean``), in the
            mean over samples; what carries it is not in most samples if these are fewer than one.
    """

    kind: str
    environment_class: str
    agent: str
    count: int
    coverage: float
    below: float
    above: float
    width: float
    bounded: float
    carriers: float

    @property
    def is_bounded(self) -> bool:
        """Whether most of its intervals rest on the support only."""
        return self.bounded > 0.5


@dataclass(frozen=True)
class Pools:
    """Results of all agents in a class, drawn with default parameters.

    Attributes:
        environment_class: The id of the class.
        payoffs: The payoffs of each agent, of the same exercises in the same order.
        complexities: The complexities of these exercises.
        strata: The payoffs of each agent at each of the three complexities that are drawn most
            often, if there are as many.
        sets: The values of each agent in sets of Definition 15, by their size, a row per set.
        repetitions: The values of repetitions of Definition 19, of each agent.
        tests: The payoffs of each agent in a battery, a row per exercise of the sequence.
    """

    environment_class: str
    payoffs: dict[str, Values]
    complexities: Values
    strata: dict[str, list[Values]]
    sets: dict[int, dict[str, Values]]
    repetitions: dict[str, Values]
    tests: dict[str, Values]


def fitting_agents(environment_class: str) -> tuple[list[str], dict[str, str]]:
    """The shipped agents that can act in a class by default, and why the others cannot."""
    fitting, others = [], {}
    for entry in listing(Kind.AGENT):
        try:
            result = om.evaluate(
                entry.id, environment_class, exercises=3, interactions=20, seed=0, privileged=True
            )
        except InvalidInputError as error:
            others[entry.id] = error.message
            continue
        (outcomes,) = result.outcomes.values()
        faults = [each.fault.message for each in outcomes if each.fault is not None]
        if faults:
            others[entry.id] = faults[0]
        else:
            fitting.append(entry.id)
    return fitting, others


def payoffs_of(result: om.Result) -> dict[str, Values]:
    """The payoffs of each agent, in the order of the exercises."""
    return {
        agent.id: np.array([outcome.payoff for outcome in outcomes], dtype=np.float64)
        for agent, outcomes in result.outcomes.items()
    }


def draw_pools(environment_class: str, agents: Sequence[str], amounts: Amounts) -> Pools:
    """Let agents take all the tests that are measured in a class."""
    chosen = list(agents)
    single = om.evaluate(
        chosen, environment_class, exercises=amounts.exercises, seed=1, privileged=True
    )
    (first, *_) = single.outcomes.values()
    complexities = np.array([outcome.exercise.complexity for outcome in first])
    values, counts = np.unique(complexities, return_counts=True)
    levels = sorted(values[np.argsort(-counts, kind="stable")[:3]].tolist())
    strata: dict[str, list[Values]] = {}
    if len(levels) == 3:
        count = 3 * amounts.stratum
        parts = om.evaluate(
            chosen, environment_class, exercises=count, complexity=levels, seed=2, privileged=True
        )
        strata = {
            agent: [values[part::3] for part in range(3)]
            for agent, values in payoffs_of(parts).items()
        }
    total = 1_000 * amounts.repetitions
    anytime = om.test(
        chosen,
        environment_class,
        interactions=total,
        repetitions=amounts.repetitions,
        seed=3,
        privileged=True,
    ).run()
    repetitions = {
        agent.id: np.array(list(values.values())) for agent, values in anytime.judged.values.items()
    }
    tests = {}
    if environment_class.startswith("lambda"):
        battery = om.evaluate(chosen, battery=BATTERY, tests=amounts.tests, seed=4, privileged=True)
        parts_of_it = len(battery.evaluation.make_protocol().plan.exercises)
        tests = {
            agent: values.reshape(-1, parts_of_it).T
            for agent, values in payoffs_of(battery).items()
        }
    sets = {}
    for size in SET_SIZES:
        try:
            sets[size] = draw_sets(environment_class, chosen, size, amounts.sets)
        except InvalidInputError as error:
            print(f"no sets: {error.message}", flush=True)
    payoffs = payoffs_of(single)
    for agent in chosen:
        if any(np.isnan(np.sum(each[agent])) for each in (payoffs, strata, tests) if each):
            print(f"left out in {environment_class}: {agent}: faults in some exercises", flush=True)
            for each in (payoffs, strata, tests, repetitions, *sets.values()):
                each.pop(agent, None)
    return Pools(environment_class, payoffs, complexities, strata, sets, repetitions, tests)


def draw_sets(
    environment_class: str, agents: Sequence[str], size: int, count: int
) -> dict[str, Values]:
    """The values of agents in real sets of Definition 15: no environment twice in a set."""
    protocols = [
        make(
            Kind.PROTOCOL,
            Spec(
                "universal-adjusted-v1",
                {"environment_class": environment_class, "exercises": size, "seed": seed},
            ),
        )
        for seed in range(count)
    ]
    made, payoff = make(Kind.ENVIRONMENT, Spec(environment_class)), protocols[0].payoff()
    values = {}
    for agent in agents:
        spec = Spec(agent)
        exercises = [each for one in protocols for each in one.propose(spec, [])]
        traces = run_single(made, make(Kind.AGENT, spec), exercises)
        values[agent] = np.array([payoff(trace) for trace in traces]).reshape(count, size)
    return values


class Setup(NamedTuple):
    """What is measured in a cell: the true value, and the estimate that a new sample gives."""

    kind: str
    environment_class: str
    agent: str
    count: int
    truth: float
    sampler: Callable[[np.random.Generator], Estimate]
    carriers: float = nan


def measure(setup: Setup, resamples: int) -> Cell:
    """How often the intervals of new samples hold the true value; every kind has the same ones."""
    *names, truth, sampler, carriers = setup
    rng = np.random.default_rng([crc32(repr(each).encode()) for each in names[1:]])
    estimates = (sampler(rng) for _ in range(resamples))
    ends = [(each.low, each.high, each.bounded) for each in estimates]
    low, high, bounded = np.array(ends, dtype=np.float64).T
    below, above = high < truth - ROUNDING, low > truth + ROUNDING
    shares = (float(np.mean(each)) for each in (~(below | above), below, above))
    unknown = bounded.astype(bool) | ~np.isfinite(high - low)
    width, share = float(np.median(high - low)), float(np.mean(unknown))
    return Cell(*names, *shares, width, share, carriers)


def carriers_of(values: Values, count: int) -> float:
    """How many values of a sample carry the spread of their pool, in the mean over samples."""
    squares = (values - np.mean(values)) ** 2
    fourth = float(np.sum(squares**2))
    return count / values.size * float(np.sum(squares)) ** 2 / fourth if fourth else 0.0


def sampled_mean(values: Values, count: int, rng: np.random.Generator) -> Estimate:
    return mean(rng.choice(values, count), support=SUPPORT)


def sampled_difference(
    first: Values, second: Values, count: int, rng: np.random.Generator
) -> Estimate:
    chosen = rng.integers(len(first), size=count)
    return paired_difference(first[chosen], second[chosen], support=SUPPORT)


def sampled_strata(
    strata: Sequence[Values], sizes: Sequence[int], rng: np.random.Generator
) -> Estimate:
    groups = [rng.choice(values, size) for values, size in zip(strata, sizes, strict=True)]
    return stratified_mean(groups, support=SUPPORT)


def sampled_set(sets: Values, rng: np.random.Generator) -> Estimate:
    return mean(rng.choice(sets), support=SUPPORT)


def sampled_points(
    x: Values, y: Values, count: int, rng: np.random.Generator
) -> tuple[Values, Values]:
    while True:  # a line needs two complexities
        chosen = rng.integers(len(x), size=count)
        if np.ptp(x[chosen]) > 0:
            return x[chosen], y[chosen]


def sampled_correlation(x: Values, y: Values, count: int, rng: np.random.Generator) -> Estimate:
    return correlation(*sampled_points(x, y, count, rng))


def sampled_slope(x: Values, y: Values, count: int, rng: np.random.Generator) -> Estimate:
    return regression(*sampled_points(x, y, count, rng)).slope


def distinct(pools: Mapping[str, Values]) -> dict[str, Values]:
    """The pools without those that are the same as one before."""
    seen: dict[bytes, str] = {}
    for agent, values in pools.items():
        seen.setdefault(values.tobytes(), agent)
    return {agent: pools[agent] for agent in seen.values()}


def setups(pools: Pools) -> Iterator[Setup]:
    """What is measured in a class: every kind of interval, agent and number of values."""
    yield from exercise_setups(pools)
    yield from protocol_setups(pools)
    yield from relation_setups(pools)


def exercise_setups(pools: Pools) -> Iterator[Setup]:
    """Scores, and differences to ``random`` and to the best of the others."""
    name, payoffs = pools.environment_class, distinct(pools.payoffs)
    for agent, values in payoffs.items():
        for count in SIZES:
            sampler = partial(sampled_mean, values, count)
            carriers = carriers_of(values, count)
            yield Setup("score", name, agent, count, float(np.mean(values)), sampler, carriers)
    ranked = sorted(payoffs, key=lambda agent: -float(np.mean(payoffs[agent])))
    for agent in ranked:
        best = [each for each in ranked if each != agent][:1]
        for other in dict.fromkeys(each for each in ("random-v1", *best) if each != agent):
            pair, label = (payoffs[agent], payoffs[other]), f"{agent} - {other}"
            truth = float(np.mean(pair[0] - pair[1]))
            for count in SIZES:
                sampler = partial(sampled_difference, *pair, count)
                carriers = carriers_of(pair[0] - pair[1], count)
                yield Setup("difference", name, label, count, truth, sampler, carriers)


def protocol_setups(pools: Pools) -> Iterator[Setup]:
    """Scores of exercises of three complexities in turn, of batteries and of universal tests."""
    name = pools.environment_class
    for agent in distinct(pools.payoffs) if pools.strata else ():
        strata = pools.strata[agent]
        truth = float(np.mean([np.mean(values) for values in strata]))
        for count in SIZES:
            sizes = [len(range(part, count, len(strata))) for part in range(len(strata))]
            sampler = partial(sampled_strata, strata, sizes)
            yield Setup("strata", name, agent, count, truth, sampler)
    for agent, parts in distinct(pools.tests).items():
        for count in TESTS:
            sampler = partial(sampled_strata, parts, [count] * len(parts))
            yield Setup("battery", BATTERY, agent, count, float(np.mean(parts)), sampler)
    for size, sets in pools.sets.items():
        for agent, values in distinct(sets).items():
            sampler, carriers = partial(sampled_set, values), carriers_of(values, size)
            yield Setup("universal", name, agent, size, float(np.mean(values)), sampler, carriers)
    for agent, values in distinct(pools.repetitions).items():
        for count in REPETITIONS:
            sampler = partial(sampled_mean, values, count)
            carriers = carriers_of(values, count)
            yield Setup("anytime", name, agent, count, float(np.mean(values)), sampler, carriers)


def relation_setups(pools: Pools) -> Iterator[Setup]:
    """The correlation of payoff and complexity, and the slope of the line between them."""
    name, x = pools.environment_class, pools.complexities
    for agent, y in distinct(pools.payoffs).items() if np.ptp(x) > 0 else ():
        if np.ptp(y) > ROUNDING:
            line = correlation(x, y).value, regression(x, y).slope.value
            for count in RELATED:
                sampler = partial(sampled_correlation, x, y, count)
                yield Setup("correlation", name, agent, count, line[0], sampler)
                sampler = partial(sampled_slope, x, y, count)
                yield Setup("slope", name, agent, count, line[1], sampler)


def student(values: Values, rng: np.random.Generator) -> Estimate:  # noqa: ARG001 - no randomness
    """Student's t."""
    value, half = float(np.mean(values)), _t(values) * _error(values)
    return Estimate(value, value - half, value + half, 0.95, len(values))


def hall(values: Values, rng: np.random.Generator) -> Estimate:
    """Hall's transformation of Student's t, which removes skewness (P. Hall, 1992)."""
    count, value, spread = len(values), float(np.mean(values)), float(np.std(values, ddof=1))
    if np.ptp(values) <= ROUNDING:
        return Estimate(value, value, value, 0.95, count)
    skewness = float(np.mean((values - value) ** 3)) / float(np.std(values)) ** 3
    if abs(skewness) < 1e-9:
        return student(values, rng)
    ends = []
    for quantile in (_t(values), -_t(values)):
        inner = 1 + skewness * (quantile / sqrt(count) - skewness / (6 * count))
        ends.append(value - spread * 3 / skewness * (float(np.cbrt(inner)) - 1))
    return Estimate(value, min(ends), max(ends), 0.95, count)


def bootstrap_t(values: Values, rng: np.random.Generator) -> Estimate:
    """The bootstrap of Student's t, with 499 resamples."""
    count, value, error = len(values), float(np.mean(values)), _error(values)
    drawn = values[rng.integers(count, size=(499, count))]
    errors = np.std(drawn, axis=1, ddof=1) / sqrt(count)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num((np.mean(drawn, axis=1) - value) / errors, posinf=1e9, neginf=-1e9)
    low, high = np.quantile(ratios, (0.025, 0.975))
    return Estimate(value, value - high * error, value - low * error, 0.95, count)


def likelihood(values: Values, rng: np.random.Generator) -> Estimate:  # noqa: ARG001
    """The empirical likelihood, calibrated by Student's t."""
    cost = len(values) / 2 * log1p(_t(values) ** 2 / (len(values) - 1))
    low, high = -highest_mean([Part(-values)], cost), highest_mean([Part(values)], cost)
    return Estimate(float(np.mean(values)), low, high, 0.95, len(values))


def bounded(values: Values, rng: np.random.Generator) -> Estimate:  # noqa: ARG001
    """The bounded interval, whatever carries the spread."""
    low = -highest_mean([Part(-values, end=-SUPPORT[0])], log(40))
    high = highest_mean([Part(values, end=SUPPORT[1])], log(40))
    return Estimate(float(np.mean(values)), low, high, 0.95, len(values), bounded=True)


def betting(values: Values, rng: np.random.Generator) -> Estimate:  # noqa: ARG001
    """The confidence sequence of ``mean_sequence``, which holds at every number of values."""
    return mean_sequence(values, support=SUPPORT)


def ours(values: Values, rng: np.random.Generator) -> Estimate:  # noqa: ARG001
    """The interval that is printed."""
    return mean(values, support=SUPPORT)


def _t(values: Values) -> float:
    return float(special.stdtrit(len(values) - 1, 0.975))


def _error(values: Values) -> float:
    return float(np.std(values, ddof=1)) / sqrt(len(values))


Method = Callable[[Values, np.random.Generator], Estimate]

METHODS: dict[str, Method] = {
    "Student's t": student,
    "Hall's transformation": hall,
    "bootstrap-t": bootstrap_t,
    "empirical likelihood": likelihood,
    "always bounded": bounded,
    "betting": betting,
    "ours": ours,
}
COMPARED = (5, 20, 60)


def sampled_by(method: Method, values: Values, count: int, rng: np.random.Generator) -> Estimate:
    own = np.random.default_rng(rng.integers(2**32))  # so that all methods get the same samples
    return method(rng.choice(values, count), own)


def method_setups(pools: Pools) -> Iterator[Setup]:
    """The mean payoff of each agent with the interval of every method."""
    for agent, values in distinct(pools.payoffs).items():
        for count in COMPARED:
            for name, method in METHODS.items():
                sampler = partial(sampled_by, method, values, count)
                truth = float(np.mean(values))
                yield Setup(name, pools.environment_class, agent, count, truth, sampler)


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def table(rows: Iterable[Sequence[object]]) -> str:
    """A table in Markdown; the first row is the head."""
    head, *body = [[str(each) for each in row] for row in rows]
    lines = [head, ["---"] * len(head), *body]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def summary(cells: Sequence[Cell]) -> str:
    """Of each kind and number of values: how many cells lie where."""
    rows: list[Sequence[object]] = [
        ("kind", "n", "cells", "93 to 97 %", "above, bounded", "above", "below", "lowest", "median")
    ]
    for kind in dict.fromkeys(cell.kind for cell in cells):
        for count in sorted({cell.count for cell in cells if cell.kind == kind}):
            group = [cell for cell in cells if (cell.kind, cell.count) == (kind, count)]
            above = [cell for cell in group if cell.coverage > BAND[1]]
            coverages = [cell.coverage for cell in group]
            tally = (
                sum(BAND[0] <= each <= BAND[1] for each in coverages),
                sum(cell.is_bounded for cell in above),
                sum(not cell.is_bounded for cell in above),
                sum(each < BAND[0] for each in coverages),
            )
            ends = percent(min(coverages)), percent(float(np.median(coverages)))
            rows.append((kind, count, len(group), *tally, *ends))
    return table(rows)


def exceptions(cells: Sequence[Cell]) -> str:
    """The cells below the band, the lowest first."""
    rows: list[Sequence[object]] = [
        ("kind", "class", "agent", "n", "coverage", "too low", "too high", "bounded", "carriers")
    ]
    for cell in sorted(cells, key=lambda each: each.coverage):
        if cell.coverage < BAND[0]:
            what = cell.kind, cell.environment_class, cell.agent, cell.count
            shares = cell.coverage, cell.below, cell.above, cell.bounded
            carriers = "" if isnan(cell.carriers) else f"{cell.carriers:.1f}"
            rows.append((*what, *map(percent, shares), carriers))
    return table(rows)


def comparison(cells: Sequence[Cell]) -> str:
    """Of each method: coverage and width over all classes and agents, by the number of values."""
    rows: list[Sequence[object]] = [
        ("method", "n", "median coverage", "lowest tenth", "cells below 93 %", "width")
    ]
    places = {(c.kind, c.environment_class, c.agent, c.count): c for c in cells}
    for method in METHODS:
        for count in COMPARED:
            group = [cell for cell in cells if (cell.kind, cell.count) == (method, count)]
            plain = [places["Student's t", c.environment_class, c.agent, c.count] for c in group]
            ratios = [
                one.width / other.width
                for one, other in zip(group, plain, strict=True)
                if other.width > 0
            ]
            coverages = [cell.coverage for cell in group]
            rows.append(
                (
                    method,
                    count,
                    percent(float(np.median(coverages))),
                    percent(float(np.quantile(coverages, 0.1))),
                    f"{sum(each < BAND[0] for each in coverages)} of {len(group)}",
                    f"{float(np.median(ratios)):.2f}",
                )
            )
    return table(rows)


def bounded_share(cells: Sequence[Cell]) -> float:
    """The share of cells from 20 values on most of whose intervals are bounded."""
    large = [cell for cell in cells if cell.count >= 20]
    return sum(cell.is_bounded for cell in large) / max(1, len(large))


def write_csv(path: Path, cells: Sequence[Cell]) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, [each.name for each in fields(Cell)])
        writer.writeheader()
        writer.writerows(asdict(cell) for cell in cells)


def write_tables(path: Path, tables: str) -> None:
    """Put the tables between the two marks of a page."""
    begin, end = "<!-- begin: benchmarks/coverage.py -->", "<!-- end: benchmarks/coverage.py -->"
    text = path.read_text("utf-8")
    before, after = text[: text.index(begin)], text[text.index(end) :]
    path.write_text(f"{before}{begin}\n\n{tables}\n{after}", "utf-8")


def tables_of(
    cells: Sequence[Cell], compared: Sequence[Cell], exercises: int, resamples: int
) -> str:
    """All tables, in Markdown."""
    parts = []
    if cells:
        inside = sum(BAND[0] <= cell.coverage <= BAND[1] for cell in cells)
        over = [cell for cell in cells if cell.coverage > BAND[1]]
        below = len(cells) - inside - len(over)
        parts.append(
            f"Measured with {resamples:,} samples of each cell, from {exercises:,} exercises of "
            f"each agent. Of {len(cells):,} cells, {inside:,} ({inside / len(cells):.0%}) cover 93 "
            f"to 97 %; {len(over):,} ({len(over) / len(cells):.0%}) cover more, "
            f"{sum(cell.is_bounded for cell in over):,} of "
            f"them bounded; {below:,} ({below / len(cells):.0%}) cover less. From 20 values on "
            f"{bounded_share(cells):.1%} of the cells are bounded.\n"
        )
        parts.append(f"### By kind and number of values\n\n{summary(cells)}")
    if compared:
        parts.append(f"### Methods\n\n{comparison(compared)}")
    if cells:
        parts.append(f"### Cells below 93 %\n\n{exceptions(cells)}")
    return "\n".join(parts)


def collect_pools(amounts: Amounts, workers: int, cache: Path | None) -> list[Pools]:
    """The pools of all balanced classes: those of the cache, if there is one, or new ones."""
    if cache is not None and cache.exists():
        pools: list[Pools] = pickle.loads(cache.read_bytes())
        return pools
    classes = [entry.id for entry in listing(Kind.ENVIRONMENT)]
    jobs = []
    for each in classes:
        if not make(Kind.ENVIRONMENT, Spec(each)).claims().balanced:
            print(f"left out: {each}, which is not balanced, as universal tests need it")
            continue
        agents, others = fitting_agents(each)
        jobs.append((each, agents))
        for agent, reason in others.items():
            print(f"left out in {each}: {agent}: {reason}", flush=True)
    with ProcessPoolExecutor(workers) as executor:
        futures = [executor.submit(draw_pools, *job, amounts) for job in jobs]
        pools = [future.result() for future in futures]
    if cache is not None:
        cache.write_bytes(pickle.dumps(pools))
    return pools


def parsed(arguments: Sequence[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--resamples", type=int, help="samples of each cell (4000; quick: 250)")
    parser.add_argument("--quick", action="store_true", help="fewer samples from smaller pools")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--out", type=Path, default=Path("evaluations/coverage"))
    parser.add_argument("--pools", type=Path, help="a file in which pools are kept for next time")
    parser.add_argument("--write", type=Path, help="a page to put the tables in")
    return parser.parse_args(arguments)


def measured(
    executor: ProcessPoolExecutor, planned: Sequence[Setup], resamples: int, what: str
) -> list[Cell]:
    """All cells, with a word on the way now and then."""
    begun, cells = time.monotonic(), []
    for cell in executor.map(measure, planned, [resamples] * len(planned), chunksize=4):
        cells.append(cell)
        if len(cells) % 100 == 0 or len(cells) == len(planned):
            passed = time.monotonic() - begun
            print(f"{len(cells)} of {len(planned)} {what}: {passed:.0f} s", flush=True)
    return cells


def main() -> int:
    given, begun = parsed(), time.monotonic()
    amounts = Amounts(2_000, 500, 300, 300, 300, 250) if given.quick else Amounts()
    if given.resamples is not None:
        amounts = replace(amounts, resamples=given.resamples)
    given.out.mkdir(parents=True, exist_ok=True)
    pools = collect_pools(amounts, given.workers, given.pools)
    print(f"pools: {time.monotonic() - begun:.0f} s", flush=True)
    planned = [each for one in pools for each in setups(one) if each.kind in given.kinds]
    compared = []
    with ProcessPoolExecutor(given.workers) as executor:
        cells = measured(executor, planned, amounts.resamples, "cells")
        if "methods" in given.kinds:
            planned = [each for one in pools for each in method_setups(one)]
            compared = measured(executor, planned, max(1, amounts.resamples // 4), "methods")
    write_csv(given.out / "cells.csv", cells)
    write_csv(given.out / "methods.csv", compared)
    tables = tables_of(cells, compared, len(pools[0].complexities), amounts.resamples)
    (given.out / "tables.md").write_text(tables, "utf-8")
    if given.write is not None:
        write_tables(given.write, tables)
    print(tables)
    print(f"{time.monotonic() - begun:.0f} s in all")
    return 0 if bounded_share(cells) <= 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
