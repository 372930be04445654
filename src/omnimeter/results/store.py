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
from omnimeter.results.errors import unreadable
from omnimeter.results.files import Layout, exclusive, explained, shard_name
from omnimeter.results.provenance import check_same, current_provenance, read_spec, write_spec

COLUMNS = ("key", "agent", "agent_key", "number", "payoff", "ending")
"""What is noted of each exercise. SQLite has no NaN: such a payoff is NULL here."""

_VERSION = 1
_READING, _WRITING = 0.5, 5.0
"""Seconds to wait for whoever else uses the ledger; a reader can as well ask the shards."""
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


def known(layout: Layout) -> dict[str, tuple[str, ...]]:
    """The keys of every shard on which ledger and disk agree. Writes nothing.

    A ledger that is missing, busy or damaged knows nothing; that is no error.
    """
    location = f"{layout.ledger.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(location, uri=True, timeout=_READING)) as connection:
            return _agreed(connection, layout)
    except sqlite3.Error:
        return {}


def add(layout: Layout, shard: str, rows: Iterable[Mapping[str, Any]]) -> None:
    """Note a shard that is on disk.

    Args:
        layout: The evaluation.
        shard: The name of the shard.
        rows: Its rows, with at least ``COLUMNS``.

    Raises:
        sqlite3.Error: The ledger could not be written; the next ``reconcile`` will mend it.
    """
    with _writing(layout.ledger) as connection:
        _insert(connection, layout, shard, rows)


def reconcile(layout: Layout) -> None:
    """Make the ledger agree with the shards, or make it anew when it is damaged.

    Raises:
        StoreError: A shard is damaged, or the ledger cannot be written at all.
    """
    try:
        _reconcile(layout)
    except sqlite3.Error:
        _discard(layout.ledger)
        try:
            _reconcile(layout)
        except sqlite3.Error as error:
            raise StoreError(
                f"{layout.ledger} cannot be written ({error}).",
                "Make room or allow writing there, and run the same command again. "
                "Everything stored so far is safe.",
            ) from error


def _reconcile(layout: Layout) -> None:
    with _writing(layout.ledger) as connection:
        if connection.execute("PRAGMA quick_check").fetchone() != ("ok",):
            raise sqlite3.DatabaseError("the ledger is damaged")
        noted = {name for (name,) in connection.execute("SELECT name FROM shards")}
        agreed = _agreed(connection, layout)
        for shard in noted - agreed.keys():
            connection.execute("DELETE FROM exercises WHERE shard = ?", (shard,))
            connection.execute("DELETE FROM shards WHERE name = ?", (shard,))
        for shard in layout.shards():
            if shard not in agreed:
                rows = tables.read_rows(layout.outcome_shard(shard))
                _insert(connection, layout, shard, rows)


@contextmanager
def _writing(path: Path) -> Iterator[sqlite3.Connection]:
    """One transaction on the ledger, which is made where there is none."""
    with closing(sqlite3.connect(path, timeout=_WRITING, isolation_level=None)) as connection:
        # One file that any reader can open, even where it may write nothing; as the shards are
        # the truth, nothing is lost should the machine die before the last page is on disk.
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
        ((shard, *(row[column] for column in COLUMNS)) for row in rows),
    )


def _agreed(connection: sqlite3.Connection, layout: Layout) -> dict[str, tuple[str, ...]]:
    if _version(connection) != _VERSION:
        raise sqlite3.DatabaseError("the ledger has another form")
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
    with explained(path):
        return path.stat().st_size


def _discard(path: Path) -> None:
    """Remove the ledger, then its journal, which must never be applied to another one."""
    for file in (path, path.with_name(path.name + "-journal")):
        with explained(file):
            file.unlink(missing_ok=True)


class Record:
    """One evaluation on disk, for reading only.

    It takes no lock and writes nothing, so it also serves while somebody writes and where nobody
    may write. Each call sees what is stored at that moment.

    Args:
        path: The directory of the evaluation.

    Attributes:
        path: The directory of the evaluation.
        spec: What is evaluated, as plain JSON data.

    Raises:
        StoreError: There is no evaluation, or its spec is not as it was written.
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
        """The keys of all exercises that have an outcome.

        Raises:
            StoreError: A shard is damaged.
        """
        return set().union(*self._shards().values())

    def outcomes(self) -> list[Outcome]:
        """All outcomes, ordered by agent, number of the exercise and key.

        Raises:
            StoreError: A shard is damaged.
        """
        found: dict[tables.Place, Outcome] = {}
        for shard in self._layout.shards():
            for place, outcome in tables.read(self._layout.outcome_shard(shard)):
                found.setdefault(place, outcome)
        return [found[place] for place in sorted(found)]

    def trace(self, key: str) -> Trace | None:
        """The trace of one exercise, if it was kept.

        Raises:
            StoreError: Its shard is damaged.
        """
        for shard, keys in self._shards().items():
            if key in keys:
                path = self._layout.trace_shard(shard)
                return tables.read_one(path, key) if _there(path) else None
        return None

    def traces(self) -> Iterator[tuple[str, Trace]]:
        """All traces that were kept with the keys of their exercises, one at a time.

        Raises:
            StoreError: A shard is damaged.
        """
        for shard in self._layout.shards():
            path = self._layout.trace_shard(shard)
            if _there(path):
                yield from tables.read_all(path)

    def provenance(self) -> list[dict[str, Any]]:
        """How the results were made, once for each time that somebody came to write.

        Raises:
            StoreError: A file cannot be read.
        """
        return [_load(path) for path in self._layout.sessions()]

    def _shards(self) -> dict[str, frozenset[str]]:
        """Which exercises each shard on disk holds; as a shard never changes, it is asked once."""
        present = self._layout.shards()
        if any(shard not in self._keys for shard in present):
            noted = known(self._layout)
            for shard in present:
                if shard not in self._keys:
                    keys = noted.get(shard) or tables.read_keys(self._layout.outcome_shard(shard))
                    self._keys[shard] = frozenset(keys)
        self._keys = {shard: self._keys[shard] for shard in present}
        return self._keys


def _there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise unreadable(error, path) from error


def _load(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except OSError as error:
        raise unreadable(error, path) from error
    except ValueError as error:
        advice = "Remove that file; no result depends on it."
        raise StoreError(f"{path} is damaged ({error}).", advice) from error


class Writer(Record):
    """A record that can also be written; made by ``writing``, which holds its lock."""

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(path)
        self._closed = False
        self._stored = self.keys()

    def append(
        self, outcomes: Iterable[Outcome], traces: Mapping[str, Trace] | None = None
    ) -> None:
        """Store outcomes in one new shard; they are durable once this returns.

        Exercises that already have an outcome are left as they are.

        Args:
            outcomes: What came of some exercises.
            traces: What happened in them, by key, as far as it is to be kept.

        Raises:
            StoreError: They could not be stored; what was stored before is safe.
            ValueError: A trace belongs to none of the outcomes, or writing is over.
        """
        if self._closed:
            raise ValueError("this evaluation is no longer open for writing")
        given: dict[str, Outcome] = {}
        for outcome in outcomes:
            given.setdefault(outcome.exercise.key, outcome)
        if strangers := (traces or {}).keys() - given.keys():
            raise ValueError(f"traces without an outcome: {sorted(strangers)}")
        fresh = {key: outcome for key, outcome in given.items() if key not in self._stored}
        if fresh:
            kept = {key: trace for key, trace in (traces or {}).items() if key in fresh}
            self._store(fresh, kept)

    def _store(self, outcomes: Mapping[str, Outcome], traces: Mapping[str, Trace]) -> None:
        shard = shard_name(outcomes)
        rows = tables.table(list(outcomes.values()))
        content = tables.encode_outcomes(rows)
        # The traces come first: a shard of outcomes on disk is what makes its exercises finished.
        if traces:
            files.write(self._layout.trace_shard(shard), tables.encode_traces(traces, [*outcomes]))
        try:
            files.write(self._layout.outcome_shard(shard), content)
        except StoreError:
            with suppress(StoreError):
                _remove_stray_traces(self._layout)
            raise
        self._stored.update(outcomes)
        # The outcomes are safe by now. A ledger that stays behind is mended at the next opening.
        with suppress(sqlite3.Error):
            add(self._layout, shard, rows.to_pylist())


@contextmanager
def writing(
    path: str | PathLike[str],
    spec: Mapping[str, Any],
    seeds: Iterable[int] = (),
    specs: Iterable[Spec] = (),
) -> Iterator[Writer]:
    """Create an evaluation or continue it; nobody else may write it meanwhile.

    Args:
        path: The directory of the evaluation.
        spec: What is evaluated, as JSON-able data.
        seeds: The roots of all chance, for the provenance.
        specs: The parts that take part, for the provenance.

    Raises:
        StoreError: The directory holds something else, is being written, is damaged or cannot be
            written.
    """
    layout = Layout(Path(path))
    _check_free(layout)
    files.make_directory(layout.root)
    with exclusive(layout.lock, layout.root):
        _prepare(layout, spec)
        writer = Writer(layout.root)
        _note_session(layout, {"spec": writer.fingerprint, **current_provenance(seeds, specs)})
        try:
            yield writer
        finally:
            writer._closed = True


def _check_free(layout: Layout) -> None:
    """Make sure that nothing of somebody else's is where the evaluation shall be."""
    with files.explained(layout.root):
        names = {file.name for file in layout.root.iterdir()} if layout.root.exists() else set()
    begun = {layout.lock.name, layout.spec.name + files.UNFINISHED}
    if layout.spec.name not in names and names - begun:
        raise StoreError(
            f"{layout.root} is not empty and holds no evaluation.",
            "Choose another directory with --out.",
        )


def _prepare(layout: Layout, spec: Mapping[str, Any]) -> None:
    """Bring the directory into order: the right spec, no leftovers, a ledger that agrees."""
    if layout.spec.exists():
        check_same(layout, spec)
    else:
        write_spec(layout, spec)
    for directory in layout.directories:
        files.make_directory(directory)
        files.remove_unfinished(directory)
    _remove_stray_traces(layout)
    reconcile(layout)


def _remove_stray_traces(layout: Layout) -> None:
    """Remove traces whose outcomes were not written: their exercises will be run again."""
    finished = set(layout.shards())
    for shard in layout.trace_shards():
        if shard not in finished:
            with files.explained(layout.trace_shard(shard)):
                layout.trace_shard(shard).unlink()


def _note_session(layout: Layout, session: Mapping[str, Any]) -> None:
    numbers = [int(path.stem) for path in layout.sessions() if path.stem.isdecimal()]
    name = f"{max(numbers, default=0) + 1:04d}.json"
    content = json.dumps(session, indent=2, sort_keys=True) + "\n"
    files.write(layout.provenance / name, content.encode())
