"""Repeated-measures analysis of variance: do agents differ on the same exercises?"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.estimation.estimates import ROUNDING, Estimate, FloatArray, error_rate, t_quantile

STEPS = 60
"""Halvings of a search, which leave nothing that a floating-point number could tell."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What one factor does to the values of the same subjects.

    Attributes:
        statistic: F, the mean square of the effect by that of its error. Infinite where there is an
            effect without any error, and not a number where there is neither.
        degrees: The degrees of freedom of both.
        p_value: How likely one as large as this is without an effect, if sphericity holds: if all
            differences between two conditions spread alike.
        sphericity: The epsilon of Greenhouse and Geisser, from 1 / d with d degrees of freedom of
            the effect to 1, where sphericity holds.
        corrected_p_value: The p-value with both degrees of freedom times epsilon, which does not
            need sphericity.
        share: Partial eta squared with its interval: the share of the effect in the sum of squares
            of the effect and of its error.
    """

    statistic: float
    degrees: tuple[float, float]
    p_value: float
    sphericity: float
    corrected_p_value: float
    share: Estimate


def repeated_measures(values: ArrayLike, confidence: float = 0.95) -> Effect:
    """The analysis of variance of one factor within subjects, such as agents on exercises.

    Each subject has a value in each condition, so that the distances between subjects do not count.

    The interval of partial eta squared is of S / (S + E). S is the sum of the squared distances of
    the true means of conditions from their mean, and E the expectation of those that a subject adds
    to them. It is the smallest that contains two others. One is that of the noncentral F, with the
    degrees of the corrected p-value. The other is that of √(S / E) with the standard error of
    leaving out one subject at a time, which follows values that are not normal; Student's t has
    twice the degrees of the subjects that carry this error (see ``mean``), up to all of them.
    Where values show no error, the interval is 0 to 1, and bounded. ``benchmarks/shapes.py``
    measures how often it holds; docs/intervals.md has the table.

    Args:
        values: A row for each subject with its value in each condition; two or more of each.
        confidence: The confidence of the interval.

    Raises:
        ValueError: No such table, a value not finite, or a confidence not in (0, 1).
    """
    rows = _table(values, 2, confidence)
    return _effect(rows @ _contrasts(rows.shape[1]), rows, confidence)


@dataclass(frozen=True, slots=True)
class TwoWay:
    """What two factors do to the values of the same subjects, and whether one changes the other.

    Attributes:
        first: The effect of the first factor, over the conditions of the second.
        second: The effect of the second factor, over the conditions of the first.
        interaction: The effect of the second factor on the differences that the first makes.
    """

    first: Effect
    second: Effect
    interaction: Effect


def two_way_repeated_measures(values: ArrayLike, confidence: float = 0.95) -> TwoWay:
    """The analysis of variance of two factors within subjects, such as agents and exercises.

    Each subject has a value in each pair of conditions. An effect is tested against its own
    differences between subjects, as ``repeated_measures`` does: each factor as if the subjects'
    means over the other one were the values.

    Args:
        values: For each subject a table, with a row for each condition of the first factor and a
            column for each of the second; two or more of each.
        confidence: The confidence of the intervals.

    Raises:
        ValueError: No such tables, a value not finite, or a confidence not in (0, 1).
    """
    tables = _table(values, 3, confidence)
    subjects, first, second = tables.shape
    means = [np.full((size, 1), size**-0.5) for size in (first, second)]
    contrasts = [_contrasts(size) for size in (first, second)]
    rows = tables.reshape(subjects, first * second)
    effects = (
        _effect(rows @ np.kron(*pair), rows, confidence)
        for pair in ((contrasts[0], means[1]), (means[0], contrasts[1]), contrasts)
    )
    return TwoWay(*effects)


def _table(values: ArrayLike, factors: int, confidence: float) -> FloatArray:
    """Values by subjects and conditions, if that is what they are."""
    error_rate(confidence)
    rows = np.asarray(values, dtype=np.float64)
    if rows.ndim != factors or min(rows.shape) < 2:
        raise ValueError(
            "an analysis of variance needs a row for each of two subjects or more, with a value in "
            f"two conditions at least, not the shape {rows.shape}"
        )
    if not np.all(np.isfinite(rows)):
        raise ValueError("a table has a value that is not finite")
    return rows


def _effect(scores: FloatArray, rows: FloatArray, confidence: float) -> Effect:
    """The effect that some contrasts show, of which each subject has a score.

    Args:
        scores: The scores of orthonormal contrasts, in columns.
        rows: The values that they were made of.
        confidence: The confidence of the interval.
    """
    from scipy.special import fdtrc

    subjects, size = scores.shape
    degrees = float(size), float(size * (subjects - 1))
    centre = np.mean(scores, axis=0)
    errors = scores - centre
    largest = np.max(np.abs(rows))
    for part in (centre, errors):
        part[np.abs(part) <= ROUNDING * largest] = 0.0
    effect, error = subjects * float(np.sum(centre**2)), float(np.sum(errors**2))
    if not error:
        share = Estimate(1.0 if effect else nan, 0.0, 1.0, confidence, rows.size, bounded=True)
        statistic, p_value = (inf, 0.0) if effect else (nan, 1.0)
        return Effect(statistic, degrees, p_value, nan, p_value, share)
    scaled = errors / sqrt(error)
    epsilon = 1 / (size * float(np.sum((scaled.T @ scaled) ** 2)))
    epsilon = min(max(epsilon, 1 / size), 1.0)
    statistic = effect / degrees[0] / (error / degrees[1])
    corrected = degrees[0] * epsilon, degrees[1] * epsilon
    p_value, corrected_p_value = (float(fdtrc(*each, statistic)) for each in (degrees, corrected))
    value = effect / (effect + error)
    # The noncentrality is the ratio of true sums of squares times epsilon, subjects and conditions.
    # F below 1, its expectation without an effect, would have ever shorter intervals.
    factor = subjects * corrected[0]
    low = _noncentrality(statistic, corrected, 1 - error_rate(confidence) / 2) / factor
    high = _noncentrality(max(statistic, 1.0), corrected, error_rate(confidence) / 2) / factor
    root, reach = sqrt(effect / error), _left_out(scores, confidence)
    ratios = min(low, max(root - reach, 0.0) ** 2), max(high, (root + reach) ** 2)
    low, high = (1 - 1 / (1 + each) for each in ratios)
    share = Estimate(value, min(low, value), max(high, value), confidence, rows.size)
    return Effect(statistic, degrees, p_value, epsilon, corrected_p_value, share)


def _contrasts(size: int) -> FloatArray:
    """Helmert's contrasts, as columns: orthonormal, and all 0 for equal values."""
    columns = np.zeros((size, size - 1))
    for number in range(1, size):
        columns[:number, number - 1] = -1.0
        columns[number, number - 1] = number
    return np.asarray(columns / np.linalg.norm(columns, axis=0), dtype=np.float64)


def _noncentrality(statistic: float, degrees: tuple[float, float], share: float) -> float:
    """The noncentrality under which F is below the statistic with this probability; 0 if none."""
    from scipy.special import ncfdtr

    if ncfdtr(*degrees, 0.0, statistic) <= share:
        return 0.0
    low, high = 0.0, 1.0
    while ncfdtr(*degrees, high, statistic) > share:
        low, high = high, 4 * high
    for _ in range(STEPS):
        middle = (low + high) / 2
        above = ncfdtr(*degrees, middle, statistic) > share
        low, high = (middle, high) if above else (low, middle)
    return high


def _left_out(scores: FloatArray, confidence: float) -> float:
    """How far the root of the ratio of sums of squares reaches, by leaving out each subject."""
    subjects = len(scores)
    if subjects < 3:
        return inf
    centre = np.mean(scores, axis=0)
    errors = scores - centre
    distances = np.sum(errors**2, axis=1)
    within = float(np.sum(distances))
    rest = within - distances * subjects / (subjects - 1)
    if np.min(rest) <= ROUNDING * within:
        return inf
    effects = subjects * np.sum((centre - errors / (subjects - 1)) ** 2, axis=1)
    roots = np.sqrt(effects / rest)
    roots -= np.mean(roots)
    spread = float(np.linalg.norm(roots)) * sqrt(1 - 1 / subjects)
    carriers = float(np.sum(roots**2)) ** 2 / (float(np.sum(roots**4)) or 1.0)
    degrees = max(1.0, min(subjects - 1, 2 * (carriers - 1)))
    return t_quantile(degrees, confidence) * spread
