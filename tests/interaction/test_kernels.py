"""Environments and agents made of kernels, as ordinary Python objects."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from odd_kernels import KERNELS, LATE, Boxes, BoxState, LateTeller, Teller, box
from omnimeter.contract import Briefing, Budget, FaultKind, Percept, Space, stream
from omnimeter.environments.buttons import Buttons
from omnimeter.interaction import interact
from omnimeter.kernels import KernelEnvironment

SPACE = Space((10_000, 7))
BRIEFING = Briefing(3, SPACE)


def same(some: list[Percept], others: list[Percept]) -> bool:
    pairs = list(zip(some, others, strict=True))
    return all(
        one.reward == other.reward and np.array_equal(one.observation, other.observation)
        for one, other in pairs
    )


def started(**parts: Any) -> KernelEnvironment:
    environment = Boxes().build(box(0.1, 0.2, 0.3, **parts))
    environment.start(3)
    return environment


def test_percepts_are_ordinary_values() -> None:
    environment = started()
    first, second = environment.step(2), environment.step(np.int64(1))
    assert type(first) is Percept
    assert (first.reward, type(first.reward)) == (0.3, float)
    assert first.observation[0] == 1  # what was given does not change
    assert second.observation[0] == 2
    box_with_ball = Buttons("bananas")
    plain = box_with_ball.build(box_with_ball.draw(stream(0).generator()))
    assert type(plain.start(3).observation) is type(plain.step(0).observation) is int


@pytest.mark.parametrize("action", [-1, 3, 10**30])
def test_action_that_does_not_exist(action: int) -> None:
    with pytest.raises(ValueError, match="does not exist: 0 to 2"):
        started().step(action)


def test_chance_is_a_generator_or_its_bits() -> None:
    environment = Boxes().build(box(0.1))
    one = [environment.start(stream(4).generator()), *(environment.step(0) for _ in range(20))]
    bits = int(stream(4).generator().integers(2**64, dtype=np.uint64))
    other = [environment.start(bits), *(environment.step(0) for _ in range(20))]
    assert same(one, other)


COPIES = [copy.deepcopy, lambda part: pickle.loads(pickle.dumps(part))]


@pytest.mark.parametrize("copied", COPIES)
def test_copied_environment_goes_its_own_way(copied: Callable[[Any], Any]) -> None:
    environment = started()
    environment.step(0)
    other = copied(environment)
    theirs = [other.step(1) for _ in range(10)]
    assert environment.state.count[0] == 1
    mine = [environment.step(1) for _ in range(10)]
    assert same(mine, theirs)
    del environment
    assert other.step(2).observation[0] == 12


@pytest.mark.parametrize("copied", COPIES)
def test_copied_agent_goes_its_own_way(copied: Callable[[Any], Any]) -> None:
    agent = Teller([0, 1, 2])
    agent.begin(BRIEFING, 3)
    assert agent.act(0.0, np.zeros(2, dtype=np.int64)) == 0
    other = copied(agent)
    seen = np.zeros(2, dtype=np.int64)
    assert [other.act(0.0, seen), other.act(0.0, seen)] == [1, 2]
    assert agent.act(0.0, seen) == 1


def test_copy_before_the_beginning() -> None:
    environment = copy.deepcopy(Boxes().build(box(0.1)))
    assert environment.start(3).reward == 0.0
    assert copy.deepcopy(Teller([1])).actions == [1]


def test_environments_share_nothing() -> None:
    one, other = started(), started()
    one.step(0)
    assert other.step(0).observation[0] == 1


def test_environment_starts_anew() -> None:
    environment = started()
    first = [environment.step(1) for _ in range(5)]
    environment.start(3)
    again = [environment.step(1) for _ in range(5)]
    assert same(first, again)


def test_state_may_be_strided_or_not_writeable() -> None:
    pays = np.array([0.1, 9.0, 0.2, 9.0])[::2]
    luggage = np.frombuffer(b"\x00\x00", dtype=np.bool_)
    state = BoxState(
        np.zeros(1, dtype=np.int64), pays, np.zeros(1), np.zeros(1, dtype=np.uint64), luggage
    )
    environment = KernelEnvironment(KERNELS, state, 2, SPACE)
    environment.start(3)
    assert [environment.step(0).reward, environment.step(1).reward] == [0.1, 0.2]
    assert environment.state.count[0] == 2


@pytest.mark.parametrize("field", [np.zeros((2, 2)), [0.0, 1.0], 1.0])
def test_state_that_is_no_state(field: Any) -> None:
    state = started().state._replace(pays=field)
    trace = interact(
        KernelEnvironment(KERNELS, state, 2, SPACE),
        Teller([0]),
        Budget(interactions=1),
        stream(1).child,
    )
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.INFRASTRUCTURE
    assert "'pays'" in trace.fault.message


def test_agent_takes_observations_of_all_kinds() -> None:
    agent = Teller([1])
    agent.begin(BRIEFING, 3)
    frozen = np.arange(2)
    frozen.setflags(write=False)
    for seen in (frozen, np.arange(4)[::2], np.arange(2, dtype=np.int8), [0, 1]):
        assert agent.act(0, seen) == 1  # type: ignore[arg-type]


def test_nothing_is_loaded_once_time_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    agent = LateTeller([1])
    environment = KernelEnvironment(LATE, Boxes().build(box(0.1, 0.2)).state, 2, SPACE)
    agent.begin(BRIEFING, 3)
    environment.start(3)

    def refuse(self: Any, *types: Any) -> None:
        raise AssertionError(f"{self} is loaded or compiled for {types}")

    monkeypatch.setattr(Dispatcher, "compile", refuse)
    assert agent.act(0.0, np.zeros(2, dtype=np.int64)) == 1
    assert environment.step(1).reward == 0.2
    agent.finish(0.2, np.zeros(2, dtype=np.int64))
