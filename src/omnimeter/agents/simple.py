"""Agents that do not learn: random, constant, scripted, or following a given policy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.shared import (
    checked_actions,
    delay_from_rate,
    delay_from_seconds,
    observation_index,
    require,
    table_size,
)
from omnimeter.contract import Briefing
from omnimeter.contract.agent import IntArray
from omnimeter.kernels import AgentKernels, KernelAgent, below, generator_state, kernel

ACTIONS, DELAY, ACTION = range(3)

RANDOM_ACTION = -1
"""In place of a constant action: a random one each time."""


class SimpleState(NamedTuple):
    """The state of an agent that learns nothing.

    Attributes:
        numbers: The number of actions; the delay in nanoseconds, 0 for the clock's own tick; what
            else the agent needs, such as its action.
    """

    rng: NDArray[np.uint64]
    numbers: IntArray


class PolicyState(NamedTuple):
    """A policy: the action for each observation; ``numbers`` are as in ``SimpleState``."""

    table: IntArray
    sizes: IntArray
    numbers: IntArray


class ScriptedState(NamedTuple):
    """A list of actions with their delays in nanoseconds, 0 for the clock's own tick.

    Attributes:
        position: Which action was performed last; whether to begin again after the last.
    """

    actions: IntArray
    delays: IntArray
    position: IntArray


@kernel
def constant_delay(state: Any) -> Any:
    """Always the same time."""
    return state.numbers[DELAY]


@kernel
def constant_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The one action, or any with uniform probability."""
    action = state.numbers[ACTION]
    if action == RANDOM_ACTION:
        action = below(state.rng, state.numbers[ACTIONS])
    return action


@kernel
def policy_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The action in the table."""
    return state.table[observation_index(observation, state.sizes)]


@kernel
def script_begin(state: Any) -> None:
    """Go to before the first action."""
    state.position[0] = -1


@kernel
def script_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The next action of the script."""
    position = state.position[0] + 1
    if position == len(state.actions):
        if state.position[1] == 0:
            return -1
        position = 0
    state.position[0] = position
    return state.actions[position]


@kernel
def script_delay(state: Any) -> Any:
    """The time of the action just chosen."""
    return state.delays[state.position[0]]


class _ConstantRate(KernelAgent):
    """One action, or ``RANDOM_ACTION``, at a constant rate."""

    kernels = AgentKernels(SimpleState, act=constant_act, delay=constant_delay)

    def __init__(self, action: int, rate: float | None) -> None:
        self.action = action
        self.delay = delay_from_rate(rate)

    def initial_state(self, briefing: Briefing) -> SimpleState:
        """The action, and a fresh generator."""
        return SimpleState(generator_state(), np.array([briefing.actions, self.delay, self.action]))


class RandomAgent(_ConstantRate):
    """Acts at random with uniform probability, at a constant rate.

    Args:
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    def __init__(self, rate: float | None = None) -> None:
        super().__init__(RANDOM_ACTION, rate)


class ConstantAgent(_ConstantRate):
    """Always performs the same action, at a constant rate.

    Args:
        action: The action. Where there is no such action, an invalid action is recorded.
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    def __init__(self, action: int = 0, rate: float | None = None) -> None:
        checked_actions([action], "parameter 'action'")
        super().__init__(action, rate)


class ExampleRobot(_ConstantRate):
    """A robot of the papers' examples: presses B1, B2, B3 or any button.

    Robots 1, 2 and 3 always press that button, three times per second; robot 4 presses any with
    uniform probability, ten times per second. Robot 1 is the pi_1 of the example in fixed-time
    payoffs, robot 4 its pi_rand. All four are those of Example 4 of the anytime test, which gives
    no rates.

    Args:
        number: Which robot, 1 to 4.
    """

    def __init__(self, number: Literal[1, 2, 3, 4] = 1) -> None:
        robots = {1: (0, 3.0), 2: (1, 3.0), 3: (2, 3.0), 4: (RANDOM_ACTION, 10.0)}
        require(number in robots, f"There is no robot {number}.", "Give 1, 2, 3 or 4.")
        super().__init__(*robots[number])


class PolicyAgent(KernelAgent):
    """Follows a deterministic policy, given as a table, at a constant rate.

    Args:
        table: The action for each observation. They stand in the order of counting, the last
            component fastest: (0, 0), (0, 1), (1, 0), (1, 1). By default all actions in turn, so
            that an observation which is the number of an action gets that action.
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    kernels = AgentKernels(PolicyState, act=policy_act, delay=constant_delay)

    def __init__(self, table: Sequence[int] | None = None, rate: float | None = None) -> None:
        self.table = None if table is None else checked_actions(table, "list 'table'")
        self.delay = delay_from_rate(rate)

    def initial_state(self, briefing: Briefing) -> PolicyState:
        """The table, if it fits the observations."""
        count = table_size(briefing.space)
        table = np.arange(count) % briefing.actions if self.table is None else self.table.copy()
        require(
            len(table) == count,
            f"The table has {len(table)} actions, but there are {count} observations.",
            f"Give {count} actions, or leave the table out.",
        )
        numbers = np.array([briefing.actions, self.delay])
        return PolicyState(table, np.array(briefing.space.sizes), numbers)


class ScriptedAgent(KernelAgent):
    """Performs a list of actions with given delays, whatever it observes; then repeats or stops.

    Args:
        actions: The actions in their order.
        seconds: How long each of them takes under a virtual clock; by default the clock's own
            tick.
        repeat: Whether to begin again after the last action; otherwise it stops there.
    """

    kernels = AgentKernels(ScriptedState, begin=script_begin, act=script_act, delay=script_delay)

    def __init__(
        self,
        actions: Sequence[int] = (0, 1),
        seconds: Sequence[float] | None = None,
        repeat: bool = True,
    ) -> None:
        self.actions = checked_actions(actions, "list 'actions'")
        delays = [0] * len(actions) if seconds is None else [*map(delay_from_seconds, seconds)]
        require(
            len(delays) == len(actions),
            f"There are {len(actions)} actions, but times for {len(delays)}.",
            "Give one time in seconds for each action.",
        )
        self.delays = np.array(delays, dtype=np.int64)
        self.repeat = repeat

    def initial_state(self, briefing: Briefing) -> ScriptedState:  # noqa: ARG002 - fits everywhere
        """The script, before its first action."""
        position = np.array([-1, self.repeat], dtype=np.int64)
        return ScriptedState(self.actions.copy(), self.delays.copy(), position)
