"""Vectors of the Gymnasium adapter: they do exactly what single environments do."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from gymnasium_parts import BANANAS, OURS, THIRD_PARTY, python, third_party  # noqa: F401 - a fixture
from omnimeter.contract import InvalidInputError, UnknownNameError
from omnimeter.gymnasium_adapter import OmnimeterVectorEnv


def assert_equal_to_singles(name: str, count: int, steps: int, seed: int, **arguments: Any) -> None:
    """Step our vector and Gymnasium's own loop over single environments; all must be equal."""
    ours = gymnasium.make_vec(name, count, **arguments)
    theirs = gymnasium.make_vec(name, count, vectorization_mode="sync", **arguments)
    assert isinstance(ours, OmnimeterVectorEnv)
    assert ours.metadata["autoreset_mode"] is theirs.metadata["autoreset_mode"]
    for space in ("action_space", "observation_space"):
        assert getattr(ours, space) == getattr(theirs, space)
        assert getattr(ours, f"single_{space}") == getattr(theirs, f"single_{space}")
    mine, my_info = ours.reset(seed=seed)
    other, info = theirs.reset(seed=seed)
    assert np.array_equal(mine, other)
    assert np.array_equal(my_info["complexity"], info["complexity"])
    assert np.array_equal(my_info["first_reward"], info["first_reward"])
    ours.action_space.seed(seed)
    for _ in range(steps):
        actions = ours.action_space.sample()
        mine, *my_rest, my_info = ours.step(actions)
        other, *rest, info = theirs.step(actions)
        assert mine in ours.observation_space
        assert mine.dtype == other.dtype
        assert np.array_equal(mine, other)
        for one, another in zip(my_rest, rest, strict=True):
            assert one.dtype == another.dtype
            assert np.array_equal(one, another)
        assert my_info.keys() == info.keys()


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("interactions", [None, 4])
def test_a_vector_equals_single_environments(name: str, interactions: int | None) -> None:
    assert_equal_to_singles(name, count=5, steps=20, seed=11, interactions=interactions)


@pytest.mark.usefixtures("third_party")
@pytest.mark.parametrize("name", THIRD_PARTY)
def test_third_party_vector_equals_single_environments(name: str) -> None:
    assert_equal_to_singles(name, count=5, steps=20, seed=11, interactions=4)


def test_a_vector_of_single_observations_equals_single_environments() -> None:
    assert_equal_to_singles(
        "omnimeter/buttons-v1", count=3, steps=20, seed=2, interactions=7, **BANANAS
    )


def test_a_vector_with_a_fixed_instance_equals_single_environments() -> None:
    data = {"colours": "BWBW", "rule": "rest"}
    assert_equal_to_singles(
        "omnimeter/cups-v1", count=3, steps=20, seed=2, interactions=7, instance=data
    )


@settings(max_examples=10)
@given(
    seed=st.integers(0, 2**31),
    count=st.integers(1, 6),
    interactions=st.integers(1, 5),
    complexity=st.integers(3, 9),
)
def test_vectors_equal_single_environments_whatever_they_are(
    seed: int, count: int, interactions: int, complexity: int
) -> None:
    name, kind = "omnimeter/cups-v1", {"rule": "rest", "complexity": complexity}
    assert_equal_to_singles(
        name, count=count, steps=8, seed=seed, interactions=interactions, **kind
    )


def test_seeds_count_upwards_from_the_first() -> None:
    vector = gymnasium.make_vec("omnimeter/cups-v1", 3)
    _, infos = vector.reset(seed=7)
    _, listed = vector.reset(seed=[7, 8, 9])
    assert list(infos["instance"]) == list(listed["instance"])
    env = gymnasium.make("omnimeter/cups-v1")
    assert list(infos["instance"]) == [env.reset(seed=7 + at)[1]["instance"] for at in range(3)]


def test_compiled_and_plain_vectors_are_equal() -> None:
    source = """
import gymnasium, omnimeter.gymnasium_adapter
vector = gymnasium.make_vec("omnimeter/buttons-v1", 4, interactions=3)
vector.reset(seed=5)
vector.action_space.seed(5)
for _ in range(10):
    observations, rewards, *_ = vector.step(vector.action_space.sample())
    print(observations.tolist(), rewards.tolist())
"""
    assert python(source) == python(source, NUMBA_DISABLE_JIT="1")


def test_max_episode_steps_truncates_too() -> None:
    vector = gymnasium.make_vec("omnimeter/cups-v1", 2, max_episode_steps=2, interactions=9)
    vector.reset(seed=0)
    truncated = [vector.step(np.zeros(2, dtype=int))[3].tolist() for _ in range(4)]
    assert truncated == [[False, False], [True, True], [False, False], [False, False]]
    assert vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


def test_a_manual_reset_replaces_the_automatic_one() -> None:
    data = {"colours": "BBB", "rule": "rest"}
    vector = gymnasium.make_vec("omnimeter/cups-v1", 1, instance=data, interactions=1)
    vector.reset()
    assert vector.step(np.array([0]))[3].tolist() == [True]
    vector.reset()
    observations, _, _, truncated, infos = vector.step(np.array([0]))
    assert observations.tolist() == [[1, 1, 0]]
    assert truncated.tolist() == [True]
    assert infos == {}


def test_a_mask_resets_some_and_leaves_the_others_alone() -> None:
    vector = gymnasium.make_vec("omnimeter/cups-v1", 3, complexity=6, interactions=4)
    alone = gymnasium.make("omnimeter/cups-v1", complexity=6)
    vector.reset(seed=0)
    alone.reset(seed=1)
    actions = np.array([0, 1, 2])
    expected = [alone.step(1)[:2] for _ in range(4)]
    before = vector.step(actions)[0]
    mask = np.array([True, False, True])
    observations, infos = vector.reset(seed=40, options={"reset_mask": mask})
    assert np.array_equal(observations[1], before[1])
    fresh = [alone.reset(seed=40 + at)[1]["instance"] for at in (0, 2)]
    assert infos["instance"][mask].tolist() == fresh
    assert infos["instance"][1] is None
    assert infos["_instance"].tolist() == mask.tolist()
    for number in range(1, 4):
        observations, rewards, _, truncated, _ = vector.step(actions)
        assert np.array_equal(observations[1], expected[number][0])
        assert rewards[1] == expected[number][1]
        assert truncated.tolist() == [False, number == 3, False]


def test_states_of_another_size_fit() -> None:
    shorter = {
        "scenes": [[2], [0]],
        "pays": [[1.0, 0.0, 0.0], [0.0, 0.0, 1.0]],
        "order": "turn",
        "values": [3],
        "first_reward": 0.25,
        "shrink": 0.5,
        "rewards": [0.0, 1.0],
    }
    vector = gymnasium.make_vec("omnimeter/buttons-v1", 3, **BANANAS)
    singles = [gymnasium.make("omnimeter/buttons-v1", **BANANAS) for _ in range(3)]
    vector.reset(seed=0)
    for at, env in enumerate(singles):
        env.reset(seed=at)
    mask = np.array([False, True, False])
    seen, infos = vector.reset(options={"reset_mask": mask, "instance": shorter})
    assert seen[1] == singles[1].reset(options={"instance": shorter})[0]
    assert infos["first_reward"].tolist() == [0.0, 0.25, 0.0]
    assert infos["complexity"].tolist() == [0.0, 2.0, 0.0]
    for _ in range(10):
        seen, rewards, *_ = vector.step(np.array([0, 2, 1]))
        expected = [env.step(action)[:2] for env, action in zip(singles, (0, 2, 1), strict=True)]
        assert list(zip(seen.tolist(), rewards.tolist(), strict=True)) == expected


def test_results_are_copies_by_default() -> None:
    def steps(**arguments: Any) -> list[Any]:
        vector = gymnasium.make_vec("omnimeter/cups-v1", 2, **arguments)
        vector.reset(seed=0)
        return [vector.step(np.zeros(2, dtype=int)) for _ in range(2)]

    first, second = steps()
    assert not any(np.shares_memory(first[at], second[at]) for at in range(4))
    first, second = steps(copy=False)
    assert np.shares_memory(first[0], second[0])
    assert np.shares_memory(first[1], second[1])


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([0, 1], "array of 3 integers"),
        ([0.0, 1.0, 2.0], "array of 3 integers"),
        ([0, 1, 3], "no action 3.* An action is an integer from 0 to 2"),
        ([0, -1, 2], "no action -1"),
    ],
)
def test_actions_that_cannot_be_taken(actions: list[Any], message: str) -> None:
    vector = gymnasium.make_vec("omnimeter/cups-v1", 3, complexity=3)
    vector.reset(seed=0)
    with pytest.raises(InvalidInputError, match=message):
        vector.step(np.array(actions))


def test_bad_input_to_a_vector() -> None:
    vector = gymnasium.make_vec("omnimeter/cups-v1", 2)
    with pytest.raises(ResetNeeded):
        vector.step(np.zeros(2, dtype=int))
    with pytest.raises(ResetNeeded, match="all environments before some"):
        vector.reset(options={"reset_mask": np.array([True, False])})
    with pytest.raises(InvalidInputError, match="3 seeds for 2"):
        vector.reset(seed=[1, 2, 3])
    with pytest.raises(InvalidInputError, match="array of 2 booleans"):
        vector.reset(options={"reset_mask": [True, False]})
    with pytest.raises(UnknownNameError, match="complexity"):
        vector.reset(options={"complexty": 3})
    with pytest.raises(InvalidInputError, match="0 environments"):
        OmnimeterVectorEnv("cups-v1", num_envs=0)


def test_rendering_a_vector() -> None:
    data = {"colours": "BWB", "rule": "rest"}
    vector = gymnasium.make_vec("omnimeter/cups-v1", 2, instance=data, render_mode="ansi")
    vector.reset()
    assert vector.render() == ("kind: cups\ncups: black white black\nbuttons: B1 B2 B3",) * 2
    assert gymnasium.make_vec("omnimeter/cups-v1", 2).render() is None
