"""How the cups move: the agent switches one, the environment another, and the colours pay."""

from __future__ import annotations

from typing import Any, NamedTuple

from omnimeter.contract import EnvironmentKernels, IntArray, kernel


class CupsState(NamedTuple):
    """The cups on the table.

    Attributes:
        colours: Each cup's colour now: 1 white, 0 black.
        initial: Each cup's colour at the beginning.
        turn: Which cup the environment switched last, and how many turns its round has.
    """

    colours: IntArray
    initial: IntArray
    turn: IntArray


@kernel
def reset(state: Any) -> Any:
    """Set the colours as they were drawn; the first reward is 0."""
    for cup in range(len(state.colours)):
        state.colours[cup] = state.initial[cup]
    state.turn[0] = 0
    return 0.0


@kernel
def step(state: Any, action: Any) -> Any:
    """Switch the agent's cup, then cup ``i mod n`` in interaction i, and pay."""
    state.colours[action] ^= 1
    turn = state.turn[0] + 1
    if turn == state.turn[1]:
        turn = 0
    state.turn[0] = turn
    cups = len(state.colours)
    if turn < cups:  # a round with a rest has one turn more than there are cups
        state.colours[turn] ^= 1
    white = 0
    for cup in range(cups):
        white += state.colours[cup]
    if white == cups:
        return 1.0
    if white == 0:
        return -1.0
    return 0.0


@kernel
def observe(state: Any, out: Any) -> None:
    """Show every cup's colour."""
    for cup in range(len(state.colours)):
        out[cup] = state.colours[cup]


KERNELS = EnvironmentKernels(CupsState, reset, step, observe)
