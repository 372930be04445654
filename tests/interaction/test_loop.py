"""The loop: what is asked, counted, charged and written down, and whose fault is whose."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from loop_parts import SECOND, Ladder, Player, play, streams
from omnimeter.agents.opportunists import Rester, Stopper, Waiter
from omnimeter.agents.simple import RandomAgent, ScriptedAgent
from omnimeter.contract import (
    STOP,
    Agent,
    Briefing,
    Budget,
    Clock,
    ClockKind,
    Ending,
    FaultKind,
    Move,
    Observation,
    Percept,
    Space,
    Trace,
    single,
    stream,
)
from omnimeter.contract.exercise import nanoseconds
from omnimeter.environments.buttons import Buttons
from omnimeter.interaction import interact
from omnimeter.kernels import KernelAgent

WALL = Clock(ClockKind.WALL)


# The order of events


def test_first_reward_is_heard_but_not_counted() -> None:
    trace, player, ladder = play([2, 0, 1], Budget(interactions=3))
    assert trace.first_reward == 0.5
    assert trace.rewards.tolist() == [0.2, 0.0, 0.1]
    assert player.heard == [(0.5, 0), (0.2, 1), (0.0, 2)]
    assert player.last == (0.1, 3)
    assert ladder.performed == [2, 0, 1]
    assert (trace.ending, trace.fault) == (Ending.BUDGET, None)


def test_agent_is_briefed_and_gets_the_chance_of_its_stream() -> None:
    _, player, ladder = play([0], Budget(interactions=1))
    assert player.briefing == ladder.briefing() == Briefing(3, single(1000), (-1.0, 1.0))
    assert player.rng.integers(10**9) == streams("agent").generator().integers(10**9)


def test_environment_gets_the_chance_of_its_stream() -> None:
    class Lottery(Ladder):
        def start(self, rng: np.random.Generator) -> Percept:
            return Percept(rng.random(), 0)

    trace = interact(Lottery(), Player([]), Budget(interactions=0), streams)
    assert trace.first_reward == streams("environment").generator().random()


@pytest.mark.parametrize("record", [False, True])
def test_what_is_recorded(record: bool) -> None:
    class Wide(Ladder):
        space = Space((10, 10))

        def start(self, rng: np.random.Generator) -> Percept:
            return Percept(0.0, np.array([7, 8]))

        def step(self, action: int) -> Percept:
            return Percept(0.0, np.array([action, 9]))

    budget = Budget(interactions=2)
    trace = interact(Wide(), Player([2, 1]), budget, streams, record=record)
    assert (trace.rewards.dtype, trace.times.dtype) == (np.float64, np.int64)
    assert len(trace.rewards) == len(trace.times) == 2
    if not record:
        assert trace.actions is trace.observations is None
        return
    assert trace.actions is not None
    assert trace.observations is not None
    assert trace.actions.tolist() == [2, 1]
    assert trace.observations.tolist() == [[7, 8], [2, 9], [1, 9]]
    assert trace.actions.dtype == trace.observations.dtype == np.int64


# How it ends


@pytest.mark.parametrize("stop", [STOP, -1, Move(-1, 5.0), Move(-1, math.nan)])
@pytest.mark.parametrize(
    ("budget", "end"),
    [
        (Budget(interactions=9), 2 * SECOND),
        (Budget(seconds=9), 9 * SECOND),
        (Budget(interactions=9, seconds=9), 9 * SECOND),
    ],
)
def test_stopping(stop: Any, budget: Budget, end: int) -> None:
    trace, player, _ = play([1, 1, stop], budget)
    assert (trace.ending, trace.fault, trace.end_ns) == (Ending.STOPPED, None, end)
    assert len(trace) == 2
    assert player.last == (0.1, 2)


@pytest.mark.parametrize(
    ("budget", "count", "end"),
    [
        (Budget(interactions=2), 2, 2 * SECOND),
        (Budget(interactions=2, seconds=2), 2, 2 * SECOND),
        (Budget(interactions=2, seconds=5), 2, 2 * SECOND),
        (Budget(interactions=5, seconds=2), 2, 2 * SECOND),
        (Budget(interactions=5, seconds=2.5), 2, 2_500_000_000),
        (Budget(seconds=3), 3, 3 * SECOND),
    ],
)
def test_the_shorter_limit_counts(budget: Budget, count: int, end: int) -> None:
    trace, _, _ = play([0] * 9, budget)
    assert (len(trace), trace.end_ns, trace.ending) == (count, end, Ending.BUDGET)
    assert trace.times.tolist() == [SECOND * (k + 1) for k in range(count)]


def test_no_interactions_at_all() -> None:
    trace, player, _ = play([], Budget(interactions=0), record=True)
    assert (len(trace), trace.end_ns, trace.first_reward) == (0, 0, 0.5)
    assert player.heard == []
    assert player.last == (0.5, 0)
    assert trace.observations is not None
    assert trace.observations.tolist() == [[0]]


def test_no_time_at_all() -> None:
    trace, player, ladder = play([0], Budget(seconds=0))
    assert (len(trace), trace.end_ns, trace.ending) == (0, 0, Ending.BUDGET)
    assert ladder.performed == []
    assert player.last == (0.5, 0)


def test_action_at_tau_counts_and_a_later_one_does_not() -> None:
    delays = [Move(1, 0.5), Move(1, 0.5), Move(1, 1e-9)]
    trace, player, ladder = play(delays, Budget(seconds=1))
    assert trace.times.tolist() == [SECOND // 2, SECOND]
    assert (trace.end_ns, trace.fault, trace.ending) == (SECOND, None, Ending.BUDGET)
    assert ladder.performed == [1, 1]  # it never sees the late one
    assert player.last == (0.1, 2)


def test_delays_are_believed_and_the_tick_fills_in() -> None:
    moves = [Move(0, 0.25), 0, Move(0), Move(0, 2)]
    trace, _, _ = play(moves, Budget(interactions=4), clock=Clock(tick=0.5))
    assert trace.times.tolist() == [250_000_000, 750_000_000, 1_250_000_000, 3_250_000_000]


def test_time_ends_before_it_can_no_longer_be_counted() -> None:
    class Sleeper(Agent):
        def act(self, reward: float, observation: Observation) -> Move:
            return Move(0, 1e6)

    trace = interact(Ladder(), Sleeper(), Budget(interactions=10_000), streams)
    assert (len(trace), trace.ending, trace.end_ns) == (9223, Ending.BUDGET, 9223 * 10**15)


AGENTS: dict[str, Callable[[], KernelAgent]] = {
    "random": lambda: RandomAgent(rate=3),
    "scripted": lambda: ScriptedAgent([0, 1, 2], [0.1, 2.5, 0.7], repeat=False),
    "stopper": lambda: Stopper(threshold=0.3),
    "rester": lambda: Rester(rest=3.0, growth=0.5),
    "waiter": lambda: Waiter(wait=2.0),
}


@cache
def whole(agent: str, seed: int) -> Trace:
    return buttons(agent, seed, Budget(seconds=20.0))


def buttons(agent: str, seed: int, budget: Budget) -> Trace:
    box = Buttons()
    environment = box.build(box.draw(stream(0).generator()))
    sides = stream(seed, agent).child
    return interact(environment, AGENTS[agent](), budget, sides, record=True)


@given(st.sampled_from(sorted(AGENTS)), st.integers(0, 3), st.floats(0, 20))
def test_beginning_of_a_trace_is_that_of_a_shorter_exercise(
    agent: str, seed: int, seconds: float
) -> None:
    shorter = buttons(agent, seed, Budget(seconds=seconds))
    assert whole(agent, seed).until(nanoseconds(seconds)).same_as(shorter)


# Answers


@pytest.mark.parametrize(
    "answer", [2, np.int64(2), np.uint8(2), Move(2), Move(np.int32(2), 1), Move(2, np.float64(1))]
)
def test_integers_of_all_kinds_are_actions(answer: Any) -> None:
    trace, _, ladder = play([answer, True], Budget(interactions=2), record=True)
    assert trace.fault is None
    assert ladder.performed == [2, 1]
    assert trace.actions is not None
    assert trace.actions.tolist() == [2, 1]


@pytest.mark.parametrize(
    "answer",
    [None, 3, -2, 1.0, math.nan, "1", [1], (1, 0.5), Move(3), Move(None), np.array([1, 2])],
)  # fmt: skip
def test_what_is_no_action_is_a_fault_of_the_agent(answer: Any) -> None:
    trace, player, _ = play([2, 1, answer], Budget(interactions=9))
    assert trace.ending is Ending.FAULT
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.AGENT_ERROR
    assert "an action is an integer from 0 to 2" in trace.fault.message
    assert trace.rewards.tolist() == [0.2, 0.1]  # what was measured is kept
    assert trace.end_ns == 2 * SECOND
    assert player.last is None


@pytest.mark.parametrize("seconds", [0, -1, math.nan, math.inf, 1e6 + 1, 1e-12, "1", [1]])
def test_what_is_no_delay_is_a_fault_of_the_agent(seconds: Any) -> None:
    trace, _, _ = play([Move(1, seconds)], Budget(seconds=9))
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.AGENT_ERROR
    assert "declared a delay" in trace.fault.message


def test_an_invalid_answer_is_a_fault_even_when_it_is_late() -> None:
    trace, _, _ = play([Move(7, 100.0)], Budget(seconds=1))
    assert trace.ending is Ending.FAULT


# The wall clock


def test_wall_clock_counts_only_the_agents_time() -> None:
    class Slow(Ladder):
        def start(self, rng: np.random.Generator) -> Percept:
            time.sleep(0.05)
            return super().start(rng)

        def step(self, action: int) -> Percept:
            time.sleep(0.05)
            return super().step(action)

    class Thorough(Player):
        def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
            time.sleep(0.05)

        def finish(self, reward: float, observation: Observation) -> None:
            time.sleep(0.05)

    trace = interact(Slow(), Thorough([0, 0]), Budget(interactions=2), streams, clock=WALL)
    assert 0 < trace.times[0] <= trace.times[1] == trace.end_ns < 50_000_000


def test_wall_clock_measures_the_agent() -> None:
    def slowly() -> int:
        time.sleep(0.02)
        return 0

    trace, _, _ = play([slowly, slowly], Budget(interactions=2), clock=WALL)
    assert trace.times[0] >= 20_000_000
    assert trace.times[1] >= trace.times[0] + 20_000_000


def test_declared_delay_is_really_waited_for() -> None:
    before = time.perf_counter_ns()
    trace, _, _ = play([Move(0, 0.03)] * 2, Budget(interactions=2), clock=WALL)
    assert time.perf_counter_ns() - before >= 60_000_000
    assert 60_000_000 <= trace.end_ns < SECOND


def test_no_agent_is_waited_for_beyond_the_end() -> None:
    before = time.perf_counter_ns()
    trace, player, _ = play([0, Move(0, 1000.0)], Budget(seconds=0.05), clock=WALL)
    assert 40_000_000 <= time.perf_counter_ns() - before < 10 * SECOND
    assert (len(trace), trace.end_ns, trace.ending) == (1, 50_000_000, Ending.BUDGET)
    assert player.last == (0.0, 1)


def test_late_action_does_not_count_by_the_wall_clock() -> None:
    def slowly() -> int:
        time.sleep(0.03)
        return 0

    trace, _, ladder = play([slowly], Budget(seconds=0.02), clock=WALL)
    assert (len(trace), trace.end_ns, trace.fault) == (0, 20_000_000, None)
    assert ladder.performed == []
