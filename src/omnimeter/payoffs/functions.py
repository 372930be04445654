"""What the rewards and times of one exercise are worth: the payoffs as functions of arrays.

``rewards`` are always those of the n_τ actions performed until the end τ, in their order. The
papers define payoffs as expectations; one exercise gives one draw of them.
"""

from __future__ import annotations

import numpy as np

from omnimeter.contract import NANOSECONDS, FloatArray, IntArray
from omnimeter.payoffs.discounts import DiscountSequence, weights
from omnimeter.payoffs.running import (
    counted,
    diminished,
    running_averages,
    running_discounted,
    running_totals,
)
from omnimeter.payoffs.summation import compensated_sum


def total(rewards: FloatArray) -> float:
    """The total reward sum V↑τ.

    Definition "total reward sum" (fixed-time payoffs) and Definition 8 (anytime test).
    """
    return compensated_sum(rewards)


def average(rewards: FloatArray) -> float:
    """The average reward per cycle v‖τ; 0 without any cycle, as the paper defines.

    Definition "average reward per cycle" (fixed-time payoffs) and Definition 14 (anytime test).
    """
    return _average_within(rewards, compensated_sum(rewards), len(rewards))


def per_second(rewards: FloatArray, end: int) -> float:
    """The average reward per second, V↑τ / τ; 0 without any cycle, and 0 when no time has passed.

    Named beside the definition "average reward per cycle" (fixed-time payoffs), as (1/τ) V↑τ. The
    paper leaves τ = 0 open; an exercise without time is worth nothing here.

    Args:
        rewards: The rewards.
        end: τ in nanoseconds.
    """
    return total(rewards) / (end / NANOSECONDS) if end > 0 else 0.0


def discounted(rewards: FloatArray, sequence: DiscountSequence) -> float:
    """The discounted reward V|γ|τ = (1/Γ^n) Σ γ_i r_i; 0 without any cycle.

    Definition "discounted reward" (fixed-time payoffs). Γ^n is the sum of the same n weights, so
    this is a weighted average and never leaves the range of the rewards.

    Args:
        rewards: The rewards.
        sequence: The weights γ_1, γ_2, ... as an array, or as a function of k = 1 .. n.
    """
    first = weights(sequence, len(rewards))
    return _average_within(rewards, compensated_sum(first * rewards), compensated_sum(first))


def diminishing(rewards: FloatArray, times: IntArray, end: int) -> float:
    """The average of the first n* = ⌊n_τ · t_last / τ⌋ rewards; 0 when no cycle counts.

    Definition "average reward per cycle with diminishing history" (fixed-time payoffs) and
    Definition 16 (anytime test).

    Args:
        rewards: The rewards.
        times: When each action was performed, in nanoseconds.
        end: τ in nanoseconds.
    """
    (count,) = diminished(times, np.array([end], dtype=np.int64))
    return average(rewards[:count])


def _average_within(rewards: FloatArray, total: float, weight: float) -> float:
    """The quotient without what rounding carried outside the rewards; 0 without any."""
    if not len(rewards):
        return 0.0
    return float(min(max(total / weight, np.min(rewards)), np.max(rewards)))


def total_along(rewards: FloatArray, times: IntArray, ends: IntArray) -> FloatArray:
    """The total reward sum at each end, in nanoseconds."""
    return running_totals(rewards)[counted(times, ends)]


def average_along(rewards: FloatArray, times: IntArray, ends: IntArray) -> FloatArray:
    """The average reward per cycle at each end, in nanoseconds."""
    return running_averages(rewards)[counted(times, ends)]


def per_second_along(rewards: FloatArray, times: IntArray, ends: IntArray) -> FloatArray:
    """The average reward per second at each end, in nanoseconds."""
    totals = total_along(rewards, times, ends)
    return np.divide(totals, ends / NANOSECONDS, out=np.zeros(len(ends)), where=ends > 0)


def discounted_along(
    rewards: FloatArray, times: IntArray, ends: IntArray, sequence: DiscountSequence
) -> FloatArray:
    """The discounted reward at each end, in nanoseconds."""
    running = running_discounted(rewards, weights(sequence, len(rewards)))
    return running[counted(times, ends)]


def diminishing_along(rewards: FloatArray, times: IntArray, ends: IntArray) -> FloatArray:
    """The average reward per cycle with diminishing history at each end, in nanoseconds."""
    return running_averages(rewards)[diminished(times, ends)]
