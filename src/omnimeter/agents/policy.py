"""An agent that looks up what to do in a table of all observations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from omnimeter.agents.actions import actions_of
from omnimeter.agents.keys import key_of, number_of_keys
from omnimeter.agents.nothing import begin, finish
from omnimeter.agents.rates import delay_of
from omnimeter.contract import AgentKernels, Briefing, IntArray, InvalidInputError, kernel
from omnimeter.interaction import KernelAgent


class PolicyState(NamedTuple):
    """The table.

    Attributes:
        table: The action for each observation, by its key.
        sizes: How many values each component of an observation can take.
        delay: The nanoseconds that an action takes, 0 for the clock's own tick.
    """

    table: IntArray
    sizes: IntArray
    delay: IntArray


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """What the table says."""
    return state.table[key_of(observation, state.sizes)]


@kernel
def delay(state: Any) -> Any:
    """Always the same time."""
    return state.delay[0]


class PolicyAgent(KernelAgent):
    """Does what a table says for what it sees, at a constant rate.

    Args:
        table: The action for each observation. They stand in the order of counting, the last
            component fastest: (0, 0), (0, 1), (1, 0), (1, 1). By default all actions in turn, so
            that an observation which is the number of an action gets that action.
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    kernels = AgentKernels(PolicyState, begin, act, finish, delay)

    def __init__(self, table: Sequence[int] | None = None, rate: float | None = None) -> None:
        self.table = None if table is None else actions_of(table, "list 'table'")
        self.delay = delay_of(rate)

    def prepare(self, briefing: Briefing) -> PolicyState:
        """The table, if it fits the observations."""
        count = number_of_keys(briefing.space)
        table = np.arange(count) % briefing.actions if self.table is None else self.table.copy()
        if len(table) != count:
            raise InvalidInputError(
                f"The table has {len(table)} actions, but there are {count} observations.",
                f"Give {count} actions, or leave the table out.",
            )
        return PolicyState(table, np.array(briefing.space.sizes), np.array([self.delay]))
