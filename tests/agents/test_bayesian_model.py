"""What Bayesian agents share is exact: the posterior, the solution of models, and random draws."""

from __future__ import annotations

from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy import stats

from omnimeter.agents.bayesian.greedy import EGreedy, GreedyState
from omnimeter.agents.bayesian.model import (
    DIRECT,
    TOLERANCE,
    add_transition,
    draw_row,
    solve,
    standard_gamma,
    standard_normal,
)
from omnimeter.agents.bayesian.reference import optimal_values
from omnimeter.contract import Briefing, MDPDistribution, Prior
from omnimeter.contract.agent import FloatArray, single


class Case(NamedTuple):
    """A prior, and transitions that are observed."""

    prior: Prior
    transitions: list[tuple[int, int, int]]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    states, actions = draw(st.integers(1, 6)), draw(st.integers(1, 3))
    theta = rng.gamma(0.5, size=(states, actions, states)) + 1e-3
    theta *= rng.random(theta.shape) < draw(st.sampled_from([0.3, 1.0]))
    theta[:, :, 0] += 1e-3
    rewards = draw(st.sampled_from([1e-3, 1.0, 1e9, 1e15])) * rng.normal(size=theta.shape)
    gamma = draw(st.sampled_from([0.3, 0.95, 0.999]))
    observed = rng.integers([states, actions, states], size=(draw(st.integers(0, 30)), 3))
    prior = Prior(MDPDistribution.of(theta, rewards), gamma, 10)
    return Case(prior, [(int(x), int(u), int(y)) for x, u, y in observed])


def state_of(prior: Prior) -> GreedyState:
    agent = EGreedy()
    agent.restore(prior, {})
    known = prior.distribution
    return agent.initial_state(Briefing(known.actions, single(known.states)))


@njit
def observe_and_solve(state: Any, x: int, u: int, y: int) -> None:
    if x >= 0:
        add_transition(state, x, u, y)
    solve(state, state.values, state.quality, state.rates[0], TOLERANCE)


def check_solution(state: GreedyState, counts: FloatArray, prior: Prior) -> None:
    mean = counts / counts.sum(axis=2, keepdims=True)
    rewards = (mean * prior.distribution.rewards).sum(axis=2)
    exact = optimal_values(mean, rewards, prior.gamma)
    close = TOLERANCE + 1e-9 * np.abs(exact).max()
    assert np.abs(state.quality - exact.ravel()).max() <= close
    assert np.abs(state.values - exact.max(axis=1)).max() <= close


@settings(deadline=None)
@given(cases())
def test_values_are_exact_to_the_tolerance_after_every_transition(case: Case) -> None:
    state = state_of(case.prior)
    counts = case.prior.distribution.theta.copy()
    observe_and_solve(state, -1, -1, -1)
    check_solution(state, counts, case.prior)
    for x, u, y in case.transitions:
        observe_and_solve(state, x, u, y)
        counts[x, u, y] += 1
        check_solution(state, counts, case.prior)


def test_values_of_a_large_model_are_exact_to_the_tolerance() -> None:
    """It is solved by sweeps alone."""
    rng = np.random.default_rng(1)
    states = DIRECT + 3
    theta = rng.random((states, 2, states)) * (rng.random((states, 2, states)) < 0.05)
    theta[range(states), :, range(states)] += 0.1
    prior = Prior(MDPDistribution.of(theta, rng.normal(size=states)), 0.95, 10)
    state = state_of(prior)
    for x in (-1, 3, 3, 60):
        observe_and_solve(state, x, 1, 5)
        theta[x, 1, 5] += x >= 0
        check_solution(state, theta, prior)


@given(st.integers(0, 2**32), st.integers(1, 4), st.integers(1, 3))
def test_optimal_values_are_those_of_the_best_policy(seed: int, states: int, actions: int) -> None:
    """Of all policies, each evaluated by solving its Bellman equations."""
    rng = np.random.default_rng(seed)
    transitions = rng.dirichlet(np.ones(states), size=(states, actions))
    rewards = rng.normal(size=(states, actions))
    every = np.arange(states)
    values = [
        np.linalg.solve(
            np.eye(states) - 0.95 * transitions[every, list(policy)], rewards[every, list(policy)]
        )
        for policy in product(range(actions), repeat=states)
    ]
    measured = optimal_values(transitions, rewards, 0.95)
    assert measured.max(axis=1) == pytest.approx(np.max(values, axis=0))
    assert measured == pytest.approx(rewards + 0.95 * transitions @ np.max(values, axis=0))


def test_what_the_prior_holds_impossible_can_be_observed() -> None:
    prior = Prior(MDPDistribution.of([[[1, 0]], [[1, 1]]], [0, 5]), 0.95, 10)
    state = state_of(prior)
    observe_and_solve(state, 0, 0, 1)
    assert state.sizes.tolist() == [2, 2]
    assert state.probabilities.tolist() == [0.5, 0.5, 0.5, 0.5]
    assert state.means.tolist() == [2.5, 2.5]


# Random draws


@njit
def gammas(rng: Any, shape: float, out: Any) -> None:
    for k in range(len(out)):
        out[k] = standard_gamma(rng, shape)


@njit
def normals(rng: Any, out: Any) -> None:
    for k in range(len(out)):
        out[k] = standard_normal(rng)


@njit
def rows(rng: Any, shapes: Any, out: Any) -> None:
    for at in range(0, len(out), len(shapes)):
        draw_row(rng, shapes, 0, len(shapes), out, at)


def generator(seed: int) -> np.ndarray[Any, np.dtype[np.uint64]]:
    return np.array([seed], dtype=np.uint64)


def check_draws(count: int) -> None:
    out = np.empty(count)
    p_values = []
    normals(generator(1), out)
    p_values.append(stats.kstest(out, stats.norm.cdf).pvalue)
    for seed, shape in enumerate((0.02, 0.5, 1.0, 1.5, 3.0, 1000.0)):
        gammas(generator(seed), shape, out)
        p_values.append(stats.kstest(out, stats.gamma(shape).cdf).pvalue)
    for seed, shapes in enumerate(([1.0, 1.0], [0.5, 2.0, 4.5])):
        drawn = np.empty((count, len(shapes)))
        rows(generator(seed), np.array(shapes), drawn.reshape(-1))
        assert drawn.sum(axis=1) == pytest.approx(1)
        for part, shape in zip(drawn.T, shapes, strict=True):
            marginal = stats.beta(shape, sum(shapes) - shape)
            p_values.append(stats.kstest(part, marginal.cdf).pvalue)
    assert min(p_values) > 1e-4


def test_draws_have_their_distributions() -> None:
    check_draws(10_000)


@pytest.mark.slow
def test_many_draws_have_their_distributions() -> None:
    check_draws(2_000_000)


@pytest.mark.parametrize("shapes", [[1e-3, 3e-3], [1e-9, 2e-9, 1e-9]])
def test_rows_of_tiny_concentrations_keep_their_moments(shapes: list[float]) -> None:
    """All gamma variates of most such rows are too small for a number."""
    count = 20_000
    drawn = np.empty((count, len(shapes)))
    rows(generator(5), np.array(shapes), drawn.reshape(-1))
    assert np.isfinite(drawn).all()
    total = sum(shapes)
    for part, shape in zip(drawn.T, shapes, strict=True):
        mean = shape / total
        variance = mean * (1 - mean) / (total + 1)
        assert abs(part.mean() - mean) < 4 * np.sqrt(variance / count)
        assert part.var() == pytest.approx(variance, rel=0.05)
