"""A walk on a ring, made of kernels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from omnimeter.contract import Instance, single
from omnimeter.environments.torus.dynamics import LEFT
from omnimeter.kernels import (
    EnvironmentKernels,
    KernelEnvironment,
    KernelEnvironmentClass,
    below,
    generator_state,
    kernel,
)
from omnimeter_sample.ring import ACTIONS, RIGHT, check_size, draw_ring


class WalkState(NamedTuple):
    """Where the walker is, and what the cells pay."""

    position: Any
    pays: Any
    rng: Any


@kernel
def reset(state):
    """Begin on a cell drawn uniformly."""
    state.position[0] = below(state.rng, len(state.pays))
    return 0.0


@kernel
def step(state, action):
    """Go one cell to the left or to the right, or stay."""
    size = len(state.pays)
    position = state.position[0]
    if action == LEFT:
        position = (position + size - 1) % size
    elif action == RIGHT:
        position = (position + 1) % size
    state.position[0] = position
    return state.pays[position]


@kernel
def observe(state, out):
    """See the number of the cell."""
    out[0] = state.position[0]


class Walk(KernelEnvironmentClass):
    """A walk on a ring with one good and one bad cell.

    The walker begins anywhere, so a random one is anywhere at any time, and what the good cell
    gives the bad cell takes. The complexity is the number of cells.

    Args:
        size: The number of cells when no complexity is asked for.
    """

    kernels = EnvironmentKernels(WalkState, reset, step, observe)

    def __init__(self, size: int = 8) -> None:
        self.size = check_size(size)

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return draw_ring(rng, self.size if complexity is None else check_size(complexity))

    def complexity(self, instance: Instance) -> float:
        return float(instance.data["size"])

    def build(self, instance: Instance) -> KernelEnvironment:
        size = instance.data["size"]
        pays = np.zeros(size)
        pays[instance.data["good"]] = 1.0
        pays[instance.data["bad"]] = -1.0
        state = WalkState(np.zeros(1, dtype=np.int64), pays, generator_state())
        return KernelEnvironment(self.kernels, state, ACTIONS, single(size))
