"""Outcomes and traces as Parquet tables; a damaged file is a ``StoreError`` that names it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from omnimeter.contract import Budget, Ending, Fault, InvalidInputError, Outcome, Trace
from omnimeter.contract.errors import StoreError
from omnimeter.contract.spec import canonical_json
from omnimeter.results.files import Key, newer_format_error, read_error, shard_name

SCHEMA_VERSION = 2  # 1 had neither signatures nor attempts
_FOOTER = b"omnimeter"
_DIGEST = b"omnimeter.digest"
_SIGNATURE = b"omnimeter.signature"
_DECODING_ERRORS = (pa.ArrowException, ValueError, LookupError, TypeError, AttributeError)


class Shard(NamedTuple):
    """A shard that is open for reading: its exercises, what else its footer says, and the file.

    The exercises are keys, with how often each was begun.
    """

    attempts: Mapping[str, int]
    notes: Mapping[str, Any]
    file: pq.ParquetFile


def _encode(
    groups: Iterable[pa.Table],
    schema: pa.Schema,
    attempts: Mapping[str, int],
    notes: Mapping[str, Any],
    key: Key,
) -> bytes:
    """The bytes of a shard; each table becomes a row group, which can be read by itself.

    The footer, which has the digests of all rows, is signed.
    """
    exercises = {"keys": list(attempts), "attempts": list(attempts.values())}
    footer = json.dumps({"version": SCHEMA_VERSION, **exercises, "notes": notes}).encode()
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(
        sink,
        schema,
        compression="zstd",
        write_page_checksum=True,
        write_statistics=False,  # small row groups would consist of them
    ) as writer:
        for group in groups:
            writer.write_table(group, row_group_size=max(1, len(group)))
        marks = {_DIGEST: _digest(footer), _SIGNATURE: key.sign(footer)}
        writer.add_key_value_metadata({_FOOTER: footer, **marks})
    return bytes(sink.getvalue())


def _digest(*pieces: bytes) -> str:
    return hashlib.sha256(b"".join(pieces)).hexdigest()


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
    try:
        with path.open("rb") as file, pq.ParquetFile(file, page_checksum_verification=True) as data:
            metadata = data.metadata.metadata or {}
            footer = metadata[_FOOTER]
            if metadata[_DIGEST].decode() != _digest(footer):
                raise ValueError("its footer does not match its checksum")
            content = json.loads(footer)
            if content["version"] > SCHEMA_VERSION:
                raise newer_format_error(path, content["version"])
            _check_signature(path, key, footer, metadata.get(_SIGNATURE))
            keys = content["keys"]
            attempts = dict(zip(keys, content.get("attempts", [1] * len(keys)), strict=True))
            if shard_name(attempts) != path.stem:
                raise ValueError("its name does not match its content")
            yield Shard(attempts, content["notes"], data)
    except StoreError:
        raise
    except (OSError, *_DECODING_ERRORS, InvalidInputError) as error:
        # The system's errors have a number; those of a decoder do not.
        if isinstance(error, OSError) and error.errno is not None:
            raise read_error(error, path) from error
        raise StoreError(f"{path} is damaged ({error}).", _removal(path)) from error


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


def read_attempts(path: Path, key: Key | None) -> Mapping[str, int]:
    """The exercises that a shard belongs to and their attempts, from its footer alone."""
    with open_shard(path, key) as shard:
        return shard.attempts


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
        ("exercise", pa.string()),
        ("attempts", pa.int64()),  # which older shards do not have
    ]
)
_FIELDS = [field.name for field in fields(Outcome)]

SortKey = tuple[str, str, int, str]  # label and key of the agent, number and key of the exercise


def outcome_table(outcomes: Iterable[Outcome]) -> pa.Table:
    """Outcomes as a table, one row each."""
    return pa.Table.from_pylist([_row(outcome) for outcome in outcomes], schema=OUTCOME_SCHEMA)


def encode_outcomes(table: pa.Table, key: Key) -> bytes:
    """The shard of a table of outcomes, signed."""
    rows = table.to_pylist()
    notes = {"digest": _digest(json.dumps(rows).encode())}
    attempts = {row["key"]: row["attempts"] for row in rows}
    return _encode([table], OUTCOME_SCHEMA, attempts, notes, key)


def read_rows(path: Path, key: Key | None) -> list[dict[str, Any]]:
    """The rows of a shard of outcomes."""
    with open_shard(path, key) as shard:
        return [{"attempts": 1, **row} for row in _rows(shard)]


def read_outcomes(path: Path, key: Key | None) -> Iterator[tuple[SortKey, Outcome]]:
    """The outcomes of a shard, each with its sort key."""
    with open_shard(path, key) as shard:
        for row in _rows(shard):
            # Numbers come from their columns, since JSON has one NaN only.
            data = {name: row[name] for name in _FIELDS if name in row}
            data |= {name: json.loads(row[name]) for name in ("exercise", "fault", "remarks")}
            order = (row["agent"], row["agent_key"], row["number"], row["key"])
            yield order, Outcome.from_json(data)


def _rows(shard: Shard) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = shard.file.read(use_threads=False).to_pylist()
    if _digest(json.dumps(rows).encode()) != shard.notes["digest"]:
        raise ValueError("its rows do not match their digest")
    return rows


def _row(outcome: Outcome) -> dict[str, Any]:
    exercise, fault = outcome.exercise, outcome.fault
    return {
        **{name: getattr(outcome, name) for name in _FIELDS},
        "key": exercise.key,
        "agent": _valid_text(exercise.agent.label),
        "agent_id": _valid_text(exercise.agent.id),
        "agent_key": exercise.agent.key,
        "class_id": _valid_text(exercise.environment_class.id),
        "instance_key": exercise.instance.key,
        "complexity": exercise.complexity,
        "number": exercise.number,
        "fault_kind": None if fault is None else str(fault.kind),
        "fault_message": None if fault is None else _valid_text(fault.message),
        "fault": json.dumps(None if fault is None else fault.to_json()),
        "remarks": json.dumps(outcome.remarks),
        "exercise": canonical_json(exercise.to_json()),
    }


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
    return _encode(groups, TRACE_SCHEMA, attempts, {"traces": heads}, key)


def read_traces(
    path: Path, outcomes: Path, key: Key | None, only: str | None = None
) -> Iterator[tuple[str, Trace]]:
    """The traces of a shard, or ``only`` that of one exercise, with the keys of their exercises.

    Traces of an earlier version do not say what was planned. The exercises in the shard of their
    ``outcomes`` do.
    """
    columns = ["reward", "time", "action", "observation", *_DURATIONS]
    with open_shard(path, key) as shard:
        heads = shard.notes["traces"]
        if any("planned" not in head for head in heads):
            exercises = (outcome.exercise for _, outcome in read_outcomes(outcomes, key))
            budgets = {each.key: each.budget for each in exercises}
            heads = [{**_plan(budgets[head["key"]]), **head} for head in heads]
        for group, head in enumerate(heads):
            if only is None or head["key"] == only:
                rows = shard.file.read_row_group(group, columns, use_threads=False)
                yield head["key"], _trace(head, rows)


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
