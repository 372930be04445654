"""State and kernels of finite MDPs.

A pair of state x and action u has the index ``x * actions + u``. Every pair has a random generator
of its own, seeded at reset: what happens at the k-th visit of a pair depends on the seed of the
exercise, the pair and k alone. So agents that meet the same MDP under the same seed see the same
successor when they take the same action in the same state for the k-th time, whatever else they
did (common random numbers).
"""

from __future__ import annotations

from math import cos, log, pi, sqrt
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import EnvironmentKernels, kernel, next_bits, uniform


class MDPState(NamedTuple):
    """An MDP, with the successors of each pair, one after the other, and the present state."""

    rng: NDArray[np.uint64]
    noise: NDArray[np.uint64]  # the generator of each pair
    place: IntArray  # the present state, and the number of actions
    starts: IntArray  # where the successors of each pair begin, and where the last ones end
    successors: IntArray
    cumulative: FloatArray  # the probability of a successor of its pair, or of one before it
    rewards: FloatArray  # the mean reward of each transition
    deviations: FloatArray  # the standard deviation of each; empty where rewards are constant
    initial: FloatArray  # the probability of an initial state, or of one before it
    first_reward: FloatArray  # 0, or the nearest possible reward


@kernel
def reset(state: Any) -> Any:
    """Draw the initial state, and seed the generator of each pair."""
    state.place[0] = index_of(uniform(state.rng), state.initial, 0, len(state.initial))
    for pair in range(len(state.noise)):
        state.noise[pair] = next_bits(state.rng)
    return state.first_reward[0]


@kernel
def index_of(draw: Any, cumulative: Any, start: Any, end: Any) -> Any:
    """The first of some places whose cumulative probability exceeds a uniform draw."""
    place = start
    while place < end - 1 and draw >= cumulative[place]:
        place += 1
    return place


@kernel
def step(state: Any, action: Any) -> Any:
    """Move to a successor of the present state, and pay for the transition."""
    pair = state.place[0] * state.place[1] + action
    state.rng[0] = state.noise[pair]
    draw = uniform(state.rng)
    transition = index_of(draw, state.cumulative, state.starts[pair], state.starts[pair + 1])
    reward = state.rewards[transition]
    if len(state.deviations) > 0:
        reward += state.deviations[transition] * normal(state.rng)
    state.noise[pair] = state.rng[0]
    state.place[0] = state.successors[transition]
    return reward


FARTHEST = sqrt(2.0 * 53.0 * log(2.0))
"""Standard deviations from the mean that a normal variate of 53 random bits can be away: 8.57."""


@kernel
def normal(rng: Any) -> Any:
    """A standard normal variate (Box and Muller 1958), always from two uniform ones."""
    radius = sqrt(-2.0 * log(1.0 - uniform(rng)))
    return radius * cos(2.0 * pi * uniform(rng))


@kernel
def observe(state: Any, out: Any) -> None:
    """Show the state."""
    out[0] = state.place[0]


KERNELS = EnvironmentKernels(MDPState, reset, step, observe)
