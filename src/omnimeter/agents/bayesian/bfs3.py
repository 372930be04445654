"""BFS3: forward search with sparse sampling (Bayesian RL benchmark, Algorithms 6 to 8)."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.bayesian.bamcp import count_draw, draw, undo_draws
from omnimeter.agents.bayesian.model import (
    ACTIONS,
    LAST_ACTION,
    LAST_STATE,
    MODEL,
    STATES,
    BayesianAgent,
    chosen,
    see,
)
from omnimeter.agents.shared import best_action, break_ties, require
from omnimeter.contract import Briefing
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import AgentKernels, below, forward, generator_state, kernel, uniform

ROLLOUTS, SAMPLES, DEPTH, MEAN_MODEL, NODES, ENTRIES = range(4, 10)
GAMMA, LOWEST, HIGHEST = range(3)


class Bfs3State(NamedTuple):
    """The model, and the tree of one call of FSSS.

    Node 0 stands for all that were never reached, node 1 is the root. An edge is an action at a
    node: ``node * actions + u``. Its samples are entries, one for each different successor.

    Attributes:
        numbers: After those of every Bayesian agent: roll-outs of each call, samples of each edge,
            depth, whether the mean model is searched, how many nodes and entries there are.
        rates: The discount factor, V_min and V_max.
        leaves: The part of the leaves in the distance of bounds that is left out, for each level.
        flat: Whether the reward of a pair is the same for all successors.
        inverses: 1 / n.
        upper: The upper bound of each node's value.
        lower: The lower bound of each node's value.
        expanded: Whether a node was reached.
        edge_upper: The upper bound of each edge's value.
        edge_lower: The lower bound of each edge's value.
        gains: The mean reward of each edge's samples.
        firsts: The first entry of each edge; -1 before its samples are drawn.
        different: How many entries each edge has.
        places: The place of each entry's successor in its row.
        repeats: How often it was drawn.
        children: Its node.
        path: The edges of the present roll-out.
        drawn: What the present roll-out went through: the place in ``counts`` and the pair.
        saved: The count and the total before.
        values: The value of each action at the present state.
    """

    rng: NDArray[np.uint64]
    numbers: IntArray
    sizes: IntArray
    slots: IntArray
    successors: IntArray
    counts: FloatArray
    totals: FloatArray
    rewards: FloatArray
    probabilities: FloatArray
    means: FloatArray
    rates: FloatArray
    leaves: FloatArray
    flat: IntArray
    inverses: FloatArray
    upper: FloatArray
    lower: FloatArray
    expanded: NDArray[np.int8]
    edge_upper: FloatArray
    edge_lower: FloatArray
    gains: FloatArray
    firsts: NDArray[np.int32]
    different: NDArray[np.int32]
    places: NDArray[np.int16]
    repeats: NDArray[np.int16]
    children: NDArray[np.int32]
    path: IntArray
    drawn: IntArray
    saved: FloatArray
    values: FloatArray


@kernel
def binomial(rng: Any, inverses: Any, trials: Any, successes: Any, failures: Any) -> Any:
    """How many of some trials succeed, with these odds; by inversion, at most 256 at once."""
    rare, common = min(successes, failures), max(successes, failures)
    likely, ratio = common / (successes + failures), rare / common
    counted = 0
    left = trials
    while left > 0:
        n = min(left, 256)
        left -= n
        term, base, exponent = 1.0, likely, n
        while exponent > 0:
            if exponent & 1:
                term *= base
            base *= base
            exponent >>= 1
        share = uniform(rng)
        k = 0
        while share >= term and k < n:
            share -= term
            k += 1
            term *= ratio * ((n - k + 1) * inverses[forward(k)])
        counted += k
    return counted if successes <= failures else trials - counted


@kernel
def sample(state: Any, edge: Any, pair: Any, level: Any) -> Any:
    """Draw the successors of an edge from the predictive distribution; their mean reward."""
    states, samples, entry = state.numbers[STATES], state.numbers[SAMPLES], state.numbers[ENTRIES]
    linked = state.numbers[MEAN_MODEL] == 1 and level + 1 < state.numbers[DEPTH]
    row, last = pair * states, state.sizes[forward(pair)] - 1
    rest, left, gain = state.totals[forward(pair)], samples, 0.0
    state.firsts[forward(edge)] = entry
    place = 0
    while left > 0:
        repeats = left
        count = state.counts[forward(row + place)]
        rest -= count
        if place < last and rest > 0.0:
            repeats = binomial(state.rng, state.inverses, left, count, rest)
        if repeats > 0:
            y = state.successors[forward(row + place)]
            gain += repeats * state.rewards[forward(row + y)]
            state.places[forward(entry)] = place
            state.repeats[forward(entry)] = repeats
            state.children[forward(entry)] = 1 + (level + 1) * states + y if linked else 0
            entry += 1
            left -= repeats
        place += 1
    state.different[forward(edge)] = entry - state.numbers[ENTRIES]
    state.numbers[ENTRIES] = entry
    return gain / samples


@kernel
def expand(state: Any, node: Any, x: Any, level: Any) -> Any:
    """Sample all actions of a node that is reached for the first time (Algorithm 8, 6 to 24).

    Where the reward does not depend on the successor, that is left until an action is chosen.
    """
    actions = state.numbers[ACTIONS]
    gamma, lowest, highest = state.rates[GAMMA], state.rates[LOWEST], state.rates[HIGHEST]
    state.expanded[forward(node)] = 1
    upper, lower = lowest, lowest
    for u in range(actions):
        pair, edge = x * actions + u, node * actions + u
        if state.flat[forward(pair)] == 1:
            state.firsts[forward(edge)] = -1
            row = pair * state.numbers[STATES]
            gain = state.rewards[forward(row + state.successors[forward(row)])]
        else:
            gain = sample(state, edge, pair, level)
        state.gains[forward(edge)] = gain
        state.edge_upper[forward(edge)] = gain + gamma * highest
        state.edge_lower[forward(edge)] = gain + gamma * lowest
        upper = max(upper, gain + gamma * highest)
        lower = max(lower, gain + gamma * lowest)
    state.upper[forward(node)] = upper
    state.lower[forward(node)] = lower


@kernel
def widest(state: Any, edge: Any, leaf: Any) -> Any:
    """The entry of an edge with the largest distance of bounds, times its repeats; random ties.

    Args:
        state: The agent's state.
        edge: The edge.
        leaf: How much of each distance is that of the leaves, which no roll-out makes smaller.
    """
    first = int(state.firsts[forward(edge)])
    last = first + state.different[forward(edge)]
    greatest, best, ties = -np.inf, first, 0
    for entry in range(first, last):
        child = state.children[forward(entry)]
        gap = state.upper[forward(child)] - state.lower[forward(child)] - leaf
        gap *= state.repeats[forward(entry)]
        better = gap > greatest
        ties = 1 if better else ties + int(gap == greatest)
        best = entry if better else best
        greatest = gap if better else greatest
    if ties > 1:
        skipped = below(state.rng, ties)
        while skipped > 0:
            best += 1
            child = state.children[forward(best)]
            gap = state.upper[forward(child)] - state.lower[forward(child)] - leaf
            if gap * state.repeats[forward(best)] == greatest:
                skipped -= 1
    return best


@kernel
def back_up(state: Any, edge: Any) -> Any:
    """The bounds of an edge and its node from those of the successors."""
    actions, gamma = state.numbers[ACTIONS], state.rates[GAMMA]
    first = int(state.firsts[forward(edge)])
    upper, lower = 0.0, 0.0
    for entry in range(first, first + state.different[forward(edge)]):
        child = state.children[forward(entry)]
        repeats = state.repeats[forward(entry)]
        upper += repeats * state.upper[forward(child)]
        lower += repeats * state.lower[forward(child)]
    share = gamma / state.numbers[SAMPLES]
    state.edge_upper[forward(edge)] = state.gains[forward(edge)] + share * upper
    state.edge_lower[forward(edge)] = state.gains[forward(edge)] + share * lower
    node = edge // actions
    upper, lower = state.rates[LOWEST], state.rates[LOWEST]
    for each in range(node * actions, (node + 1) * actions):
        upper = max(upper, state.edge_upper[forward(each)])
        lower = max(lower, state.edge_lower[forward(each)])
    state.upper[forward(node)] = upper
    state.lower[forward(node)] = lower


@kernel
def roll_out(state: Any, root_state: Any) -> Any:
    """Follow the optimistic action and the least certain successor to the depth (Algorithm 8)."""
    states, actions = state.numbers[STATES], state.numbers[ACTIONS]
    mean_model, depth = state.numbers[MEAN_MODEL] == 1, state.numbers[DEPTH]
    node, x = 1 + root_state * int(mean_model), root_state
    for level in range(depth):
        if state.expanded[forward(node)] == 0:
            expand(state, node, x, level)
        best = best_action(state.edge_upper, node * actions, actions)
        u = break_ties(state.rng, state.edge_upper, node * actions, best)
        pair, edge = x * actions + u, node * actions + u
        if state.firsts[forward(edge)] < 0:
            sample(state, edge, pair, level)
        entry = widest(state, edge, state.leaves[forward(level)])
        state.path[forward(level)] = edge
        at = pair * states + state.places[forward(entry)]
        x = state.successors[forward(at)]
        if not mean_model:
            count_draw(state, pair, at, level + 1)
        if level + 1 < depth:
            node = int(state.children[forward(entry)])
            if node == 0:
                node = state.numbers[NODES]
                state.numbers[NODES] = node + 1
                state.children[forward(entry)] = node
                state.expanded[forward(node)] = 0
    for level in range(depth - 1, -1, -1):
        back_up(state, state.path[forward(level)])
    if not mean_model:
        undo_draws(state, 1, depth + 1)


@kernel
def search(state: Any, root_state: Any) -> Any:
    """The upper bound of the value of a state after all roll-outs in a new tree (Algorithm 7)."""
    state.numbers[ENTRIES] = 0
    state.numbers[NODES] = 2
    root = 1
    if state.numbers[MEAN_MODEL] == 1:
        root = 1 + root_state
        state.expanded[:] = 0
        state.upper[:] = state.rates[HIGHEST]
        state.lower[:] = state.rates[LOWEST]
    state.expanded[forward(root)] = 0
    room = len(state.children) - state.numbers[DEPTH] * state.numbers[ACTIONS] * min(
        state.numbers[SAMPLES], state.numbers[STATES]
    )
    for _ in range(state.numbers[ROLLOUTS]):
        if state.numbers[ENTRIES] > room:
            break  # there is room for all roll-outs unless the prior held transitions impossible
        roll_out(state, root_state)
    return state.upper[forward(root)]


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001 - rewards are known
    """Perform the action with the largest mean over its samples (Algorithm 6)."""
    x = observation[0]
    see(state, x)
    states, actions = state.numbers[STATES], state.numbers[ACTIONS]
    if state.numbers[LAST_STATE] >= 0:  # a successor may be new
        pair = state.numbers[LAST_STATE] * actions + state.numbers[LAST_ACTION]
        row = pair * states
        same = state.rewards[row + state.successors[row]]
        for k in range(row, row + state.sizes[pair]):
            if state.rewards[row + state.successors[k]] != same:
                state.flat[pair] = 0
    samples = state.numbers[SAMPLES]
    for u in range(actions):
        pair = x * actions + u
        total = 0.0
        for _ in range(samples):
            at = draw(state, pair, uniform(state.rng))
            y = state.successors[at]
            if state.numbers[MEAN_MODEL] == 0:
                count_draw(state, pair, at, 0)
            total += state.rewards[pair * states + y] + state.rates[GAMMA] * search(state, y)
            if state.numbers[MEAN_MODEL] == 0:
                undo_draws(state, 0, 1)
        state.values[u] = total / samples
    best = best_action(state.values, 0, actions)
    return chosen(state, x, break_ties(state.rng, state.values, 0, best))


class BFS3(BayesianAgent):
    """Bayesian forward search with sparse sampling (Asmuth and Littman 2011; Algorithms 6 to 8).

    For each action, C successors are drawn from the predictive distribution, and the value of each
    is searched in a tree of its own by roll-outs of FSSS. A node of the tree is a history: when it
    is reached for the first time, C successors of each action are drawn from the predictive
    distribution of the prior, all observed transitions and those on the way to the node. Bounds
    of its value are backed up from the successors; those never reached have V_max and V_min. A
    roll-out follows the action of largest upper bound to the successor with the largest distance
    of its bounds, times how often it was drawn, until the depth. The agent performs the action of
    the largest mean of r + gamma U. Ties are broken at random. Nothing is kept for the next step.

    The texts do not say how many roll-outs t a search of FSSS has. As in the authors' library, K
    counts those of all C successors together: t is K / C, rounded down, and at least 1. The depth
    counts from the successors.

    - ``original``: leaves at the depth are settled, as in the FSSS of Walsh, Goschin and Littman
      (2010), on which the search is built: the distance of their bounds does not count when a
      successor is chosen. With many samples and roll-outs its values are the Bayes-optimal ones
      of depth + 1 steps, and gamma^(depth + 1) V_max. V_min and V_max are the lowest and the
      highest reward / (1 - gamma).
    - ``library``: the distance at the leaves counts. Common successors then keep so much of it
      that rare ones may never be reached, and values stay above the Bayes-optimal ones. V_min is
      0, and V_max belongs to the whole table of rewards, impossible transitions included.
    - ``printed``: as the pseudo-code has it, nodes are states at a level, and all successors are
      drawn from the mean model of the present posterior: it plans as if nothing more was to be
      learnt. The distance at the leaves counts.

    Successors are drawn as the counts of each one, which are binomial. Where the reward of a pair
    is the same for all successors, they are drawn only if the action is followed; this does not
    change their distribution.

    Args:
        k: The number of roll-outs for each action, at least 1.
        c: The number C of successors drawn for each action, 1 to 32767.
        depth: The depth of the search behind the successors, at least 1.
        variant: Which description it follows.
    """

    kernels = AgentKernels(Bfs3State, act=act)

    def __init__(
        self,
        k: int = 500,
        c: int = 15,
        depth: int = 15,
        variant: Literal["original", "printed", "library"] = "original",
    ) -> None:
        require(k >= 1, f"The number of roll-outs k is {k}.", "Give at least 1.")
        require(1 <= c < 2**15, f"The number of samples c is {c}.", "Give 1 to 32767.")
        require(depth >= 1, f"The depth is {depth}.", "Give at least 1.")
        self.k, self.c, self.depth, self.variant = k, c, depth, variant

    @property
    def work(self) -> int:
        """About how many times 20 ns a decision takes, with few successors."""
        actions = self.prior.distribution.actions if self.prior else 4
        return 5 * actions * self.c * max(1, self.k // self.c) * self.depth

    def initial_state(self, briefing: Briefing) -> Bfs3State:
        """No tree yet."""
        fields = self.model_fields(briefing, 6)
        assert self.prior is not None  # model_fields sees to it
        known, gamma = self.prior.distribution, self.prior.gamma
        rollouts, mean_model = max(1, self.k // self.c), self.variant == "printed"
        fields["numbers"][4:] = rollouts, self.c, self.depth, mean_model, 0, 0
        lowest, highest = known.reward_range()
        if self.variant == "library":
            lowest, highest = 0.0, float(known.rewards.max())
        spread = np.where(known.possible, known.rewards, np.nan)
        nodes = 2 + self.depth * (known.states if mean_model else rollouts)
        edges = nodes * known.actions
        entries = edges * min(self.c, int(fields["sizes"].max()))
        entries += self.depth * known.actions * min(self.c, known.states)
        left = np.arange(self.depth)[::-1]  # steps after each level
        leaves = np.zeros(self.depth)
        if self.variant == "original":
            leaves = (highest - lowest) / (1 - gamma) * np.power(gamma, left)
        return Bfs3State(
            rng=generator_state(),
            **{name: fields[name] for name in MODEL},
            rates=np.array([gamma, lowest / (1 - gamma), highest / (1 - gamma)]),
            leaves=leaves,
            flat=(np.nanmax(spread, axis=2) == np.nanmin(spread, axis=2)).ravel().astype(np.int64),
            inverses=1 / np.maximum(np.arange(258), 1),
            upper=np.full(nodes, highest / (1 - gamma)),
            lower=np.full(nodes, lowest / (1 - gamma)),
            expanded=np.zeros(nodes, dtype=np.int8),
            edge_upper=np.zeros(edges),
            edge_lower=np.zeros(edges),
            gains=np.zeros(edges),
            firsts=np.zeros(edges, dtype=np.int32),
            different=np.zeros(edges, dtype=np.int32),
            places=np.zeros(entries, dtype=np.int16),
            repeats=np.zeros(entries, dtype=np.int16),
            children=np.zeros(entries, dtype=np.int32),
            path=np.zeros(self.depth, dtype=np.int64),
            drawn=np.zeros(2 * (self.depth + 1), dtype=np.int64),
            saved=np.zeros(2 * (self.depth + 1)),
            values=np.zeros(known.actions),
        )
