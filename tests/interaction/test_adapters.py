"""Objects that are not agents, and what becomes of them."""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    STOP,
    Agent,
    Briefing,
    Budget,
    Environment,
    FaultKind,
    InvalidInputError,
    Move,
    Observation,
    Percept,
    Spec,
    Trace,
    single,
    stream,
)
from omnimeter.contract.spec import Stream
from omnimeter.interaction import interact
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.process import AgentProcess


class Counter(Environment):
    """Shows and pays the number of the interaction; knows what was done."""

    actions = 3
    space = single(100)
    rewards = (0.0, 100.0)

    def start(self, rng: np.random.Generator) -> Percept:
        self.number = 0
        return Percept(0.0, 0)

    def step(self, action: int) -> Percept:
        self.number += 1
        return Percept(self.number / 2, self.number)


def streams(side: str) -> Stream:
    return stream(5, side)


def take(thing: object, count: int = 6) -> Trace:
    return interact(Counter(), adapt(thing), Budget(interactions=count), streams, record=True)


def actions_of(thing: object, count: int = 6) -> list[int]:
    trace = take(thing, count)
    assert trace.fault is None, trace.fault
    assert trace.actions is not None
    actions: list[int] = trace.actions.tolist()
    return actions


class Proper(Agent):
    def act(self, reward: float, observation: Observation) -> int:
        return 1


def test_an_agent_stays_as_it_is() -> None:
    agent = Proper()
    assert adapt(agent) is agent
    assert type(adapt(Proper)) is Proper


def choose(observation: int) -> int:
    return observation % 3


def choose_by_reward(reward: float, observation: int) -> int:
    return int(2 * reward - observation) % 3 + observation % 2


def choose_with_option(observation: int, shift: int = 1) -> int:
    return (observation + shift) % 3


def choose_with_defaults(reward: float = 0.0, observation: int = 0) -> int:
    return observation % 2


class CallableObject:
    def __call__(self, observation: int) -> int:
        return observation % 3


@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (choose, [0, 1, 2, 0, 1, 2]),
        (lambda seen: np.int32(seen % 2), [0, 1, 0, 1, 0, 1]),
        (choose_by_reward, [0, 1, 0, 1, 0, 1]),
        (choose_with_option, [1, 2, 0, 1, 2, 0]),
        (partial(choose_with_option, shift=2), [2, 0, 1, 2, 0, 1]),
        (choose_with_defaults, [0, 1, 0, 1, 0, 1]),
        (lambda *everything: everything[0] % 3, [0, 1, 2, 0, 1, 2]),
        (CallableObject(), [0, 1, 2, 0, 1, 2]),
        (CallableObject, [0, 1, 2, 0, 1, 2]),
        ([2, 1, 0, 2, 1, 0].__getitem__, [2, 1, 0, 2, 1, 0]),
        (lambda seen: np.array([seen % 3]), [0, 1, 2, 0, 1, 2]),
    ],
)
def test_functions(function: object, expected: list[int]) -> None:
    assert actions_of(function) == expected


def test_functions_may_stop_and_wait() -> None:
    trace = take(lambda seen: Move(0, 0.25) if seen < 3 else STOP)
    assert trace.times.tolist() == [250_000_000, 500_000_000, 750_000_000]


@pytest.mark.parametrize("function", [lambda a, b, c: 1, lambda seen, *, needed: 1, int.__add__])
def test_functions_of_something_else(function: object) -> None:
    if function is int.__add__:
        assert type(adapt(function)).__name__ == "FunctionAgent"  # it takes two things
        return
    with pytest.raises(InvalidInputError, match="cannot be given an observation"):
        adapt(function)


class Duck:
    """Acts, without being an Agent."""

    def act(self, reward: float, observation: int) -> int:
        return observation % 3


class TalkativeDuck(Duck):
    def __init__(self) -> None:
        self.heard: list[object] = []

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        self.heard.append((briefing.actions, int(rng.integers(1000))))

    def finish(self, reward: float, observation: int) -> None:
        self.heard.append((reward, observation))


def test_ducks() -> None:
    assert actions_of(Duck) == actions_of(Duck()) == [0, 1, 2, 0, 1, 2]
    duck = TalkativeDuck()
    actions_of(duck)
    assert duck.heard == [(3, int(streams("agent").generator().integers(1000))), (3.0, 6)]


class Model:
    """A policy as in Stable-Baselines3."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.seeds: list[int] = []

    def predict(
        self,
        observation: np.ndarray | int,
        state: tuple[int, ...] | None = None,
        episode_start: np.ndarray | None = None,
        deterministic: bool = False,
    ) -> tuple[np.ndarray, tuple[int, ...] | None]:
        assert episode_start is not None
        self.calls.append({"state": state, "start": episode_start, "sure": deterministic})
        count = 0 if state is None else state[0] + 1
        return np.array([count % 3]), (count,)

    def set_random_seed(self, seed: int) -> None:
        self.seeds.append(seed)


def test_recurrent_policies_keep_their_state_within_an_exercise() -> None:
    model = Model()
    for _ in range(2):
        assert actions_of(model) == [0, 1, 2, 0, 1, 2]
    assert [call["state"] for call in model.calls] == 2 * [None, (0,), (1,), (2,), (3,), (4,)]
    assert [call["start"].tolist() for call in model.calls] == 2 * ([[True]] + 5 * [[False]])
    assert {call["sure"] for call in model.calls} == {False}
    assert len(model.seeds) == 2
    assert model.seeds[0] == model.seeds[1]  # the same exercise, the same seed


class PlainPolicy:
    def predict(self, observation: int) -> np.ndarray:
        return np.array(observation % 3)  # an array without dimensions


class UndecidedPolicy:
    def predict(self, observation: int, *, deterministic: bool) -> int:
        return 2 if deterministic else 1


class CallablePolicy(PlainPolicy):
    def __call__(self, observation: int) -> int:
        raise AssertionError("a policy predicts; calling it is for gradients")


def test_simple_policies() -> None:
    assert actions_of(PlainPolicy()) == actions_of(PlainPolicy) == [0, 1, 2, 0, 1, 2]
    assert actions_of(CallablePolicy()) == [0, 1, 2, 0, 1, 2]
    assert actions_of(UndecidedPolicy()) == 6 * [1]


def test_an_answer_that_is_no_action_is_a_fault_as_always() -> None:
    class Continuous:
        def predict(self, observation: int) -> tuple[np.ndarray, None]:
            return np.array([0.5]), None

    trace = take(Continuous())
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.AGENT_ERROR
    assert "returned 0.5" in trace.fault.message
    several = take(lambda seen: np.array([1, 2]))
    assert several.fault is not None
    assert "array([1, 2])" in several.fault.message


@pytest.mark.parametrize("thing", [3, "random-v1", None, [1, 2], {"act": 1}, int, object, Counter])
def test_what_cannot_be_an_agent(thing: object) -> None:
    with pytest.raises(InvalidInputError) as told:
        adapt(thing)
    for accepted in (
        "omnimeter.Agent",
        "act(reward, observation)",
        "predict(observation)",
        "function",
    ):
        assert accepted in told.value.advice


def test_classes_that_cannot_be_made() -> None:
    class Demanding(Proper):
        def __init__(self, depth: int) -> None:
            pass

    for kind in (Agent, Demanding):
        with pytest.raises(InvalidInputError, match=f"{kind.__name__} cannot be made: TypeError"):
            adapt(kind)


FILE = """
import numpy as np


class Policy:
    def __init__(self, step=1):
        self.step = step

    def predict(self, observation, state=None, episode_start=None, deterministic=False):
        count = 0 if state is None else state + self.step
        return np.array([count % 3]), count


policy = Policy()


def choose(observation, shift=0):
    return (observation + shift) % 3


class Duck:
    def act(self, reward, observation):
        return observation % 3
"""


@pytest.mark.parametrize(
    ("name", "parameters", "expected"),
    [
        ("Policy", {"step": 2}, [0, 2, 1, 0, 2, 1]),
        ("policy", {}, [0, 1, 2, 0, 1, 2]),
        ("choose", {}, [0, 1, 2, 0, 1, 2]),
        ("choose", {"shift": 1}, [1, 2, 0, 1, 2, 0]),
        ("Duck", {}, [0, 1, 2, 0, 1, 2]),
    ],
)
def test_foreign_objects_from_a_file_in_both_places(
    tmp_path: Path, name: str, parameters: dict[str, int], expected: list[int]
) -> None:
    path = tmp_path / "foreign.py"
    path.write_text(FILE)
    spec = Spec(f"{path}:{name}", parameters)
    assert actions_of(make(Kind.AGENT, spec)) == expected
    with AgentProcess(spec) as seat:
        trace = interact(Counter(), seat, Budget(interactions=6), streams, record=True)
    assert trace.fault is None
    assert trace.actions is not None
    assert trace.actions.tolist() == expected


def test_a_file_without_agents_is_refused_in_both_places(tmp_path: Path) -> None:
    path = tmp_path / "foreign.py"
    path.write_text("def choose():\n    return 0\n")
    spec = Spec(f"{path}:choose")
    with pytest.raises(InvalidInputError) as here:
        adapt(make(Kind.AGENT, spec))
    with AgentProcess(spec) as seat, pytest.raises(InvalidInputError) as there:
        seat.load()
    addresses = re.compile(r"0x[0-9a-f]+")
    assert addresses.sub("", str(there.value)) == addresses.sub("", str(here.value))
