"""Finished means stored: a process killed at any moment loses nothing that was acknowledged."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path

import pytest

from omnimeter.contract.errors import StoreError
from omnimeter.results import Record, open_writer
from omnimeter.results.files import Layout, read_key
from omnimeter.results.tables import read_outcome_columns
from omnimeter.results.traces import stored_traces
from results_samples import SPEC, exact_trace, make_outcome, make_trace

pytestmark = pytest.mark.skipif(os.name == "nt", reason="kills by POSIX signals")

# Stores exercise after exercise in batches of changing size, and says so only once each is stored.
# Every turn is a fork of one process, so that a kill costs no new start of Python.
BUSY = """
import os, random, sys
from results_samples import SPEC, make_outcome, make_trace
from omnimeter.results import open_writer

def work(directory, sizes):
    with open_writer(directory, SPEC) as writer:
        number, stored = 0, writer.keys()
        while True:
            batch, size = [], sizes.randint(1, 4)
            while len(batch) < size:
                outcome = make_outcome(number)
                if outcome.exercise.key not in stored:
                    batch.append(outcome)
                number += 1
            traces = {one.exercise.key: make_trace(one.exercise.number) for one in batch}
            writer.append(batch, traces)
            # One system call, so that a kill cannot leave half a line.
            os.write(1, (" ".join(str(one.exercise.number) for one in batch) + "\\n").encode())

print("up", flush=True)
for turn in sys.stdin:
    child = os.fork()
    if child == 0:
        print(os.getpid(), flush=True)
        try:
            work(sys.argv[1], random.Random(turn))
        except BaseException:
            sys.excepthook(*sys.exc_info())
        os._exit(1)
    print("ended by", os.WTERMSIG(os.waitpid(child, 0)[1]), flush=True)
"""

# Dies by its own hand at the first, the second, the third step of storing two batches, and so on,
# each time in a directory of its own, until it survives all steps. A write is torn in two.
DYING = """
import itertools, os, signal, sys
from pathlib import Path
from results_samples import SPEC, make_outcome, make_trace
from omnimeter.results import open_writer

def work(directory, last):
    steps = itertools.count(1)

    def step():
        if next(steps) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(function):
        def stepping(*arguments):
            step()
            answer = function(*arguments)
            step()
            return answer
        return stepping

    def tearing_open(descriptor, *arguments, open=os.fdopen):
        file = open(descriptor, *arguments)
        if "wb" not in arguments:
            return file
        class Tearing:
            def __enter__(self): return self
            def __exit__(self, *_): file.close()
            def __getattr__(self, name): return getattr(file, name)
            def write(self, content):
                step()
                file.write(content[: len(content) // 2])
                file.flush()
                step()
                file.write(content[len(content) // 2 :])
        return Tearing()

    with open_writer(directory, SPEC) as writer:
        os.fdopen, Path.replace = tearing_open, around(Path.replace)
        os.fsync = around(os.fsync)
        for numbers in ((1, 2), (3, 4)):
            batch = [make_outcome(number) for number in numbers]
            traces = {one.exercise.key: make_trace(one.exercise.number) for one in batch}
            writer.append(batch, traces)
            print(last, *numbers, flush=True)

print("up", flush=True)
for last in itertools.count(1):
    child = os.fork()
    if child == 0:
        try:
            work(Path(sys.argv[1], str(last)), last)
            os._exit(0)
        except BaseException:
            sys.excepthook(*sys.exc_info())
        os._exit(1)
    status = os.waitpid(child, 0)[1]
    print("end", status, flush=True)
    if status != signal.SIGKILL:
        break
"""

# Holds the lock until it is told to go.
HOLDING = """
import sys
from results_samples import SPEC
from omnimeter.results import open_writer
with open_writer(sys.argv[1], SPEC):
    print("up", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def running(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    """A process that runs some code and has said that it is up."""
    with subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "up\n"
            yield process
        finally:
            process.kill()


def kill_while_busy(process: subprocess.Popen[str], turn: int) -> set[int]:
    """Kill a writer at a random moment; which exercises it had acknowledged until then."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(f"{turn}\n")
    process.stdin.flush()
    rng, writer = random.Random(turn), int(process.stdout.readline())
    # Some are killed while they open, the others a moment after they have stored something.
    lines = [process.stdout.readline() for _ in range(rng.choice([0, 1, 2, 5, 10]))]
    time.sleep(rng.uniform(0.0, 0.02))
    os.kill(writer, signal.SIGKILL)
    while not lines or not lines[-1].startswith("ended"):
        assert process.poll() is None
        lines.append(process.stdout.readline())
    assert lines.pop() == "ended by 9\n"
    return {int(number) for line in lines for number in line.split()}


def check_reading(directory: Path, acknowledged: set[int]) -> None:
    """Everything acknowledged is there, once, as it was; nothing has been repaired yet."""
    record = Record(directory)
    outcomes = record.outcomes()
    numbers = [one.exercise.number for one in outcomes]
    assert acknowledged <= set(numbers)
    assert outcomes == [make_outcome(number) for number in sorted(set(numbers))]
    assert record.keys() == {one.exercise.key for one in outcomes}
    expected = {make_outcome(number).exercise.key: make_trace(number) for number in numbers}
    stored = dict(record.traces())
    assert stored.keys() == expected.keys()
    assert all(exact_trace(stored[key]) == exact_trace(expected[key]) for key in expected)


def check_consistent(directory: Path) -> None:
    """Nothing is left over or held twice."""
    layout, key = Layout(directory), read_key(Layout(directory))
    assert not list(directory.rglob("*.writing"))
    shards = [layout.outcome_shard(name) for name in layout.shards()]
    stored = [read_outcome_columns(shard, key, ["key"])[0]["key"].to_pylist() for shard in shards]
    assert set(Counter(chain(*stored)).values()) == {1}
    traced = [stored_traces(layout.trace_shard(name), key) for name in layout.trace_shards()]
    assert sorted(chain(*stored)) == sorted(chain(*(each.names for each in traced)))


def assert_survives(directory: Path, kills: int) -> None:
    acknowledged: set[int] = set()
    with running(BUSY, str(directory)) as process:
        for turn in range(kills):
            acknowledged |= kill_while_busy(process, turn)
            assert not acknowledged or (directory / "spec.json").exists()
            if (directory / "spec.json").exists():
                check_reading(directory, acknowledged)
    assert len(acknowledged) > kills
    with open_writer(directory, SPEC):
        pass
    check_reading(directory, acknowledged)
    check_consistent(directory)


def test_nothing_acknowledged_is_lost_by_kills(tmp_path: Path) -> None:
    assert_survives(tmp_path / "evaluation", kills=15)


@pytest.mark.slow
def test_nothing_acknowledged_is_lost_by_many_kills(tmp_path: Path) -> None:
    assert_survives(tmp_path / "evaluation", kills=60)


def test_death_at_every_single_step_loses_nothing(tmp_path: Path) -> None:
    with running(DYING, str(tmp_path)) as process:
        assert process.stdout is not None
        lines = [line.split() for line in process.stdout]
    ends = [line[1] for line in lines if line[0] == "end"]
    assert ends[-1] == "0"
    assert len(ends) > 25
    assert set(ends[:-1]) == {"9"}
    for last in range(1, len(ends) + 1):
        directory = tmp_path / str(last)
        acknowledged = {int(n) for line in lines if line[0] == str(last) for n in line[1:]}
        check_reading(directory, acknowledged)
        with open_writer(directory, SPEC) as writer:
            stored = {one.exercise.number for one in writer.outcomes()}
            assert acknowledged <= stored
            batch = [make_outcome(number) for number in (1, 2, 3, 4, 5)]  # another grouping
            writer.append(
                batch, {one.exercise.key: make_trace(one.exercise.number) for one in batch}
            )
        check_reading(directory, {1, 2, 3, 4, 5})
        check_consistent(directory)


def test_a_second_writer_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    with running(HOLDING, str(tmp_path)) as first:
        with pytest.raises(StoreError) as caught, open_writer(tmp_path, SPEC):
            pass
        assert caught.value.message == (
            f"{tmp_path} is being written by another process (pid {first.pid})."
        )
        assert "--out" in caught.value.advice
        Record(tmp_path).outcomes()
        first.send_signal(signal.SIGKILL)
        first.wait()
        with open_writer(tmp_path, SPEC) as writer:
            writer.append([make_outcome(1)])
    assert Record(tmp_path).outcomes() == [make_outcome(1)]


def test_a_second_writer_in_the_same_process_is_refused_too(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC) as writer:
        with pytest.raises(StoreError, match=f"pid {os.getpid()}"), open_writer(tmp_path, SPEC):
            pass
        writer.append([make_outcome(1)])


def test_unfinished_files_and_traces_without_outcomes_are_cleared_away(tmp_path: Path) -> None:
    """As after a kill between the traces and the outcomes of one batch."""
    outcome = make_outcome(1)
    with open_writer(tmp_path, SPEC) as writer:
        writer.append([outcome], {outcome.exercise.key: make_trace(1)})
    (shard,) = (tmp_path / "outcomes").iterdir()
    shard.rename(shard.with_name(shard.name + ".writing"))
    (tmp_path / "traces" / "other.parquet.writing").write_text("")
    record = Record(tmp_path)
    assert record.outcomes() == []
    assert record.trace(outcome.exercise.key) is None
    assert list(record.traces()) == []
    with open_writer(tmp_path, SPEC) as writer:
        assert not list((tmp_path / "outcomes").iterdir())
        assert not list((tmp_path / "traces").iterdir())
        writer.append([outcome])
        assert writer.trace(outcome.exercise.key) is None
