"""Agents that solve the mean model of the posterior: e-Greedy, VDBE, Soft-max and BEB."""

from __future__ import annotations

from math import exp, isfinite, sqrt
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.bayesian.model import (
    ACTIONS,
    LAST_ACTION,
    LAST_STATE,
    STATES,
    TOLERANCE,
    BayesianAgent,
    chosen,
    see,
    solve,
)
from omnimeter.agents.shared import best_action, break_ties, require
from omnimeter.contract import Briefing
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import AgentKernels, below, generator_state, kernel, uniform

VARIANT, SWEEPS = 4, 5
ORIGINAL, PRINTED, LIBRARY = range(3)
VARIANTS = {"original": ORIGINAL, "printed": PRINTED, "library": LIBRARY}

GAMMA, PARAMETER, DELTA = range(3)

Q_CHANGE, V_CHANGE = 0.01, 1e-4
"""Where the library's Q-iteration and its V-iteration stop."""


class GreedyState(NamedTuple):
    """The mean model and its solution.

    Attributes:
        numbers: Those of every Bayesian agent; the variant; the most sweeps of a Q-iteration.
        values: The value of each state.
        quality: The value of each pair.
        epsilons: The probability of exploring in each state, of agents that explore.
        rates: The discount factor; tau, beta or sigma; delta.
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
    values: FloatArray
    quality: FloatArray
    epsilons: FloatArray
    rates: FloatArray


@kernel
def solve_from_zero(state: Any, limit: Any, sweeps: Any) -> Any:
    """Solve the mean model as the library does, by sweeps that change all values at once, from 0.

    Args:
        state: The agent's state.
        limit: With a number of sweeps, the iteration stops when no value of a pair changes more
            (Q-iteration). Without, when the Euclidean norm of the changes of the states' values is
            not greater (V-iteration).
        sweeps: The most sweeps, or 0.
    """
    states, actions, gamma = state.numbers[STATES], state.numbers[ACTIONS], state.rates[GAMMA]
    for x in range(states):
        state.values[x] = 0.0
    for pair in range(states * actions):
        state.quality[pair] = 0.0
    done, change = 0, np.inf
    while change > limit and (sweeps == 0 or done < sweeps):
        done += 1
        greatest, squares = 0.0, 0.0
        for pair in range(states * actions):
            row = pair * states
            ahead = 0.0
            for k in range(row, row + state.sizes[pair]):
                ahead += state.probabilities[k] * state.values[state.successors[k]]
            value = state.means[pair] + gamma * ahead
            greatest = max(greatest, abs(value - state.quality[pair]))
            state.quality[pair] = value
        for x in range(states):
            best = best_action(state.quality, x * actions, actions)[0]
            squares += (best - state.values[x]) * (best - state.values[x])
            state.values[x] = best
        change = greatest if sweeps > 0 else sqrt(squares)


@kernel
def update_quality(state: Any) -> Any:
    """The values of all pairs in the mean model."""
    if state.numbers[VARIANT] == LIBRARY:
        solve_from_zero(state, Q_CHANGE, state.numbers[SWEEPS])
    else:
        solve(state, state.values, state.quality, state.rates[GAMMA], TOLERANCE)


@kernel
def greedy(state: Any, x: Any) -> Any:
    """The best action, with uniform probability among several."""
    actions = state.numbers[ACTIONS]
    best = best_action(state.quality, x * actions, actions)
    return break_ties(state.rng, state.quality, x * actions, best)


@kernel
def e_greedy_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """Any action, or the best one of the mean model (Algorithm 1)."""
    x = observation[0]
    see(state, x)
    draw, epsilon = uniform(state.rng), state.epsilons[x]
    library = state.numbers[VARIANT] == LIBRARY
    explores = draw < epsilon or (library and draw == epsilon)
    if library or not explores:
        update_quality(state)
    u = below(state.rng, state.numbers[ACTIONS]) if explores else greedy(state, x)
    return chosen(state, x, u)


@kernel
def vdbe_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """Adapt the last state's probability of exploring, then choose with the present one's."""
    x, last = observation[0], state.numbers[LAST_STATE]
    see(state, x)
    pair = last * state.numbers[ACTIONS] + state.numbers[LAST_ACTION]
    before = state.quality[max(pair, 0)]
    update_quality(state)
    if last >= 0:
        weight, delta = (
            exp(-abs(state.quality[pair] - before) / state.rates[PARAMETER]),
            state.rates[DELTA],
        )
        share = (1.0 - weight) / (1.0 + weight)
        state.epsilons[last] = delta * share + (1.0 - delta) * state.epsilons[last]
    explores = uniform(state.rng) < state.epsilons[x]
    u = below(state.rng, state.numbers[ACTIONS]) if explores else greedy(state, x)
    return chosen(state, x, u)


@kernel
def soft_max_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """An action with a probability proportional to exp(Q / tau) (Algorithm 2)."""
    x, actions, tau = observation[0], state.numbers[ACTIONS], state.rates[PARAMETER]
    see(state, x)
    update_quality(state)
    row = x * actions
    draw = uniform(state.rng)
    # Without normalisation, an action of a positive value has a weight of 1 or more, and is taken.
    greatest = 0.0
    if state.numbers[VARIANT] != LIBRARY:
        greatest = best_action(state.quality, row, actions)[0]
        total = 0.0
        for u in range(actions):
            total += exp((state.quality[row + u] - greatest) / tau)
        draw *= total
    u = 0
    reached = exp(min(0.0, (state.quality[row] - greatest) / tau))
    while draw >= reached and u < actions - 1:
        u += 1
        reached += exp(min(0.0, (state.quality[row + u] - greatest) / tau))
    return chosen(state, x, u)


@kernel
def add_bonus(state: Any, pair: Any) -> Any:
    """Add the exploration bonus to the mean reward of a pair."""
    if state.numbers[VARIANT] == PRINTED:
        state.means[pair] += state.rates[PARAMETER] * state.sizes[pair] / state.totals[pair]
    else:
        state.means[pair] += state.rates[PARAMETER] / (1.0 + state.totals[pair])


@kernel
def beb_begin(state: Any) -> None:
    """Add a bonus to all rewards."""
    for pair in range(len(state.means)):
        add_bonus(state, pair)


@kernel
def beb_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The best action of the mean model with the bonus (Algorithm 11)."""
    x, actions, last = observation[0], state.numbers[ACTIONS], state.numbers[LAST_STATE]
    see(state, x)
    if last >= 0:
        add_bonus(state, last * actions + state.numbers[LAST_ACTION])
    if state.numbers[VARIANT] == LIBRARY:
        solve_from_zero(state, V_CHANGE, 0)
        return chosen(state, x, best_action(state.quality, x * actions, actions)[1])
    solve(state, state.values, state.quality, state.rates[GAMMA], TOLERANCE)
    return chosen(state, x, greedy(state, x))


class GreedyAgent(BayesianAgent):
    """An agent that solves the mean model. Subclasses set ``kernels``."""

    def state_with(
        self, briefing: Briefing, variant: str, parameter: float = 0.0, delta: float = 0.0,
        epsilon: float = 0.0,
    ) -> GreedyState:  # fmt: skip
        """A fresh state with the parameters of an agent."""
        fields = self.model_fields(briefing, further=2)
        assert self.prior is not None  # or there were no fields
        states, actions = self.prior.distribution.theta.shape[:2]
        fields["numbers"][4:] = VARIANTS[variant], self.prior.horizon + 1
        return GreedyState(
            rng=generator_state(),
            **fields,
            values=np.zeros(states),
            quality=np.zeros(states * actions),
            epsilons=np.full(states, epsilon),
            rates=np.array([self.prior.gamma, parameter, delta]),
        )


class EGreedy(GreedyAgent):
    """Performs the best action for the mean of its posterior, or sometimes any action.

    It is Algorithm 1 of the Bayesian RL benchmark. The model is solved by value iteration from the
    last values, to within 0.01; ties are broken with uniform probability. It is not solved for a
    random action.

    Args:
        epsilon: The probability of any action instead of the best.
        variant: ``original`` as above, or ``library`` for what the authors' library does: it solves
            the model at each decision by a Q-iteration from 0, until no value changes by more than
            0.01, or T + 1 times.
    """

    kernels = AgentKernels(GreedyState, act=e_greedy_act)

    def __init__(
        self, epsilon: float = 0.0, variant: Literal["original", "library"] = "original"
    ) -> None:
        require(0 <= epsilon <= 1, f"Epsilon is {epsilon}.", "Give a probability, from 0 to 1.")
        self.epsilon, self.variant = epsilon, variant

    def initial_state(self, briefing: Briefing) -> GreedyState:
        """The prior."""
        return self.state_with(briefing, self.variant, epsilon=self.epsilon)


class VDBE(GreedyAgent):
    """Explores in each state as much as its values still change (VDBE e-Greedy, Tokic 2010).

    The probability of exploring is 1 in all states at first. When the value of the last action has
    changed by dQ, that of its state moves by a share ``delta`` towards
    ``(1 - exp(-|dQ| / sigma)) / (1 + exp(-|dQ| / sigma))``. The values are those of the mean model
    of its posterior, as e-Greedy solves it.

    Args:
        sigma: The inverse sensitivity: how large a change of a value has to be to count as one.
        delta: The share; by default 1 / the number of actions.
    """

    kernels = AgentKernels(GreedyState, act=vdbe_act)

    def __init__(self, sigma: float = 1.0, delta: float | None = None) -> None:
        _require_positive("Sigma", sigma)
        problem = f"Delta is {delta}."
        require(delta is None or 0 < delta <= 1, problem, "Give a number above 0, at most 1.")
        self.sigma, self.delta = sigma, delta

    def initial_state(self, briefing: Briefing) -> GreedyState:
        """The prior."""
        delta = 1 / briefing.actions if self.delta is None else self.delta
        return self.state_with(briefing, "original", self.sigma, delta, epsilon=1.0)


class SoftMax(GreedyAgent):
    """Performs an action with a probability proportional to exp(Q / tau).

    It is Algorithm 2 of the Bayesian RL benchmark. Q are the values of the mean model of its
    posterior, as e-Greedy solves it.

    Args:
        tau: The temperature, above 0: near 0 the best action, towards infinity any.
        variant: ``original`` as above, or ``library`` for what the authors' library does: it does
            not divide by the sum of the weights. So where no reward is negative, it always performs
            the first action.
    """

    kernels = AgentKernels(GreedyState, act=soft_max_act)

    def __init__(
        self, tau: float = 0.1, variant: Literal["original", "library"] = "original"
    ) -> None:
        _require_positive("Tau", tau)
        self.tau, self.variant = tau, variant

    def initial_state(self, briefing: Briefing) -> GreedyState:
        """The prior."""
        return self.state_with(briefing, self.variant, self.tau)


class BEB(GreedyAgent):
    """Performs the best action for the mean of its posterior with a bonus for what is uncertain.

    It is Algorithm 11 of the Bayesian RL benchmark, with the bonus ``beta / (1 + n(x, u))`` of
    Kolter and Ng (2009), n(x, u) being the counts of the posterior, those of the prior included.
    The model is solved as e-Greedy does; ties are broken with uniform probability.

    Args:
        beta: The size of the bonus, at least 0.
        variant: ``original`` as above; ``printed`` for the bonus ``beta / c(x, u, y)`` of the text,
            where c are again the counts of the posterior (of observations alone it would be
            undefined for all that was not observed yet); or ``library`` for what the authors'
            library does: the original bonus, but beta without its decimals, solved from 0 until
            the Euclidean norm of the values' change is at most 1e-4, ties for the first action.
    """

    kernels = AgentKernels(GreedyState, begin=beb_begin, act=beb_act)

    def __init__(
        self, beta: float = 2.5, variant: Literal["original", "printed", "library"] = "original"
    ) -> None:
        problem = f"Beta is {beta}."
        require(beta >= 0 and isfinite(beta), problem, "Give a number from 0 up.")
        self.beta, self.variant = beta, variant

    def initial_state(self, briefing: Briefing) -> GreedyState:
        """The prior."""
        beta = int(self.beta) if self.variant == "library" else self.beta
        return self.state_with(briefing, self.variant, beta)


def _require_positive(name: str, value: float) -> None:
    valid = value > 0 and isfinite(value)
    require(valid, f"{name} is {value}.", "Give a number above 0.")
