"""Metrics of a task by hand, and tolerances whose true values are known."""

from __future__ import annotations

from math import inf, isnan

import numpy as np
import pytest

from omnimeter.contract import InvalidInputError
from omnimeter.measures.performance import (
    RATES,
    Counts,
    improvement_rates,
    performance,
    rates,
    ratio,
    relative_reward,
    search,
    tolerances,
)


def test_rates_are_shares_and_none_where_there_is_nothing_to_share():
    counts = Counts(tp=6, fp=2, tn=8, fn=4)
    assert [getattr(counts, name) for name in RATES] == [0.6, 0.8, 0.75, 8 / 12]
    nothing = Counts(0, 0, 0, 0)
    assert [getattr(nothing, name) for name in RATES] == [None] * 4
    assert np.array_equal(rates([counts, nothing], "ppv"), [0.75, np.nan], equal_nan=True)
    with pytest.raises(InvalidInputError, match="negative"):
        Counts(1, -1, 0, 0)


def test_m_multiplies_targets_by_completion_and_divides_by_time_and_area():
    """Equation (5): 20 of 100 targets after 50 turns in a quarter of the area."""
    assert performance(20, 0.2, 50, 0.25) == pytest.approx(0.32)
    with pytest.raises(InvalidInputError, match="time 0"):
        performance(1, 1, 0, 0.5)


# Two rows of three squares; targets in squares 0 and 4, another object in 5.
OBJECTS = {0: True, 4: True, 5: False}
PATH = [(0, 0), (0, 0), (1, 0), (1, 1), (1, 1), (1, 1), (1, 2), (1, 2), (1, 2)]
SAID = [1, -1, -1, 0, 1, -1, 1, 0]


def test_a_search_is_followed_turn_by_turn():
    result = search(OBJECTS, (2, 3), PATH, SAID)
    assert result.tp.tolist() == [1] * 8  # square 4 was rejected first, which counts
    assert result.fp.tolist() == [0] * 6 + [1] * 2
    assert (result.area * 6).round(9).tolist() == [1, 2, 3, 3, 3, 4, 4, 4]
    assert result.counts() == Counts(tp=1, fp=1, tn=0, fn=1)
    assert result.counts(3) == Counts(tp=1, fp=0, tn=1, fn=1)
    assert result.counts(0) == Counts(0, 0, 1, 2)
    assert result.performance()[-1] == pytest.approx(1 * 0.5 / (8 * 4 / 6))
    assert result.performance(subtract=True)[[0, -1]] == pytest.approx([0.5 / (1 / 6), 0])


def test_time_goes_on_after_a_searcher_has_stopped():
    result = search(OBJECTS, (2, 3), PATH, SAID)
    assert result.performance_at(3) == pytest.approx(result.performance()[2])
    assert result.performance_at(16) == pytest.approx(1 * 0.5 / (16 * 4 / 6))
    assert result.performance_at(16, subtract=True) == 0
    assert search(OBJECTS, (2, 3), [(0, 0)], []).performance_at(5) == 0


def test_perceived_squares_are_covered_too():
    result = search(OBJECTS, (2, 3), PATH, SAID, radius=1)
    assert (result.area * 6).round(9).tolist() == [3, 4, 5, 5, 5, 6, 6, 6]
    still = search({0: True}, (5, 5), [(2, 2)] * 2, [-1], radius=2)
    assert still.area.tolist() == [13 / 25]


def test_searches_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInputError, match="8 turns and 8 positions"):
        search(OBJECTS, (2, 3), PATH[1:], SAID)
    with pytest.raises(InvalidInputError, match="no target"):
        search({5: False}, (2, 3), PATH, SAID)


def test_average_reward_is_compared_with_the_ideal():
    assert relative_reward([0, 1, 0, 1], 2.0) == 0.25
    for rewards, ideal in (([], 1.0), ([1.0], 0.0)):
        with pytest.raises(InvalidInputError, match="ideal"):
            relative_reward(rewards, ideal)


def test_improvement_rates_are_slopes_between_moments():
    slopes = improvement_rates([[0, 2, 3], [0, 4, 3]], [0, 1, 3])
    assert [each.value for each in slopes] == [3.0, 0.0]
    assert all(each.low < each.value < each.high for each in slopes)
    with pytest.raises(InvalidInputError, match="moments"):
        improvement_rates([[1, 2]], [1, 1])


def test_tolerances_are_ratios_of_differences_along_a_series():
    """M falls by 0.5 for each unit of X, then by 0.1."""
    rng = np.random.default_rng(3)
    X = np.array([0.0, 2.0, 12.0])
    noise = rng.normal(0, 0.01, (50, 3))
    first, second, whole = tolerances(X, np.array([3.0, 2.0, 1.0]) + noise)
    assert (first.first, first.last, whole.first, whole.last) == (0, 1, 0, 2)
    for each, exact in ((first, -2), (second, -10), (whole, -6)):
        assert each.reason == ""
        assert each.value.low < exact < each.value.high
        assert each.response.low < 1 / exact < each.response.high
        assert each.value.value == pytest.approx(1 / each.response.value)


def test_a_tolerance_is_undefined_where_performance_may_not_change():
    rng = np.random.default_rng(4)
    X = np.array([1.0, 2.0])
    (flat,) = tolerances(X, rng.normal(5, 1, (20, 2)))
    assert (flat.value.low, flat.value.high) == (-inf, inf)
    assert "contains 0" in flat.reason
    assert flat.response.low < 0 < flat.response.high < inf
    (same,) = tolerances(X, np.ones((20, 2)))
    assert "the same in both worlds" in same.reason
    assert isnan(same.value.value)
    assert same.response.value == 0
    missing = np.array([[1.0, np.nan], [np.nan, 2.0], [1.0, 2.0]])
    (one,) = tolerances(X, missing)
    assert "in 1 repetitions" in one.reason
    with pytest.raises(InvalidInputError, match="shape"):
        tolerances([1, 2, 3], np.ones((20, 2)))


@pytest.mark.slow
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_intervals_of_ratios_hold_as_often_as_they_say(confidence):
    """Correlated normal pairs; where the denominator is not significant, they are infinite."""
    rng = np.random.default_rng(5)
    trials, held, finite = 4_000, 0, 0
    for _ in range(trials):
        below = rng.normal(0.5, 1, 20)
        above = 1.5 + 0.6 * (below - 0.5) + rng.normal(0, 0.8, 20)
        interval = ratio(above, below, confidence)
        finite += interval.high < inf
        held += interval.low <= 3 <= interval.high
    assert 0.2 < finite / trials < 0.95
    # Sets that are not intervals are reported as unbounded, so that more of them hold.
    assert confidence - 0.02 < held / trials


def test_fieller_is_exact_for_a_constant_denominator():
    """Then it is Student's interval, divided by the constant."""
    interval = ratio([1.0, 2.0, 3.0, 6.0], [2.0] * 4)
    half = 3.182446305284263 * np.std([1, 2, 3, 6], ddof=1) / 2
    assert interval.value == 1.5
    assert (interval.low, interval.high) == pytest.approx(((3 - half) / 2, (3 + half) / 2))


def test_five_values_that_hide_a_rare_one_are_no_certainty() -> None:
    """One value of ten is far away: among five there is often none, and no spread at all."""
    rng, held, runs = np.random.default_rng(0), 0, 400
    for _ in range(runs):
        rare = (rng.random((5, 2)) < 0.1) * 10.0 - 1.0
        (whole,) = tolerances([1.0, 2.0], 0.3 * rare + [3.0, 2.0])
        held += whole.value.low <= -1 <= whole.value.high
    assert held / runs > 0.95
    (same,) = tolerances([1.0, 2.0], [[3.0, 2.0]] * 5)
    assert same.reason
    assert (same.value.low, same.value.high) == (-np.inf, np.inf)
