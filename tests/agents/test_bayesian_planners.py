"""Agents that search over histories: their values against an oracle of exact fractions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

import planner_parts
from omnimeter.agents.bayesian import exhaustive
from omnimeter.agents.bayesian.bamcp import BAMCP
from omnimeter.agents.bayesian.bfs3 import BFS3
from omnimeter.agents.bayesian.exhaustive import BayesOptimal, known_mdp_value, optimal_value
from omnimeter.contract import InvalidInputError, MDPDistribution
from planner_parts import THREE, TWO, started

Seen = Mapping[tuple[int, int, int], int]


def oracle(
    known: MDPDistribution,
    x: int,
    seen: Seen,
    steps: int,
    gamma: Fraction = Fraction(9, 10),
    learning: int = 1,
) -> list[Any]:
    """The exact value of each action over some steps; with or without learning from them."""
    values = []
    for u in range(known.actions):
        counts = {
            y: Fraction(known.theta[x, u, y]) + seen.get((x, u, y), 0)
            for y in range(known.states)
            if known.theta[x, u, y] > 0
        }
        value = Fraction(0)
        for y, count in counts.items():
            after = {**seen, (x, u, y): seen.get((x, u, y), 0) + learning}
            ahead = max(oracle(known, y, after, steps - 1, gamma, learning)) if steps > 1 else 0
            value += count * (Fraction(known.rewards[x, u, y]) + gamma * ahead)
        values.append(value / sum(counts.values()))
    return values


def adaptive(known: MDPDistribution = TWO, x: int = 0, steps: int = 4) -> list[float]:
    """The Bayes-adaptive values of the actions at a state."""
    return [float(each) for each in oracle(known, x, {}, steps)]


# The exhaustive search.


@pytest.mark.parametrize("known", [TWO, THREE])
def test_exhaustive_values_are_exact(known: MDPDistribution) -> None:
    agent = BayesOptimal(5)
    state = started(agent, known)  # a horizon of 4
    u = agent.act(0.0, 0)
    assert u == np.argmax(adaptive(known))
    np.testing.assert_allclose(state.values, adaptive(known), rtol=1e-13)
    assert optimal_value(known, 0.9, 4) == pytest.approx(max(adaptive(known)), rel=1e-13)
    y = int(np.argmax(known.theta[0, u]))
    agent.act(0.0, y)
    left = oracle(known, y, {(0, u, y): 1}, 3)
    np.testing.assert_allclose(state.values, [float(each) for each in left], rtol=1e-13)
    np.testing.assert_array_equal(state.counts.sum(), known.theta.sum() + 1)


def test_exhaustive_search_looks_to_its_depth() -> None:
    agent = BayesOptimal(2)
    state = started(agent, TWO, horizon=100)
    agent.act(0.0, 1)
    np.testing.assert_allclose(state.values, adaptive(x=1, steps=2), rtol=1e-13)


def test_optimal_value_weighs_initial_states() -> None:
    anywhere = MDPDistribution.of(TWO.theta, TWO.rewards, -1)
    expected = (max(adaptive(x=0, steps=3)) + max(adaptive(x=1, steps=3))) / 2
    assert optimal_value(anywhere, 0.9, 3) == pytest.approx(expected, rel=1e-13)


def test_large_problems_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InvalidInputError, match="30 steps ahead takes more than 100000000"):
        started(BayesOptimal(50), TWO, horizon=30)
    monkeypatch.setattr(exhaustive, "VALUE_LIMIT", 1000)
    with pytest.raises(InvalidInputError, match="8 steps take more than 1000 transitions"):
        optimal_value(TWO, 0.9, 8)


def test_knowing_the_mdp_is_the_upper_bound() -> None:
    bound = known_mdp_value(TWO, 0.9, 4, np.random.default_rng(2), samples=4000)
    assert bound.low > optimal_value(TWO, 0.9, 4)
    assert bound.high - bound.low < 0.1
    exact = known_mdp_value(
        MDPDistribution.of(np.eye(2)[:, None, ::-1], [1.0, 3.0]),
        0.5,
        3,
        np.random.default_rng(0),
        2,
    )
    assert exact.value == 3 + 0.5 * 1 + 0.25 * 3  # 0 -> 1 -> 0 -> 1, without a choice


# Planners that sample, on two states and two actions with a horizon of 4.


def test_bamcp_converges_to_the_bayes_adaptive_values() -> None:
    errors = []
    for k in (100, 10_000, 1_000_000):
        agent = BAMCP(k, 4)
        state = started(agent, TWO, seed=3)
        assert agent.act(0.0, 0) == np.argmax(adaptive())
        errors.append(abs(state.returns[0] - adaptive()[0]))
    assert errors[0] > errors[1] > 0.02
    assert errors[2] < 0.01


def bfs3_values(c: int, variant: Any, gamma: float = 0.9) -> np.ndarray[Any, Any]:
    """The mean values of ten decisions, without what lies beyond the horizon of 4."""
    values = []
    for seed in range(10):
        agent = BFS3(200 * c, c, 3, variant)
        state = started(agent, TWO, gamma=gamma, seed=seed)
        agent.act(0.0, 0)
        values.append(state.values.copy())
    return np.mean(values, axis=0) - gamma**4 * (1.0 / (1 - gamma))  # a leaf is worth V_max


def test_bfs3_converges_to_the_bayes_adaptive_values() -> None:
    errors = [np.abs(bfs3_values(c, "original") - adaptive()).max() for c in (2, 30, 500)]
    assert errors[0] > 0.2
    assert errors[1] < 0.1
    assert errors[2] < 0.02


def test_bfs3_of_the_library_stays_above() -> None:
    """The distance of bounds at the leaves keeps it from rare successors."""
    assert (bfs3_values(500, "library") - adaptive() > 0.1).all()


def test_printed_bfs3_plans_in_the_mean_mdp() -> None:
    """With a small discount factor the distance at the leaves does not matter."""
    quarter = Fraction(1, 4)
    mean, adapted = (
        np.array([float(each) for each in oracle(TWO, 0, {}, 4, quarter, learning)])
        for learning in (0, 1)
    )
    for variant, values, others in (("printed", mean, adapted), ("library", adapted, mean)):
        measured = bfs3_values(500, variant, 0.25)
        assert np.abs(measured - values).max() < np.abs(measured - others).max() / 2


def draws(known: MDPDistribution, decisions: int) -> list[tuple[int, ...]]:
    """The states of each decision's only simulation, of four steps."""
    agent = BAMCP(1, 4)
    state = started(agent, known)
    before = state.counts.copy(), state.totals.copy()
    sequences = []
    for _ in range(decisions):
        agent.act(0.0, 0)
        state.numbers[2] = -1  # nothing is learnt
        sequences.append(tuple(state.successors[state.drawn[::2]].tolist()))
    np.testing.assert_array_equal(state.counts, before[0])
    np.testing.assert_array_equal(state.totals, before[1])
    return sequences


def test_the_urn_equals_drawing_the_mdp_first() -> None:
    """Sequences of successors as often as with rows drawn from the Dirichlet distribution."""
    theta = [[[0.3, 0.7, 2.0]], [[1.5, 0.0, 0.5]], [[1.0, 1.0, 1.0]]]
    known, number = MDPDistribution.of(theta, [0.0, 1.0, 2.0]), 10_000
    rng = np.random.default_rng(4)
    drawn = []
    for _ in range(number):
        rows, x, states = known.draw(rng)[:, 0], 0, []
        for _ in range(4):
            x = int(rng.choice(3, p=rows[x]))
            states.append(x)
        drawn.append(tuple(states))
    urn, full = Counter(draws(known, number)), Counter(drawn)
    common = [each for each in full if full[each] + urn[each] >= 20]
    table = [[count[each] for each in common] for count in (urn, full)]
    assert len(common) > 30
    assert stats.chi2_contingency(table).pvalue > 0.001
    known_before = MDPDistribution.of(np.array(theta) * 1e6, [0.0, 1.0, 2.0])
    certain = Counter(draws(known_before, number))  # an urn that is too full to change
    table = [[count[each] for each in common] for count in (certain, full)]
    assert stats.chi2_contingency(table).pvalue < 1e-6


def test_samples_are_multinomial() -> None:
    """Counted as a whole: three successors, 15 samples, and more than are counted at once."""
    theta = [[[0, 1.0, 0]], [[2.5, 1.0, 0.5]], [[1.0, 0, 0]]]
    known = MDPDistribution.of(theta, np.zeros((3, 1, 3)))
    for c, number in ((15, 4000), (700, 400)):
        agent = BFS3(1, c, 1)
        state = started(agent, known)
        measured = []
        for _ in range(number):
            agent.act(0.0, 0)
            state.numbers[2] = -1
            repeats = np.zeros(3, dtype=int)
            repeats[state.places[: state.different[1]]] = state.repeats[: state.different[1]]
            measured.append(repeats)
        drawn = np.array(measured)
        assert (drawn.sum(axis=1) == c).all()
        exact = stats.multinomial(c, np.array([2.5, 1.0, 0.5]) / 4)
        errors = (drawn.mean(axis=0) - exact.mean()) / np.sqrt(np.diag(exact.cov()) / number)
        assert np.abs(errors).max() < 4
        np.testing.assert_allclose(np.cov(drawn.T), exact.cov(), rtol=0.25)
        if c == 15:
            cells = Counter(map(tuple, drawn.tolist()))
            expected = {each: number * exact.pmf(each) for each in cells}
            often = [each for each in cells if expected[each] >= 5]
            rest = number - sum(cells[each] for each in often)
            table = [*(cells[each] for each in often), rest]
            wanted = [expected[each] for each in often]
            p_value = stats.chisquare(table, [*wanted, number - sum(wanted)]).pvalue
            assert p_value > 0.001


# How they go about it.


def test_bamcp_performs_every_action_first() -> None:
    agent = BAMCP(3, 2)
    known = MDPDistribution.of(np.ones((2, 3, 2)), [0.0, 1.0])
    state = started(agent, known)
    for _ in range(20):
        agent.act(0.0, 0)
        assert state.visits[:3].tolist() == [1, 1, 1]


def test_bamcp_learns_its_roll_out_policy_from_real_transitions() -> None:
    agent = BAMCP(5, 2)
    state = started(agent, TWO)
    u = agent.act(7.0, 0)  # the first reward belongs to no action
    assert state.quality.tolist() == [0, 0, 0, 0]
    v = agent.act(1.0, 1)
    expected = [0.0] * 4
    expected[u] = 0.2
    assert state.quality.tolist() == expected
    assert state.moves[:2].tolist() == [1, u]
    assert state.moves[3:6].tolist() == [2, 0, 1]  # of state 1 nothing is known
    agent.act(-1.0, 0)
    expected[2 + v] = 0.2 * (-1 + 0.9 * 0.2)
    np.testing.assert_allclose(state.quality, expected, rtol=1e-12)
    assert state.moves[3:5].tolist() == [1, 1 - v]


def test_bfs3_divides_its_roll_outs() -> None:
    for k, c, expected in ((500, 15, 33), (1, 15, 1), (30, 15, 2)):
        assert started(BFS3(k, c), TWO).numbers[4] == expected


def test_bfs3_bounds() -> None:
    rewards = np.array([[[0, -1.0], [0.5, 0]], [[0, 0.25], [1, 0.5]]])
    theta = TWO.theta.copy()
    theta[1, 1, 0] = 0  # the reward of 1 cannot be had
    known = MDPDistribution.of(theta, rewards)
    np.testing.assert_allclose(started(BFS3(), known).rates, [0.9, -10, 5])
    np.testing.assert_allclose(started(BFS3(variant="library"), known).rates, [0.9, 0, 10])


@pytest.mark.parametrize("name", planner_parts.planners())
def test_transitions_that_the_prior_held_impossible(name: str) -> None:
    agent = planner_parts.planners()[name]
    known = MDPDistribution.of(np.tile(np.eye(6)[:, None], (1, 2, 1)), np.arange(6.0))
    state = started(agent, known, horizon=40)
    for x in [0, 3, 1, 4, 2, 5, 1, 5, 0, 1, 3, 2, 0, 4, 1, 2, 3] * 2:
        assert agent.act(0.0, x) in (0, 1)
    assert state.counts.sum() == known.theta.sum() + 33
    assert state.sizes.max() > 1


@pytest.fixture(scope="module")
def plain_runs() -> Any:
    """Runs as ordinary Python, in another process."""
    text = subprocess.run(
        [sys.executable, planner_parts.__file__],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return json.loads(text)


@pytest.mark.parametrize("name", planner_parts.planners())
def test_compiled_is_plain(name: str, plain_runs: Any) -> None:
    assert planner_parts.run(planner_parts.planners()[name]) == plain_runs[name]


def test_states_are_as_large_as_documented() -> None:
    for successors, megabytes in ((2, 2.6), (25, 12)):
        theta = np.zeros((25, 4, 25))
        theta[:, :, :successors] = 1
        state = started(BAMCP(25000), MDPDistribution.of(theta, np.zeros(25)))
        assert sum(field.nbytes for field in state) / 1e6 == pytest.approx(megabytes, rel=0.03)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: BAMCP(0), "number of simulations k is 0"),
        (lambda: BAMCP(depth=0), "depth is 0"),
        (lambda: BFS3(0), "number of roll-outs k is 0"),
        (lambda: BFS3(c=0), "number of samples c is 0"),
        (lambda: BFS3(depth=-1), "depth is -1"),
        (lambda: BayesOptimal(0), "depth is 0"),
    ],
)
def test_parameters_are_checked(make: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make()
