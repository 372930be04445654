"""Bayes-optimal agents and values of small problems, by exhaustive search over histories."""

from __future__ import annotations

from math import inf
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.bayesian.bamcp import count_draw, undo_draws
from omnimeter.agents.bayesian.model import ACTIONS, MODEL, STATES, BayesianAgent, chosen, see
from omnimeter.agents.shared import best_action, break_ties, require
from omnimeter.contract import Briefing, MDPDistribution
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.estimation import Estimate, mean
from omnimeter.kernels import AgentKernels, forward, generator_state, kernel

DECISION_LIMIT = 100_000_000
"""Transitions that one decision may look at: about half a second."""
VALUE_LIMIT = 10_000_000
"""Transitions that ``optimal_value`` may look at: about half a minute."""

DEPTH, LEFT = range(4, 6)


class ExhaustiveState(NamedTuple):
    """The model, and the path of an exhaustive search, one entry for each level.

    Attributes:
        numbers: After those of every Bayesian agent: the depth, and the decisions that are left.
        gamma: The discount factor.
        nodes: The state, the action and the successor's place at each level of the path.
        sums: The part of the action's expected return that is known, for each level.
        bests: The largest expected return of the actions before, for each level.
        weights: The predictive probability of the successor, for each level.
        drawn: The transitions of the path: the place in ``counts`` and the pair.
        saved: The count and the total before.
        values: The expected return of each action at the root.
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
    nodes: IntArray
    sums: FloatArray
    bests: FloatArray
    weights: FloatArray
    drawn: IntArray
    saved: FloatArray
    values: FloatArray


@kernel
def enter(state: Any, level: Any, x: Any) -> Any:
    """Begin with the first action of a history's last state."""
    state.nodes[forward(3 * level)] = x
    state.nodes[forward(3 * level + 1)] = 0
    state.nodes[forward(3 * level + 2)] = 0
    state.sums[forward(level)] = 0.0
    state.bests[forward(level)] = -np.inf


@kernel
def search(state: Any, x: Any, depth: Any) -> Any:
    """The Bayes-optimal expected return of each action over some steps, into ``values``."""
    states, actions = state.numbers[STATES], state.numbers[ACTIONS]
    gamma = state.gamma[0]
    level = 0
    enter(state, 0, x)
    while level >= 0:
        x, u = state.nodes[forward(3 * level)], state.nodes[forward(3 * level + 1)]
        if u == actions:  # all actions of this history are known
            level -= 1
            if level >= 0:
                undo_draws(state, level, level + 1)
                ahead = gamma * state.weights[forward(level)] * state.bests[forward(level + 1)]
                state.sums[forward(level)] += ahead
            continue
        pair, place = x * actions + u, state.nodes[forward(3 * level + 2)]
        if place == state.sizes[forward(pair)]:  # all successors of this action are known
            value = state.sums[forward(level)]
            state.bests[forward(level)] = max(state.bests[forward(level)], value)
            if level == 0:
                state.values[forward(u)] = value
            state.sums[forward(level)] = 0.0
            state.nodes[forward(3 * level + 1)] = u + 1
            state.nodes[forward(3 * level + 2)] = 0
            continue
        at = pair * states + place
        y = state.successors[forward(at)]
        weight = state.counts[forward(at)] / state.totals[forward(pair)]
        state.sums[forward(level)] += weight * state.rewards[forward(pair * states + y)]
        state.nodes[forward(3 * level + 2)] = place + 1
        if level + 1 < depth:
            state.weights[forward(level)] = weight
            count_draw(state, pair, at, level)
            level += 1
            enter(state, level, y)


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001 - rewards are known
    """Perform the action of largest expected return, not looking beyond the horizon."""
    x = observation[0]
    see(state, x)
    search(state, x, max(1, min(state.numbers[DEPTH], state.numbers[LEFT])))
    state.numbers[LEFT] -= 1
    best = best_action(state.values, 0, state.numbers[ACTIONS])
    return chosen(state, x, break_ties(state.rng, state.values, 0, best))


class BayesOptimal(BayesianAgent):
    """Searches all histories to a depth; Bayes-optimal where the horizon is at most that depth.

    What may happen in the next ``depth`` steps, and what it would teach, is weighed exactly: an
    expectimax search in the belief-augmented MDP (Bayesian RL benchmark, section 2), whose leaves
    have the value 0. It does not look beyond the horizon of the prior. Ties are broken at random.
    The number of histories is (actions times successors) to the power of the depth, so that this
    is for small problems only.

    Args:
        depth: How many steps it looks ahead, at least 1. A prior with which a decision would look
            at more than 100,000,000 transitions is refused.
    """

    kernels = AgentKernels(ExhaustiveState, act=act)

    def __init__(self, depth: int = 4) -> None:
        require(depth >= 1, f"The depth is {depth}.", "Give at least 1.")
        self.depth = depth

    @property
    def work(self) -> int:
        """About how many times 20 ns a decision takes, as soon as there is a prior."""
        known = self.prior.distribution if self.prior else None
        return 1 + int(_transitions(known, self.depth) / 5) if known else DECISION_LIMIT

    def initial_state(self, briefing: Briefing) -> ExhaustiveState:
        """A path of the given depth.

        Raises:
            InvalidInputError: The search would be too large.
        """
        fields = self.model_fields(briefing, 2)
        assert self.prior is not None  # model_fields sees to it
        known = self.prior.distribution
        depth = min(self.depth, self.prior.horizon)
        require(
            _transitions(known, depth) <= DECISION_LIMIT,
            f"Looking {depth} steps ahead takes more than {DECISION_LIMIT} transitions.",
            "Give a smaller depth, or a prior with fewer successors.",
        )
        fields["numbers"][4:] = depth, self.prior.horizon
        return ExhaustiveState(
            rng=generator_state(),
            **{name: fields[name] for name in MODEL},
            gamma=np.array([self.prior.gamma]),
            nodes=np.zeros(3 * depth, dtype=np.int64),
            sums=np.zeros(depth),
            bests=np.zeros(depth),
            weights=np.zeros(depth),
            drawn=np.zeros(2 * depth, dtype=np.int64),
            saved=np.zeros(2 * depth),
            values=np.zeros(known.actions),
        )


def _transitions(known: MDPDistribution, depth: int) -> float:
    """The largest number of transitions that a search from any state looks at, up to the limit."""
    successors = known.possible.sum(axis=1).astype(float)  # [state, successor]
    ahead = np.zeros(known.states)
    for _ in range(depth):
        ahead = successors @ (1 + ahead)
        if ahead.max() > DECISION_LIMIT:
            break
    return float(ahead.max())


def optimal_value(distribution: MDPDistribution, gamma: float, horizon: int) -> float:
    """The Bayes-optimal expected return over some steps, exact to rounding.

    No agent has a larger expected return on MDPs drawn from the distribution: none knows more than
    the prior and its own history. Histories that differ only in the order of their transitions
    are one belief, which is computed once.

    Args:
        distribution: The prior, from which the MDPs are drawn too.
        gamma: The discount factor.
        horizon: The number of steps.

    Raises:
        InvalidInputError: More than 10,000,000 transitions would be looked at.
    """
    actions, states = distribution.actions, distribution.states
    theta = distribution.theta.reshape(-1, states)
    rewards = distribution.rewards.reshape(-1, states)
    rows = [
        [(int(y), pair * states + int(y), weights[y], gains[y]) for y in np.flatnonzero(weights)]
        for pair, (weights, gains) in enumerate(zip(theta, rewards, strict=True))
    ]
    known: dict[tuple[int, tuple[int, ...]], float] = {}
    looked_at = 0

    def value(x: int, observed: tuple[int, ...]) -> float:
        """The value of a state after some transitions, which are in order."""
        nonlocal looked_at
        if len(observed) == horizon:
            return 0.0
        if (x, observed) not in known:
            best = -inf
            for row in rows[x * actions : (x + 1) * actions]:
                looked_at += len(row)
                require(
                    looked_at <= VALUE_LIMIT,
                    f"{horizon} steps take more than {VALUE_LIMIT} transitions.",
                    "Give fewer steps, or bound the value from above with known_mdp_value.",
                )
                total = expected = 0.0
                for y, transition, weight, gain in row:
                    count = weight + observed.count(transition)
                    total += count
                    after = tuple(sorted((*observed, transition)))
                    expected += count * (gain + gamma * value(y, after))
                best = max(best, expected / total)
            known[x, observed] = best
        return known[x, observed]

    starts = enumerate(distribution.initial.tolist())
    return float(sum(share * value(x, ()) for x, share in starts if share > 0))


def known_mdp_value(
    distribution: MDPDistribution,
    gamma: float,
    horizon: int,
    rng: np.random.Generator,
    samples: int = 1000,
    confidence: float = 0.95,
) -> Estimate:
    """E[V*], the expected return of agents that know their MDP, an upper bound for all others.

    Args:
        distribution: The MDPs.
        gamma: The discount factor.
        horizon: The number of steps.
        rng: What the MDPs are drawn with.
        samples: How many are drawn.
        confidence: The confidence of the interval.
    """
    returns = np.empty(samples)
    gains = distribution.rewards[..., None]
    for number in range(samples):
        transitions = distribution.draw(rng)
        expected = (transitions[:, :, None, :] @ gains)[..., 0, 0]
        values = np.zeros(distribution.states)
        for _ in range(horizon):
            values = (expected + gamma * transitions @ values).max(axis=1)
        returns[number] = distribution.initial @ values
    return mean(returns, confidence)
