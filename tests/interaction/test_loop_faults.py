"""A fault ends one exercise, whichever side caused it, and keeps what was measured before."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from loop_parts import SECOND, Ladder, Player, raising, streams
from omnimeter.contract import (
    Briefing,
    Budget,
    Ending,
    Environment,
    FaultKind,
    Observation,
    Percept,
)
from omnimeter.interaction import interact


class OddError(BaseException):
    """What no library expects."""


ERRORS = [ValueError("no"), SystemExit(3), OddError("odd"), GeneratorExit(), StopIteration()]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("when", ["beginning", "acting", "finishing"])
def test_agent_that_raises(error: BaseException, when: str) -> None:
    class Raising(Player):
        def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
            if when == "beginning":
                raise error

        def finish(self, reward: float, observation: Observation) -> None:
            if when == "finishing":
                raise error

    answers = [2, raising(error) if when == "acting" else 1]
    trace = interact(Ladder(), Raising(answers), Budget(interactions=2), streams)
    assert trace.ending is Ending.FAULT
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.AGENT_ERROR
    assert trace.fault.message.startswith(f"The agent raised {type(error).__name__} when {when}")
    assert type(error).__name__ in trace.fault.detail
    kept = {"beginning": [], "acting": [0.2], "finishing": [0.2, 0.1]}[when]
    assert trace.rewards.tolist() == kept
    assert trace.first_reward == 0.5
    assert trace.end_ns == len(kept) * SECOND


@pytest.mark.parametrize("when", ["begin", "act", "finish", "start", "step"])
def test_a_person_may_interrupt_anybody(when: str) -> None:
    player, ladder = Player([0]), Ladder()
    side = ladder if when in ("start", "step") else player
    setattr(side, when, lambda *_: raising(KeyboardInterrupt())())
    with pytest.raises(KeyboardInterrupt):
        interact(ladder, player, Budget(interactions=1), streams)


# Faults of the environment


def broken(**parts: Any) -> Ladder:
    return type("Broken", (Ladder,), parts)()


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("when", ["start", "briefing", "step"])
def test_environment_that_raises(error: BaseException, when: str) -> None:
    environment = broken(**{when: lambda *_: raising(error)()})
    trace = interact(environment, Player([0]), Budget(interactions=1), streams, record=True)
    assert trace.ending is Ending.FAULT
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.INFRASTRUCTURE
    assert trace.fault.message.startswith(f"The environment raised {type(error).__name__}")
    assert len(trace) == 0
    assert trace.end_ns == (SECOND if when == "step" else 0)


def test_environment_without_observations() -> None:
    class Bare(Environment):
        actions = 2

        def start(self, rng: np.random.Generator) -> Percept:
            return Percept(0.0, 0)

        def step(self, action: int) -> Percept:
            return Percept(0.0, 0)

    trace = interact(Bare(), Player([]), Budget(interactions=1), streams)
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.INFRASTRUCTURE
    assert "'space'" in trace.fault.message


class Unreal:
    def __float__(self) -> float:
        raise RuntimeError("no number")


NO_REWARDS = [
    math.nan, math.inf, -math.inf, None, "0.5", b"1", 1j, [0.5], Unreal(), 10**400,
    np.float64("nan"), np.array([0.5, 0.5]),
]  # fmt: skip


@pytest.mark.parametrize("reward", NO_REWARDS, ids=lambda reward: repr(reward)[:12])
def test_reward_that_is_no_number(reward: Any) -> None:
    def start(self: Ladder, rng: np.random.Generator) -> Percept:
        return Percept(reward, 0)

    def step(self: Ladder, action: int) -> Percept:
        return Percept(0.5 if action else reward, 0)

    for environment, kept in ((broken(start=start), []), (broken(step=step), [0.5])):
        budget = Budget(interactions=5)
        trace = interact(environment, Player([1, 0]), budget, streams, record=True)
        assert trace.ending is Ending.FAULT
        assert trace.fault is not None
        assert trace.fault.kind is FaultKind.INFRASTRUCTURE
        assert "The environment gave the reward" in trace.fault.message
        assert trace.rewards.tolist() == kept  # it is not written down
        assert trace.actions is not None
        assert trace.observations is not None
        assert len(trace.actions) == len(kept)
        assert len(trace.observations) == 2 * len(kept)
        assert math.isfinite(trace.first_reward)


@pytest.mark.parametrize(
    "reward", [1, True, np.float32(0.5), np.int8(-1), Decimal("0.5"), Fraction(1, 2), np.array(0.5)]
)
def test_numbers_of_all_kinds_are_rewards(reward: Any) -> None:
    player = Player([0, 0])
    environment = broken(step=lambda *_: Percept(reward, 0))
    trace = interact(environment, player, Budget(interactions=2), streams)
    assert trace.fault is None
    assert trace.rewards.tolist() == [float(reward)] * 2
    assert type(player.heard[1][0]) is float


@pytest.mark.parametrize("percept", [None, 0.5, (0.5,), (0.5, 0, 0)])
def test_what_is_no_percept(percept: Any) -> None:
    environment = broken(step=lambda *_: percept)
    trace = interact(environment, Player([0]), Budget(interactions=1), streams)
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.INFRASTRUCTURE
    assert len(trace) == 0


@pytest.mark.parametrize("seen", ["much", None, [1, 2], np.zeros((1, 1), dtype=int), []])
def test_observation_that_cannot_be_recorded(seen: Any) -> None:
    def step(self: Ladder, action: int) -> Percept:
        return Percept(0.5, seen if action else 0)

    trace = interact(
        broken(step=step), Player([0, 1]), Budget(interactions=2), streams, record=True
    )
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.INFRASTRUCTURE
    assert trace.rewards.tolist() == [0.5]
    assert trace.observations is not None
    assert trace.observations.tolist() == [[0], [0]]
