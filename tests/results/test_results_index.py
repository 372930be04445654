"""The index is an index: whatever happens to it, the shards make it again."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from math import nan
from pathlib import Path

import pytest

from omnimeter.results import Record, open_writer, store
from omnimeter.results.files import Layout
from results_samples import SPEC, make_outcome


@pytest.fixture
def evaluation(tmp_path: Path) -> Path:
    with open_writer(tmp_path, SPEC) as writer:
        for number in range(0, 9, 3):
            writer.append([make_outcome(number + step) for step in range(3)])
    return tmp_path


def contents(path: Path) -> tuple[list[object], list[object]]:
    with closing(sqlite3.connect(path / "index.sqlite")) as connection:
        return (
            connection.execute("SELECT * FROM shards ORDER BY name").fetchall(),
            connection.execute("SELECT * FROM exercises ORDER BY shard, key").fetchall(),
        )


def execute(path: Path, statement: str) -> None:
    with closing(sqlite3.connect(path / "index.sqlite")) as connection, connection:
        connection.execute(statement)


def garble(path: Path, where: slice) -> None:
    content = bytearray((path / "index.sqlite").read_bytes())
    content[where] = b"\xa5" * len(content[where])
    (path / "index.sqlite").write_bytes(content)


DAMAGES: dict[str, Callable[[Path], object]] = {
    "deleted": lambda path: (path / "index.sqlite").unlink(),
    "emptied": lambda path: (path / "index.sqlite").write_bytes(b""),
    "no database": lambda path: (path / "index.sqlite").write_text("hello" * 100),
    "cut short": lambda path: (path / "index.sqlite").write_bytes(
        (path / "index.sqlite").read_bytes()[:5000]
    ),
    "garbled head": lambda path: garble(path, slice(0, 64)),
    "garbled pages": lambda path: garble(path, slice(4096, None)),
    "another version": lambda path: execute(path, "PRAGMA user_version = 99"),
    "lost shard": lambda path: execute(
        path, "DELETE FROM shards WHERE name = (SELECT min(name) FROM shards)"
    ),
    "lost exercise": lambda path: execute(
        path, "DELETE FROM exercises WHERE key = (SELECT min(key) FROM exercises)"
    ),
    "renamed exercise": lambda path: execute(
        path, "UPDATE exercises SET key = 'x' WHERE key = (SELECT min(key) FROM exercises)"
    ),
    "unknown shard": lambda path: execute(path, "INSERT INTO shards VALUES ('nowhere', 10)"),
    "other size": lambda path: execute(path, "UPDATE shards SET bytes = bytes + 1"),
    "other journal": lambda path: execute(path, "PRAGMA journal_mode = WAL"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_an_index_that_disagrees_is_rebuilt(evaluation: Path, damage: str) -> None:
    before, outcomes = contents(evaluation), Record(evaluation).outcomes()
    DAMAGES[damage](evaluation)
    assert Record(evaluation).outcomes() == outcomes
    assert Record(evaluation).keys() == {one.exercise.key for one in outcomes}
    with open_writer(evaluation, SPEC) as writer:
        assert writer.keys() == {one.exercise.key for one in outcomes}
        writer.append(outcomes)
    assert contents(evaluation) == before


def test_a_shard_that_came_after_the_index_is_added(evaluation: Path) -> None:
    """As after a kill between the renaming of a shard and its entry in the index."""
    behind = (evaluation / "index.sqlite").read_bytes()
    with open_writer(evaluation, SPEC) as writer:
        writer.append([make_outcome(99)])
    ahead = contents(evaluation)
    (evaluation / "index.sqlite").write_bytes(behind)
    assert len(Record(evaluation).keys()) == 10
    with open_writer(evaluation, SPEC) as writer:
        assert len(writer.keys()) == 10
    assert contents(evaluation) == ahead


def test_exercises_of_a_removed_shard_are_forgotten(evaluation: Path) -> None:
    removed = min((evaluation / "outcomes").iterdir())
    removed.unlink()
    assert len(Record(evaluation).keys()) == 6
    with open_writer(evaluation, SPEC) as writer:
        assert len(writer.keys()) == 6
        writer.append([make_outcome(number) for number in range(9)])
    assert Record(evaluation).outcomes() == [make_outcome(number) for number in range(9)]
    (_, exercises) = contents(evaluation)
    assert len(exercises) == 9


def test_a_correct_index_is_used_and_shards_are_not_opened(
    evaluation: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keys = Record(evaluation).keys()
    monkeypatch.setattr("omnimeter.results.tables.open_shard", None)
    assert Record(evaluation).keys() == keys
    with open_writer(evaluation, SPEC) as writer:
        assert writer.keys() == keys


def test_the_index_tells_what_came_of_each_exercise(tmp_path: Path) -> None:
    odd = replace(make_outcome(1), payoff=nan)
    with open_writer(tmp_path, SPEC) as writer:
        writer.append([odd, make_outcome(2)])
    with closing(sqlite3.connect(tmp_path / "index.sqlite")) as connection:
        rows = connection.execute(
            "SELECT agent, number, payoff, ending FROM exercises ORDER BY number"
        ).fetchall()
    assert rows == [
        ("random-v1(rate=2)", 1, None, "budget"),
        ("random-v1(rate=2)", 2, 2 / 7, "budget"),
    ]


def test_an_index_that_cannot_be_written_costs_no_outcome(
    evaluation: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("omnimeter.results.store.READ_TIMEOUT", 0.01)
    monkeypatch.setattr("omnimeter.results.store.WRITE_TIMEOUT", 0.01)
    with open_writer(evaluation, SPEC) as writer:
        with closing(sqlite3.connect(evaluation / "index.sqlite")) as curious:
            curious.execute("BEGIN EXCLUSIVE")
            writer.append([make_outcome(50)])
            assert len(Record(evaluation).keys()) == 10
        writer.append([make_outcome(51)])
    assert len(contents(evaluation)[1]) == 10
    assert len(Record(evaluation).outcomes()) == 11
    with open_writer(evaluation, SPEC):
        pass
    assert len(contents(evaluation)[1]) == 11
    assert len(store.indexed_attempts(Layout(evaluation))) == 5
