"""The estimates: known values, the border cases, and what they refuse."""

from math import inf, nan

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from omnimeter.estimation import (
    Estimate,
    bootstrap,
    difference,
    interquartile_mean,
    mean,
    paired_difference,
    paired_z,
    proportion,
    stratified_test,
)
from omnimeter.estimation.likelihood import Part, highest_mean

A = [0.1, 0.5, 0.4, 0.9, -0.3]
B = [0.0, 0.7, 0.1, 0.6, -0.2]
EVEN = [-0.5, 0.6, -0.3, 0.4, 0.1, 0.0, -0.4, 0.7, 0.5, -0.3]
WIDE = (-1.0, 1.0)
rewards = st.lists(st.floats(-1, 1), min_size=1, max_size=20)


def interval(estimate):
    return (estimate.low, estimate.high)


def paired_test(first, second, support=None):
    return stratified_test([first], [second], support)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_the_mean_has_the_interval_of_student_where_values_are_even(confidence):
    expected = stats.ttest_1samp(EVEN, 0).confidence_interval(confidence)
    estimate = mean(EVEN, confidence)
    assert interval(estimate) == pytest.approx(tuple(expected))
    assert (estimate.value, estimate.confidence, estimate.count) == (
        pytest.approx(0.08),
        confidence,
        10,
    )
    assert not estimate.bounded


def test_the_paired_difference_has_the_interval_of_student_where_values_are_even():
    other = np.zeros(10)
    expected = stats.ttest_rel(EVEN, other).confidence_interval(0.9)
    assert interval(paired_difference(EVEN, other, 0.9)) == pytest.approx(tuple(expected))
    assert paired_test(EVEN, other) == pytest.approx(stats.ttest_rel(EVEN, other).pvalue)


def test_z_is_the_statistic_of_the_paired_t_test():
    assert paired_z(A, B) == pytest.approx(stats.ttest_rel(A, B).statistic)
    assert paired_z(A, A) == 0.0
    assert paired_z([1.0, 2.0], [0.0, 1.0]) == inf
    assert paired_z([0.0, 1.0], [1.0, 2.0]) == -inf
    with pytest.raises(ValueError, match="two pairs"):
        paired_z([1.0], [2.0])


def test_the_difference_has_the_interval_of_welch_where_values_are_even():
    other = 3 * np.array(EVEN[:7])
    expected = stats.ttest_ind(EVEN, other, equal_var=False).confidence_interval(0.9)
    estimate = difference(EVEN, other, 0.9)
    assert interval(estimate) == pytest.approx(tuple(expected))
    assert estimate.count == 17


def test_a_skewed_sample_has_a_skewed_interval():
    """The end on the side of the long tail is that of the empirical likelihood."""
    values = np.random.default_rng(4).exponential(0.1, 40)
    student = stats.ttest_1samp(values, 0).confidence_interval()
    estimate = mean(values, support=WIDE)
    quantile = stats.t.ppf(0.975, 39)
    end = highest_mean([Part(values)], 20 * np.log1p(quantile**2 / 39))
    assert interval(estimate) == pytest.approx((student.low, end))
    assert end > student.high + 0.1 * (student.high - student.low) / 2


@given(values=st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_few_carriers_make_a_bounded_interval(values):
    distances = np.array(values) - np.mean(values)
    fourth = np.sum(distances**4)
    carriers = np.sum(distances**2) ** 2 / fourth if fourth > 1e-30 else 0.0
    estimate = mean(values, support=WIDE)
    assume(abs(carriers - 4) > 1e-6)
    assert estimate.bounded == (carriers < 4)
    if estimate.bounded:
        upper = highest_mean([Part(np.array(values), 1.0, 1.0)], np.log(40))
        assert estimate.high == pytest.approx(upper)


def test_one_small_value_does_not_make_an_interval_short():
    constant, nearly = [0.0] * 20, [0.0] * 19 + [0.0005]
    widths = [np.diff(interval(mean(each, support=WIDE)))[0] for each in (constant, nearly)]
    assert widths[1] == pytest.approx(widths[0], rel=0.01)


@given(
    values=st.lists(st.floats(-1, 1), min_size=2, max_size=30),
    more=st.floats(-1, 1),
)
def test_an_end_and_its_p_value_agree(values, more):
    shift = np.array(values) - more
    p_value = paired_test(shift, np.zeros(len(shift)), (-2.0, 2.0))
    for factor in (0.9, 1.1):
        if 1e-9 < p_value * factor < 1:
            estimate = mean(shift, 1 - p_value * factor, (-4.0, 4.0))
            excluded = not estimate.low <= 0 <= estimate.high
            assert excluded == (factor > 1) or abs(estimate.value) < 1e-9


@pytest.mark.parametrize(("successes", "count"), [(0, 10), (3, 10), (10, 10), (1, 1), (77, 1_000)])
def test_the_ends_of_a_proportion_have_half_the_error_rate_as_mid_p(successes, count):
    estimate = proportion(successes, count, 0.9)
    low, high = stats.binom(count, estimate.low), stats.binom(count, estimate.high)
    above = low.sf(successes) + low.pmf(successes) / 2
    below = high.cdf(successes) - high.pmf(successes) / 2
    assert estimate.low == 0 if successes == 0 else above == pytest.approx(0.05, abs=1e-12)
    assert estimate.high == 1 if successes == count else below == pytest.approx(0.05, abs=1e-12)
    exact = stats.binomtest(successes, count).proportion_ci(0.9, method="exact")
    assert exact.low <= estimate.low <= estimate.value == successes / count
    assert estimate.value <= estimate.high <= exact.high


@given(count=st.integers(1, 200), share=st.floats(0, 1), confidence=st.floats(0.01, 0.999))
def test_the_interval_of_a_proportion_holds_it(count, share, confidence):
    estimate = proportion(round(share * count), count, confidence)
    assert 0 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.low < estimate.high


@given(values=rewards, confidence=st.floats(0.01, 0.999))
def test_the_interval_of_a_mean_holds_it_and_keeps_to_the_support(values, confidence):
    estimate = mean(values, confidence, support=WIDE)
    assert -1 <= estimate.low <= estimate.value <= estimate.high <= 1
    assert estimate.low < estimate.high


@given(first=rewards, second=rewards)
def test_the_interval_of_a_difference_holds_it_and_keeps_to_the_support(first, second):
    estimate = difference(first, second, support=WIDE)
    assert -2 <= estimate.low <= estimate.value <= estimate.high <= 2
    mirrored = difference(second, first, support=WIDE)
    assert (mirrored.low, mirrored.high) == pytest.approx((-estimate.high, -estimate.low))


def test_equal_values_do_not_make_an_interval_without_width():
    """At 10 equal values, what has a probability of 31 % or more would have been seen."""
    estimate = mean([0.5] * 10, support=WIDE)
    unseen = 1 - 0.025**0.1
    assert unseen == pytest.approx(0.308, abs=0.001)
    assert estimate.value == 0.5
    assert interval(estimate) == pytest.approx((0.5 - 1.5 * unseen, 0.5 + 0.5 * unseen))


def test_equal_values_at_a_border_leave_one_side():
    assert mean([1.0] * 10, support=WIDE).high == 1
    assert mean([-1.0] * 10, support=WIDE).low == -1


def test_equal_values_without_a_support_have_an_infinite_interval():
    assert interval(mean([0.5] * 10)) == (-inf, inf)
    low, high = interval(mean([0.5] * 10, support=(0, inf)))
    assert (0 < low < 0.5, high) == (True, inf)


def test_values_that_differ_by_rounding_are_equal():
    assert interval(mean([0.1 + 0.2, 0.3], support=WIDE)) == pytest.approx(
        interval(mean([0.3, 0.3], support=WIDE))
    )
    assert paired_difference([0.1 + 0.2, 0.5], [0.3, 0.5]) == Estimate(0.0, -inf, inf, 0.95, 2)
    assert paired_test([0.1 + 0.2, 0.5], [0.3, 0.5]) == 1


def test_small_numbers_are_not_taken_for_rounding():
    small, smaller = np.array(A) * 1e-200, np.array(B) * 1e-200
    assert np.array(interval(mean(small))) * 1e200 == pytest.approx(interval(mean(A)))
    estimate = interval(difference(small, smaller))
    assert np.array(estimate) * 1e200 == pytest.approx(interval(difference(A, B)))
    assert paired_test(small, smaller) == pytest.approx(paired_test(A, B))
    assert mean(small, support=WIDE) == mean(np.full(5, small[0]), support=WIDE)


def test_one_value_has_the_widest_interval():
    """By Markov's inequality, the mean is within 39 of 40 parts of the way to either end."""
    expected = 0.3 - 1.3 * 39 / 40, 0.3 + 0.7 * 39 / 40
    assert interval(mean([0.3], support=WIDE)) == pytest.approx(expected)
    assert mean([0.3]) == Estimate(0.3, -inf, inf, 0.95, 1)
    assert interval(paired_difference([0.3], [0.1], support=WIDE))[1] > 1.9
    assert interval(difference([0.3], [0.1, 0.2], support=WIDE))[1] > 1
    assert interval(difference([0.3], [0.1, 0.2])) == (-inf, inf)


def test_a_difference_to_equal_values_is_not_surer_than_they_are():
    seen, equal = A * 4, [0.5] * 20
    estimate, own = difference(seen, equal, support=WIDE), mean(equal, support=WIDE)
    assert estimate.bounded
    assert estimate.high - estimate.low > own.high - own.low


def test_rounding_beyond_the_support_is_cut_off():
    estimate = mean([1.0 + 2e-16, 1.0, 1.0], support=WIDE)
    assert (estimate.value, estimate.high) == (1, 1)


@pytest.mark.parametrize("values", [[], [nan, 1.0], [inf], [[1.0, 2.0]], [0.5, 1.1]])
def test_invalid_samples_are_rejected(values):
    with pytest.raises(ValueError, match="sample"):
        mean(values, support=WIDE)
    with pytest.raises(ValueError, match="sample"):
        difference(A, values, support=WIDE)
    with pytest.raises(ValueError, match="sample"):
        paired_difference(values, A, support=WIDE)


@pytest.mark.parametrize("confidence", [0, 1, 95, nan])
def test_invalid_confidences_are_rejected(confidence):
    with pytest.raises(ValueError, match="confidence"):
        mean(A, confidence)
    with pytest.raises(ValueError, match="confidence"):
        difference(A, B, confidence)
    with pytest.raises(ValueError, match="confidence"):
        proportion(1, 2, confidence)
    with pytest.raises(ValueError, match="confidence"):
        bootstrap(A, np.median, np.random.default_rng(1), confidence)


def test_pairs_need_partners():
    with pytest.raises(ValueError, match="5 values cannot be paired with 4"):
        paired_difference(A, B[:4])
    with pytest.raises(ValueError, match="5 values cannot be paired with 4"):
        paired_test(A, B[:4])


@pytest.mark.parametrize(("successes", "count"), [(0, 0), (3, 2), (-1, 2)])
def test_impossible_successes_are_rejected(successes, count):
    with pytest.raises(ValueError, match="successes"):
        proportion(successes, count)


@given(values=st.lists(st.floats(-1, 1), min_size=1, max_size=50))
def test_the_interquartile_mean_is_the_trimmed_mean_of_scipy(values):
    assert interquartile_mean(values) == pytest.approx(stats.trim_mean(values, 0.25), abs=1e-15)


def test_the_interquartile_mean_works_along_any_axis():
    table = np.random.default_rng(1).normal(size=(8, 5))
    assert interquartile_mean(table, axis=0).tolist() == [
        float(interquartile_mean(column)) for column in table.T
    ]


def test_the_bootstrap_is_repeatable_and_close_to_student_for_a_mean():
    values = np.random.default_rng(2).normal(size=200)
    first, again = (bootstrap(values, np.mean, np.random.default_rng(3)) for _ in range(2))
    assert first == again
    assert interval(first) == pytest.approx(interval(mean(values)), abs=0.02)
    assert (first.confidence, first.count) == (0.95, 200)


def test_the_bootstrap_falls_back_where_its_correction_is_not_defined():
    """Leaving out one of these never moves the median, but resampling sometimes does."""
    values = [0.0] * 12 + [1.0] * 8
    estimate = bootstrap(values, np.median, np.random.default_rng(1))
    assert (estimate.value, interval(estimate)) == (0, (0, 1))


@pytest.mark.parametrize("values", [[0.5], [0.5] * 10, [0.5] * 99 + [1.0]])
def test_a_bootstrap_without_any_change_has_the_widest_interval(values):
    rng = np.random.default_rng(1)
    assert interval(bootstrap(values, np.median, rng, support=WIDE)) == WIDE
    assert interval(bootstrap(values, np.median, rng)) == (-inf, inf)


def test_equal_differences_have_the_p_value_of_what_was_not_seen():
    """If 0 were the mean, a fifth of all differences would have to be -1 at least."""
    first, second = [0.5] * 10, [0.25] * 10
    assert paired_test(first, second, (0.0, 1.0)) == pytest.approx(2 * 0.8**10)
    assert paired_test(first, second) == 1
    assert paired_test(A, A) == 1
    assert paired_test([1.0], [0.0]) == 1
