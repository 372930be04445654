"""Environments of Gymnasium as an environment class."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import omnimeter as om
from omnimeter.audits import audit
from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    EnvironmentClass,
    Instance,
    InvalidInputError,
    OmnimeterError,
    Spec,
    UnknownNameError,
)
from omnimeter.environments import gymnasium_class
from omnimeter.execution.workers import is_untrusted
from omnimeter.testing import EnvironmentClassSuite

LESSON = "gymnasium_worlds:Lesson-v0"


def made(name: str = LESSON, **parameters: Any) -> EnvironmentClass:
    spec = Spec("gymnasium-v1", {"id": name, **parameters})
    environment_class: EnvironmentClass = make(Kind.ENVIRONMENT, spec)
    return environment_class


def drawn(environment_class: EnvironmentClass, seed: int = 0) -> Instance:
    return environment_class.draw(np.random.default_rng(seed))


def started(environment_class: EnvironmentClass, seed: int = 0) -> tuple[Any, Any]:
    environment = environment_class.build(drawn(environment_class, seed))
    return environment, environment.start(np.random.default_rng(0))


# Episodes


def test_episodes_are_joined_by_a_step_that_resets() -> None:
    environment, first = started(made(low=-4, high=4))
    assert (first.reward, first.observation) == (0.0, 2)
    rewards = [environment.step(0).reward for _ in range(8)]
    assert rewards == [0.25, 0.5, 0.75, 0.0, 0.25, 0.5, 0.75, 0.0]  # truncated
    rewards = [environment.step(1).reward for _ in range(5)]
    assert rewards == [0.5, 0.75, 1.0, 0.0, 0.5]  # terminated
    assert environment.start(np.random.default_rng(1)) == first  # in the middle of an episode
    assert environment.step(0).reward == 0.25


def test_the_first_reset_has_the_seed_and_the_others_have_none() -> None:
    theirs = gymnasium.make("FrozenLake-v1")
    environment, first = started(made("FrozenLake-v1"), seed=5)
    seed = drawn(made("FrozenLake-v1"), 5).data["seed"]
    assert first.observation == theirs.reset(seed=seed)[0]
    over, rng = False, np.random.default_rng(2)
    for action in rng.integers(4, size=2000).tolist():
        percept = environment.step(action)
        if over:
            (observation, _), reward, over = theirs.reset(), 0.0, False
        else:
            observation, reward, terminated, truncated, _ = theirs.step(action)
            over = terminated or truncated
        assert (percept.observation, percept.reward) == (observation, 2 * float(reward) - 1)


@pytest.mark.parametrize("action", [-1, 2])
def test_an_action_that_does_not_exist(action: int) -> None:
    environment, _ = started(made())
    with pytest.raises(ValueError, match=f"no action {action}"):
        environment.step(action)


# Rewards


def test_the_range_is_that_of_random_steps_and_told_by_the_instance() -> None:
    data = drawn(made()).data
    assert {name: data[name] for name in ("low", "high")} == {"low": 0.0, "high": 4.0}
    assert drawn(made("CartPole-v1")).data["high"] == 1.0
    assert drawn(made("MountainCar-v0")).data["low"] == -1.0
    given = drawn(made(low=2, high=3)).data
    assert (given["low"], given["high"]) == (2.0, 3.0)


def test_nothing_lies_in_the_range_where_it_is_nearest_to_zero() -> None:
    assert started(made(low=1, high=5))[1].reward == -1.0
    assert started(made(low=-5, high=-1, arguments={"scale": -1.0}))[1].reward == 1.0


def test_rewards_outside_of_the_range_are_cut_off_and_announced_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gymnasium_class, "_cut", set())
    environment, _ = started(made(low=-2, high=2))
    assert environment.step(1).reward == 1.0
    with pytest.warns(UserWarning, match=r"Lesson-v0 gave the reward 3, .* between -2 and 2\. All"):
        assert environment.step(1).reward == 1.0
    assert environment.step(1).reward == 1.0


def test_a_reward_that_is_not_a_number_is_an_error() -> None:
    environment, _ = started(made(low=-2, high=2))
    environment._made.unwrapped._scale = float("nan")
    with pytest.raises(OmnimeterError, match="not a number"):
        environment.step(1)


def test_a_range_that_cannot_be_estimated() -> None:
    with pytest.raises(InvalidInputError, match=r"cannot be estimated: in 20,000 .* Give low"):
        drawn(made(arguments={"scale": 0.0}))


# Observations


@pytest.mark.parametrize(
    ("space", "parameters", "sizes", "expected"),
    [
        ("discrete", {}, (3,), 2),
        ("several", {}, (2, 3, 4, 5), [0, 2, 3, 4]),
        ("binary", {}, (2, 2, 2), [1, 0, 1]),
        ("integers", {}, (5, 256), [0, 255]),
        ("wide", {}, (8,), [5]),
        ("floats", {}, (8, 8), [7, 0]),
        ("floats", {"bins": [10, 4]}, (10, 4), [9, 0]),
        ("open", {}, (8, 8, 8, 8), [7, 7, 0, 0]),
        ("open", {"bins": 10, "clip": [20.0, 40.0, 40.0, 1.0]}, (10,) * 4, [7, 2, 7, 0]),
        ("tuple", {"bins": 4}, (4, 4, 4, 2), [3, 0, 3, 1]),
    ],
)
def test_observations_become_integers(
    space: str, parameters: dict[str, Any], sizes: tuple[int, ...], expected: Any
) -> None:
    environment, first = started(made(arguments={"space": space}, **parameters))
    assert environment.space.sizes == sizes
    assert environment.space.contains(first.observation)
    assert np.array_equal(first.observation, expected)


def test_intervals_have_the_same_width() -> None:
    environment, _ = started(made("MountainCar-v0", bins=[18, 2]))
    reader = environment._reader
    places = [reader.read(np.array([place, 0.0]))[0] for place in np.linspace(-1.2, 0.6, 181)[:-1]]
    assert np.bincount(places).tolist() == pytest.approx([10] * 18, abs=1)


def test_an_observation_that_is_not_a_number_is_an_error() -> None:
    with pytest.raises(OmnimeterError, match="an observation that is not a number"):
        started(made(arguments={"space": "nan"}, low=0, high=1))


# What cannot be used


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("FrozenLak-v1", {}, "no Gymnasium environment 'FrozenLak-v1'. Did you mean 'FrozenLake-v"),
        ("FrozenLake", {}, "no id of Gymnasium with a version"),
        ("no such id", {}, "no id of Gymnasium with a version"),
        ("no_module:Lesson-v0", {}, "'no_module' of no_module:Lesson-v0 cannot be imported"),
        ("no_module:Lesson-v0", {}, "mostly by 'pip install no_module', or correct the name"),
        (
            "ALE/Pong-v5",
            {},
            "needs its module before the id, 'ale_py:ALE/Pong-v5', and the package",
        ),
        ("MiniGrid-Empty-5x5-v0", {}, "before the id, 'minigrid:MiniGrid-Empty-5x5-v0'"),
        ("unknown/FrozenLake-v1", {}, "before the id, 'its_module:unknown/FrozenLake-v1'"),
        ("gymnasium_worlds:Lessons-v0", {}, "'Lessons-v0'. Did you mean 'Lesson-v0'"),
        ("Pendulum-v1", {}, "Pendulum-v1 has no finite number of actions: Box"),
        (LESSON, {"arguments": {"actions": "box"}}, "no finite number of actions"),
        (LESSON, {"arguments": {"space": "dict"}}, r"cannot be read: Dict.* FlattenObservation"),
        (LESSON, {"arguments": {"space": "text"}}, "cannot be read: Text"),
        (LESSON, {"arguments": {"spaces": 1}}, "cannot make .*: TypeError"),
        (LESSON, {"low": 1}, "Give both low and high"),
        (LESSON, {"low": 1, "high": 1}, "cannot lie between 1 and 1"),
        (LESSON, {"bins": 0}, "divided into 0 intervals"),
        (LESSON, {"clip": -1}, "as far as -1"),
        (LESSON, {"bins": [2]}, "bins has 1 values, but 0 components"),
        ("CartPole-v1", {"clip": [2, 3]}, "clip has 2 values, but 4 components"),
        ("CartPole-v1", {"clip": []}, "clip has 0 values"),
        (LESSON, {"bins": "many"}, "'bins' of gymnasium-v1 cannot be"),
    ],
)
def test_bad_input_gets_one_message(name: str, parameters: dict[str, Any], message: str) -> None:
    with pytest.raises((InvalidInputError, UnknownNameError), match=message):
        made(name, **parameters)


def test_there_is_one_complexity() -> None:
    lake = made("FrozenLake-v1")
    assert lake.complexity_range() == (1.0, 1.0)
    assert lake.draw(np.random.default_rng(0), 1).key == drawn(lake).key
    with pytest.raises(InvalidInputError, match="nothing of complexity 3: Gymnasium grades"):
        lake.draw(np.random.default_rng(0), 3)
    assert lake.draw_between(np.random.default_rng(0), 2, 5) is None


# Repeatable


class TestFloats(EnvironmentClassSuite):
    environment_class = made("CartPole-v1", bins=5, clip=3)


class TestOurOwn(EnvironmentClassSuite):
    environment_class = made(
        "omnimeter.gymnasium_adapter:omnimeter/cups-v1", arguments={"interactions": 7}
    )


class TestThirdParty(EnvironmentClassSuite):
    environment_class = made("gymnasium_worlds:lessons/Rebuilt-v2")


def test_a_copy_that_would_have_no_state_is_refused() -> None:
    environment, _ = started(made("gymnasium_worlds:lessons/Rebuilt-v2"))
    with pytest.raises(TypeError, match="cannot be copied in the middle"):
        pickle.dumps(environment)
    environment, _ = started(made())
    environment.step(0)
    again = pickle.loads(pickle.dumps(environment))
    assert again.step(0) == environment.step(0)


def test_traces_are_the_same_in_one_process_and_in_several(monkeypatch: Any) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "support"))
    for name in ("CartPole-v1", LESSON):
        spec = Spec("gymnasium-v1", {"id": name})
        results = [
            om.evaluate(
                ["q-learning", "random"], spec, exercises=4, interactions=200, seed=1,
                traces=True, workers=workers,
            )
            for workers in (1, 2)
        ]  # fmt: skip
        seen = [
            [[each.payoff for each in done] for done in result.outcomes.values()]
            for result in results
        ]
        assert seen[0] == seen[1]
        assert len({payoff for done in seen[0] for payoff in done}) > 2


def test_the_audit_tells_what_does_not_hold() -> None:
    findings = {
        each.check: each
        for each in audit(made("CartPole-v1"), instances=2, interactions=300).findings
    }
    assert findings["balance"].passed is False
    assert not findings["balance"].claimed
    assert not findings["sensitivity"].claimed
    assert all(findings[name].passed for name in ("range", "determinism", "rebuild"))


# Trust


def test_a_module_is_imported_only_with_consent(tmp_path: Path) -> None:
    assert is_untrusted(Spec("gymnasium-v1", {"id": LESSON}))
    assert not is_untrusted(Spec("gymnasium-v1"))
    source = f"""
import sys
import omnimeter as om
from omnimeter.contract import OmnimeterError, Spec
where, step = sys.argv[1:]
if step == "run":
    spec = Spec("gymnasium-v1", {{"id": {LESSON!r}}})
    om.evaluate("random", spec, exercises=2, interactions=5, seed=0, out=where)
else:
    try:
        print(len(om.load(where, trust=step == "trust").scores))
    except OmnimeterError as error:
        print(error)
"""
    canary = tmp_path / "canary"
    environment = {
        **os.environ,
        "CANARY": str(canary),
        "PYTHONPATH": str(Path(__file__).parents[1] / "support"),
    }

    def run(step: str) -> str:
        command = [sys.executable, "-c", source, str(tmp_path / "e"), step]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    run("run")
    assert canary.exists()
    canary.unlink()
    assert "--trust" in run("read")
    assert not canary.exists()
    assert run("trust") == "1\n"
