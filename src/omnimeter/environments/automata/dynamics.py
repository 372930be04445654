"""State and kernels of an automaton: an action leads to a state, which pays and is observed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from omnimeter.contract import Instance
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import EnvironmentKernels, forward, kernel


@dataclass(frozen=True, slots=True)
class Automaton:
    """A finite state machine. It begins in state 0.

    Attributes:
        transitions: The state that each action leads to, a row per state.
        marks: How good each state is among the states: -1, 0 or 1.
        symbols: The observation of each state; ``None`` where it is the state's own number.
    """

    transitions: tuple[tuple[int, ...], ...]
    marks: tuple[int, ...]
    symbols: tuple[int, ...] | None = None

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.transitions)

    @property
    def actions(self) -> int:
        """The number of actions."""
        return len(self.transitions[0])

    def instance(self) -> Instance:
        """The description from which it is built again."""
        data = {"transitions": [list(row) for row in self.transitions], "marks": list(self.marks)}
        if self.symbols is not None:
            data["symbols"] = list(self.symbols)
        return Instance(data)


STATE, ACTIONS = range(2)
"""The entries of ``now``: the current state, and the number of actions, which is constant."""


class AutomatonState(NamedTuple):
    """An automaton and its current state."""

    transitions: IntArray  # the state that each action leads to, for one state after the other
    rewards: FloatArray
    shown: IntArray  # the observation of each state
    now: IntArray


@kernel
def reset(state: Any) -> Any:
    """Begin in the first state; the first reward is 0."""
    state.now[STATE] = 0
    return 0.0


@kernel
def step(state: Any, action: Any) -> Any:
    """Go to the next state and pay what it pays."""
    following = state.transitions[forward(state.now[STATE] * state.now[ACTIONS] + action)]
    state.now[STATE] = following
    return state.rewards[forward(following)]


@kernel
def observe(state: Any, out: Any) -> None:
    """Show the state."""
    out[0] = state.shown[forward(state.now[STATE])]


KERNELS = EnvironmentKernels(AutomatonState, reset, step, observe)
