"""The mean over strata that were fixed beforehand, such as levels of complexity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.statistics.estimate import Estimate, Support, constant, sample, standard_error
from omnimeter.statistics.means import clipped, mean, quantile

FEWEST = 2
"""Values in a stratum without which its spread is not known."""


def stratified_mean(
    strata: Sequence[ArrayLike], level: float = 0.95, support: Support | None = None
) -> Estimate:
    """The mean of the means of strata, all with the same weight.

    How far the strata lie apart is no uncertainty, because they were chosen and not drawn: only
    the spread inside each counts. The interval is Student's t with Satterthwaite's degrees of
    freedom. Where the spread inside some stratum is not known, because it has a single value or
    all are the same, the values are taken together, as if their strata had been drawn: a longer
    interval.

    Simulated coverage at the nominal 95 %: 94 to 96 % for three strata of 5 values and more,
    normal, uniform or three-valued, with unequal spreads.

    Args:
        strata: The values of each stratum, one value or more in each.
        level: The level of the interval.
        support: The lowest and the highest value there can be.

    Raises:
        ValueError: As for ``mean``, for any stratum.
    """
    groups = [sample(values, support) for values in strata]
    if len(groups) < FEWEST or any(
        len(values) < FEWEST or constant(values, support) for values in groups
    ):
        return mean(np.concatenate(groups), level, support)
    errors = np.array([standard_error(values) for values in groups]) / len(groups)
    degrees = np.array([len(values) - 1 for values in groups])
    variance = float(np.sum(errors**2))
    freedom = variance**2 / float(np.sum(errors**4 / degrees))
    value = float(np.mean([np.mean(values) for values in groups]))
    reach = quantile(freedom, level) * variance**0.5
    count = int(degrees.sum()) + len(groups)
    return clipped(Estimate(value, value - reach, value + reach, level, count), support)
