"""State and kernels of the torus, and its scene."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import EnvironmentKernels, below, forward, kernel

LEFT, RIGHT, UP, DOWN, STAY = range(5)
"""The actions; only the first four lead to another cell."""

AGENT_X, AGENT_Y, GOOD_X, GOOD_Y, EVIL_X, EVIL_Y = range(6)
"""Where coordinates are in ``places``. They count from 0 to the right and upwards."""

SEES_GOOD, SEES_EVIL, SEES_LIMIT = range(3)
"""What is seen of each of the four cells around, cell after cell."""

WIDTH = 3
"""How many numbers are seen of a cell."""


class TorusState(NamedTuple):
    """A grid without borders, and who is where.

    Attributes:
        rng: The chance of the first cells, and of who gives way.
        good: The moves that Good repeats.
        evil: The moves that Evil repeats.
        turns: Which of their moves Good and Evil do next.
        places: See above.
        size: The number of cells from one side to the other.
        nearness: 1 / (d + 1) for what is x to the right and y up, at x + size * y.
    """

    rng: NDArray[np.uint64]
    good: IntArray
    evil: IntArray
    turns: IntArray
    places: IntArray
    size: IntArray
    nearness: FloatArray


@kernel
def reset(state: Any) -> Any:
    """Put everybody into a cell by chance, Good and Evil into different ones; nothing is paid yet.

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
def place(state: Any, whose: Any) -> None:
    """Any cell, all with the same probability."""
    state.places[whose] = below(state.rng, state.size[0])
    state.places[whose + 1] = below(state.rng, state.size[0])


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
    """Where an action leads from left to right."""
    return around(x + int(action == RIGHT) - int(action == LEFT), size)


@kernel
def upwards(y: Any, action: Any, size: Any) -> Any:
    """Where an action leads from below upwards."""
    return around(y + int(action == UP) - int(action == DOWN), size)


@kernel
def around(coordinate: Any, size: Any) -> Any:
    """The same place among 0 .. size - 1, for one that is at most one round off."""
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
        if good_gives_way(state, good, evil):
            good_x, good_y = places[GOOD_X], places[GOOD_Y]
        else:
            evil_x, evil_y = places[EVIL_X], places[EVIL_Y]
    places[GOOD_X] = good_x
    places[GOOD_Y] = good_y
    places[EVIL_X] = evil_x
    places[EVIL_Y] = evil_y


@kernel
def good_gives_way(state: Any, good: Any, evil: Any) -> Any:
    """Who is kept when both would come to the same cell: Good, or else Evil.

    Chance decides, unless one of them stays where it is: then keeping that one would not help.
    """
    if good == STAY:
        return False
    if evil == STAY:
        return True
    return below(state.rng, 2) == 0


@kernel
def nearness_of(state: Any, whose: Any) -> Any:
    """The inverse of the agent's distance to Good or Evil plus 1."""
    places, size = state.places, state.size[0]
    x = around(places[whose] - places[AGENT_X], size)
    y = around(places[whose + 1] - places[AGENT_Y], size)
    return state.nearness[forward(x + size * y)]


@kernel
def observe(state: Any, out: Any) -> None:
    """Show of the cells to the left, right, up and down: Good, Evil, and the limit on the way."""
    places, last = state.places, state.size[0] - 1
    look_for(state, GOOD_X, out, SEES_GOOD)
    look_for(state, EVIL_X, out, SEES_EVIL)
    out[WIDTH * LEFT + SEES_LIMIT] = int(places[AGENT_X] == 0)
    out[WIDTH * RIGHT + SEES_LIMIT] = int(places[AGENT_X] == last)
    out[WIDTH * UP + SEES_LIMIT] = int(places[AGENT_Y] == last)
    out[WIDTH * DOWN + SEES_LIMIT] = int(places[AGENT_Y] == 0)


@kernel
def look_for(state: Any, whose: Any, out: Any, what: Any) -> None:
    """Show in which of the four cells Good or Evil is, if in any."""
    places, size = state.places, state.size[0]
    x = around(places[whose] - places[AGENT_X], size)
    y = around(places[whose + 1] - places[AGENT_Y], size)
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


OWN, GOOD, EVIL = "circle", "square", "diamond"
"""Symbols that say nothing about whose they are."""

BUTTONS = ("left", "right", "up", "down", "stay")

PLACES = ((0, 1), (2, 1), (1, 0), (1, 2), (1, 1))
"""Column and row of the cell behind each button, from the upper left."""


def scene(seen: Sequence[int], reward: float) -> dict[str, Any]:
    """Five cells of a grid of three by three, as far as an agent sees them, and its last reward.

    Who is in the own cell is not seen: only the reward tells.
    """
    cells = []
    for action, (column, row) in enumerate(PLACES):
        symbols, limit = [OWN], False
        if action != STAY:
            around = seen[WIDTH * action : WIDTH * (action + 1)]
            symbols = [
                symbol for bit, symbol in ((SEES_GOOD, GOOD), (SEES_EVIL, EVIL)) if around[bit]
            ]
            limit = bool(around[SEES_LIMIT])
        cells.append(
            {"column": column, "row": row, "symbols": symbols, "limit": limit, "action": action}
        )
    return {"kind": "torus", "cells": cells, "buttons": list(BUTTONS), "reward": reward}
