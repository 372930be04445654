"""The interquartile mean, performance profiles and learning speed: exact cases and invariances."""

from math import inf

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from omnimeter.estimation import (
    interquartile_estimate,
    interquartile_mean,
    learning_speed,
    performance_profile,
    proportion,
)

numbers = st.integers(-100, 100).map(lambda value: value / 8)
samples = st.lists(numbers, min_size=1, max_size=40)


def ends(estimate):
    return estimate.low, estimate.value, estimate.high


def step(before, length=100):
    """A curve that pays from this interaction on."""
    return (np.arange(length) >= before).astype(float)


def test_the_interquartile_mean_has_the_interval_of_tukey_and_mclaughlin_further_out():
    values = np.sort(np.random.default_rng(1).normal(size=40))
    # The quartiles have 10 values beyond them, with a standard error of √7.5: 4 are taken.
    inner = np.clip(values, values[5], values[34])
    error = np.std(inner, ddof=1) * np.sqrt(40) / 20
    half = stats.t(39).ppf(0.975) * error
    middle = interquartile_mean(values)
    assert ends(interquartile_estimate(values)) == pytest.approx(
        (max(middle - half, values[4]), middle, min(middle + half, values[35]))
    )


def test_what_the_middle_does_not_show_is_between_the_quartiles():
    values = [0.0] * 28 + [1.0, 5.0]
    estimate = interquartile_estimate(values)
    assert estimate.bounded
    # Of thirty values, 28 or more lie below the upper quartile with a probability of 1 %.
    assert ends(estimate) == (0, 0, 0)
    assert stats.binom(30, 0.75).sf(27) <= 0.025 < stats.binom(30, 0.75).sf(26)
    few = interquartile_estimate([0.5] * 12, support=(0, 1))
    assert (*ends(few), few.bounded) == (0, 0.5, 1, True)
    assert ends(interquartile_estimate([2.0])) == (-inf, 2, inf)


@given(samples, numbers, st.sampled_from([0.5, 4.0]))
def test_the_middle_moves_with_the_values(values, shift, scale):
    plain = interquartile_estimate(values)
    moved = interquartile_estimate(np.array(values) * scale + shift)
    assert ends(moved) == pytest.approx([end * scale + shift for end in ends(plain)], abs=1e-9)
    mirrored = interquartile_estimate(-np.array(values))
    assert ends(mirrored) == pytest.approx([-end for end in reversed(ends(plain))], abs=1e-9)
    assert plain.low <= plain.value <= plain.high
    assert plain.bounded == mirrored.bounded == moved.bounded


def test_a_profile_is_the_share_above_each_threshold():
    values = [0.0, 0.5, 0.5, 1.0]
    profile = performance_profile(values, [1.0, -1.0, 0.5, 0.4])
    assert profile.values.tolist() == [0, 1, 0.25, 0.75]
    each = [proportion(number, 4) for number in (0, 4, 1, 3)]
    assert profile.low.tolist() == [one.low for one in each]
    assert profile.high.tolist() == [one.high for one in each]


def test_the_band_is_that_of_kolmogorov():
    values = np.random.default_rng(2).normal(size=25)
    profile = performance_profile(values, [0.0], confidence=0.9)
    reach = profile.highest[0] - profile.values[0]
    # A sample whose distance is just this has the p-value of the test of Kolmogorov.
    assert stats.kstwo(25).sf(reach) == pytest.approx(0.1)


@given(samples, st.lists(numbers, min_size=1, max_size=10))
def test_profiles_fall_and_their_bands_hold_them(values, thresholds):
    profile = performance_profile(values, sorted(thresholds))
    edges = profile.lowest, profile.low, profile.values, profile.high, profile.highest
    for each in (profile.values, profile.lowest, profile.highest):
        assert np.all(np.diff(each) <= 0)
        assert np.all((each >= 0) & (each <= 1))
    assert np.all(edges[1] <= edges[2])
    assert np.all(edges[2] <= edges[3])
    assert profile.count == len(values)


def test_learning_ends_where_the_share_is_kept():
    curve = np.zeros(100)
    curve[20:30] = 1  # reached, and lost again
    curve[40:] = 1
    estimate = learning_speed([curve] * 6)
    assert estimate.needed == (40,) * 6
    assert ends(estimate) == (35, 40, 45)  # a window further at both ends
    assert ends(learning_speed([curve] * 6, window=0)) == (40, 40, 40)
    assert estimate.censored == 0
    assert learning_speed([step(0)]).needed == (0,)
    # A lapse is forgiven as long as the mean since then is high enough.
    lapse = step(20)
    lapse[50] = 0
    assert learning_speed([lapse]).needed == (20,)
    assert learning_speed([lapse], share=1.0).needed == (51,)


def test_the_share_counts_from_the_start():
    curve = np.concatenate([np.full(30, -1.0), np.full(30, 0.0), np.full(40, 1.0)])
    assert learning_speed([curve], share=0.5, start=-1.0).needed == (30,)
    assert learning_speed([curve], share=0.6, start=-1.0).needed == (60,)


def test_what_is_not_kept_is_censored():
    late, nothing, falling = step(95), np.zeros(100), -step(50)
    for curve in (late, nothing, falling):
        assert learning_speed([curve]).needed == (inf,)
    assert learning_speed([step(90)]).needed == (90,)


def test_the_interval_respects_what_is_censored():
    curves = [step(10 * number) for number in range(1, 8)] + [np.zeros(100)] * 3
    estimate = learning_speed(curves, window=0)
    # Of ten, the second and the ninth hold the median.
    assert ends(estimate) == (20, 55, inf)
    assert estimate.censored == 3
    assert not estimate.bounded
    most = learning_speed([step(10), step(20), *[np.zeros(100)] * 4])
    assert ends(most) == (5, inf, inf)
    # A curve that was cut short may have needed as few as it had before its last part.
    cut = learning_speed([*[step(50)] * 5, np.zeros(20)], window=0)
    assert cut.low == 18


def test_a_few_curves_have_no_interval():
    estimate = learning_speed([step(10)] * 5)
    assert (*ends(estimate), estimate.bounded) == (0, 10, inf, True)


@pytest.mark.parametrize("length", [300, 1000])
@pytest.mark.parametrize("noise", ["normal", "success or failure"])
@pytest.mark.parametrize("shape", ["step", "exponential"])
def test_noise_does_not_hide_when_was_learnt(shape, noise, length):
    """The interval holds what the same curves need without their noise."""
    rng = np.random.default_rng(length)
    rise = step(0.3 * length, length)
    if shape == "exponential":
        rise = 1 - np.exp(-np.arange(length) / (0.1 * length))
    (truth,) = learning_speed([rise]).needed

    def held():
        shares = 0.05 + 0.75 * rise
        curves = rise + rng.normal(0, 0.5, (30, length))
        if noise != "normal":
            curves = (rng.random((30, length)) < shares) - 0.05
        estimate = learning_speed(curves)
        return estimate.low <= truth <= estimate.high, estimate.high < length / 2

    holds, tells = zip(*(held() for _ in range(40)), strict=True)
    assert sum(holds) >= 36
    assert sum(tells) >= 30


@given(
    st.lists(st.lists(numbers, min_size=12, max_size=30), min_size=1, max_size=12),
    st.sampled_from([0.0, 0.05, 0.2]),
    st.sampled_from([0.5, 4.0]),
    st.integers(-5, 5),
)
def test_speed_does_not_depend_on_the_unit_of_rewards(curves, window, scale, shift):
    plain = learning_speed(curves, window=window)
    moved = learning_speed(
        [np.array(curve) * scale + shift for curve in curves], window=window, start=shift
    )
    assert plain.needed == moved.needed
    assert ends(plain) == ends(moved)
    assert 0 <= plain.low <= plain.value <= plain.high
    for needed, curve in zip(plain.needed, curves, strict=True):
        assert needed == inf or needed == int(needed) < len(curve)


@given(st.lists(numbers, min_size=15, max_size=40))
def test_a_greater_share_needs_no_fewer_interactions(curve):
    needed = [learning_speed([curve], share=share).needed for share in (0.3, 0.6, 1.0)]
    assert needed == sorted(needed)


@pytest.mark.parametrize(
    ("curves", "options", "message"),
    [
        ([], {}, "a curve or more"),
        ([[1.0]], {}, "before its last part"),
        ([[1.0] * 20], {"share": 0.0}, "share"),
        ([[1.0] * 20], {"final": 1.0}, "last part"),
        ([[1.0] * 20], {"window": 1.0}, "window"),
        ([[1.0] * 20], {"start": inf}, "start"),
        ([[np.nan] * 20], {}, "not finite"),
        ([[1.0] * 20], {"confidence": 0.0}, "confidence"),
    ],
)
def test_bad_curves_are_rejected(curves, options, message):
    with pytest.raises(ValueError, match=message):
        learning_speed(curves, **options)


@pytest.mark.parametrize(
    ("values", "thresholds", "confidence", "message"),
    [([], [0.0], 0.95, "one value"), ([1.0], [], 0.95, "one value"), ([1.0], [0.0], 1.0, "confid")],
)
def test_bad_profiles_are_rejected(values, thresholds, confidence, message):
    with pytest.raises(ValueError, match=message):
        performance_profile(values, thresholds, confidence)
