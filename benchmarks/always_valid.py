"""How long always-valid intervals are, and how often one of a whole sequence misses the mean.

Run ``python benchmarks/always_valid.py``; it takes some minutes and ends with 1 if one misses too
often. Real payoffs are those of 3,000 exercises of an agent, from which sequences are drawn. The
unit of lengths is that of Student's interval. In brackets are that with an error rate that is
divided among all values, and that of the hedged capital with the plug-in stakes of Waudby-Smith and
Ramdas.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

import omnimeter as om
from omnimeter.estimation import mean, mean_sequence

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]

COUNTS = (20, 50, 100, 300, 1_000, 3_000)
SEQUENCES = 300
WIDTHS = 20
"""Sequences of which the median length is taken."""

POOL = 3_000
PAYOFFS = {
    "cup-presser in cups": ("cup-presser", "cups", 200),
    "q-learning in automata": ("q-learning", "automata", 200),
    "torus-agent in torus": ("torus-agent", "torus", 200),
    "q-learning in lambda": ("q-learning", "lambda", 200),
}


def payoffs(agent: str, environment_class: str, interactions: int) -> NDArray[np.float64]:
    result = om.evaluate(
        agent, environment_class, exercises=POOL, interactions=interactions, seed=0
    )
    (outcomes,) = result.outcomes.values()
    return np.array([each.payoff for each in outcomes], dtype=np.float64)


def cases() -> dict[str, tuple[Draw, float, tuple[float, float]]]:
    """How to draw values, their mean and their support."""
    known: dict[str, tuple[Draw, float, tuple[float, float]]] = {
        "fair coin": (lambda rng, n: (rng.random(n) < 0.5).astype(float), 0.5, (0, 1)),
        "1 in 20": (lambda rng, n: (rng.random(n) < 0.05).astype(float), 0.05, (0, 1)),
        "beta(5, 5)": (lambda rng, n: rng.beta(5, 5, n), 0.5, (0, 1)),
        "mostly 0.3, 1 in 50 is 1": (
            lambda rng, n: np.where(rng.random(n) < 0.02, 1.0, 0.3),
            0.314,
            (0, 1),
        ),
    }
    for name, given in PAYOFFS.items():
        pool = payoffs(*given)
        known[name] = (lambda rng, n, p=pool: rng.choice(p, n), float(pool.mean()), (-1, 1))
    first, second = (payoffs(agent, "lambda", 200) for agent in ("q-learning", "follower"))
    pool = (first - second) / 2
    known["q-learning minus follower, halved"] = (
        lambda rng, n, p=pool: rng.choice(p, n),
        float(pool.mean()),
        (-1, 1),
    )
    return known


def plug_in(values: NDArray[np.float64], support: tuple[float, float]) -> float:
    """The length with stakes that follow the variance of the values so far, of at most a half."""
    scaled = (values - support[0]) / (support[1] - support[0])
    counts = np.arange(1, len(scaled) + 1)
    means = (0.5 + np.cumsum(scaled)) / (counts + 1)
    variances = (0.25 + np.cumsum((scaled - means) ** 2)) / (counts + 1)
    before = np.concatenate(([0.25], variances[:-1]))
    stakes = np.sqrt(2 * np.log(2 / 0.05) / (before * counts * np.log1p(counts)))

    def lowest(side: NDArray[np.float64]) -> float:
        low, high = 0.0, 1.0
        for _ in range(30):
            middle = (low + high) / 2
            gains = np.log1p(np.minimum(stakes, 0.5 / middle) * (side - middle))
            won = np.cumsum(gains).max() >= np.log(2 / 0.05)
            low, high = (middle, high) if won else (low, middle)
        return low

    return (support[1] - support[0]) * (1 - lowest(scaled) - lowest(1 - scaled))


def ratios(draw: Draw, support: tuple[float, float], count: int) -> list[float]:
    """The median lengths: always-valid, with a divided error rate, with plug-in stakes."""
    rows = []
    for number in range(WIDTHS):
        values = draw(np.random.default_rng([1, number]), count)
        ends = [
            mean_sequence(values, support=support),
            mean(values, 1 - 0.05 / count, support),
            mean(values, 0.95, support),
        ]
        rows.append([*(each.high - each.low for each in ends), plug_in(values, support)])
    always, divided, fixed, plugged = np.median(rows, axis=0).tolist()
    return [always / fixed, divided / fixed, plugged / fixed]


def missed(draw: Draw, expected: float, support: tuple[float, float]) -> tuple[float, float]:
    """How often some interval of the sequence misses: always-valid ones, and fixed ones."""
    both = np.zeros(2)
    for number in range(SEQUENCES):
        values = draw(np.random.default_rng([2, number]), COUNTS[-2])
        for place, interval in enumerate((mean_sequence, mean)):
            # What an always-valid one has once left out, it leaves out from then on.
            counts = COUNTS[:-1] if place == 0 else range(5, COUNTS[-2], 5)
            estimates = (interval(values[:count], 0.95, support) for count in counts)
            both[place] += any(not each.low <= expected <= each.high for each in estimates)
    return both[0] / SEQUENCES, both[1] / SEQUENCES


def main() -> int:
    print("values |", " | ".join(f"{count:,}" for count in COUNTS), "| missed (%) | fixed (%)")
    worst = 0.0
    for name, (draw, expected, support) in cases().items():
        cells = (ratios(draw, support, count) for count in COUNTS)
        lengths = " | ".join("{:.2f} ({:.2f}, {:.2f})".format(*cell) for cell in cells)
        always, fixed = missed(draw, expected, support)
        worst = max(worst, always)
        print(f"{name} | {lengths} | {100 * always:.1f} | {100 * fixed:.1f}", flush=True)
    return int(worst > 0.05)


if __name__ == "__main__":
    sys.exit(main())
