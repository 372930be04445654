"""Pictures of scenes: of every class in the catalogue, and what they tell."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.catalogue import Kind, listing, make
from omnimeter.contract import Spec
from omnimeter.scenes import SYMBOLS, Style, picture, sign_of, symbol, to_svg

CLASSES = [each.id for each in listing(Kind.ENVIRONMENT) if each.package == "omnimeter"]
PARAMETERS = {"lambda-v1": {"cells": 5}}


def scenes(name, count=3, steps=4):
    """Some scenes of a class with their numbers of actions."""
    environment_class = make(Kind.ENVIRONMENT, Spec(name, PARAMETERS.get(name, {})))
    for seed in range(count):
        rng = np.random.default_rng(seed)
        instance = environment_class.draw(rng, None)
        environment = environment_class.build(instance)
        reward, observation = environment.start(rng)
        for _ in range(steps):
            yield environment_class.scene(instance, observation, reward), environment.actions
            reward, observation = environment.step(int(rng.integers(environment.actions)))


@pytest.mark.parametrize("name", CLASSES)
def test_parts_or_buttons_offer_exactly_the_actions(name):
    for scene, actions in scenes(name):
        drawn = picture(scene, actions)
        by_parts = sorted(action for part in drawn.parts for action in part.actions)
        assert set(by_parts) <= set(range(actions))
        if drawn.buttons:
            assert len(drawn.buttons) == actions
        else:
            assert sorted(set(by_parts)) == list(range(actions))
        assert all(part.box[2] > 0 and part.box[3] > 0 for part in drawn.parts if part.actions)
        assert drawn.width > 0
        assert drawn.height > 0
        assert json.loads(json.dumps(scene)) is not None


@pytest.mark.parametrize("name", CLASSES)
def test_svg_is_well_formed(name):
    for scene, actions in scenes(name):
        root = ElementTree.fromstring(to_svg(picture(scene, actions), title="<a> & b"))
        assert root.tag.endswith("svg")
        assert root[0].text == "<a> & b"


@given(st.integers(0, 10**6))
def test_symbols_of_an_exercise_are_a_permutation(number):
    style = Style.of_exercise(number)
    assert sorted(style.symbols) == sorted(style.symbols.values()) == sorted(SYMBOLS)
    assert style == Style.of_exercise(number)
    assert style.symbols["square"] != Style.of_exercise(number + 1).symbols["square"]


@pytest.mark.parametrize("name", ["lambda-v1", "torus-v1"])
def test_good_and_evil_are_not_named(name):
    for scene, actions in scenes(name):
        drawn = picture(scene, actions, Style.of_exercise(3))
        words = {word for part in drawn.parts for word in part.contains}
        assert words
        assert words <= {*SYMBOLS, "circle", "limit"}
        said = to_svg(drawn).lower()
        assert "good" not in said
        assert "evil" not in said


def test_balls_are_not_the_symbol_of_the_participant():
    cups = {"kind": "cups", "cups": ["black", "white"], "buttons": ["B1", "B2"]}
    cells = {"kind": "buttons", "cells": ["ball", ""], "buttons": ["L", "R"]}
    drawn = [part.shapes for part in picture(cups).parts]
    drawn.append(picture(cells).parts[0].shapes)
    for shapes in drawn:
        ball, seams = shapes[-2:]
        assert (ball.tag, seams.tag) == ("circle", "path")
        assert seams.attributes["stroke"] != ball.attributes["fill"]
    black, white = (shapes[-2].attributes["fill"] for shapes in drawn[:2])
    assert (black, white) == ("#1f2933", "#ffffff")
    circles = {"kind": "automata", "circles": [{"here": True}], "buttons": ["a"], "reward": None}
    assert picture(circles).parts[0].shapes[-1] == symbol("circle", 0.5, 0.5, 0.56)


def test_colours_can_be_turned_off():
    (scene, actions), *_ = scenes("lambda-v1")
    fills = [
        {part.shapes[0].attributes["fill"] for part in picture(scene, actions, style).parts}
        for style in (Style(colours=True), Style(colours=False))
    ]
    assert len(fills[0]) > 1
    assert len(fills[1]) == 1


def test_cells_that_can_be_reached_have_a_thicker_border():
    for scene, actions in scenes("lambda-v1"):
        parts = picture(scene, actions).parts
        widths = {bool(part.actions): part.shapes[0].attributes["stroke-width"] for part in parts}
        assert widths[True] > widths.get(False, 0)


@given(st.dictionaries(st.text(max_size=8), st.integers() | st.text(max_size=20), max_size=5))
def test_unknown_scenes_are_lists_of_their_entries(scene):
    drawn = picture({**scene, "kind": "of another package"}, 3)
    assert len(drawn.buttons) == 3 or scene.get("buttons")
    assert ElementTree.fromstring(to_svg(drawn)) is not None


@given(st.floats(-1, 1))
def test_a_reward_is_one_of_three_signs(reward):
    assert sign_of(reward) == ("up" if reward > 0 else "down" if reward < 0 else "neutral")
