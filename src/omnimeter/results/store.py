"""Reading and writing an evaluation: immutable, signed shards of columns."""

from __future__ import annotations

import json
from collections import Counter, OrderedDict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnimeter.contract import Budget, Exercise, Outcome, Outcomes, Spec, Trace
from omnimeter.contract.agent import IntArray
from omnimeter.contract.errors import StoreError
from omnimeter.contract.exercise import supersedes
from omnimeter.contract.outcomes import COLUMNS, ENDINGS, FAULTS
from omnimeter.contract.spec import canonical_json, fingerprint
from omnimeter.results import files, tables
from omnimeter.results.files import Layout, read_error, shard_name, write_errors
from omnimeter.results.journal import Journals
from omnimeter.results.provenance import (
    check_same,
    current_provenance,
    read_seed,
    read_spec,
    write_spec,
)

SMALL = 16_384
"""Outcomes of a shard below which it is merged with others."""

MANY = 64
"""So many small shards are merged when an evaluation is opened for writing."""

MERGED = 131_072
"""Outcomes of a merged shard at the most."""

_GROUPS_KEPT = 4  # row groups that objects were made from last
_FIELDS = ("versions", "revisions", "machine")  # fields of a provenance that are tables


def _codes(texts: pa.ChunkedArray) -> NDArray[np.uint64]:
    """Keys, sixteen hexadecimal digits each, as numbers."""
    digits = "".join(texts.to_pylist())
    if len(digits) != 16 * len(texts):
        raise ValueError("a key in it is none")
    return np.frombuffer(bytes.fromhex(digits), ">u8").astype(np.uint64)


def _places(texts: Sequence[Any], known: dict[Any, int]) -> IntArray:
    """The place of each text among the known ones, to which new ones are added."""
    return np.array([known.setdefault(each, len(known)) for each in texts], dtype=np.int64)


def _encoded(column: pa.ChunkedArray) -> tuple[list[Any], IntArray]:
    """The different values of a column, and the place of each row's among them."""
    chunk = pc.dictionary_encode(column).combine_chunks()
    if isinstance(chunk, pa.ChunkedArray):  # without any row
        return [], np.empty(0, dtype=np.int64)
    places = chunk.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    return chunk.dictionary.to_pylist(), places


@dataclass
class _Columns:
    """The light columns of some shards, row after row as they are on disk.

    Attributes:
        shards: The names of the shards.
        merged: The names of the shards that were merged into these.
        older: The names of those of an older format.
        groups: The first row of each row group of each shard, and its end.
        agents: Label and key of each agent that occurs, with its place.
        kinds: The kinds of exercises, with their places.
        arrays: The columns of ``Outcomes``, and ``shard``, ``row``, ``agent`` and ``kind``.
        remarks: The remarks as JSON, null where there are none.
    """

    shards: list[str] = field(default_factory=list)
    merged: set[str] = field(default_factory=set)
    older: set[str] = field(default_factory=set)
    groups: list[IntArray] = field(default_factory=list)
    agents: dict[tuple[str, str], int] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    remarks: pa.ChunkedArray = field(default_factory=lambda: pa.chunked_array([], pa.string()))

    def extended(self, layout: Layout, names: Sequence[str], key: files.Key | None) -> _Columns:
        """These and the columns of further shards.

        Raises:
            StoreError: One cannot be read.
        """
        more = replace(self, shards=[*self.shards], groups=[*self.groups])
        parts, remarks = [self.arrays] if self.arrays else [], [*self.remarks.chunks]
        for name in names:
            path = layout.outcome_shard(name)
            table, footer = tables.read_outcome_columns(path, key)
            with tables.decoding_errors(path):
                parts.append(more._arrays(table, footer))
            remarks += table["remarks"].chunks
            more.shards.append(name)
            more.merged.update(footer.get("merged", ()))
            if footer["version"] < tables.SCHEMA_VERSION:
                more.older.add(name)
        if parts:
            more.arrays = {
                column: np.concatenate([part[column] for part in parts])
                if len(parts) > 1
                else array
                for column, array in parts[0].items()
            }
        more.remarks = pa.chunked_array(remarks, pa.string())
        return more

    def _arrays(self, table: pa.Table, footer: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """The arrays of one shard."""

        def numbers(name: str) -> NDArray[Any]:
            column = table[name]
            return np.asarray(column.combine_chunks().to_numpy(zero_copy_only=False))

        count = len(table)
        self.groups.append(np.concatenate([[0], np.cumsum(footer["rows"], dtype=np.int64)]))
        kinds, labels = footer["kinds"], _encoded(table["agent"])
        keys = _encoded(table["agent_key"])
        pairs = labels[1] * max(1, len(keys[0])) + keys[1]
        different, inverse = np.unique(pairs, return_inverse=True)
        names = [
            (labels[0][pair // len(keys[0])], keys[0][pair % len(keys[0])])
            for pair in different.tolist()
        ]
        faults, fault = _encoded(table["fault_kind"])
        codes = np.array([*map(FAULTS.index, faults), 0], dtype=np.int8)
        endings, ending = _encoded(table["ending"])
        ends = np.array([*map(ENDINGS.index, endings)], dtype=np.int8)
        payoff = table["payoff"].combine_chunks()
        return {
            "shard": np.full(count, len(self.shards), dtype=np.int32),
            "row": np.arange(count, dtype=np.int32),
            "agent": _places(names, self.agents)[inverse].astype(np.int32),
            "kind": _places(kinds, self.kinds)[numbers("kind")].astype(np.int32),
            "number": numbers("number"),
            "key": _codes(table["key"]),
            "instance": _codes(table["instance_key"]),
            "complexity": numbers("complexity"),
            "payoff": np.asarray(payoff.to_numpy(zero_copy_only=False), dtype=np.float64),
            "paid": np.asarray(payoff.is_valid().to_numpy(zero_copy_only=False)),
            "interactions": numbers("interactions"),
            "total": numbers("total"),
            "last_time": numbers("last_time"),
            "ending": ends[ending],
            "fault": codes[fault],
            "attempts": numbers("attempts"),
        }

    @cached_property
    def order(self) -> IntArray:
        """All rows by agent (its label and key), number and key of the exercise, and attempts."""
        if not self.arrays:
            return np.empty(0, dtype=np.int64)
        ranks = np.empty(len(self.agents), dtype=np.int32)
        ranks[[self.agents[pair] for pair in sorted(self.agents)]] = np.arange(len(self.agents))
        own = self.arrays
        order = (own["attempts"], own["key"], own["number"], ranks[own["agent"]])
        return np.lexsort(order)


class _Objects:
    """Makes outcomes of rows on disk, row group by row group."""

    def __init__(self, layout: Layout, key: files.Key | None) -> None:
        self._layout, self._key = layout, key
        self._groups: OrderedDict[tuple[str, int], tuple[pa.Table, list[Exercise]]] = OrderedDict()
        self._kinds: dict[str, Exercise] = {}

    def of(self, columns: _Columns, rows: IntArray) -> list[Outcome]:
        """The outcomes of some rows."""
        made: list[Outcome | None] = [None] * len(rows)
        shards, places = columns.arrays["shard"][rows], columns.arrays["row"][rows]
        for shard in np.unique(shards).tolist():
            own = np.flatnonzero(shards == shard)
            starts = columns.groups[shard]
            groups = np.searchsorted(starts, places[own], side="right") - 1
            for group in np.unique(groups).tolist():
                here = own[groups == group]
                table, kinds = self._group(columns.shards[shard], group)
                chosen = table.take(pa.array(places[here] - starts[group]))
                if not np.array_equal(_codes(chosen["key"]), columns.arrays["key"][rows[here]]):
                    message = f"{columns.shards[shard]}.parquet was rewritten while it was read."
                    raise StoreError(message, "Read the evaluation again.")
                for place, outcome in zip(
                    here.tolist(), tables.outcomes_of(chosen, kinds), strict=True
                ):
                    made[place] = outcome
        return [each for each in made if each is not None]

    def _group(self, shard: str, group: int) -> tuple[pa.Table, list[Exercise]]:
        if (shard, group) not in self._groups:
            path = self._layout.outcome_shard(shard)
            names = tables.OUTCOME_SCHEMA.names
            table, footer = tables.read_outcome_columns(path, self._key, names, group)
            with tables.decoding_errors(path):
                kinds = [self._kind(each) for each in footer["kinds"]]
            self._groups[shard, group] = table, kinds
            if len(self._groups) > _GROUPS_KEPT:
                self._groups.popitem(last=False)
        self._groups.move_to_end((shard, group))
        return self._groups[shard, group]

    def _kind(self, kind: str) -> Exercise:
        if kind not in self._kinds:
            self._kinds[kind] = tables.exercise_of_kind(kind)
        return self._kinds[kind]


class StoredOutcomes(Outcomes):
    """Outcomes on disk: columns are in memory, and objects are read where they are asked for."""

    def __init__(self, columns: _Columns, rows: IntArray, made: _Objects) -> None:
        super().__init__()
        self.columns, self.rows, self._made = columns, rows, made

    @property
    def shards(self) -> list[str]:
        """The shards that they are in."""
        if not len(self):
            return []
        return [
            self.columns.shards[each] for each in np.unique(self.columns.arrays["shard"][self.rows])
        ]

    def objects(self, rows: IntArray) -> list[Outcome]:  # noqa: D102 - see Outcomes
        return self._made.of(self.columns, self.rows[rows])

    def compute(self, name: str) -> NDArray[Any]:  # noqa: D102 - see Outcomes
        own = self.columns.arrays
        return own[name][self.rows] if own else np.empty(0, dtype=COLUMNS[name][0])

    def remarks(self, name: str) -> list[tuple[Any, IntArray]]:  # noqa: D102 - see Outcomes
        if not len(self):
            return []
        texts = self.columns.remarks.take(pa.array(self.rows))
        with_it = pc.match_substring(texts, json.dumps(name)).fill_null(False)
        rows = np.flatnonzero(with_it.to_numpy())
        found: dict[str, tuple[Any, list[int]]] = {}
        for row, text in zip(rows.tolist(), texts.take(pa.array(rows)).to_pylist(), strict=True):
            data = json.loads(text)
            if name in data:
                found.setdefault(repr(data[name]), (data[name], []))[1].append(row)
        return [(value, np.array(where)) for value, where in found.values()]

    def distinct_exercises(self) -> list[Exercise]:  # noqa: D102 - see Outcomes
        if not len(self):
            return []
        _, first = np.unique(self.columns.arrays["kind"][self.rows], return_index=True)
        return [each.exercise for each in self.objects(np.sort(first))]

    def by_agent(self, agents: Iterable[Spec]) -> dict[Spec, Outcomes]:  # noqa: D102 - see Outcomes
        places = self.columns.arrays["agent"][self.rows] if len(self) else self.rows
        known: dict[str, list[int]] = {}
        for (_, key), place in self.columns.agents.items():
            known.setdefault(key, []).append(place)
        return {
            agent: self.take(np.flatnonzero(np.isin(places, known.get(agent.key, []))))
            for agent in agents
        }

    def take(self, rows: IntArray) -> Self:  # noqa: D102 - see Outcomes
        return type(self)(self.columns, self.rows[rows], self._made)

    def __len__(self) -> int:
        return len(self.rows)


class Record:
    """One evaluation on disk, for reading only, also while others write it.

    It takes no lock and writes nothing. Each call sees what is stored at that moment.

    Args:
        path: The directory of the evaluation.
        shards: Only these shards of outcomes are looked at; all by default.

    Attributes:
        path: The directory of the evaluation.
        spec: What is evaluated, as plain JSON data.
        seed: The secret seed that was drawn for it when it began, if one was.

    Raises:
        StoreError: Also from its methods: a file is missing, damaged or cannot be read.
    """

    def __init__(self, path: str | PathLike[str], shards: Collection[str] | None = None) -> None:
        self.path = Path(path)
        self._layout = Layout(self.path)
        self.spec: dict[str, Any] = read_spec(self._layout)
        self.seed: int | None = read_seed(self._layout)
        self._only = None if shards is None else set(shards)
        self._key = files.read_key(self._layout)
        self._columns, self._made = _Columns(), _Objects(self._layout, self._key)
        self._known: StoredOutcomes | None = None

    @property
    def fingerprint(self) -> str:
        """A short name that depends on the whole spec."""
        return fingerprint(self.spec)

    def keys(self) -> set[str]:
        """The keys of all exercises that have an outcome."""
        return {f"{key:016x}" for key in self.outcomes().keys.tolist()}

    def outcomes(self) -> Outcomes:
        """All outcomes, ordered by agent, number of the exercise and key.

        Of an exercise that was run again after a fault of the infrastructure, the last attempt.
        """
        present = [
            name for name in self._layout.shards() if self._only is None or name in self._only
        ]
        if self._known is not None and present == sorted(self._columns.shards):
            return self._known
        known = set(self._columns.shards)
        if not known <= set(present):  # some were merged, or removed
            self._columns, known = _Columns(), set()
        new = [name for name in present if name not in known]
        self._columns = self._columns.extended(self._layout, new, self._key)
        self._known = StoredOutcomes(self._columns, self._last_attempts(), self._made)
        return self._known

    def _last_attempts(self) -> IntArray:
        """The rows that count, in order.

        Raises:
            StoreError: Two shards disagree on an exercise.
        """
        columns = self._columns
        rows = columns.order
        if not len(rows):
            return rows
        key, attempts = columns.arrays["key"][rows], columns.arrays["attempts"][rows]
        again = np.flatnonzero(key[1:] == key[:-1])
        if not len(again):
            return rows
        dropped = []
        for place in again.tolist():
            pair = rows[place : place + 2]
            earlier, later = self._made.of(columns, pair)
            same = attempts[place] == attempts[place + 1] and _text(earlier) == _text(later)
            if not (same or supersedes(later, earlier)):
                shards = [columns.shards[each] for each in columns.arrays["shard"][pair].tolist()]
                where = sorted(map(self._layout.outcome_shard, shards))
                raise _disagreement(later, *where)
            dropped.append(place)
        return np.delete(rows, dropped)

    def trace(self, key: str) -> Trace | None:
        """The trace of one exercise, if it was stored."""
        return next((trace for _, trace in self._traces(key)), None)

    def traces(self) -> Iterator[tuple[str, Trace]]:
        """All stored traces with the keys of their exercises, one at a time."""
        return self._traces()

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

    def _traces(self, only: str | None = None) -> Iterator[tuple[str, Trace]]:
        """The traces of the last attempts, or ``only`` that of one exercise."""
        outcomes = self.outcomes()
        order = np.argsort(outcomes.keys)
        keys, attempts = outcomes.keys[order], outcomes.attempts[order]
        given: set[str] = set()

        def place(key: str) -> int | None:
            found = int(np.searchsorted(keys, np.uint64(int(key, 16))))
            return found if found < len(keys) and keys[found] == int(key, 16) else None

        def wanted(stored: Mapping[str, int]) -> set[str]:
            chosen = set()
            for key in stored.keys() - given if only is None else stored.keys() & {only}:
                at = place(key)
                if at is not None and attempts[at] == stored[key]:
                    chosen.add(key)
            given.update(chosen)
            return chosen

        def budget(key: str) -> Budget:
            at = place(key)
            assert at is not None  # only such traces are wanted
            return outcomes[int(order[at])].exercise.budget

        for shard in self._layout.trace_shards():
            path = self._layout.trace_shard(shard)
            yield from tables.read_traces(path, self._key, wanted, budget)


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
    """A record that can also be written.

    ``open_writer`` makes it and holds its lock. Workers that share the work of its holder make
    their own: shards are immutable and named by what they hold, so that several may write at once.

    Args:
        path: The directory of the evaluation.
        shards: As for ``Record``: those with exercises that this writer may be given again.
    """

    def __init__(self, path: str | PathLike[str], shards: Collection[str] | None = None) -> None:
        super().__init__(path, shards)
        self._closed = False
        self._stored = set(self.outcomes().keys.tolist())

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
        assert self._key is not None  # open_writer has made one
        given: dict[str, Outcome] = {}
        for outcome in outcomes:
            first = given.setdefault(outcome.exercise.key, outcome)
            if supersedes(outcome, first):
                given[outcome.exercise.key] = outcome
        traces = traces or {}
        if extra := traces.keys() - given.keys():
            raise ValueError(f"traces without an outcome: {sorted(extra)}")
        codes = {key: int(key, 16) for key in given}
        new = {key: each for key, each in given.items() if codes[key] not in self._stored}
        again = {codes[k] for k, each in given.items() if k not in new and each.attempts > 1}
        if again:
            stored = self.outcomes()
            for earlier in stored.where(np.isin(stored.keys, np.array([*again], np.uint64))):
                key = earlier.exercise.key
                if supersedes(given[key], earlier):
                    new[key] = given[key]
        if not new:
            return
        attempts = {key: outcome.attempts for key, outcome in new.items()}
        shard = shard_name(attempts)
        content = tables.encode_outcomes(*tables.outcome_table(new.values()), self._key)
        # The traces come first: a shard of outcomes on disk is what makes its exercises finished.
        if new_traces := {key: trace for key, trace in traces.items() if key in new}:
            encoded = tables.encode_traces(new_traces, attempts, self._key)
            files.write(self._layout.trace_shard(shard), encoded)
        try:
            files.write(self._layout.outcome_shard(shard), content)
        except StoreError:
            if new_traces:
                with suppress(OSError):
                    self._layout.trace_shard(shard).unlink()
            raise
        if self._only is not None:
            self._only.add(shard)
        self._stored.update(codes[key] for key in new)

    @property
    def journals(self) -> Journals:
        """The journals of exercises that are under way."""
        return Journals(str(self._layout.journal.absolute()))

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
    begun = {layout.lock.name, layout.key.name, layout.seed.name}
    begun |= {name for name in names if name.endswith(files.UNFINISHED)}
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
        with write_errors(layout.root):  # of an older version
            for name in ("index.sqlite", "index.sqlite-journal"):
                layout.root.joinpath(name).unlink(missing_ok=True)
        _merge_shards(layout)
        writer = Writer(layout.root)
        _remove_orphaned_traces(layout, writer)
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


def _remove_orphaned_traces(layout: Layout, writer: Writer) -> None:
    """Remove traces whose outcomes were not written: their exercises will be run again."""
    known = {*layout.shards(), *writer._columns.merged}
    stored: set[str] | None = None
    for shard in layout.trace_shards():
        if shard not in known:
            stored = writer.keys() if stored is None else stored
            path = layout.trace_shard(shard)
            if not tables.read_trace_keys(path, files.read_key(layout)) <= stored:
                with write_errors(path):
                    path.unlink()


def _merge_shards(layout: Layout) -> None:
    """Merge small shards if there are many, and rewrite those of an older format.

    Merged shards are on disk before those in them are removed. Whatever interrupts this, nothing is
    lost: the same outcome may then be there twice, which does no harm.

    Raises:
        StoreError: A shard is damaged, two disagree, or one cannot be written.
    """
    outcomes, key = Record(layout.root).outcomes(), files.read_key(layout)
    assert key is not None  # a writer has made one
    assert isinstance(outcomes, StoredOutcomes)
    columns, rows = outcomes.columns, outcomes.rows
    if not len(rows):
        return
    sizes = np.bincount(columns.arrays["shard"], minlength=len(columns.shards))
    small = np.array(
        [
            size < SMALL or name in columns.older
            for size, name in zip(sizes.tolist(), columns.shards, strict=True)
        ]
    )
    if small.sum() <= MANY and not columns.older:
        return
    names = [name for name, chosen in zip(columns.shards, small, strict=True) if chosen]
    chosen = rows[small[columns.arrays["shard"][rows]]]
    merged = set()
    for first in range(0, len(chosen), MERGED):
        table, kinds = _gathered(layout, key, columns, chosen[first : first + MERGED])
        shard = shard_name(tables.attempts_in(table))
        content = tables.encode_outcomes(table, kinds, key, {*names, *columns.merged} - {shard})
        files.write(layout.outcome_shard(shard), content)
        merged.add(shard)
    for name in names:
        if name not in merged:
            with write_errors(layout.outcome_shard(name)):
                layout.outcome_shard(name).unlink(missing_ok=True)


def _gathered(
    layout: Layout, key: files.Key, columns: _Columns, rows: IntArray
) -> tuple[pa.Table, list[str]]:
    """The table of some rows, in their order, and its kinds of exercises."""
    parts, places, kinds = [], [], dict[str, int]()
    shards = columns.arrays["shard"][rows]
    for shard in np.unique(shards).tolist():
        path = layout.outcome_shard(columns.shards[shard])
        table, footer = tables.read_outcome_columns(path, key, tables.OUTCOME_SCHEMA.names)
        own = np.flatnonzero(shards == shard)
        part = table.take(pa.array(columns.arrays["row"][rows[own]]))
        kind = _places(footer["kinds"], kinds)[part["kind"].to_numpy()].astype(np.int32)
        place = part.schema.get_field_index("kind")
        parts.append(part.set_column(place, tables.OUTCOME_SCHEMA.field("kind"), pa.array(kind)))
        places.append(own)
    order = np.argsort(np.concatenate(places))
    return pa.concat_tables(parts).take(pa.array(order)), list(kinds)
