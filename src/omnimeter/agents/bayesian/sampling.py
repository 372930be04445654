"""Agents that solve MDPs drawn from the posterior: Thompson sampling, BOSS and SBOSS.

BOSS merges several draws into one MDP, in which the agent may choose, in each state, an action and
the draw by which it works. Draws of different pairs are independent: a draw of an MDP is one
transition vector for each pair, so that Thompson sampling is the case of a single draw.
"""

from __future__ import annotations

from math import isfinite, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.bayesian.model import (
    ACTIONS,
    DIRECT,
    LAST_ACTION,
    LAST_STATE,
    ROUNDING,
    STATES,
    TOLERANCE,
    BayesianAgent,
    chosen,
    draw_row,
    eliminate,
    see,
)
from omnimeter.agents.shared import require
from omnimeter.contract import Briefing
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import AgentKernels, generator_state, kernel

RULE, SAMPLES, LIMIT, STEPS = range(4, 8)
BY_STEPS, BY_VISITS, BY_CHANGE, AS_LIBRARY = range(4)  # Thompson, BOSS, SBOSS and its variant
GAMMA, EPSILON, DELTA = range(3)

V_CHANGE = 1e-4
"""Where the library's V-iteration stops."""

NO_SAMPLE = -(2.0**31)
"""The reward that the library gives to an action without a sample."""


MOST_SAMPLES = 100_000
"""Transition vectors of a pair that an agent may ask for."""


class SampledState(NamedTuple):
    """The posterior, and the policy that is followed.

    Attributes:
        numbers: Those of every Bayesian agent; when to draw anew; how many transition vectors to
            draw of a pair, at most; after how many steps or visits to draw anew; the steps so far.
        old_counts: Those to which the counts are compared: the prior's or, in SBOSS, those of the
            last draw.
        old_totals: Their sums.
        values: The value of each state in the last merged MDP.
        policy: The best action in each.
        rates: The discount factor, epsilon and delta.
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
    old_counts: FloatArray
    old_totals: FloatArray
    values: FloatArray
    policy: IntArray
    rates: FloatArray


@kernel
def variance(count: Any, total: Any) -> Any:
    """The variance of a probability in a Dirichlet distribution, by its count and their sum."""
    return count * (total - count) / (total * total * (total + 1.0))


@kernel
def samples_of(state: Any, pair: Any) -> Any:
    """How many transition vectors to draw of a pair."""
    rule, most = state.numbers[RULE], state.numbers[SAMPLES]
    if rule < BY_CHANGE:
        return most
    row = pair * state.numbers[STATES]
    greatest = 0.0
    for k in range(row, row + state.sizes[pair]):
        greatest = max(greatest, variance(state.counts[k], state.totals[pair]))
    samples = int(np.ceil(min(greatest / state.rates[EPSILON], float(most))))
    return samples if rule == AS_LIBRARY else max(samples, 1)


@kernel
def due(state: Any) -> Any:
    """Whether to draw anew, as nothing was drawn yet, or because of the last transition."""
    last, rule, limit = state.numbers[LAST_STATE], state.numbers[RULE], state.numbers[LIMIT]
    if last < 0:
        return True
    if rule == BY_STEPS:
        return state.numbers[STEPS] % limit == 0
    pair = last * state.numbers[ACTIONS] + state.numbers[LAST_ACTION]
    total = state.old_totals[pair]
    if rule == BY_VISITS:
        return abs(state.totals[pair] - total - limit) < 0.5
    if rule == AS_LIBRARY and state.sizes[pair] < state.numbers[STATES]:
        return False  # a successor without count makes the distance NaN
    row = pair * state.numbers[STATES]
    distance = 0.0
    for k in range(row, row + state.sizes[pair]):
        deviation = sqrt(variance(state.old_counts[k], total))
        if deviation > 0.0:
            distance += abs(state.probabilities[k] - state.old_counts[k] / total) / deviation
    return distance > state.rates[DELTA]


@kernel
def draw_and_solve(state: Any) -> Any:
    """Draw transition vectors, merge them into an MDP, and find its best policy.

    What a vector of two successors is worth is linear in the probability of the first. So only the
    draws with the lowest and the highest one can be the best, and only these are kept.
    """
    states, actions = state.numbers[STATES], state.numbers[ACTIONS]
    pairs = states * actions
    starts = np.zeros(pairs + 1, dtype=np.int64)  # where the vectors of each pair begin
    for pair in range(pairs):
        size, samples = state.sizes[pair], samples_of(state, pair)
        kept = min(samples, 1) * size if size <= 2 else samples
        starts[pair + 1] = starts[pair] + kept * (size + 1)
    vectors = np.empty(starts[pairs])  # the probabilities, then the mean reward
    drawn = np.empty(states + 1)
    for pair in range(pairs):
        size, start, row = state.sizes[pair], starts[pair], pair * states
        samples = samples_of(state, pair)
        for sample in range(min(samples, 1) if size == 1 else samples):
            draw_row(state.rng, state.counts, row, size, drawn, 0)
            drawn[size] = 0.0
            for k in range(size):
                drawn[size] += drawn[k] * state.rewards[row + state.successors[row + k]]
            if size == 2:
                lowest = sample == 0 or drawn[0] < vectors[start]
                highest = sample == 0 or drawn[0] > vectors[start + 3]
                for k in range(3):
                    vectors[start + k] = drawn[k] if lowest else vectors[start + k]
                    vectors[start + 3 + k] = drawn[k] if highest else vectors[start + 3 + k]
            else:
                at = start + sample * (size + 1)
                for k in range(size + 1):
                    vectors[at + k] = drawn[k]
    solve_merged(state, starts, vectors)


@kernel
def best_vector(state: Any, x: Any, starts: Any, vectors: Any) -> Any:
    """The value of a state in the merged MDP, its best action, and the vector by which it works."""
    states, actions, gamma = state.numbers[STATES], state.numbers[ACTIONS], state.rates[GAMMA]
    best, action, vector = -np.inf, 0, 0
    for pair in range(x * actions, x * actions + actions):
        size, row = state.sizes[pair], pair * states
        if starts[pair] == starts[pair + 1]:
            value = NO_SAMPLE + gamma * state.values[x]
            if value > best:
                best, action = value, pair - x * actions
        for at in range(starts[pair], starts[pair + 1], size + 1):
            ahead = 0.0
            for k in range(size):
                ahead += vectors[at + k] * state.values[state.successors[row + k]]
            value = vectors[at + size] + gamma * ahead
            if value > best:
                best, action, vector = value, pair - x * actions, at
    return best, action, vector


@kernel
def evaluate(state: Any, vectors: Any, used: Any) -> Any:
    """The exact values of the policy that uses these vectors."""
    states, gamma = state.numbers[STATES], state.rates[GAMMA]
    system = np.zeros(states * (states + 1))
    for x in range(states):
        pair, row = x * state.numbers[ACTIONS] + state.policy[x], x * (states + 1)
        for k in range(state.sizes[pair]):
            successor = state.successors[pair * states + k]
            system[row + successor] = -gamma * vectors[used[x] + k]
        system[row + x] += 1.0
        system[row + states] = vectors[used[x] + state.sizes[pair]]
    eliminate(system, state.values)


@kernel
def solve_merged(state: Any, starts: Any, vectors: Any) -> Any:
    """Solve the merged MDP as ``solve`` does, from the last values; in the library from 0, by
    sweeps that change all values at once.
    """  # noqa: D205 - one thought
    states, gamma = state.numbers[STATES], state.rates[GAMMA]
    library = state.numbers[RULE] == AS_LIBRARY
    limit = V_CHANGE if library else TOLERANCE * (1.0 - gamma) / gamma
    following, used = np.zeros(states), np.zeros(states, dtype=np.int64)
    if library:
        for x in range(states):
            state.values[x] = 0.0
    change, greatest = np.inf, 0.0
    while change > limit + ROUNDING * greatest:
        if change < np.inf and states <= DIRECT and not library:
            evaluate(state, vectors, used)
        change, squares, greatest = 0.0, 0.0, 0.0
        for x in range(states):
            best, state.policy[x], used[x] = best_vector(state, x, starts, vectors)
            difference = best - state.values[x]
            change = max(change, abs(difference))
            squares += difference * difference
            greatest = max(greatest, abs(best))
            following[x] = best
            if not library:
                state.values[x] = best
        if library:
            change = sqrt(squares)
            for x in range(states):
                state.values[x] = following[x]


@kernel
def sampled_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """Draw anew where it is due, and follow the policy (Algorithms 9 and 10)."""
    x = observation[0]
    see(state, x)
    if due(state):
        draw_and_solve(state)
        if state.numbers[RULE] >= BY_CHANGE:
            for k in range(len(state.counts)):
                state.old_counts[k] = state.counts[k]
            for pair in range(len(state.totals)):
                state.old_totals[pair] = state.totals[pair]
    state.numbers[STEPS] += 1
    return chosen(state, x, state.policy[x])


class SampledAgent(BayesianAgent):
    """An agent that follows the best policy of drawn MDPs for a while."""

    kernels = AgentKernels(SampledState, act=sampled_act)

    def state_with(
        self, briefing: Briefing, rule: int, samples: int, limit: int = 0,
        epsilon: float = 0.0, delta: float = 0.0,
    ) -> SampledState:  # fmt: skip
        """A fresh state with the parameters of an agent."""
        fields = self.model_fields(briefing, further=4)
        assert self.prior is not None  # or there were no fields
        fields["numbers"][4:] = rule, samples, limit, 0
        states = self.prior.distribution.states
        return SampledState(
            rng=generator_state(),
            **fields,
            old_counts=fields["counts"].copy(),
            old_totals=fields["totals"].copy(),
            values=np.zeros(states),
            policy=np.zeros(states, dtype=np.int64),
            rates=np.array([self.prior.gamma, epsilon, delta]),
        )


class Thompson(SampledAgent):
    """Draws an MDP from its posterior, and follows the best policy of it for a while (PSRL).

    It is posterior sampling for reinforcement learning (Strens 2000; Osband, Russo and Van Roy
    2013). There are no episodes here: a period of steps takes their place.

    Args:
        period: The number of steps until the next draw; by default 1 / (1 - gamma), for as long
            as rewards matter, which is 20 with gamma = 0.95.
    """

    def __init__(self, period: int | None = None) -> None:
        problem = f"The period is {period}."
        require(period is None or period >= 1, problem, "Give at least 1 step.")
        self.period = period

    def initial_state(self, briefing: Briefing) -> SampledState:
        """The prior."""
        period = self.period
        if period is None:
            period = 1 if self.prior is None else max(1, round(1 / (1 - self.prior.gamma)))
        return self.state_with(briefing, BY_STEPS, 1, period)


class BOSS(SampledAgent):
    """Follows the best policy of several MDPs merged into one (BOSS, Asmuth et al. 2009).

    In the merged MDP every action exists once for each draw from the posterior, so that its values
    are optimistic. It draws anew when some action has been performed a number of times in a state.

    Args:
        samples: How many MDPs are drawn.
        threshold: The number of times.
    """

    def __init__(self, samples: int = 5, threshold: int = 10) -> None:
        problem = f"There are {samples} samples."
        require(1 <= samples <= MOST_SAMPLES, problem, f"Give 1 to {MOST_SAMPLES}.")
        require(threshold >= 1, f"The threshold is {threshold}.", "Give at least 1.")
        self.samples, self.threshold = samples, threshold

    def initial_state(self, briefing: Briefing) -> SampledState:
        """The prior."""
        return self.state_with(briefing, BY_VISITS, self.samples, self.threshold)


class SBOSS(SampledAgent):
    """Merges draws like BOSS, and more of them where it is less certain (SBOSS).

    It is Algorithms 9 and 10 of the Bayesian RL benchmark (Castro and Precup 2010). With sigma the
    standard deviation of a transition probability in the posterior, it draws
    ``max_y ceil(sigma^2(x, u, y) / epsilon)`` transition vectors of state x and action u, but at
    least one. It draws anew when for some x and u the sum over y of ``|P - P'| / sigma'`` is
    greater than delta, where P is the mean of the posterior, and P' and sigma' are those of the
    last draw; successors with ``sigma' = 0`` do not count.

    Args:
        epsilon: The variance that one draw stands for, above 0.
        delta: The change that makes it draw anew, above 0.
        variant: ``original`` as above, or ``library`` for what the authors' library does: it does
            not draw anew as long as one state has count 0 after the last state and action, so that
            a sparse prior leaves it with its first policy; and a pair of which it draws nothing, as
            its successor is certain, becomes a self-loop with reward -2^31. It solves the merged
            MDP from 0 until the Euclidean norm of the values' change is at most 1e-4.
        cap: The most vectors that are drawn of a pair, which bounds memory and time. The default
            does not matter for epsilon from 1e-4 up where theta is at least 1.
    """

    def __init__(
        self,
        epsilon: float = 0.001,
        delta: float = 7.0,
        variant: Literal["original", "library"] = "original",
        cap: int = 1000,
    ) -> None:
        for name, value in (("Epsilon", epsilon), ("Delta", delta)):
            valid = value > 0 and isfinite(value)
            require(valid, f"{name} is {value}.", "Give a number above 0.")
        require(1 <= cap <= MOST_SAMPLES, f"The cap is {cap}.", f"Give 1 to {MOST_SAMPLES}.")
        self.epsilon, self.delta, self.variant, self.cap = epsilon, delta, variant, cap

    def initial_state(self, briefing: Briefing) -> SampledState:
        """The prior."""
        rule = AS_LIBRARY if self.variant == "library" else BY_CHANGE
        return self.state_with(briefing, rule, self.cap, epsilon=self.epsilon, delta=self.delta)
