"""What agents share: checks of their parameters, value tables, and greedy choices with ties."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from omnimeter.contract import InvalidInputError, Space
from omnimeter.contract.agent import LONGEST_DELAY, IntArray
from omnimeter.contract.exercise import nanoseconds
from omnimeter.kernels import below, forward, kernel

MAX_TABLE_SIZE = 2**24
"""Entries that a table may have: some hundred megabytes."""


def require(valid: bool, problem: str, advice: str) -> None:
    """Raise an ``InvalidInputError`` of this problem and advice unless valid."""
    if not valid:
        raise InvalidInputError(problem, advice)


def require_gamma(gamma: float) -> None:
    """Check that a discount factor is at least 0 and below 1."""
    problem = f"The discount factor gamma is {gamma}."
    require(0 <= gamma < 1, problem, "Give a number from 0 on, below 1.")


def checked_actions(actions: Sequence[int], name: str) -> IntArray:
    """The given actions as an array; ``name`` is what the user calls them, for messages.

    An environment may still have fewer actions: that is an invalid action when it is performed.
    """
    require(len(actions) > 0, f"The {name} is empty.", "Give at least one action.")
    for action in actions:
        problem = f"The {name} holds {action}, which is not an action."
        # No environment has 2**31 actions: random integers are exactly uniform only below.
        require(0 <= action < 2**31, problem, "Actions are whole numbers from 0 up.")
    return np.array(actions, dtype=np.int64)


def delay_from_rate(rate: float | None) -> int:
    """Nanoseconds between actions at a rate per second; 0, the clock's own tick, without one."""
    if rate is None:
        return 0
    problem = f"The rate is {rate} actions per second."
    require(0 < rate <= 1e9, problem, "Give a number above 0, at most 1e9.")
    return nanoseconds(1 / rate)


def delay_from_seconds(seconds: float) -> int:
    """Nanoseconds of a time in seconds that an agent may take for one action."""
    require(
        0 < seconds <= LONGEST_DELAY and nanoseconds(seconds) > 0,
        f"An action cannot take {seconds} seconds.",
        f"Give a number above 0, at most {LONGEST_DELAY:g}.",
    )
    return nanoseconds(seconds)


def table_size(space: Space, actions: int = 1, limit: int = MAX_TABLE_SIZE) -> int:
    """The number of entries, at most ``limit``, of a table over all observations and actions."""
    size = space.count * actions
    require(
        size <= limit,
        f"A table cannot have {size} entries, {actions} for each of {space.count} observations.",
        f"Use an agent without a table, or an environment that needs at most {limit} entries.",
    )
    return size


@kernel
def observation_index(observation: Any, sizes: Any) -> Any:
    """The row of an observation in a table: with ``sizes`` (2, 3) that of (1, 0) is 3."""
    index = 0
    for component in range(len(sizes)):
        index = index * sizes[component] + observation[component]
    return index


@kernel
def best_action(values: Any, start: Any, actions: Any) -> Any:
    """The greatest of the values of all actions, the first action with it, how many have it."""
    greatest = values[forward(start)]
    first, ties = 0, 1
    for action in range(1, actions):
        value = values[forward(start + action)]
        better = value > greatest  # without branches: which is best cannot be predicted
        ties = 1 if better else ties + int(value == greatest)
        first = action if better else first
        greatest = value if better else greatest
    return greatest, first, ties


@kernel
def break_ties(rng: Any, values: Any, start: Any, best: Any) -> Any:
    """One of the actions of ``best_action`` with uniform probability; draws only among several."""
    greatest, action, ties = best
    skipped = below(rng, ties) if ties > 1 else 0
    while skipped > 0:
        action += 1
        if values[forward(start + action)] == greatest:
            skipped -= 1
    return action
