"""The number of pairs that decides a comparison decides it as often as it says."""

from math import nan, sqrt

import numpy as np
import pytest
from scipy import stats

from omnimeter.estimation import (
    detectable,
    paired_difference,
    pairs_for,
    pairs_needed,
    stratified_difference,
)


def needed(differences, **options):
    return pairs_needed([differences], [np.zeros(len(differences))], **options)


@pytest.mark.parametrize(
    ("effect", "power", "count"),
    # G*Power 3.1, "Means: difference between two dependent means", two tails, error rate 0.05.
    [(0.5, 0.8, 34), (0.2, 0.8, 199), (0.8, 0.8, 15), (0.5, 0.95, 54), (1.5, 0.8, 6)],
)
def test_numbers_are_those_of_tables(effect, power, count):
    assert pairs_for(effect, power=power) == count
    assert pairs_for(-effect, power=power) == count
    assert detectable(1.0, count, power=power) <= effect
    assert detectable(1.0, count - 1, power=power) > effect


def test_small_effects_need_what_the_normal_distribution_says():
    expected = ((stats.norm.ppf(0.975) + stats.norm.ppf(0.8)) / 0.01) ** 2
    assert pairs_for(0.01) == pytest.approx(expected, rel=1e-4)
    assert pairs_for(0.001) is None
    assert pairs_for(0.0) is None


@pytest.mark.parametrize("effect", [0.3, 0.6, 1.0])
def test_the_stated_number_decides_it_with_the_stated_power(effect):
    """So often the interval that is reported leaves out 0, on the right side."""
    rng, count, runs = np.random.default_rng(1), pairs_for(effect), 600
    zeros = np.zeros(count)
    shown = sum(paired_difference(rng.normal(effect, 1, count), zeros).low > 0 for _ in range(runs))
    assert shown / runs == pytest.approx(0.8, abs=4 * sqrt(0.8 * 0.2 / runs) + 0.01)


def test_bounded_payoffs_are_decided_about_as_often():
    """Differences of 0 or 1 in a few exercises, far from normal."""
    rng, runs = np.random.default_rng(2), 600
    share = 0.15
    count = pairs_for(share / sqrt(share * (1 - share)))
    shown = 0
    for _ in range(runs):
        ours = (rng.random(count) < share).astype(float)
        shown += paired_difference(ours, np.zeros(count), support=(0, 1)).low > 0
    assert shown / runs > 0.7


def test_the_interval_of_the_number_holds_as_often_as_it_says():
    rng, runs, effect = np.random.default_rng(3), 500, 0.4
    true = pairs_for(effect)
    held = beyond = 0
    for _ in range(runs):
        said = needed(rng.normal(effect, 1, 30))
        if said.low is None:  # a pair lies so far off that it carries most of the spread
            runs -= 1
            continue
        held += said.low <= true and (said.high is None or true <= said.high)
        beyond += said.high is None
    assert runs > 480
    assert held / runs == pytest.approx(0.95, abs=4 * sqrt(0.05 * 0.95 / runs))
    assert 0.2 < beyond / runs < 0.8  # 30 pairs often show no difference, and then have no end


def test_the_number_has_no_upper_end_exactly_where_nothing_is_shown():
    rng = np.random.default_rng(4)
    for _ in range(50):
        values = rng.normal(0.4, 1, 25)
        student = stats.ttest_1samp(values, 0).confidence_interval()
        assert (needed(values).high is None) == (student.low <= 0 <= student.high)


def test_strata_count_with_their_own_spread():
    """How far parts lie apart is no spread: it needs no further pairs."""
    rng = np.random.default_rng(5)
    parts = [rng.normal(mean, 0.5, 20) for mean in (-3.2, 0.0, 4.0)]
    zeros = [np.zeros(20)] * 3
    said, pooled = pairs_needed(parts, zeros), needed(np.concatenate(parts))
    assert said.count == pooled.count == 60
    assert said.total * 10 < pooled.total
    shown, runs = 0, 300
    mean = stratified_difference(parts, zeros).value
    each = -(-said.total // 3)
    for _ in range(runs):
        again = [rng.normal(np.mean(p), np.std(p, ddof=1), each) for p in parts]
        shown += stratified_difference(again, [np.zeros(each)] * 3).low > 0
    assert mean > 0
    assert shown / runs > 0.75


@pytest.mark.parametrize(
    ("spreads", "effect"),
    [
        ((1.0, 0.1, 0.1), 0.2),
        ((1.0, 0.5, 0.2), 0.45),
        pytest.param((1.0, 0.1, 0.1), 0.45, marks=pytest.mark.slow),
        pytest.param((1.0, 0.5, 0.2), 0.2, marks=pytest.mark.slow),
        pytest.param((1.0, 1.0, 1.0), 0.2, marks=pytest.mark.slow),
        pytest.param((1.0, 1.0, 1.0), 0.45, marks=pytest.mark.slow),
    ],
)
def test_strata_that_spread_unequally_need_no_more_for_being_known_well(effect, spreads):
    """The number has the stated power, and does not grow with the pairs it is computed from."""
    rng, runs = np.random.default_rng(7), 600
    likely = stats.norm.ppf((np.arange(300) + 0.5) / 300)
    likely /= np.std(likely, ddof=1)

    def said_of(size):
        some = likely if size == 300 else np.tile(likely, size // 300)
        return pairs_needed([effect + some * each for each in spreads], [np.zeros(size)] * 3)

    said = said_of(300)
    assert said.total < 300
    assert said_of(3000).total == pytest.approx(said.total, abs=1)
    each, shown = round(said.total / 3), 0
    for _ in range(runs):
        again = [rng.normal(effect, spread, each) for spread in spreads]
        shown += stratified_difference(again, [np.zeros(each)] * 3).low > 0
    assert shown / runs == pytest.approx(0.8, abs=4 * sqrt(0.8 * 0.2 / runs) + 0.01)
    # What as many pairs show is what as many are needed for.
    values = [said.detectable + likely * each for each in spreads]
    assert pairs_needed(values, [np.zeros(300)] * 3).total == pytest.approx(900, abs=1)


def test_what_cannot_be_said():
    assert needed([0.4]).reason == "there is one pair only"
    assert "same in every pair" in needed([0.0] * 9, support=(-1, 1)).reason
    assert "not known" in needed([0.5] * 9, support=(-1, 1)).reason
    assert "fewer than four" in needed([0.0] * 20 + [1.0], support=(-1, 1)).reason
    for said in (needed([0.4]), needed([0.5] * 9), needed([0.0, 0.1])):
        assert (said.total, said.more, said.low, said.high) == (None,) * 4
    tiny = needed([1.0, -1.0] * 30 + [0.001])
    assert tiny.reason == "more than a million pairs would be needed"
    assert tiny.total is None
    assert 0 < tiny.low < 1000  # the largest difference that is compatible needs so many
    assert tiny.high is None
    assert tiny.detectable == pytest.approx(2.8 / sqrt(61), rel=0.05)
    exact = needed([1.0, -1.0] * 10)
    assert exact.total is None
    assert exact.high is None


def test_a_difference_that_is_shown_already_needs_no_more():
    said = needed(np.random.default_rng(6).normal(2, 1, 40))
    assert said.more == 0
    assert said.low <= said.total <= said.high < 40
    far = needed(np.random.default_rng(6).normal(50, 1, 4000))
    assert far.more == 0
    assert far.high is not None


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: pairs_for(0.5, power=1.0),
        lambda: pairs_for(nan),
        lambda: pairs_for(0.5, confidence=0),
        lambda: detectable(1.0, 1),
        lambda: needed([]),
    ],
)
def test_what_is_no_question(wrong):
    with pytest.raises(ValueError, match=r".+"):
        wrong()
