"""Whether a difference could be chance: a paired test, and its correction for many comparisons."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.statistics.estimate import FloatArray, constant, paired, standard_error


def paired_test(first: ArrayLike, second: ArrayLike) -> float:
    """How likely a mean difference as large as this is by chance: Student's paired t, two-sided.

    When all n differences are the same, their spread is not known. Then it is the exact sign-flip
    test, which knows no more than the signs: 2^(1 - n), and 1 when there is no difference at all.

    Args:
        first: One value or more.
        second: As many, in the same order.

    Raises:
        ValueError: There is no value, one is not finite, or the numbers of values differ.
    """
    differences = paired(first, second)
    count = len(differences)
    if constant(differences):
        return 1.0 if differences[0] == 0 else 2.0 ** (1 - count)
    from scipy.special import stdtr  # much lighter than scipy.stats

    errors = float(np.mean(differences)) / standard_error(differences)
    return 2 * float(stdtr(count - 1, -abs(errors)))


def holm(probabilities: ArrayLike) -> FloatArray:
    """Adjust the p-values of many comparisons so that all of them hold together (Holm's method).

    Args:
        probabilities: The p-values.

    Returns:
        The adjusted p-values, in the same order: reject where they are at most the error rate.
    """
    given = np.asarray(probabilities, dtype=np.float64)
    order = np.argsort(given)
    factors = len(given) - np.arange(len(given))
    adjusted = np.empty_like(given)
    adjusted[order] = np.minimum(np.maximum.accumulate(given[order] * factors), 1.0)
    return adjusted
