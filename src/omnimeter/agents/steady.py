"""Agents that do the same for ever: one button, or any, at a constant rate."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.actions import actions_of
from omnimeter.agents.nothing import begin, finish
from omnimeter.agents.rates import delay_of
from omnimeter.contract import AgentKernels, Briefing, IntArray, InvalidInputError, kernel
from omnimeter.interaction import KernelAgent
from omnimeter.interaction.randomness import below, generator_state

ANY = -1
"""In place of an action: each time another one, by chance."""

ROBOTS = {1: (0, 3.0), 2: (1, 3.0), 3: (2, 3.0), 4: (ANY, 10.0)}
"""The action and the rate of each robot of the papers."""


class SteadyState(NamedTuple):
    """What never changes, and the chance.

    Attributes:
        rng: The state of the generator.
        numbers: The action, or ``ANY``; the number of actions; the delay in nanoseconds.
    """

    rng: NDArray[np.uint64]
    numbers: IntArray


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The one action, or any."""
    action = state.numbers[0]
    if action == ANY:
        action = below(state.rng, state.numbers[1])
    return action


@kernel
def delay(state: Any) -> Any:
    """Always the same time."""
    return state.numbers[2]


KERNELS = AgentKernels(SteadyState, begin, act, finish, delay)


class _Steady(KernelAgent):
    """What both kinds have in common."""

    kernels = KERNELS

    def __init__(self, action: int, rate: float | None) -> None:
        self.action = action
        self.delay = delay_of(rate)

    def prepare(self, briefing: Briefing) -> SteadyState:
        """The one action, and a fresh generator."""
        return SteadyState(generator_state(), np.array([self.action, briefing.actions, self.delay]))


class ConstantAgent(_Steady):
    """Always does the same, at a constant rate.

    Args:
        action: What it does. Where there is no such action, an invalid action is recorded.
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    def __init__(self, action: int = 0, rate: float | None = None) -> None:
        actions_of([action], "parameter 'action'")
        super().__init__(action, rate)


class ExampleRobot(_Steady):
    """A robot of the papers' examples: presses B1, B2, B3 or any button.

    Robots 1, 2 and 3 always press that button, three times per second; robot 4 presses any with
    uniform probability, ten times per second. Robot 1 is the pi_1 of the example in fixed-time
    payoffs, robot 4 its pi_rand. All four are those of Example 4 of the anytime test, which gives
    no rates.

    Args:
        number: Which robot, 1 to 4.
    """

    def __init__(self, number: Literal[1, 2, 3, 4] = 1) -> None:
        if number not in ROBOTS:
            raise InvalidInputError(f"There is no robot {number}.", "Give 1, 2, 3 or 4.")
        super().__init__(*ROBOTS[number])
