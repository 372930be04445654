"""How an automaton moves: an action leads to a state, which pays and is shown."""

from __future__ import annotations

from typing import Any, NamedTuple

from omnimeter.contract import EnvironmentKernels, FloatArray, IntArray, kernel
from omnimeter.interaction.indices import forward

STATE, ACTIONS = range(2)
"""What stands where in ``now``: the state, and the number of actions, which stays."""


class AutomatonState(NamedTuple):
    """An automaton, and where it is.

    Attributes:
        transitions: The state that each action leads to, for one state after the other.
        rewards: What each state pays.
        shown: What each state is shown as.
        now: See above.
    """

    transitions: IntArray
    rewards: FloatArray
    shown: IntArray
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
