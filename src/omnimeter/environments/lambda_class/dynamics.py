"""State and kernels of Lambda: Good and Evil, further objects, agents, and the rewards in cells.

The order of events is that of the main loop (Lambda thesis, section 4.4); in the conceptual order
(section 3.6.3) rewards are consumed before the update. Where agents consume after it, Good and Evil
first leave rewards in their new cells too: the whole reward is only where they are (4.1.5).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import below, forward, kernel, next_bits

GOOD, EVIL, FIRST_SEAT = range(3)
"""The entries of ``places``; after the seats come the further objects."""

ACTIONS, AFTER, VANISH, DROP_ON_AGENTS, SHARING, CYCLE, WARM_UP = range(7)
"""The rules: the number of actions, then the parameters of ``Lambda``. CYCLE is the longest time
between two swaps, 0 for never. WARM_UP is a number of interactions, or -1 to draw it as the time of
a swap is drawn."""

PHASE, UNTIL_SWAP, GOOD_DROP, EVIL_DROP = range(4)
"""The entries of ``clock``: the place in the pattern, interactions until the swap (0 when there is
none to come), and which of their rewards Good and Evil drop now."""

RANDOM, STILL, PATTERN = range(3)
"""The behaviours of further objects."""

MAX_DRAWN_WARM_UP = 10_000
"""More interactions of a random agent are not drawn: they would only take time."""


class LambdaState(NamedTuple):
    """A space with all that is in it.

    The agents have a generator of their own, so that what the others do depends neither on the
    agents nor on their number.
    """

    rng: NDArray[np.uint64]  # of Good, Evil and the further objects
    agents_rng: NDArray[np.uint64]  # of the agents' first cells and of their warm-up
    paths: IntArray  # the cell that each action leads to, for one cell after the other
    pattern: IntArray  # the actions that Good and Evil repeat
    places: IntArray  # the cells of Good, of Evil, of the agents and of the further objects
    rewards: FloatArray  # the reward that lies in each cell
    good: FloatArray  # what Good drops, in turn
    evil: FloatArray
    division: FloatArray  # by what rewards in cells are divided in each interaction
    rules: IntArray  # in the order above
    clock: IntArray  # the counters, in the order above
    behaviours: IntArray  # how each further object behaves
    scripts: IntArray  # the patterns of the further objects, one after the other
    script_at: IntArray  # where each of them begins, and where the last ends
    script_now: IntArray  # where each object is in its pattern
    views: IntArray  # the view of each agent
    actions: IntArray  # of each agent: a buffer for ``step``, which is given only one
    paid: FloatArray  # the reward of each agent: a buffer for ``step`` and the warm-up


@kernel
def reset(state: Any) -> Any:
    """Draw the first cells; the first reward is 0."""
    place_all(state)
    for behaviour in range(len(state.behaviours)):
        state.script_now[behaviour] = state.script_at[behaviour]
    state.clock[PHASE] = 0
    # Random agents interact before the test, past what may be garbage at the beginning.
    for _ in range(length_of_warm_up(state)):
        for seat in range(len(state.views)):
            state.actions[seat] = below(state.agents_rng, state.rules[ACTIONS])
        step_joint(state, state.actions, state.paid)
    for seat in range(len(state.views)):
        state.actions[seat] = 0
    return 0.0


@kernel
def place_all(state: Any) -> None:
    """Draw the first cells and the first swap; Good and Evil leave their first rewards."""
    state.agents_rng[0] = next_bits(state.rng)
    cells = len(state.rewards)
    good = evil = 0
    while good == evil:
        good = below(state.rng, cells)
        evil = below(state.rng, cells)
    state.places[GOOD] = good
    state.places[EVIL] = evil
    for other in range(FIRST_SEAT + len(state.views), len(state.places)):
        state.places[other] = below(state.rng, cells)
    for seat in range(len(state.views)):
        state.places[FIRST_SEAT + seat] = below(state.agents_rng, cells)
    for cell in range(cells):
        state.rewards[cell] = 0.0
    state.clock[GOOD_DROP] = 0
    state.clock[EVIL_DROP] = 0
    draw_swap(state)
    drop(state)


@kernel
def length_of_warm_up(state: Any) -> Any:
    """The number of interactions before the test; one that is to be drawn is drawn here."""
    count = state.rules[WARM_UP]
    if count < 0:
        count = min(1 + below(state.rng, state.rules[CYCLE]), MAX_DRAWN_WARM_UP)
    return count


@kernel
def draw_swap(state: Any) -> None:
    """Draw after how many interactions Good and Evil change places (the cycle clause, 3.6.2)."""
    state.clock[UNTIL_SWAP] = 0
    if state.rules[CYCLE] > 0:
        state.clock[UNTIL_SWAP] = 1 + below(state.rng, state.rules[CYCLE])


@kernel
def step(state: Any, action: Any) -> Any:
    """One interaction of the first agent; other agents stay."""
    if len(state.views) > 1:
        state.actions[0] = action
        step_joint(state, state.actions, state.paid)
        state.actions[0] = 0  # the last action is not part of the state
        return state.paid[0]
    # A single agent needs no loops over seats: 4 to 14 % less time, depending on the agent.
    good, evil = state.places[GOOD], state.places[EVIL]
    cell = leads_to(state, state.places[FIRST_SEAT], action)
    state.places[FIRST_SEAT] = cell
    go_on(state, good, evil)
    reward = state.rewards[forward(cell)]
    if state.rules[VANISH]:
        state.rewards[forward(cell)] = 0.0
    end_round(state, good, evil)
    return reward


@kernel
def step_joint(state: Any, actions: Any, rewards: Any) -> None:
    """One interaction: steps 4 to 7 of the main loop, and steps 1 and 2 of the next round."""
    good, evil = state.places[GOOD], state.places[EVIL]
    for seat in range(len(state.views)):
        cell = state.places[FIRST_SEAT + seat]
        state.places[FIRST_SEAT + seat] = leads_to(state, cell, actions[seat])
    go_on(state, good, evil)
    pay(state, rewards)
    end_round(state, good, evil)


@kernel
def pay(state: Any, rewards: Any) -> None:
    """All agents get the rewards of their cells (step 6)."""
    for seat in range(len(state.views)):
        cell = state.places[FIRST_SEAT + seat]
        rewards[seat] = state.rewards[cell]
        if state.rules[SHARING]:
            sharers = 0
            for other in range(len(state.views)):
                sharers += state.places[FIRST_SEAT + other] == cell
            rewards[seat] /= sharers
    if state.rules[VANISH]:
        for seat in range(len(state.views)):
            state.rewards[state.places[FIRST_SEAT + seat]] = 0.0


@kernel
def go_on(state: Any, good: Any, evil: Any) -> None:
    """All but the agents move, up to the moment when agents are paid."""
    move_good_and_evil(state)
    first = FIRST_SEAT + len(state.views)
    for other in range(len(state.behaviours)):
        behaviour = state.behaviours[other]
        action = 0
        if behaviour == RANDOM:
            action = below(state.rng, state.rules[ACTIONS])
        elif behaviour == PATTERN:
            now = state.script_now[other]
            action = state.scripts[now]
            begin, end = state.script_at[other], state.script_at[other + 1]
            state.script_now[other] = following(now, begin, end)
        cell = state.places[first + other]
        state.places[first + other] = leads_to(state, cell, action)
    update(state, good, evil)


@kernel
def update(state: Any, good: Any, evil: Any) -> None:
    """Next come the next rewards of Good and Evil; where agents consume after it, they come now."""
    state.clock[GOOD_DROP] = following(state.clock[GOOD_DROP], 0, len(state.good))
    state.clock[EVIL_DROP] = following(state.clock[EVIL_DROP], 0, len(state.evil))
    if state.rules[AFTER]:
        fade(state, good, evil)
        drop(state)


@kernel
def end_round(state: Any, good: Any, evil: Any) -> None:
    """All that happens after agents were paid, up to their next observation."""
    if not state.rules[AFTER]:
        fade(state, good, evil)
    left = state.clock[UNTIL_SWAP]
    state.clock[UNTIL_SWAP] = max(left - 1, 0)
    if left == 1:  # step 1: Good and Evil change places
        good = state.places[GOOD]
        state.places[GOOD] = state.places[EVIL]
        state.places[EVIL] = good
        draw_swap(state)
    drop(state)


@kernel
def leads_to(state: Any, cell: Any, action: Any) -> Any:
    """The cell that an action leads to."""
    return state.paths[forward(cell * state.rules[ACTIONS] + action)]


@kernel
def move_good_and_evil(state: Any) -> None:
    """Both do the same action of their pattern; they never share a cell (step 5)."""
    action = state.pattern[forward(state.clock[PHASE])]
    state.clock[PHASE] = following(state.clock[PHASE], 0, len(state.pattern))
    good, evil = state.places[GOOD], state.places[EVIL]
    meet(state, leads_to(state, good, action), leads_to(state, evil, action))


@kernel
def meet(state: Any, new_good: Any, new_evil: Any) -> None:
    """Good and Evil go to their cells; if these are the same, one of them stays (3.6.2)."""
    good, evil = state.places[GOOD], state.places[EVIL]
    if new_good == new_evil:
        # Drawn, unless one of them stays where it is. The coin decides for the lower cell, not for
        # Good: it must not matter which of them is which.
        if new_good != good and (new_good == evil or (below(state.rng, 2) == 0) == (good < evil)):
            new_good = good
        else:
            new_evil = evil
    state.places[GOOD] = new_good
    state.places[EVIL] = new_evil


@kernel
def following(now: Any, first: Any, end: Any) -> Any:
    """The next place in a cycle from first to end."""
    return now + 1 if now + 1 < end else first


@kernel
def drop(state: Any) -> None:
    """Good and Evil leave their rewards in their cells (step 2)."""
    good, evil = state.places[GOOD], state.places[EVIL]
    if drops_in(state, good):
        state.rewards[forward(good)] = state.good[forward(state.clock[GOOD_DROP])]
    if drops_in(state, evil):
        state.rewards[forward(evil)] = -state.evil[forward(state.clock[EVIL_DROP])]


@kernel
def drops_in(state: Any, cell: Any) -> Any:
    """Whether a reward is dropped in a cell: perhaps not where an agent is."""
    if state.rules[DROP_ON_AGENTS]:  # first: it spares a loop over all agents
        return True
    taken = False
    for seat in range(len(state.views)):
        taken |= state.places[FIRST_SEAT + seat] == cell
    return not taken


@kernel
def fade(state: Any, good: Any, evil: Any) -> None:
    """All rewards in cells become smaller (step 7).

    By infinity nothing remains. Before that there can only be something where Good and Evil were.
    """
    division = state.division[0]
    if division == np.inf:
        state.rewards[forward(good)] = 0.0
        state.rewards[forward(evil)] = 0.0
    elif division != 1.0:
        for cell in range(len(state.rewards)):
            state.rewards[cell] /= division
