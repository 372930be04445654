"""An agent that acts at random, at a given rate."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.nothing import begin, finish
from omnimeter.agents.rates import delay_of
from omnimeter.contract import AgentKernels, Briefing, IntArray, kernel
from omnimeter.interaction import KernelAgent
from omnimeter.interaction.randomness import below, generator_state


class RandomState(NamedTuple):
    """The state of the generator; the number of actions and the delay in nanoseconds."""

    rng: NDArray[np.uint64]
    numbers: IntArray


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """Any action, all with the same probability."""
    return below(state.rng, state.numbers[0])


@kernel
def delay(state: Any) -> Any:
    """Always the same time."""
    return state.numbers[1]


class RandomAgent(KernelAgent):
    """Acts at random with uniform probability, at a constant rate.

    Args:
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    kernels = AgentKernels(RandomState, begin, act, finish, delay)

    def __init__(self, rate: float | None = None) -> None:
        self.delay = delay_of(rate)

    def prepare(self, briefing: Briefing) -> RandomState:
        """A fresh generator."""
        return RandomState(generator_state(), np.array([briefing.actions, self.delay]))
