"""How often intervals hold the true value, and how wide they are, over the whole catalogue.

Run ``python benchmarks/coverage.py``. Every shipped environment class and every shipped agent that
can act in it with default parameters make pools of real results. Samples of these, with the mean of
the pool as the truth, make a *cell* for each kind of interval, class, agent and number of values.
The results go to ``evaluations/coverage``: one row per cell in ``cells.csv``, the comparison of
methods in ``methods.csv``, and ``tables.md``, which ``--write docs/intervals.md`` puts into the
docs. It ends with 1 if bounded intervals are more than a tenth of the cells from 20 values on.
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
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, fields
from math import log, log1p, sqrt
from pathlib import Path
from typing import Any
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
Sampler = Callable[[np.random.Generator], Estimate]
"""The estimate that a new sample gives."""

SIZES = (5, 10, 20, 60, 200)
SET_SIZES = (5, 20)
REPETITIONS = (10, 20)
TESTS = (1, 2, 20)
RELATED = (5, 20, 60)
BATTERY = "thesis-table-6-1"
SUPPORT = (-1.0, 1.0)
"""Where the payoffs of all shipped classes lie."""

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
        bounded: The share that rests on the support only.
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
        strata: The payoffs of each agent at each of three complexities, if there are as many.
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
            result = om.evaluate(entry.id, environment_class, exercises=3, interactions=20)
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
    single = om.evaluate(chosen, environment_class, exercises=amounts.exercises, seed=1)
    (first, *_) = single.outcomes.values()
    complexities = np.array([outcome.exercise.complexity for outcome in first])
    levels = np.unique(np.quantile(complexities, (0.25, 0.5, 0.75), method="nearest")).tolist()
    strata: dict[str, list[Values]] = {}
    if len(levels) == 3:
        count = 3 * amounts.stratum
        parts = om.evaluate(chosen, environment_class, exercises=count, complexity=levels, seed=2)
        strata = {
            agent: [values[part::3] for part in range(3)]
            for agent, values in payoffs_of(parts).items()
        }
    total = 1_000 * amounts.repetitions
    anytime = om.test(
        chosen, environment_class, interactions=total, repetitions=amounts.repetitions, seed=3
    ).run()
    repetitions = {
        agent.id: np.array(list(values.values())) for agent, values in anytime.judged.values.items()
    }
    tests = {}
    if environment_class.startswith("lambda"):
        battery = om.evaluate(chosen, battery=BATTERY, tests=amounts.tests, seed=4)
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


def measure(
    kind: str,
    pools: str,
    agent: str,
    count: int,
    truth: float,
    estimates: Iterable[Estimate],
) -> Cell:
    """What some intervals say of a true value."""
    found = [(each.low, each.high, each.bounded) for each in estimates]
    low, high, bounded = np.array(found, dtype=np.float64).T
    below, above = high < truth - 1e-12, low > truth + 1e-12
    with np.errstate(invalid="ignore"):
        width = float(np.median(high - low))
    shares = float(np.mean(~below & ~above)), float(np.mean(below)), float(np.mean(above))
    return Cell(kind, pools, agent, count, *shares, width, float(np.mean(bounded)))


def samples(sampler: Sampler, resamples: int, *names: object) -> Iterator[Estimate]:
    """The estimates of new samples, whose randomness depends on the names."""
    rng = np.random.default_rng([crc32(repr(each).encode()) for each in names])
    return (sampler(rng) for _ in range(resamples))


def distinct(pools: dict[str, Values]) -> dict[str, Values]:
    """The pools without those that are the same as one before."""
    seen: dict[bytes, str] = {}
    for agent, values in pools.items():
        seen.setdefault(values.tobytes(), agent)
    return {agent: pools[agent] for agent in seen.values()}


def score_cells(pools: Pools, resamples: int) -> Iterator[Cell]:
    """The mean payoff of each agent."""
    for agent, values in distinct(pools.payoffs).items():
        for count in SIZES:

            def sampler(rng: np.random.Generator, n: int = count, v: Values = values) -> Estimate:
                return mean(rng.choice(v, n), support=SUPPORT)

            names = "score", pools.environment_class, agent, count
            yield measure(*names, float(np.mean(values)), samples(sampler, resamples, *names))


def difference_cells(pools: Pools, resamples: int) -> Iterator[Cell]:
    """Each agent minus ``random``, and minus the best of the others, on the same exercises."""
    payoffs = distinct(pools.payoffs)
    ranked = sorted(payoffs, key=lambda agent: -float(np.mean(payoffs[agent])))
    for agent in ranked:
        best = next(each for each in ranked if each != agent)
        for other in dict.fromkeys(("random-v1", best)):
            if other == agent:
                continue
            pair = payoffs[agent], payoffs[other]
            truth = float(np.mean(pair[0] - pair[1]))
            for count in SIZES:

                def sampler(
                    rng: np.random.Generator,
                    n: int = count,
                    p: tuple[Values, Values] = pair,
                ) -> Estimate:
                    chosen = rng.integers(len(p[0]), size=n)
                    return paired_difference(p[0][chosen], p[1][chosen], support=SUPPORT)

                names = "difference", pools.environment_class, f"{agent} - {other}", count
                yield measure(*names, truth, samples(sampler, resamples, *names))


def strata_cells(pools: Pools, resamples: int) -> Iterator[Cell]:
    """The mean over three complexities, of exercises that take them in turn."""
    for agent in distinct(pools.payoffs) if pools.strata else ():
        strata = pools.strata[agent]
        truth = float(np.mean([np.mean(values) for values in strata]))
        for count in SIZES:

            def sampler(
                rng: np.random.Generator, n: int = count, s: list[Values] = strata
            ) -> Estimate:
                sizes = [len(range(part, n, 3)) for part in range(3)]
                groups = [rng.choice(v, size) for v, size in zip(s, sizes, strict=True)]
                return stratified_mean(groups, support=SUPPORT)

            names = "strata", pools.environment_class, agent, count
            yield measure(*names, truth, samples(sampler, resamples, *names))


def battery_cells(pools: Pools, resamples: int) -> Iterator[Cell]:
    """The score of a battery that is taken some times."""
    for agent, parts in distinct(pools.tests).items():
        for count in TESTS:

            def sampler(rng: np.random.Generator, n: int = count, p: Values = parts) -> Estimate:
                return stratified_mean([rng.choice(v, n) for v in p], support=SUPPORT)

            names = "battery", BATTERY, agent, count
            yield measure(*names, float(np.mean(parts)), samples(sampler, resamples, *names))


def universal_cells(pools: Pools, resamples: int) -> Iterator[Cell]:  # noqa: ARG001 - real sets
    """The score of Definition 15; every interval is that of a real set."""
    for size, sets in pools.sets.items():
        for agent, values in distinct(sets).items():
            estimates = (mean(each, support=SUPPORT) for each in values)
            names = "universal", pools.environment_class, agent, size
            yield measure(*names, float(np.mean(values)), estimates)


def anytime_cells(pools: Pools, resamples: int) -> Iterator[Cell]:
    """The score of Definition 19, over repetitions of 1,000 interactions."""
    for agent, values in distinct(pools.repetitions).items():
        for count in REPETITIONS:

            def sampler(rng: np.random.Generator, n: int = count, v: Values = values) -> Estimate:
                return mean(rng.choice(v, n), support=SUPPORT)

            names = "anytime", pools.environment_class, agent, count
            yield measure(*names, float(np.mean(values)), samples(sampler, resamples, *names))


def relation_cells(pools: Pools, resamples: int) -> Iterator[Cell]:
    """The correlation of payoff and complexity, and the slope of the line between them."""
    x = pools.complexities
    if np.ptp(x) == 0:
        return
    for agent, y in distinct(pools.payoffs).items():
        if np.ptp(y) <= 1e-12:
            continue
        whole = correlation(x, y).value, regression(x, y).slope.value
        for count in RELATED:

            def chosen(
                rng: np.random.Generator, n: int = count, v: Values = y
            ) -> tuple[Values, Values]:
                while True:  # a line needs two complexities
                    places = rng.integers(len(x), size=n)
                    if np.ptp(x[places]) > 0:
                        return x[places], v[places]

            def of_correlation(
                rng: np.random.Generator, points: Callable[..., tuple[Values, Values]] = chosen
            ) -> Estimate:
                return correlation(*points(rng))

            def of_slope(
                rng: np.random.Generator, points: Callable[..., tuple[Values, Values]] = chosen
            ) -> Estimate:
                return regression(*points(rng)).slope

            for kind, sampler, truth in zip(
                ("correlation", "slope"), (of_correlation, of_slope), whole, strict=True
            ):
                names = kind, pools.environment_class, agent, count
                yield measure(*names, truth, samples(sampler, resamples, *names))


KINDS = {
    "score": score_cells,
    "difference": difference_cells,
    "strata": strata_cells,
    "battery": battery_cells,
    "universal": universal_cells,
    "anytime": anytime_cells,
    "correlation, slope": relation_cells,
}


def student(values: Values, rng: np.random.Generator) -> Estimate:  # noqa: ARG001 - no randomness
    """Student's t."""
    value, half = float(np.mean(values)), _t(values) * _error(values)
    return Estimate(value, value - half, value + half, 0.95, len(values))


def hall(values: Values, rng: np.random.Generator) -> Estimate:
    """Hall's transformation of Student's t, which removes skewness (P. Hall, 1992)."""
    count, value, spread = len(values), float(np.mean(values)), float(np.std(values, ddof=1))
    if spread == 0:
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
    degrees = len(values) - 1
    cost = len(values) / 2 * log1p(_t(values) ** 2 / degrees)
    low, high = -highest_mean([Part(-values)], cost), highest_mean([Part(values)], cost)
    return Estimate(float(np.mean(values)), low, high, 0.95, len(values))


def bounded(values: Values, rng: np.random.Generator) -> Estimate:  # noqa: ARG001
    """The bounded interval, whatever carries the spread."""
    low = -highest_mean([Part(-values, end=-SUPPORT[0])], log(40))
    high = highest_mean([Part(values, end=SUPPORT[1])], log(40))
    return Estimate(float(np.mean(values)), low, high, 0.95, len(values), bounded=True)


def _t(values: Values) -> float:
    return float(special.stdtrit(len(values) - 1, 0.975))


def _error(values: Values) -> float:
    return float(np.std(values, ddof=1)) / sqrt(len(values))


METHODS: dict[str, Callable[[Values, np.random.Generator], Estimate]] = {
    "Student's t": student,
    "Hall's transformation": hall,
    "bootstrap-t": bootstrap_t,
    "empirical likelihood": likelihood,
    "always bounded": bounded,
    "betting": lambda values, rng: mean_sequence(values, support=SUPPORT),  # noqa: ARG005
    "ours": lambda values, rng: mean(values, support=SUPPORT),  # noqa: ARG005
}
COMPARED = (5, 20, 60)


def method_cells(pools: Pools, resamples: int) -> Iterator[Cell]:
    """The mean payoff of each agent, with the interval of every method of the same samples."""
    for agent, values in distinct(pools.payoffs).items():
        for count in COMPARED:
            for name, method in METHODS.items():

                def sampler(
                    rng: np.random.Generator,
                    n: int = count,
                    v: Values = values,
                    how: Callable[[Values, np.random.Generator], Estimate] = method,
                ) -> Estimate:
                    return how(rng.choice(v, n), rng)

                names = pools.environment_class, agent, count
                estimates = samples(sampler, resamples, *names)
                yield measure(name, *names, float(np.mean(values)), estimates)


def cells_of(job: tuple[str, Pools, int]) -> tuple[str, list[Cell], float]:
    """All cells of one kind in one class, with the processor time that they took."""
    kind, pools, resamples = job
    before = time.process_time()
    if kind == "methods":
        found = list(method_cells(pools, max(1, resamples // 4)))
    else:
        found = list(KINDS[kind](pools, resamples))
    return kind, found, time.process_time() - before


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
        ("kind", "class", "agent", "n", "coverage", "too low", "too high", "bounded")
    ]
    for cell in sorted(cells, key=lambda each: each.coverage):
        if cell.coverage < BAND[0]:
            what = cell.kind, cell.environment_class, cell.agent, cell.count
            shares = cell.coverage, cell.below, cell.above, cell.bounded
            rows.append((*what, *map(percent, shares)))
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


def tables_of(cells: Sequence[Cell], compared: Sequence[Cell], amounts: Amounts) -> str:
    """All tables, in Markdown."""
    inside = sum(BAND[0] <= cell.coverage <= BAND[1] for cell in cells)
    over = sum(cell.coverage > BAND[1] for cell in cells)
    wide = sum(cell.coverage > BAND[1] and cell.is_bounded for cell in cells)
    return (
        f"Of {len(cells):,} cells, each of {amounts.resamples:,} samples ({amounts.sets:,} real "
        f"sets of the universal test), {inside:,} "
        f"({inside / len(cells):.0%}) cover 93 to 97 %; {over:,} ({over / len(cells):.0%}) cover "
        f"more, {wide:,} of them bounded; {len(cells) - inside - over:,} "
        f"({(len(cells) - inside - over) / len(cells):.0%}) cover less. From 20 values on "
        f"{bounded_share(cells):.1%} of the cells are bounded.\n\n"
        f"### By kind and number of values\n\n{summary(cells)}\n"
        f"### Methods\n\n{comparison(compared) if compared else 'Not measured.'}\n"
        f"### Cells below 93 %\n\n{exceptions(cells)}"
    )


def collect_pools(amounts: Amounts, workers: int, cache: Path | None) -> list[Pools]:
    """The pools of all classes: those of the cache, if there is one, or new ones."""
    if cache is not None and cache.exists():
        pools: list[Pools] = pickle.loads(cache.read_bytes())
        return pools
    classes = [entry.id for entry in listing(Kind.ENVIRONMENT)]
    jobs = []
    for each in classes:
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
    parser.add_argument("--resamples", type=int, default=Amounts.resamples)
    parser.add_argument("--quick", action="store_true", help="400 samples, from small pools")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--kinds", nargs="*", choices=[*KINDS, "methods"])
    parser.add_argument("--out", type=Path, default=Path("evaluations/coverage"))
    parser.add_argument("--pools", type=Path, help="a file in which pools are kept for next time")
    parser.add_argument("--write", type=Path, help="a page to put the tables in")
    return parser.parse_args(arguments)


def main() -> int:
    given, begun = parsed(), time.monotonic()
    amounts = Amounts(resamples=given.resamples)
    if given.quick:
        amounts = Amounts(2_000, 600, 400, 400, 400, 400)
    given.out.mkdir(parents=True, exist_ok=True)
    pools = collect_pools(amounts, given.workers, given.pools)
    print(f"pools: {time.monotonic() - begun:.0f} s", flush=True)
    kinds = given.kinds or [*KINDS, "methods"]
    jobs = [(kind, each, amounts.resamples) for kind in kinds for each in pools]
    cells: list[Cell] = []
    compared: list[Cell] = []
    with ProcessPoolExecutor(given.workers) as executor:
        for kind, found, seconds in executor.map(cells_of, jobs):
            (compared if kind == "methods" else cells).extend(found)
            if found:
                where = found[0].environment_class
                print(f"{kind} in {where}: {len(found)} cells, {seconds:.0f} s", flush=True)
    write_csv(given.out / "cells.csv", cells)
    write_csv(given.out / "methods.csv", compared)
    tables = tables_of(cells, compared, amounts)
    (given.out / "tables.md").write_text(tables, "utf-8")
    if given.write is not None:
        write_tables(given.write, tables)
    print(tables)
    print(f"{time.monotonic() - begun:.0f} s in all")
    return 0 if bounded_share(cells) <= 0.1 else 1


if __name__ == "__main__":
    sys.exit(main())
