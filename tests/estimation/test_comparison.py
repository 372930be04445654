"""The signed-rank test and the probability of improvement: SciPy's values, and exact coverage."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from omnimeter.estimation import probability_of_improvement, wilcoxon
from omnimeter.estimation.comparison import ALL_AVERAGES

scores = st.integers(-20, 20).map(lambda value: value / 4)
pairs = st.lists(st.tuples(scores, scores), min_size=1, max_size=25)
samples = st.lists(scores, min_size=1, max_size=25)


def ends(estimate):
    return estimate.low, estimate.value, estimate.high


@pytest.mark.parametrize("count", [1, 2, 5, 10, 30, 50])
def test_the_signed_rank_test_is_that_of_scipy(count):
    first, second = np.random.default_rng(count).normal(size=(2, count))
    ours, theirs = wilcoxon(first, second), stats.wilcoxon(first, second, method="exact")
    assert ours.statistic == pytest.approx(theirs.statistic)
    assert ours.p_value == pytest.approx(theirs.pvalue)


@pytest.mark.parametrize("seed", range(12))
def test_equal_and_zero_differences_have_the_exact_permutation_test(seed):
    first, second = np.random.default_rng(seed).integers(0, 4, size=(2, 9))
    theirs = stats.wilcoxon(
        first, second, zero_method="pratt", method=stats.PermutationMethod(n_resamples=100_000)
    )
    ours = wilcoxon(first, second)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_many_pairs_have_the_normal_approximation():
    first, second = np.random.default_rng(2).integers(0, 9, size=(2, 800))
    theirs = stats.wilcoxon(first, second, zero_method="pratt", correction=True)
    assert wilcoxon(first, second).p_value == pytest.approx(theirs.pvalue, rel=1e-6)


def test_the_estimate_is_the_median_of_averages():
    """Hollander and Wolfe's example 3.1, where the exact interval is -0.786 to -0.010 at 0.961."""
    before = [1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]
    after = [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
    estimate = wilcoxon(after, before, 0.96)
    assert estimate.value == pytest.approx(-0.46)
    assert estimate.low <= -0.786
    assert estimate.high >= -0.010
    assert estimate.p_value == pytest.approx(0.0390625)


def test_symmetric_differences_have_the_exact_interval():
    differences = np.arange(-6, 7.0) ** 3 + 5
    averages = np.sort((differences[:, None] + differences)[np.triu_indices(13)] / 2)
    # Of 13 differences rank sums up to 17 have a probability of 2.4 %: the 18th counts.
    assert ends(wilcoxon(differences, np.zeros(13))) == (averages[17], 5, averages[-18])


def test_counted_averages_are_the_sorted_ones():
    values = np.random.default_rng(4).normal(size=ALL_AVERAGES + 100).round(2)
    averages = np.sort((values[:, None] + values)[np.triu_indices(len(values))] / 2)
    estimate = wilcoxon(values, np.zeros(len(values)))
    assert estimate.value == pytest.approx(np.median(averages))
    for end in (estimate.low, estimate.high):
        assert np.min(np.abs(averages - end)) < 1e-12


def test_an_interval_that_cannot_be_said_is_the_support():
    five = wilcoxon([1, 2, 3, 4, 5], [0] * 5)
    assert (five.low, five.high, five.bounded) == (-inf, inf, True)
    assert five.p_value == pytest.approx(2 / 32)
    bounded = wilcoxon([1, 0.5, 1], [0, 0, 0], support=(0, 1))
    assert (bounded.low, bounded.high, bounded.bounded) == (-1, 1, True)
    ten, eleven = (wilcoxon([1.0] * count, [0.0] * count) for count in (10, 11))
    assert (ten.bounded, eleven.bounded) == (True, False)
    assert ends(eleven) == (1, 1, 1)
    assert wilcoxon([1.0], [1.0]).p_value == 1


@given(pairs)
def test_swapping_mirrors_the_difference(values):
    first, second = np.array(values).T
    one, other = wilcoxon(first, second), wilcoxon(second, first)
    assert ends(one) == pytest.approx([-end for end in reversed(ends(other))])
    assert one.p_value == pytest.approx(other.p_value)
    assert 0 < one.p_value <= 1
    assert one.low <= one.value <= one.high


@given(pairs, scores, st.sampled_from([0.5, 2.0, 8.0]))
def test_shift_and_scale_move_the_interval(values, shift, scale):
    first, second = np.array(values).T
    plain, moved = wilcoxon(first, second), wilcoxon(first * scale + shift, second * scale)
    by_hand = [end * scale + shift for end in ends(plain)]
    assert ends(moved) == pytest.approx(by_hand)


@pytest.mark.parametrize("count", [5, 10, 30])
def test_paired_improvements_are_covered_whatever_the_share_of_equal_pairs(count):
    """By exact computation over all probabilities of wins, ties and losses."""
    outcomes = np.array(
        [(w, t, count - w - t) for w in range(count + 1) for t in range(count + 1 - w)]
    )
    estimates = [
        probability_of_improvement(np.repeat([1, 0, -1], each), np.zeros(count))
        for each in outcomes
    ]
    low, high = np.array([(each.low, each.high) for each in estimates]).T
    ways = np.array(
        [stats.multinomial(count, (1 / 3,) * 3).pmf(each) * 3**count for each in outcomes]
    )
    for tied in np.concatenate([[0.0], np.geomspace(0.1 / count, 1, 25)]):
        for share in np.linspace(0, 1, 41):
            won = (1 - tied) * share
            shares = np.array([won, tied, max(1 - tied - won, 0.0)])
            probability = ways * np.prod(shares**outcomes, axis=1)
            truth = won + tied / 2
            held = (low - 1e-9 <= truth) & (truth <= high + 1e-9)
            assert probability[held].sum() >= 0.949


def test_improvement_counts_wins_and_half_of_what_is_equal():
    first, second = [3, 2, 2, 0], [1, 2, 1, 1]
    assert probability_of_improvement(first, second).value == 2.5 / 4
    unpaired = probability_of_improvement(first, [1, 2], paired=False)
    assert unpaired.value == stats.mannwhitneyu(first, [1, 2]).statistic / 8
    assert unpaired.count == 6


def test_what_always_wins_has_the_exact_interval_of_as_many_wins():
    for estimate in (
        probability_of_improvement([1] * 5, [0] * 5),
        probability_of_improvement([1, 2, 3, 4, 5], [0] * 8, paired=False),
    ):
        expected = stats.binomtest(5, 5).proportion_ci(0.95)
        assert ends(estimate) == pytest.approx((expected.low, 1, expected.high))


def test_what_is_always_equal_is_not_decided():
    for paired in (True, False):
        estimate = probability_of_improvement([1.0] * 6, [1.0] * 6, paired=paired)
        assert estimate.value == 0.5
        assert estimate.low < 0.3
        assert estimate.high > 0.7
        assert estimate.bounded is not paired


def test_rounding_errors_are_equal():
    for paired in (True, False):
        assert probability_of_improvement([0.1 + 0.2], [0.3], paired=paired).value == 0.5


def test_beyond_the_exact_numbers_the_interval_goes_on():
    small, large = (
        probability_of_improvement(np.repeat([1, 0, -1], each), np.zeros(sum(each)))
        for each in ((9_000, 500, 500), (9_001, 500, 500))
    )
    assert ends(large) == pytest.approx(ends(small), abs=1e-4)


@given(samples, samples)
def test_swapping_samples_turns_the_improvement_round(first, second):
    one, other = (
        probability_of_improvement(*both, paired=False)
        for both in ((first, second), (second, first))
    )
    assert ends(one) == pytest.approx([1 - end for end in reversed(ends(other))])
    assert 0 <= one.low <= one.value <= one.high <= 1


@given(pairs)
def test_only_the_order_of_values_counts(values):
    first, second = np.array(values).T
    for paired in (True, False):
        plain = probability_of_improvement(first, second, paired=paired)
        bent = probability_of_improvement(np.exp(first), np.exp(second), paired=paired)
        assert ends(plain) == pytest.approx(ends(bent))
        turned = probability_of_improvement(second, first, paired=paired)
        assert turned.value == pytest.approx(1 - plain.value)


@pytest.mark.parametrize("compare", [wilcoxon, probability_of_improvement])
@pytest.mark.parametrize(
    ("first", "second", "confidence", "message"),
    [
        ([1.0, 2.0], [1.0], 0.95, "cannot be paired"),
        ([], [], 0.95, "one value or more"),
        ([np.nan], [1.0], 0.95, "not finite"),
        ([1.0], [2.0], 1.0, "confidence"),
    ],
)
def test_bad_samples_are_rejected(compare, first, second, confidence, message):
    with pytest.raises(ValueError, match=message):
        compare(first, second, confidence)
