"""Agents written for one environment class: cups and torus."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from omnimeter.agents.shared import delay_from_rate, require
from omnimeter.agents.simple import ACTION, ACTIONS, SimpleState, constant_delay
from omnimeter.contract import Briefing
from omnimeter.kernels import AgentKernels, KernelAgent, below, generator_state, kernel

FIRST = 2
"""Where a cup presser's numbers say whether it chooses the first black cup."""

MOVES = "LRUDS"
"""The actions of the torus in their order: left, right, up, down, stay."""


@kernel
def cup_presser_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The button of a black cup; any button when no cup is black."""
    cups = len(observation)
    black = 0
    for cup in range(cups):
        black += 1 - observation[cup]
    if black == 0:
        return below(state.rng, cups)
    skipped = 0 if state.numbers[FIRST] == 1 else below(state.rng, black)
    chosen = 0
    while observation[chosen] == 1 or skipped > 0:
        skipped -= 1 - observation[chosen]
        chosen += 1
    return chosen


@kernel
def torus_agent_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The move when the last reward was enough, otherwise a random action."""
    if reward > 0.5:  # which is paid only where Good is
        return state.numbers[ACTION]
    return below(state.rng, state.numbers[ACTIONS])


class CupPresser(KernelAgent):
    """Presses the button of a black cup, or any button when no cup is black.

    It is the pi_w of the anytime test, section 6.1, where which of several black cups is left
    open. It works wherever observations have a 0 (black) or 1 (white) for each action.

    Args:
        choice: Which black cup: a ``random`` one with uniform probability, or the ``first``.
        rate: Actions per second under a virtual clock; by default the clock's own tick.
    """

    kernels = AgentKernels(SimpleState, act=cup_presser_act, delay=constant_delay)

    def __init__(
        self, choice: Literal["random", "first"] = "random", rate: float | None = None
    ) -> None:
        self.choice = choice
        self.delay = delay_from_rate(rate)

    def initial_state(self, briefing: Briefing) -> SimpleState:
        """A fresh generator, if there is a cup for each button."""
        require(
            briefing.space.sizes == (2,) * briefing.actions,
            "The cup presser needs observations with a 0 or 1 for each of the "
            f"{briefing.actions} actions; these have sizes {briefing.space.sizes}.",
            "Use it with cups-v1, or another agent here.",
        )
        numbers = np.array([briefing.actions, self.delay, self.choice == "first"])
        return SimpleState(generator_state(), numbers)


class TorusAgent(KernelAgent):
    """Moves at random until a reward greater than 0.5, then always the same way as long as it is.

    On the torus such a reward is only paid in the cell where Good is. Where Good repeats that very
    move, the agent stays with it until Evil gets in the way (anytime test, section 6.3). It uses
    rewards only, not observations.

    Args:
        move: What Good does, one of ``L``, ``R``, ``U``, ``D`` and ``S``.
    """

    kernels = AgentKernels(SimpleState, act=torus_agent_act)

    def __init__(self, move: str = "L") -> None:
        valid = len(move) == 1 and move in MOVES
        require(valid, f"The move is {move!r}.", f"Give one of the letters {', '.join(MOVES)}.")
        self.move = move

    def initial_state(self, briefing: Briefing) -> SimpleState:
        """A fresh generator, if there is an action for the move."""
        action = MOVES.index(self.move)
        require(
            action < briefing.actions,
            f"The move {self.move} is action {action}; there are only {briefing.actions}.",
            "Use this agent with torus-v1, or another move.",
        )
        return SimpleState(generator_state(), np.array([briefing.actions, 0, action]))
