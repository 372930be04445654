"""The agent of the torus: stays with Good once it has found it (anytime test, section 6.3)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.nothing import begin, finish
from omnimeter.contract import AgentKernels, Briefing, IntArray, InvalidInputError, kernel
from omnimeter.interaction import KernelAgent
from omnimeter.interaction.randomness import below, generator_state

MOVES = "LRUDS"
"""The actions of the torus in their order: left, right, up, down, stay."""

ENOUGH = 0.5
"""On the torus more than this is paid only where Good is."""


class TorusAgentState(NamedTuple):
    """The chance, and what never changes.

    Attributes:
        rng: The state of the generator.
        numbers: The move; the number of actions.
    """

    rng: NDArray[np.uint64]
    numbers: IntArray


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The move when the last reward was enough, otherwise any action."""
    if reward > ENOUGH:
        return state.numbers[0]
    return below(state.rng, state.numbers[1])


class TorusAgent(KernelAgent):
    """Moves at random until a reward greater than 0.5, then always the same way as long as it is.

    On the torus such a reward is only paid in the cell where Good is. Where Good repeats that very
    move, the agent stays with it until Evil gets in the way (anytime test, section 6.3). It looks
    at nothing but rewards.

    Args:
        move: What Good does, one of ``L``, ``R``, ``U``, ``D`` and ``S``.
    """

    kernels = AgentKernels(TorusAgentState, begin, act, finish)

    def __init__(self, move: str = "L") -> None:
        if len(move) != 1 or move not in MOVES:
            raise InvalidInputError(
                f"The move is {move!r}.", f"Give one of the letters {', '.join(MOVES)}."
            )
        self.move = move

    def prepare(self, briefing: Briefing) -> TorusAgentState:
        """A fresh generator, if there is an action for the move."""
        action = MOVES.index(self.move)
        if action >= briefing.actions:
            raise InvalidInputError(
                f"The move {self.move} is action {action}; there are only {briefing.actions}.",
                "Use this agent with torus-v1, or another move.",
            )
        return TorusAgentState(generator_state(), np.array([action, briefing.actions]))
