"""BAMCP: Monte-Carlo tree search over histories (Bayesian RL benchmark, Algorithms 4 and 5)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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
from omnimeter.kernels import AgentKernels, below, forward, generator_state, kernel, next_bits

SIMULATIONS, DEPTH, WIDTH, NODES = range(4, 8)
EXPLORATION = 3.0
"""The constant c of the upper confidence bound, not scaled to the rewards (Guez et al. 2012)."""
RATE = 0.2
"""The learning rate of the roll-out policy's values."""


class BamcpState(NamedTuple):
    """The model, the tree of one decision, and the policy of roll-outs.

    An edge is an action at a node: ``node * actions + u``. Node 0 is the root.

    Attributes:
        numbers: After those of every Bayesian agent: simulations per decision, depth, the largest
            number of successors that the prior gives a pair, and how many nodes there are.
        gamma: The discount factor.
        node_visits: How often each node was visited.
        visits: How often each edge was followed.
        returns: The mean return of each edge.
        children: The node of each edge's successors by their places in the row; 0 where none is.
        widths: 3 sqrt(ln(N + 1)) for N visits of a node.
        shares: 1 / sqrt(n) for n visits of an edge.
        path: The edges of the present simulation.
        path_nodes: Their nodes.
        gains: The rewards there.
        drawn: What the present simulation drew: places in ``counts``.
        drawn_pairs: Their pairs.
        old_counts: The counts before each draw.
        old_totals: The totals before each draw.
        quality: The values of all pairs, learnt from real transitions by Q-learning.
        moves: The best actions of each state by these values, then all actions, for each state.
        move_counts: How many these are.
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
    gamma: FloatArray
    node_visits: NDArray[np.int32]
    visits: NDArray[np.int32]
    returns: FloatArray
    children: NDArray[np.int32]
    widths: FloatArray
    shares: FloatArray
    path: IntArray
    path_nodes: IntArray
    gains: FloatArray
    drawn: IntArray
    drawn_pairs: IntArray
    old_counts: FloatArray
    old_totals: FloatArray
    quality: FloatArray
    moves: IntArray
    move_counts: IntArray


@kernel
def learn(state: Any, x: Any, u: Any, reward: Any, y: Any) -> Any:
    """Q-learning from a real transition; the best actions of its state, for roll-outs."""
    actions = state.numbers[ACTIONS]
    ahead = best_action(state.quality, y * actions, actions)[0]
    pair = x * actions + u
    target = reward + state.gamma[0] * ahead
    state.quality[pair] += RATE * (target - state.quality[pair])
    greatest = best_action(state.quality, x * actions, actions)[0]
    ties = 0
    for v in range(actions):
        if state.quality[x * actions + v] == greatest:
            state.moves[x * actions + ties] = v
            ties += 1
    state.move_counts[x] = ties


@kernel
def new_node(state: Any) -> Any:
    """A node that was never visited."""
    node = state.numbers[NODES]
    state.numbers[NODES] = node + 1
    actions, width = state.numbers[ACTIONS], state.numbers[WIDTH]
    state.node_visits[forward(node)] = 0
    for edge in range(node * actions, (node + 1) * actions):
        state.visits[forward(edge)] = 0
        state.returns[forward(edge)] = 0.0
    for child in range(node * actions * width, (node + 1) * actions * width):
        state.children[forward(child)] = 0
    return node


@kernel
def select(state: Any, node: Any) -> Any:
    """The action of largest upper confidence bound; first those never performed; random ties."""
    actions = state.numbers[ACTIONS]
    first = node * actions
    visited = state.node_visits[forward(node)]
    if visited < actions:
        skipped = below(state.rng, actions - visited)
        u = 0
        while skipped > 0 or state.visits[forward(first + u)] > 0:
            if state.visits[forward(first + u)] == 0:
                skipped -= 1
            u += 1
        return u
    width = state.widths[forward(visited)]
    greatest, best, ties = -np.inf, 0, 0
    for u in range(actions):
        edge = first + u
        visits = state.visits[forward(edge)]
        bound = state.returns[forward(edge)] + width * state.shares[forward(visits)]
        better = bound > greatest
        ties = 1 if better else ties + int(bound == greatest)
        best = u if better else best
        greatest = bound if better else greatest
    if ties > 1:
        skipped = below(state.rng, ties)
        u = best
        while skipped > 0:
            u += 1
            visits = state.visits[forward(first + u)]
            bound = state.returns[forward(first + u)] + width * state.shares[forward(visits)]
            if bound == greatest:
                skipped -= 1
        return u
    return best


@kernel
def draw(state: Any, pair: Any, share: Any, step: Any) -> Any:
    """The place of a successor drawn from the urn of a pair, to which it is added.

    Args:
        state: The agent's state.
        pair: The state-action pair.
        share: A uniform number in [0, 1).
        step: How many draws the simulation made before.
    """
    row = pair * state.numbers[STATES]
    total = state.totals[forward(pair)]
    target = share * total
    last = state.sizes[forward(pair)] - 1
    place = 0
    if last <= 1:
        place = min(int(target >= state.counts[forward(row)]), last)
    else:
        while place < last and target >= state.counts[forward(row + place)]:
            target -= state.counts[forward(row + place)]
            place += 1
    at = row + place
    count = state.counts[forward(at)]
    state.drawn[forward(step)] = at
    state.drawn_pairs[forward(step)] = pair
    state.old_counts[forward(step)] = count
    state.old_totals[forward(step)] = total
    state.counts[forward(at)] = count + 1.0
    state.totals[forward(pair)] = total + 1.0
    return at


@kernel
def undo(state: Any, steps: Any) -> Any:
    """Take what a simulation drew out of the urns."""
    for step in range(steps - 1, -1, -1):
        state.counts[forward(state.drawn[forward(step)])] = state.old_counts[forward(step)]
        state.totals[forward(state.drawn_pairs[forward(step)])] = state.old_totals[forward(step)]


@kernel
def roll_out(state: Any, x: Any, depth: Any) -> Any:
    """The discounted return of the roll-out policy from a state (Algorithm 5)."""
    states, actions = state.numbers[STATES], state.numbers[ACTIONS]
    gamma = state.gamma[0]
    value, factor = 0.0, 1.0
    for step in range(depth, state.numbers[DEPTH]):
        bits = next_bits(state.rng)
        # The first bit: the best action or any; 23 bits choose among them; 40 the successor.
        which = x + states * np.int64(bits >> 63)
        count = state.move_counts[forward(which)]
        product = np.int64((bits >> 40) & 0x7FFFFF) * count
        if (product & 0x7FFFFF) < count and (product & 0x7FFFFF) < 0x800000 % count:
            product = below(state.rng, count) << 23  # exactly uniform (Lemire 2019)
        u = state.moves[forward(which * actions + (product >> 23))]
        pair = x * actions + u
        share = np.int64(bits & 0xFFFFFFFFFF) * (1.0 / 1099511627776.0)
        y = state.successors[forward(draw(state, pair, share, step))]
        value += factor * state.rewards[forward(pair * states + y)]
        factor *= gamma
        x = y
    return value


@kernel
def simulate(state: Any, root_state: Any) -> Any:
    """One simulation: down the tree, a roll-out, and the return into the tree (Algorithm 4)."""
    states, actions = state.numbers[STATES], state.numbers[ACTIONS]
    limit, width = state.numbers[DEPTH], state.numbers[WIDTH]
    x, node, depth = root_state, 0, 0
    inside = True
    while inside:
        u = select(state, node)
        pair, edge = x * actions + u, node * actions + u
        share = np.int64(next_bits(state.rng) >> 11) * (1.0 / 9007199254740992.0)
        at = draw(state, pair, share, depth)
        x = state.successors[forward(at)]
        state.path[forward(depth)] = edge
        state.path_nodes[forward(depth)] = node
        state.gains[forward(depth)] = state.rewards[forward(pair * states + x)]
        depth += 1
        place = at - pair * states
        inside = depth < limit and state.visits[forward(edge)] > 0 and place < width
        if inside:
            node = int(state.children[forward(edge * width + place)])
            if node == 0:
                node = new_node(state)
                state.children[forward(edge * width + place)] = node
    value = roll_out(state, x, depth)
    gamma = state.gamma[0]
    for step in range(depth - 1, -1, -1):
        value = state.gains[forward(step)] + gamma * value
        edge = state.path[forward(step)]
        visits = state.visits[forward(edge)] + 1
        state.visits[forward(edge)] = visits
        old = state.returns[forward(edge)]
        state.returns[forward(edge)] = old + (value - old) / visits
        state.node_visits[forward(state.path_nodes[forward(step)])] += 1
    undo(state, limit)


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:
    """Learn from the last transition, search, and perform the action of largest mean return."""
    x = observation[0]
    if state.numbers[LAST_STATE] >= 0:
        learn(state, state.numbers[LAST_STATE], state.numbers[LAST_ACTION], reward, x)
    see(state, x)
    state.numbers[NODES] = 0
    new_node(state)
    for _ in range(state.numbers[SIMULATIONS]):
        simulate(state, x)
    # An action that was never performed counts as 0, as in the authors' library.
    best = best_action(state.returns, 0, state.numbers[ACTIONS])
    return chosen(state, x, break_ties(state.rng, state.returns, 0, best))


class BAMCP(BayesianAgent):
    """Bayes-adaptive Monte-Carlo planning (Guez, Silver and Dayan 2012)."""

    kernels = AgentKernels(BamcpState, act=act)

    def __init__(self, k: int = 2500, depth: int = 15) -> None:
        require(k >= 1, f"The number of simulations k is {k}.", "Give at least 1.")
        require(depth >= 1, f"The depth is {depth}.", "Give at least 1.")
        self.k, self.depth = k, depth

    @property
    def work(self) -> int:
        """About how many times 20 ns a decision takes."""
        return self.k * self.depth

    def initial_state(self, briefing: Briefing) -> BamcpState:
        """No tree yet, and nothing learnt for roll-outs."""
        fields = self.model_fields(briefing, 4)
        assert self.prior is not None  # model_fields sees to it
        states, actions = self.prior.distribution.states, self.prior.distribution.actions
        width, nodes = int(fields["sizes"].max()), self.k + 1
        fields["numbers"][4:] = self.k, self.depth, width, 0
        numbers = np.arange(self.k + 2)
        return BamcpState(
            rng=generator_state(),
            **{name: fields[name] for name in MODEL},
            gamma=np.array([self.prior.gamma]),
            node_visits=np.zeros(nodes, dtype=np.int32),
            visits=np.zeros(nodes * actions, dtype=np.int32),
            returns=np.zeros(nodes * actions),
            children=np.zeros(nodes * actions * width, dtype=np.int32),
            widths=EXPLORATION * np.sqrt(np.log1p(numbers)),
            shares=1 / np.sqrt(np.maximum(numbers, 1)),
            path=np.zeros(self.depth, dtype=np.int64),
            path_nodes=np.zeros(self.depth, dtype=np.int64),
            gains=np.zeros(self.depth),
            drawn=np.zeros(self.depth, dtype=np.int64),
            drawn_pairs=np.zeros(self.depth, dtype=np.int64),
            old_counts=np.zeros(self.depth),
            old_totals=np.zeros(self.depth),
            quality=np.zeros(states * actions),
            moves=np.tile(np.arange(actions), 2 * states),
            move_counts=np.full(2 * states, actions),
        )
