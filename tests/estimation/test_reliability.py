"""Reliability: how stable a running estimate is, and how much of a table of scores is error."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from omnimeter.estimation import intraclass, stability

STEPS = np.arange(100)


def oscillating() -> np.ndarray:
    """The left of Figure 7.1 (Lambda thesis): it still swings when it is stopped at 0.47."""
    return 0.47 + 0.2 * np.sin(2 * np.pi * (STEPS - STEPS[-1]) / 15)


def converged() -> np.ndarray:
    """The right of Figure 7.1: early swings, then 0.47."""
    return 0.47 + 0.5 * np.exp(-STEPS / 8) * np.sin(STEPS / 2)


def climbing() -> np.ndarray:
    """Figure 7.2: it was stable, and then gets better and better."""
    return 0.47 + np.where(STEPS < 50, 0.0, 0.3 * (STEPS - 50) / 50)


def test_a_converged_estimate_is_more_stable_than_one_that_swings_or_climbs():
    assert stability(converged()) > 0.99
    assert stability(oscillating()) < 0.95
    assert stability(climbing()) < 0.95


def test_a_climb_that_ended_long_ago_is_forgiven():
    finished = np.concatenate([climbing(), np.full(200, climbing()[-1])])
    assert stability(finished) == 1.0


@pytest.mark.parametrize(
    ("running", "expected"),
    [
        ([0.3], 0.0),  # a single estimate
        ([0.3, 0.3], 1.0),
        ([0.0, 1.0], 0.5),  # half of the scale from -1 to 1
        ([1.0, -1.0], 0.0),  # the whole scale
        ([9.0, 9.0, 0.4, 0.0], 0.8),  # the last half: one earlier estimate, 0.4 away
        ([9.0, 9.0, 9.0, 0.3, -0.4, 0.0], 1 - math.sqrt(0.125) / 2),
    ],
)
def test_stability_by_hand(running, expected):
    assert stability(running) == pytest.approx(expected)


def test_the_part_and_the_scale_can_be_chosen():
    assert stability([0.5, 0.0, 0.0], tail=1.0, span=1.0) == pytest.approx(1 - math.sqrt(0.125))
    assert stability([0.5, 0.0, 0.0], tail=0.1) == 1.0


def test_spread_and_drift_both_count():
    running = np.random.default_rng(1).uniform(-1, 1, size=41)
    tail, last = running[-21:-1], running[-1]
    moved = math.sqrt(np.var(tail) + (np.mean(tail) - last) ** 2)
    assert stability(running) == pytest.approx(1 - moved / 2)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30), st.floats(0.01, 1))
def test_stability_is_a_share(running, tail):
    assert 0 <= stability(running, tail) <= 1


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30), st.floats(0, 1))
def test_smaller_movements_about_the_same_end_are_more_stable(running, factor):
    numbers = np.array(running)
    calmer = numbers[-1] + factor * (numbers - numbers[-1])
    assert stability(calmer) >= stability(numbers) - 1e-12


@pytest.mark.parametrize(
    "wrong",
    [
        {"running": []},
        {"running": [0.0, math.nan]},
        {"running": [0.0], "tail": 0.0},
        {"running": [0.0], "tail": 1.1},
        {"running": [0.0], "span": 0.0},
    ],
)
def test_stability_rejects_invalid_arguments(wrong):
    with pytest.raises(ValueError, match=r"sample|share"):
        stability(**wrong)


# From several repetitions


SHROUT_AND_FLEISS = [
    [9, 2, 5, 8],
    [6, 1, 3, 2],
    [8, 4, 6, 8],
    [7, 1, 2, 6],
    [10, 5, 6, 9],
    [6, 2, 4, 7],
]
"""Six targets and four judges, P. E. Shrout and J. L. Fleiss (1979): ICC(3, 4) is 0.91."""


def test_the_published_example():
    estimate = intraclass(SHROUT_AND_FLEISS)
    assert estimate.value == pytest.approx(0.9093, abs=5e-5)
    assert (estimate.low, estimate.high) == pytest.approx((0.6758, 0.9860), abs=2e-4)
    assert (estimate.confidence, estimate.count) == (0.95, 24)


def test_the_interval_is_the_f_interval():
    rng = np.random.default_rng(5)
    table = rng.normal(size=(7, 1)) + rng.normal(size=(1, 3)) + rng.normal(size=(7, 3))
    estimate = intraclass(table, confidence=0.9)
    ratio = 1 / (1 - estimate.value)
    assert estimate.low == pytest.approx(1 - stats.f.ppf(0.95, 6, 12) / ratio)
    assert estimate.high == pytest.approx(1 - 1 / (ratio * stats.f.ppf(0.95, 12, 6)))


@given(st.integers(0, 2**32), st.floats(0.01, 100), st.floats(-10, 10))
def test_scale_and_common_difficulty_of_repetitions_do_not_matter(seed, factor, shift):
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(5, 4)) + rng.normal(size=(5, 1))
    changed = factor * table + shift * rng.normal(size=(1, 4))
    one, other = intraclass(table), intraclass(changed)
    assert (one.value, one.low, one.high) == pytest.approx((other.value, other.low, other.high))
    assert 0 <= one.low <= one.value <= one.high <= 1


def test_more_repetitions_are_more_reliable():
    rng = np.random.default_rng(2)
    table = rng.normal(size=(20, 1)) + 2 * rng.normal(size=(20, 40))
    assert intraclass(table[:, :4]).value < intraclass(table).value - 0.2


@pytest.mark.parametrize(
    "table",
    [
        [[1.0, 2.0, 3.0]],  # one agent
        [[1.0], [2.0]],  # one repetition
        [[0.1, 0.3], [0.1, 0.3]],  # no difference and no error
    ],
)
def test_reliability_is_undefined(table):
    estimate = intraclass(table)
    assert math.isnan(estimate.value)
    assert (estimate.low, estimate.high) == (0.0, 1.0)


def test_without_any_error_its_spread_is_unknown():
    estimate = intraclass([[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]])
    assert (estimate.value, estimate.low, estimate.high) == (1.0, 0.0, 1.0)


def test_equal_means_do_not_prove_that_agents_are_equal():
    estimate = intraclass([[1.0, -1.0], [-1.0, 1.0]])
    assert (estimate.value, estimate.low, estimate.high) == (0.0, 0.0, 1.0)


@pytest.mark.parametrize(
    "wrong", [[], [1.0, 2.0], [[]], [[1.0, math.nan], [1.0, 2.0]], [[[1.0]]], [[math.inf, 0.0]]]
)
def test_a_table_must_be_one(wrong):
    with pytest.raises(ValueError, match="a table has"):
        intraclass(wrong)


def coverage(agents: int, repetitions: int, reliability: float, simulations: int) -> float:
    """How often the interval holds the true reliability of normal scores in paired repetitions."""
    rng = np.random.default_rng([agents, repetitions])
    spread = math.sqrt(reliability / (1 - reliability) / repetitions)
    hits = 0
    for _ in range(simulations):
        table = rng.normal(size=(1, repetitions)) + rng.normal(size=(agents, repetitions))
        estimate = intraclass(table + spread * rng.normal(size=(agents, 1)))
        hits += estimate.low <= reliability <= estimate.high
    return hits / simulations


@pytest.mark.slow
@pytest.mark.parametrize("agents", [5, 20])
@pytest.mark.parametrize("repetitions", [2, 10])
@pytest.mark.parametrize("reliability", [0.3, 0.8, 0.95])
def test_the_interval_covers_the_true_reliability(agents, repetitions, reliability):
    assert 0.94 <= coverage(agents, repetitions, reliability, 10_000) <= 0.96
