"""Confidence sequences: what they are, their edges, and whether they hold at all times at once."""

from math import inf

import numpy as np
import pytest

import omnimeter as om
from omnimeter.estimation import difference_sequence, mean, mean_sequence
from omnimeter.estimation.sequences import FRACTIONS, HALVINGS, SLACK


def capitals(values, against):
    """The capital of both gamblers after each value in [0, 1]: the definition, word by word."""
    harmonic = sum(1 / place for place in range(1, len(FRACTIONS) + 1))
    high = [1 / place / harmonic for place in range(1, len(FRACTIONS) + 1)]
    low = list(high)
    sums = []
    for value in values:
        for place, fraction in enumerate(FRACTIONS):
            high[place] *= 1 + fraction * (value / against - 1)
            low[place] *= 1 + fraction * ((1 - value) / (1 - against) - 1)
        sums.append((sum(high), sum(low)))
    return sums


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
@pytest.mark.parametrize("share", [0.1, 0.5, 0.97])
def test_the_interval_is_where_no_gambler_ever_got_rich(share, confidence):
    values = (np.random.default_rng(5).random(60) < share) * 0.9 + 0.05
    estimate = mean_sequence(values, confidence, (0, 1))
    enough = 2 / (1 - confidence)
    for against in np.linspace(0.005, 0.995, 199):
        rich = max(max(each) for each in capitals(values, against)) >= enough
        assert rich is not (estimate.low <= against <= estimate.high)


def test_it_moves_with_the_support_and_turns_with_the_sign():
    values = np.random.default_rng(1).beta(2, 5, 80)
    plain, moved = (
        mean_sequence(values, support=(0, 1)),
        mean_sequence(4 * values - 3, 0.95, (-3, 1)),
    )
    turned = mean_sequence(-values, support=(-1, 0))
    assert [moved.low, moved.high] == pytest.approx([4 * plain.low - 3, 4 * plain.high - 3])
    assert [turned.low, turned.high] == pytest.approx([-plain.high, -plain.low])
    assert plain.value == values.mean()
    assert (plain.count, plain.confidence) == (80, 0.95)


@pytest.mark.parametrize("value", [-1.0, -0.3, 0.0, 1.0])
@pytest.mark.parametrize("count", [1, 2, 10, 100])
def test_constant_values_are_never_certain(value, count):
    estimate = mean_sequence([value] * count, support=(-1, 1))
    fixed = mean([value] * count, support=(-1, 1))
    assert -1 <= estimate.low <= value <= estimate.high <= 1
    assert estimate.high - estimate.low > 0.9 * (fixed.high - fixed.low)
    assert estimate.high - estimate.low < 11 / count


def test_a_tiny_support_is_as_good_as_any():
    values = np.random.default_rng(2).random(50)
    plain, tiny = (
        mean_sequence(values, support=(0, 1)),
        mean_sequence(values * 1e-200, 0.95, (0, 1e-200)),
    )
    assert [tiny.low, tiny.high] == pytest.approx([1e-200 * plain.low, 1e-200 * plain.high], abs=0)
    assert mean_sequence([0.5, 0.5], support=(0.5, 0.5)).high == 0.5


@pytest.mark.parametrize("support", [None, (-inf, inf), (0, inf), (-inf, 1)])
def test_without_both_bounds_nothing_is_known(support):
    estimate = mean_sequence([0.2, 0.4], support=support)
    assert estimate.value == pytest.approx(0.3)
    assert (estimate.low, estimate.high) == (support or (-inf, inf))
    assert difference_sequence([0.2], [0.4], support=support).high == inf


def test_values_that_contradict_all_means_fall_back_to_the_last_capitals():
    """The values are not of one mean, so both gamblers get rich, at different times."""
    values = [0.0] * 40 + [1.0] * 60
    estimate = mean_sequence(values, support=(0, 1))
    last = [
        against
        for against in np.linspace(0.001, 0.999, 999)
        if max(capitals(values, against)[-1]) < 40
    ]
    assert estimate.low <= estimate.value <= estimate.high
    assert [estimate.low, estimate.high] == pytest.approx([min(last), max(last)], abs=2e-3)


def test_a_difference_is_that_of_the_pairs():
    rng = np.random.default_rng(3)
    common = rng.random(40) / 2
    first, second = common + 0.3 * rng.random(40), common + 0.1 * rng.random(40)
    estimate = difference_sequence(first, second, 0.9, (0, 1))
    assert estimate == mean_sequence(first - second, 0.9, (-1, 1))
    with pytest.raises(ValueError, match="paired"):
        difference_sequence(first, second[1:])


def test_errors_of_the_input_are_named():
    with pytest.raises(ValueError, match="outside of its support"):
        mean_sequence([1.5], support=(0, 1))
    with pytest.raises(ValueError, match="confidence"):
        mean_sequence([0.5], 1.0, (0, 1))


def misses(draw, expected, support, samples, counts, confidence=0.95):
    """In how many samples any of the intervals, at the counts, misses the expected value."""
    total = 0
    for sample in range(samples):
        values = draw(np.random.default_rng([11, sample]), counts[-1])
        estimates = (mean_sequence(values[:count], confidence, support) for count in counts)
        total += any(not each.low <= expected <= each.high for each in estimates)
    return total


def flips(share):
    return lambda rng, count: (rng.random(count) < share).astype(float)


def test_all_times_at_once_in_small():
    """At 80 %, where an interval for a fixed number of values misses some time in most samples."""
    assert misses(flips(0.5), 0.5, (0, 1), 60, [5, 10, 20, 40, 60], 0.8) <= 0.2 * 60


def real_payoffs(agent, environment_class):
    result = om.evaluate(agent, environment_class, exercises=1000, interactions=200, seed=0)
    (outcomes,) = result.outcomes.values()
    return np.array([each.payoff for each in outcomes])


REAL = [("q-learning", "automata"), ("cup-presser", "cups"), ("torus-agent", "torus")]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("draw", "expected"),
    [
        (flips(0.5), 0.5),
        (flips(0.03), 0.03),
        (lambda rng, count: rng.beta(2, 5, count), 2 / 7),
        (lambda rng, count: np.where(rng.random(count) < 0.02, 1.0, 0.3), 0.314),
        (lambda _, count: np.full(count, 0.4), 0.4),
        *REAL,
    ],
)
def test_all_times_at_once(draw, expected):
    """What an interval has once left out all later ones leave out, so that few need be looked at.

    Only the mean so far is always put in, so these are many all the same.
    """
    support = 0, 1
    if isinstance(draw, str):
        pool = real_payoffs(draw, expected)
        draw, expected, support = (lambda rng, n: rng.choice(pool, n)), pool.mean(), (-1, 1)
    counts = [1, 2, 3, 5, 8, 13, 21, 34, 55, 89, 144, 233, 377, 610, 1000]
    missed = misses(draw, expected, support, 300, counts)
    print(f"{missed / 3:.1f} % of sequences missed")
    assert missed <= 0.05 * 300


@pytest.mark.slow
@pytest.mark.parametrize("count", [10, 25, 40])
def test_different_environments_vary_less_than_drawn_ones(count):
    """The universal tests draw a set without repetition, here of 40 that differ."""
    population = np.random.default_rng(3).beta(0.5, 0.5, 40)

    def draw(rng, size):
        values = rng.choice(population, size, replace=False)
        return (rng.random(size) < values).astype(float)  # and each has randomness of its own

    assert misses(draw, population.mean(), (0, 1), 500, list(range(1, count + 1, 3))) <= 0.05 * 500


@pytest.mark.slow
@pytest.mark.parametrize(("agent", "environment_class"), REAL)
def test_it_is_shorter_than_dividing_the_error_rate(agent, environment_class):
    pool = real_payoffs(agent, environment_class)
    values = [np.random.default_rng(seed).choice(pool, 1000) for seed in range(20)]
    always = [mean_sequence(each, support=(-1, 1)) for each in values]
    divided = [mean(each, 1 - 0.05 / 1000, (-1, 1)) for each in values]
    fixed = [mean(each, 0.95, (-1, 1)) for each in values]
    lengths = [np.median([each.high - each.low for each in those]) for those in (always, divided)]
    assert lengths[0] < 0.85 * lengths[1]
    assert lengths[0] < 1.8 * np.median([each.high - each.low for each in fixed])


@pytest.mark.slow
def test_a_million_values_take_seconds():
    values = np.random.default_rng(0).random(1_000_000)
    estimate = mean_sequence(values, support=(0, 1))
    assert estimate.low < 0.5 < estimate.high
    assert estimate.high - estimate.low < 0.003


def halved(values, support, confidence):
    """The ends as the search is defined: by 30 halvings, with all capitals as logarithms."""
    shares = 1 / np.arange(1, len(FRACTIONS) + 1)
    enough = 2 / (1 - confidence) * (1 + SLACK)
    scaled = (np.asarray(values) - support[0]) / (support[1] - support[0])

    def lowest(scaled):
        low, high = 0.0, 1.0
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            gains = np.log1p(np.array(FRACTIONS)[:, None] * (scaled / middle - 1))
            grown = np.log(shares / shares.sum())[:, None] + np.cumsum(gains, axis=1)
            rich = np.exp(np.minimum(grown, 700.0)).sum(axis=0).max() >= enough
            low, high = (middle, high) if rich else (low, middle)
        return low

    width = support[1] - support[0]
    return support[0] + lowest(scaled) * width, support[1] - lowest(1 - scaled) * width


@pytest.mark.parametrize("count", [1, 2, 63, 64, 65, 1000, 20_000])
def test_the_fast_search_finds_the_same_ends_as_halving(count):
    rng = np.random.default_rng(count)
    for values in (
        rng.uniform(-1, 1, count),
        rng.choice([-1.0, 0.0, 1.0], count, p=[0.01, 0.98, 0.01]),
        np.clip(rng.normal(0.9, 0.02, count), -1, 1),
        np.full(count, -0.5),
        np.ones(count),
    ):
        for confidence in (0.8, 0.95, 0.999):
            low, high = halved(values, (-1, 1), confidence)
            estimate = mean_sequence(values, confidence, (-1, 1))
            expected = min(low, estimate.value), max(high, estimate.value)
            assert (estimate.low, estimate.high) == expected
