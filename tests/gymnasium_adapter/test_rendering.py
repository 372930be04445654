"""Rendering: scenes of every class as pixels, as texts and in windows."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium
import matplotlib.pyplot as plt
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.wrappers import RenderCollection
from test_gymnasium import Uneven, location

import window_backend
from gymnasium_parts import OURS, python
from omnimeter.contract import InvalidInputError
from omnimeter.gymnasium_adapter import OmnimeterEnv, OmnimeterVectorEnv
from omnimeter.gymnasium_adapter.rendering import HEIGHT, WIDTH, Canvas
from omnimeter.scenes import DARK, INK

DATA = {"colours": "BWB", "rule": "rest"}
SHAPE = (HEIGHT, WIDTH, 3)


def made(**arguments: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make("omnimeter/cups-v1", instance=DATA, **arguments)


def colour(name: str) -> list[int]:
    return [int(name[at : at + 2], 16) for at in (1, 3, 5)]


# As pixels


@pytest.mark.parametrize("name", OURS)
def test_frames_of_every_class_show_something_and_change(name: str) -> None:
    env = gymnasium.make(name, render_mode="rgb_array")
    env.action_space.seed(0)
    env.reset(seed=0)
    frames: list[Any] = [env.render()]
    for _ in range(30):
        env.step(env.action_space.sample())
        frames.append(env.render())
    assert {(frame.shape, frame.dtype) for frame in frames} == {(SHAPE, np.dtype(np.uint8))}
    assert all(len(np.unique(frame)) > 2 for frame in frames)
    assert any(not np.array_equal(frames[0], frame) for frame in frames)
    assert not any(np.shares_memory(frames[0], frame) for frame in frames[1:])


def test_pixels_are_those_of_the_scene() -> None:
    env = made(render_mode="rgb_array")
    env.reset()
    row = env.render()[HEIGHT // 2]  # type: ignore[index]
    # A seam of a ball may run there, in another shade.
    middles = [row[WIDTH * (2 * cup + 1) // 6].mean() > 180 for cup in range(3)]
    assert middles == [False, True, False]
    env.step(0)
    assert env.render()[HEIGHT // 2][WIDTH // 6].tolist() == [255, 255, 255]  # type: ignore[index]


@pytest.mark.parametrize(
    ("scene", "at", "expected"),
    [
        # The states of an MDP at the left and at the right, the second one filled.
        ("mdp", (HEIGHT // 2, int(WIDTH * 0.83)), INK),
        # A limit: a bar near the bottom of a cell. The upper cell of the cross has one.
        ("torus", (int(HEIGHT * (0.03 + 0.94 * 0.86 / 3)), WIDTH // 2), DARK),
    ],
)
def test_shapes_are_where_they_belong(scene: str, at: tuple[int, int], expected: str) -> None:
    cell = {"symbols": [], "limit": False}
    scenes: dict[str, dict[str, Any]] = {
        "mdp": {
            "states": [{"position": [x, 0.0], "name": ""} for x in (0.0, 2.0)],
            "transitions": [{"from": 0, "to": 1}],
            "state": 1,
        },
        "torus": {
            "cells": [
                {**cell, "column": column, "row": row, "action": number, "limit": number == 0}
                for number, (column, row) in enumerate([(1, 0), (0, 1), (1, 1), (2, 1), (1, 2)])
            ]
        },
    }
    drawn = Canvas().draw({"kind": scene, "buttons": [], "reward": 0.0, **scenes[scene]}, 2)
    assert drawn[at].tolist() == colour(expected)


def test_a_scene_without_a_picture_is_written() -> None:
    env = OmnimeterEnv(location(Uneven), render_mode="rgb_array")
    env.reset()
    frame: Any = env.render()
    assert colour(INK) in frame.reshape(-1, 3).tolist()
    long = Canvas().draw({"observation": list(range(10_000)), "text": "a\nb $x$"}, 2)
    assert 0.01 < np.mean(long < 128) < 0.5  # in lines, and not all of it


def test_frames_need_neither_pyplot_nor_a_display() -> None:
    source = """
import sys, gymnasium, omnimeter.gymnasium_adapter
assert not any(name.startswith("matplotlib") for name in sys.modules)
env = gymnasium.make("omnimeter/cups-v1", render_mode="rgb_array")
env.reset(seed=0)
assert env.render().any()
print("matplotlib.pyplot" in sys.modules)
"""
    assert python(source) == "False"


def test_an_environment_that_was_rendered_can_be_copied() -> None:
    env = made(render_mode="rgb_array")
    env.reset(seed=0)
    first = env.render()
    again = deepcopy(env)
    env.step(0)
    assert np.array_equal(again.render(), first)  # type: ignore[arg-type]


def test_gymnasiums_wrappers_collect_frames() -> None:
    env = RenderCollection(made(render_mode="rgb_array"))
    env.reset()
    env.step(0)
    assert len(env.render()) == 2  # type: ignore[arg-type]


# In vectors


@pytest.mark.parametrize("mode", ["rgb_array", "ansi"])
@pytest.mark.parametrize("name", ["omnimeter/lambda-v1", "omnimeter/corners-v1"])
def test_a_vector_renders_what_single_environments_render(name: str, mode: str) -> None:
    arguments = {"interactions": 2, "render_mode": mode}
    ours = gymnasium.make_vec(name, 2, **arguments)
    theirs = gymnasium.make_vec(name, 2, vectorization_mode="sync", **arguments)
    assert isinstance(ours, OmnimeterVectorEnv)
    for vector in (ours, theirs):
        vector.reset(seed=3)
    actions = np.array([0, 1])
    for _ in range(4):  # over an end
        for one, other in zip(ours.render(), theirs.render(), strict=True):  # type: ignore[arg-type]
            assert np.array_equal(one, other)
        for vector in (ours, theirs):
            vector.step(actions)


def test_environments_in_other_processes_render_too() -> None:
    vector = gymnasium.make_vec(
        "omnimeter/cups-v1", 2, vectorization_mode="async", render_mode="rgb_array", instance=DATA
    )
    vector.reset(seed=0)
    alone = made(render_mode="rgb_array")
    alone.reset(seed=0)
    frames: Any = vector.render()
    vector.close()
    assert [np.array_equal(frame, alone.render()) for frame in frames] == [True, True]  # type: ignore[arg-type]


def test_a_vector_without_a_mode_or_a_reset() -> None:
    assert gymnasium.make_vec("omnimeter/cups-v1", 2).render() is None
    with pytest.raises(ResetNeeded):
        gymnasium.make_vec("omnimeter/cups-v1", 2, render_mode="ansi").render()
    with pytest.raises(InvalidInputError, match="Known: rgb_array, ansi"):
        OmnimeterVectorEnv("cups-v1", 2, render_mode="human")


# As text, and in windows


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
    env = OmnimeterEnv(location(Uneven), render_mode="ansi")
    env.reset()
    assert env.render() == "observation: 0"


def test_an_unknown_render_mode() -> None:
    with pytest.raises(InvalidInputError, match="Known: rgb_array, human, ansi"):
        OmnimeterEnv("cups-v1", render_mode="svg")


def test_people_get_a_window_where_there_are_any(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(window_backend, "events", events := [])
    before = plt.get_backend()
    plt.switch_backend("module://window_backend")
    try:
        env = made(render_mode="human")
        env.reset()
        (figure,) = map(plt.figure, plt.get_fignums())
        (image,) = figure.axes[0].images
        first = np.array(image.get_array())
        env.step(0)
        assert events[1:] == ["cups-v1", "shown", 0.25, 0.25]  # after matplotlib's own title
        assert first.shape == SHAPE
        assert not np.array_equal(first, image.get_array())  # type: ignore[arg-type]
        plt.close(figure)  # by the person who looks
        env.step(0)
        assert len(events) == 5
        env.close()
        env.reset()
        assert events[6:] == ["cups-v1", "shown", 0.25]
        env.close()
        assert plt.get_fignums() == []
    finally:
        plt.switch_backend(before)
    assert capsys.readouterr().out == ""
