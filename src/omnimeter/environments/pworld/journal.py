"""The journal of worlds in a database: all that happens, from which any moment is rebuilt.

Events are collected in memory and written in batches, each in one transaction that is on the disk
when it ends. A run that was interrupted is resumed by repeating it: what is written already is
compared and not written twice, and the journal goes on after its last event.
"""

from __future__ import annotations

import json
import re
import sqlite3
import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from omnimeter.contract import InvalidInputError
from omnimeter.contract.errors import StoreError
from omnimeter.contract.overlay import Codes, Lattice, Overlay, Value
from omnimeter.environments.pworld.world import MOVE, SET, TURN, Event, World, scene_of

BATCH = 4096
"""The number of events that are written in one transaction."""

SECONDS = 1.0
"""Events of earlier turns wait at most so long, while the world goes on."""

_TABLES = (
    """CREATE TABLE IF NOT EXISTS runs (run INTEGER PRIMARY KEY, name TEXT NOT NULL,
    size INTEGER NOT NULL, labels TEXT NOT NULL, codes TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS events (run INTEGER NOT NULL, number INTEGER NOT NULL,
    turn INTEGER NOT NULL, kind TEXT NOT NULL, element TEXT NOT NULL, square INTEGER NOT NULL,
    proposition INTEGER NOT NULL, code INTEGER NOT NULL, PRIMARY KEY (run, number))""",
)
_FIELDS = "turn, kind, element, square, proposition, code"
_INSERT = (
    f"INSERT INTO events (run, number, {_FIELDS}) "
    "VALUES (:run, :number, :turn, :kind, :element, :square, :column, :code)"
)
Row = Sequence[Any]


class _Sqlite:
    """A connection to an SQLite database in a file, which is made on demand only."""

    def __init__(self, path: str, timeout: float, make: bool) -> None:
        self._path = Path(path)
        if not make and self._identity() is None:
            raise OSError("there is no such file")
        self._connection = sqlite3.connect(path, timeout=timeout, isolation_level=None)
        # Every commit is on the disk, and in this one file: with a write-ahead log, the last ones
        # would be in a second file, and lost when the first is moved away alone.
        self._connection.execute("PRAGMA journal_mode=TRUNCATE")
        self._connection.execute("PRAGMA synchronous=FULL")
        self._file = self._identity()

    def _identity(self) -> tuple[int, int] | None:
        try:
            status = self._path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino

    @property
    def vanished(self) -> bool:
        return self._file is None or self._identity() != self._file

    @contextmanager
    def transaction(self) -> Iterator[None]:
        # SQLite goes on writing into a file that was deleted or replaced.
        if self.vanished:
            raise OSError("the file has vanished")
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException as error:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            if isinstance(error, Exception) and self.vanished:  # SQLite says: read-only
                raise OSError("the file has vanished") from error
            raise
        if self.vanished:
            raise OSError("the file has vanished")

    def rows(self, statement: str, **values: Any) -> list[Row]:
        return self._connection.execute(statement, values).fetchall()

    def write(self, statement: str, *rows: Mapping[str, Any]) -> None:
        if rows:
            self._connection.executemany(statement, rows)
        else:
            self._connection.execute(statement)

    def close(self) -> None:
        self._connection.close()


class _Alchemy:
    """A connection to any database that SQLAlchemy knows, by its URL."""

    vanished = False  # which shows when it is used

    def __init__(self, url: str) -> None:
        try:
            import sqlalchemy
        except ImportError as error:
            message = "A journal with a URL needs SQLAlchemy, which is not installed."
            advice = "Run pip install 'omnimeter[database]', or give the path of an SQLite file."
            raise InvalidInputError(message, advice) from error
        self._engine = sqlalchemy.create_engine(url)
        self._connection = self._engine.connect()
        self._text = sqlalchemy.text

    @contextmanager
    def transaction(self) -> Iterator[None]:
        with self._connection.begin():
            yield

    def rows(self, statement: str, **values: Any) -> list[Row]:
        inside = self._connection.in_transaction()
        rows: list[Row] = list(self._connection.execute(self._text(statement), values))
        if not inside:  # reading began one
            self._connection.rollback()
        return rows

    def write(self, statement: str, *rows: Mapping[str, Any]) -> None:
        self._connection.execute(self._text(statement), list(rows) or None)

    def close(self) -> None:
        self._connection.close()
        self._engine.dispose()


@dataclass(frozen=True, eq=False)
class Moment:
    """A world after some turn: what holds, where elements are, and its scene."""

    turn: int
    codes: Codes
    scene: Mapping[str, Any]


class Journal:
    """Writes what happens in worlds, and rebuilds them.

    Several runs, and several processes, may share a database.

    Args:
        place: The path of an SQLite file, or the URL of a database.
        batch: The number of events that are written at once.
        timeout: How many seconds to wait for a database that is locked.

    Raises:
        StoreError: Also from its methods: the database cannot be used.
        InvalidInputError: From its methods: the URL needs a package that is not installed.
    """

    _database: _Sqlite | _Alchemy | None = None
    _failed = False

    def __init__(self, place: str | Path, batch: int = BATCH, timeout: float = 5.0) -> None:
        if batch < 1:
            raise InvalidInputError(f"The batch is {batch}.", "Give a number from 1 up.")
        self.place, self.batch, self.timeout = str(place), batch, timeout
        self._shown = re.sub(r"(//[^/@]*:)[^/]*@", r"\1***@", self.place)  # without a password
        self._pending: list[Event] = []  # not yet committed
        self._world: tuple[str, int, str, str] | None = None  # name, size, labels and codes
        self._candidates: list[int] = []  # runs of this name, the same so far
        self._latest = monotonic()
        self.committed = 0

    def _open(self, make: bool = False) -> _Sqlite | _Alchemy:
        if self._database is None:
            self._database = (
                _Alchemy(self.place)
                if "://" in self.place
                else _Sqlite(self.place, self.timeout, make)
            )
            if make:
                with self._database.transaction():
                    for statement in _TABLES:
                        self._database.write(statement)
            if self.committed:
                kept = self._database.rows(
                    "SELECT COUNT(*) FROM events WHERE run = :run AND number < :last",
                    run=self._candidates[0], last=self.committed,
                )  # fmt: skip
                if kept[0][0] != self.committed:
                    raise OSError("it is another one than before")
            elif self._world is not None:
                self._candidates = self._runs_alike(self._database, self._world)
        return self._database

    def _runs_alike(self, database: _Sqlite | _Alchemy, world: tuple[Any, ...]) -> list[int]:
        """The runs that have the same name and begin with the same world."""
        rows = database.rows(
            "SELECT run, name, size, labels, codes FROM runs WHERE name = :name ORDER BY run",
            name=world[0],
        )
        return [run for run, *rest in rows if tuple(rest) == world]

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn the errors of databases into one that says what is kept."""
        try:
            yield
        except (InvalidInputError, StoreError):
            raise
        except Exception as error:  # each database has its own kind of errors
            self._disconnect()
            self._failed = True
            message = f"The journal {self._shown} cannot be used: {error}."
            if self._world is None:
                raise StoreError(message, "Check that it is the journal of a run.") from error
            message += f" {self.committed} events of this run are in it"
            message += f", {len(self._pending)} wait in memory."
            advice = "Make it available and run the same again: it goes on after its last event."
            raise StoreError(message, advice) from error

    def _disconnect(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            database.close()

    def begin(self, world: World, name: str, make: bool = True) -> None:
        """Write what happens in a world from now on.

        Args:
            world: The world, before its first event.
            name: What the run is called; it is resumed if one of that name begins the same.
            make: Whether a file that does not exist is made.
        """
        self.commit()
        labels = json.dumps({each: list(values) for each, values in world.columns.items()})
        packed = b64encode(zlib.compress(world.codes.astype("<i4").tobytes())).decode()
        self._world = name, world.size, labels, packed
        self.committed = 0
        with self._errors():
            self._candidates = self._runs_alike(self._open(make), self._world)
        world.record = self.append

    def append(self, event: Event) -> None:
        """Take an event; commit if a batch is complete, or the last commit was long ago.

        In every turn it is seen whether the file is still there, so that a run stops at once.
        """
        self._pending.append(event)
        due = len(self._pending) >= self.batch
        if event.kind == TURN:
            lost = self._database is None or self._database.vanished
            due = due or lost or monotonic() - self._latest > SECONDS
        if due:
            self.commit()

    def commit(self) -> None:
        """Write all events that wait.

        Raises:
            StoreError: The database has vanished or is locked. The events still wait: ``commit``
                may be called again.
        """
        if not self._pending:
            return
        with self._errors():
            database = self._open()
            with database.transaction():
                runs, new = self._continued(database)
                if new:
                    database.write(_INSERT, *new)
        self._candidates = runs
        self.committed += len(self._pending)
        self._pending.clear()
        self._latest, self._failed = monotonic(), False

    def _continued(self, database: _Sqlite | _Alchemy) -> tuple[list[int], list[dict[str, Any]]]:
        """The runs that go on with the events that wait, and those to be added to the first."""
        first, last = self.committed, self.committed + len(self._pending)
        runs = self._candidates
        alike: dict[int, int] = {}  # how many of the events each run has that begins the same
        for run in runs:
            stored = database.rows(
                f"SELECT {_FIELDS} FROM events WHERE run = :run AND number >= :first "
                "AND number < :last ORDER BY number",
                run=run, first=first, last=last,
            )  # fmt: skip
            if [tuple(each) for each in stored] == self._pending[: len(stored)]:
                alike[run] = len(stored)
        chosen = max(alike, key=lambda run: alike[run], default=None)
        have = 0 if chosen is None else alike[chosen]
        if chosen is None:
            chosen = self._new_run(database, runs[-1] if runs else None, first)
        if have == len(self._pending):
            return [run for run in runs if alike.get(run) == have], []
        rows = [
            {"run": chosen, "number": first + have + number, **event._asdict()}
            for number, event in enumerate(self._pending[have:])
        ]
        return [chosen], rows

    def _new_run(self, database: _Sqlite | _Alchemy, model: int | None, until: int) -> int:
        """A further run, which begins with the first events of another."""
        assert self._world is not None  # begin has been called
        run = int(database.rows("SELECT COALESCE(MAX(run), 0) FROM runs")[0][0]) + 1
        name, size, labels, codes = self._world
        database.write(
            "INSERT INTO runs (run, name, size, labels, codes) "
            "VALUES (:run, :name, :size, :labels, :codes)",
            {"run": run, "name": name, "size": size, "labels": labels, "codes": codes},
        )
        if model is not None and until:
            database.write(
                f"INSERT INTO events (run, number, {_FIELDS}) SELECT :run, number, {_FIELDS} "
                "FROM events WHERE run = :model AND number < :until",
                {"run": run, "model": model, "until": until},
            )
        return run

    def close(self) -> None:
        """Write what waits, and close the database."""
        try:
            self.commit()
        finally:
            self._disconnect()

    def __del__(self) -> None:
        if self._failed:  # which was said already
            self._disconnect()
        elif self._database is not None:
            self.close()

    def runs(self) -> list[tuple[int, str, int]]:
        """The number, the name and the number of events of all runs."""
        with self._errors():
            rows = self._open().rows(
                "SELECT runs.run, name, COUNT(number) FROM runs LEFT JOIN events "
                "ON events.run = runs.run GROUP BY runs.run, name ORDER BY runs.run"
            )
        return [(int(run), str(name), int(count)) for run, name, count in rows]

    def events(self, run: int | None = None, until: int | None = None) -> Iterator[Event]:
        """What was committed of a run, in order, up to the end of a turn; by default the last run.

        Raises:
            StoreError: There is no such run.
        """
        number, *_ = self._header(run)
        place = 0
        while True:
            with self._errors():
                rows = self._open().rows(
                    f"SELECT {_FIELDS} FROM events WHERE run = :run AND number >= :first "
                    "AND number < :last ORDER BY number",
                    run=number, first=place, last=place + BATCH,
                )  # fmt: skip
            if not rows:
                return
            place += len(rows)
            for row in rows:
                event = Event(*row)
                if until is not None and event.turn > until:
                    return
                yield event

    def _header(self, run: int | None) -> tuple[int, int, dict[str, list[Value]], Codes]:
        """The number, the size, the columns and the first codes of a run."""
        with self._errors():
            rows = self._open().rows("SELECT run, size, labels, codes FROM runs ORDER BY run")
        chosen = rows[-1:] if run is None else [row for row in rows if row[0] == run]
        if not chosen:
            known = ", ".join(str(row[0]) for row in rows) or "none"
            message = f"The journal {self._shown} has no run{'' if run is None else f' {run}'}."
            raise StoreError(message, f"Runs in it: {known}.")
        number, size, labels, packed = chosen[0]
        columns = json.loads(labels)
        codes = np.frombuffer(zlib.decompress(b64decode(packed)), dtype="<i4")
        return number, size, columns, codes.reshape(size**2, len(columns)).astype(np.int32)

    def overlay(self, until: int | None = None, run: int | None = None) -> Overlay:
        """The overlay of a run up to the end of a turn, time 1 being before the first turn."""
        _, size, columns, first = self._header(run)
        changes: dict[tuple[int, int, int], int] = {}  # of several in one turn the last counts
        last = 0
        for event in self.events(run, until):
            last = event.turn
            if event.kind == SET and event.turn == 0:
                first[event.square, event.column] = event.code
            elif event.kind == SET:
                changes[event.turn + 1, event.square, event.column] = event.code
        rows = np.array([(*key, code) for key, code in changes.items()], dtype=np.int64)
        return Overlay(Lattice((size, size)), columns, first, rows.reshape(-1, 4), last + 1)

    def moments(self, run: int | None = None) -> Iterator[Moment]:
        """A run once more: the world after each turn, from before the first on."""
        _, size, columns, codes = self._header(run)
        positions: dict[str, int] = {}
        turn = 0
        for event in self.events(run):
            if event.turn > turn:
                yield Moment(turn, codes.copy(), scene_of(size, columns, codes, positions, turn))
                turn = event.turn
            if event.kind == SET:
                codes[event.square, event.column] = event.code
            elif event.kind == MOVE:
                positions[event.element] = event.square
        yield Moment(turn, codes.copy(), scene_of(size, columns, codes, positions, turn))


def replay(place: str | Path, run: int | None = None) -> Iterator[Moment]:
    """Show a run of a journal once more, turn by turn.

    Args:
        place: The path or the URL of the journal.
        run: The number of the run; by default the last.

    Raises:
        StoreError: There is no such journal or run.
    """
    journal = Journal(place)
    try:
        yield from journal.moments(run)
    finally:
        journal.close()
