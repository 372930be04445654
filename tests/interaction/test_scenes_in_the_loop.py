"""Agents that see scenes get what people are shown; all others are told nothing of it (§4.2)."""

from __future__ import annotations

import numpy as np
import pytest

import omnimeter as om
from omnimeter.catalogue import Kind, make
from omnimeter.contract import Agent, Budget, Exercise, Spec
from omnimeter.interaction import run_single


class Watcher(Agent):
    """Keeps its briefing, and each scene beside what it stands for."""

    def begin(self, briefing, rng):
        self.briefing, self.seen = briefing, []

    def act(self, reward, observation):
        if self.briefing.scene is not None:
            self.seen.append((observation, reward, self.briefing.scene(observation, reward)))
        return len(self.seen) % self.briefing.actions


class Seeing(Watcher):
    sees_scenes = True


def watched(watcher, name, **parameters):
    spec = Spec(name, parameters)
    environment_class = make(Kind.ENVIRONMENT, spec)
    instance = environment_class.draw(np.random.default_rng(0), None)
    exercise = Exercise(Spec("random-v1"), spec, instance, Budget(6), 0, 0)
    (trace,) = run_single(environment_class, watcher, [exercise])
    return environment_class, instance, trace


@pytest.mark.parametrize("name", ["cups-v1", "lambda-v1", "automata-v1"])
def test_scenes_are_those_of_the_class(name):
    watcher = Seeing()
    environment_class, instance, trace = watched(watcher, name)
    assert trace.fault is None
    assert len(watcher.seen) == 6
    for observation, reward, scene in watcher.seen:
        assert scene == environment_class.scene(instance, observation, reward)
        assert scene["kind"] == name.partition("-")[0]


def test_others_are_not_told():
    watcher = Watcher()
    watched(watcher, "cups-v1")
    assert watcher.briefing.scene is None
    assert "scene" not in repr(watcher.briefing)


def test_an_agent_in_a_process_of_its_own_is_not_told(tmp_path):
    (tmp_path / "curious.py").write_text(
        "from omnimeter import Agent\n"
        "class Curious(Agent):\n"
        "    sees_scenes = True\n"
        "    def begin(self, briefing, rng):\n"
        "        self.told = briefing.scene is not None\n"
        "    def act(self, reward, observation):\n"
        "        return int(self.told)\n"
    )
    result = om.evaluate(
        [f"{tmp_path / 'curious.py'}:Curious"], "cups", exercises=1, interactions=3, seed=0,
        traces=True,
    )  # fmt: skip
    ((_, trace),) = result.record.traces()
    assert trace.actions.tolist() == [0, 0, 0]
