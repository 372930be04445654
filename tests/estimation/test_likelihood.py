"""The intervals of means against a second implementation, by generic convex optimisation."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq, minimize

from omnimeter.estimation import (
    difference,
    mean,
    stratified_difference,
    stratified_mean,
    stratified_test,
)

WIDE = (-1.0, 1.0)


def highest(samples, weights, cost, ends=None):
    """The greatest weighted sum of means of distributions under which the samples are likely.

    The variables are the logarithms of the probabilities of all values, times the size of their
    sample. What these leave lies at the end of the support, or at the greatest value. So the sum
    falls short of that of the ends by a convex function, within convex constraints: no sample has
    a probability of more than 1, and the logarithms sum up to -cost or more.
    """
    ends = [max(sample) for sample in samples] if ends is None else ends
    groups = np.repeat(np.arange(len(samples)), [len(sample) for sample in samples])
    membership = (groups == np.arange(len(samples))[:, None]).astype(float)
    membership /= np.sum(membership, axis=1, keepdims=True)
    prices = (np.take(ends, groups) - np.concatenate(samples)) * (weights @ membership)
    total, scale = float(np.dot(weights, ends)), np.sum(prices)
    if scale <= 1e-15:
        return total
    for tolerance in (1e-10, 1e-8):  # rounding, which depends on the processor, may miss the first
        result = minimize(
            lambda logs: np.dot(prices, np.exp(logs)) / scale,
            np.full(len(prices), -cost / len(prices)),
            jac=lambda logs: prices * np.exp(logs) / scale,
            constraints=[
                {
                    "type": "ineq",
                    "fun": lambda logs: 1 - membership @ np.exp(logs),
                    "jac": lambda logs: -membership * np.exp(logs),
                },
                {
                    "type": "ineq",
                    "fun": lambda logs: np.sum(logs) + cost,
                    "jac": lambda logs: np.ones(len(logs)),
                },
            ],
            method="SLSQP",
            options={"maxiter": 1_000, "ftol": tolerance},
        )
        if result.success:
            break
    assert result.success, result.message
    return total - result.fun * scale


def interval(samples, weights, supports, confidence=0.95):
    """The interval of a weighted sum of means as the docstring of ``mean`` defines it."""
    error = 1 - confidence
    mirrored = [-np.asarray(sample) for sample in samples]
    lows, highs = [-low for low, _ in supports], [high for _, high in supports]
    pooled, shares = samples, weights
    single = [sample for sample in samples if len(sample) == 1]
    if single:
        pooled = [sample for sample in samples if len(sample) > 1] + [np.concatenate(single)]
        many = [weight for sample, weight in zip(samples, weights, strict=True) if len(sample) > 1]
        shares = [*many, sum(weights) - sum(many)]
    variances, fourth, unknown = [], 0.0, False
    for sample, weight in zip(pooled, shares, strict=True):
        count = len(sample)
        unknown = unknown or count < 2 or np.ptp(sample) == 0
        if not unknown:
            variances.append(weight**2 * np.var(sample, ddof=1) / count)
            squares = weight**2 * (sample - np.mean(sample)) ** 2 / count / (count - 1)
            fourth += np.sum(squares**2)
    if not unknown:
        total = sum(variances)
        sizes = [len(sample) for sample in pooled]
        degrees = total**2 / sum(
            each**2 / (size - 1) for each, size in zip(variances, sizes, strict=True)
        )
        unknown = min(total**2 / fourth, degrees + 1) < 4 * (1 - 1e-9)
    if unknown:
        cost = np.log(2 / error)
        return -highest(mirrored, weights, cost, lows), highest(samples, weights, cost, highs), True
    quantile = stats.t.ppf(1 - error / 2, degrees)
    cost = (degrees + 1) / 2 * np.log(1 + quantile**2 / degrees)
    middle, half = np.dot(weights, [np.mean(each) for each in samples]), quantile * total**0.5
    low = -highest([-np.asarray(each) for each in pooled], shares, cost)
    high = highest(pooled, shares, cost)
    low, high = min(low, middle - half), max(high, middle + half)
    lowest, highest_possible = -np.dot(weights, lows), np.dot(weights, highs)
    return max(low, lowest), min(high, highest_possible), False


def samples_of(kind, rng, sizes):
    """Samples of one kind: spread, skewed, with ties, at the ends, rare rewards or constant."""
    draw = {
        "spread": lambda size: rng.uniform(-0.7, 0.9, size),
        "skewed": lambda size: np.minimum(rng.exponential(0.2, size) - 0.4, 1.0),
        "ties": lambda size: rng.choice([-0.5, 0.0, 0.25], size),
        "ends": lambda size: rng.choice([-1.0, 0.1, 1.0], size),
        "rare": lambda size: np.where(np.arange(size) < 1, 0.9, rng.choice([0.0, 1e-3], size)),
        "constant": lambda size: np.full(size, rng.choice([-1.0, 0.0, 0.3])),
    }[kind]
    return [draw(size) for size in sizes]


KINDS = ["spread", "skewed", "ties", "ends", "rare", "constant"]
SIZES = [(5,), (12,), (20,), (1,), (6, 7), (4, 7, 12), (1, 1, 1), (1, 5, 1, 8)]


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_the_mean_over_strata_is_that_of_a_convex_program(kind, sizes):
    rng = np.random.default_rng([KINDS.index(kind), *sizes])
    for confidence in (0.8, 0.95, 0.99):
        strata = samples_of(kind, rng, sizes)
        weights, supports = [1 / len(sizes)] * len(sizes), [WIDE] * len(sizes)
        low, high, bounded = interval(strata, weights, supports, confidence)
        estimate = stratified_mean(strata, confidence, WIDE)
        assert estimate.bounded == bounded
        assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-5)
        if len(sizes) == 1:
            assert mean(strata[0], confidence, WIDE) == estimate


@pytest.mark.parametrize("sizes", [(5, 5), (4, 15), (1, 6)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_the_difference_of_two_samples_is_that_of_a_convex_program(kind, sizes):
    rng = np.random.default_rng([10 + KINDS.index(kind), *sizes])
    first, second = samples_of(kind, rng, sizes)
    support = (-1.0, 2.0)
    low, high, bounded = interval([first, -second], [1.0, 1.0], [support, (-2.0, 1.0)])
    estimate = difference(first, second, support=support)
    assert estimate.bounded == bounded
    assert (estimate.low, estimate.high) == pytest.approx((low, high), abs=1e-5)


@pytest.mark.parametrize("sizes", [(6,), (20,), (5, 8, 12)], ids=str)
@pytest.mark.parametrize("kind", KINDS)
def test_the_p_value_is_the_error_rate_at_which_the_interval_ends_at_0(kind, sizes):
    rng = np.random.default_rng([20 + KINDS.index(kind), *sizes])
    first = samples_of(kind, rng, sizes)
    second = [0.9 * each - 0.08 for each in samples_of(kind, rng, sizes)]
    estimate = stratified_difference(first, second, 0.5, WIDE)
    sign = 1 if estimate.value > 0 else -1

    def near_end(confidence):
        """The end of the interval on the side of 0, negative when it has passed it."""
        each = stratified_difference(first, second, confidence, WIDE)
        return each.low if sign > 0 else -each.high

    p_value = stratified_test(first, second, WIDE)
    if near_end(1e-9) <= 0:
        assert p_value == pytest.approx(1, abs=1e-6)
    elif near_end(1 - 1e-9) >= 0:
        assert p_value <= 1e-9
    else:
        confidence = brentq(near_end, 1e-9, 1 - 1e-9, xtol=1e-13)
        assert p_value == pytest.approx(1 - confidence, abs=1e-7)
