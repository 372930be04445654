"""OPPS-DS: offline, prior-based policy search in a discrete strategy space (Algorithm 3)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.bayesian.formulas import VARIABLES, evaluate, formula_set, infix, parse
from omnimeter.agents.bayesian.model import (
    ACTIONS,
    LAST_ACTION,
    LAST_STATE,
    STATES,
    TOLERANCE,
    BayesianAgent,
    chosen,
)
from omnimeter.agents.shared import best_action, break_ties, require
from omnimeter.contract import Briefing, MDPDistribution, Prior
from omnimeter.contract.agent import FloatArray, IntArray, single
from omnimeter.interaction.compilation import load
from omnimeter.interaction.templates import preamble
from omnimeter.kernels import AgentKernels, forward, generator_state, kernel, uniform

UNDEFINED = 4
GAMMA, LIMIT = range(2)


class OppsState(NamedTuple):
    """Three models of the MDP and the formula that joins their Q-functions.

    The models differ only in their pseudo-counts: X0 has those of the prior, X1 one of staying in
    each state, X2 one of each successor. With the observed counts n(x, u, y), the value of a pair
    is ``(sums + gamma ahead) inverses``: ``ahead`` is the sum of all counts times the values of
    their successors, where the pseudo-counts of X1 give V(x), and those of X2 the sum of V.

    Attributes:
        numbers: As in every Bayesian agent, then whether the formula was ever undefined.
        rates: The discount factor; the change of values below which they are exact enough.
        formula: The codes of its tokens.
        used: The variables in it, which alone are computed.
        stack: Room for the values of its parts.
        indices: Its value for each action of the present state.
        sizes: How many successors of each pair are possible or were observed.
        slots: By pair and state: the place of that successor in its row, or -1.
        successors: By pair and place: the state.
        weights: By pair and place: the counts of X0; then, again for all, those observed.
        rewards: By pair and state.
        sums: By variable and pair: all counts times their rewards.
        totals: By variable and pair: the sum of all counts.
        inverses: By variable and pair: 1 / totals.
        values: By variable and state: V.
        quality: By variable and pair: Q.
    """

    rng: NDArray[np.uint64]
    numbers: IntArray
    rates: FloatArray
    formula: IntArray
    used: IntArray
    stack: FloatArray
    indices: FloatArray
    sizes: IntArray
    slots: IntArray
    successors: IntArray
    weights: FloatArray
    rewards: FloatArray
    sums: FloatArray
    totals: FloatArray
    inverses: FloatArray
    values: FloatArray
    quality: FloatArray


@kernel
def learn(state: Any, x: Any, u: Any, y: Any) -> Any:
    """Count a transition in all models."""
    states = state.numbers[STATES]
    pair = x * state.numbers[ACTIONS] + u
    row = pair * states
    place = state.slots[row + y]
    if place < 0:  # the prior held it impossible; its counts are 0
        place = state.sizes[pair]
        state.sizes[pair] = place + 1
        state.slots[row + y] = place
        state.successors[row + place] = y
    state.weights[row + place] += 1.0
    state.weights[len(state.slots) + row + place] += 1.0
    reward = state.rewards[row + y]
    for variable in range(VARIABLES):
        at = variable * len(state.sizes) + pair
        state.sums[at] += reward
        state.totals[at] += 1.0
        state.inverses[at] = 1.0 / state.totals[at]


@kernel
def solve_variable(state: Any, variable: Any) -> Any:
    """Value iteration as ``model.solve`` does it, from the values of the last decision."""
    states, actions = state.numbers[STATES], state.numbers[ACTIONS]
    gamma, limit = state.rates[GAMMA], state.rates[LIMIT]
    first, own = variable * states, variable * states * actions
    counts = 0 if variable == 0 else len(state.slots)
    change = limit + 1.0
    while change > limit:
        change = 0.0
        total = 0.0
        for x in range(first, first + states):
            total += state.values[forward(x)]
        for x in range(states):
            old = state.values[forward(first + x)]
            pseudo = 0.0 if variable == 0 else old if variable == 1 else total
            best = -np.inf
            for pair in range(x * actions, x * actions + actions):
                row = pair * states
                ahead = pseudo
                for k in range(row, row + state.sizes[forward(pair)]):
                    successor = state.successors[forward(k)]
                    value = state.values[forward(first + successor)]
                    ahead += state.weights[forward(counts + k)] * value
                total_reward = state.sums[forward(own + pair)]
                value = (total_reward + gamma * ahead) * state.inverses[forward(own + pair)]
                state.quality[forward(own + pair)] = value
                best = max(best, value)
            change = max(change, abs(best - old))
            total += best - old
            state.values[forward(first + x)] = best


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001 - rewards are known
    """Learn from the last transition, solve the models, and follow the formula."""
    x = observation[0]
    if state.numbers[LAST_STATE] >= 0:
        learn(state, state.numbers[LAST_STATE], state.numbers[LAST_ACTION], x)
    for k in range(len(state.used)):
        solve_variable(state, state.used[k])
    actions = state.numbers[ACTIONS]
    for u in range(actions):
        value = evaluate(
            state.formula, state.quality, x * actions + u, len(state.sizes), state.stack
        )
        if math.isnan(value):
            value = -np.inf
            state.numbers[UNDEFINED] = 1
        state.indices[u] = value
    best = best_action(state.indices, 0, actions)
    return chosen(state, x, break_ties(state.rng, state.indices, 0, best))


@kernel
def draw(rng: Any, weights: Any, first: Any, last: Any, total: Any) -> Any:
    """A place from the first to before the last, in proportion to its weight."""
    left = uniform(rng) * total
    place = first
    for k in range(first, last):
        if weights[k] > 0.0:
            place = k  # if rounding leaves something, it is the last that is possible
            left -= weights[k]
            if left < 0.0:
                break
    return place


@kernel
def draw_successor(state: Any, pair: Any) -> Any:
    """A successor from the posterior, given all that was observed in this trajectory.

    Drawn so step by step, as from an urn that gets one more of what is drawn, trajectories have
    the same distribution as in MDPs that are drawn from the prior first.
    """
    row = pair * state.numbers[STATES]
    last = row + state.sizes[pair]
    return state.successors[draw(state.rng, state.weights, row, last, state.totals[pair])]


KERNELS = AgentKernels(OppsState, act=act)

_FIELDS = ", ".join(f"borrow(given.{name}, 0, len(given.{name}))" for name in OppsState._fields)

_TRAJECTORY = f"""
{preamble()}
from omnimeter.agents.bayesian.opps import draw, draw_successor


@compiled
def trajectory(given, observation, initial, steps, gamma):
    agent = AgentState({_FIELDS})
    states, actions = len(initial), len(agent.indices)
    observation[0] = draw(agent.rng, initial, 0, states, 1.0)
    discount, result = 1.0, 0.0
    for _ in range(steps):
        pair = observation[0] * actions + agent_act(agent, 0.0, observation)
        observation[0] = draw_successor(agent, pair)
        result += discount * agent.rewards[pair * states + observation[0]]
        discount *= gamma
    return result
"""


class OppsDs(BayesianAgent):
    """Finds offline the formula that plays best in MDPs of the prior, and follows it (5.1.4).

    A formula is an index of the actions, built of the optimal Q-functions of three models: Q0 of
    the mean of the posterior; Q1 of the observed transitions and, for every pair, an imagined one
    back into the same state; Q2 of the observed transitions and, for every pair, an imagined one
    into each state, possible or not. An action with the greatest index is performed, any of
    several. One whose index is undefined (ln of a number <= 0, sqrt of one < 0, division by 0)
    comes after all others.

    Offline, the formulas of a set are the arms of UCB1. Each draw of an arm plays one trajectory
    of T steps in a new MDP of the prior; the most drawn arm wins. A formula that was undefined in
    a trajectory is given up. In every draw, successors come from the posterior of what this
    trajectory has shown, which is the same in distribution as drawing the MDP first.

    UCB1 adds c sqrt(ln b / theta) to the mean return of an arm with theta of b draws. ``original``
    is that of Auer et al. (2002), whose c = sqrt(2) is for returns from 0 to 1: it is multiplied by
    their range, (R_max - R_min) (1 - gamma^T) / (1 - gamma), on GC 200. ``printed`` has c = sqrt(2)
    for returns as they are (Algorithm 3). ``library`` has c = 660, as the authors ran it.

    Args:
        formulas: The set F_n of all formulas with at most n tokens.
        budget: The number of draws, those of the first round included. With fewer draws than
            formulas, the rest is not tried.
        formula: The formula to follow, in reverse Polish notation (``"X2 X0 DIV"`` is Q2/Q0),
            instead of an offline search.
        variant: The constant c of UCB1: ``original``, ``printed`` or ``library``.
        seed: The seed of the random points on which the formulas of the set are compared.
    """

    kernels = KERNELS

    def __init__(
        self,
        formulas: Literal["F2", "F3", "F4", "F5", "F6"] = "F3",
        budget: int = 1250,
        formula: str | None = None,
        variant: Literal["original", "printed", "library"] = "original",
        seed: int = 0,
    ) -> None:
        known = [f"F{size}" for size in range(2, 7)]
        advice = f"Give {', '.join(known)}."
        require(formulas in known, f"There is no set of formulas {formulas!r}.", advice)
        require(budget >= 1, f"The budget is {budget} draws.", "Give at least 1.")
        require(seed >= 0, f"The seed is {seed}.", "Give a whole number of 0 or more.")
        names = ("original", "printed", "library")
        advice = f"Give {', '.join(names)}."
        require(variant in names, f"There is no variant {variant!r}.", advice)
        self.formulas, self.budget, self.variant, self.seed = formulas, budget, variant, seed
        if formula is not None:
            parse(formula)
        self.formula = formula

    def prepare(self, prior: Prior, rng: np.random.Generator) -> Mapping[str, Any]:
        """Find the best formula for a prior, unless it is given.

        Returns:
            The ``formula``, also in ``infix``; how often it was drawn (``draws``) and its ``mean``
            return; how many formulas there were (``arms``), and how many of them were given up
            (``undefined``).
        """
        if self.formula is not None:
            return {"formula": self.formula, "infix": infix(self.formula), "draws": 0}
        arms = formula_set(int(self.formulas[1]), self.seed)
        simulator = Simulator(prior, arms)
        means, draws = np.zeros(len(arms)), np.zeros(len(arms))
        undefined = np.zeros(len(arms), dtype=np.bool_)
        c = self._exploration(prior)
        for drawn in range(self.budget):
            arm = drawn
            if drawn >= len(arms):
                bonus = c * np.sqrt(math.log(drawn + 1) / draws)
                arm = int(np.argmax(np.where(undefined, -np.inf, means + bonus)))
            result, defined = simulator.play(arm, rng.bit_generator.random_raw())
            draws[arm] += 1
            means[arm] += (result - means[arm]) / draws[arm]
            undefined[arm] = not defined
        most = np.where(undefined, -1, draws)
        best = int(rng.choice(np.flatnonzero(most == most.max())))
        return {
            "formula": arms[best],
            "infix": infix(arms[best]),
            "draws": int(draws[best]),
            "mean": float(means[best]),
            "arms": len(arms),
            "undefined": int(undefined.sum()),
        }

    def _exploration(self, prior: Prior) -> float:
        """The constant c of UCB1."""
        if self.variant == "library":
            return 660.0
        if self.variant == "printed":
            return math.sqrt(2)
        lowest, highest = prior.distribution.reward_range()
        discounts = (1 - prior.gamma**prior.horizon) / (1 - prior.gamma)
        return math.sqrt(2) * (highest - lowest) * discounts

    def warm_up(self) -> None:
        """Compile what the offline phase runs, whose time is measured."""
        if self.formula is None:
            Simulator(Prior(MDPDistribution.of([[[1]]], [[[0]]]), 0.5, 1), ["X0"]).play(0, 0)

    def restore(self, prior: Prior, prepared: Mapping[str, Any]) -> None:
        """Take up the formula that was found, or is given."""
        super().restore(prior, prepared)
        self._formula = prepared["formula"] if self.formula is None else self.formula

    def initial_state(self, briefing: Briefing) -> OppsState:
        """Three models without observations."""
        fields = self.model_fields(briefing, further=1)
        assert self.prior is not None  # see model_fields
        known = self.prior.distribution
        states, actions = known.states, known.actions
        pairs = states * actions
        staying = np.broadcast_to(np.eye(states)[:, None], known.theta.shape)
        priors = np.stack([known.theta, staying, np.ones_like(known.theta)])
        totals = priors.sum(axis=3).ravel()
        gamma = self.prior.gamma
        return with_formula(
            OppsState(
                rng=generator_state(),
                numbers=fields["numbers"],
                rates=np.array([gamma, TOLERANCE * (1 - gamma) / gamma]),
                formula=np.zeros(0, dtype=np.int64),
                used=np.zeros(0, dtype=np.int64),
                stack=np.zeros(0),
                indices=np.zeros(actions),
                sizes=fields["sizes"],
                slots=fields["slots"],
                successors=fields["successors"],
                weights=np.concatenate((fields["counts"], np.zeros(pairs * states))),
                rewards=fields["rewards"],
                sums=(priors * known.rewards).sum(axis=3).ravel(),
                totals=totals,
                inverses=1 / totals,
                values=np.zeros(VARIABLES * states),
                quality=np.zeros(VARIABLES * pairs),
            ),
            self._formula,
        )


def with_formula(state: OppsState, formula: str) -> OppsState:
    """The same arrays with another formula."""
    codes = parse(formula)
    used = np.unique(codes[codes < VARIABLES])
    return state._replace(formula=codes, used=used, stack=np.zeros(len(codes)))


class Simulator:
    """Plays formulas in MDPs of a prior.

    Args:
        prior: Where the MDPs come from, and how long a trajectory is.
        formulas: The formulas, by number.
    """

    def __init__(self, prior: Prior, formulas: Sequence[str]) -> None:
        known = prior.distribution
        agent = OppsDs(formula=formulas[0])
        agent.restore(prior, {})
        fresh = agent.initial_state(Briefing(known.actions, single(known.states)))
        self._formulas, self._states = formulas, {0: fresh}  # of shared arrays
        self._fresh = [(each, each.copy()) for each in fresh]
        self._given = (np.zeros(1, dtype=np.int64), known.initial, prior.horizon, prior.gamma)
        self._run = load("offline", _TRAJECTORY, agent=KERNELS).trajectory

    def play(self, number: int, seed: int) -> tuple[float, bool]:
        """The discounted return of a trajectory in a new MDP, and whether the formula was defined.

        Args:
            number: The formula.
            seed: All randomness of MDP, trajectory and formula.
        """
        for array, fresh in self._fresh:
            array[:] = fresh
        if number not in self._states:
            self._states[number] = with_formula(self._states[0], self._formulas[number])
        state = self._states[number]
        state.rng[0] = seed
        return self._run(state, *self._given), not state.numbers[UNDEFINED]
