"""How long agents in a process of their own may take, and which of their time counts."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
import pytest

from isolation_parts import (
    RASCAL,
    SHORT,
    Corridor,
    documented_program,
    gone,
    streams,
    take,
    take_timed,
    works,
)
from omnimeter.contract import Budget, Clock, ClockKind, Ending, FaultKind, Percept, Spec
from omnimeter.interaction import interact, process
from omnimeter.interaction.process import TAIL, AgentProcess, Limits


@pytest.mark.parametrize("how", ["hang", "spin", "flood_forever"])
def test_patience_ends(how: str) -> None:
    with AgentProcess(RASCAL, SHORT) as seat:
        assert works(seat)
        group = seat.pid
        assert group is not None
        before = time.monotonic()
        trace = take(seat, how)
        assert 0.5 <= time.monotonic() - before < 3
        assert trace.fault is not None
        assert trace.fault.kind is FaultKind.TIME_OUT
        assert trace.fault.message == "The agent took longer than 0.5 s for one action."
        assert len(trace.fault.detail) < TAIL + 100
        assert how != "hang" or "thinking hard" in trace.fault.detail
        assert len(trace) == 3
        assert gone(group)
        assert works(seat)


def test_patience_with_the_beginning() -> None:
    with AgentProcess(RASCAL) as seat:
        assert works(seat)
        seat.limits = Limits(seconds_to_begin=0.5)
        trace = take(seat, "hang_at_once")
        assert trace.fault is not None
        assert trace.fault.kind is FaultKind.TIME_OUT
        assert trace.fault.message == "The agent took longer than 0.5 s to begin."
        seat.limits = Limits()
        assert works(seat)


def test_hang_at_import(tmp_path: Path) -> None:
    path = tmp_path / "sleeper.py"
    path.write_text("def choose(observation):\n    return 0\n")
    with AgentProcess(Spec(f"{path}:choose")) as seat:
        assert works(seat)
        awake = path.read_text()
        path.write_text(f"import time\ntime.sleep(60)\n{awake}")
        seat.limits = Limits(seconds_to_begin=0.5)
        trace = take(seat)
        assert trace.fault is not None
        assert trace.fault.kind is FaultKind.TIME_OUT
        path.write_text(awake)
        seat.limits = Limits()
        assert works(seat)


def test_only_the_agents_own_time_counts() -> None:
    with AgentProcess(RASCAL) as seat:
        take(seat)  # starting the process is not the agent's time
        trace, _ = take_timed(seat, "nap", 0.5)
    assert trace.fault is None
    assert trace.end_ns == 500_000_000
    waits = np.diff(trace.times[2:]) / 1e6
    assert 5 <= len(waits) <= 25
    assert np.all(waits >= 20)
    assert np.median(waits) < 35


def test_an_action_after_the_end_does_not_count() -> None:
    with AgentProcess(RASCAL) as seat:
        assert works(seat)
        pid = seat.pid
        trace, took = take_timed(seat, "hang", 0.3)
        assert trace.fault is None
        assert trace.ending is Ending.BUDGET
        assert len(trace) == 3
        assert trace.end_ns == 300_000_000
        assert 0.3 <= took < 3  # about the budget, not the timeout
        assert works(seat)
        assert seat.pid != pid


def test_an_agent_that_is_free_in_time_keeps_its_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 5_000_000_000)  # a busy machine is no reason to fail
    with AgentProcess(RASCAL) as seat:
        assert works(seat)
        pid = seat.pid
        trace, _ = take_timed(seat, "doze", 0.25)
        assert trace.fault is None
        assert len(trace) == 3
        assert works(seat)
        assert seat.pid == pid


LIAR = documented_program().replace(
    '"action": pressed % actions}', '"action": pressed % actions, "ns": CLAIMED}'
)


def actions_of(program: str, seconds: float = 0.3) -> int:
    with AgentProcess(Spec("presser"), command=(sys.executable, "-c", program)) as seat:
        take(seat)
        trace, took = take_timed(seat, "", seconds)
    assert trace.fault is None
    assert took < 20 * seconds + 2
    return len(trace)


def test_what_an_agent_says_of_its_time_does_not_matter() -> None:
    slow = LIAR.replace('case "act":\n', 'case "act":\n            time.sleep(0.01)\n')
    slow = f"import time\n{slow}"
    honest = actions_of(slow.replace("CLAIMED", "10_000_000"))
    assert 10 <= honest <= 30
    for claimed in ("0", "100_000", "-5", "'none'"):
        assert 10 <= actions_of(slow.replace("CLAIMED", claimed)) <= 30


def test_a_quick_answer_takes_its_time_too() -> None:
    # A program without an agent inside answers faster than a no-op agent: a tenth is charged.
    with AgentProcess(
        Spec("presser"), command=(sys.executable, "-c", documented_program())
    ) as seat:
        take(seat)
        trace, took = take_timed(seat, "", 0.05)
    steps = np.diff(trace.times, prepend=0)
    assert steps.min() >= 1_000
    assert took < 10 * 0.05 + 2  # calibration included


@pytest.mark.parametrize(
    ("round_trip", "transport", "own"),
    [(100_000, 0, 100_000), (100_000, 60_000, 40_000), (100_000, 99_000, 10_000), (20, 70, 1_000)],
)
def test_what_is_charged(round_trip: int, transport: int, own: int) -> None:
    assert process.charged(round_trip, transport) == own


class Slow(Corridor):
    """An environment that takes its time."""

    def step(self, action: int) -> Percept:
        time.sleep(0.05)
        return super().step(action)


@pytest.mark.parametrize("how", ["nap", "delay_long", "environment"])
def test_every_exercise_ends(how: str) -> None:
    limits = Limits(seconds_per_exercise=0.6)
    environment = Slow() if how == "environment" else Corridor(how)
    clock = Clock(ClockKind.WALL if how == "delay_long" else ClockKind.VIRTUAL)
    with AgentProcess(RASCAL, limits) as seat:
        take(seat)
        before = time.monotonic()
        trace = interact(environment, seat, Budget(interactions=10**6), streams, clock=clock)
        assert time.monotonic() - before < 5
        assert trace.fault is not None
        assert len(trace) >= 3
        if how == "environment":
            assert trace.fault.kind is FaultKind.INFRASTRUCTURE
            assert "most of which the agent did not use" in trace.fault.message
        else:
            assert trace.fault.kind is FaultKind.TIME_OUT
            assert trace.fault.message == "The agent took longer than 0.6 s for an exercise."
        seat.limits = Limits()
        assert works(seat)
