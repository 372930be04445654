"""State and kernels of the universal Lambda class: programs move Good, Evil and all objects.

Cells, rewards, swaps and agents are those of ``lambda_class.dynamics``. All inhabitants decide by
what was there when the agent observed; then all move at once (Lambda thesis, 3.6.3).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.environments.lambda_class.dynamics import (
    ACTIONS,
    EVIL,
    FIRST_SEAT,
    GOOD,
    WARM_UP,
    end_round,
    leads_to,
    length_of_warm_up,
    meet,
    pay,
    place_all,
    update,
)
from omnimeter.environments.lambda_class.views import (
    FORESIGHT,
    by_view,
    write_outlook,
    write_view,
)
from omnimeter.environments.universal.inhabitants import ADJACENT, CELL, MOVES, STRING, last_action
from omnimeter.environments.universal.machine import (
    KEPT,
    LENGTH,
    OUTCOME,
    STEP_BOUND,
    STEPS,
    rewrite,
)
from omnimeter.interaction.compilation import load
from omnimeter.kernels import EnvironmentKernels, below, kernel

MAX_STEPS_RULE = WARM_UP + 1
"""The entry of ``rules`` after those of ``lambda_class.dynamics``: the bound of steps."""

FIRST_CLOCK = 4
DECIDED, LAST_ACTION, MOST_STEPS = range(FIRST_CLOCK, FIRST_CLOCK + 3)
"""The entries of ``clock`` after those of ``lambda_class.dynamics``: whether the inhabitants have
decided what they will do, what the first agent did last, and the largest number of rewriting steps
in an interaction so far."""


class UniversalState(NamedTuple):
    """A space with all that is in it, and the programs of its inhabitants.

    The inhabitants are Good, Evil and the objects. Most fields are those of ``LambdaState``.
    """

    rng: NDArray[np.uint64]
    agents_rng: NDArray[np.uint64]
    paths: IntArray
    places: IntArray
    rewards: FloatArray
    good: FloatArray
    evil: FloatArray
    division: FloatArray
    rules: IntArray
    clock: IntArray
    views: IntArray
    actions: IntArray
    paid: FloatArray
    fields: IntArray  # the plain rules of all programs
    symbols: IntArray  # and their symbols
    programs: IntArray  # where the rules of each inhabitant begin, and where they end
    perceptions: IntArray  # what each inhabitant perceives
    memories: IntArray  # the memory of each, as many symbols as a text can have
    sizes: IntArray  # how many symbols are in it
    intended: IntArray  # the cell that each is about to go to
    text: IntArray  # buffers of a run
    memory: IntArray
    counts: IntArray


@kernel
def reset(state: Any) -> Any:
    """Draw the first cells; no inhabitant remembers anything; the first reward is 0."""
    place_all(state)
    for inhabitant in range(len(state.sizes)):
        state.sizes[inhabitant] = 0
    state.clock[DECIDED] = 0
    state.clock[LAST_ACTION] = 0
    state.clock[MOST_STEPS] = 0
    for _ in range(length_of_warm_up(state)):
        for seat in range(len(state.views)):
            state.actions[seat] = below(state.agents_rng, state.rules[ACTIONS])
        step_joint(state, state.actions, state.paid)
    for seat in range(len(state.views)):
        state.actions[seat] = 0
    return 0.0


@kernel
def step(state: Any, action: Any) -> Any:
    """One interaction of the first agent; other agents stay."""
    state.actions[0] = action
    step_joint(state, state.actions, state.paid)
    state.actions[0] = 0  # the last action is kept elsewhere
    return state.paid[0]


@kernel
def step_joint(state: Any, actions: Any, rewards: Any) -> None:
    """One interaction: all decide, all move, agents are paid, rewards fade."""
    decide(state)
    good, evil = state.places[GOOD], state.places[EVIL]
    for seat in range(len(state.views)):
        cell = state.places[FIRST_SEAT + seat]
        state.places[FIRST_SEAT + seat] = leads_to(state, cell, actions[seat])
    meet(state, state.intended[GOOD], state.intended[EVIL])
    first = FIRST_SEAT + len(state.views)
    for other in range(first, len(state.places)):
        state.places[other] = state.intended[other - first + FIRST_SEAT]
    update(state, good, evil)
    pay(state, rewards)
    end_round(state, good, evil)
    state.clock[DECIDED] = 0
    state.clock[LAST_ACTION] = actions[0]


@kernel
def decide(state: Any) -> None:
    """Each inhabitant's program reads what it perceives; where it wants to go is kept."""
    if state.clock[DECIDED]:
        return
    state.clock[DECIDED] = 1
    actions, size, total = state.rules[ACTIONS], len(state.text), 0
    for inhabitant in range(len(state.sizes)):
        place = place_of_inhabitant(state, inhabitant)
        cell = state.places[place]
        perceive(state, inhabitant, place)
        first = inhabitant * size
        for number in range(state.sizes[inhabitant]):
            state.memory[number] = state.memories[first + number]
        state.counts[KEPT] = state.sizes[inhabitant]
        rewrite(
            state.fields,
            state.symbols,
            state.programs[2 * inhabitant],
            state.programs[2 * inhabitant + 1],
            state.text,
            state.memory,
            state.counts,
            state.rules[MAX_STEPS_RULE],
            True,
        )
        total += state.counts[STEPS]
        if state.counts[OUTCOME] < STEP_BOUND:
            length = state.counts[LENGTH]
            if inhabitant > EVIL:
                cell = leads_to(state, cell, last_action(state.text, length, actions))
            else:
                for number in range(length):
                    if state.text[number] < actions:
                        cell = leads_to(state, cell, state.text[number])
            for number in range(state.counts[KEPT]):
                state.memories[first + number] = state.memory[number]
            state.sizes[inhabitant] = state.counts[KEPT]
        state.intended[inhabitant] = cell
    state.clock[MOST_STEPS] = max(state.clock[MOST_STEPS], total)


@kernel
def place_of_inhabitant(state: Any, inhabitant: Any) -> Any:
    """The entry of ``places`` of Good (0), Evil (1) or an object (2, 3, ...)."""
    return inhabitant if inhabitant <= EVIL else inhabitant + len(state.views)


@kernel
def perceive(state: Any, inhabitant: Any, own: Any) -> None:
    """Write what an inhabitant perceives as the text of its program.

    Actions come first among the symbols, then what the perception adds.
    """
    perception, actions = state.perceptions[inhabitant], state.rules[ACTIONS]
    length = 0
    if perception == CELL:
        length = write_contents(state, own, state.places[own], actions, length, False)
    elif perception == MOVES:
        state.text[0] = actions + state.clock[LAST_ACTION]
        length = 1
    elif perception == ADJACENT:
        for action in range(actions):
            cell = leads_to(state, state.places[own], action)
            length = write_contents(state, own, cell, 2 * actions, length, True)
            state.text[length] = actions + action
            length += 1
    elif perception == STRING:
        length = write_all(state, own)
    state.counts[LENGTH] = length


@kernel
def write_contents(state: Any, own: Any, cell: Any, first: Any, length: Any, objects: Any) -> Any:
    """Who else is in a cell: π, ⊙ and ω, each once at most; return the length of the text."""
    agent = special = other = False
    for place in range(len(state.places)):
        if place != own and state.places[place] == cell:
            special |= place <= EVIL
            agent |= EVIL < place < FIRST_SEAT + len(state.views)
            other |= place >= FIRST_SEAT + len(state.views)
    if agent:
        state.text[length] = first
        length += 1
    if special:
        state.text[length] = first + 1
        length += 1
    if other and objects:
        state.text[length] = first + 2
        length += 1
    return length


@kernel
def write_all(state: Any, own: Any) -> Any:
    """The contents of all cells, and the actions that lead there (3.6.4); return the length."""
    actions, seats = state.rules[ACTIONS], len(state.views)
    agent = 2 * actions
    following = agent + len(state.places) - seats  # π, ⊙, then the objects
    length = 0
    for cell in range(len(state.rewards)):
        if cell > 0:
            state.text[length] = following
            length += 1
        for place in range(FIRST_SEAT, FIRST_SEAT + seats):
            if state.places[place] == cell:
                state.text[length] = agent
                length += 1
        for place in range(FIRST_SEAT):
            if state.places[place] == cell:
                state.text[length] = agent + 1
                length += 1
        for place in range(FIRST_SEAT + seats, len(state.places)):
            if state.places[place] == cell:
                state.text[length] = agent + 2 + place - FIRST_SEAT - seats
                length += 1
        for action in range(actions):
            if leads_to(state, state.places[own], action) == cell:
                state.text[length] = actions + action
                length += 1
    return length


@dataclass(frozen=True)
class _Perceive:
    state: type
    perceive: Callable[..., Any]
    place: Callable[..., Any]


_LOOK = """
from omnimeter.caching import compiled


def look(state, inhabitant):
    world_perceive(state, inhabitant, world_place(state, inhabitant))


look = compiled(look, error_model="numpy")
"""


@cache
def _look() -> Callable[..., None]:
    sides = _Perceive(UniversalState, perceive, place_of_inhabitant)
    entry: Callable[..., None] = load("perceptions", _LOOK, world=sides).look
    return entry


def perceived(state: UniversalState, inhabitant: int) -> tuple[int, ...]:
    """What an inhabitant perceives now: the text of its program."""
    _look()(state, inhabitant)
    return tuple(state.text[: state.counts[LENGTH]].tolist())


# Views


@kernel
def observe_universal(state: Any, seat: Any, out: Any) -> None:
    """Write the observation of an agent in its view."""
    write_view(state, seat, out)
    if state.views[seat] == FORESIGHT:
        decide(state)
        write_outlook(state, seat, state.intended[GOOD], state.intended[EVIL], out)


@kernel
def observe_first(state: Any, out: Any) -> None:
    """Write the observation of the first agent in its view."""
    observe_universal(state, 0, out)


@kernel
def observe_foresight(state: Any, out: Any) -> None:
    """The view ``foresight``."""
    observe_universal(state, 0, out)


def _kernels(observe: Any) -> EnvironmentKernels:
    return EnvironmentKernels(UniversalState, reset, step, observe, step_joint, observe_universal)


_SINGLE = by_view(_kernels, observe_foresight)
_JOINT = _kernels(observe_first)


def kernels_of(views: Sequence[str]) -> EnvironmentKernels:
    """The kernels of environments with a seat for each view."""
    return _SINGLE[views[0]] if len(views) == 1 else _JOINT
