"""Reading and writing an evaluation: immutable, signed shards and the SQLite index over them."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from operator import itemgetter
from os import PathLike
from pathlib import Path
from typing import Any

from omnimeter.contract import Outcome, Spec, Trace
from omnimeter.contract.errors import StoreError
from omnimeter.contract.exercise import supersedes
from omnimeter.contract.spec import canonical_json, fingerprint
from omnimeter.results import files, tables
from omnimeter.results.files import Layout, read_error, shard_name, write_errors
from omnimeter.results.provenance import (
    check_same,
    current_provenance,
    read_seed,
    read_spec,
    write_spec,
)

# The columns of the index. SQLite has no NaN: such a payoff is NULL there.
_COLUMNS = ("key", "agent", "agent_key", "number", "payoff", "ending", "attempts")
# Seconds to wait for another process that uses the index; a reader can use the shards instead.
READ_TIMEOUT, WRITE_TIMEOUT = 0.5, 5.0

_VERSION = 2
_TABLES = f"""
BEGIN;
CREATE TABLE shards (name TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE exercises (
    shard TEXT NOT NULL, key TEXT NOT NULL,
    agent TEXT NOT NULL, agent_key TEXT NOT NULL, number INTEGER NOT NULL,
    payoff REAL, ending TEXT NOT NULL, attempts INTEGER NOT NULL,
    PRIMARY KEY (shard, key)
) WITHOUT ROWID;
CREATE INDEX exercises_by_key ON exercises (key);
PRAGMA user_version = {_VERSION};
COMMIT;
"""


def indexed_attempts(layout: Layout) -> dict[str, dict[str, int]]:
    """The exercises of every shard on which index and disk agree, with their attempts.

    Writes nothing. An index that is missing, busy or damaged has none; that is no error.
    """
    location = f"{layout.index.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(location, uri=True, timeout=READ_TIMEOUT)) as connection:
            return _agreed(connection, layout)
    except sqlite3.Error:
        return {}


def add_to_index(layout: Layout, shard: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Enter the rows of a shard that is on disk into the index.

    Raises:
        sqlite3.Error: The index could not be written; the next ``update_index`` will fix it.
    """
    with _transaction(layout.index) as connection:
        _insert(connection, layout, shard, rows)


def update_index(layout: Layout) -> None:
    """Make the index agree with the shards; a damaged one is removed and rebuilt.

    Raises:
        StoreError: A shard is damaged, or the index cannot be written at all.
    """
    try:
        _update_index(layout)
    except sqlite3.Error:
        # The index before its journal, which must never be applied to another index.
        for file in (layout.index, layout.index.with_name(layout.index.name + "-journal")):
            with write_errors(file):
                file.unlink(missing_ok=True)
        try:
            _update_index(layout)
        except sqlite3.Error as error:
            advice = "Free some space or allow writing there, and run the same command again."
            raise StoreError(
                f"{layout.index} cannot be written ({error}).",
                f"{advice} Everything stored so far is safe.",
            ) from error


def _update_index(layout: Layout) -> None:
    with _transaction(layout.index) as connection:
        if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("the index is damaged")
        key, agreed = files.read_key(layout), _agreed(connection, layout)
        for row in connection.execute("SELECT name FROM shards").fetchall():
            if row[0] not in agreed:
                connection.execute("DELETE FROM exercises WHERE shard = ?", row)
                connection.execute("DELETE FROM shards WHERE name = ?", row)
        for shard in layout.shards():
            if shard not in agreed:
                rows = tables.read_rows(layout.outcome_shard(shard), key)
                _insert(connection, layout, shard, rows)


@contextmanager
def _transaction(path: Path) -> Iterator[sqlite3.Connection]:
    """One transaction on the index, which is created where there is none."""
    with closing(sqlite3.connect(path, timeout=WRITE_TIMEOUT, isolation_level=None)) as connection:
        # One file that any reader can open, even on a read-only disk; since the index is rebuilt
        # from the shards, nothing is lost if the machine crashes before the last page is on disk.
        connection.execute("PRAGMA journal_mode = DELETE")
        connection.execute("PRAGMA synchronous = NORMAL")
        if _version(connection) == 0:
            connection.executescript(_TABLES)
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            yield connection


def _insert(
    connection: sqlite3.Connection, layout: Layout, shard: str, rows: Iterable[Mapping[str, Any]]
) -> None:
    size = _size(layout.outcome_shard(shard))
    connection.execute("INSERT OR REPLACE INTO shards VALUES (?, ?)", (shard, size))
    connection.executemany(
        "INSERT OR REPLACE INTO exercises VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        ((shard, *(row[column] for column in _COLUMNS)) for row in rows),
    )


def _agreed(connection: sqlite3.Connection, layout: Layout) -> dict[str, dict[str, int]]:
    """What is in the index, of the shards whose size and name it explains."""
    if _version(connection) != _VERSION:
        raise sqlite3.DatabaseError("the index has another version")
    sizes = dict(connection.execute("SELECT name, bytes FROM shards"))
    attempts: dict[str, dict[str, int]] = defaultdict(dict)
    columns = "shard, CAST(key AS TEXT), CAST(attempts AS INTEGER)"
    for shard, key, count in connection.execute(f"SELECT {columns} FROM exercises"):
        attempts[shard][key] = count
    return {
        shard: attempts[shard]
        for shard in layout.shards()
        if sizes.get(shard) == _size(layout.outcome_shard(shard))
        and shard_name(attempts[shard]) == shard
    }


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _size(path: Path) -> int:
    with write_errors(path):
        return path.stat().st_size


_FIELDS = ("versions", "revisions", "machine")  # fields of a provenance that are tables


class Record:
    """One evaluation on disk, for reading only, also while another process writes it.

    It takes no lock and writes nothing. Each call sees what is stored at that moment.

    Attributes:
        path: The directory of the evaluation.
        spec: What is evaluated, as plain JSON data.
        seed: The secret seed that was drawn for it when it began, if one was.

    Raises:
        StoreError: Also from its methods: a file is missing, damaged or cannot be read.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self._layout = Layout(self.path)
        self.spec: dict[str, Any] = read_spec(self._layout)
        self.seed: int | None = read_seed(self._layout)
        self._attempts: dict[str, Mapping[str, int]] = {}

    @property
    def fingerprint(self) -> str:
        """A short name that depends on the whole spec."""
        return fingerprint(self.spec)

    def keys(self) -> set[str]:
        """The keys of all exercises that have an outcome."""
        return set().union(*self._attempts_by_shard().values())

    def outcomes(self) -> list[Outcome]:
        """All outcomes, ordered by agent, number of the exercise and key.

        Of an exercise that was run again after a fault of the infrastructure, the last attempt.
        """
        key = files.read_key(self._layout)
        read: dict[tuple[tables.SortKey, int], tuple[Outcome, Path]] = {}
        for shard in self._layout.shards():
            path = self._layout.outcome_shard(shard)
            for order, outcome in tables.read_outcomes(path, key):
                first, where = read.setdefault((order, outcome.attempts), (outcome, path))
                if first is not outcome and _text(first) != _text(outcome):
                    raise _disagreement(outcome, where, path)
        last: dict[tables.SortKey, tuple[Outcome, Path]] = {}
        for (order, _), (outcome, path) in sorted(read.items(), key=itemgetter(0)):
            earlier, where = last.get(order, (outcome, path))
            if earlier is not outcome and not supersedes(outcome, earlier):
                raise _disagreement(outcome, where, path)
            last[order] = outcome, path
        return [outcome for outcome, _ in last.values()]

    def trace(self, key: str) -> Trace | None:
        """The trace of one exercise, if it was stored."""
        return next((trace for _, trace in self._last_traces(key)), None)

    def traces(self) -> Iterator[tuple[str, Trace]]:
        """All stored traces with the keys of their exercises, one at a time."""
        return self._last_traces()

    def provenance(self) -> list[dict[str, Any]]:
        """How the results were made, once for each time that the evaluation was written."""
        provenance = []
        for path in self._layout.provenance_files():
            try:
                made = dict(json.loads(path.read_bytes()))
                if not all(isinstance(made.get(name, {}), dict) for name in _FIELDS):
                    raise ValueError("its fields are not those that were written")
                provenance.append(made)
            except OSError as error:
                raise read_error(error, path) from error
            except (ValueError, TypeError, RecursionError) as error:
                advice = "Remove that file; no result depends on it."
                raise StoreError(f"{path} is damaged ({error}).", advice) from error
        return provenance

    def _last_traces(self, only: str | None = None) -> Iterator[tuple[str, Trace]]:
        """The traces of the last attempts, or ``only`` that of one exercise."""
        shards, given = self._attempts_by_shard(), set()
        last: dict[str, int] = defaultdict(int)
        for attempts in shards.values():
            for key, count in attempts.items():
                last[key] = max(last[key], count)
        for shard, attempts in shards.items():
            if only is None or only in attempts:
                for key, trace in self._traces(shard, only):
                    if attempts[key] == last[key] and key not in given:
                        given.add(key)
                        yield key, trace

    def _traces(self, shard: str, only: str | None = None) -> Iterator[tuple[str, Trace]]:
        path = self._layout.trace_shard(shard)
        try:
            exists = path.exists()
        except OSError as error:
            raise read_error(error, path) from error
        if not exists:
            return iter(())
        outcomes = self._layout.outcome_shard(shard)
        return tables.read_traces(path, outcomes, files.read_key(self._layout), only)

    def _attempts_by_shard(self) -> dict[str, Mapping[str, int]]:
        """The exercises in each shard on disk; as a shard never changes, it is read once."""
        present = self._layout.shards()
        new = [shard for shard in present if shard not in self._attempts]
        indexed = indexed_attempts(self._layout) if new else {}
        key = files.read_key(self._layout) if new else None
        for shard in new:
            path = self._layout.outcome_shard(shard)
            self._attempts[shard] = indexed.get(shard) or tables.read_attempts(path, key)
        self._attempts = {shard: self._attempts[shard] for shard in present}
        return self._attempts


def _text(outcome: Outcome) -> str:
    """All that an outcome says; a NaN equals itself there."""
    return json.dumps(outcome.to_json(), sort_keys=True)


def _disagreement(outcome: Outcome, first: Path, second: Path) -> StoreError:
    exercise = outcome.exercise
    return StoreError(
        f"{first} and {second} disagree on exercise {exercise.number} of {exercise.agent.label}.",
        "Remove the one that is wrong, or both, and run the evaluation again: exercises that are "
        "missing then will be run again.",
    )


class Writer(Record):
    """A record that can also be written; made by ``open_writer``, which holds its lock."""

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(path)
        key = files.read_key(self._layout)
        assert key is not None  # open_writer has made one
        self._key = key
        self._closed = False
        self._stored = self.keys()

    def append(
        self, outcomes: Iterable[Outcome], traces: Mapping[str, Trace] | None = None
    ) -> None:
        """Store outcomes in one new shard, which survives a crash once this returns.

        Exercises that already have an outcome are left as they are, unless it was a fault of the
        infrastructure and the new one has more attempts.

        Args:
            outcomes: The outcomes.
            traces: The traces to store with them, by the keys of their exercises.

        Raises:
            StoreError: They could not be stored; what was stored before is safe.
            ValueError: A trace belongs to none of the outcomes, or the writer is closed.
        """
        if self._closed:
            raise ValueError("this evaluation is no longer open for writing")
        given: dict[str, Outcome] = {}
        for outcome in outcomes:
            first = given.setdefault(outcome.exercise.key, outcome)
            if supersedes(outcome, first):
                given[outcome.exercise.key] = outcome
        traces = traces or {}
        if extra := traces.keys() - given.keys():
            raise ValueError(f"traces without an outcome: {sorted(extra)}")
        new = {key: outcome for key, outcome in given.items() if key not in self._stored}
        if any(given[key].attempts > 1 for key in given.keys() - new.keys()):
            for earlier in self.outcomes():
                key = earlier.exercise.key
                if key in given and supersedes(given[key], earlier):
                    new[key] = given[key]
        if not new:
            return
        attempts = {key: outcome.attempts for key, outcome in new.items()}
        shard = shard_name(attempts)
        table = tables.outcome_table(new.values())
        content = tables.encode_outcomes(table, self._key)
        # The traces come first: a shard of outcomes on disk is what makes its exercises finished.
        if new_traces := {key: trace for key, trace in traces.items() if key in new}:
            encoded = tables.encode_traces(new_traces, attempts, self._key)
            files.write(self._layout.trace_shard(shard), encoded)
        try:
            files.write(self._layout.outcome_shard(shard), content)
        except StoreError:
            with suppress(StoreError):
                _remove_orphaned_traces(self._layout)
            raise
        self._stored.update(new)
        # The outcomes are safe by now. An index that lacks them is fixed by the next writer.
        with suppress(sqlite3.Error):
            add_to_index(self._layout, shard, table.to_pylist())

    def begin(self, keys: Iterable[str]) -> None:
        """Keep that exercises are begun now, so that later attempts are known as such.

        It survives the death of this process, though not a crash of the machine.

        Raises:
            StoreError: It could not be written.
        """
        # What a killed writer had begun to write cannot run into the next key.
        text = "".join(f"\n{key}" for key in keys)
        with (
            write_errors(self._layout.begun),
            self._layout.begun.open("a", encoding="ascii") as file,
        ):
            file.write(text)

    def begun(self) -> dict[str, int]:
        """How often exercises were begun, by their keys, as far as ``begin`` was told.

        Raises:
            StoreError: It cannot be read.
        """
        try:
            return dict(Counter(self._layout.begun.read_text(encoding="ascii").split()))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            message = f"{self._layout.begun} cannot be read ({error})."
            raise StoreError(message, "Remove that file; no result depends on it.") from error


@contextmanager
def open_writer(
    path: str | PathLike[str],
    spec: Mapping[str, Any],
    seeds: Iterable[int] = (),
    specs: Iterable[Spec] = (),
    secret: int | None = None,
) -> Iterator[Writer]:
    """Create an evaluation or continue it; no other process can write it meanwhile.

    Args:
        path: The directory of the evaluation.
        spec: What is evaluated, as JSON-able data.
        seeds: The root seeds, for the provenance, as far as they are not secret.
        specs: The specs of the parts that are used, for the provenance.
        secret: The seed that was drawn for it, if it is new; one that goes on has its own.

    Raises:
        StoreError: The directory is in use, damaged, of something else or cannot be written.
    """
    layout = Layout(Path(path))
    with write_errors(layout.root):
        names = {file.name for file in layout.root.iterdir()} if layout.root.exists() else set()
    first = (layout.key, layout.seed, layout.spec)
    begun = {layout.lock.name, layout.key.name, layout.seed.name}
    begun |= {path.name + files.UNFINISHED for path in first}
    if layout.spec.name not in names and names - begun:
        message = f"{layout.root} is not empty and holds no evaluation."
        raise StoreError(message, "Choose another directory with --out.")
    files.make_directory(layout.root, mode=0o700)
    files.refuse_links(layout)
    with files.locked(layout):
        _begin(layout, spec, secret)
        for directory in (layout.root, layout.provenance, layout.outcomes, layout.traces):
            files.make_directory(directory)
            with write_errors(directory):  # what a killed writer had begun
                for unfinished in directory.glob(f"*{files.UNFINISHED}"):
                    unfinished.unlink()
        _remove_orphaned_traces(layout)
        update_index(layout)
        writer = Writer(layout.root)
        numbers = [int(path.stem) for path in layout.provenance_files() if path.stem.isdecimal()]
        provenance = {"spec": writer.fingerprint, **current_provenance(seeds, specs)}
        content = json.dumps(provenance, indent=2, sort_keys=True) + "\n"
        name = f"{max(numbers, default=0) + 1:04d}.json"
        files.write(layout.provenance / name, content.encode())
        try:
            yield writer
        finally:
            writer._closed = True


def _begin(layout: Layout, spec: Mapping[str, Any], secret: int | None) -> None:
    """Write the key and the spec of a new evaluation, or check those of one that goes on.

    One of an older version gets a key, which lists the shards that are there; from then on it is
    one of this version.
    """
    exists = layout.spec.exists()
    if exists:
        check_same(layout, spec)
    if not exists or files.read_key(layout) is None:
        files.write_key(layout, fingerprint(json.loads(canonical_json(spec))))
        write_spec(layout, spec, None if exists else secret)


def _remove_orphaned_traces(layout: Layout) -> None:
    """Remove traces whose outcomes were not written: their exercises will be run again."""
    for shard in set(layout.trace_shards()) - set(layout.shards()):
        with write_errors(layout.trace_shard(shard)):
            layout.trace_shard(shard).unlink()
