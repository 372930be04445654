"""State and kernels of the torus."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import EnvironmentKernels, below, forward, kernel

LEFT, RIGHT, UP, DOWN, STAY = range(5)
"""The actions; only the first four lead to another cell."""

AGENT_X, AGENT_Y, GOOD_X, GOOD_Y, EVIL_X, EVIL_Y = range(6)
"""Indices of coordinates in ``places``, x before y. They count from 0 to the right and upwards."""

SEES_GOOD, SEES_EVIL, SEES_LIMIT = range(3)
"""The values that each of the four cells around has in an observation, cell after cell."""

WIDTH = 3  # the number of these values


class TorusState(NamedTuple):
    """A grid without borders, with the agent, Good and Evil in it."""

    rng: NDArray[np.uint64]  # of the first cells, and of which one gives way
    good: IntArray  # the moves that Good repeats
    evil: IntArray
    turns: IntArray  # the index of the next move of Good and of Evil
    places: IntArray  # the coordinates of all three, in the order above
    size: IntArray  # the number of cells from one side to the other
    nearness: FloatArray  # 1 / (d + 1) for what is x to the right and y up, at x + size * y


@kernel
def reset(state: Any) -> Any:
    """Draw the first cells, those of Good and Evil different; the first reward is 0.

    The text lets the two share their first cell. Then two paths that both begin with staying could
    never be kept apart, so it does not happen here.
    """
    place(state, AGENT_X)
    place(state, GOOD_X)
    place(state, EVIL_X)
    places = state.places
    while places[GOOD_X] == places[EVIL_X] and places[GOOD_Y] == places[EVIL_Y]:
        place(state, EVIL_X)
    state.turns[0] = 0
    state.turns[1] = 0
    return 0.0


@kernel
def place(state: Any, index: Any) -> None:
    """Draw a cell uniformly."""
    state.places[index] = below(state.rng, state.size[0])
    state.places[index + 1] = below(state.rng, state.size[0])


@kernel
def step(state: Any, action: Any) -> Any:
    """Move the agent, then Good and Evil, and pay by how near they are."""
    places, size = state.places, state.size[0]
    places[AGENT_X] = across(places[AGENT_X], action, size)
    places[AGENT_Y] = upwards(places[AGENT_Y], action, size)
    move_good_and_evil(state)
    return nearness_of(state, GOOD_X) - nearness_of(state, EVIL_X)


@kernel
def across(x: Any, action: Any, size: Any) -> Any:
    """The column that an action leads to."""
    return around(x + int(action == RIGHT) - int(action == LEFT), size)


@kernel
def upwards(y: Any, action: Any, size: Any) -> Any:
    """The row that an action leads to, counted upwards."""
    return around(y + int(action == UP) - int(action == DOWN), size)


@kernel
def around(coordinate: Any, size: Any) -> Any:
    """A coordinate modulo the size, for one that is at most one round off."""
    if coordinate < 0:
        return coordinate + size
    if coordinate >= size:
        return coordinate - size
    return coordinate


@kernel
def move_good_and_evil(state: Any) -> None:
    """Both do the next move of their paths, unless they would come to share a cell."""
    places, size = state.places, state.size[0]
    good = state.good[forward(state.turns[0])]
    evil = state.evil[forward(state.turns[1])]
    state.turns[0] = state.turns[0] + 1 if state.turns[0] + 1 < len(state.good) else 0
    state.turns[1] = state.turns[1] + 1 if state.turns[1] + 1 < len(state.evil) else 0
    good_x = across(places[GOOD_X], good, size)
    good_y = upwards(places[GOOD_Y], good, size)
    evil_x = across(places[EVIL_X], evil, size)
    evil_y = upwards(places[EVIL_Y], evil, size)
    if good_x == evil_x and good_y == evil_y:
        # Drawn, unless one of them stays where it is: then keeping that one would not help.
        if good != STAY and (evil == STAY or below(state.rng, 2) == 0):
            good_x, good_y = places[GOOD_X], places[GOOD_Y]
        else:
            evil_x, evil_y = places[EVIL_X], places[EVIL_Y]
    places[GOOD_X] = good_x
    places[GOOD_Y] = good_y
    places[EVIL_X] = evil_x
    places[EVIL_Y] = evil_y


@kernel
def nearness_of(state: Any, index: Any) -> Any:
    """The inverse of the agent's distance to Good or Evil plus 1."""
    x, y = offset(state, index)
    return state.nearness[forward(x + state.size[0] * y)]


@kernel
def offset(state: Any, index: Any) -> Any:
    """How far to the right and upwards from the agent Good or Evil is."""
    places, size = state.places, state.size[0]
    x = around(places[index] - places[AGENT_X], size)
    y = around(places[index + 1] - places[AGENT_Y], size)
    return x, y


@kernel
def observe(state: Any, out: Any) -> None:
    """Show Good, Evil and the limit of the grid in the cells to the left, right, up and down."""
    places, last = state.places, state.size[0] - 1
    observe_object(state, GOOD_X, out, SEES_GOOD)
    observe_object(state, EVIL_X, out, SEES_EVIL)
    out[WIDTH * LEFT + SEES_LIMIT] = int(places[AGENT_X] == 0)
    out[WIDTH * RIGHT + SEES_LIMIT] = int(places[AGENT_X] == last)
    out[WIDTH * UP + SEES_LIMIT] = int(places[AGENT_Y] == last)
    out[WIDTH * DOWN + SEES_LIMIT] = int(places[AGENT_Y] == 0)


@kernel
def observe_object(state: Any, index: Any, out: Any, what: Any) -> None:
    """Show in which of the four cells Good or Evil is, if in any."""
    size = state.size[0]
    x, y = offset(state, index)
    out[WIDTH * LEFT + what] = int(x == size - 1 and y == 0)
    out[WIDTH * RIGHT + what] = int(x == 1 and y == 0)
    out[WIDTH * UP + what] = int(x == 0 and y == 1)
    out[WIDTH * DOWN + what] = int(x == 0 and y == size - 1)


KERNELS = EnvironmentKernels(TorusState, reset, step, observe)


def nearness_table(size: int) -> FloatArray:
    """1 / (d + 1) for every displacement, d being the Euclidean distance the shorter way round."""
    steps = np.arange(size)
    along = np.minimum(steps, size - steps)
    distance = np.sqrt(along[np.newaxis, :] ** 2 + along[:, np.newaxis] ** 2)
    return np.asarray(1.0 / (distance + 1.0), dtype=np.float64).ravel()
