"""How fast the scores of tests come together: with the exercises of a sitting, and with sittings.

A sitting's score is the mean of k rewards. If each of them varied alike, whatever the others, its
spread would fall like k^-1/2. If only the first ones varied, as the slots are so short, it would
fall like k^-1: the sum would vary no more, and is divided by k. And k itself grows with the
logarithm of the length only, as each slot is half as long again as the one before.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from omnimeter.contract import FloatArray, stream
from omnimeter.reproductions.anytime_experiments.convergence.found import Series
from omnimeter.statistics import Estimate

FIRST = 8
"""From this exercise on laws are looked at: the slots before it are shorter than 20 interactions,
which is too short for most to learn anything."""

RESAMPLES = 999

GROUPS = (1, 2, 5, 10, 20)
"""Sittings of a test, where tests are made from all sittings anew."""


def sitting_spread(tests: Series) -> FloatArray:
    """The standard deviation of a sitting's score, after each exercise."""
    found: FloatArray = np.std(_sittings(tests), axis=1, ddof=1)
    return found


def exponent(tests: Series) -> Estimate:
    """The power of the number of exercises with which the spread of a sitting falls, from FIRST on.

    The interval is made of resampled sittings.
    """
    return _resampled(tests, lambda scores: _power(tests.exercises, scores))


def variance_per_exercise(tests: Series) -> Estimate:
    """By how much each further exercise, from FIRST on, adds to the variance of the sum of rewards.

    If it adds nothing, the spread of the mean falls like 1/k, otherwise like k^-1/2 in the end.
    """
    return _resampled(tests, lambda scores: _growth(tests.exercises, scores))


def by_sittings(tests: Series) -> dict[int, float]:
    """The spread of the final score between tests, by how many sittings they have.

    The same sittings are put together in other ways. Where too few tests would be left, there is
    nothing.
    """
    final = _sittings(tests)[-1]
    found = {}
    for size in GROUPS:
        count = len(final) // size
        if count >= 5:
            groups = final[: count * size].reshape(count, size)
            found[size] = float(np.std(groups.mean(axis=1), ddof=1))
    return found


def power_of_sittings(tests: Series) -> float:
    """The power of the number of sittings with which the spread between tests falls."""
    found = by_sittings(tests)
    return _slope(np.log(list(found)), np.log(list(found.values())))


def _sittings(tests: Series) -> FloatArray:
    """The running scores of all sittings of all tests: a row per round, a column per sitting."""
    found: FloatArray = np.concatenate(list(tests.scores), axis=1)
    return found


def _power(exercises: FloatArray, scores: FloatArray) -> float:
    spread = np.std(scores, axis=1, ddof=1)
    return _slope(np.log(exercises[FIRST - 1 :]), np.log(spread[FIRST - 1 :]))


def _growth(exercises: FloatArray, scores: FloatArray) -> float:
    sums = np.var(scores * exercises[:, np.newaxis], axis=1, ddof=1)
    return _slope(exercises[FIRST - 1 :], sums[FIRST - 1 :])


def _slope(x: FloatArray, y: FloatArray) -> float:
    away = x - x.mean()
    return float(away @ y / (away @ away))


def _resampled(tests: Series, statistic: Callable[[FloatArray], float]) -> Estimate:
    """A number that is made of all curves, with the percentile interval of resampled sittings."""
    scores = _sittings(tests)
    count = scores.shape[1]
    rng = stream(0, "convergence", tests.subject.name).generator()
    drawn = [statistic(scores[:, rng.integers(count, size=count)]) for _ in range(RESAMPLES)]
    low, high = np.quantile(drawn, [0.025, 0.975])
    return Estimate(statistic(scores), float(low), float(high), 0.95, count)
