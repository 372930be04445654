"""How often intervals hold the true value of samples whose distribution is known.

Run ``python benchmarks/shapes.py``. Where ``coverage.py`` asks real results for the mean, this asks
drawn ones for all that else is estimated: values of many shapes, in pairs, tables and curves, 5 to
100 of each. The table goes to ``evaluations/coverage/shapes.md``, or with ``--write
docs/intervals.md`` into the docs. It ends with 1 if any interval holds less than 92 % of the true
values at a confidence of 95 %.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from itertools import repeat
from math import inf
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from omnimeter.estimation import (
    Band,
    Estimate,
    bootstrap,
    interquartile_estimate,
    interquartile_mean,
    learning_speed,
    performance_profile,
    probability_of_improvement,
    rank_correlation,
    regression_band,
    repeated_measures,
    wilcoxon,
)

Values = NDArray[np.float64]
Generator = np.random.Generator
Draw = Callable[[Generator, int], Values]
Pair = Callable[[Generator, int], tuple[Values, Values]]

COUNTS = (5, 10, 30, 100)
LARGE = 1_000_000
"""Values of which the true value is computed where no formula gives it."""

ROUNDING = 1e-9
LEAST = 0.92
RIVAL = "interquartile mean, bootstrap"
"""What is not ours to be judged: the usual interval, beside the one that is used."""


def choice(values: Sequence[float], shares: Sequence[float]) -> Draw:
    return lambda rng, count: rng.choice(np.array(values, dtype=float), count, p=shares)


def with_gap(rng: Generator, count: int) -> Values:
    """A little more than a quarter lie far below all others."""
    return rng.random(count) - 10.0 * (rng.random(count) < 0.27)


SHAPES: dict[str, Draw] = {
    "normal": lambda rng, count: rng.normal(size=count),
    "exponential": lambda rng, count: rng.exponential(size=count),
    "lognormal": lambda rng, count: rng.lognormal(size=count),
    "Student's t, 2 degrees": lambda rng, count: rng.standard_t(2, count),
    "two-humped": lambda rng, count: rng.beta(0.2, 0.2, count),
    "gap below the quartile": with_gap,
    "three values": choice([-1, 0, 1], [1 / 3, 1 / 3, 1 / 3]),
    "three values, uneven": choice([0, 1, 2], [0.6, 0.3, 0.1]),
    "two values": choice([0, 1], [0.69, 0.31]),
    "one in ten": choice([0, 1], [0.9, 0.1]),
    "constant": choice([0.5], [1]),
}


def normal(shift: float = 0.0, spread: float = 1.0) -> Draw:
    return lambda rng, count: rng.normal(shift, spread, count)


GROUPS: dict[str, tuple[Draw, Draw]] = {
    "normal": (normal(), normal()),
    "normal, far apart": (normal(3), normal()),
    "normal, unequal spread": (normal(2, 5), normal()),
    "exponential": (lambda rng, count: rng.exponential(4, count), SHAPES["exponential"]),
    "humps around a constant": (choice([-1, 1], [0.3, 0.7]), choice([0], [1])),
    "three values": (choice([-1, 0, 1], [0.2, 0.3, 0.5]), choice([-1, 0, 1], [0.3, 0.4, 0.3])),
    "mostly equal": (choice([0, 1], [0.9, 0.1]), choice([0, 1], [0.95, 0.05])),
    "always greater": (normal(100), normal()),
    "always equal": (choice([0], [1]), choice([0], [1])),
}

WINS = {
    "even": (0.5, 0.0, 0.5),
    "mostly won": (0.9, 0.0, 0.1),
    "some equal": (0.4, 0.4, 0.2),
    "mostly equal": (0.1, 0.88, 0.02),
    "always won": (1.0, 0.0, 0.0),
    "always equal": (0.0, 1.0, 0.0),
}
"""How likely it is that a pair is won, equal and lost."""


def related(strength: float) -> Pair:
    def draw(rng: Generator, count: int) -> tuple[Values, Values]:
        x = rng.normal(size=count)
        return x, strength * x + np.sqrt(1 - strength**2) * rng.normal(size=count)

    return draw


def skewed(rng: Generator, count: int) -> tuple[Values, Values]:
    x = rng.exponential(size=count)
    return x, x + rng.lognormal(size=count)


def widening(rng: Generator, count: int) -> tuple[Values, Values]:
    x = rng.exponential(size=count)
    return x, -0.3 * x + (0.2 + x) * rng.normal(size=count)


def curved(rng: Generator, count: int) -> tuple[Values, Values]:
    x = rng.normal(size=count)
    return x, x**2 + 0.3 * rng.normal(size=count)


def complexities(rng: Generator, count: int) -> tuple[Values, Values]:
    """Few places, and bounded rewards that fall and spread less as these grow."""
    x = rng.integers(1, 7, count).astype(float)
    skill = 0.9 - 0.12 * x
    return x, 2 * rng.beta(3 * skill + 0.1, 3 * (1 - skill) + 0.1) - 1


def few_values(rng: Generator, count: int) -> tuple[Values, Values]:
    x = rng.integers(0, 4, count).astype(float)
    return x, np.clip(x + rng.integers(-1, 2, count), 0, 3)


RELATIONS: dict[str, Pair] = {
    "independent": related(0.0),
    "normal": related(0.5),
    "normal, strong": related(0.95),
    "skewed": skewed,
    "widening": widening,
    "curved": curved,
    "complexities": complexities,
    "few values": few_values,
}


class Row(NamedTuple):
    """One kind of interval of one distribution: whether each new sample's holds the true value."""

    kind: str
    shape: str
    sample: Callable[[Generator, int], tuple[bool, bool]]
    costly: bool = False


def held(estimate: Estimate, truth: float) -> tuple[bool, bool]:
    """Whether an interval holds the true value, and whether it says nothing of its own."""
    inside = estimate.low - ROUNDING <= truth <= estimate.high + ROUNDING
    unknown = estimate.bounded or not np.isfinite(estimate.high - estimate.low)
    return inside, unknown and estimate.low < estimate.high


def held_by(low: Values, high: Values, truth: Values) -> tuple[bool, bool]:
    inside = np.all((low - ROUNDING <= truth) & (truth <= high + ROUNDING))
    return bool(inside), not np.all(np.isfinite(high - low))


@cache
def large(shape: str, seed: int = 1) -> Values:
    return SHAPES[shape](np.random.default_rng(seed), LARGE)


def signed_rank(shape: str) -> Row:
    truth = cache(lambda: float(np.median((large(shape) + large(shape, 2)) / 2)))

    def sample(rng: Generator, count: int) -> tuple[bool, bool]:
        return held(wilcoxon(SHAPES[shape](rng, count), np.zeros(count)), truth())

    return Row("Hodges-Lehmann", shape, sample)


def paired_wins(name: str) -> Row:
    won, equal, lost = WINS[name]

    def sample(rng: Generator, count: int) -> tuple[bool, bool]:
        values = rng.choice([1.0, 0.0, -1.0], count, p=(won, equal, lost))
        return held(probability_of_improvement(values, np.zeros(count)), won + equal / 2)

    return Row("improvement, paired", name, sample)


def unpaired_wins(name: str) -> Row:
    one, other = GROUPS[name]

    @cache
    def truth() -> float:
        rng = np.random.default_rng(1)
        first, second = one(rng, LARGE), other(rng, LARGE)
        return float(np.mean(first > second) + np.mean(first == second) / 2)

    def sample(rng: Generator, count: int) -> tuple[bool, bool]:
        samples = one(rng, count), other(rng, count)
        return held(probability_of_improvement(*samples, paired=False), truth())

    return Row("improvement, unpaired", name, sample)


@cache
def middle(shape: str) -> float:
    return float(interquartile_mean(large(shape)))


def middle_half(shape: str) -> Row:
    def sample(rng: Generator, count: int) -> tuple[bool, bool]:
        return held(interquartile_estimate(SHAPES[shape](rng, count)), middle(shape))

    return Row("interquartile mean", shape, sample)


def resampled(shape: str) -> Row:
    def sample(rng: Generator, count: int) -> tuple[bool, bool]:
        values = SHAPES[shape](rng, count)
        return held(bootstrap(values, interquartile_mean, rng, resamples=999), middle(shape))

    return Row(RIVAL, shape, sample, costly=True)


def profiles(shape: str, *, everywhere: bool) -> Row:
    places = cache(lambda: np.unique(np.quantile(large(shape), np.linspace(0.002, 0.998, 250))))
    truth = cache(lambda: np.array([float(np.mean(large(shape) > each)) for each in places()]))

    def sample(rng: Generator, count: int) -> tuple[bool, bool]:
        values = SHAPES[shape](rng, count)
        if everywhere:
            band = performance_profile(values, places())
            return held_by(band.lowest, band.highest, truth())
        chosen = rng.integers(len(places()), size=1)
        band = performance_profile(values, places()[chosen])
        return held_by(band.low, band.high, truth()[chosen])

    return Row(f"profile, {'band' if everywhere else 'one threshold'}", shape, sample)


def one_spread_more(rng: Generator, size: int) -> Values:
    """The first of four conditions is spread three times as much."""
    return rng.normal(size=size) * np.tile([3.0, 1.0, 1.0, 1.0], size // 4)


def subjects_spread_more(rng: Generator, size: int) -> Values:
    """Some subjects of two conditions are spread more than others."""
    return rng.normal(size=size) * np.repeat(rng.exponential(size=size // 2), 2)


def effects(shape: str, draw: Draw, conditions: int, shift: float) -> Row:
    moved = shift * (np.arange(conditions) == 0)
    means = float(np.sum((moved - np.mean(moved)) ** 2))

    @cache
    def spread() -> float:
        table = draw(np.random.default_rng(1), LARGE).reshape(-1, conditions)
        return float(np.sum(np.var(table - np.mean(table, axis=1)[:, None], axis=0)))

    def sample(rng: Generator, count: int) -> tuple[bool, bool]:
        table = draw(rng, count * conditions).reshape(count, -1) + moved
        truth = means / (means + spread()) if means else 0.0
        return held(repeated_measures(table).share, truth)

    name = f"{shape}, {conditions} conditions, {'an' if shift else 'no'} effect"
    return Row("partial eta squared", name, sample)


def ranks(name: str) -> Row:
    draw = RELATIONS[name]

    @cache
    def truth() -> float:
        both = [rankdata(each) for each in draw(np.random.default_rng(1), LARGE)]
        return float(np.corrcoef(*both)[0, 1])

    def sample(rng: Generator, count: int) -> tuple[bool, bool]:
        return held(rank_correlation(*draw(rng, count)), truth())

    return Row("rank correlation", name, sample)


def lines(name: str, *, everywhere: bool) -> Row:
    draw = RELATIONS[name]

    @cache
    def truth() -> tuple[Values, Values]:
        x, y = draw(np.random.default_rng(1), LARGE)
        places = np.quantile(x, np.linspace(0, 1, 11)) if everywhere else np.quantile(x, [0.9])
        return places, np.polyval(np.polyfit(x, y, 1), places)

    def sample(rng: Generator, count: int) -> tuple[bool, bool]:
        while np.ptp((points := draw(rng, count))[0]) == 0:
            pass
        places, values = truth()
        band: Band = regression_band(*points, places)
        ends = (band.lowest, band.highest) if everywhere else (band.low, band.high)
        return held_by(*ends, values)

    kind = f"line, {'band' if everywhere else 'one place'}"
    return Row(kind, name, sample, costly=everywhere)


def speeds(name: str, never: float, *, cut: bool = False, noise: float = 0.0) -> Row:
    """Curves of steps after times of median 40 of those that learn; some are cut short."""
    # Half of all have learnt when 1 / (2 (1 - never)) of those that ever learn have.
    share = 0.5 / (1 - never)
    truth = np.ceil(-40 / np.log(2) * np.log(1 - share)) if share < 1 else inf

    def sample(rng: Generator, count: int) -> tuple[bool, bool]:
        times = np.ceil(rng.exponential(40 / np.log(2), count)).astype(int)
        times[rng.random(count) < never] = 1_000
        lengths = rng.integers(60, 400, count) if cut else np.full(count, 400)
        curves = [
            (np.arange(length) >= time) + rng.normal(0, noise, length)
            for length, time in zip(lengths, times, strict=True)
        ]
        return held(learning_speed(curves), float(truth))

    return Row("learning speed", name, sample)


def gradual_speeds(name: str, noise: float) -> Row:
    """Curves that all rise alike, as 1 - exp(-k / 60), with noise."""
    rise = 1 - np.exp(-np.arange(600) / 60)
    (truth,) = learning_speed([rise]).needed

    def sample(rng: Generator, count: int) -> tuple[bool, bool]:
        return held(learning_speed(rise + rng.normal(0, noise, (count, 600))), truth)

    return Row("learning speed", name, sample)


def rows() -> Iterator[Row]:
    """All that is measured."""
    yield from map(signed_rank, SHAPES)
    yield from map(paired_wins, WINS)
    yield from map(unpaired_wins, GROUPS)
    yield from map(middle_half, SHAPES)
    yield from map(resampled, SHAPES)
    for everywhere in (False, True):
        chosen = "normal", "three values, uneven", "one in ten", "constant"
        yield from map(partial(profiles, everywhere=everywhere), chosen)
    for shape in ("normal", "exponential", "lognormal", "three values", "one in ten"):
        for conditions, shift in ((2, 0.0), (2, 1.0), (4, 0.0), (4, 1.0)):
            yield effects(shape, SHAPES[shape], conditions, shift)
    yield effects("normal, one condition spread more", one_spread_more, 4, 1.0)
    yield effects("normal, some subjects spread more", subjects_spread_more, 2, 1.0)
    yield from map(ranks, RELATIONS)
    for everywhere in (False, True):
        yield from map(partial(lines, everywhere=everywhere), RELATIONS)
    yield speeds("all learn", 0.0)
    yield speeds("a third never learns", 1 / 3)
    yield speeds("most never learn", 0.6)
    yield speeds("curves of different lengths", 0.2, cut=True)
    yield speeds("all learn, with noise", 0.0, noise=0.5)
    for noise in (0.5, 1.0):
        yield gradual_speeds(f"all alike and gradual, with noise of {noise:g}", noise)


class Cell(NamedTuple):
    """The share of intervals that hold the true value, and of those that are bounded."""

    coverage: float
    bounded: float

    def __str__(self) -> str:
        return f"{100 * self.coverage:.1f}" + (r" \*" if self.bounded > 0.5 else "")


def measure(row: Row, count: int, resamples: int) -> Cell:
    """How often the intervals of new samples of so many values hold the true value."""
    rng = np.random.default_rng([crc32(repr(each).encode()) for each in (*row[:2], count)])
    results = [row.sample(rng, count) for _ in range(resamples)]
    return Cell(*np.mean(results, axis=0).tolist())


def measure_row(number: int, resamples: int) -> list[Cell]:
    row = list(rows())[number]
    each = max(1, resamples // 4) if row.costly else resamples
    return [measure(row, count, each) for count in COUNTS]


def table(cells: Iterable[Sequence[Cell]], resamples: int) -> str:
    """What was measured, in Markdown."""
    lines = [
        f"Measured with {resamples:,} samples of each cell, a quarter for the bootstrap and the "
        "band of a line. \\*: most of the intervals are bounded or infinite.",
        "",
        "| interval of | values | " + " | ".join(f"n = {count}" for count in COUNTS) + " |",
        "| " + " | ".join(["---"] * (2 + len(COUNTS))) + " |",
    ]
    for row, each in zip(rows(), cells, strict=True):
        lines.append(f"| {row.kind} | {row.shape} | {' | '.join(map(str, each))} |")
    return "\n".join(lines) + "\n"


def write_table(path: Path, text: str) -> None:
    """Put the table between the two marks of a page."""
    begin, end = "<!-- begin: benchmarks/shapes.py -->", "<!-- end: benchmarks/shapes.py -->"
    page = path.read_text("utf-8")
    before, after = page[: page.index(begin)], page[page.index(end) :]
    path.write_text(f"{before}{begin}\n\n{text}\n{after}", "utf-8")


def parsed(arguments: Sequence[str] | None = None) -> Any:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--resamples", type=int, default=4_000, help="samples of each cell")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("evaluations/coverage"))
    parser.add_argument("--write", type=Path, help="a page to put the table in")
    return parser.parse_args(arguments)


def main() -> int:
    given, planned = parsed(), list(rows())
    cells: list[list[Cell]] = []
    with ProcessPoolExecutor(given.workers) as executor:
        numbers = range(len(planned))
        for row, each in zip(
            planned, executor.map(measure_row, numbers, repeat(given.resamples)), strict=True
        ):
            print(row.kind, "|", row.shape, "|", *each, flush=True)
            cells.append(each)
    text = table(cells, given.resamples)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "shapes.md").write_text(text, "utf-8")
    if given.write is not None:
        write_table(given.write, text)
    ours = [
        cell for row, each in zip(planned, cells, strict=True) if row.kind != RIVAL for cell in each
    ]
    return 0 if min(cell.coverage for cell in ours) >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
