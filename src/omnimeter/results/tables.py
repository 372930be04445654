"""Outcomes and traces as Parquet tables; a damaged file is a ``StoreError`` that names it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from omnimeter.contract import (
    Budget,
    Ending,
    Exercise,
    Fault,
    Instance,
    InvalidInputError,
    Outcome,
    Trace,
)
from omnimeter.contract.errors import StoreError
from omnimeter.results.files import Key, newer_format_error, read_error, shard_name

SCHEMA_VERSION = 3  # 1 had neither signatures nor attempts; 2 had each exercise as JSON
GROUP = 4096
"""Rows that are read together when the objects of some of them are asked for."""

LARGEST_GROUP = 64 << 20
"""Bytes of the descriptions of environments in such rows."""

_FOOTER = b"omnimeter"
_DIGEST = b"omnimeter.digest"
_SIGNATURE = b"omnimeter.signature"
_DECODING_ERRORS = (pa.ArrowException, ValueError, LookupError, TypeError, AttributeError)


class Shard(NamedTuple):
    """A shard that is open for reading: what its footer says, and the file."""

    footer: Mapping[str, Any]
    file: pq.ParquetFile

    @property
    def version(self) -> int:
        """The version of its format."""
        return int(self.footer["version"])

    @property
    def attempts(self) -> dict[str, int]:
        """The exercises, by their keys, with how often each was begun, where the footer has them.

        Those of outcomes have been in columns since version 3.
        """
        keys = self.footer["keys"]
        return dict(zip(keys, self.footer.get("attempts", [1] * len(keys)), strict=True))


def _encode(
    groups: Iterable[pa.Table],
    schema: pa.Schema,
    footer: Mapping[str, Any],
    key: Key,
    dictionaries: Sequence[str],
) -> bytes:
    """The bytes of a shard; each table becomes a row group, which can be read by itself.

    The footer, which has the digests of all rows, is signed.
    """
    content = json.dumps({"version": SCHEMA_VERSION, **footer}).encode()
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        use_dictionary=list(dictionaries),
        write_page_checksum=True,
        write_statistics=False,  # small row groups would consist of them
    ) as writer:
        for group in groups:
            writer.write_table(group, row_group_size=max(1, len(group)))
        marks = {_DIGEST: _digest(content), _SIGNATURE: key.sign(content)}
        writer.add_key_value_metadata({_FOOTER: content, **marks})
    return bytes(sink.getvalue())


def _digest(*pieces: Any) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(piece)
    return digest.hexdigest()


@contextmanager
def decoding_errors(path: Path) -> Iterator[None]:
    """Let an error while a shard is decoded mean that it is damaged.

    Raises:
        StoreError: In place of any such error; the message names the file.
    """
    try:
        yield
    except StoreError:
        raise
    except (OSError, *_DECODING_ERRORS, InvalidInputError) as error:
        # The system's errors have a number; those of a decoder do not.
        if isinstance(error, OSError) and error.errno is not None:
            raise read_error(error, path) from error
        raise StoreError(f"{path} is damaged ({error}).", _removal(path)) from error


@contextmanager
def open_shard(path: Path, key: Key | None) -> Iterator[Shard]:
    """Open a shard; an error while it is read and decoded inside means that it is damaged.

    Args:
        path: Its file.
        key: The key of its evaluation; an older version wrote none.

    Raises:
        StoreError: The file cannot be read, or is not as it was written by this evaluation; the
            message names it.
    """
    with (
        decoding_errors(path),
        path.open("rb") as file,
        pq.ParquetFile(file, page_checksum_verification=True) as data,
    ):
        metadata = data.metadata.metadata or {}
        footer = metadata[_FOOTER]
        if metadata[_DIGEST].decode() != _digest(footer):
            raise ValueError("its footer does not match its checksum")
        content = json.loads(footer)
        if content["version"] > SCHEMA_VERSION:
            raise newer_format_error(path, content["version"])
        _check_signature(path, key, footer, metadata.get(_SIGNATURE))
        shard = Shard(content, data)
        if "keys" in content:
            check_name(path, shard.attempts)
        yield shard


def check_name(path: Path, attempts: Mapping[str, int]) -> None:
    """Check that a shard has the name of the exercises in it.

    Raises:
        ValueError: It has another one.
    """
    if shard_name(attempts) != path.stem:
        raise ValueError("its name does not match its content")


def _check_signature(path: Path, key: Key | None, footer: bytes, signature: bytes | None) -> None:
    if key is None and signature is not None:
        message = f"{path} is signed, and the key of its evaluation, key.json, is missing."
        raise StoreError(message, "Copy it from where the evaluation was made.")
    try:
        if key is not None:
            key.check(path, footer, None if signature is None else signature.decode())
    except ValueError as error:
        message = f"{path} was not written by this evaluation: {error}."
        raise StoreError(message, _removal(path)) from error


def _removal(path: Path) -> str:
    """The advice to remove a shard that cannot be used."""
    advice = "Remove that file and run the evaluation again"
    if path.parent.name == "traces":
        advice = (
            "Remove that file to continue without its traces; remove the file of the same name "
            "in 'outcomes' too"
        )
    return f"{advice}, and those exercises will be run again."


OUTCOME_SCHEMA = pa.schema(
    [
        ("key", pa.string()),
        ("agent", pa.string()),
        ("agent_id", pa.string()),
        ("agent_key", pa.string()),
        ("class_id", pa.string()),
        ("instance_key", pa.string()),
        ("complexity", pa.float64()),
        ("number", pa.int64()),
        ("payoff", pa.float64()),
        ("interactions", pa.int64()),
        ("total", pa.float64()),
        ("first_reward", pa.float64()),
        ("last_time", pa.int64()),
        ("end_ns", pa.int64()),
        ("ending", pa.string()),
        ("fault_kind", pa.string()),
        ("fault_message", pa.string()),
        ("fault", pa.string()),
        ("remarks", pa.string()),
        ("attempts", pa.int64()),
        ("kind", pa.int32()),  # the place in the footer's list of kinds of exercises
        ("instance", pa.string()),
    ]
)
LIGHT = (
    "key",
    "agent",
    "agent_key",
    "instance_key",
    "complexity",
    "number",
    "payoff",
    "interactions",
    "total",
    "last_time",
    "ending",
    "fault_kind",
    "remarks",
    "attempts",
    "kind",
)
"""The columns that are kept in memory: all that is computed over many outcomes is in them."""

_REPEATED = ("agent", "agent_id", "agent_key", "class_id", "ending", "fault_kind", "remarks")
_OWN = ("instance", "number", "complexity")  # the fields of an exercise that are columns


def outcome_table(outcomes: Iterable[Outcome]) -> tuple[pa.Table, list[str]]:
    """Outcomes as a table, one row each, and the kinds of exercises that its rows name.

    A kind is an exercise without instance, number and complexity, as JSON.
    """
    outcomes = list(outcomes)
    exercises = [each.exercise for each in outcomes]
    kinds: dict[str, int] = {}
    agents = [each.agent for each in exercises]
    faults = [each.fault for each in outcomes]
    columns = {
        "key": [each.key for each in exercises],
        "agent": [_valid_text(each.label) for each in agents],
        "agent_id": [_valid_text(each.id) for each in agents],
        "agent_key": [each.key for each in agents],
        "class_id": [_valid_text(each.environment_class.id) for each in exercises],
        "instance_key": [each.instance.key for each in exercises],
        "complexity": [each.complexity for each in exercises],
        "number": [each.number for each in exercises],
        "payoff": [each.payoff for each in outcomes],
        "interactions": [each.interactions for each in outcomes],
        "total": [each.total for each in outcomes],
        "first_reward": [each.first_reward for each in outcomes],
        "last_time": [each.last_time for each in outcomes],
        "end_ns": [each.end_ns for each in outcomes],
        "ending": [each.ending.value for each in outcomes],
        "fault_kind": [None if each is None else str(each.kind) for each in faults],
        "fault_message": [None if each is None else _valid_text(each.message) for each in faults],
        "fault": [None if each is None else json.dumps(each.to_json()) for each in faults],
        "remarks": [json.dumps(each.remarks) if each.remarks else None for each in outcomes],
        "attempts": [each.attempts for each in outcomes],
        "kind": [kinds.setdefault(each.kind, len(kinds)) for each in exercises],
        "instance": [each.instance.text for each in exercises],
    }
    arrays = [pa.array(columns[each.name], each.type) for each in OUTCOME_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=OUTCOME_SCHEMA), list(kinds)


def attempts_in(table: pa.Table) -> dict[str, int]:
    """The exercises of a table of outcomes, by their keys, with how often each was begun."""
    return dict(zip(table["key"].to_pylist(), table["attempts"].to_pylist(), strict=True))


def encode_outcomes(
    table: pa.Table, kinds: Sequence[str], key: Key, merged: Iterable[str] = ()
) -> bytes:
    """The shard of a table of outcomes, signed; it may be ``merged`` of others."""
    groups = _groups(table)
    digests = [[_column_digest(group[name]) for name in table.column_names] for group in groups]
    footer = {"kinds": list(kinds), "rows": [*map(len, groups)], "digests": digests}
    if names := sorted(merged):
        footer["merged"] = names
    return _encode(groups, OUTCOME_SCHEMA, footer, key, _REPEATED)


def _column_digest(column: pa.ChunkedArray) -> str:
    """A digest of the values of a column, however they are held in memory."""
    array = column.combine_chunks()
    missing = np.packbits(array.is_null().to_numpy(zero_copy_only=False))
    if not pa.types.is_string(array.type):
        values = array.fill_null(0).to_numpy(zero_copy_only=False)
        return _digest(missing, np.ascontiguousarray(values))[:32]
    array = array.fill_null("")
    _, places, data = array.buffers()
    if places is None or data is None:
        return _digest(missing)[:32]
    ends = np.frombuffer(places, np.int32)[array.offset : array.offset + len(array) + 1]
    return _digest(missing, np.diff(ends), memoryview(data)[ends[0] : ends[-1]])[:32]


def _groups(table: pa.Table) -> list[pa.Table]:
    """The row groups of a table, bounded in rows and, where descriptions are long, in bytes."""
    size = table["instance"].nbytes // max(1, len(table))
    rows = max(1, min(GROUP, LARGEST_GROUP // max(1, size)))
    return [table.slice(first, rows) for first in range(0, len(table), rows)]


def read_outcome_columns(
    path: Path, key: Key | None, names: Sequence[str] = LIGHT, group: int | None = None
) -> tuple[pa.Table, Mapping[str, Any]]:
    """Some columns of a shard of outcomes, of one row group or of all, and its footer.

    The footer has the ``kinds`` of exercises, the number of ``rows`` of each group, and the names
    of the shards that were ``merged`` in it.

    Raises:
        StoreError: The shard cannot be read, or is not as it was written.
    """
    with open_shard(path, key) as shard:
        if shard.version < SCHEMA_VERSION:
            table, kinds = _of_older(shard)  # which have one row group
            return table.select(names), {
                "version": shard.version,
                "kinds": kinds,
                "rows": [len(table)],
            }
        digests = shard.footer["digests"]
        if not shard.file.schema_arrow.equals(OUTCOME_SCHEMA):
            raise ValueError("it has not the columns that were written")
        parts = []
        for number in range(len(digests)) if group is None else (group,):
            part = shard.file.read_row_group(number, list(names), use_threads=False).select(names)
            for name in names:
                place = OUTCOME_SCHEMA.get_field_index(name)
                if _column_digest(part[name]) != digests[number][place]:
                    raise ValueError("its rows do not match their digest")
            parts.append(part)
        schema = pa.schema([OUTCOME_SCHEMA.field(name) for name in names])
        table = pa.concat_tables(parts) if parts else schema.empty_table()
        if group is None and {"key", "attempts"} <= set(names):
            check_name(path, attempts_in(table))
        return table, shard.footer


def _of_older(shard: Shard) -> tuple[pa.Table, list[str]]:
    """The outcomes of a shard of format 1 or 2, as a table of this format."""
    rows: list[dict[str, Any]] = shard.file.read(use_threads=False).to_pylist()
    if _digest(json.dumps(rows).encode()) != shard.footer["notes"]["digest"]:
        raise ValueError("its rows do not match their digest")
    outcomes = []
    for row in rows:
        # Numbers come from their columns, since JSON has one NaN only.
        data = {each.name: row[each.name] for each in fields(Outcome) if each.name in row}
        data |= {name: json.loads(row[name]) for name in ("exercise", "fault", "remarks")}
        outcomes.append(Outcome.from_json(data))
    return outcome_table(outcomes)


def outcomes_of(table: pa.Table, kinds: Sequence[Exercise]) -> list[Outcome]:
    """The outcomes of some rows with all columns, as objects.

    Args:
        table: The rows.
        kinds: The kinds of exercises, from ``exercise_of_kind``.
    """
    columns = {name: table[name].to_pylist() for name in table.column_names}
    outcomes = []
    for row in range(len(table)):
        kind = kinds[columns["kind"][row]]
        instance = Instance(json.loads(columns["instance"][row]))
        exercise = replace(
            kind,
            instance=instance,
            number=columns["number"][row],
            complexity=columns["complexity"][row],
        )
        fault, remarks = columns["fault"][row], columns["remarks"][row]
        outcomes.append(
            Outcome(
                exercise=exercise,
                payoff=columns["payoff"][row],
                interactions=columns["interactions"][row],
                total=columns["total"][row],
                last_time=columns["last_time"][row],
                end_ns=columns["end_ns"][row],
                ending=Ending(columns["ending"][row]),
                first_reward=columns["first_reward"][row],
                fault=None if fault is None else Fault.from_json(json.loads(fault)),
                remarks={} if remarks is None else json.loads(remarks),
                attempts=columns["attempts"][row],
            )
        )
    return outcomes


def exercise_of_kind(kind: str) -> Exercise:
    """An exercise of a kind that a shard names; its instance is empty."""
    return Exercise.from_json({**json.loads(kind), "instance": {"data": {}}, "number": 0})


def _valid_text(text: str) -> str:
    """The text without what UTF-8 cannot encode; the exact text is in the JSON columns."""
    return text.encode("utf-8", "replace").decode("utf-8")


TRACE_SCHEMA = pa.schema(
    [
        ("key", pa.dictionary(pa.int32(), pa.string())),
        ("index", pa.int64()),
        ("reward", pa.float64()),
        ("time", pa.int64()),
        ("action", pa.int64()),
        ("observation", pa.large_list(pa.int64())),
        ("wall_ns", pa.int64()),
        ("cpu_ns", pa.int64()),
    ]
)
_DURATIONS = ("wall_ns", "cpu_ns")  # columns that older shards do not have


def encode_traces(traces: Mapping[str, Trace], attempts: Mapping[str, int], key: Key) -> bytes:
    """The shard of some traces, signed.

    Args:
        traces: The traces by the keys of their exercises.
        attempts: The exercises of the shard of outcomes that it belongs to, and their attempts.
        key: The key of the evaluation.

    Raises:
        ValueError: The arrays of a trace have lengths that do not fit together.
    """
    exact = {key: _with_stored_types(trace) for key, trace in traces.items()}
    heads = [_head(key, trace) for key, trace in exact.items()]
    groups = (_trace_rows(key, trace) for key, trace in exact.items())
    exercises = {"keys": list(attempts), "attempts": list(attempts.values())}
    footer = {**exercises, "notes": {"traces": heads}}
    return _encode(groups, TRACE_SCHEMA, footer, key, ["key"])


def read_traces(
    path: Path,
    key: Key | None,
    wanted: Callable[[Mapping[str, int]], Collection[str]],
    budget: Callable[[str], Budget],
) -> Iterator[tuple[str, Trace]]:
    """Traces of a shard with the keys of their exercises.

    Args:
        path: The shard.
        key: The key of its evaluation.
        wanted: Which ones, given the exercises of the shard and their attempts.
        budget: The budget of an exercise: what was planned is not in traces of an earlier version.
    """
    columns = ["reward", "time", "action", "observation", *_DURATIONS]
    with open_shard(path, key) as shard:
        chosen = wanted(shard.attempts)
        for group, head in enumerate(shard.footer["notes"]["traces"]):
            if head["key"] in chosen:
                older = _plan(budget(head["key"])) if "planned" not in head else {}
                rows = shard.file.read_row_group(group, columns, use_threads=False)
                yield head["key"], _trace({**older, **head}, rows)


def read_trace_keys(path: Path, key: Key | None) -> set[str]:
    """The exercises of a shard of traces, and of the outcomes that it was written with."""
    with open_shard(path, key) as shard:
        return set(shard.attempts)


def _plan(budget: Budget) -> dict[str, Any]:
    return {"planned": budget.interactions, "timed": budget.seconds is not None}


def _with_stored_types(trace: Trace) -> Trace:
    if trace.observations is not None and len(trace.observations) < len(trace):
        raise ValueError(f"{len(trace.observations)} observations for {len(trace)} actions")
    arrays: dict[str, Any] = {"rewards": np.asarray(trace.rewards, dtype=np.float64)}
    for name in ("times", "actions", "observations", *_DURATIONS):
        if (array := getattr(trace, name)) is not None:
            arrays[name] = np.asarray(array, dtype=np.int64)
    return replace(trace, **arrays)


def _head(key: str, trace: Trace) -> dict[str, Any]:
    seen = trace.observations
    return {
        "key": key,
        "end_ns": int(trace.end_ns),
        "ending": str(trace.ending),
        "first_reward": float(trace.first_reward),
        "planned": trace.planned,
        "timed": trace.timed,
        "lowest": trace.lowest,
        "measured": [name for name in _DURATIONS if getattr(trace, name) is not None],
        "fault": None if trace.fault is None else trace.fault.to_json(),
        "actions": trace.actions is not None,
        "observations": None if seen is None else list(seen.shape),
        "last_observation": None if seen is None else seen[len(trace) :].ravel().tolist(),
        "digest": _trace_digest(trace),
    }


def _trace_rows(key: str, trace: Trace) -> pa.Table:
    count = len(trace)
    observations = pa.nulls(count, TRACE_SCHEMA.field("observation").type)
    if trace.observations is not None and count:  # the one before each action
        numbers = trace.observations[:count].ravel()
        offsets = np.arange(count + 1) * (len(numbers) // count)
        observations = pa.LargeListArray.from_arrays(offsets, numbers)
    columns = {
        "key": pa.DictionaryArray.from_arrays(np.zeros(count, dtype=np.int32), [key]),
        "index": np.arange(count),
        "reward": trace.rewards,
        "time": trace.times,
        "action": pa.nulls(count) if trace.actions is None else trace.actions,
        "observation": observations,
        "wall_ns": pa.nulls(count) if trace.wall_ns is None else trace.wall_ns,
        "cpu_ns": pa.nulls(count) if trace.cpu_ns is None else trace.cpu_ns,
    }
    return pa.Table.from_pydict(columns, schema=TRACE_SCHEMA)


def _trace(head: Mapping[str, Any], rows: pa.Table) -> Trace:
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
    if _trace_digest(trace) != head["digest"]:
        raise ValueError(f"the rows of exercise {head['key']} do not match their digest")
    return trace


def _trace_digest(trace: Trace) -> str:
    arrays = [trace.rewards, trace.times, trace.actions, trace.observations]
    arrays += [trace.wall_ns, trace.cpu_ns]
    return _digest(*(array.tobytes() for array in arrays if array is not None))
