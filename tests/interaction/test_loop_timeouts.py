"""Time-outs: what takes place of itself, and when, while an agent is busy (standard, section 6)."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import cycle, islice
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from isolation_parts import RASCAL, SHORT, Corridor
from loop_parts import SECOND, play, streams
from omnimeter.agents.opportunists import Rester, Stopper, Waiter
from omnimeter.contract import (
    STOP,
    Budget,
    Clock,
    ClockKind,
    Ending,
    FaultKind,
    Move,
    Timeout,
    TimeoutRule,
    Trace,
    stream,
)
from omnimeter.contract.exercise import nanoseconds
from omnimeter.environments.buttons import Buttons
from omnimeter.interaction import interact
from omnimeter.interaction.process import AgentProcess
from omnimeter.kernels import KernelAgent

WALL = Clock(ClockKind.WALL)
TENTH = SECOND // 10
MILLISECOND = SECOND // 1000


def slowly(seconds: float, answer: Any = 2) -> Callable[[], Any]:
    def nap() -> Any:
        time.sleep(seconds)
        return answer

    return nap


def actions(trace: Trace) -> list[int]:
    assert trace.actions is not None
    return [int(action) for action in trace.actions]


# The virtual clock


def test_reward_is_given_at_the_time_out() -> None:
    moves = [Move(2, 1.0), Move(2, 1.25), Move(1, 0.5)]
    trace, player, ladder = play(moves, Budget(interactions=3), timeout=Timeout(1.0), record=True)
    assert trace.rewards.tolist() == [0.2, 0.0, 0.1]
    assert actions(trace) == [2, -1, 1]
    assert ladder.performed == [2, 1]  # the world stood still
    assert player.heard == [(0.5, 0), (0.2, 1), (0.0, 1)]
    # asked for the third time at 2.25 s, with a quarter of the slot from 2 s to 3 s gone
    assert trace.times.tolist() == [SECOND, 2 * SECOND, 2 * SECOND + 750_000_000]


def test_time_out_comes_again_while_the_agent_is_busy() -> None:
    moves = [Move(2, 3.5), Move(1, 0.25)]
    trace, player, ladder = play(moves, Budget(interactions=4), timeout=Timeout(1.0), record=True)
    assert trace.times.tolist() == [SECOND, 2 * SECOND, 3 * SECOND, 3_750_000_000]
    assert actions(trace) == [-1, -1, -1, 1]
    assert ladder.performed == [1]  # the late answer is stale
    assert player.heard == [(0.5, 0), (0.0, 0)]
    assert (trace.ending, trace.end_ns, trace.fault) == (Ending.BUDGET, 3_750_000_000, None)


@pytest.mark.parametrize("rule", TimeoutRule)
def test_agent_that_is_always_late(rule: TimeoutRule) -> None:
    moves = [Move(2, 0.5)] * 5
    trace, player, ladder = play(moves, Budget(seconds=2), timeout=Timeout(0.1, rule))
    assert trace.times.tolist() == [TENTH * (k + 1) for k in range(20)]
    assert len(ladder.performed) == (20 if rule is TimeoutRule.RANDOM_ACTION else 0)
    assert (trace.ending, trace.end_ns, trace.fault) == (Ending.BUDGET, 2 * SECOND, None)
    assert len(player.heard) == 5  # at 0, 0.5, 1, 1.5 and, before the one at 2 s, 2 s


def test_tick_may_be_longer_than_the_time_out() -> None:
    trace, _, ladder = play([2] * 4, Budget(seconds=3), timeout=Timeout(0.75))
    assert trace.times.tolist() == [750 * MILLISECOND * (k + 1) for k in range(4)]
    assert ladder.performed == []


def test_quick_answer_late_in_a_slot_is_late() -> None:
    moves = [Move(2, 1.75), Move(2, 0.5), Move(1, 0.5)]
    trace, _, ladder = play(moves, Budget(interactions=3), timeout=Timeout(1.0), record=True)
    assert actions(trace) == [-1, -1, 1]
    assert trace.times.tolist() == [SECOND, 2 * SECOND, 2_750_000_000]
    assert ladder.performed == [1]


def test_random_action_in_place_of_a_late_one() -> None:
    timeout = Timeout(1.0, TimeoutRule.RANDOM_ACTION)
    moves = [Move(2, 1.0), *[Move(2, 1.5), Move(1, 0.5)] * 10]
    trace, player, ladder = play(moves, Budget(interactions=21), timeout=timeout, record=True)
    rng = streams("harness").generator()
    drawn = [int(rng.integers(3)) for _ in range(10)]
    assert ladder.performed == [2, *(a for one in drawn for a in (one, 1))]
    assert actions(trace) == ladder.performed
    assert [heard[0] for heard in player.heard[2::2]] == [one / 10 for one in drawn]
    assert trace.times.tolist() == [SECOND * (k + 1) for k in range(21)]
    assert trace.fault is None


@pytest.mark.parametrize(
    ("budget", "count", "end"),
    [
        (Budget(interactions=3), 3, 3 * SECOND),
        (Budget(seconds=3), 3, 3 * SECOND),
        (Budget(seconds=3.5), 3, 3_500_000_000),
        (Budget(interactions=2, seconds=3.5), 2, 2 * SECOND),
        (Budget(interactions=4, seconds=3.5), 3, 3_500_000_000),
        (Budget(seconds=0.5), 0, 500_000_000),
    ],
)
@pytest.mark.parametrize("rule", TimeoutRule)
@pytest.mark.parametrize("answer", [2, STOP])
def test_budget_ends_while_the_agent_is_busy(
    answer: Any, rule: TimeoutRule, budget: Budget, count: int, end: int
) -> None:
    clock = Clock(tick=9.0)
    trace, player, ladder = play([answer], budget, timeout=Timeout(1.0, rule), clock=clock)
    assert trace.times.tolist() == [SECOND * (k + 1) for k in range(count)]
    assert (trace.ending, trace.end_ns, trace.fault) == (Ending.BUDGET, end, None)
    assert len(ladder.performed) == (count if rule is TimeoutRule.RANDOM_ACTION else 0)
    assert player.last is not None
    assert len(player.heard) == 1


def test_stopping_in_time_and_late() -> None:
    budget, clock = Budget(interactions=9), Clock(tick=2.5)
    trace, _, _ = play([STOP], budget, timeout=Timeout(2.5), clock=clock)
    assert (len(trace), trace.ending) == (0, Ending.STOPPED)
    trace, player, _ = play([STOP], budget, timeout=Timeout(1.0), clock=clock, record=True)
    assert (actions(trace), trace.times.tolist()) == ([-1, -1], [SECOND, 2 * SECOND])
    assert (trace.ending, trace.end_ns) == (Ending.STOPPED, 2 * SECOND)
    assert player.last == (0.0, 0)
    trace, _, _ = play([STOP], Budget(seconds=9), timeout=Timeout(1.0), clock=clock)
    assert (len(trace), trace.ending, trace.end_ns) == (2, Ending.STOPPED, 9 * SECOND)


def test_an_invalid_answer_is_a_fault_and_nothing_takes_its_place() -> None:
    trace, _, _ = play([Move(7, 100.0)], Budget(seconds=9), timeout=Timeout(1.0))
    assert (len(trace), trace.ending) == (0, Ending.FAULT)


def test_shortest_time_out() -> None:
    trace, _, _ = play([Move(1, 3e-9)], Budget(interactions=2), timeout=Timeout(1e-12))
    assert trace.times.tolist() == [1, 2]


@given(
    st.lists(st.integers(1, 30), min_size=1, max_size=8),
    st.integers(1, 10),
    st.integers(0, 100),
)
def test_something_happens_in_every_slot(delays: list[int], latest: int, end: int) -> None:
    answers = (Move(1, delay / 10) for delay in cycle(delays))
    trace, _, _ = play(
        list(islice(answers, end + 2)), Budget(seconds=end / 10), timeout=Timeout(latest / 10)
    )
    slots = np.diff([0, *trace.times.tolist(), trace.end_ns]) // TENTH
    assert np.all(slots <= latest)
    assert np.all(slots[:-1][trace.rewards == 0.0] == latest)
    assert len(trace) >= end // latest


AGENTS: dict[str, Callable[[], KernelAgent]] = {
    "stopper": lambda: Stopper(threshold=0.3, rate=0.7),
    "rester": lambda: Rester(rest=3.0, growth=0.5),
    "waiter": lambda: Waiter(wait=2.3),
}


@given(
    st.sampled_from(sorted(AGENTS)),
    st.sampled_from(TimeoutRule),
    st.floats(0.05, 4),
    st.floats(0, 20),
)
def test_beginning_of_a_trace_is_that_of_a_shorter_exercise(
    agent: str, rule: TimeoutRule, latest: float, seconds: float
) -> None:
    def buttons(length: float) -> Trace:
        box = Buttons()
        environment = box.build(box.draw(stream(0).generator()))
        sides, timeout = stream(3, agent).child, Timeout(latest, rule)
        budget = Budget(seconds=length)
        return interact(environment, AGENTS[agent](), budget, sides, timeout=timeout, record=True)

    assert buttons(20.0).until(nanoseconds(seconds)).same_as(buttons(seconds))


# The wall clock


@pytest.mark.parametrize("rule", TimeoutRule)
def test_time_out_by_the_wall_clock(rule: TimeoutRule) -> None:
    answers = [slowly(0.05)] * 40
    timeout, budget = Timeout(0.02, rule), Budget(seconds=0.2)
    trace, player, ladder = play(answers, budget, clock=WALL, timeout=timeout)
    assert trace.times.tolist() == [20 * MILLISECOND * (k + 1) for k in range(10)]
    assert len(ladder.performed) == (10 if rule is TimeoutRule.RANDOM_ACTION else 0)
    assert (trace.fault, trace.end_ns) == (None, 200 * MILLISECOND)
    assert len(player.heard) <= 5


def test_what_was_used_of_a_slot_by_the_wall_clock() -> None:
    answers = [slowly(0.06), 1]
    trace, _, ladder = play(answers, Budget(interactions=2), clock=WALL, timeout=Timeout(0.05))
    assert trace.times[0] == 50 * MILLISECOND
    assert trace.times[1] >= 60 * MILLISECOND
    assert len(ladder.performed) <= 1  # a busy machine may make the second late too


def test_declared_delay_is_waited_for_only_while_it_matters() -> None:
    before = time.perf_counter()
    budget = Budget(interactions=3)
    trace, _, _ = play([Move(1, 1000.0)], budget, clock=WALL, timeout=Timeout(0.02))
    assert 0.05 <= time.perf_counter() - before < 10
    assert trace.times.tolist() == [20 * MILLISECOND * (k + 1) for k in range(3)]


def test_late_stop_by_the_wall_clock() -> None:
    answers = [slowly(0.05, STOP)]
    trace, _, _ = play(answers, Budget(seconds=90), clock=WALL, timeout=Timeout(0.02))
    assert len(trace) >= 2
    assert (trace.ending, trace.end_ns) == (Ending.STOPPED, 90 * SECOND)


# An agent in a process of its own


def isolated(how: str, budget: Budget, latest: float) -> Trace:
    with AgentProcess(RASCAL, SHORT) as seat:
        timeout = Timeout(latest)
        return interact(
            Corridor(how), seat, budget, streams, clock=WALL, timeout=timeout, record=True
        )


@pytest.mark.parametrize("budget", [Budget(seconds=0.4), Budget(interactions=7)])
def test_time_passes_for_an_agent_that_hangs(budget: Budget) -> None:
    trace = isolated("hang", budget, 0.05)
    assert trace.fault is None
    assert trace.ending is Ending.BUDGET
    assert actions(trace)[:3] == [1, 2, 0]
    assert set(actions(trace)[3:]) == {-1}
    assert set(np.diff(trace.times[2:])) == {50 * MILLISECOND}
    assert len(trace) == (budget.interactions or len(trace))
    assert trace.end_ns == (400 * MILLISECOND if budget.seconds else trace.times[-1])


def test_slow_agent_in_a_process_of_its_own() -> None:
    trace = isolated("nap", Budget(seconds=0.2), 0.01)
    assert trace.fault is None
    assert np.all(np.diff(trace.times) <= 10 * MILLISECOND)
    assert 20 <= len(trace) <= 30
    assert actions(trace).count(-1) >= 15


def test_hang_beyond_the_hard_limit_is_a_fault() -> None:
    trace = isolated("hang", Budget(seconds=60), 0.05)
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.TIME_OUT
    assert len(trace) == 3
