"""Agents in a process of their own: what they do wrong costs only their own exercise."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import numpy as np
import pytest

from isolation_parts import RASCAL, Corridor, gone, living, streams, take, take_timed, works
from omnimeter.catalogue import Kind, make
from omnimeter.contract import (
    Budget,
    Ending,
    FaultKind,
    InvalidInputError,
    OmnimeterError,
    Spec,
    Trace,
)
from omnimeter.interaction import interact
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.process import AgentProcess, Limits


@pytest.fixture(scope="module")
def shared() -> Iterator[AgentProcess]:
    """One process for many tests: each of them must leave it in order."""
    with AgentProcess(RASCAL, Limits(seconds_per_action=20, memory_mb=200)) as seat:
        yield seat


def in_process(how: str) -> Trace:
    agent = adapt(make(Kind.AGENT, RASCAL))
    return interact(Corridor(how), agent, Budget(interactions=10), streams, record=True)


@pytest.mark.parametrize(
    "how",
    [
        "behave",
        "delay",
        "stop",
        "numpy_integer",
        "answer_none",
        "answer_text",
        "answer_seven",
        "answer_numpy_seven",
        "answer_nan",
        "answer_half",
        "answer_pair",
        "answer_much",
        "answer_huge",
        "declare_nan",
        "declare_text",
        "declare_none_of_seven",
        "raise_error",
        "raise_unprintable",
        "raise_at_once",
        "raise_at_last",
        "leave_politely",
    ],
)
def test_same_trace_and_fault_as_in_process(shared: AgentProcess, how: str) -> None:
    mine, theirs = in_process(how), take(shared, how)
    assert theirs.same_as(mine)
    if mine.fault is None:
        assert theirs.fault is None
    else:
        assert theirs.fault is not None
        assert theirs.fault.kind is mine.fault.kind is FaultKind.AGENT_ERROR
        assert theirs.fault.message == mine.fault.message
        assert len(theirs.fault.message) < 1000
    pid = shared.pid
    assert works(shared)
    assert shared.pid == pid  # an agent that only errs does not cost its process


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("eat_lumps", "The agent used more than 200 MB of memory."),
        ("eat_crumbs", "The agent used more than 200 MB of memory."),
        ("eat_array", "The agent used more than 200 MB of memory."),
        ("leave", "The agent ended its process (exit code 3)."),
        ("crash", "The agent ended its process (signal SIGSEGV)."),
        ("fork", "The agent ended its process (exit code 3)."),
        ("flood_channel", "The agent sent a line of more than 1000000 bytes."),
        ("close_everything", "The agent ended its process (exit code "),
    ],
)
def test_what_ends_the_process_costs_one_exercise(
    shared: AgentProcess, how: str, message: str
) -> None:
    assert works(shared)
    group = shared.pid
    assert group is not None
    trace = take(shared, how)
    assert trace.ending is Ending.FAULT
    assert trace.fault is not None
    assert trace.fault.kind is FaultKind.AGENT_ERROR
    assert trace.fault.message.startswith(message)
    assert trace.rewards.tolist() == [0.1, 0.2, 0.0]  # what was measured before is kept
    assert gone(group)
    assert works(shared)


def test_last_words_are_kept(shared: AgentProcess) -> None:
    raised = take(shared, "raise_error").fault
    assert raised is not None
    assert "my last output" in raised.detail
    assert "KeyError" in raised.detail
    crashed = take(shared, "crash").fault
    assert crashed is not None
    assert "my last output" not in crashed.detail  # those belong to an earlier exercise
    assert "Segmentation fault" in crashed.detail
    assert "in crash" in crashed.detail


@pytest.mark.parametrize(
    "how", ["talk", "flood", "close_input", "fork_and_go_on", "fork_and_return"]
)
def test_bad_manners_without_harm(shared: AgentProcess, how: str) -> None:
    trace = take(shared, how)
    assert trace.fault is None
    assert len(trace) == 10
    assert works(shared)


@pytest.mark.parametrize("how", ["raise_error", "leave", "eat_lumps"])
def test_faults_in_time_are_faults_under_a_wall_clock_too(shared: AgentProcess, how: str) -> None:
    take(shared)
    trace, _ = take_timed(shared, how, 15)
    assert trace.fault is not None
    assert len(trace) == 3


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        (Spec(RASCAL.id, {"wit": 3}), "wit"),
        (Spec(RASCAL.id.replace(":Rascal", ":Rascl")), "Rascl"),
        (Spec(RASCAL.id.replace("rascal.py", "rascals.py")), "no file"),
        (Spec(RASCAL.id.replace(":Rascal", ":np")), "cannot be used as an agent"),
        (Spec("random-v0"), "random-v0"),
    ],
)
def test_an_agent_that_cannot_be_loaded(spec: Spec, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message) as told, AgentProcess(spec) as seat:
        seat.load()
    with pytest.raises(OmnimeterError, match=message) as here:
        adapt(make(Kind.AGENT, spec))
    assert str(told.value) == str(here.value)


def test_syntax_error_and_repair(tmp_path: Path) -> None:
    path = tmp_path / "broken.py"
    path.write_text("def choose(observation)\n    return 0\n")
    with AgentProcess(Spec(f"{path}:choose")) as seat:
        fault = take(seat).fault
        assert fault is not None
        assert fault.kind is FaultKind.AGENT_ERROR
        assert "broken.py, line 1: SyntaxError" in fault.message
        path.write_text("def choose(observation):\n    return 0\n")
        assert works(seat)


def test_random_agent_is_the_same_in_both_places() -> None:
    cups = make(Kind.ENVIRONMENT, Spec("cups-v1"))
    environment = cups.build(cups.draw(streams("draw").generator()))
    for parameters in ({}, {"rate": 3.0}):
        spec = Spec("random-v1", parameters)
        budget = Budget(interactions=200)
        here = interact(environment, make(Kind.AGENT, spec), budget, streams, record=True)
        with AgentProcess(spec) as seat:
            there = interact(environment, seat, budget, streams, record=True)
        assert there.fault is None
        assert len(there) == 200
        assert there.same_as(here)


def test_python_agent_is_the_same_in_both_places(shared: AgentProcess) -> None:
    class Cups(Corridor):
        """Real cups, with our briefing."""

        def __init__(self) -> None:
            cups = make(Kind.ENVIRONMENT, Spec("cups-v1"))
            self.cups = cups.build(cups.draw(streams("draw").generator(), 4))
            self.actions, self.space = self.cups.actions, self.cups.space
            self.start, self.step = self.cups.start, self.cups.step
            self.how = "delay"

    budget = Budget(interactions=200)
    here = interact(Cups(), make(Kind.AGENT, RASCAL), budget, streams, record=True)
    there = interact(Cups(), shared, budget, streams, record=True)
    assert there.fault is None
    assert len(set(np.diff(there.times).tolist())) > 100  # the declared delays, exactly
    assert there.same_as(here)


def test_close_leaves_nothing_behind() -> None:
    files = len(os.listdir("/proc/self/fd"))
    seat = AgentProcess(RASCAL)
    take(seat, "fork_and_go_on")
    group = seat.pid
    assert group is not None
    assert len(living(group)) == 3  # the launcher, the agent and its child
    seat.close()
    seat.close()
    assert gone(group)
    assert len(os.listdir("/proc/self/fd")) == files
    assert works(seat)  # it can be used again
    seat.close()


def test_a_process_that_died_between_exercises_costs_none(shared: AgentProcess) -> None:
    assert works(shared)
    assert shared.pid is not None
    os.kill(shared.pid, signal.SIGKILL)
    time.sleep(0.05)
    assert works(shared)


@pytest.mark.parametrize("how", ["idle", "spin"])
def test_a_child_does_not_outlive_its_parent(how: str) -> None:
    script = dedent(f"""
        import threading
        import time
        from omnimeter.contract import Spec, stream, Briefing, single
        from omnimeter.interaction.process import AgentProcess
        seat = AgentProcess(Spec({RASCAL.id!r}))
        seat.begin(Briefing(3, single(5), remarks={{"how": {how!r}}}), stream(1).seed)
        print(seat.pid, flush=True)
        if {how!r} == "idle":
            time.sleep(60)
        for _ in range(4):
            seat.ask(0.0, 0, 2**62)
    """)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as parent:
        assert parent.stdout is not None
        group = int(parent.stdout.readline())
        time.sleep(0.2)
        assert len(living(group)) == 2  # the launcher and the agent
        parent.kill()
    assert gone(group)
