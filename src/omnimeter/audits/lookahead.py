"""A look ahead from one state: do two sequences of actions bring different sums of rewards?"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from omnimeter.audits.graph import ROUNDING
from omnimeter.audits.positions import Positions
from omnimeter.contract import FloatArray

EXHAUSTIVE = 1000
"""Sequences up to this number are all tried, one for all that end in the same state."""

SAMPLED = 300
"""Sequences that are tried where there are more."""

CHANCES = 8
"""Chances that are tried before a state counts as insensitive, where they can be exchanged."""


@dataclass(frozen=True, slots=True)
class Search:
    """What a look ahead found.

    Attributes:
        length: After how many actions sums differed; 0 if they never did.
        sequences: How many sequences were compared, of those that end in the same state one.
        complete: Whether these were all there are.
    """

    length: int
    sequences: int
    complete: bool


def search(positions: Positions, actions: int, horizon: int, rng: np.random.Generator) -> Search:
    """Look up to a horizon ahead from where an environment stands.

    What was insensitive with one chance may be sensitive with another, so several are tried.
    """
    place = positions.save()
    result = Search(0, 0, False)
    for attempt in range(CHANCES):
        positions.restore(place)
        if attempt and not positions.reseed(rng):
            break
        result = _once(positions, actions, horizon, rng)
        if result.length:
            break
    return result


def _once(positions: Positions, actions: int, horizon: int, rng: np.random.Generator) -> Search:
    place = positions.save()
    near = _all_sequences(positions, actions, horizon)
    if near.length or near.complete:
        return near
    return _some_sequences(positions, place, actions, horizon, rng)


def _all_sequences(positions: Positions, actions: int, horizon: int) -> Search:
    """Every sequence, as long as they are few; those that end in the same state go on as one."""
    frontier = {positions.save(): (0.0, 0.0)}
    for length in range(1, horizon + 1):
        if len(frontier) * actions > EXHAUSTIVE:
            return Search(0, len(frontier), False)
        longer: dict[Hashable, tuple[float, float]] = {}
        found = []
        for place, (total, weight) in frontier.items():
            for action in range(actions):
                positions.restore(place)
                reward = positions.step(action)
                found.append((total + reward, weight + abs(reward)))
                longer.setdefault(positions.save(), found[-1])
        frontier = longer
        sums, weights = np.array(found).T
        if _differ(sums, weights):
            return Search(length, len(found), False)
    return Search(0, len(frontier), True)


def _some_sequences(
    positions: Positions, place: Hashable, actions: int, horizon: int, rng: np.random.Generator
) -> Search:
    """Every action again and again, then sequences at random."""
    tried = [np.full(horizon, action) for action in range(actions)]
    tried += list(rng.integers(actions, size=(SAMPLED, horizon)))
    sums = np.empty((len(tried), horizon))
    weights = np.empty((len(tried), horizon))
    for number, sequence in enumerate(tried):
        positions.restore(place)
        rewards = [positions.step(int(action)) for action in sequence]
        sums[number], weights[number] = np.cumsum(rewards), np.cumsum(np.abs(rewards))
    for length in range(1, horizon + 1):
        if _differ(sums[:, length - 1], weights[:, length - 1]):
            return Search(length, len(tried), False)
    return Search(0, len(tried), False)


def _differ(sums: FloatArray, weights: FloatArray) -> bool:
    return bool(np.ptp(sums) > ROUNDING * weights.max())
