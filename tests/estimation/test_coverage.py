"""Whether intervals hold the true value as often as they say, by simulation and by computation."""

import numpy as np
import pytest
from scipy import stats

from omnimeter.estimation import (
    bootstrap,
    combined_mean,
    difference,
    interquartile_mean,
    mean,
    paired_difference,
    proportion,
    stratified_mean,
)

SIZES = [10, 20, 50, 200]


def normal(rng, shape):
    return rng.normal(size=shape)


def uniform(rng, shape):
    return rng.uniform(-1, 1, size=shape)


def three_valued(rng, shape):
    return rng.integers(-1, 2, size=shape).astype(float)


def exponential(rng, shape):
    return rng.exponential(size=shape) - 1


def lognormal(rng, shape):
    return rng.lognormal(size=shape) - np.exp(0.5)


def two_humped(rng, shape):
    return rng.beta(0.2, 0.2, size=shape) - 0.5


def one_in_ten(rng, shape):
    """Mostly next to nothing, and far below that in one of ten."""
    payoffs = np.where(rng.random(shape) < 0.1, -0.8, 0.05 * rng.random(shape))
    return payoffs + 0.08 - 0.0225


def one_in_fifty(rng, shape):
    payoffs = np.where(rng.random(shape) < 0.02, -1.0, 0.1 * rng.random(shape))
    return payoffs + 0.02 - 0.049


def coverage(estimates):
    """How often the true value 0 lies inside."""
    return np.mean([estimate.low <= 0 <= estimate.high for estimate in estimates])


def coverage_of_means(draw, count, repetitions):
    samples = draw(np.random.default_rng([7, count]), (repetitions, count))
    return coverage([mean(values) for values in samples])


def exact_coverage(estimates, shares):
    """How often estimates from 0 .. n successes hold each true share."""
    count = len(estimates) - 1
    probabilities = stats.binom.pmf(np.arange(count + 1), count, shares[:, None])
    low, high = np.array([(estimate.low, estimate.high) for estimate in estimates]).T
    return (probabilities * ((low <= shares[:, None]) & (shares[:, None] <= high))).sum(axis=1)


@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("draw", [normal, uniform, three_valued])
def test_means_are_covered_where_it_is_claimed(draw, count):
    assert 0.93 <= coverage_of_means(draw, count, 1_500) <= 0.972


@pytest.mark.slow
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("draw", [normal, uniform, three_valued, two_humped])
def test_means_are_covered_closely_where_it_is_claimed(draw, count):
    assert 0.937 <= coverage_of_means(draw, count, 10_000) <= 0.965


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "documented"),
    [(exponential, (0.90, 0.93, 0.95, 0.955)), (lognormal, (0.855, 0.90, 0.93, 0.95))],
)
def test_skewed_means_without_a_support_are_covered_as_documented(draw, documented):
    coverages = [coverage_of_means(draw, count, 10_000) for count in SIZES]
    assert coverages == pytest.approx(documented, abs=0.01)


@pytest.mark.parametrize("count", [10, 20, 50, 100, 200])
def test_means_of_rare_rewards_are_covered(count):
    """Few rewards carry no spread, so that the interval is bounded; Student's covers 85 %."""
    estimates = [
        mean([1.0] * successes + [0.0] * (count - successes), support=(0, 1))
        for successes in range(count + 1)
    ]
    shares = np.linspace(0.1 / count, 0.5, 2_000)
    covered = exact_coverage(estimates, shares)
    assert covered.min() >= 0.92


@pytest.mark.parametrize("count", [2, 3, 5, 10, 50])
def test_equal_values_miss_no_more_than_allowed(count):
    """Two values, of which one has a probability that just hides it: the proof's worst case."""
    for share in np.linspace(0.001, 0.999, 500):
        for value, other in [(0.0, 1.0), (0.4, 1.0), (1.0, 0.0), (0.6, 0.0)]:
            truth = value * (1 - share) + other * share
            estimate = mean([value] * count, support=(0, 1))
            missed = not estimate.low <= truth <= estimate.high
            assert not missed or (1 - share) ** count <= 0.025


@pytest.mark.parametrize("count", [5, 10, 20, 50, 100, 200])
def test_proportions_are_covered_as_documented(count):
    estimates = [proportion(successes, count) for successes in range(count + 1)]
    shares = np.linspace(0.01 / count, 0.5, 5_000)
    covered = exact_coverage(estimates, shares)
    assert covered.min() >= 0.915
    assert 0.95 <= covered.mean() <= 0.98


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [(10, 50), *(pytest.param(*each, marks=pytest.mark.slow) for each in ((10, 10), (200, 20)))],
)
def test_differences_of_independent_samples_are_covered(ours, theirs):
    rng = np.random.default_rng(8)
    first, second = normal(rng, (1_000, ours)), 3 * uniform(rng, (1_000, theirs))
    pairs = zip(first, second, strict=True)
    assert 0.93 <= coverage([difference(one, other) for one, other in pairs]) <= 0.975


@pytest.mark.parametrize("count", SIZES)
def test_paired_differences_are_covered_and_narrower(count):
    rng = np.random.default_rng(9)
    exercises = normal(rng, (1_000, count))
    first, second = (exercises + 0.3 * normal(rng, exercises.shape) for _ in range(2))
    estimates = [paired_difference(a, b) for a, b in zip(first, second, strict=True)]
    assert 0.93 <= coverage(estimates) <= 0.975
    unpaired = difference(first[0], second[0])
    assert estimates[0].high - estimates[0].low < 0.7 * (unpaired.high - unpaired.low)


def test_the_bootstrap_covers_the_interquartile_mean():
    rng = np.random.default_rng(10)
    samples = uniform(rng, (400, 50))
    estimates = [bootstrap(values, interquartile_mean, rng, resamples=999) for values in samples]
    assert 0.92 <= coverage(estimates) <= 0.97


@pytest.mark.slow
@pytest.mark.parametrize("count", SIZES)
@pytest.mark.parametrize("draw", [normal, uniform, three_valued])
def test_the_bootstrap_covers_the_interquartile_mean_as_documented(draw, count):
    rng = np.random.default_rng([11, count])
    estimates = [
        bootstrap(values, interquartile_mean, rng, resamples=1_999, support=(-1, 1))
        for values in draw(rng, (3_000, count))
    ]
    assert 0.905 <= coverage(estimates) <= 0.975


@pytest.mark.parametrize(
    ("draw", "count"),
    [
        (normal, 2),
        (uniform, 3),
        *(
            pytest.param(draw, count, marks=pytest.mark.slow)
            for draw, count in ((uniform, 2), (normal, 3), (normal, 5), (uniform, 5))
        ),
    ],
)
def test_the_mean_of_independent_estimates_is_covered(draw, count):
    rng = np.random.default_rng([12, count])
    estimates = [
        combined_mean([mean(values) for values in samples])
        for samples in draw(rng, (1_000, count, 20))
    ]
    assert 0.93 <= coverage(estimates) <= 0.985
    single = mean(normal(rng, (20,)))
    assert combined_mean([single]) == single


def test_the_mean_of_independent_estimates_of_different_precision_is_covered():
    rng = np.random.default_rng(13)
    estimates = [
        combined_mean([mean(10 * normal(rng, (10,))), mean(normal(rng, (50,)))])
        for _ in range(1_000)
    ]
    assert 0.93 <= coverage(estimates) <= 0.98


SUPPORT = (-2.0, 2.0)
DRAWS = {
    "normal": lambda rng, shape: np.clip(0.2 * normal(rng, shape), *SUPPORT),
    "skewed": lambda rng, shape: np.maximum(-0.2 * exponential(rng, shape), SUPPORT[0]),
    "one in ten": one_in_ten,
}

DOCUMENTED = {
    (2, 5): {
        "normal": (96.8, 100.0, 4.58),
        "skewed": (94.8, 99.9, 1.2),
        "one in ten": (68.2, 99.8, 1.2),
        "rare": (67.6, 100.0, 31.18),
    },
    (5, 5): {
        "normal": (95.7, 100.0, 5.6),
        "skewed": (92.7, 100.0, 5.73),
        "one in ten": (91.5, 100.0, 3.41),
        "rare": (43.8, 100.0, 34.42),
    },
    (10, 5): {
        "normal": (95.5, 100.0, 5.75),
        "skewed": (93.3, 100.0, 5.84),
        "one in ten": (98.3, 100.0, 4.11),
        "rare": (63.3, 100.0, 2.24),
    },
    (2, 20): {
        "normal": (95.7, 96.4, 1.04),
        "skewed": (93.9, 96.9, 2.68),
        "one in ten": (98.3, 98.4, 1.87),
        "rare": (56.2, 56.2, 0.95),
    },
    (5, 20): {
        "normal": (96.1, 97.3, 1.08),
        "skewed": (95.7, 99.1, 2.08),
        "one in ten": (97.2, 99.6, 2.35),
        "rare": (86.5, 86.5, 1.31),
    },
    (10, 20): {
        "normal": (94.9, 97.5, 1.09),
        "skewed": (94.8, 99.8, 2.28),
        "one in ten": (95.6, 100.0, 2.45),
        "rare": (97.3, 97.9, 2.08),
    },
    (2, 60): {
        "normal": (94.4, 95.1, 1.02),
        "skewed": (95.6, 96.2, 1.03),
        "one in ten": (95.1, 97.9, 1.1),
        "rare": (90.6, 90.6, 1.11),
    },
}
"""By seeds and exercises: how often strata and combined intervals hold, and how much longer."""


def over_seeds(name, seeds, count, repetitions):
    """Strata over seeds, and the intervals of the seeds combined: coverages and median lengths."""
    draw = {**DRAWS, "rare": one_in_fifty}[name]
    samples = draw(np.random.default_rng([14, seeds, count]), (repetitions, seeds, count))
    rules = (
        [stratified_mean(list(each), support=SUPPORT) for each in samples],
        [combined_mean([mean(v, support=SUPPORT) for v in each]) for each in samples],
    )
    lengths = [float(np.median([each.high - each.low for each in rule])) for rule in rules]
    return *map(coverage, rules), *lengths


@pytest.mark.parametrize(("seeds", "count"), [(5, 5), (2, 20)])
@pytest.mark.parametrize("draw", DRAWS)
def test_strata_over_seeds_are_covered_from_twenty_values_on(draw, seeds, count):
    strata, combined, length, longer = over_seeds(draw, seeds, count, 150)
    assert 0.87 <= strata <= 0.995
    assert combined >= 0.93
    assert length < longer
    if count == 5:
        assert length < 0.7 * longer


def test_of_few_values_over_seeds_only_the_intervals_of_each_hold():
    """Most pairs of seeds of five values show nothing of what happens in one of ten."""
    strata, combined, *_ = over_seeds("one in ten", 2, 5, 300)
    assert strata < 0.75
    assert combined >= 0.97


@pytest.mark.slow
@pytest.mark.parametrize(("seeds", "count"), DOCUMENTED)
@pytest.mark.parametrize("draw", [*DRAWS, "rare"])
def test_scores_over_seeds_are_covered_as_documented(draw, seeds, count):
    """The table of docs/intervals.md: coverages in percent, and how many times as long."""
    strata, combined, length, longer = over_seeds(draw, seeds, count, 1_000)
    measured = 100 * strata, 100 * combined, longer / length
    documented = DOCUMENTED[seeds, count][draw]
    assert measured[:2] == pytest.approx(documented[:2], abs=1.5)
    assert measured[2] == pytest.approx(documented[2], rel=0.05)
