"""Traces as Parquet tables: one row for each exercise, with lists of what happened in it."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnimeter.contract import Budget, Ending, Fault, Trace
from omnimeter.contract.agent import IntArray
from omnimeter.results import sealing
from omnimeter.results.files import Key
from omnimeter.results.tables import key_codes

GROUP = 1 << 18
"""Numbers that are read together when one of their traces is asked for."""

_DURATIONS = ("wall_ns", "cpu_ns")  # columns that older shards do not have
_INTEGERS = ("times", "actions", "observations", *_DURATIONS)
_SAMPLE = 4096  # numbers that tell how a column is best encoded

TRACE_SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("attempts", pa.int64()),
        ("end_ns", pa.int64()),
        ("ending", pa.string()),
        ("first_reward", pa.float64()),
        ("planned", pa.int64()),
        ("timed", pa.bool_()),
        ("lowest", pa.float64()),
        ("fault", pa.string()),
        ("shape", pa.list_(pa.int64())),  # of the observations, which include the last one
        ("rewards", pa.list_(pa.float64())),
        *((name, pa.list_(pa.int64())) for name in _INTEGERS),
    ]
)


def encode_traces(
    name: str,
    traces: Mapping[tuple[str, int], Trace],
    key: Key,
    merged: Collection[str] = (),
) -> bytes:
    """The shard of some traces, signed.

    Args:
        name: Its name: that of the shard of outcomes that it belongs to.
        traces: The traces by the keys of their exercises and how often these were begun.
        key: The key of the evaluation.
        merged: The names of the shards that it was merged of.

    Raises:
        ValueError: The arrays of a trace have lengths that do not fit together.
    """
    exact = [(each, _with_stored_types(trace)) for each, trace in traces.items()]
    groups: list[list[tuple[tuple[str, int], Trace]]] = [[]]
    size = 0
    for each, trace in exact:
        if size >= GROUP:
            groups.append([])
            size = 0
        groups[-1].append((each, trace))
        size += 16 + sum(len(getattr(trace, name).ravel()) for name in _arrays(trace))
    tables = [_table(group) for group in groups]
    dictionaries, encodings = _encodings(tables[0])
    footer = {"merged": sorted(merged)} if merged else {}
    return sealing.encode(name, tables, TRACE_SCHEMA, footer, key, dictionaries, encodings)


def _arrays(trace: Trace) -> list[str]:
    names = ("rewards", *_INTEGERS)
    return [name for name in names if getattr(trace, name) is not None]


def _with_stored_types(trace: Trace) -> Trace:
    count, seen = len(trace), trace.observations
    if seen is not None and len(seen) < count:
        raise ValueError(f"{len(seen)} observations for {count} actions")
    arrays: dict[str, Any] = {}
    for name in _arrays(trace):
        kind = np.float64 if name == "rewards" else np.int64
        arrays[name] = np.asarray(getattr(trace, name), dtype=kind)
        if name != "observations" and len(arrays[name]) != count:
            raise ValueError(f"{len(arrays[name])} {name} for {count} rewards")
    return replace(trace, **arrays)


def _table(rows: Sequence[tuple[tuple[str, int], Trace]]) -> pa.Table:
    traces = [trace for _, trace in rows]
    faults = [each.fault for each in traces]
    shapes = [None if each.observations is None else each.observations.shape for each in traces]
    columns: dict[str, Any] = {
        "key": [key for (key, _), _ in rows],
        "attempts": [attempts for (_, attempts), _ in rows],
        "end_ns": [int(each.end_ns) for each in traces],
        "ending": [str(each.ending) for each in traces],
        "first_reward": [float(each.first_reward) for each in traces],
        "planned": [each.planned for each in traces],
        "timed": [each.timed for each in traces],
        "lowest": [float(each.lowest) for each in traces],
        "fault": [None if each is None else json.dumps(each.to_json()) for each in faults],
        "shape": shapes,
    }
    for name in ("rewards", *_INTEGERS):
        columns[name] = _lists([getattr(each, name) for each in traces])
    arrays = [
        column if isinstance(column, pa.Array) else pa.array(column, TRACE_SCHEMA.field(name).type)
        for name, column in columns.items()
    ]
    return pa.Table.from_arrays(arrays, schema=TRACE_SCHEMA)


def _lists(arrays: Sequence[NDArray[Any] | None]) -> pa.Array:
    """Arrays, some of which may be missing, as a column of lists."""
    missing = np.array([each is None for each in arrays])
    flat = [each.ravel() for each in arrays if each is not None]
    if not flat:
        return pa.nulls(len(arrays), pa.list_(pa.int64()))
    lengths = [0 if each is None else each.size for each in arrays]
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
    mask = pa.array(missing) if missing.any() else None
    return pa.ListArray.from_arrays(offsets, pa.array(np.concatenate(flat)), mask=mask)


def _encodings(table: pa.Table) -> tuple[list[str], dict[str, str]]:
    """The columns whose values repeat, and how the others are encoded."""
    dictionaries, encodings = ["ending", "fault", "shape.list.element"], {}
    for name in ("rewards", *_INTEGERS):
        leaf, values = f"{name}.list.element", table[name].combine_chunks().values
        sample = values[:_SAMPLE]
        if name != "times" and len(sample.unique()) <= max(1, len(sample) // 8):
            dictionaries.append(leaf)
        else:
            floats = name == "rewards"
            encodings[leaf] = "BYTE_STREAM_SPLIT" if floats else "DELTA_BINARY_PACKED"
    return dictionaries, encodings


class StoredTraces(NamedTuple):
    """What a shard of traces holds.

    Attributes:
        keys: The keys of the exercises, as numbers.
        attempts: How often each of these was begun.
        merged: Whether it was merged of others.
        version: The version of its format.
    """

    keys: NDArray[np.uint64]
    attempts: IntArray
    merged: bool
    version: int

    @property
    def exercises(self) -> list[tuple[str, int]]:
        """The keys of the exercises with their attempts."""
        return list(zip(self.names, self.attempts.tolist(), strict=True))

    @property
    def names(self) -> list[str]:
        """The keys of the exercises."""
        return [f"{key:016x}" for key in self.keys.tolist()]


def stored_traces(path: Path, key: Key | None) -> StoredTraces:
    """What a shard of traces holds."""
    with sealing.open_shard(path, key) as shard:
        version = shard.version
        if version < sealing.SCHEMA_VERSION:
            begun = sealing.attempts_of_older(shard)
            names = [head["key"] for head in shard.footer["notes"]["traces"]]
            attempts = np.array([begun[each] for each in names], dtype=np.int64)
            codes = np.array([int(each, 16) for each in names], dtype=np.uint64)
            return StoredTraces(codes, attempts, False, version)
        table = shard.read(["key", "attempts"])
        merged = "merged" in shard.footer
        return StoredTraces(key_codes(table["key"]), table["attempts"].to_numpy(), merged, version)


def read_traces(
    path: Path,
    key: Key | None,
    wanted: Collection[tuple[str, int]],
    budget: Callable[[str], Budget] | None = None,
) -> Iterator[tuple[tuple[str, int], Trace]]:
    """Traces of a shard with the keys and the attempts of their exercises, a row group at a time.

    Args:
        path: The shard.
        key: The key of its evaluation.
        wanted: Those that are wanted: a merged shard may have several attempts of an exercise.
        budget: The budget of an exercise: what was planned is not in the first traces.
    """
    with sealing.open_shard(path, key) as shard:
        if shard.version < sealing.SCHEMA_VERSION:
            begun = sealing.attempts_of_older(shard)
            names = {each for each, attempts in wanted if begun.get(each) == attempts}
            for name, trace in _older_traces(shard, names, budget):
                yield (name, begun[name]), trace
            return
        for group in range(shard.file.metadata.num_row_groups):
            table = shard.read(["key", "attempts"], [group])
            pairs = zip(table["key"].to_pylist(), table["attempts"].to_pylist(), strict=True)
            chosen = {row: each for row, each in enumerate(pairs) if each in wanted}
            if chosen:
                traces = _traces_of(shard.read(TRACE_SCHEMA.names, [group]), list(chosen))
                for each, (_, trace) in zip(chosen.values(), traces, strict=True):
                    yield each, trace


def _traces_of(table: pa.Table, rows: Sequence[int]) -> Iterator[tuple[str, Trace]]:
    plain = [name for name in TRACE_SCHEMA.names if not pa.types.is_list(table[name].type)]
    columns = {name: table[name].to_pylist() for name in (*plain, "shape")}
    arrays = {name: _array_of(table[name]) for name in ("rewards", *_INTEGERS)}
    for row in rows:
        head = {name: column[row] for name, column in columns.items()}
        lists = {name: array(row) for name, array in arrays.items()}
        shape, seen, fault = head["shape"], lists["observations"], head["fault"]
        lists["observations"] = None if seen is None else seen.reshape(shape)
        rewards = lists.pop("rewards")
        times = lists.pop("times")
        if rewards is None or times is None:
            raise ValueError("a trace has no rewards or no times")
        yield (
            head["key"],
            Trace(
                rewards=rewards,
                times=times,
                end_ns=head["end_ns"],
                ending=Ending(head["ending"]),
                first_reward=head["first_reward"],
                fault=None if fault is None else Fault.from_json(json.loads(fault)),
                planned=head["planned"],
                timed=head["timed"],
                lowest=head["lowest"],
                **lists,
            ),
        )


def _array_of(column: pa.ChunkedArray) -> Callable[[int], NDArray[Any] | None]:
    """What gives the list in a row as an array of its own, which may be written to."""
    lists = column.combine_chunks()
    offsets, valid = lists.offsets.to_numpy(), lists.is_valid().to_numpy(zero_copy_only=False)
    values = lists.values.to_numpy(zero_copy_only=False)

    def array(row: int) -> NDArray[Any] | None:
        return np.array(values[offsets[row] : offsets[row + 1]]) if valid[row] else None

    return array


# Shards of versions 1 and 2 have one row for each interaction and a row group for each trace.


def _older_traces(
    shard: sealing.Shard, wanted: Collection[str], budget: Callable[[str], Budget] | None
) -> Iterator[tuple[str, Trace]]:
    names = ["reward", "time", "action", "observation", *_DURATIONS]
    for group, head in enumerate(shard.footer["notes"]["traces"]):
        if head["key"] in wanted:
            plan: dict[str, Any] = {}
            if "planned" not in head and budget is not None:
                given = budget(head["key"])
                plan = {"planned": given.interactions, "timed": given.seconds is not None}
            rows = shard.file.read_row_group(group, names, use_threads=False)
            yield head["key"], _older_trace({**plan, **head}, rows)


def _older_trace(head: Mapping[str, Any], rows: pa.Table) -> Trace:
    fault, shape, observations = head["fault"], head["observations"], None
    if shape is not None:
        last = np.asarray(head["last_observation"], dtype=np.int64)
        numbers = rows["observation"].combine_chunks().flatten().to_numpy()
        observations = np.concatenate([numbers, last]).reshape(shape)
    measured = [name for name in _DURATIONS if name in head.get("measured", ())]
    # Copies, which may be written to.
    trace = Trace(
        rewards=np.array(rows["reward"].to_numpy()),
        times=np.array(rows["time"].to_numpy()),
        end_ns=head["end_ns"],
        ending=Ending(head["ending"]),
        first_reward=head["first_reward"],
        fault=None if fault is None else Fault.from_json(fault),
        actions=np.array(rows["action"].to_numpy()) if head["actions"] else None,
        observations=observations,
        planned=head["planned"],
        timed=head["timed"],
        lowest=head.get("lowest", -1.0),
        **{name: np.array(rows[name].to_numpy()) for name in measured},
    )
    arrays = [trace.rewards, trace.times, trace.actions, trace.observations]
    arrays += [trace.wall_ns, trace.cpu_ns]
    pieces = (array.tobytes() for array in arrays if array is not None)
    if sealing.digest(*pieces) != head["digest"]:
        raise ValueError(f"the rows of exercise {head['key']} do not match their digest")
    return trace
