"""State and kernels of an automaton: an action leads to a state, which pays and is observed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from omnimeter.contract import Instance
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import EnvironmentKernels, forward, kernel

Transitions = Sequence[Sequence[int]]
"""The state that each action leads to, a row per state."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """A finite state machine. It begins in state 0.

    Attributes:
        transitions: The state that each action leads to, a row per state.
        marks: How good each state is among the states: -1, 0 or 1.
        symbols: What each state is shown as; ``None`` where each is shown by its own number.
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

    @property
    def outputs(self) -> list[tuple[int, int]]:
        """What tells states apart at once: how each pays and what it is shown as."""
        shown = range(self.states) if self.symbols is None else self.symbols
        return list(zip(self.marks, shown, strict=True))

    def instance(self) -> Instance:
        """Its frozen description."""
        data = {"transitions": [list(row) for row in self.transitions], "marks": list(self.marks)}
        if self.symbols is not None:
            data["symbols"] = list(self.symbols)
        return Instance(data)


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


def scene(circles: int, actions: int, seen: int, reward: float) -> dict[str, Any]:
    """The circles in the order of their names, the buttons, and how the last reward was.

    Args:
        circles: How many different observations there can be.
        actions: The number of actions.
        seen: The observation.
        reward: The last reward.
    """
    return {
        "kind": "automata",
        "circles": [
            {"name": f"o{number + 1}", "here": number == seen} for number in range(circles)
        ],
        "buttons": [f"a{number + 1}" for number in range(actions)],
        "reward": "up" if reward > 0 else "down" if reward < 0 else "neutral",
    }
