"""The Gymnasium adapter: registration, single environments, and what its page shows."""

from __future__ import annotations

import doctest
import os
import runpy
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import NameNotFound, ResetNeeded
from gymnasium.spaces import Discrete, MultiDiscrete
from gymnasium.utils.env_checker import check_env

from gymnasium_parts import BANANAS, OURS, THIRD_PARTY, python, third_party  # noqa: F401 - a fixture
from omnimeter.catalogue import Entry, Kind
from omnimeter.contract import (
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    Percept,
    UnknownNameError,
    single,
)
from omnimeter.gymnasium_adapter import OmnimeterEnv, OmnimeterVectorEnv, register

ROOT = Path(__file__).parents[2]


class Counter(Environment):
    """Shows how often it was acted upon."""

    space = single(4)

    def __init__(self, actions: int) -> None:
        self.actions = actions

    def start(self, rng: np.random.Generator) -> Percept:
        self.count = 0
        return Percept(0.5, 0)

    def step(self, action: int) -> Percept:
        self.count = (self.count + 1) % 4
        return Percept(float(action), self.count)


class Uneven(EnvironmentClass):
    """Draws two or three actions, at the same complexity."""

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"actions": int(rng.integers(2, 4))})

    def complexity(self, instance: Instance) -> float:
        return 1.0

    def build(self, instance: Instance) -> Environment:
        return Counter(instance.data["actions"])


class Growing(Uneven):
    """Never draws the same spaces twice, and has parameters with the names of the adapter's."""

    def __init__(self, complexity: int = 1, interactions: int = 0) -> None:
        self.actions = complexity + interactions

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        self.actions += 1
        return Instance({"actions": self.actions})


def location(kind: type) -> str:
    return f"{__name__}:{kind.__name__}"


# Registration


def test_every_class_of_the_catalogue_is_registered_and_nothing_else() -> None:
    registered = [name for name in gymnasium.registry if name.startswith("omnimeter/")]
    assert sorted(registered) == sorted(OURS)
    assert "omnimeter/cups-v1" in OURS


def test_registering_again_changes_nothing() -> None:
    before = dict(gymnasium.registry)
    register()
    assert before == gymnasium.registry


def test_a_class_that_cannot_be_used_is_explained_by_the_catalogue(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    kind = Kind.ENVIRONMENT
    faulty = [Entry(kind, name, "bad", "1", "bad:Bad") for name in ("cupz-v1", "Not An Id")]
    monkeypatch.setattr("omnimeter.gymnasium_adapter.environment.listing", lambda kind: faulty)
    before = set(gymnasium.registry)
    register()
    assert set(gymnasium.registry) - before == {"omnimeter/cupz-v1"}
    try:
        with pytest.raises(UnknownNameError, match="Did you mean 'cups-v1'"):
            gymnasium.make("omnimeter/cupz-v1")
    finally:
        del gymnasium.registry["omnimeter/cupz-v1"]


@pytest.mark.parametrize("name", ["omnimeter/cups-v1", THIRD_PARTY[0]])
def test_an_id_works_in_a_new_process_with_the_module_before_it(
    plugin_path: str, name: str
) -> None:
    source = f"""
import gymnasium, sys
env = gymnasium.make("omnimeter.gymnasium_adapter:{name}")
observation, info = env.reset(seed=1)
assert env.observation_space.contains(observation)
print(env.spec.id)
"""
    path = os.pathsep.join([plugin_path, os.environ.get("PYTHONPATH", "")])
    assert python(source, PYTHONPATH=path) == name


def test_registration_imports_no_environment_class(plugin_path: str) -> None:
    source = """
import sys, omnimeter.gymnasium_adapter, gymnasium
assert "omnimeter/sample-walk-v1" in gymnasium.registry
heavy = ("omnimeter_sample", "omnimeter.environments.", "numba", "pydantic")
print([name for name in sys.modules if name.startswith(heavy)])
"""
    path = os.pathsep.join([plugin_path, os.environ.get("PYTHONPATH", "")])
    assert python(source, PYTHONPATH=path) == "[]"


def test_gymnasium_is_not_imported_by_the_rest() -> None:
    source = "import sys, omnimeter, omnimeter.interaction.dispatch, omnimeter.catalogue as c\n"
    source += "c.make(c.Kind.ENVIRONMENT, c.parse(c.Kind.ENVIRONMENT, 'cups'))\n"
    assert python(source + "print('gymnasium' in sys.modules)") == "False"


def test_a_misspelt_id_gets_a_hint() -> None:
    with pytest.raises(NameNotFound, match="Did you mean: `cups`"):
        gymnasium.make("omnimeter/cup-v1")


# Single environments


@pytest.mark.parametrize("name", OURS)
def test_our_classes_pass_gymnasiums_check(name: str) -> None:
    check_env(gymnasium.make(name).unwrapped)  # which renders in every mode, too


@pytest.mark.usefixtures("third_party")
@pytest.mark.parametrize("name", THIRD_PARTY)
def test_third_party_classes_pass_gymnasiums_check(name: str) -> None:
    check_env(gymnasium.make(name).unwrapped)


def test_make_wraps_nothing_around_it_that_costs_time() -> None:
    assert type(gymnasium.make("omnimeter/cups-v1")) is OmnimeterEnv


def test_parameters_reach_the_class() -> None:
    env = gymnasium.make("omnimeter/cups-v1", rule="rest", complexity=4)
    _, info = env.reset(seed=0)
    assert info["instance"]["rule"] == "rest"
    assert info["complexity"] == 4.0


def test_an_unknown_parameter_gets_the_catalogues_error() -> None:
    with pytest.raises(InvalidInputError, match=r"no parameter 'ruel'.* mean 'rule'"):
        gymnasium.make("omnimeter/cups-v1", ruel="rest")


def test_parameters_with_the_adapters_own_names_are_given_as_a_dictionary() -> None:
    wanted = {"complexity": 5, "interactions": 7}
    assert OmnimeterEnv(location(Growing), parameters=wanted).action_space == Discrete(13)


def test_the_id_of_another_environment_is_given_as_a_parameter() -> None:
    wanted = {"id": "CartPole-v1", "bins": 3}
    single = gymnasium.make("omnimeter/gymnasium-v1", parameters=wanted)
    many = gymnasium.make_vec("omnimeter/gymnasium-v1", num_envs=2, parameters=wanted)
    assert isinstance(many, OmnimeterVectorEnv)
    for space in (single.observation_space, many.single_observation_space):
        assert space == MultiDiscrete([3] * 4)


def test_spaces() -> None:
    cups = gymnasium.make("omnimeter/cups-v1", complexity=4)
    assert cups.action_space == Discrete(4)
    assert cups.observation_space == MultiDiscrete([2, 2, 2, 2])
    assert gymnasium.make("omnimeter/buttons-v1", **BANANAS).observation_space == Discrete(3)


def test_spaces_are_the_same_whenever_it_is_made() -> None:
    one, other = (gymnasium.make("omnimeter/cups-v1") for _ in range(2))
    assert one.action_space == other.action_space
    assert one.observation_space == other.observation_space


def test_each_reset_draws_another_instance_of_the_same_complexity() -> None:
    env = gymnasium.make("omnimeter/cups-v1", complexity=8)
    infos = [env.reset(seed=3 if number == 0 else None)[1] for number in range(10)]
    assert {info["complexity"] for info in infos} == {8.0}
    assert len({info["instance"]["colours"] for info in infos}) > 5
    again = [env.reset(seed=3 if number == 0 else None)[1] for number in range(10)]
    assert again == infos


def test_info_holds_the_first_reward() -> None:
    _, info = gymnasium.make("omnimeter/buttons-v1", **BANANAS).reset(seed=0)
    assert info["first_reward"] == 1.0


@pytest.mark.parametrize("kind", [dict, Instance])
def test_a_fixed_instance_is_used_at_every_reset(kind: Any) -> None:
    data = {"colours": "BWB", "rule": "rest"}
    env = gymnasium.make("omnimeter/cups-v1", instance=kind(data))
    for _ in range(3):
        observation, info = env.reset()
        assert info["instance"] == data
        assert observation.tolist() == [0, 1, 0]
        env.step(0)


def test_changing_info_does_not_change_the_environment() -> None:
    env = gymnasium.make("omnimeter/buttons-v1")
    _, info = env.reset(seed=0)
    info["instance"]["pays"][0][0] = 99.0
    assert env.reset(seed=0)[1]["instance"]["pays"][0][0] == 0.0


def test_options_count_for_one_reset() -> None:
    env = gymnasium.make("omnimeter/cups-v1", complexity=3)
    data = {"colours": "WWW", "rule": "rest"}
    assert env.reset(seed=0, options={"instance": data})[1]["instance"] == data
    assert env.reset(options={"complexity": 3})[1]["complexity"] == 3.0
    assert {env.reset()[1]["instance"]["rule"] for _ in range(5)} == {"published"}


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"complexity": 4}, InvalidInputError, "4 actions .* was made for 3"),
        ({"instance": {"colours": "WWWW", "rule": "rest"}}, InvalidInputError, "was made for 3"),
        ({"instance": {"colors": "WWW"}}, InvalidInputError, "no instance .* KeyError"),
        ({"complexity": 2}, InvalidInputError, "No cups have complexity 2"),
        ({"complexty": 3}, UnknownNameError, "Did you mean 'complexity'"),
    ],
)
def test_options_that_cannot_be_met(options: Any, error: type[Exception], message: str) -> None:
    env = gymnasium.make("omnimeter/cups-v1", complexity=3)
    with pytest.raises(error, match=message):
        env.reset(options=options)


def test_instance_and_complexity_exclude_each_other() -> None:
    with pytest.raises(InvalidInputError, match="Give one"):
        OmnimeterEnv("cups-v1", complexity=3, instance={"colours": "WWW", "rule": "rest"})


def test_draws_with_other_spaces_are_skipped() -> None:
    env = OmnimeterEnv(location(Uneven))
    expected = env.action_space.n
    for _ in range(20):
        assert env.reset()[1]["instance"]["actions"] == expected


def test_a_class_of_many_spaces_keeps_the_complexity_of_its_first_draw() -> None:
    env = gymnasium.make("omnimeter/cups-v1", max_cups=1000)
    complexities = {env.reset(seed=seed)[1]["complexity"] for seed in range(5)}
    assert complexities == {float(env.action_space.n)}


def test_lambda_environments_of_one_size_have_many_complexities() -> None:
    env = gymnasium.make("omnimeter/lambda-v1", cells=5, actions=3)
    assert len({env.reset(seed=seed)[1]["complexity"] for seed in range(10)}) > 3


def test_a_class_that_never_draws_the_same_spaces_needs_an_instance() -> None:
    with pytest.raises(InvalidInputError, match="Give an instance, a complexity"):
        OmnimeterEnv(location(Growing)).reset()
    env = OmnimeterEnv(location(Growing), instance={"actions": 5})
    assert env.reset()[1]["instance"] == {"actions": 5}


@pytest.mark.parametrize("maximum", [{"interactions": 3}, {"max_episode_steps": 3}])
def test_truncation_never_termination(maximum: dict[str, int]) -> None:
    env = gymnasium.make("omnimeter/cups-v1", **maximum)
    for _ in range(2):
        env.reset()
        ends = [env.step(0)[2:4] for _ in range(3)]
        assert ends == [(False, False), (False, False), (False, True)]


def test_truncation_after_zero_steps_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match="0 interactions"):
        OmnimeterEnv("cups-v1", interactions=0)


@pytest.mark.parametrize("action", [-1, 3, None, 1.0, "left", np.array([0, 1])])
def test_an_action_that_does_not_exist(action: Any) -> None:
    env = gymnasium.make("omnimeter/cups-v1", complexity=3)
    env.reset(seed=0)
    with pytest.raises(InvalidInputError, match="integer from 0 to 2"):
        env.step(action)


@pytest.mark.parametrize("kind", [int, np.int32, np.uint8, np.array])
def test_integers_of_any_kind_are_actions(kind: Any) -> None:
    env = gymnasium.make("omnimeter/cups-v1", instance={"colours": "BBBB", "rule": "rest"})
    env.reset()
    assert env.step(kind(2))[0].tolist() == [0, 1, 1, 0]


def test_step_and_render_need_a_reset() -> None:
    env = gymnasium.make("omnimeter/cups-v1", render_mode="ansi")
    with pytest.raises(ResetNeeded):
        env.step(0)
    with pytest.raises(ResetNeeded):
        env.render()


def test_a_spec_rebuilds_it() -> None:
    data = {"colours": "BWB", "rule": "rest"}
    env = gymnasium.make("omnimeter/cups-v1", instance=data, interactions=5)
    text = env.spec.to_json()
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(text))
    assert again.reset()[1] == env.reset()[1]


# What the documentation shows


def test_the_page_shows_what_happens() -> None:
    page = ROOT / "docs" / "gymnasium.md"
    failures, tried = doctest.testfile(str(page), module_relative=False)
    assert failures == 0
    assert tried > 10


@pytest.mark.parametrize("name", ["gymnasium_cups.py", "gymnasium_lambda.py"])
def test_an_example_registers_the_environments_by_itself(name: str) -> None:
    source = f"import runpy; runpy.run_path({str(ROOT / 'examples' / name)!r})\n"
    source += "import gymnasium; print(gymnasium.make('omnimeter/cups-v1').spec.id)"
    assert python(source) == "omnimeter/cups-v1"


def test_the_example_learns() -> None:
    example = runpy.run_path(str(ROOT / "examples" / "gymnasium_cups.py"))
    table = example["train"](reports=[30])
    assert np.mean([example["evaluate"](table, seed, 200) for seed in range(5)]) > 0.05


def test_the_lambda_example_learns() -> None:
    example = runpy.run_path(str(ROOT / "examples" / "gymnasium_lambda.py"))
    first, last = example["train"](steps=20_000, reports=2)
    assert 0.4 < first < last
