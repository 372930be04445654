"""The discount sequences: their values, their sums, and long traces."""

from functools import partial

import numpy as np
import pytest

from omnimeter.payoffs import discounted, finite, geometric, harmonic, power, quadratic
from omnimeter.payoffs.functions import running_totals

CYCLES = np.arange(1, 5)
MANY = np.arange(1, 1_000_001)

SEQUENCES = [
    partial(geometric, ratio=0.5),
    partial(geometric, ratio=1 - 1e-9),
    partial(finite, horizon=10),
    quadratic,
    partial(power, excess=0.01),
    partial(power, excess=500.0),
    harmonic,
]


def test_the_first_weights():
    assert geometric(CYCLES, 0.5).tolist() == [1 / 2, 1 / 4, 1 / 8, 1 / 16]
    assert finite(CYCLES, 2).tolist() == [1, 1, 0, 0]
    assert quadratic(CYCLES).tolist() == [1 / 2, 1 / 6, 1 / 12, 1 / 20]
    assert power(CYCLES, 1).tolist() == pytest.approx([1, 1 / 4, 1 / 9, 1 / 16], rel=1e-15)
    assert harmonic(CYCLES)[2] == pytest.approx(1 / (3 * np.log(4) ** 2), rel=1e-15)


@pytest.mark.parametrize("ratio", [1e-200, 0.3, 0.99, 1 - 1e-6])
def test_geometric_weights_add_up_to_the_closed_form(ratio):
    sums = running_totals(geometric(MANY, ratio))[1:]
    closed = -ratio * np.expm1(MANY * np.log(ratio)) / (1 - ratio)
    np.testing.assert_allclose(sums, closed, rtol=1e-9)


@pytest.mark.parametrize("ratio", [1e-200, 0.3, 0.99, 1 - 1e-6])
def test_powers_that_underflow_are_0_in_numpy_too(ratio):
    assert np.array_equal(geometric(MANY, ratio), np.power(ratio, MANY))


def test_quadratic_weights_add_up_to_the_closed_form():
    sums = running_totals(quadratic(MANY))[1:]
    np.testing.assert_allclose(sums, 1 - 1 / (MANY + 1.0), rtol=1e-14)


def test_power_weights_approach_their_limit():
    assert running_totals(power(MANY, 1.0))[-1] == pytest.approx(np.pi**2 / 6, rel=1e-6)


def test_harmonic_weights_are_summable_but_barely():
    """The rest after n is about 1 / ln n, so each tenfold n adds 1/ln(n) - 1/ln(10 n)."""
    sums = running_totals(harmonic(MANY))
    added = sums[1_000_000] - sums[100_000]
    assert added == pytest.approx(1 / np.log(1e5) - 1 / np.log(1e6), rel=1e-3)


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_long_traces_keep_their_payoff(sequence):
    assert discounted(np.ones(1_000_000), sequence) == 1
    assert discounted(np.full(1_000_000, 0.1), sequence) == 0.1
    assert -1 <= discounted(np.tile([1.0, -1.0], 500_000), sequence) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("sequence", SEQUENCES)
def test_very_long_traces_keep_their_payoff(sequence):
    assert discounted(np.full(10_000_000, 0.1), sequence) == 0.1


@pytest.mark.parametrize("sequence", SEQUENCES)
def test_earlier_rewards_never_weigh_less(sequence):
    weights = sequence(MANY)
    assert weights[0] > 0
    assert np.all(np.diff(weights) <= 0)
