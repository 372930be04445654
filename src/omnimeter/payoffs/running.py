"""The payoff after each number of cycles, and how many cycles count at an end.

Every payoff, of one trace or along many ends, is a place in one of these arrays. That is why both
always agree, bit for bit.
"""

from __future__ import annotations

import numpy as np

from omnimeter.contract import FloatArray, IntArray


def running_totals(values: FloatArray) -> FloatArray:
    """The sum of the first n values at place n, for n from 0 to all.

    A plain running sum loses digits: 45 rewards of 0.1 would not make 4.5. Here the rounding error
    of each addition is found exactly (Knuth's two-sum) and added back, as if the sum had been
    carried out with twice the digits (the Sum2 of Ogita, Rump and Oishi). Place n depends on the
    first n values only.

    Args:
        values: Finite numbers.

    Returns:
        An array longer by one than ``values``, beginning with 0.
    """
    totals = np.zeros(len(values) + 1)
    before, after = totals[:-1], totals[1:]
    np.cumsum(values, out=after)
    added = after - before
    lost = (before - (after - added)) + (values - added)
    after += np.cumsum(lost)
    return totals


def running_averages(rewards: FloatArray) -> FloatArray:
    """The average of the first n rewards at place n; 0 at place 0.

    No average leaves the range of its rewards, not even by rounding.
    """
    cycles = np.arange(1.0, len(rewards) + 1.0)
    return _within_rewards(running_totals(rewards)[1:] / cycles, rewards)


def running_discounted(rewards: FloatArray, weights: FloatArray) -> FloatArray:
    """The weighted average of the first n rewards at place n; 0 at place 0.

    No weighted average leaves the range of its rewards, not even by rounding.

    Args:
        rewards: The rewards.
        weights: As many weights, none negative, the first one positive.
    """
    weighted = running_totals(weights * rewards)[1:]
    return _within_rewards(weighted / running_totals(weights)[1:], rewards)


def counted(times: IntArray, ends: IntArray) -> IntArray:
    """How many actions were performed until each end: the n_τ of the papers.

    An action performed exactly at the end counts.
    """
    return np.searchsorted(times, ends, side="right").astype(np.int64)


def diminished(times: IntArray, ends: IntArray) -> IntArray:
    """How many cycles are left of a diminishing history: n* = ⌊n_τ · t_last / τ⌋.

    Computed on whole nanoseconds with Python's unbounded integers: a rounded quotient would lose
    a cycle now and then, and n_τ · t_last does not fit into 64 bits after a long exercise.

    Returns:
        n* for each end; 0 where no action was performed or no time has passed.
    """
    counts = counted(times, ends)
    last = np.where(counts > 0, np.append(times, 0)[counts - 1], 0)
    triples = zip(counts.tolist(), last.tolist(), ends.tolist(), strict=True)
    return np.array([n * t // end if end > 0 else 0 for n, t, end in triples], dtype=np.int64)


def _within_rewards(averages: FloatArray, rewards: FloatArray) -> FloatArray:
    """The averages without what rounding carried outside their rewards, with 0 put in front."""
    result = np.zeros(len(rewards) + 1)
    lowest, highest = np.minimum.accumulate(rewards), np.maximum.accumulate(rewards)
    np.clip(averages, lowest, highest, out=result[1:])
    return result
