"""Small shards are merged: nothing changes by it, whatever comes between and whoever looks."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnimeter.contract import Fault, FaultKind, Outcome
from omnimeter.contract.errors import StoreError
from omnimeter.contract.exercise import supersedes
from omnimeter.results import Record, Writer, merging, open_writer
from results_samples import SPEC, exact_outcome, exact_trace, make_outcome, make_trace


class Killed(BaseException):
    """The process ends here."""


@pytest.fixture(autouse=True, scope="module")
def no_waiting() -> Iterator[None]:
    """Shards are merged early; provenance and waiting for the disk would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda _: None)
        patch.setattr("omnimeter.results.store.current_provenance", lambda *_: {})
        patch.setattr(merging, "MANY", 2)
        patch.setattr(merging, "MERGED", 8)
        yield


def made(number: int, attempts: int, lost: bool, agent: str = "random-v1") -> Outcome:
    outcome = replace(make_outcome(number, agent), attempts=attempts)
    fault = Fault(FaultKind.INFRASTRUCTURE, "No space left on device.")
    return replace(outcome, payoff=None, fault=fault) if lost else outcome


def traced(outcomes: list[Outcome]) -> dict[str, Any]:
    return {each.exercise.key: make_trace(each.exercise.number) for each in outcomes}


def open_killed_at(directory: Path, step: int) -> bool:
    """Open for writing, and end at the n-th time that something is written or removed."""
    steps = itertools.count()

    def around(function: Callable[..., Any]) -> Callable[..., Any]:
        def stepping(*arguments: Any, **options: Any) -> Any:
            if next(steps) == step:
                raise Killed
            return function(*arguments, **options)

        return stepping

    with pytest.MonkeyPatch.context() as patch:
        for name in ("replace", "unlink"):
            patch.setattr(Path, name, around(getattr(Path, name)))
        try:
            with open_writer(directory, SPEC):
                return False
        except Killed:
            return True


numbers = st.lists(st.integers(0, 12), min_size=1, max_size=4, unique=True)
agents = st.sampled_from(["random-v1", "a-v1"])
appends = st.tuples(st.just("append"), agents, numbers, st.booleans())
twins = st.tuples(st.just("twins"), agents, numbers, st.booleans())
kills = st.tuples(st.just("killed"), st.integers(0, 12))
events = st.lists(appends | twins | kills | st.tuples(st.just("opened")), min_size=3, max_size=14)


@settings(max_examples=25, deadline=None)
@given(events)
def test_merging_changes_no_outcome_in_any_order_of_events(given_events: list[Any]) -> None:
    expected: dict[str, Outcome] = {}
    with TemporaryDirectory() as name:
        directory = Path(name)
        with open_writer(directory, SPEC):
            pass
        for event in given_events:
            if event[0] == "killed":
                open_killed_at(directory, event[1])
            elif event[0] == "opened":
                with open_writer(directory, SPEC):
                    pass
            else:
                _, agent, chosen, lost = event
                batch = []
                for number in chosen:
                    earlier = expected.get(made(number, 1, lost, agent).exercise.key)
                    attempts = 1 if earlier is None else earlier.attempts + 1
                    outcome = made(number, attempts, lost, agent)
                    if earlier is None or supersedes(outcome, earlier):
                        batch.append(outcome)
                # Workers write without the lock, and the same thing may be done by two of them.
                writers = [Writer(directory) for _ in range(2 if event[0] == "twins" else 1)]
                writers[0].append(batch, traced(batch))
                for writer in writers[1:]:
                    writer.append(batch[::-1], traced(batch))
                    writer.append(batch[:1], traced(batch[:1]))
                expected.update((each.exercise.key, each) for each in batch)
            check(directory, expected)
        with open_writer(directory, SPEC) as writer:
            check(directory, expected)
            small = list((directory / "outcomes").iterdir())
            assert len(small) <= max(2, len(expected) // 4 + 1) + 1
            stored = [exact_outcome(each) for each in writer.outcomes()]
            assert len(stored) == len(expected)
        assert not list(directory.rglob("*.writing"))


def test_several_attempts_of_an_exercise_keep_their_own_traces(tmp_path: Path) -> None:
    """Also when shards that were merged are merged again."""
    with open_writer(tmp_path, SPEC) as writer:
        for attempts in (1, 2):
            outcome = made(1, attempts, lost=attempts == 1)
            writer.append([outcome], {outcome.exercise.key: make_trace(100 + attempts)})
    for number in range(2, 12):
        with open_writer(tmp_path, SPEC) as writer:
            writer.append([made(number, 1, False)], traced([made(number, 1, False)]))
    traces = dict(Record(tmp_path).traces())
    assert len(traces) == 11
    assert exact_trace(traces[made(1, 1, False).exercise.key]) == exact_trace(make_trace(102))


def check(directory: Path, expected: dict[str, Outcome]) -> None:
    record = Record(directory)
    stored = {each.exercise.key: exact_outcome(each) for each in record.outcomes()}
    assert stored == {key: exact_outcome(each) for key, each in expected.items()}
    traces = {key: exact_trace(trace) for key, trace in record.traces()}
    assert traces == {
        key: exact_trace(make_trace(each.exercise.number)) for key, each in expected.items()
    }


def fill(directory: Path, count: int) -> list[Outcome]:
    outcomes = [make_outcome(number) for number in range(count)]
    with open_writer(directory, SPEC) as writer:
        for each in outcomes:
            writer.append([each], traced([each]))
    return outcomes


def test_small_shards_become_few(tmp_path: Path) -> None:
    outcomes = fill(tmp_path, 20)
    assert len(list((tmp_path / "outcomes").iterdir())) == 20
    with open_writer(tmp_path, SPEC) as writer:
        assert len(list((tmp_path / "outcomes").iterdir())) == 3  # of eight at the most
        assert len(list((tmp_path / "traces").iterdir())) == 1
        assert writer.outcomes() == outcomes
        writer.append(outcomes[:5])
    assert len(list((tmp_path / "outcomes").iterdir())) == 3
    check(tmp_path, {each.exercise.key: each for each in outcomes})


def test_what_a_merged_shard_names_is_left_out_and_removed(tmp_path: Path) -> None:
    fill(tmp_path, 5)
    copies = {path.name: path.read_bytes() for path in (tmp_path / "outcomes").iterdir()}
    with open_writer(tmp_path, SPEC) as writer:
        outcomes = list(writer.outcomes())
    for name, content in copies.items():
        (tmp_path / "outcomes" / name).write_bytes(content)
    assert Record(tmp_path).outcomes() == outcomes
    with open_writer(tmp_path, SPEC):
        pass
    assert not {path.name for path in (tmp_path / "outcomes").iterdir()} & copies.keys()


def test_merging_may_be_killed_at_every_step(tmp_path: Path) -> None:
    for step in itertools.count():
        directory = tmp_path / str(step)
        expected = {each.exercise.key: each for each in fill(directory, 12)}
        killed = open_killed_at(directory, step)
        check(directory, expected)
        with open_writer(directory, SPEC):
            check(directory, expected)
            assert len(list((directory / "outcomes").iterdir())) <= 4
        if not killed:
            break
    assert step > 25


def test_a_disk_that_is_full_while_merging_loses_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = {each.exercise.key: each for each in fill(tmp_path, 12)}

    def refuse(path: Path, target: Path) -> Path:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", refuse)
        with pytest.raises(StoreError, match="no space left"), open_writer(tmp_path, SPEC):
            pass
    assert not list(tmp_path.rglob("*.parquet.*"))
    check(tmp_path, expected)


def test_outcomes_that_were_read_before_merging_still_give_objects(tmp_path: Path) -> None:
    expected = fill(tmp_path, 12)
    record = Record(tmp_path)
    outcomes, traces = record.outcomes(), record.traces()
    first = next(traces)
    with open_writer(tmp_path, SPEC) as writer:
        writer.append([make_outcome(50)], traced([make_outcome(50)]))
    assert list(outcomes) == expected
    assert outcomes[3] == expected[3]
    rest = dict(traces)
    assert {first[0], *rest} == {each.exercise.key for each in expected}
    assert record.outcomes() == [*expected, make_outcome(50)]
    assert record.trace(make_outcome(50).exercise.key) is not None


def test_outcomes_that_were_removed_are_missed(tmp_path: Path) -> None:
    fill(tmp_path, 2)
    outcomes = Record(tmp_path).outcomes()
    for shard in (tmp_path / "outcomes").iterdir():
        shard.unlink()
    with pytest.raises(StoreError, match="were removed while they were read"):
        list(outcomes)


# Appends small shards and merges them, again and again; says what is stored once it is.
MERGING = """
import sys
from results_samples import SPEC, make_outcome, make_trace
from omnimeter.results import merging, open_writer, store
merging.MANY = 2
store.current_provenance = lambda *_: {}
number = 0
for turn in range(int(sys.argv[2])):
    with open_writer(sys.argv[1], SPEC) as writer:
        for _ in range(5):
            outcome = make_outcome(number)
            writer.append([outcome], {outcome.exercise.key: make_trace(number)})
            number += 1
            print(number, flush=True)
"""


def test_a_reader_sees_everything_while_shards_are_merged(tmp_path: Path) -> None:
    with open_writer(tmp_path, SPEC):
        pass
    readings = 0
    with subprocess.Popen(
        [sys.executable, "-c", MERGING, str(tmp_path), "12"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    ) as process:
        assert process.stdout is not None
        kept = Record(tmp_path)
        for line in process.stdout:
            for record in (kept, Record(tmp_path)):
                outcomes = list(record.outcomes())
                assert len(outcomes) >= int(line)
                assert outcomes == [make_outcome(number) for number in range(len(outcomes))]
                assert len(list(record.traces())) >= len(outcomes)
            readings += 1
    assert process.returncode == 0
    assert readings == 60
