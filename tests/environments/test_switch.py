"""Environments that turn into others: what comes from which, when, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from omnimeter.agents.temporal_difference import QLearning
from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import (
    Budget,
    Environment,
    EnvironmentClass,
    Exercise,
    Instance,
    InvalidInputError,
    Percept,
    Spec,
    single,
    stream,
)
from omnimeter.contract.overlay import Lattice, Overlay
from omnimeter.environments.cups import Cups
from omnimeter.environments.switch import Switch, continued
from omnimeter.interaction import run_single

CUPS = "cups(min_cups=3,max_cups=3)"
HERE = f"{__file__}:Steady"


class Still(Environment):
    """Pays the same for ever, and shows how often it was acted in."""

    actions, space = 2, single(100)

    def __init__(self, reward: float) -> None:
        self.reward, self.rewards = reward, (reward, reward)

    def start(self, rng: np.random.Generator) -> Percept:
        self.count = 0
        return Percept(self.reward, 0)

    def step(self, action: int) -> Percept:
        self.count += 1
        return Percept(self.reward, self.count)


class Steady(EnvironmentClass):
    """A class without kernels."""

    def __init__(self, reward: float = 0.5, colour: str = "red") -> None:
        self.reward, self.colour = reward, colour

    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        return Instance({"reward": self.reward})

    def complexity(self, instance: Instance) -> float:
        return abs(self.reward)

    def build(self, instance: Instance) -> Environment:
        return Still(instance.data["reward"])

    def overlay(self, instance: Instance, rng: np.random.Generator, steps: int) -> Overlay:
        squares = [{"reward": instance.data["reward"], self.colour: True}, {"tree": True}]
        return Overlay.of(Lattice((2,)), squares, [squares] * (steps - 1))


def drawn(environment_class: EnvironmentClass) -> Instance:
    return environment_class.draw(stream(3).generator())


def played(environment: Any, actions: list[int], seed: int = 1) -> list[tuple[float, list[int]]]:
    percepts = [environment.start(stream(seed).generator()), *map(environment.step, actions)]
    return [(reward, np.atleast_1d(seen).tolist()) for reward, seen in percepts]


def test_each_part_is_what_it_is_alone() -> None:
    """The last reward of the first comes with the first observation of the second."""
    switch = Switch(CUPS, CUPS, at=7)
    instance = drawn(switch)
    cups = make(Kind.ENVIRONMENT, parse(Kind.ENVIRONMENT, CUPS))
    first, second = (cups.build(Instance(instance.data[name])) for name in ("first", "second"))
    actions = [0, 1, 1, 2, 0, 2, 1, 0, 0, 1, 2, 2]
    whole, before = played(switch.build(instance), actions), played(first, actions[:7])
    after = played(second, actions[7:])
    assert whole[:7] == before[:7]
    assert whole[7] == (before[7][0], after[0][1])
    assert whole[8:] == after[1:]


def test_the_agent_stays_where_it_is_in_classes_that_say_so() -> None:
    places = set()
    for number in range(5):
        switch = Switch("gc", at=3)
        environment: Any = switch.build(switch.draw(stream(number).generator()))
        percepts = played(environment, [2, 2, 2], seed=number)
        state = environment.state
        assert percepts[-1][1] == [state.first_place[0]] == [state.second_place[0]]
        places.add(int(state.first_place[0]))
    assert len(places) > 1, "otherwise nothing is shown"


def test_classes_without_kernels_switch_step_by_step() -> None:
    switch = Switch(HERE, f"{HERE}(reward=2)", at=2)
    environment = switch.build(drawn(switch))
    assert switch.kernels is None
    assert environment.rewards == environment.briefing().rewards == (0.5, 2.0)
    assert [reward for reward, _ in played(environment, [0] * 4)] == [0.5, 0.5, 0.5, 2.0, 2.0]
    assert [seen for _, seen in played(environment, [0] * 4)] == [[0], [1], [0], [1], [2]]
    assert switch.complexity(drawn(switch)) == 2


def test_a_switch_can_be_part_of_another_and_compiled() -> None:
    switch = Switch(f"switch(first='{CUPS}',at=20)", CUPS, at=40)
    exercise = Exercise(
        Spec("agent"), Spec("class"), drawn(switch), Budget(interactions=60), seed=5, number=0
    )
    (compiled,) = run_single(switch, QLearning(), [exercise], record=True)
    (stepwise,) = run_single(switch, QLearning(), [exercise], record=True, compiled=False)
    assert compiled.fault is None
    assert compiled.same_as(stepwise)


def test_views_are_those_of_both() -> None:
    switch = Switch("gc", at=5)
    assert list(switch.views) == ["state", "model"]
    assert list(switch.privileged) == ["model"]
    told = switch.with_views(["model"]).build(drawn(switch)).briefing()
    assert told.view == "model"
    assert told.rewards == (0, 10)
    assert "transitions" in told.remarks
    assert list(Switch(CUPS, at=5).views) == []


def test_the_second_is_drawn_until_it_fits() -> None:
    for number in range(5):
        data = Switch("cups", at=5).draw(stream(number).generator()).data
        assert len(data["first"]["colours"]) == len(data["second"]["colours"])


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        (
            {"first": CUPS, "second": "gc"},
            "3 actions and observations of sizes .2, 2, 2.*gc-v1 has",
        ),
        ({"first": "gc", "at": 0}, "There cannot be 0 interactions before the switch"),
        ({"first": {"parameters": {}}}, "has no id"),
    ],
)
def test_what_does_not_fit_is_refused(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        drawn(Switch(**parameters))


def test_the_overlay_is_that_of_both_one_after_the_other(monkeypatch: pytest.MonkeyPatch) -> None:
    switch = Switch(HERE, f"{HERE}(reward=2,colour=blue)", at=3)
    instance, rng = drawn(switch), stream(1).generator()
    overlay = switch.overlay(instance, rng, 5)
    assert (overlay.duration, list(overlay.columns)) == (5, ["reward", "red", "tree", "blue"])
    assert overlay.at(3).tolist() == [[1, 1, 0, 0], [0, 0, 1, 0]] == overlay.codes.tolist()
    assert overlay.at(4).tolist() == [[2, 0, 0, 1], [0, 0, 1, 0]]
    assert switch.overlay(instance, rng, 2).duration == 2
    # In one of two squares the reward has another value, a proposition ends and one begins.
    assert switch.difference(instance, rng) == 1.5
    monkeypatch.setattr(Cups, "overlay", EnvironmentClass.overlay)  # which has none
    assert Switch(CUPS, at=3).difference(drawn(Switch(CUPS, at=3)), rng) is None


def test_changes_of_both_are_kept() -> None:
    moments = [[{"a": 1}, {}], [{"a": 2}, {}]]
    first = Overlay.of(Lattice((2,)), moments[0], moments[1:])
    second = Overlay.of(Lattice((2,)), moments[1], moments[:1])
    whole = continued(first, second)
    assert [int(whole.at(time)[0, 0]) for time in range(1, 5)] == [1, 2, 2, 1]
    with pytest.raises(InvalidInputError, match="one has 2 squares, the other 1"):
        continued(first, Overlay.of(Lattice((1,)), [{"a": 1}]))
