"""Payoffs as functions of arrays, with the number of their definition in the papers."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.caching import compiled
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.exercise import NANOSECONDS
from omnimeter.payoffs.discounts import DiscountSequence, weights


@cache
def _compiled_sum() -> Any:
    def compensated_sum(values: Any) -> Any:
        total, lost = 0.0, 0.0
        for value in values:
            after = total + value
            added = after - total
            lost += (total - (after - added)) + (value - added)
            total = after
        return total + lost

    return compiled(compensated_sum)


def total(rewards: FloatArray) -> float:
    """The total reward sum V↑τ, with the rounding error of every addition added back.

    Definition "total reward sum" (fixed-time payoffs) and Definition 8 (anytime test). Bit for bit
    the last of ``running_totals``, at a fraction of its cost: the payoff of an exercise must not
    take longer than the exercise.
    """
    return float(_compiled_sum()(rewards))


def running_totals(values: FloatArray) -> FloatArray:
    """The sum of the first n values at index n, for n from 0 to all.

    A plain running sum loses digits: 45 rewards of 0.1 would not make 4.5. Here the rounding error
    of each addition is computed exactly (Knuth's two-sum) and added back, as if the sum had been
    carried out with twice the digits (the Sum2 of Ogita, Rump and Oishi). Index n depends on the
    first n values only.
    """
    totals = np.zeros(len(values) + 1)
    before, after = totals[:-1], totals[1:]
    np.cumsum(values, out=after)
    added = after - before
    lost = (before - (after - added)) + (values - added)
    after += np.cumsum(lost)
    return totals


def running_averages(rewards: FloatArray) -> FloatArray:
    """The average of the first n rewards at index n; 0 at index 0.

    No average leaves the range of its rewards, not even by rounding.
    """
    cycles = np.arange(1.0, len(rewards) + 1.0)
    return _within_rewards(running_totals(rewards)[1:] / cycles, rewards)


def counted(times: IntArray, ends: ArrayLike) -> IntArray:
    """The number of actions performed until each end, or exactly then: the n_τ of the papers."""
    return np.searchsorted(times, ends, side="right").astype(np.int64)


def diminished(
    times: IntArray, ends: ArrayLike, planned: int | None = None, timed: ArrayLike = True
) -> IntArray:
    """The number of cycles left of a diminishing history at each end: n* = ⌊n_τ · share⌋.

    The share that was used is t_last / τ of a time, n_τ / N of N planned interactions, and of both
    the greater, since an exercise is over when either is 1. n* is 0 where no action was performed
    or no time has passed. Python's unbounded integers compute it exactly: n_τ · t_last does not
    fit into 64 bits after a long exercise.

    Args:
        times: When each action was performed, in nanoseconds.
        ends: τ in nanoseconds.
        planned: N, where a number of interactions was planned.
        timed: Whether each end was that of a time; where it was not, only N counts.
    """
    ends = np.asarray(ends, dtype=np.int64)
    counts = counted(times, ends)
    last = times[np.maximum(counts, 1) - 1] if len(times) else counts
    whole = np.where(timed, ends, 0)
    triples = zip(counts.tolist(), last.tolist(), whole.tolist(), strict=True)
    left = [
        max(n * t // end if end else 0, n * n // planned if planned else 0) for n, t, end in triples
    ]
    return np.array(left, dtype=np.int64)


def _within_rewards(averages: FloatArray, rewards: FloatArray) -> FloatArray:
    """The averages, clipped to their rewards against rounding, with 0 put in front."""
    result = np.zeros(len(rewards) + 1)
    lowest, highest = np.minimum.accumulate(rewards), np.maximum.accumulate(rewards)
    np.clip(averages, lowest, highest, out=result[1:])
    return result


def average(rewards: FloatArray) -> float:
    """The average reward per cycle v‖τ; 0 without any cycle, as the paper defines.

    Definition "average reward per cycle" (fixed-time payoffs) and Definition 14 (anytime test).
    """
    return _average_within(rewards, total(rewards), len(rewards))


def planned_average(rewards: FloatArray, planned: int) -> float:
    """The average reward V(n) / N over the N interactions that were planned; 0 without any.

    Definitions 14 and 15 (anytime test), where every agent completes all N. One that stops early
    gets no reward for the rest.
    """
    return average(rewards) if len(rewards) >= planned else total(rewards) / planned


def per_second(rewards: FloatArray, end: int) -> float:
    """The average reward per second, V↑τ / τ; 0 without any cycle, and 0 when no time has passed.

    Mentioned with the definition "average reward per cycle" (fixed-time payoffs), as (1/τ) V↑τ. The
    paper leaves τ = 0 open. ``end`` is τ in nanoseconds.
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
    return _average_within(rewards, total(first * rewards), total(first))


def discounted_sum(rewards: FloatArray, gamma: float, planned: int, lowest: float = 0.0) -> float:
    """The discounted return: the sum of gamma^t r_t over exactly T planned steps t = 0 .. T - 1.

    Section 3.2 of the Bayesian RL benchmark, whose sum has one term more than its library. A step
    that was not made counts as the lowest possible reward.
    """
    missing = lowest * (1.0 - gamma**planned) / (1.0 - gamma)
    return total(gamma ** np.arange(len(rewards)) * (rewards - lowest)) + missing


def diminishing(
    rewards: FloatArray,
    times: IntArray,
    end: int,
    planned: int | None = None,
    timed: bool = True,
) -> float:
    """The average of the first n* = ⌊n_τ · t_last / τ⌋ rewards; 0 when no cycle counts.

    Definition "average reward per cycle with diminishing history" (fixed-time payoffs) and
    Definition 16 (anytime test). Of N planned interactions n* = ⌊n · n / N⌋, which is the same
    when every action takes one of N ticks.

    Args:
        rewards: The rewards.
        times: When each action was performed, in nanoseconds.
        end: τ in nanoseconds.
        planned: N, where a number of interactions was planned.
        timed: Whether the end was that of a time; where it was not, only N counts.
    """
    return average(rewards[: diminished(times, [end], planned, timed)[0]])


def _average_within(rewards: FloatArray, total: float, weight: float) -> float:
    """The quotient, clipped to the rewards against rounding; 0 without any."""
    if not len(rewards):
        return 0.0
    return float(min(max(total / weight, rewards.min()), rewards.max()))


def total_along(rewards: FloatArray, times: IntArray, ends: ArrayLike) -> FloatArray:
    """The total reward sum at each end, in nanoseconds."""
    return running_totals(rewards)[counted(times, ends)]


def average_along(rewards: FloatArray, times: IntArray, ends: ArrayLike) -> FloatArray:
    """The average reward per cycle at each end, in nanoseconds."""
    return running_averages(rewards)[counted(times, ends)]


def planned_average_along(
    rewards: FloatArray, times: IntArray, ends: ArrayLike, planned: int
) -> FloatArray:
    """The average reward over the planned interactions at each end, in nanoseconds."""
    counts = counted(times, ends)
    partial = running_totals(rewards)[counts] / max(planned, 1)
    return np.where(counts >= planned, running_averages(rewards)[counts], partial)


def per_second_along(rewards: FloatArray, times: IntArray, ends: ArrayLike) -> FloatArray:
    """The average reward per second at each end, in nanoseconds."""
    ends = np.asarray(ends, dtype=np.int64)
    totals = total_along(rewards, times, ends)
    return np.divide(totals, ends / NANOSECONDS, out=np.zeros(len(ends)), where=ends > 0)


def discounted_along(
    rewards: FloatArray, times: IntArray, ends: ArrayLike, sequence: DiscountSequence
) -> FloatArray:
    """The discounted reward at each end, in nanoseconds."""
    first = weights(sequence, len(rewards))
    averages = running_totals(first * rewards)[1:] / running_totals(first)[1:]
    return _within_rewards(averages, rewards)[counted(times, ends)]


def discounted_sum_along(
    rewards: FloatArray,
    times: IntArray,
    ends: ArrayLike,
    gamma: float,
    planned: int,
    lowest: float = 0.0,
) -> FloatArray:
    """The discounted return at each end, in nanoseconds."""
    missing = lowest * (1.0 - gamma**planned) / (1.0 - gamma)
    sums = running_totals(gamma ** np.arange(len(rewards)) * (rewards - lowest))
    return sums[counted(times, ends)] + missing


def diminishing_along(
    rewards: FloatArray,
    times: IntArray,
    ends: ArrayLike,
    planned: int | None = None,
    timed: ArrayLike = True,
) -> FloatArray:
    """The average reward per cycle with diminishing history at each end, in nanoseconds."""
    return running_averages(rewards)[diminished(times, ends, planned, timed)]
