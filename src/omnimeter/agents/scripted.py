"""An agent that plays a list of actions in time, whatever it sees."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from omnimeter.agents.actions import actions_of
from omnimeter.agents.durations import duration_of
from omnimeter.agents.nothing import finish
from omnimeter.contract import AgentKernels, Briefing, IntArray, InvalidInputError, kernel
from omnimeter.interaction import KernelAgent


class ScriptedState(NamedTuple):
    """The script and the place in it.

    Attributes:
        actions: The actions in their order.
        delays: The nanoseconds that each takes, 0 for the clock's own tick.
        place: Which line was played last; whether the script begins again after its end.
    """

    actions: IntArray
    delays: IntArray
    place: IntArray


@kernel
def begin(state: Any) -> None:
    """Open the script before its first line."""
    state.place[0] = -1


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The next line."""
    place = state.place[0] + 1
    if place == len(state.actions):
        if state.place[1] == 0:
            return -1
        place = 0
    state.place[0] = place
    return state.actions[place]


@kernel
def delay(state: Any) -> Any:
    """The time of the line just played."""
    return state.delays[state.place[0]]


class ScriptedAgent(KernelAgent):
    """Plays a list of actions with given delays, whatever it sees; then repeats or stops.

    Args:
        actions: The actions in their order.
        seconds: How long each of them takes under a virtual clock; by default the clock's own
            tick.
        repeat: Whether to begin again after the last action; otherwise it stops there.
    """

    kernels = AgentKernels(ScriptedState, begin, act, finish, delay)

    def __init__(
        self,
        actions: Sequence[int] = (0, 1),
        seconds: Sequence[float] | None = None,
        repeat: bool = True,
    ) -> None:
        self.actions = actions_of(actions, "list 'actions'")
        delays = [0] * len(actions) if seconds is None else [duration_of(each) for each in seconds]
        if len(delays) != len(actions):
            raise InvalidInputError(
                f"There are {len(actions)} actions, but times for {len(delays)}.",
                "Give one time in seconds for each action.",
            )
        self.delays = np.array(delays, dtype=np.int64)
        self.repeat = repeat

    def prepare(self, briefing: Briefing) -> ScriptedState:  # noqa: ARG002 - plays anywhere
        """The script, closed."""
        return ScriptedState(
            self.actions.copy(), self.delays.copy(), np.array([-1, self.repeat], dtype=np.int64)
        )
