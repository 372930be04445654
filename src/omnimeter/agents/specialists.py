"""Agents written for one environment class: cups and torus."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.simple import begin, delay_of, finish
from omnimeter.contract import AgentKernels, Briefing, InvalidInputError, kernel
from omnimeter.contract.agent import IntArray
from omnimeter.interaction import KernelAgent
from omnimeter.interaction.randomness import below, generator_state


class CupPresserState(NamedTuple):
    """What never changes, and the chance.

    Attributes:
        rng: The state of the generator.
        numbers: Whether the first black cup is chosen; the delay in nanoseconds.
    """

    rng: NDArray[np.uint64]
    numbers: IntArray


@kernel
def cup_presser_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The button of a black cup; any button when no cup is black."""
    cups = len(observation)
    black = 0
    for cup in range(cups):
        black += 1 - observation[cup]
    if black == 0:
        return below(state.rng, cups)
    skipped = 0 if state.numbers[0] == 1 else below(state.rng, black)
    chosen = 0
    while observation[chosen] == 1 or skipped > 0:
        skipped -= 1 - observation[chosen]
        chosen += 1
    return chosen


@kernel
def delay(state: Any) -> Any:
    """Always the same time."""
    return state.numbers[1]


class CupPresser(KernelAgent):
    """Presses the button of a black cup, or any button when no cup is black.

    It is the pi_w of the anytime test, section 6.1, where which of several black cups is left
    open. It works wherever observations have a 0 (black) or 1 (white) for each action.

    Args:
        choice: Which black cup: a ``random`` one with uniform probability, or the ``first``.
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    kernels = AgentKernels(CupPresserState, begin, cup_presser_act, finish, delay)

    def __init__(
        self, choice: Literal["random", "first"] = "random", rate: float | None = None
    ) -> None:
        self.choice = choice
        self.delay = delay_of(rate)

    def prepare(self, briefing: Briefing) -> CupPresserState:
        """A fresh generator, if there is a cup for each button."""
        if briefing.space.sizes != (2,) * briefing.actions:
            raise InvalidInputError(
                "The cup presser needs observations with a 0 or 1 for each of the "
                f"{briefing.actions} actions; these have sizes {briefing.space.sizes}.",
                "Use it with cups-v1, or another agent here.",
            )
        first = int(self.choice == "first")
        return CupPresserState(generator_state(), np.array([first, self.delay]))


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
