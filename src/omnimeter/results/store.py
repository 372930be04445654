"""Reading and writing an evaluation: immutable shards and the SQLite index over them."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from omnimeter.contract import Outcome, Spec, Trace
from omnimeter.contract.errors import StoreError
from omnimeter.contract.spec import fingerprint
from omnimeter.results import files, tables
from omnimeter.results.files import Layout, read_error, shard_name, write_errors
from omnimeter.results.provenance import check_same, current_provenance, read_spec, write_spec

# The columns of the index. SQLite has no NaN: such a payoff is NULL there.
_COLUMNS = ("key", "agent", "agent_key", "number", "payoff", "ending")
# Seconds to wait for another process that uses the index; a reader can use the shards instead.
READ_TIMEOUT, WRITE_TIMEOUT = 0.5, 5.0

_VERSION = 1
_TABLES = f"""
BEGIN;
CREATE TABLE shards (name TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE exercises (
    shard TEXT NOT NULL, key TEXT NOT NULL,
    agent TEXT NOT NULL, agent_key TEXT NOT NULL, number INTEGER NOT NULL,
    payoff REAL, ending TEXT NOT NULL,
    PRIMARY KEY (shard, key)
) WITHOUT ROWID;
CREATE INDEX exercises_by_key ON exercises (key);
PRAGMA user_version = {_VERSION};
COMMIT;
"""


def indexed_keys(layout: Layout) -> dict[str, tuple[str, ...]]:
    """The keys of every shard on which index and disk agree. Writes nothing.

    An index that is missing, busy or damaged has no keys; that is no error.
    """
    location = f"{layout.index.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(location, uri=True, timeout=READ_TIMEOUT)) as connection:
            return _agreed_keys(connection, layout)
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
        agreed = _agreed_keys(connection, layout)
        for row in connection.execute("SELECT name FROM shards").fetchall():
            if row[0] not in agreed:
                connection.execute("DELETE FROM exercises WHERE shard = ?", row)
                connection.execute("DELETE FROM shards WHERE name = ?", row)
        for shard in layout.shards():
            if shard not in agreed:
                rows = tables.read_rows(layout.outcome_shard(shard))
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
        "INSERT OR REPLACE INTO exercises VALUES (?, ?, ?, ?, ?, ?, ?)",
        ((shard, *(row[column] for column in _COLUMNS)) for row in rows),
    )


def _agreed_keys(connection: sqlite3.Connection, layout: Layout) -> dict[str, tuple[str, ...]]:
    if _version(connection) != _VERSION:
        raise sqlite3.DatabaseError("the index has another version")
    sizes = dict(connection.execute("SELECT name, bytes FROM shards"))
    keys = defaultdict(list)
    for shard, key in connection.execute("SELECT shard, CAST(key AS TEXT) FROM exercises"):
        keys[shard].append(key)
    return {
        shard: tuple(keys[shard])
        for shard in layout.shards()
        if sizes.get(shard) == _size(layout.outcome_shard(shard))
        and shard_name(keys[shard]) == shard
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

    Raises:
        StoreError: Also from its methods: a file is missing, damaged or cannot be read.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self._layout = Layout(self.path)
        self.spec: dict[str, Any] = read_spec(self._layout)
        self._keys: dict[str, frozenset[str]] = {}

    @property
    def fingerprint(self) -> str:
        """A short name that depends on the whole spec."""
        return fingerprint(self.spec)

    def keys(self) -> set[str]:
        """The keys of all exercises that have an outcome."""
        return set().union(*self._keys_by_shard().values())

    def outcomes(self) -> list[Outcome]:
        """All outcomes, ordered by agent, number of the exercise and key."""
        outcomes: dict[tables.SortKey, Outcome] = {}
        for shard in self._layout.shards():
            for order, outcome in tables.read_outcomes(self._layout.outcome_shard(shard)):
                outcomes.setdefault(order, outcome)
        return [outcomes[order] for order in sorted(outcomes)]

    def trace(self, key: str) -> Trace | None:
        """The trace of one exercise, if it was stored."""
        for shard, keys in self._keys_by_shard().items():
            if key in keys:
                return dict(self._traces(shard, only=key)).get(key)
        return None

    def traces(self) -> Iterator[tuple[str, Trace]]:
        """All stored traces with the keys of their exercises, one at a time."""
        for shard in self._layout.shards():
            yield from self._traces(shard)

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

    def _traces(self, shard: str, only: str | None = None) -> Iterator[tuple[str, Trace]]:
        path = self._layout.trace_shard(shard)
        try:
            exists = path.exists()
        except OSError as error:
            raise read_error(error, path) from error
        outcomes = self._layout.outcome_shard(shard)
        return tables.read_traces(path, outcomes, only) if exists else iter(())

    def _keys_by_shard(self) -> dict[str, frozenset[str]]:
        """The keys in each shard on disk; as a shard never changes, it is read once."""
        present = self._layout.shards()
        new = [shard for shard in present if shard not in self._keys]
        indexed = indexed_keys(self._layout) if new else {}
        for shard in new:
            keys = indexed.get(shard) or tables.read_keys(self._layout.outcome_shard(shard))
            self._keys[shard] = frozenset(keys)
        self._keys = {shard: self._keys[shard] for shard in present}
        return self._keys


class Writer(Record):
    """A record that can also be written; made by ``open_writer``, which holds its lock."""

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(path)
        self._closed = False
        self._stored = self.keys()

    def append(
        self, outcomes: Iterable[Outcome], traces: Mapping[str, Trace] | None = None
    ) -> None:
        """Store outcomes in one new shard, which survives a crash once this returns.

        Exercises that already have an outcome are left as they are.

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
            given.setdefault(outcome.exercise.key, outcome)
        traces = traces or {}
        if extra := traces.keys() - given.keys():
            raise ValueError(f"traces without an outcome: {sorted(extra)}")
        new = {key: outcome for key, outcome in given.items() if key not in self._stored}
        if not new:
            return
        shard = shard_name(new)
        table = tables.outcome_table(new.values())
        content = tables.encode_outcomes(table)
        # The traces come first: a shard of outcomes on disk is what makes its exercises finished.
        if new_traces := {key: trace for key, trace in traces.items() if key in new}:
            files.write(self._layout.trace_shard(shard), tables.encode_traces(new_traces, [*new]))
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


@contextmanager
def open_writer(
    path: str | PathLike[str],
    spec: Mapping[str, Any],
    seeds: Iterable[int] = (),
    specs: Iterable[Spec] = (),
) -> Iterator[Writer]:
    """Create an evaluation or continue it; no other process can write it meanwhile.

    Args:
        path: The directory of the evaluation.
        spec: What is evaluated, as JSON-able data.
        seeds: The root seeds, for the provenance.
        specs: The specs of the parts that are used, for the provenance.

    Raises:
        StoreError: The directory is in use, damaged, of something else or cannot be written.
    """
    layout = Layout(Path(path))
    with write_errors(layout.root):
        names = {file.name for file in layout.root.iterdir()} if layout.root.exists() else set()
    begun = {layout.lock.name, layout.spec.name + files.UNFINISHED}
    if layout.spec.name not in names and names - begun:
        message = f"{layout.root} is not empty and holds no evaluation."
        raise StoreError(message, "Choose another directory with --out.")
    files.make_directory(layout.root)
    with files.locked(layout):
        if layout.spec.exists():
            check_same(layout, spec)
        else:
            write_spec(layout, spec)
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


def _remove_orphaned_traces(layout: Layout) -> None:
    """Remove traces whose outcomes were not written: their exercises will be run again."""
    for shard in set(layout.trace_shards()) - set(layout.shards()):
        with write_errors(layout.trace_shard(shard)):
            layout.trace_shard(shard).unlink()
