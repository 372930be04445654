"""The mean over strata: what it is, and whether its interval covers."""

from itertools import pairwise

import numpy as np
import pytest

from omnimeter.estimation import mean, stratified_difference, stratified_mean, stratified_test

WIDE = (-1.0, 1.0)


def test_the_mean_of_the_means():
    estimate = stratified_mean([[0.0, 1.0], [0.0, 0.5, 1.0, 0.5]])
    assert estimate.value == 0.5
    assert estimate.count == 6


def test_one_stratum_is_the_plain_mean():
    values = [0.1, 0.4, 0.3]
    assert stratified_mean([values], support=(-1, 1)) == mean(values, support=(-1, 1))


@pytest.mark.parametrize("thin", [[0.5], [0.5, 0.5], [0.5] * 20])
def test_a_stratum_of_unknown_spread_is_not_taken_for_certain(thin):
    values = [0.1, 0.4, 0.3, 0.2, 0.5, -0.1, 0.0, 0.2, 0.7]
    estimate = stratified_mean([values, thin], support=WIDE)
    assert estimate.value == pytest.approx((sum(values) / len(values) + 0.5) / 2)
    assert estimate.bounded
    alone = mean(thin, support=WIDE)
    assert estimate.high - estimate.low > (alone.high - alone.low) / 2


def test_constant_strata_share_what_was_not_seen():
    """Three strata of twenty are as sure as sixty values, not as three times twenty."""
    strata = [[0.0] * 20] * 3
    estimate = stratified_mean(strata, support=WIDE)
    assert estimate.high == pytest.approx(1 - 0.025 ** (1 / 60)) == pytest.approx(0.060, abs=0.001)
    nearly = stratified_mean([*strata[1:], [0.0] * 19 + [0.0005]], support=WIDE)
    assert nearly.high == pytest.approx(estimate.high, rel=0.01)


def test_constant_strata_that_differ_a_little_are_no_surer():
    """Their distance is no spread: it says nothing of what was not seen."""
    strata = [[0.0] * 20, [0.0005] * 20, [0.001] * 20]
    estimate = stratified_mean(strata, support=WIDE)
    assert estimate.bounded
    assert estimate.high == pytest.approx(1 - 0.025 ** (1 / 60), abs=0.001)


def test_constant_strata_put_what_was_not_seen_where_it_matters_most():
    """The best upper end is that of all ways to share a likelihood of 1/40, found by trying."""
    low, high = [-0.5] * 8, [0.4] * 5
    estimate = stratified_mean([low, high], support=WIDE)
    best = 0.0
    for share in np.linspace(0, 1, 20_001):
        first, second = 1 - 0.025 ** (share / 8), 1 - 0.025 ** ((1 - share) / 5)
        best = max(best, (-0.5 + 1.5 * first + 0.4 + 0.6 * second) / 2)
    assert estimate.high == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("agent", ["constant", "rare", "spread"])
def test_more_tests_do_not_make_a_wider_interval(agent):
    """A battery of seven exercises, taken one to thirty times."""
    rng = np.random.default_rng(5)
    levels = np.linspace(-0.2, 0.8, 7)
    draws = {
        "constant": np.zeros((7, 30)),
        "rare": -0.6 * (rng.random((7, 30)) < 0.1),
        "spread": rng.uniform(-0.2, 0.2, (7, 30)),
    }[agent]
    strata = levels[:, None] + draws
    widths = []
    for tests in (1, 2, 3, 5, 10, 30):
        estimate = stratified_mean([each[:tests] for each in strata], support=WIDE)
        widths.append(estimate.high - estimate.low)
    assert all(later < earlier for earlier, later in pairwise(widths)), widths


def test_the_distance_of_strata_is_no_uncertainty():
    near, far = [0.0, 0.1, 0.2, 0.05, 0.15], [0.7, 0.8, 0.9, 0.75, 0.85]
    apart = stratified_mean([near, far])
    plain = mean([*near, *far])
    assert apart.value == pytest.approx(plain.value)
    assert apart.high - apart.low < 0.5 * (plain.high - plain.low)


@pytest.mark.parametrize(
    ("kind", "count"),
    [
        pytest.param(kind, count, marks=() if quick else pytest.mark.slow)
        for kind, few in (("normal", 5), ("uniform", 10), ("three-valued", 30))
        for count in (5, 10, 30)
        for quick in [count == few]
    ],
)
def test_the_interval_covers(kind, count):
    rng = np.random.default_rng(11)
    means, spreads = np.array([-0.5, 0.0, 0.6]), np.array([0.3, 0.1, 0.2])
    draws = {
        "normal": lambda: rng.standard_normal((3, count)),
        "uniform": lambda: rng.uniform(-1.7, 1.7, (3, count)),
        "three-valued": lambda: rng.integers(-1, 2, (3, count)).astype(float),
    }[kind]
    covered = 0
    for _ in range(500):
        values = means[:, None] + spreads[:, None] * draws()
        estimate = stratified_mean(list(values))
        covered += estimate.low <= means.mean() <= estimate.high
    assert 0.925 <= covered / 500 <= 0.985


def test_differences_are_paired_within_strata():
    first = [[0.5, 0.6, 0.9], [-0.2, 0.1, 0.0]]
    second = [[0.4, 0.4, 0.6], [-0.6, -0.2, -0.5]]
    gaps = [[0.1, 0.2, 0.3], [0.4, 0.3, 0.5]]
    estimate = stratified_difference(first, second, support=(-1, 1))
    expected = stratified_mean(gaps, support=(-2, 2))
    assert estimate.value == pytest.approx(expected.value)
    assert (estimate.low, estimate.high) == pytest.approx((expected.low, expected.high))
    assert stratified_test(first, second) < 0.05
    assert stratified_test(first, first) == 1.0


def test_the_test_agrees_with_the_interval():
    rng = np.random.default_rng(3)
    for _ in range(200):
        first, second = rng.normal(0.2, 1, (2, 3, 8))
        estimate = stratified_difference(list(first), list(second))
        beyond = not estimate.low <= 0 <= estimate.high
        assert (stratified_test(list(first), list(second)) < 0.05) == beyond


def test_very_small_values_have_their_interval():
    strata = np.array([[0.1, 0.4, 0.3], [0.7, 0.8, 0.4]])
    plain, small = stratified_mean(list(strata)), stratified_mean(list(1e-200 * strata))
    for end in ("value", "low", "high"):
        assert getattr(small, end) == pytest.approx(1e-200 * getattr(plain, end), rel=1e-9, abs=0)
    shifted = strata + np.array([[0.1, 0.2, 0.1], [0.3, 0.1, 0.2]])
    p_value = stratified_test(list(1e-200 * strata), list(1e-200 * shifted))
    assert p_value == pytest.approx(stratified_test(list(strata), list(shifted)), rel=1e-9)
