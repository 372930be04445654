"""The Gymnasium face: registration, single environments, and vectors that equal them."""

from __future__ import annotations

import doctest
import os
import runpy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.error import NameNotFound, ResetNeeded
from gymnasium.spaces import Discrete, MultiDiscrete
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AutoresetMode
from hypothesis import given, settings
from hypothesis import strategies as st

from omnimeter.catalogue import Kind, listing
from omnimeter.contract import (
    Environment,
    EnvironmentClass,
    Instance,
    InvalidInputError,
    Percept,
    UnknownNameError,
    single,
)
from omnimeter.gymnasium_face import OmnimeterEnv, OmnimeterVectorEnv, register

ROOT = Path(__file__).parent.parent
OURS = [f"omnimeter/{entry.id}" for entry in listing(Kind.ENVIRONMENT)]
STRANGERS = ["omnimeter/sample-walk-v1", "omnimeter/sample-plain-walk-v1"]
BANANAS = {"example": "bananas"}  # a single space, and scenes by chance


@pytest.fixture
def strangers(plugin: str) -> Iterator[None]:
    before = dict(gymnasium.registry)
    register()
    yield
    gymnasium.registry.clear()
    gymnasium.registry.update(before)


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


def place(kind: type) -> str:
    return f"{__name__}:{kind.__name__}"


def python(source: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


# Registration


def test_every_class_of_the_catalogue_is_registered_and_nothing_else() -> None:
    registered = [name for name in gymnasium.registry if name.startswith("omnimeter/")]
    assert sorted(registered) == sorted(OURS)
    assert "omnimeter/cups-v1" in OURS


def test_registering_again_changes_nothing() -> None:
    before = dict(gymnasium.registry)
    register()
    assert before == gymnasium.registry


@pytest.mark.parametrize("name", ["omnimeter/cups-v1", STRANGERS[0]])
def test_an_id_works_in_a_new_process_with_the_module_before_it(
    plugin_path: str, name: str
) -> None:
    source = f"""
import gymnasium, sys
env = gymnasium.make("omnimeter.gymnasium_face:{name}")
observation, info = env.reset(seed=1)
assert env.observation_space.contains(observation)
print(env.spec.id)
"""
    path = os.pathsep.join([plugin_path, os.environ.get("PYTHONPATH", "")])
    assert python(source, PYTHONPATH=path) == name


def test_registration_imports_no_environment_class(plugin_path: str) -> None:
    source = """
import sys, omnimeter.gymnasium_face, gymnasium
assert "omnimeter/sample-walk-v1" in gymnasium.registry
heavy = ("omnimeter_sample", "omnimeter.environments.", "numba", "pydantic")
print([name for name in sys.modules if name.startswith(heavy)])
"""
    path = os.pathsep.join([plugin_path, os.environ.get("PYTHONPATH", "")])
    assert python(source, PYTHONPATH=path) == "[]"


def test_gymnasium_is_not_imported_by_the_rest() -> None:
    source = "import sys, omnimeter, omnimeter.interaction.batch, omnimeter.catalogue as c\n"
    source += "c.make(c.Kind.ENVIRONMENT, c.parse(c.Kind.ENVIRONMENT, 'cups'))\n"
    assert python(source + "print('gymnasium' in sys.modules)") == "False"


def test_a_misspelt_id_gets_a_hint() -> None:
    with pytest.raises(NameNotFound, match="Did you mean: `cups`"):
        gymnasium.make("omnimeter/cup-v1")


# Single environments


@pytest.mark.parametrize("name", OURS)
def test_our_classes_pass_gymnasiums_check(name: str) -> None:
    check_env(gymnasium.make(name).unwrapped)


@pytest.mark.parametrize("name", STRANGERS)
def test_a_strangers_classes_pass_gymnasiums_check(name: str, strangers: None) -> None:
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


def test_parameters_with_the_adapters_own_names_have_their_own_door() -> None:
    wanted = {"complexity": 5, "interactions": 7}
    assert OmnimeterEnv(place(Growing), parameters=wanted).action_space == Discrete(13)


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


def test_the_first_reward_is_told() -> None:
    _, info = gymnasium.make("omnimeter/buttons-v1", **BANANAS).reset(seed=0)
    assert info["first_reward"] == 1.0


@pytest.mark.parametrize("form", [dict, Instance])
def test_a_fixed_instance_is_met_again_and_again(form: Any) -> None:
    data = {"colours": "BWB", "rule": "rest"}
    env = gymnasium.make("omnimeter/cups-v1", instance=form(data))
    for _ in range(3):
        observation, info = env.reset()
        assert info["instance"] == data
        assert observation.tolist() == [0, 1, 0]
        env.step(0)


def test_what_is_told_about_an_instance_can_be_changed_without_harm() -> None:
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
    ("options", "error", "words"),
    [
        ({"complexity": 4}, InvalidInputError, "4 actions .* was made for 3"),
        ({"instance": {"colours": "WWWW", "rule": "rest"}}, InvalidInputError, "was made for 3"),
        ({"instance": {"colors": "WWW"}}, InvalidInputError, "no instance .* KeyError"),
        ({"complexity": 2}, InvalidInputError, "No cups have complexity 2"),
        ({"complexty": 3}, UnknownNameError, "Did you mean 'complexity'"),
    ],
)
def test_options_that_cannot_be_met(options: Any, error: type[Exception], words: str) -> None:
    env = gymnasium.make("omnimeter/cups-v1", complexity=3)
    with pytest.raises(error, match=words):
        env.reset(options=options)


def test_instance_and_complexity_exclude_each_other() -> None:
    with pytest.raises(InvalidInputError, match="Give one"):
        OmnimeterEnv("cups-v1", complexity=3, instance={"colours": "WWW", "rule": "rest"})


def test_draws_with_other_spaces_are_passed_over() -> None:
    env = OmnimeterEnv(place(Uneven))
    expected = env.action_space.n
    for _ in range(20):
        assert env.reset()[1]["instance"]["actions"] == expected


def test_a_class_that_never_draws_the_same_spaces_needs_an_instance() -> None:
    with pytest.raises(InvalidInputError, match="Make another one, with that"):
        OmnimeterEnv(place(Growing)).reset()
    env = OmnimeterEnv(place(Growing), instance={"actions": 5})
    assert env.reset()[1]["instance"] == {"actions": 5}


@pytest.mark.parametrize("maximum", [{"interactions": 3}, {"max_episode_steps": 3}])
def test_truncation_never_termination(maximum: dict[str, int]) -> None:
    env = gymnasium.make("omnimeter/cups-v1", **maximum)
    for _ in range(2):
        env.reset()
        ends = [env.step(0)[2:4] for _ in range(3)]
        assert ends == [(False, False), (False, False), (False, True)]


def test_truncation_after_nothing_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="0 interactions"):
        OmnimeterEnv("cups-v1", interactions=0)


@pytest.mark.parametrize("action", [-1, 3, None, 1.0, "left", np.array([0, 1])])
def test_an_action_that_does_not_exist(action: Any) -> None:
    env = gymnasium.make("omnimeter/cups-v1", complexity=3)
    env.reset(seed=0)
    with pytest.raises(InvalidInputError, match="integer from 0 to 2"):
        env.step(action)


@pytest.mark.parametrize("form", [int, np.int32, np.uint8, np.array])
def test_integers_of_any_kind_are_actions(form: Any) -> None:
    env = gymnasium.make("omnimeter/cups-v1", instance={"colours": "BBBB", "rule": "rest"})
    env.reset()
    assert env.step(form(2))[0].tolist() == [0, 1, 1, 0]


def test_step_and_render_need_a_reset() -> None:
    env = gymnasium.make("omnimeter/cups-v1", render_mode="ansi")
    with pytest.raises(ResetNeeded):
        env.step(0)
    with pytest.raises(ResetNeeded):
        env.render()


def test_rendering_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    data = {"colours": "BWB", "rule": "rest"}
    env = gymnasium.make("omnimeter/cups-v1", instance=data, render_mode="ansi")
    env.reset()
    assert env.render() == "kind: cups\ncups: black white black\nbuttons: B1 B2 B3"
    assert capsys.readouterr().out == ""
    human = gymnasium.make("omnimeter/cups-v1", instance=data, render_mode="human")
    human.reset()
    human.step(0)
    assert capsys.readouterr().out.count("cups: ") == 2
    assert human.render() is None
    silent = gymnasium.make("omnimeter/cups-v1")
    silent.reset()
    assert silent.render() is None


def test_rendering_a_scene_that_is_not_all_text() -> None:
    env = OmnimeterEnv(place(Uneven), render_mode="ansi")
    env.reset()
    assert env.render() == "observation: 0"


def test_an_unknown_render_mode() -> None:
    with pytest.raises(InvalidInputError, match="Known: ansi, human"):
        OmnimeterEnv("cups-v1", render_mode="rgb_array")


def test_a_spec_rebuilds_it() -> None:
    data = {"colours": "BWB", "rule": "rest"}
    env = gymnasium.make("omnimeter/cups-v1", instance=data, interactions=5)
    text = env.spec.to_json()
    again = gymnasium.make(gymnasium.envs.registration.EnvSpec.from_json(text))
    assert again.reset()[1] == env.reset()[1]


# Vectors


def compare(name: str, count: int, steps: int, seed: int, **arguments: Any) -> None:
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
    compare(name, count=5, steps=20, seed=11, interactions=interactions)


@pytest.mark.parametrize("name", STRANGERS)
def test_a_strangers_vector_equals_single_environments(name: str, strangers: None) -> None:
    compare(name, count=5, steps=20, seed=11, interactions=4)


def test_a_vector_of_single_observations_equals_single_environments() -> None:
    compare("omnimeter/buttons-v1", count=3, steps=20, seed=2, interactions=7, **BANANAS)


def test_a_vector_with_a_fixed_instance_equals_single_environments() -> None:
    data = {"colours": "BWBW", "rule": "rest"}
    compare("omnimeter/cups-v1", count=3, steps=20, seed=2, interactions=7, instance=data)


@settings(max_examples=10, deadline=None)
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
    compare(name, count=count, steps=8, seed=seed, interactions=interactions, **kind)


def test_seeds_count_upwards_from_the_first() -> None:
    vector = gymnasium.make_vec("omnimeter/cups-v1", 3)
    _, infos = vector.reset(seed=7)
    _, listed = vector.reset(seed=[7, 8, 9])
    assert list(infos["instance"]) == list(listed["instance"])
    env = gymnasium.make("omnimeter/cups-v1")
    assert list(infos["instance"]) == [env.reset(seed=7 + at)[1]["instance"] for at in range(3)]


def test_compiled_and_plain_vectors_are_equal() -> None:
    source = """
import gymnasium, omnimeter.gymnasium_face
vector = gymnasium.make_vec("omnimeter/buttons-v1", 4, interactions=3)
vector.reset(seed=5)
vector.action_space.seed(5)
for _ in range(10):
    observations, rewards, *_ = vector.step(vector.action_space.sample())
    print(observations.tolist(), rewards.tolist())
"""
    assert python(source) == python(source, NUMBA_DISABLE_JIT="1")


def test_gymnasiums_word_for_truncation() -> None:
    vector = gymnasium.make_vec("omnimeter/cups-v1", 2, max_episode_steps=2, interactions=9)
    vector.reset(seed=0)
    truncated = [vector.step(np.zeros(2, dtype=int))[3].tolist() for _ in range(4)]
    assert truncated == [[False, False], [True, True], [False, False], [False, False]]
    assert vector.metadata["autoreset_mode"] is AutoresetMode.NEXT_STEP


def test_a_reset_by_hand_takes_the_place_of_the_automatic_one() -> None:
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


def test_states_of_another_size_find_their_place() -> None:
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


def test_results_are_the_callers_own_unless_told_otherwise() -> None:
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
    ("actions", "words"),
    [
        ([0, 1], "array of 3 integers"),
        ([0.0, 1.0, 2.0], "array of 3 integers"),
        ([0, 1, 3], "no action 3.* An action is an integer from 0 to 2"),
        ([0, -1, 2], "no action -1"),
    ],
)
def test_actions_that_cannot_be_taken(actions: list[Any], words: str) -> None:
    vector = gymnasium.make_vec("omnimeter/cups-v1", 3, complexity=3)
    vector.reset(seed=0)
    with pytest.raises(InvalidInputError, match=words):
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


# What the documentation shows


def test_the_page_shows_what_happens() -> None:
    page = ROOT / "docs" / "gymnasium.md"
    failures, tried = doctest.testfile(str(page), module_relative=False)
    assert failures == 0
    assert tried > 10


def test_the_example_learns() -> None:
    example = runpy.run_path(str(ROOT / "examples" / "train_outside.py"))
    table = example["train"](reports=[30])
    assert np.mean([example["evaluate"](table, seed, 200) for seed in range(5)]) > 0.05
