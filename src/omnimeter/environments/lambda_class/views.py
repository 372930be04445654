"""Observations of a Lambda environment in six views (Lambda thesis, 3.6.4, 4.1.4 and 4.6)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, get_args

import numpy as np

from omnimeter.contract import Instance, Space
from omnimeter.environments.lambda_class.dynamics import (
    ACTIONS,
    AFTER,
    DROP_ON_AGENTS,
    EVIL,
    EVIL_DROP,
    FIRST_SEAT,
    GOOD,
    GOOD_DROP,
    PHASE,
    LambdaState,
    reset,
    step,
    step_joint,
)
from omnimeter.environments.lambda_class.space import paths_of
from omnimeter.kernels import EnvironmentKernels, kernel

View = Literal["structure", "state", "string", "string-others", "adjacent", "foresight"]
VIEWS: tuple[str, ...] = get_args(View)
STRUCTURE, STATE, STRING, STRING_OTHERS, ADJACENT, FORESIGHT = range(len(VIEWS))

NEXT_CELL, SELF, PLUS, MINUS, EITHER, FIRST_OTHER = range(6)
"""The codes of symbols in the string views. EITHER is Good or Evil where they look the same; after
the other agents and objects come the actions. Each of them is in one cell only, so that all strings
of an environment have the same length."""

SEES_GOOD, SEES_EVIL, SEES_OTHER = 1, 2, 4
"""The contents of a cell besides the agent, as bits, in the view ``adjacent``."""


def space_of(view: str, cells: int, actions: int, places: int) -> Space:
    """The observations of a view, given the number of all that have a place in the space."""
    structure = (cells,) * (places + actions)
    symbols = FIRST_OTHER + (places - 3) + actions
    string = (symbols,) * (cells - 1 + places + actions)
    sizes = {
        "structure": structure,
        "state": (cells,) * places,
        "string": string,
        "string-others": string,
        "adjacent": (cells, *(8,) * actions),
        "foresight": structure + (cells, cells) + (actions,) * actions,
    }
    return Space(sizes[view])


@kernel
def observe_from(state: Any, seat: Any, out: Any) -> None:
    """Write the observation of an agent in its view."""
    write_view(state, seat, out)
    if state.views[seat] == FORESIGHT:
        write_intentions(state, seat, out)


@kernel
def write_view(state: Any, seat: Any, out: Any) -> None:
    """The observation of an agent in its view; of ``foresight`` what it shares with others."""
    view = state.views[seat]
    if view == STATE:
        write_places(state, seat, out)
    elif view == ADJACENT:
        write_adjacent(state, seat, out)
    elif STRING <= view <= STRING_OTHERS:
        write_string(state, seat, out)
    else:
        write_places(state, seat, out)
        write_ways(state, seat, out)


@kernel
def write_places(state: Any, seat: Any, out: Any) -> None:
    """The cells of Good, Evil, oneself, the other agents and the further objects (4.6)."""
    own = FIRST_SEAT + seat
    out[0] = state.places[GOOD]
    out[1] = state.places[EVIL]
    out[2] = state.places[own]
    at = 3
    for other in range(FIRST_SEAT, len(state.places)):
        if other != own:
            out[at] = state.places[other]
            at += 1


@kernel
def write_ways(state: Any, seat: Any, out: Any) -> None:
    """After the places: the cell that each action leads to."""
    actions = state.rules[ACTIONS]
    first = state.places[FIRST_SEAT + seat] * actions
    for action in range(actions):
        out[len(state.places) + action] = state.paths[first + action]


@kernel
def write_intentions(state: Any, seat: Any, out: Any) -> None:
    """After the ways: where Good and Evil are about to go, and the rank of each action."""
    actions = state.rules[ACTIONS]
    action = state.pattern[state.clock[PHASE]]
    good = state.paths[state.places[GOOD] * actions + action]
    evil = state.paths[state.places[EVIL] * actions + action]
    write_outlook(state, seat, good, evil, out)


@kernel
def write_outlook(state: Any, seat: Any, good: Any, evil: Any, out: Any) -> None:
    """The cells that Good and Evil are about to go to, and the rank of each action."""
    actions = state.rules[ACTIONS]
    at = len(state.places) + actions
    out[at] = good
    out[at + 1] = evil
    first = state.places[FIRST_SEAT + seat] * actions
    for one in range(actions):
        mine = expected(state, state.paths[first + one], good, evil)
        worse = 0
        for other in range(actions):
            worse += expected(state, state.paths[first + other], good, evil) < mine
        out[at + 2 + one] = worse


@kernel
def expected(state: Any, cell: Any, good: Any, evil: Any) -> Any:
    """The reward of a cell in the next interaction if Good and Evil can go where they want."""
    if not state.rules[AFTER]:
        return state.rewards[cell]
    if state.rules[DROP_ON_AGENTS]:
        if cell == good:
            return state.good[(state.clock[GOOD_DROP] + 1) % len(state.good)]
        if cell == evil:
            return -state.evil[(state.clock[EVIL_DROP] + 1) % len(state.evil)]
    if state.division[0] == np.inf:
        return 0.0
    return state.rewards[cell] / state.division[0]


@kernel
def write_adjacent(state: Any, seat: Any, out: Any) -> None:
    """The own cell, and what is in the cell that each action leads to."""
    own = FIRST_SEAT + seat
    actions = state.rules[ACTIONS]
    out[0] = state.places[own]
    for action in range(actions):
        cell = state.paths[state.places[own] * actions + action]
        seen = SEES_GOOD if state.places[GOOD] == cell else 0
        seen |= SEES_EVIL if state.places[EVIL] == cell else 0
        for other in range(FIRST_SEAT, len(state.places)):
            if other != own and state.places[other] == cell:
                seen |= SEES_OTHER
        out[1 + action] = seen


@kernel
def write_string(state: Any, seat: Any, out: Any) -> None:
    """The contents of each cell and the actions that lead there, with a sign between (3.6.4)."""
    own = FIRST_SEAT + seat
    actions = state.rules[ACTIONS]
    tells = state.views[seat] == STRING
    first_action = FIRST_OTHER + len(state.places) - 3
    at = 0
    for cell in range(len(state.rewards)):
        if cell > 0:
            out[at] = NEXT_CELL
            at += 1
        if state.places[own] == cell:
            out[at] = SELF
            at += 1
        if state.places[GOOD] == cell:
            out[at] = PLUS if tells else EITHER
            at += 1
        if state.places[EVIL] == cell:
            out[at] = MINUS if tells else EITHER
            at += 1
        symbol = FIRST_OTHER
        for other in range(FIRST_SEAT, len(state.places)):
            if other != own:
                if state.places[other] == cell:
                    out[at] = symbol
                    at += 1
                symbol += 1
        for action in range(actions):
            if state.paths[state.places[own] * actions + action] == cell:
                out[at] = first_action + action
                at += 1


# The first agent alone, one kernel for each view: compiled without the others it is quicker.


@kernel
def observe_first(state: Any, out: Any) -> None:
    """Write the observation of the first agent in its view."""
    observe_from(state, 0, out)


@kernel
def observe_structure(state: Any, out: Any) -> None:
    """The view ``structure``."""
    write_places(state, 0, out)
    write_ways(state, 0, out)


@kernel
def observe_state(state: Any, out: Any) -> None:
    """The view ``state``."""
    write_places(state, 0, out)


@kernel
def observe_string(state: Any, out: Any) -> None:
    """The views ``string`` and ``string-others``."""
    write_string(state, 0, out)


@kernel
def observe_adjacent(state: Any, out: Any) -> None:
    """The view ``adjacent``."""
    write_adjacent(state, 0, out)


@kernel
def observe_foresight(state: Any, out: Any) -> None:
    """The view ``foresight``."""
    write_places(state, 0, out)
    write_ways(state, 0, out)
    write_intentions(state, 0, out)


def _kernels(observe: Callable[..., None]) -> EnvironmentKernels:
    return EnvironmentKernels(LambdaState, reset, step, observe, step_joint, observe_from)


def by_view(
    make: Callable[..., EnvironmentKernels], foresight: Any
) -> dict[str, EnvironmentKernels]:
    """The kernels for a single agent in each view, given the one that differs by class."""
    return {
        "structure": make(observe_structure),
        "state": make(observe_state),
        "string": make(observe_string),
        "string-others": make(observe_string),
        "adjacent": make(observe_adjacent),
        "foresight": make(foresight),
    }


_SINGLE = by_view(_kernels, observe_foresight)
_JOINT = _kernels(observe_first)  # whatever the views: compiled once for all of them


def kernels_of(views: Sequence[str]) -> EnvironmentKernels:
    """The kernels of environments with a seat for each view."""
    return _SINGLE[views[0]] if len(views) == 1 else _JOINT


# Observations as text and as scenes

SYMBOLS = {NEXT_CELL: ":", SELF: "π", PLUS: "⊕", MINUS: "⊖", EITHER: "⊙"}


def string_of(codes: Sequence[int], actions: int) -> str:
    """An observation of a string view as text.

    The agent's own symbol comes first in a cell, then Good and Evil, then the other agents and
    objects by number, then the actions that lead there. The actions are A1 (which stays), A2 and so
    on, as in the text. ``πω2A1:⊖:⊕ω1A2:`` says that the agent and object 2 are in the first of
    four cells.
    """
    written = [int(code) for code in codes]
    others = len(written) - written.count(NEXT_CELL) - actions - 3  # all but the agent, Good, Evil

    def symbol(code: int) -> str:
        number = code - FIRST_OTHER
        other = f"ω{number + 1}" if number < others else f"A{number - others + 1}"
        return SYMBOLS.get(code, other)

    return "".join(map(symbol, written))


def state_key(places: Sequence[int], cells: int) -> str:
    """The contents of the cells, as the states of the Q matrix are written: ``101|000|010``.

    Places are the cells of Good, of Evil, of the agent and of others, counted from 0.
    """
    return "|".join("".join(str(int(place == cell)) for place in places) for cell in range(cells))


COLOURS = (
    "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999",
    "#c2b280", "#7b9e89",
)  # fmt: skip
"""Cells in turn. The first eight can be told apart by the colour-blind (Okabe and Ito 2008)."""

SHAPES = {SELF: "circle", PLUS: "square", MINUS: "diamond", EITHER: "star", FIRST_OTHER: "triangle"}
"""Neutral symbols, which do not tell good from evil."""


def scene(
    instance: Instance, views: Sequence[str], seen: Sequence[int], reward: float
) -> dict[str, Any]:
    """The scene that a person is shown (4.5.3): coloured cells, neutral symbols, possible moves.

    The accumulated reward is never shown: knowing it would change behaviour.

    Args:
        instance: The environment.
        views: The view of each agent in the environment; that of the first one is shown.
        seen: Its observation.
        reward: Its last reward.
    """
    paths = paths_of(instance.data["space"])
    view, *joint = views
    others = len(joint) + len(instance.data["objects"])
    symbols: list[list[str]] = [[] for _ in paths]
    own = cell = 0
    if view.startswith("string"):
        for code in seen:
            kind = min(code, FIRST_OTHER)
            own = cell if kind == SELF else own
            if kind == NEXT_CELL:
                cell += 1
            elif code < FIRST_OTHER + others:
                symbols[cell].append(SHAPES[kind])
    elif view == "adjacent":
        own = seen[0]
        symbols[own].append(SHAPES[SELF])
        bits = ((SEES_GOOD, PLUS), (SEES_EVIL, MINUS), (SEES_OTHER, FIRST_OTHER))
        for cell, content in dict(zip(paths[own].tolist(), seen[1:], strict=True)).items():
            symbols[cell] += [SHAPES[kind] for bit, kind in bits if content & bit]
    else:
        own = seen[2]
        order = [own, *seen[:2], *seen[3 : 3 + others]]
        for place, kind in zip(order, [SELF, PLUS, MINUS] + [FIRST_OTHER] * others, strict=True):
            symbols[place].append(SHAPES[kind])
    cells = [
        {
            "colour": COLOURS[cell % len(COLOURS)],
            "symbols": symbols[cell],
            "actions": np.flatnonzero(paths[own] == cell).tolist(),
        }
        for cell in range(len(paths))
    ]
    sign = "up" if reward > 0 else "down" if reward < 0 else "neutral"
    return {"kind": "lambda", "cells": cells, "reward": sign}
