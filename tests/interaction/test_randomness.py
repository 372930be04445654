"""Randomness in kernels: the published generator, exactly uniform, the same in both speeds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from omnimeter.kernels import below, generator_state
from rng_probe import COUNTS, SEEDS, draw_below, draw_bits, draw_uniform, draws, seeded


def test_first_draws_are_those_of_splitmix64() -> None:
    """Those of the reference implementation for the seeds 0 and 1234567."""
    bits = np.zeros(3, dtype=np.uint64)
    draw_bits(seeded(0), bits)
    assert bits.tolist() == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    bits = np.zeros(5, dtype=np.uint64)
    draw_bits(seeded(1234567), bits)
    assert bits.tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


def test_compiled_and_plain_draws_are_the_same() -> None:
    plain = subprocess.run(
        [sys.executable, str(Path(__file__).parents[1] / "support" / "rng_probe.py")],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert plain.returncode == 0, plain.stderr
    assert json.loads(plain.stdout) == draws()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("count", COUNTS)
def test_bounds(seed: int, count: int) -> None:
    drawn = np.zeros(1000, dtype=np.int64)
    draw_below(seeded(seed), count, drawn)
    assert drawn.min() >= 0
    assert drawn.max() < count
    numbers = np.zeros(1000)
    draw_uniform(seeded(seed), numbers)
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0


@pytest.mark.parametrize("count", [2, 3, 7, 10, 100])
def test_integers_are_uniform(count: int) -> None:
    drawn = np.zeros(200_000, dtype=np.int64)
    draw_below(seeded(99), count, drawn)
    assert chisquare(np.bincount(drawn, minlength=count)).pvalue > 1e-3


def test_large_counts_are_uniform_too() -> None:
    """Taking a remainder, or a product without rejection, would favour some thirds."""
    count = 3 * 2**29
    drawn = np.zeros(200_000, dtype=np.int64)
    draw_below(seeded(7), count, drawn)
    assert chisquare(np.bincount(drawn % 3, minlength=3)).pvalue > 1e-3
    assert chisquare(np.bincount(drawn // 2**29, minlength=3)).pvalue > 1e-3


def test_numbers_are_uniform() -> None:
    numbers = np.zeros(100_000)
    draw_uniform(seeded(5), numbers)
    assert kstest(numbers, "uniform").pvalue > 1e-3
    assert len(np.unique(numbers)) == len(numbers)


def test_rejected_draws_are_drawn_again() -> None:
    """By hand: draws of 32 bits whose product with the count is too low do not count."""
    count = 2**32 // 3 + 1  # a third of all draws
    threshold = (2**32 - count) % count
    rng, by_hand = seeded(3), seeded(3)
    for _ in range(1000):
        bits = np.zeros(1, dtype=np.uint64)
        while True:
            draw_bits(by_hand, bits)
            product = (int(bits[0]) >> 32) * count
            if product % 2**32 >= threshold:
                break
        assert below(rng, count) == product >> 32
        assert rng[0] == by_hand[0]


def test_state_of_a_generator() -> None:
    assert (generator_state().tolist(), generator_state().dtype) == ([0], np.uint64)
