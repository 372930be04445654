"""Draws from the generator of kernels, to be compared between compiled and plain runs."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from omnimeter.kernels import below, kernel, next_bits, uniform

SEEDS = [0, 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 0x123456789ABCDEF]
COUNTS = [1, 2, 3, 7, 2**16, 10**9, 2**31 - 1, 2**31]


@kernel
def draw_bits(rng, out):
    for k in range(len(out)):
        out[k] = next_bits(rng)


@kernel
def draw_below(rng, count, out):
    for k in range(len(out)):
        out[k] = below(rng, count)


@kernel
def draw_uniform(rng, out):
    for k in range(len(out)):
        out[k] = uniform(rng)


def seeded(seed: int) -> Any:
    return np.array([seed], dtype=np.uint64)


def draws() -> list[list[Any]]:
    """Some of everything."""
    drawn_values: list[list[Any]] = []
    for seed in SEEDS:
        bits, numbers = np.zeros(20, dtype=np.uint64), np.zeros(20)
        draw_bits(seeded(seed), bits)
        draw_uniform(seeded(seed), numbers)
        drawn_values += [bits.tolist(), [number.hex() for number in numbers.tolist()]]
        for count in COUNTS:
            drawn = np.zeros(20, dtype=np.int64)
            rng = seeded(seed)
            draw_below(rng, count, drawn)
            drawn_values.append([*drawn.tolist(), int(rng[0])])
    return drawn_values


if __name__ == "__main__":
    print(json.dumps(draws()))
