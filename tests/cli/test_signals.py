"""Signals: what is finished is kept, and no process is left, whatever ends the main one."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from omnimeter.api.evaluation import load
from omnimeter.results import Record

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads /proc")

SLOW = """
import time
from omnimeter import Agent
class Slow(Agent):
    def begin(self, briefing, rng):
        self.rng, self.actions = rng, briefing.actions
    def act(self, reward, observation):
        time.sleep(0.005)
        return int(self.rng.integers(self.actions))
"""
PATIENCE = 20.0  # seconds in which all processes must be gone, on a busy machine


def start(directory: Path, exercises: int, mark: str = "") -> subprocess.Popen[bytes]:
    """An evaluation with two workers, and an agent in processes of its own."""
    (directory / "slow.py").write_text(SLOW)
    options = ["-a", "slow.py:Slow", "-a", "random", "-c", "cups", "--interactions", "20"]
    options += ["--workers", "2", "--seed", "0", "--exercises", str(exercises), "--out", "e"]
    return subprocess.Popen(
        [sys.executable, "-m", "omnimeter", "run", *options],
        cwd=directory,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "MARK": mark},
        preexec_fn=heed_signals,  # noqa: PLW1509 - no thread holds a lock here
    )


def heed_signals() -> None:
    """Have the default for each signal, even if these tests run where it is ignored."""
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)


def processes() -> dict[int, tuple[int, str]]:
    """The parent and the start of each process that runs."""
    known = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = path.read_text().rpartition(") ")[2].split()
        except OSError:  # it has ended meanwhile
            continue
        if fields[0] != "Z":
            known[int(path.parent.name)] = int(fields[1]), fields[19]
    return known


def family(pid: int, mark: str) -> dict[int, str]:
    """The processes that descend from one, or have the mark in their environment."""
    known = processes()
    members = {pid} & known.keys()
    while more := {each for each, (parent, _) in known.items() if parent in members} - members:
        members |= more
    for each in known:
        try:
            if f"MARK={mark}".encode() in Path(f"/proc/{each}/environ").read_bytes():
                members.add(each)
        except OSError:
            continue
    return {each: known[each][1] for each in members}


def left_over(members: dict[int, str], mark: str) -> set[int]:
    """Which of some processes, or of those with the mark, are still there after a while."""
    deadline = time.monotonic() + PATIENCE
    while True:
        known = processes()
        left = {each for each, since in members.items() if known.get(each, (0, ""))[1] == since}
        left |= family(0, mark).keys()
        if not left or time.monotonic() > deadline:
            return left
        time.sleep(0.1)


def stored(directory: Path) -> int:
    return len(Record(directory / "e").keys()) if (directory / "e/spec.json").exists() else 0


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_keeps_what_is_finished_and_leaves_no_process(tmp_path, sent):
    mark = f"{tmp_path}-{sent}"
    process = start(tmp_path, 2000, mark)
    deadline = time.monotonic() + 60
    while not stored(tmp_path) and time.monotonic() < deadline:
        time.sleep(0.1)
    members = family(process.pid, mark)
    process.send_signal(sent)
    out, error = process.communicate(timeout=60)
    assert process.returncode == 128 + sent
    assert b"Not all exercises are done" in out
    assert b"Traceback" not in error
    assert len(members) >= 4  # itself, its workers, and their agents
    assert left_over(members, mark) == set()
    result = load(tmp_path / "e")
    assert not result.complete
    assert sum(map(len, result.outcomes.values())) == stored(tmp_path) > 0
    assert (tmp_path / "e" / "report.html").exists()


def handles_signals(pid: int) -> bool:
    """Whether the command has begun; before, Python itself is started, which nothing can help."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    (caught,) = (int(line.split()[1], 16) for line in lines if line.startswith("SigCgt"))
    return bool(caught >> (signal.SIGTERM - 1) & 1)


@pytest.mark.parametrize("after", [0.0, 0.05, 0.2, 0.5])
def test_an_early_interrupt_says_nothing(tmp_path, after):
    process = start(tmp_path, 2000)
    while not handles_signals(process.pid):
        time.sleep(0.002)
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in error


SWALLOWS = """
import ctypes, os, signal, sys, time
import omnimeter.cli
from omnimeter.__main__ import main

def interrupted():
    os.kill(os.getpid(), signal.SIGTERM)
    for _ in range(1000):
        pass
    return 0

def run():
    ctypes.CFUNCTYPE(ctypes.c_int)(interrupted)()  # lets no exception through
    time.sleep(30)

omnimeter.cli.main = run
main()
"""


def test_a_signal_that_comes_in_a_callback_is_not_lost():
    done = subprocess.run([sys.executable, "-c", SWALLOWS], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (128 + signal.SIGTERM, b"")


@pytest.mark.slow
def test_no_process_is_left_and_no_result_changed_by_kills_at_any_moment(tmp_path):
    rng, mark = random.Random(0), f"{tmp_path}-kills"
    kinds = [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT]
    killed = dict.fromkeys(kinds, 0)
    (tmp_path / "killed").mkdir()
    (tmp_path / "clean").mkdir()
    for turn in range(24):
        before, sent = stored(tmp_path / "killed"), kinds[turn % 4]
        process = start(tmp_path / "killed", 400, mark)
        while not handles_signals(process.pid):
            time.sleep(0.002)
        if turn % 8 < 4:  # while it begins, or else while it is at work
            time.sleep(rng.uniform(0.0, 4.0))
        else:
            deadline = time.monotonic() + 120
            while stored(tmp_path / "killed") == before and time.monotonic() < deadline:
                time.sleep(0.05)
            time.sleep(rng.uniform(0.0, 1.0))
        members = family(process.pid, mark)
        process.send_signal(sent)
        _, error = process.communicate(timeout=60)
        killed[sent] += process.returncode == (-9 if sent is signal.SIGKILL else 128 + sent)
        assert b"Traceback" not in error
        assert left_over(members, mark) == set()
    assert all(count >= 5 for count in killed.values()), killed
    assert stored(tmp_path / "killed") > 0
    for directory in ("killed", "clean"):
        process = start(tmp_path / directory, 400, mark)
        process.communicate(timeout=600)
        assert process.returncode == 0
    ours, theirs = (
        [replace(each, attempts=1) for each in Record(tmp_path / name / "e").outcomes()]
        for name in ("killed", "clean")
    )
    assert ours == theirs
    assert left_over({}, mark) == set()
