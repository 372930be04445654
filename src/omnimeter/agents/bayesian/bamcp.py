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
from omnimeter.kernels import (
    AgentKernels,
    below,
    forward,
    generator_state,
    kernel,
    next_bits,
    uniform,
)

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
        bounds: The upper confidence bound of each action at a node.
        path: The nodes of the present simulation, each with the edge that was followed.
        gains: Its rewards there.
        drawn: What it drew: the place in ``counts`` and the pair, for each draw.
        saved: The count and the total before each draw.
        quality: The value of each pair, learnt from real transitions by Q-learning.
        moves: How many actions of each state are best by these values, and which; then, for each
            state, the same of all actions.
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
    bounds: FloatArray
    path: IntArray
    gains: FloatArray
    drawn: IntArray
    saved: FloatArray
    quality: FloatArray
    moves: IntArray


@kernel
def count_draw(state: Any, pair: Any, at: Any, step: Any) -> Any:
    """Add a drawn successor, at its place in ``counts``, to the urn of its pair."""
    count, total = state.counts[forward(at)], state.totals[forward(pair)]
    state.drawn[forward(2 * step)] = at
    state.drawn[forward(2 * step + 1)] = pair
    state.saved[forward(2 * step)] = count
    state.saved[forward(2 * step + 1)] = total
    state.counts[forward(at)] = count + 1.0
    state.totals[forward(pair)] = total + 1.0


@kernel
def undo_draws(state: Any, first: Any, steps: Any) -> Any:
    """Take draws out of the urns again, from the last to the first; exact for any counts."""
    for step in range(steps - 1, first - 1, -1):
        at, pair = state.drawn[forward(2 * step)], state.drawn[forward(2 * step + 1)]
        state.counts[forward(at)] = state.saved[forward(2 * step)]
        state.totals[forward(pair)] = state.saved[forward(2 * step + 1)]


@kernel
def draw(state: Any, pair: Any, share: Any) -> Any:
    """The place in ``counts`` of a successor from the urn of a pair, by a number in [0, 1)."""
    row, last = pair * state.numbers[STATES], state.sizes[forward(pair)] - 1
    target = share * state.totals[forward(pair)]
    if last <= 1:  # without branches: which it is cannot be predicted
        return row + min(int(target >= state.counts[forward(row)]), last)
    place = 0
    while place < last and target >= state.counts[forward(row + place)]:
        target -= state.counts[forward(row + place)]
        place += 1
    return row + place


@kernel
def select(state: Any, node: Any) -> Any:
    """The action of largest upper confidence bound; first those never performed; random ties."""
    actions = state.numbers[ACTIONS]
    first = node * actions
    visits = state.node_visits[forward(node)]
    if visits < actions:
        skipped = below(state.rng, actions - visits)
        u = 0
        while skipped > 0 or state.visits[forward(first + u)] > 0:
            skipped -= int(state.visits[forward(first + u)] == 0)
            u += 1
        return u
    width = state.widths[forward(visits)]
    greatest, best, ties = -np.inf, 0, 0  # as best_action, which would read the bounds again
    for u in range(actions):
        share = state.shares[forward(state.visits[forward(first + u)])]
        bound = state.returns[forward(first + u)] + width * share
        state.bounds[forward(u)] = bound
        better = bound > greatest
        ties = 1 if better else ties + int(bound == greatest)
        best = u if better else best
        greatest = bound if better else greatest
    return break_ties(state.rng, state.bounds, 0, (greatest, best, ties))


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
def roll_out(state: Any, x: Any, depth: Any) -> Any:
    """The discounted return of the roll-out policy from a state (Algorithm 5)."""
    states, actions = state.numbers[STATES], state.numbers[ACTIONS]
    gamma = state.gamma[0]
    value, factor = 0.0, 1.0
    for step in range(depth, state.numbers[DEPTH]):
        bits = next_bits(state.rng)
        # The first bit: the best action or any; 23 bits choose among them; 40 the successor.
        moves = (x + states * np.int64(bits >> 63)) * (actions + 1)
        count = state.moves[forward(moves)]
        product = np.int64((bits >> 40) & 0x7FFFFF) * count
        if (product & 0x7FFFFF) < count and (product & 0x7FFFFF) < 0x800000 % count:
            product = below(state.rng, count) << 23  # exactly uniform (Lemire 2019)
        pair = x * actions + state.moves[forward(moves + 1 + (product >> 23))]
        share = np.int64(bits & 0xFFFFFFFFFF) * (1.0 / 1099511627776.0)
        at = draw(state, pair, share)
        count_draw(state, pair, at, step)
        x = state.successors[forward(at)]
        value += factor * state.rewards[forward(pair * states + x)]
        factor *= gamma
    return value


@kernel
def simulate(state: Any, x: Any) -> Any:
    """One simulation: down the tree, a roll-out, and its return into the tree (Algorithm 4)."""
    states, actions = state.numbers[STATES], state.numbers[ACTIONS]
    limit, width = state.numbers[DEPTH], state.numbers[WIDTH]
    node, depth = 0, 0
    inside = True
    while inside:
        u = select(state, node)
        pair, edge = x * actions + u, node * actions + u
        at = draw(state, pair, uniform(state.rng))
        count_draw(state, pair, at, depth)
        x = state.successors[forward(at)]
        state.path[forward(2 * depth)] = node
        state.path[forward(2 * depth + 1)] = edge
        state.gains[forward(depth)] = state.rewards[forward(pair * states + x)]
        depth += 1
        place = at - pair * states
        # A successor that the prior held impossible has no node.
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
        state.node_visits[forward(state.path[forward(2 * step)])] += 1
        edge = state.path[forward(2 * step + 1)]
        visits = state.visits[forward(edge)] + 1
        state.visits[forward(edge)] = visits
        old = state.returns[forward(edge)]
        state.returns[forward(edge)] = old + (value - old) / visits
    undo_draws(state, 0, limit)


@kernel
def learn(state: Any, x: Any, u: Any, reward: Any, y: Any) -> Any:
    """Q-learning from a real transition, and the best actions of its state."""
    actions = state.numbers[ACTIONS]
    ahead = best_action(state.quality, y * actions, actions)[0]
    pair, moves = x * actions + u, x * (actions + 1)
    target = reward + state.gamma[0] * ahead
    state.quality[pair] += RATE * (target - state.quality[pair])
    greatest = best_action(state.quality, x * actions, actions)[0]
    ties = 0
    for v in range(actions):
        if state.quality[x * actions + v] == greatest:
            ties += 1
            state.moves[moves + ties] = v
    state.moves[moves] = ties


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
    best = best_action(state.returns, 0, state.numbers[ACTIONS])
    return chosen(state, x, break_ties(state.rng, state.returns, 0, best))


class BAMCP(BayesianAgent):
    """Bayes-adaptive Monte-Carlo planning (Guez, Silver and Dayan 2012; Algorithms 4 and 5).

    Every decision makes K simulations from the present history. A tree has a node for each history
    of actions and states. A simulation goes down by the upper confidence bound
    Q + c sqrt(ln(N + 1) / n), with c = 3 for any range of rewards, as in the experiments of Guez
    et al.; actions never performed come first. One that is performed at its node for the first
    time is evaluated by a roll-out, later its successors have nodes. The roll-out policy takes any
    action with a probability of 0.5, and else the best one of a table that is learnt by Q-learning
    (with a rate of 0.2, from 0) from the real transitions of the exercise. Simulations end at the
    depth with a value of 0, which replaces the precision of Algorithm 5. The agent performs the
    action of largest mean return. Ties are broken at random, and the tree is discarded.

    Root sampling draws an MDP from the posterior for each simulation. Here no MDP is drawn: each
    successor is drawn from the counts of the posterior plus what this simulation has drawn before,
    a Pólya urn, which has the same distribution.

    The pseudo-code makes a node one visit earlier and takes its first action from the roll-out
    policy. That shifts evaluations by one simulation, so that there is one variant only.

    A state of k = 25000 takes 2.6 MB with two successors and four actions, 12 MB with 25.

    Args:
        k: The number K of simulations for each decision, at least 1.
        depth: The number of steps of a simulation, at least 1.
    """

    kernels = AgentKernels(BamcpState, act=act)

    def __init__(self, k: int = 2500, depth: int = 15) -> None:
        require(k >= 1, f"The number of simulations k is {k}.", "Give at least 1.")
        require(depth >= 1, f"The depth is {depth}.", "Give at least 1.")
        self.k, self.depth = k, depth

    @property
    def work(self) -> int:
        """About how many times 20 ns a decision takes, with few successors."""
        return self.k * self.depth

    def initial_state(self, briefing: Briefing) -> BamcpState:
        """No tree yet, and nothing learnt for roll-outs."""
        fields = self.model_fields(briefing, 4)
        assert self.prior is not None  # model_fields sees to it
        states, actions = self.prior.distribution.states, self.prior.distribution.actions
        width, nodes = int(fields["sizes"].max()), self.k + 1
        fields["numbers"][4:] = self.k, self.depth, width, 0
        visits = np.arange(self.k + 2)
        return BamcpState(
            rng=generator_state(),
            **{name: fields[name] for name in MODEL},
            gamma=np.array([self.prior.gamma]),
            node_visits=np.zeros(nodes, dtype=np.int32),
            visits=np.zeros(nodes * actions, dtype=np.int32),
            returns=np.zeros(nodes * actions),
            children=np.zeros(nodes * actions * width, dtype=np.int32),
            widths=EXPLORATION * np.sqrt(np.log1p(visits)),
            shares=1 / np.sqrt(np.maximum(visits, 1)),
            bounds=np.zeros(actions),
            path=np.zeros(2 * self.depth, dtype=np.int64),
            gains=np.zeros(self.depth),
            drawn=np.zeros(2 * self.depth, dtype=np.int64),
            saved=np.zeros(2 * self.depth),
            quality=np.zeros(states * actions),
            moves=np.tile([actions, *range(actions)], 2 * states),
        )
