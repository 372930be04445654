"""Classes with several seats as parallel environments of PettingZoo."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.utils.seeding import np_random

pytest.importorskip("pettingzoo", reason="the extra pettingzoo is not installed")
from pettingzoo.test import parallel_api_test, parallel_seed_test

from gymnasium_parts import python
from omnimeter.catalogue import Kind, listing, make
from omnimeter.contract import InvalidInputError, Spec
from omnimeter.gymnasium_adapter.parallel import OmnimeterParallelEnv

CELLS = {"cells": 4, "actions": 3}


def with_several_seats() -> list[str]:
    names = []
    for entry in listing(Kind.ENVIRONMENT):
        with suppress(InvalidInputError):
            make(Kind.ENVIRONMENT, Spec(entry.id)).with_views([None, None])
            names.append(entry.id)
    return names


SEVERAL = with_several_seats()


def test_there_are_classes_with_several_seats() -> None:
    assert "lambda-v1" in SEVERAL


@pytest.mark.parametrize("seats", [1, 2, 3])
@pytest.mark.parametrize("name", SEVERAL)
def test_they_pass_the_tests_of_pettingzoo(
    name: str, seats: int, capsys: pytest.CaptureFixture[str]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for interactions in (None, 20):
            parallel_api_test(OmnimeterParallelEnv(name, seats, interactions=interactions), 100)
        parallel_seed_test(lambda: OmnimeterParallelEnv(name, seats))
    assert capsys.readouterr().out == "Passed Parallel API test\n" * 2


def test_steps_are_those_of_the_environment_with_its_seats() -> None:
    views = ["state", "string"]
    env = OmnimeterParallelEnv("lambda-v1", views=views, **CELLS)
    assert env.observation_space("seat_0") != env.observation_space("seat_1")
    _, infos = env.reset(seed=3)
    assert infos["seat_0"] == infos["seat_1"]
    fixed = OmnimeterParallelEnv(
        "lambda-v1", views=views, instance=infos["seat_0"]["instance"], **CELLS
    )
    seen, infos = fixed.reset(seed=5)
    seated = make(Kind.ENVIRONMENT, Spec("lambda-v1", CELLS)).with_views(views)
    sample = fixed._sample
    assert sample is not None
    environment = seated.build(sample.instance)
    percepts = environment.start_joint(np_random(5)[0])
    assert [each["first_reward"] for each in infos.values()] == [each.reward for each in percepts]
    for actions in np.random.default_rng(0).integers(3, size=(50, 2)).tolist():
        for percept, agent in zip(percepts, fixed.agents, strict=True):
            assert np.array_equal(seen[agent], percept.observation)
            assert seen[agent] in fixed.observation_space(agent)
        percepts = environment.step_joint(actions)
        seen, rewards, terminated, truncated, _ = fixed.step(
            dict(zip(fixed.agents, actions, strict=True))
        )
        assert list(rewards.values()) == [percept.reward for percept in percepts]
        assert not any([*terminated.values(), *truncated.values()])


def test_the_same_seed_gives_the_same_episodes() -> None:
    def episode(seed: int) -> list[Any]:
        env = OmnimeterParallelEnv("lambda-v1", **CELLS)
        seen = [env.reset(seed=seed)]
        seen += [env.step({"seat_0": at % 3, "seat_1": 1})[:2] for at in range(20)]
        return [*seen, env.reset()]

    assert repr(episode(1)) == repr(episode(1))
    assert repr(episode(1)) != repr(episode(2))


def test_all_are_truncated_at_once() -> None:
    env = OmnimeterParallelEnv("lambda-v1", interactions=2, **CELLS)
    env.reset(seed=0)
    actions = dict.fromkeys(env.agents, 0)
    assert env.step(actions)[3] == {"seat_0": False, "seat_1": False}
    assert env.step(actions)[3] == {"seat_0": True, "seat_1": True}
    assert env.agents == []
    with pytest.raises(ResetNeeded):
        env.step(actions)


def test_options_count_for_one_reset_and_foreign_ones_for_none() -> None:
    env = OmnimeterParallelEnv("lambda-v1", **CELLS)
    instance = env.reset(seed=1)[1]["seat_0"]["instance"]
    assert env.reset(options={"instance": instance})[1]["seat_0"]["instance"] == instance
    assert env.reset(seed=1, options={"other": 1})[1]["seat_0"]["instance"] == instance


def test_it_is_rendered_from_the_first_seat() -> None:
    env = OmnimeterParallelEnv("lambda-v1", render_mode="rgb_array", **CELLS)
    with pytest.raises(ResetNeeded):
        env.render()
    env.reset(seed=0)
    assert env.render().shape == (360, 480, 3)  # type: ignore[union-attr]
    text = OmnimeterParallelEnv("lambda-v1", render_mode="ansi", **CELLS)
    text.reset(seed=0)
    assert str(text.render()).startswith("kind: lambda")
    silent = OmnimeterParallelEnv("lambda-v1", **CELLS)
    silent.reset(seed=0)
    assert silent.render() is None


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("cups-v1", {}, "Cups has one seat, not 2"),
        ("lambda-v1", {"seats": 0}, "There cannot be 0 seats"),
        ("lambda-v1", {"views": ["state"]}, "1 views for 2 seats"),
        ("lambda-v1", {"render_mode": "human"}, "Known: rgb_array, ansi"),
        ("lambda-v1", {"interactions": 0}, "0 interactions"),
    ],
)
def test_bad_input(name: str, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        OmnimeterParallelEnv(name, **arguments)


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ({"seat_0": 0}, "Give one for each of seat_0, seat_1"),
        ({}, "actions of no agent"),
        ({"seat_0": 0, "seat_1": 3}, "no action 3"),
        ({"seat_0": 0, "seat_1": 1.0}, "no action 1.0"),
        ({"seat_0": 0, "seat_1": 0, "seat_2": 0}, "Give one for each"),
    ],
)
def test_actions_that_cannot_be_taken(actions: dict[str, Any], message: str) -> None:
    env = OmnimeterParallelEnv("lambda-v1", **CELLS)
    with pytest.raises(ResetNeeded):
        env.step(actions)
    env.reset(seed=0)
    with pytest.raises(InvalidInputError, match=message):
        env.step(actions)


def test_the_adapter_does_without_pettingzoo() -> None:
    source = "import sys, omnimeter.gymnasium_adapter; print('pettingzoo' in sys.modules)"
    assert python(source) == "False"
