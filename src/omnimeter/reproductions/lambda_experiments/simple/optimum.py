"""The most that can be had in a Lambda environment by whoever knows everything but chance.

By dynamic programming backwards from the end, over the place in the pattern and the cells of Good,
of Evil and of the agent. Only two things remain unknown: the coin when Good and Evil mean to go to
the same cell, and when they change places, which is taken to be equally likely at any time.
"""

from __future__ import annotations

import numpy as np

from omnimeter.contract import FloatArray, IntArray
from omnimeter.environments.lambda_class.description import read_space
from omnimeter.environments.lambda_class.patterns import parse_pattern


def optimum(space: str, pattern: str, interactions: int, until_swap: float) -> float:
    """The greatest expected average reward, everybody being placed by chance.

    Args:
        space: The description of the space.
        pattern: What Good and Evil do.
        interactions: For how long.
        until_swap: After how many interactions they change places, on average.
    """
    paths = read_space(space).successors()
    cells, actions = paths.shape
    steps = parse_pattern(pattern, actions)
    swap = 1 / until_swap
    pairs = np.stack([_moved(paths[:, action]) for action in range(actions)])
    rewards = _rewards(cells)
    worth = np.zeros((cells * cells, cells))
    swapped = np.arange(cells * cells).reshape(cells, cells).T.ravel()
    for left in range(interactions):
        action = steps[(interactions - 1 - left) % len(steps)]
        after = rewards + (1 - swap) * worth + swap * worth[swapped]
        met = (after[pairs[action, 0]] + after[pairs[action, 1]]) / 2
        worth = met[:, paths].max(axis=-1)
    apart = ~np.eye(cells, dtype=bool).ravel()
    return float(worth[apart].mean() / interactions)


def _moved(way: IntArray) -> IntArray:
    """Where Good and Evil are after an action, as numbers of pairs: for heads, and for tails."""
    cells = len(way)
    good, evil = np.divmod(np.arange(cells * cells), cells)
    to_good, to_evil = way[good], way[evil]
    meet = to_good == to_evil
    # Who is there already stays; if neither is, the coin decides who does not move.
    good_waits = np.where(meet & (to_good != good), good, to_good) * cells + to_evil
    evil_waits = to_good * cells + np.where(meet & (to_evil != evil), evil, to_evil)
    heads = np.where(meet & (to_good == good), evil_waits, good_waits)
    tails = np.where(meet & (to_evil == evil), good_waits, evil_waits)
    return np.stack([heads, tails])


def _rewards(cells: int) -> FloatArray:
    """What an agent gets in each cell, for each pair of cells of Good and Evil."""
    good, evil = np.divmod(np.arange(cells * cells), cells)
    here = np.arange(cells)
    with_good, with_evil = here == good[:, np.newaxis], here == evil[:, np.newaxis]
    return np.where(with_good, 1.0, 0.0) - np.where(with_evil, 1.0, 0.0)
