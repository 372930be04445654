"""Finite MDPs: the distributions of appendix B, how they move, what is refused."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

import omnimeter
from omnimeter.catalogue import Kind, make, parse
from omnimeter.cli import main
from omnimeter.contract import Budget, EnvironmentClass, Exercise, Instance, InvalidInputError, Spec
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.mdp import MDP, GeneralisedChain, GeneralisedDoubleLoop, Grid
from omnimeter.interaction import run_single

GC_THETA = [
    [1, 1, 0, 0, 0],
    [1, 0, 1, 0, 0],
    [1, 0, 0, 1, 0],
    [1, 0, 0, 0, 1],
    [1, 1, 0, 0, 1],
]
GDL_THETA = [
    [0, 1, 0, 0, 0, 1, 0, 0, 0],
    [0, 0, 1, 0, 0, 0, 0, 0, 0],
    [0, 0, 0, 1, 0, 0, 0, 0, 0],
    [0, 0, 0, 0, 1, 0, 0, 0, 0],
    [1, 0, 0, 0, 0, 0, 0, 0, 0],
    [1, 0, 0, 0, 0, 0, 1, 0, 0],
    [1, 0, 0, 0, 0, 0, 0, 1, 0],
    [1, 0, 0, 0, 0, 0, 0, 0, 1],
    [1, 0, 0, 0, 0, 0, 0, 0, 0],
]


def made(text: str) -> Any:
    return make(Kind.ENVIRONMENT, parse(Kind.ENVIRONMENT, text))


def drawn(environment_class: EnvironmentClass, seed: int = 0) -> Instance:
    return environment_class.draw(np.random.default_rng(seed))


# The distributions of the paper


def test_generalised_chain_is_that_of_the_appendix() -> None:
    known = made("gc").distribution()
    for action in range(3):
        np.testing.assert_array_equal(known.theta[:, action], GC_THETA)
        np.testing.assert_array_equal(known.rewards[:, action], [[2, 0, 0, 0, 10]] * 5)
    assert known.actions == 3
    assert known.initial.tolist() == [1, 0, 0, 0, 0]
    library = made("gc(variant=library)").distribution().theta
    np.testing.assert_array_equal(library[:4], known.theta[:4])
    np.testing.assert_array_equal(library[4], [[1, 0, 0, 0, 1]] * 3)


def test_generalised_double_loop_is_that_of_the_appendix() -> None:
    known = made("gdl").distribution()
    rewards = np.zeros((9, 9))
    rewards[5 - 1, 1 - 1], rewards[9 - 1, 1 - 1] = 1, 2
    for action in range(2):
        np.testing.assert_array_equal(known.theta[:, action], GDL_THETA)
        np.testing.assert_array_equal(known.rewards[:, action], rewards)
    assert known.actions == 2
    assert known.initial.tolist() == [1] + [0] * 8


@pytest.mark.parametrize(
    ("label", "order"),
    [("grid", "up down left right"), ("grid(variant=library)", "left right up down")],
)
def test_grid_is_that_of_the_appendix(label: str, order: str) -> None:
    known = made(label).distribution()

    def n(i: int, j: int) -> int:
        return 5 * (i - 1) + j - 1  # the states of the paper count from 1

    theta, rewards = np.zeros((25, 4, 25)), np.zeros((25, 4, 25))
    up, down, left, right = (order.split().index(move) for move in ["up", "down", "left", "right"])
    for i in range(1, 6):
        for j in range(1, 6):
            theta[n(i, j), :, n(i, j)] = 1
            if i - 1 >= 1:
                theta[n(i, j), up, n(i - 1, j)] = 1
            if i + 1 <= 5 and (i, j) != (4, 5):
                theta[n(i, j), down, n(i + 1, j)] = 1
            if j - 1 >= 1:
                theta[n(i, j), left, n(i, j - 1)] = 1
            if j + 1 <= 5 and (i, j) != (5, 4):
                theta[n(i, j), right, n(i, j + 1)] = 1
    for cell, move in ((n(4, 5), down), (n(5, 4), right)):
        theta[cell, move, 0], rewards[cell, move, 0] = 1, 10
    np.testing.assert_array_equal(known.theta, theta)
    np.testing.assert_array_equal(known.rewards, rewards)
    assert known.initial[0] == 1


@pytest.mark.parametrize(
    ("name", "variant"), [("gc", ""), ("gdl", ""), ("grid", ""), ("grid", "library-")]
)
def test_uniform_variants_keep_all_but_theta(name: str, variant: str) -> None:
    known = made(f"{name}(variant={variant.strip('-') or 'paper'})").distribution()
    flat = made(f"{name}(variant={variant}uniform)").distribution()
    assert (flat.theta == 1).all()
    np.testing.assert_array_equal(flat.rewards, known.rewards)
    np.testing.assert_array_equal(flat.initial, known.initial)


@pytest.mark.parametrize(
    ("label", "published", "half_width"),
    [("gc(variant=library)", 31.12, 0.9), ("gdl", 2.79, 0.07), ("grid", 0.22, 0.06)],
)
def test_the_random_agent_gets_what_was_published(
    label: str, published: float, half_width: float
) -> None:
    """Figure 9. With the GC row of the appendix its expected score would be 28.8."""
    known = made(label).distribution()
    rng = np.random.default_rng(0)
    transitions = np.array([known.draw(rng) for _ in range(1000)])
    rewards = (transitions * known.rewards).sum(axis=3).mean(axis=2)
    matrices = np.eye(known.states) - 0.95 * transitions.mean(axis=2)
    scores = np.linalg.solve(matrices, rewards[:, :, np.newaxis])[:, 0, 0]
    assert abs(scores.mean() - published) < half_width


# Instances


def test_an_instance_has_what_the_class_does_not_know() -> None:
    grid = Grid()
    instance = drawn(grid)
    assert set(instance.data) == {"successors", "probabilities"}
    assert len(json.dumps(instance.data)) < 5000
    transitions = np.array(told(grid, instance)["transitions"])
    np.testing.assert_array_equal(transitions > 0, grid.distribution().possible)
    np.testing.assert_allclose(transitions.sum(axis=2), 1)
    expected = grid.distribution().draw(np.random.default_rng(0))
    np.testing.assert_allclose(transitions, expected, rtol=1e-12)


def test_complexity_is_the_number_of_possible_transitions() -> None:
    for label, transitions in {"gc": 33, "gc(variant=library)": 30, "gdl": 26, "grid": 180}.items():
        mdps = made(label)
        assert mdps.complexity_range() == (transitions, transitions)
        assert mdps.complexity(drawn(mdps)) == transitions
        assert mdps.draw(np.random.default_rng(0), transitions) == drawn(mdps)
    with pytest.raises(InvalidInputError, match="have complexity 33, not 5"):
        made("gc").draw(np.random.default_rng(0), 5)


@pytest.mark.parametrize(
    "wrong",
    [
        {"successors": [[[0]]], "probabilities": [[[1.0]]]},
        {"successors": [[[0], [2]]] * 2, "probabilities": [[[1.0], [1.0]]] * 2},
        {"successors": [[[0], [1]]] * 2, "probabilities": [[[1.0], [0.5]]] * 2},
        {"successors": [[[0], []]] * 2, "probabilities": [[[1.0], []]] * 2},
    ],
)
def test_an_instance_that_kernels_cannot_trust_is_not_built(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInputError, match=r"does not have 2 states|are not a distribution"):
        MDP().build(Instance(wrong))


# How they move


def told(environment_class: EnvironmentClass, instance: Instance) -> Any:
    seen = environment_class.with_views(["model"])
    return seen.build(instance).briefing().remarks


def successors(mdps: EnvironmentClass, seed: int, policy: Any, steps: int = 400) -> Any:
    """The successors of each pair, visit by visit, under a policy."""
    environment = mdps.build(drawn(mdps))
    state: Any = environment.start(np.random.default_rng(seed)).observation
    visits: dict[tuple[int, int], list[int]] = {}
    for number in range(steps):
        action = policy(number, state)
        before, state = state, environment.step(action).observation
        visits.setdefault((before, action), []).append(state)
    return visits


def test_what_a_visit_brings_depends_on_nothing_else() -> None:
    first = successors(Grid(), 5, lambda number, state: number % 4)
    second = successors(Grid(), 5, lambda number, state: (state * 7 + number // 3) % 4)
    other = successors(Grid(), 6, lambda number, state: number % 4)
    shared = [pair for pair in first if len(second.get(pair, ())) >= 3 and len(first[pair]) >= 3]
    assert len(shared) > 10
    for pair in shared:
        length = min(len(first[pair]), len(second[pair]))
        assert first[pair][:length] == second[pair][:length]
    assert first != other


def test_transitions_follow_the_probabilities() -> None:
    mdps = MDP(theta=np.ones((3, 2, 3)).tolist(), rewards=[0, 0, 0])
    transitions = np.array(told(mdps, drawn(mdps))["transitions"])
    rng = np.random.default_rng(1)
    visits = successors(mdps, 2, lambda number, state: rng.integers(2), steps=20_000)
    for (state, action), reached in visits.items():
        counts = np.bincount(reached, minlength=3)
        assert chisquare(counts, transitions[state, action] * len(reached)).pvalue > 1e-4
        # successive visits are independent: pairs of successors are as often as they must be
        joint = np.bincount(np.array(reached[:-1]) * 3 + reached[1:], minlength=9)
        expected = np.outer(transitions[state, action], transitions[state, action]).ravel()
        assert chisquare(joint, expected * (len(reached) - 1)).pvalue > 1e-4


def test_noise_is_uniform_and_independent_over_pairs_and_seeds() -> None:
    half = MDP(theta=np.eye(1).reshape(1, 1, 1).tolist(), rewards=[0], variances=[1])
    assert half.build(drawn(half)).rewards == pytest.approx((-8.5716, 8.5716), abs=1e-4)
    mdps = MDP(theta=np.ones((1, 40, 1)).tolist(), rewards=[[[0.0]] * 40], variances=[[[1]] * 40])
    environment = mdps.build(drawn(mdps))
    draws = np.empty((100, 40, 3))  # seed, pair, visit
    for seed in range(100):
        environment.start(np.random.default_rng(seed))
        for visit in range(3):
            draws[seed, :, visit] = [environment.step(action).reward for action in range(40)]
    assert kstest(draws.ravel(), "norm").pvalue > 1e-3
    for axis in range(3):  # neighbours in each direction
        pairs = np.moveaxis(draws, axis, 0)
        correlation = np.corrcoef(pairs[:-1].ravel(), pairs[1:].ravel())[0, 1]
        assert abs(correlation) < 4 / np.sqrt(pairs[1:].size)


def test_the_initial_state_is_drawn() -> None:
    theta = np.ones((4, 1, 4)).tolist()
    mdps = MDP(theta, rewards=[0, 0, 0, 0], initial=[1, 0, 2, 1])
    environment = mdps.build(drawn(mdps))
    seen = [environment.start(np.random.default_rng(seed)).observation for seed in range(800)]
    counts = np.bincount(np.array(seen), minlength=4)
    assert counts[1] == 0
    assert chisquare(counts[[0, 2, 3]], [200, 400, 200]).pvalue > 1e-4
    anywhere = MDP(theta, [0, 0, 0, 0], initial=-1).distribution().initial
    assert anywhere.tolist() == [0.25] * 4


def test_gaussian_rewards_have_their_means_and_variances() -> None:
    mdps = MDP(np.ones((2, 1, 2)).tolist(), rewards=[3, -1], variances=[4, 0])
    environment = mdps.build(drawn(mdps))
    assert environment.rewards == pytest.approx((3 - 2 * 8.5716, 3 + 2 * 8.5716), abs=1e-3)
    environment.start(np.random.default_rng(0))
    percepts = [environment.step(0) for _ in range(4000)]
    first = [reward for reward, state in percepts if state == 0]
    assert {reward for reward, state in percepts if state == 1} == {-1.0}
    assert kstest(first, "norm", (3, 2)).pvalue > 1e-3


GAUSSIAN = {"theta": np.ones((3, 2, 3)).tolist(), "rewards": [0, 1, 2], "variances": [1, 0, 2]}


def rewards_of_a_run() -> list[float]:
    mdps = MDP(**GAUSSIAN)
    spec = Spec("mdp-v1", GAUSSIAN)
    exercise = Exercise(Spec("random-v1"), spec, drawn(mdps), Budget(200), seed=4, number=0)
    agent = make(Kind.AGENT, exercise.agent)
    [trace] = run_single(mdps, lambda: agent, [exercise])
    rewards: list[float] = trace.rewards.tolist()
    return rewards


def test_compiled_and_plain_normal_variates_are_the_same() -> None:
    source = "import test_mdp; print(test_mdp.rewards_of_a_run())"
    done = subprocess.run(
        [sys.executable, "-c", source],
        cwd=Path(__file__).parent,
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == rewards_of_a_run()


def test_unbounded_rewards_can_be_evaluated() -> None:
    """The range of rewards is infinite, and so are the bounds of payoffs."""
    spec = Spec("mdp-v1", GAUSSIAN)
    for payoff in ("planned-average", "total", "discounted"):
        result = omnimeter.evaluate(
            "random", spec, exercises=5, interactions=50, payoff=payoff, seed=0
        )
        score = result.scores["random-v1"]
        assert score.value is not None
        assert score.faults == {}
        assert score.interval.low < score.value < score.interval.high


def test_rescaled_rewards_lie_between_minus_1_and_1() -> None:
    for label in ("gc", "gdl", "grid", "grid(variant=uniform)"):
        known = made(label).distribution()
        rescaled = made(label[:-1] + ",rescale=true)" if "(" in label else f"{label}(rescale=true)")
        low, high = known.reward_range()
        paid = rescaled.distribution()
        assert paid.reward_range() == (-1, 1)
        assert rescaled.build(drawn(rescaled)).rewards == (-1, 1)
        expected = 2 * (known.rewards - low) / (high - low) - 1
        np.testing.assert_allclose(paid.rewards, expected, atol=1e-15)
    gaussian = MDP(**GAUSSIAN, rescale=True).distribution()
    assert gaussian.variances is not None
    assert gaussian.variances[0, 0].tolist() == [1, 0, 2]  # from 0 to 2 nothing is stretched
    constant = MDP(np.ones((1, 1, 1)).tolist(), [7], rescale=True).distribution()
    assert constant.reward_range() == (0, 0)


def test_first_reward_lies_in_the_range() -> None:
    theta = np.ones((2, 1, 2)).tolist()
    for rewards, first in (([3, 4], 3), ([-3, -4], -3), ([-1, 1], 0)):
        mdps = MDP(theta, rewards)
        assert mdps.build(drawn(mdps)).start(np.random.default_rng(0)).reward == first


def test_the_audit_reports_the_balance_and_cuts_long_witnesses(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command = "omnimeter audit grid --set rescale=true --instances 2 --interactions 100"
    monkeypatch.setattr(sys, "argv", command.split())
    monkeypatch.setenv("COLUMNS", "100")
    with pytest.raises(SystemExit) as leaving:
        main()
    assert leaving.value.code in (None, 0)
    printed = " ".join(capsys.readouterr().out.split())
    assert "fails balance no A random agent's mean reward is -" in printed
    assert "(--json shows all)" in printed
    assert len(printed) < 5000


# Views and scenes


def test_the_model_is_told_in_its_view_only() -> None:
    chain = GeneralisedChain(rescale=True)
    instance = drawn(chain)
    plain = chain.build(instance).briefing()
    assert (plain.view, dict(plain.remarks)) == ("state", {})
    remarks = told(chain, instance)
    assert np.array(remarks["transitions"]).shape == (5, 3, 5)
    np.testing.assert_array_equal(remarks["rewards"], chain.distribution().rewards)
    json.dumps(remarks)
    assert chain.with_views(["model"]).draw(np.random.default_rng(0)) == instance
    assert chain.with_views(["else"]) is chain.with_views([None]) is chain
    with pytest.raises(InvalidInputError, match="has one seat"):
        chain.with_views([None, None])


def test_scenes_show_states_transitions_and_actions() -> None:
    for mdps in (GeneralisedChain(), GeneralisedDoubleLoop(), Grid(), MDP()):
        known = mdps.distribution()
        scene = mdps.scene(drawn(mdps), 1, 2.0)
        json.dumps(scene)
        assert (scene["kind"], scene["state"], scene["reward"]) == ("mdp", 1, 2.0)
        assert len(scene["states"]) == known.states
        assert len({tuple(each["position"]) for each in scene["states"]}) == known.states
        assert len(scene["buttons"]) == known.actions
        shown = np.zeros(known.theta.shape, dtype=bool)
        for edge in scene["transitions"]:
            for action in edge["actions"]:
                shown[edge["from"], action, edge["to"]] = True
                assert known.rewards[edge["from"], action, edge["to"]] == edge["reward"]
        np.testing.assert_array_equal(shown, known.possible)
    grid = Grid("library").scene(drawn(Grid("library")), 0)
    assert grid["buttons"] == ["left", "right", "up", "down"]
    assert [grid["states"][cell]["name"] for cell in (0, 1, 24)] == ["S", "1,2", "G"]


# What is refused


def nested(theta: FloatArray) -> str:
    return json.dumps(theta.tolist())


ONES = np.ones((2, 2, 2))
NEGATIVE, EMPTY = ONES.copy(), ONES.copy()
NEGATIVE[1, 0, 1] = -1
EMPTY[1, 1] = 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"mdp(theta={nested(NEGATIVE)},rewards=[0,1])", "state 1, action 0, successor 1 is -1"),
        (f"mdp(theta={nested(EMPTY)},rewards=[0,1])", "state 1, action 1 sums to 0"),
        (f"mdp(theta={nested(ONES)},rewards=[0,1,2])", r"rewards has the shape \(3,\), but theta"),
        (f"mdp(theta={nested(ONES)},rewards=[0,1],initial=2)", "initial state 2 does not exist"),
        (f"mdp(theta={nested(ONES)},rewards=[0,1],initial=[1,0,0])", "does not fit 2 states"),
        (f"mdp(theta={nested(ONES)},rewards=[0,1],variances=[0,-1])", "variance is negative"),
        (f"mdp(theta={nested(ONES)},rewards=[[1],[1,2]])", "rewards is not an array of numbers"),
        ("mdp(theta=[1,2],rewards=[0,1])", r"theta has the shape \(2,\)"),
        (f"mdp(theta={nested(ONES)})", "theta without rewards"),
        ("mdp(rewards=[0,1])", "rewards without theta"),
        ("mdp(rewardz=[0,1])", "no parameter 'rewardz'. Did you mean 'rewards'"),
        ("gc(varaint=paper)", "no parameter 'varaint'. Did you mean 'variant'"),
        ("gdl(variant=library)", "'variant' of gdl-v1 cannot be \"library\""),
    ],
)
def test_wrong_parameters_are_named(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        made(text)
