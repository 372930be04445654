"""What Bayesian agents share: the posterior over transitions, its mean model, value iteration.

A state-action pair has the index ``x * actions + u``. Its row has room for every state: the first
``sizes[pair]`` entries are the successors that the prior holds possible, or that were observed
although it did not. Only the row of the last transition changes from one decision to the next.
"""

from __future__ import annotations

from math import exp, log, sqrt
from typing import Any

import numpy as np

from omnimeter.agents.shared import MAX_TABLE_SIZE, require
from omnimeter.contract import Briefing, InvalidInputError, Prior
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import KernelAgent, kernel, uniform

STATES, ACTIONS, LAST_STATE, LAST_ACTION = range(4)
"""The first entries of ``numbers`` in the state of every Bayesian agent; the last state is -1
before the first decision."""

TOLERANCE = 0.01
"""How far the values of a mean model may be from the exact ones."""

DIRECT = 64
"""The most states of which a policy is evaluated by solving equations, not by further sweeps."""

ROUNDING = 1e-13
"""How much of the greatest value the rounding errors of a solution may be."""

MODEL = ("numbers", "sizes", "slots", "successors", "counts", "totals", "rewards",
         "probabilities", "means")  # fmt: skip
"""The fields of a state that ``model_fields`` makes: ``slots`` is the place of each successor in
its row, or -1; ``counts`` and ``totals`` are those of the posterior; ``rewards`` are by successor,
not by place; ``means`` is the mean reward of each pair."""


@kernel
def add_transition(state: Any, x: Any, u: Any, y: Any) -> Any:
    """Update the posterior and the mean model with a transition."""
    states = state.numbers[STATES]
    pair = x * state.numbers[ACTIONS] + u
    row = pair * states
    place = state.slots[row + y]
    if place < 0:  # the prior held it impossible
        place = state.sizes[pair]
        state.sizes[pair] = place + 1
        state.slots[row + y] = place
        state.successors[row + place] = y
        state.counts[row + place] = 0.0
    state.counts[row + place] += 1.0
    state.totals[pair] += 1.0
    update_row(state, pair)


@kernel
def update_row(state: Any, pair: Any) -> Any:
    """The mean model of one pair from its counts."""
    row = pair * state.numbers[STATES]
    total = state.totals[pair]
    mean = 0.0
    for k in range(row, row + state.sizes[pair]):
        probability = state.counts[k] / total
        state.probabilities[k] = probability
        mean += probability * state.rewards[row + state.successors[k]]
    state.means[pair] = mean


@kernel
def see(state: Any, x: Any) -> Any:
    """Learn from the transition into the present state, unless it is the first."""
    if state.numbers[LAST_STATE] >= 0:
        add_transition(state, state.numbers[LAST_STATE], state.numbers[LAST_ACTION], x)


@kernel
def chosen(state: Any, x: Any, u: Any) -> Any:
    """Remember state and action for the next transition; the action."""
    state.numbers[LAST_STATE] = x
    state.numbers[LAST_ACTION] = u
    return u


@kernel
def solve(state: Any, values: Any, quality: Any, gamma: Any, tolerance: Any) -> Any:
    """Solve the mean model from given values, until they are exact to a tolerance.

    It is policy iteration with sweeps of value iteration in place, where an update is used at
    once. As each sweep is a contraction by gamma, values that change by at most
    ``tolerance (1 - gamma) / gamma`` are at most the tolerance away from the fixed point. Until
    then the best policy so far is evaluated exactly after each sweep, in an MDP of up to
    ``DIRECT`` states; in larger ones, sweeps alone are faster. Changes that may be rounding
    errors (``ROUNDING``) count as none.

    Args:
        state: The agent's state.
        values: The value of each state, where to begin and the result.
        quality: The value of each pair; the result.
        gamma: The discount factor.
        tolerance: How far the values may be from the exact ones.
    """
    states, actions = state.numbers[STATES], state.numbers[ACTIONS]
    limit = tolerance * (1.0 - gamma) / gamma
    policy = np.zeros(states, dtype=np.int64)
    change, greatest = np.inf, 0.0
    while change > limit + ROUNDING * greatest:
        if change < np.inf and states <= DIRECT:
            system = np.zeros(states * (states + 1))
            for x in range(states):
                pair, row = policy[x], x * (states + 1)
                for k in range(pair * states, pair * states + state.sizes[pair]):
                    system[row + state.successors[k]] = -gamma * state.probabilities[k]
                system[row + x] += 1.0
                system[row + states] = state.means[pair]
            eliminate(system, values)
        change, greatest = 0.0, 0.0
        for x in range(states):
            best = -np.inf
            for pair in range(x * actions, x * actions + actions):
                row = pair * states
                ahead = 0.0
                for k in range(row, row + state.sizes[pair]):
                    ahead += state.probabilities[k] * values[state.successors[k]]
                value = state.means[pair] + gamma * ahead
                quality[pair] = value
                if value > best:
                    best = value
                    policy[x] = pair
            change = max(change, abs(best - values[x]))
            greatest = max(greatest, abs(best))
            values[x] = best


@kernel
def eliminate(system: Any, solution: Any) -> Any:
    """Solve linear equations by Gaussian elimination, without looking for pivots.

    That is right and stable for the equations of a policy's values: they are diagonally dominant.

    Args:
        system: The coefficients of each equation and its right-hand side, one after the other. They
            are overwritten.
        solution: The result.
    """
    size = len(solution)
    for x in range(size):
        pivot = x * (size + 1)
        for row in range(pivot + size + 1, size * (size + 1), size + 1):
            if system[row + x] != 0.0:
                factor = system[row + x] / system[pivot + x]
                for k in range(x + 1, size + 1):
                    system[row + k] -= factor * system[pivot + k]
    for x in range(size - 1, -1, -1):
        row = x * (size + 1)
        rest = system[row + size]
        for k in range(x + 1, size):
            rest -= system[row + k] * solution[k]
        solution[x] = rest / system[row + x]


@kernel
def standard_normal(rng: Any) -> Any:
    """A normal variate with mean 0 and variance 1 (polar method, Marsaglia and Bray 1964)."""
    first, square = 0.0, 0.0
    while square >= 1.0 or square == 0.0:
        first = 2.0 * uniform(rng) - 1.0
        second = 2.0 * uniform(rng) - 1.0
        square = first * first + second * second
    return first * sqrt(-2.0 * log(square) / square)


@kernel
def standard_gamma(rng: Any, shape: Any) -> Any:
    """A gamma variate with a shape above 0 and scale 1 (Marsaglia and Tsang 2000)."""
    if shape == 1.0:
        return -log(1.0 - uniform(rng))
    d = (shape if shape > 1.0 else shape + 1.0) - 1.0 / 3.0
    c = 1.0 / sqrt(9.0 * d)
    drawn = -1.0
    while drawn < 0.0:
        normal = standard_normal(rng)
        root = 1.0 + c * normal
        v = root * root * root
        if v > 0.0:
            u = 1.0 - uniform(rng)
            square = normal * normal
            if u < 1.0 - 0.0331 * square * square or log(u) < 0.5 * square + d * (1.0 - v + log(v)):
                drawn = d * v
    if shape < 1.0:
        drawn *= exp(log(1.0 - uniform(rng)) / shape)
    return drawn


@kernel
def draw_row(rng: Any, shapes: Any, start: Any, size: Any, out: Any, at: Any) -> Any:
    """Draw probabilities from a Dirichlet distribution.

    Args:
        rng: The generator.
        shapes: An array with its parameters, all above 0, from ``start`` on.
        start: Where they begin.
        size: How many they are.
        out: The array that gets the probabilities, from ``at`` on.
        at: Where they begin.
    """
    total = 0.0
    for k in range(size):
        out[at + k] = standard_gamma(rng, shapes[start + k])
        total += out[at + k]
    if total < 1e-290:
        # All so small that precision is lost. Given that, the logarithm of each is some bound minus
        # an exponential variate: gamma variates of small shapes have the density x^(shape - 1).
        greatest = -np.inf
        for k in range(size):
            out[at + k] = log(1.0 - uniform(rng)) / shapes[start + k]
            greatest = max(greatest, out[at + k])
        total = 0.0
        for k in range(size):
            out[at + k] = exp(out[at + k] - greatest)
            total += out[at + k]
    for k in range(size):
        out[at + k] /= total


class BayesianAgent(KernelAgent):
    """An agent that plans with a prior. Subclasses make their state of ``model_fields``."""

    prior: Prior | None = None

    def restore(self, prior: Prior, prepared: Any) -> None:  # noqa: ARG002 - see Agent
        """Keep the prior, and what follows from it for every exercise."""
        self.prior = prior
        self._fields = _fields_of(prior)

    def model_fields(self, briefing: Briefing, further: int = 0) -> dict[str, Any]:
        """Fresh arrays for the fields ``MODEL`` of a state.

        Args:
            briefing: What the agent is told of the exercise.
            further: How many further entries ``numbers`` has.

        Raises:
            InvalidInputError: There is no prior, or it does not fit the environment.
        """
        if self.prior is None:
            message = f"{type(self).__name__} plans with a prior, and none was given."
            raise InvalidInputError(message, "Give one with --prior (prior= in Python).")
        known = self.prior.distribution
        require(
            briefing.actions == known.actions and briefing.space.sizes == (known.states,),
            f"The prior has {known.states} states and {known.actions} actions, the environment "
            f"{briefing.space.count} and {briefing.actions}.",
            "Give a prior with the shape of the environment class.",
        )
        numbers = np.zeros(4 + further, dtype=np.int64)
        numbers[:4] = known.states, known.actions, -1, -1
        return {"numbers": numbers, **{name: each.copy() for name, each in self._fields.items()}}


def _fields_of(prior: Prior) -> dict[str, FloatArray | IntArray]:
    known = prior.distribution
    theta = known.theta.reshape(-1, known.states)
    require(
        theta.size <= MAX_TABLE_SIZE,
        f"The prior has {theta.size} transitions.",
        f"Give one with at most {MAX_TABLE_SIZE}.",
    )
    slots = np.full(theta.shape, -1, dtype=np.int64)
    successors = np.zeros(theta.shape, dtype=np.int64)
    counts = np.zeros(theta.shape)
    sizes = np.zeros(len(theta), dtype=np.int64)
    for pair, row in enumerate(theta):
        possible = np.flatnonzero(row)
        sizes[pair] = len(possible)
        slots[pair, possible] = np.arange(len(possible))
        successors[pair, : len(possible)] = possible
        counts[pair, : len(possible)] = row[possible]
    totals = theta.sum(axis=1)
    rewards = known.rewards.reshape(theta.shape)
    return {
        "sizes": sizes,
        "slots": slots.ravel(),
        "successors": successors.ravel(),
        "counts": counts.ravel(),
        "totals": totals,
        "rewards": rewards.ravel().copy(),
        "probabilities": (counts / totals[:, None]).ravel(),
        "means": (theta * rewards).sum(axis=1) / totals,
    }
