"""How long always-valid intervals are, and how often one of a whole sequence misses the mean.

Run ``python benchmarks/always_valid.py``; it takes some minutes and ends with 1 if one misses too
often. Real payoffs are those of 3,000 exercises of an agent, from which sequences are drawn.
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
    result = om.evaluate(agent, environment_class, exercises=POOL, interactions=interactions)
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


def ratios(draw: Draw, support: tuple[float, float], count: int) -> tuple[float, float]:
    """The median length, and that of an error rate divided by the count, in fixed ones."""
    rows = []
    for number in range(WIDTHS):
        values = draw(np.random.default_rng([1, number]), count)
        ends = [
            mean_sequence(values, support=support),
            mean(values, 1 - 0.05 / count, support),
            mean(values, 0.95, support),
        ]
        rows.append([each.high - each.low for each in ends])
    always, divided, fixed = np.median(rows, axis=0)
    return always / fixed, divided / fixed


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
        lengths = " | ".join(f"{always:.2f} ({divided:.2f})" for always, divided in cells)
        always, fixed = missed(draw, expected, support)
        worst = max(worst, always)
        print(f"{name} | {lengths} | {100 * always:.1f} | {100 * fixed:.1f}", flush=True)
    return int(worst > 0.05)


if __name__ == "__main__":
    sys.exit(main())
