"""How reliable a score is: its stability during a test, and its agreement over repetitions."""

from __future__ import annotations

from math import ceil, nan, sqrt

import numpy as np
from numpy.typing import ArrayLike

from omnimeter.estimation.estimates import ROUNDING, Estimate, as_sample, error_rate


def stability(running: ArrayLike, tail: float = 0.5, span: float = 2.0) -> float:
    """How stable a running estimate is, from 0 (not at all, or a single one) to 1 (unchanging).

    It is 1 - d / span, where d is the root mean square distance between the last estimate and
    those in the last part of the test. As d² is the variance in that part plus the square of how
    far its mean lies from the last estimate, both shapes count that the Lambda thesis warns of:
    estimates that oscillate (its Figure 7.1) and estimates that still climb (its Figure 7.2). A
    stability of 0.98 says that in this part the estimate was typically 2 % of the whole scale away
    from where it is now.

    It is no interval: an estimate can converge to a wrong value, and a mean over many exercises
    moves little in any case.

    Args:
        running: The estimate after each step of the test, the last one last.
        tail: The share of the steps, at the end, that is used; above 0 and at most 1.
        span: How far apart two estimates can lie: 2 for scores from -1 to 1.

    Raises:
        ValueError: No estimate, one not finite, or an invalid ``tail`` or ``span``.
    """
    if not (0 < tail <= 1 and span > 0):
        raise ValueError(f"a share lies in (0, 1] and a span is positive, not {tail} and {span}")
    estimates = as_sample(running)
    if len(estimates) == 1:
        return 0.0
    *earlier, last = estimates[-max(2, ceil(tail * len(estimates))) :]
    return max(0.0, 1.0 - sqrt(float(np.mean((np.array(earlier) - last) ** 2))) / span)


def intraclass(values: ArrayLike, confidence: float = 0.95) -> Estimate:
    """The reliability of a score that is the mean over the repetitions of several agents.

    It is the share of the variance of the agents' mean scores that is not error, ICC(C, k) of
    K. O. McGraw and S. P. Wong, "Forming inferences about some intraclass correlation coefficients"
    (1996), also known as ICC(3, k) and as Cronbach's alpha: (R - E) / R, where R is the mean square
    between agents and E the residual mean square. Repetitions are paired: that one of them is
    harder for all agents is no error. Agents are taken as drawn from the population that is to be
    told apart: the same test is less reliable for agents that are more alike. The
    interval is McGraw and Wong's F interval, which is exact when abilities and errors are normal
    and errors spread equally for all agents.

    Coverage of an interval of confidence 0.95, in simulations of 10,000 tables each, of 5, 10 and
    20 agents in 5 and 10 repetitions, with true reliabilities of 0.3, 0.8 and 0.95: 95 % when all
    is normal, 95 to 96 % with uniform errors, 91 to 95 % with exponential ones, 92 to 94 % when
    half of the agents have errors half as large. It depends on how abilities are distributed,
    which the table can hardly show: 95 to 99 % of uniform ones, but of exponential ones, where a
    few agents excel, 93 to 94 % at a reliability of 0.3 and only 76 to 90 % at 0.8 and more.

    A negative value is replaced by 0. With one agent or one repetition, or when agents do not
    differ and there is no error either, it is not a number. It is 1 when there is no error at all,
    and 0 when agents do not differ at all. In all these cases one of the spreads is unknown, and
    the interval is 0 to 1.

    Args:
        values: A row for each agent with its score in each repetition.
        confidence: The confidence of the interval.

    Raises:
        ValueError: No table, a value not finite, or a confidence not in (0, 1).
    """
    error = error_rate(confidence)
    table = np.asarray(values, dtype=np.float64)
    if table.ndim != 2 or not table.size:
        raise ValueError(f"a table has a row for each agent, not the shape {table.shape}")
    if not np.all(np.isfinite(table)):
        raise ValueError("a table has a value that is not finite")
    agents, repetitions = table.shape
    if agents < 2 or repetitions < 2:
        return Estimate(nan, 0.0, 1.0, confidence, table.size)
    centred = table - np.mean(table)
    rows, columns = np.mean(centred, axis=1), np.mean(centred, axis=0)
    residuals = centred - rows[:, None] - columns
    for part in (rows, residuals):
        part[np.abs(part) <= ROUNDING * np.max(np.abs(table))] = 0.0
    degrees = agents - 1, (agents - 1) * (repetitions - 1)
    between = repetitions * float(np.sum(rows**2)) / degrees[0]
    within = float(np.sum(residuals**2)) / degrees[1]
    if not (between and within):
        share = between / (between + within) if between or within else nan
        return Estimate(share, 0.0, 1.0, confidence, table.size)
    from scipy.special import fdtri  # much lighter than scipy.stats

    ratio = between / within
    low = ratio / fdtri(*degrees, 1 - error / 2)
    high = ratio * fdtri(*degrees[::-1], 1 - error / 2)
    value, low, high = (max(0.0, 1.0 - 1.0 / each) for each in (ratio, low, high))
    return Estimate(value, low, high, confidence, table.size)
