"""Repeated-measures analysis of variance: statsmodels, a printed example, degenerate tables."""

import warnings
from math import inf, isnan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import stats

from omnimeter.estimation import repeated_measures, two_way_repeated_measures

BUSHTUCKER = np.array(
    [
        [8, 9, 6, 5, 8, 7, 10, 12],
        [7, 5, 2, 3, 4, 5, 2, 6],
        [1, 2, 3, 1, 5, 6, 7, 8],
        [6, 5, 8, 9, 8, 7, 2, 1],
    ]
).T
"""Seconds until eight celebrities retched, of A. Field, "Discovering statistics using SPSS"."""

tables = arrays(
    float,
    st.tuples(st.integers(2, 8), st.integers(2, 4)),
    elements=st.integers(-50, 50).map(lambda value: value / 8),
)


def of_statsmodels(values):
    """F, degrees of freedom and p-value, as ``AnovaRM`` has them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of imports
        import pandas as pd
        from statsmodels.stats.anova import AnovaRM

        subject, condition = np.indices(values.shape).reshape(2, -1)
        frame = pd.DataFrame({"subject": subject, "a": condition, "y": values.ravel()})
        return AnovaRM(frame, "y", "subject", within=["a"]).fit().anova_table.to_numpy()[0]


def row(effect):
    return [effect.statistic, *effect.degrees, effect.p_value]


@pytest.mark.parametrize("shape", [(2, 2), (5, 3), (30, 6)])
def test_it_is_that_of_statsmodels(shape):
    rng = np.random.default_rng(shape[0])
    values = rng.exponential(size=shape) + rng.normal(size=(shape[0], 1)) + np.arange(shape[1]) / 3
    assert row(repeated_measures(values)) == pytest.approx(of_statsmodels(values))


def test_a_printed_example_and_its_correction():
    effect = repeated_measures(BUSHTUCKER)
    assert effect.statistic == pytest.approx(3.794, abs=5e-4)
    assert effect.p_value == pytest.approx(0.026, abs=5e-4)
    assert effect.sphericity == pytest.approx(0.533, abs=5e-4)
    assert effect.corrected_p_value == pytest.approx(0.063, abs=5e-4)
    assert effect.share.value == pytest.approx(83.125 / (83.125 + 153.375))


def test_epsilon_is_boxs_of_the_covariances():
    values = np.random.default_rng(2).normal(size=(9, 5)) * np.arange(1, 6)
    spread = np.cov(values.T)
    centred = spread - spread.mean(0) - spread.mean(1)[:, None] + spread.mean()
    expected = np.trace(centred) ** 2 / (4 * np.sum(centred**2))
    assert repeated_measures(values).sphericity == pytest.approx(expected)


def test_two_conditions_are_the_paired_t_test():
    values = np.random.default_rng(3).normal(0.2, size=(12, 2)) * [1, 2]
    effect, expected = repeated_measures(values), stats.ttest_rel(*values.T)
    assert effect.statistic == pytest.approx(expected.statistic**2)
    assert effect.p_value == effect.corrected_p_value == pytest.approx(expected.pvalue)
    assert effect.sphericity == 1


def test_tables_without_error_say_nothing_of_the_share():
    same = repeated_measures(np.full((4, 3), 0.1))
    assert isnan(same.statistic)
    assert isnan(same.share.value)
    assert same.corrected_p_value == 1
    apart = repeated_measures(np.tile([0.1, 0.2, 0.4], (4, 1)) + np.arange(4)[:, None] / 3)
    assert (apart.statistic, apart.p_value, apart.share.value) == (inf, 0, 1)
    for effect in (same, apart):
        assert (effect.share.low, effect.share.high, effect.share.bounded) == (0, 1, True)


@given(tables, st.sampled_from([-4.0, 0.5]), st.integers(-9, 9))
def test_scale_and_what_is_added_to_a_subject_do_not_count(values, scale, shift):
    plain = repeated_measures(values)
    moved = repeated_measures(values * scale + shift * np.arange(len(values))[:, None])
    assert row(plain) == pytest.approx(row(moved), rel=1e-6, abs=1e-9, nan_ok=True)
    assert 1 / (values.shape[1] - 1) - 1e-9 <= plain.sphericity <= 1 or isnan(plain.sphericity)
    assert plain.share.low <= plain.share.high
    if not isnan(plain.share.value):
        assert 0 <= plain.share.low <= plain.share.value <= plain.share.high <= 1


@given(tables, st.randoms(use_true_random=False))
def test_the_order_of_conditions_and_subjects_does_not_count(values, random):
    rows, columns = (random.sample(range(size), size) for size in values.shape)
    one, other = repeated_measures(values), repeated_measures(values[rows][:, columns])
    assert row(one) == pytest.approx(row(other), rel=1e-6, abs=1e-9, nan_ok=True)
    assert one.sphericity == pytest.approx(other.sphericity, nan_ok=True)


def test_bad_tables_are_rejected():
    for shape in ((3,), (1, 3), (3, 1), (3, 3, 2)):
        with pytest.raises(ValueError, match="at least"):
            repeated_measures(np.ones(shape))
    with pytest.raises(ValueError, match="not finite"):
        repeated_measures(np.full((3, 3), np.nan))
    with pytest.raises(ValueError, match="confidence"):
        repeated_measures(np.ones((3, 3)), 0)


@pytest.mark.parametrize("shape", [(2, 2, 2), (6, 2, 7), (9, 3, 4)])
def test_two_factors_are_those_of_statsmodels(shape):
    rng = np.random.default_rng(shape[0])
    values = rng.exponential(size=shape) + rng.normal(size=(shape[0], 1, 1)) + np.arange(shape[2])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of imports
        import pandas as pd
        from statsmodels.stats.anova import AnovaRM

        subject, first, second = np.indices(shape).reshape(3, -1)
        frame = pd.DataFrame({"s": subject, "a": first, "b": second, "y": values.ravel()})
        table = AnovaRM(frame, "y", "s", within=["a", "b"]).fit().anova_table.to_numpy()
    both = two_way_repeated_measures(values)
    for effect, expected in zip((both.first, both.second, both.interaction), table, strict=True):
        assert row(effect) == pytest.approx(expected, rel=1e-6)


def test_a_factor_is_that_of_the_means_over_the_other():
    values = np.random.default_rng(5).exponential(size=(12, 3, 5))
    both = two_way_repeated_measures(values)
    for effect, axis in ((both.first, 2), (both.second, 1)):
        alone = repeated_measures(values.mean(axis=axis))
        assert row(effect) == pytest.approx(row(alone))
        assert effect.sphericity == pytest.approx(alone.sphericity)
        assert (effect.share.low, effect.share.high) == pytest.approx(
            (alone.share.low, alone.share.high)
        )
    pairs = two_way_repeated_measures(values[:, :2])
    differences = repeated_measures(values[:, 0] - values[:, 1])
    assert row(pairs.interaction) == pytest.approx(row(differences))


def test_two_factors_without_any_effect_or_table():
    nothing = two_way_repeated_measures(np.ones((3, 2, 2)))
    assert isnan(nothing.interaction.statistic)
    assert nothing.first.p_value == 1
    with pytest.raises(ValueError, match="shape"):
        two_way_repeated_measures(np.ones((3, 2, 1)))
    with pytest.raises(ValueError, match="finite"):
        two_way_repeated_measures(np.full((3, 2, 2), np.nan))
