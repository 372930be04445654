"""What agents see of a Lambda environment, and what a person is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lambda_parts import agents_of, arranged, evil_of, good_of, observed, started, step
from omnimeter.audits.states import KernelSimulator
from omnimeter.contract import stream
from omnimeter.environments.lambda_class import Lambda
from omnimeter.environments.lambda_class.views import VIEWS, state_key, string_of
from omnimeter.interaction import KernelEnvironment

SEEDS = st.integers(0, 2**32)

FOUR_CELLS = "1++|1++|1-|1+"
"""A ring, as with two actions it must be: action 1 goes from the first cell to the third."""

OBJECTS = ["still", "still"]


# The views, one by one


@pytest.mark.parametrize(
    ("view", "text"), [("string", "πω2A1:⊖:⊕ω1A2:"), ("string-others", "πω2A1:⊙:⊙ω1A2:")]
)
def test_the_strings_of_the_thesis(view: Any, text: str) -> None:
    """Section 3.6.4: the same situation for the agent, and for the others."""
    here = Lambda(space=FOUR_CELLS, pattern="0", objects=OBJECTS, view=view)
    environment = arranged(here, [2, 1, 0, 2, 0])
    assert string_of(observed(environment), environment.actions) == text


def test_the_state_of_the_thesis() -> None:
    """Example 4.6.1: Good and the agent in the first of three cells, Evil in the last."""
    environment = arranged(Lambda(space="ring-3", view="state"), [0, 2, 0])
    assert state_key(observed(environment), 3) == "101|000|010"


def test_all_views_of_one_situation() -> None:
    """In seat 1 of two, where the other agent and an object stand in the order of their numbers."""
    places = [1, 3, 0, 2, 3]
    seen = {}
    for view in VIEWS:
        here = Lambda(space="grid-2x3", pattern="1", objects=["still"], view=view)
        environment = arranged(here.with_views([None, None]), places)
        seen[view] = observed(environment, seat=1)
    assert seen["state"] == [1, 3, 2, 0, 3]
    # stay, right (at the border), left, down, up (at the border)
    assert seen["structure"] == [*seen["state"], 2, 2, 1, 5, 2]
    # Good goes right from 1 to 2, Evil from 3 to 4; staying in 2 is then worth more than leaving
    assert seen["foresight"] == [*seen["structure"], 2, 4, 2, 2, 0, 0, 2]
    assert seen["adjacent"] == [2, 0, 0, 1, 0, 0]
    assert string_of(seen["string"], 5) == "ω1:⊕A3:πA1A2A5:⊖ω2::A4"


def test_neighbours_hold_what_is_in_their_cells() -> None:
    here = Lambda(space="ring-3", objects=["still", "still"], view="adjacent")
    assert observed(arranged(here, [0, 2, 0, 1, 2])) == [0, 1, 4, 2 | 4]
    assert observed(arranged(here, [0, 2, 1, 1, 2])) == [1, 4, 2 | 4, 1]


@settings(max_examples=60)
@given(st.sampled_from(VIEWS), st.integers(1, 3), st.integers(2, 7), SEEDS)
def test_observations_belong_to_their_spaces(view: Any, agents: int, cells: int, seed: int) -> None:
    chosen = Lambda(cells=cells, objects=["random"], view=view)
    environment = started(chosen.with_views([None] * agents), seed)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        actions = rng.integers(environment.actions, size=agents).tolist()
        for seat, percept in enumerate(environment.step_joint(actions)):
            assert environment.space_of(seat).contains(percept.observation)
            assert np.atleast_1d(percept.observation).tolist() == observed(environment, seat)


# Foresight


RULES = st.fixed_dictionaries(
    {
        "consumption": st.sampled_from(["before", "after"]),
        "vanish": st.booleans(),
        "division": st.sampled_from([1, 2, "inf"]),
        "drop_on_agents": st.booleans(),
        "good": st.sampled_from([1.0, [1.0, 0.2]]),
    }
)


@settings(max_examples=60)
@given(RULES, st.integers(2, 6), SEEDS)
def test_foresight_comes_true(rules: dict[str, Any], cells: int, seed: int) -> None:
    """Unless Good and Evil want the same cell, the worths order what the actions really bring."""
    seeing = Lambda(cells=cells, stop=0.1, cycle="never", view="foresight", **rules)
    environment = started(seeing, seed)
    positions = KernelSimulator(environment)
    rng = np.random.default_rng(seed)
    for _ in range(20):
        count = environment.actions
        *_, good, evil = observed(environment)[:-count]
        worths = observed(environment)[-count:]
        if good != evil:
            place, rewards = positions.save(), []
            for action in range(count):
                positions.restore(place)
                rewards.append(positions.step(action))
                assert (good_of(environment), evil_of(environment)) == (good, evil)
            assert worths == [sum(other < mine for other in rewards) for mine in rewards]
            positions.restore(place)
        step(environment, int(rng.integers(count)))


# Views of several agents


def test_agents_get_the_view_that_they_ask_for() -> None:
    seated = Lambda(cells=4, actions=3).with_views(["state", None, "adjacent", "unheard of"])
    assert seated.seat_views == ("state", "structure", "adjacent", "structure")
    environment = started(seated)
    sizes = [environment.space_of(seat).sizes for seat in range(4)]
    assert sizes == [(4,) * 6, (4,) * 9, (4, 8, 8, 8), (4,) * 9]
    told = tuple(environment.briefing(seat).view for seat in range(4))
    assert told == seated.seat_views


def test_a_given_view_is_for_all_agents() -> None:
    seated = Lambda(view="adjacent").with_views(["state", None])
    assert seated.seat_views == ("adjacent", "adjacent")


def test_the_view_is_no_part_of_the_instance() -> None:
    draws = [Lambda(view=view).draw(stream(3).generator()).data for view in ("state", "string")]
    assert draws[0] == draws[1]
    assert draws[0] == Lambda().with_views(["state", None]).draw(stream(3).generator()).data


# What a person is shown


def shown(environment_class: Lambda, environment: KernelEnvironment, reward: float = 0.0) -> Any:
    instance = environment_class.draw(stream(0, "draw").generator())
    return environment_class.scene(instance, np.array(observed(environment)), reward)


@pytest.mark.parametrize("view", ["structure", "state", "foresight", "string"])
def test_a_scene_has_cells_with_neutral_symbols(view: Any) -> None:
    here = Lambda(space="ring-3", objects=["still"], view=view).with_views([None, None])
    scene = shown(here, arranged(here, [0, 2, 0, 1, 2]))
    symbols = [sorted(cell["symbols"]) for cell in scene["cells"]]
    assert symbols == [["circle", "square"], ["triangle"], ["diamond", "triangle"]]
    assert [cell["actions"] for cell in scene["cells"]] == [[0], [1], [2]]
    assert len({cell["colour"] for cell in scene["cells"]}) == 3


def test_a_scene_shows_no_more_than_is_seen() -> None:
    near = Lambda(space="1+2++|1+2|1+2|1+2", pattern="0", view="adjacent")
    symbols = [cell["symbols"] for cell in shown(near, arranged(near, [1, 3, 0]))["cells"]]
    assert symbols == [["circle"], ["square"], [], []]
    alike = Lambda(space="ring-3", view="string-others")
    symbols = [cell["symbols"] for cell in shown(alike, arranged(alike, [1, 2, 0]))["cells"]]
    assert symbols == [["circle"], ["star"], ["star"]]


@pytest.mark.parametrize(("reward", "said"), [(0.3, "up"), (0.0, "neutral"), (-1.0, "down")])
def test_a_scene_shows_the_last_reward_and_no_sum(reward: float, said: str) -> None:
    """Section 4.5.3: no number, and nothing of what was earned before."""
    here = Lambda(space="ring-3")
    environment = started(here)
    scenes = []
    for _ in range(2):
        environment.state.places[:] = [0, 2, 1]
        scenes.append(shown(here, environment, reward))
        for _ in range(50):
            step(environment, 1)
    assert scenes[0] == scenes[1]
    assert set(scenes[0]) == {"kind", "cells", "reward"}
    assert {key for cell in scenes[0]["cells"] for key in cell} == {"colour", "symbols", "actions"}
    assert scenes[0]["reward"] == said


@settings(max_examples=40)
@given(st.sampled_from(VIEWS), SEEDS)
def test_reachable_cells_are_where_actions_lead(view: Any, seed: int) -> None:
    here = Lambda(view=view)
    instance = here.draw(stream(seed, "draw").generator())
    environment = started(here, seed)
    scene = here.scene(instance, np.array(observed(environment)))
    (own,) = agents_of(environment)
    assert "circle" in scene["cells"][own]["symbols"]
    for cell, content in enumerate(scene["cells"]):
        for action in content["actions"]:
            assert environment.state.paths[own * environment.actions + action] == cell
    assert sum(len(cell["actions"]) for cell in scene["cells"]) == environment.actions
