"""How long agents in a process of their own may take, and which of their time counts."""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest

from isolation_parts import RASCAL, SHORT, gone, take, take_timed, works
from omnimeter.contract import Ending, FaultKind, Spec
from omnimeter.interaction import process
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
