"""The ledger: an SQLite index of the shards, made again from them whenever it disagrees.

The shards are the truth. What the ledger says of a shard is believed only where the size of its
file and the hash in its name agree.
"""

from __future__ import annotations

import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from omnimeter.contract import StoreError
from omnimeter.results import outcome_table
from omnimeter.results.durable import explained
from omnimeter.results.layout import Layout, shard_name

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
                rows = outcome_table.read_rows(layout.outcome_shard(shard))
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
