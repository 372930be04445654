"""Curves of average reward along the interactions: with intervals, and where they cross or settle.

The functions take the averages of many runs: one row per run, one column per point.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from omnimeter.contract import FloatArray, IntArray
from omnimeter.reproductions.estimates import REWARDS
from omnimeter.statistics import Estimate, bootstrap, mean

RESAMPLES = 999


@dataclass(frozen=True)
class Curve:
    """The mean of many runs' averages along the way.

    Attributes:
        points: After how many interactions.
        value: The mean at each point.
        low: The lower end of its 95 % interval.
        high: The upper end of it.
    """

    points: IntArray
    value: FloatArray
    low: FloatArray
    high: FloatArray


def curve_of(points: IntArray, averages: FloatArray) -> Curve:
    """The mean curve of many runs, with its band."""
    estimates = [mean(column, support=REWARDS) for column in averages.T]
    return Curve(
        points,
        np.array([each.value for each in estimates]),
        np.array([each.low for each in estimates]),
        np.array([each.high for each in estimates]),
    )


def final(averages: FloatArray) -> Estimate:
    """The mean of the runs' averages at the end."""
    return mean(averages[:, -1], support=REWARDS)


def settled_after(points: IntArray, averages: FloatArray, within: float = 0.02) -> int:
    """After how many interactions the mean curve stays this close to its end."""
    curve = averages.mean(axis=0)
    away = np.flatnonzero(np.abs(curve - curve[-1]) > within)
    return int(points[away[-1] + 1]) if len(away) else int(points[0])


def passes(
    points: IntArray, first: FloatArray, second: FloatArray, rng: np.random.Generator
) -> Estimate:
    """After how many interactions the first mean curve is above the second for good.

    The interval is that of the bootstrap over the runs, which belong together row by row. A curve
    that does not pass counts as if it did so at the very end.
    """
    differences = first - second
    runs = len(differences)

    def crossing(chosen: FloatArray, axis: int = -1) -> Any:
        rows = np.moveaxis(chosen, axis, -1)
        # How often each run was chosen, so that resampled curves need not be copied out.
        counts = (rows[..., np.newaxis] == np.arange(runs)).sum(axis=-2)
        return _last_crossing(points, counts @ differences)

    whole = (float(points[0]), float(points[-1]))
    return bootstrap(np.arange(runs), crossing, rng, resamples=RESAMPLES, support=whole)


def _last_crossing(points: IntArray, curves: FloatArray) -> FloatArray:
    """Where each curve is above 0 from then on, between two points on a straight line."""
    below = curves <= 0
    last = below.shape[-1] - 1 - np.argmax(below[..., ::-1], axis=-1)
    after = np.minimum(last + 1, len(points) - 1)
    under = np.take_along_axis(curves, last[..., np.newaxis], axis=-1)[..., 0]
    over = np.take_along_axis(curves, after[..., np.newaxis], axis=-1)[..., 0]
    rise = np.where(over > under, over - under, 1.0)
    between = points[last] - under / rise * (points[after] - points[last])
    crossed = np.where(after > last, between, points[-1])
    found: FloatArray = np.where(below.any(axis=-1), crossed, points[0]).astype(np.float64)
    return found
