"""Outcomes and traces as Parquet tables."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from omnimeter.contract import Ending, Exercise, Fault, FaultKind, Outcome, Trace
from omnimeter.contract.agent import IntArray
from omnimeter.contract.errors import StoreError
from omnimeter.contract.spec import canonical_json
from omnimeter.results.errors import damaged, too_new, unreadable
from omnimeter.results.files import shard_name


def to_json(fault: Fault | None) -> dict[str, str] | None:
    """The fault as plain data."""
    if fault is None:
        return None
    return {"kind": str(fault.kind), "message": fault.message, "detail": fault.detail}


def from_json(data: Mapping[str, str] | None) -> Fault | None:
    """The fault that ``to_json`` wrote."""
    if data is None:
        return None
    return Fault(FaultKind(data["kind"]), data["message"], data["detail"])


SCHEMA_VERSION = 1

_FOOTER = b"omnimeter"
_DIGEST = b"omnimeter.digest"
_OPTIONS: dict[str, Any] = {
    "compression": "zstd",
    "write_page_checksum": True,
    "write_statistics": False,  # small row groups would consist of them
}


@dataclass(frozen=True, slots=True)
class Shard:
    """A shard that is open for reading.

    Attributes:
        keys: The exercises it belongs to.
        notes: What else its footer says.
        file: The Parquet file; its pages are checked as they are read.
    """

    keys: tuple[str, ...]
    notes: Mapping[str, Any]
    file: pq.ParquetFile


def encode(
    groups: Iterable[pa.Table],
    schema: pa.Schema,
    keys: Sequence[str],
    notes: Mapping[str, Any] | None = None,
) -> bytes:
    """The bytes of a shard.

    Args:
        groups: The rows; each table becomes one row group, which can be read by itself.
        schema: The columns.
        keys: The exercises it belongs to.
        notes: Further JSON-able facts for the footer.
    """
    content = {"version": SCHEMA_VERSION, "keys": list(keys), "notes": notes or {}}
    footer = json.dumps(content).encode()
    sink = pa.BufferOutputStream()
    with pq.ParquetWriter(sink, schema, **_OPTIONS) as writer:
        for group in groups:
            writer.write_table(group, row_group_size=max(1, len(group)))
        writer.add_key_value_metadata({_FOOTER: footer, _DIGEST: digest(footer)})
    return bytes(sink.getvalue())


def digest(*pieces: bytes) -> str:
    """What tells whether bytes are still the same."""
    found = hashlib.sha256()
    for piece in pieces:
        found.update(piece)
    return found.hexdigest()


@contextmanager
def opened(path: Path) -> Iterator[Shard]:
    """Open a shard; whatever goes wrong while it is read and decoded inside is damage.

    Raises:
        StoreError: The file cannot be read or is not as it was written; the message names it.
    """
    try:
        with (
            path.open("rb") as file,
            pq.ParquetFile(file, page_checksum_verification=True) as shard,
        ):
            yield _checked(path, shard)
    except StoreError:
        raise
    except OSError as error:
        # The system's errors carry a number; those of a decoder do not.
        raise (damaged(path, error) if error.errno is None else unreadable(error, path)) from error
    except (pa.ArrowException, ValueError, LookupError, TypeError, AttributeError) as error:
        raise damaged(path, error) from error


def read_keys(path: Path) -> tuple[str, ...]:
    """The exercises that a shard belongs to, from its footer alone.

    Raises:
        StoreError: The file cannot be read or is damaged.
    """
    with opened(path) as shard:
        return shard.keys


def _checked(path: Path, file: pq.ParquetFile) -> Shard:
    metadata = file.metadata.metadata or {}
    footer = metadata[_FOOTER]
    if metadata[_DIGEST].decode() != digest(footer):
        raise ValueError("its footer does not match its checksum")
    content = json.loads(footer)
    if content["version"] > SCHEMA_VERSION:
        raise too_new(path, content["version"])
    if shard_name(content["keys"]) != path.stem:
        raise ValueError("its name does not match what it holds")
    return Shard(tuple(content["keys"]), content["notes"], file)


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
        ("end", pa.int64()),
        ("ending", pa.string()),
        ("fault_kind", pa.string()),
        ("fault_message", pa.string()),
        ("fault", pa.string()),
        ("remarks", pa.string()),
        ("exercise", pa.string()),
    ]
)

Place = tuple[str, str, int, str]
"""How outcomes are ordered: label and key of the agent, number and key of the exercise."""


def table(outcomes: Sequence[Outcome]) -> pa.Table:
    """Outcomes as a table, one row each."""
    return pa.Table.from_pylist([_row(outcome) for outcome in outcomes], schema=OUTCOME_SCHEMA)


def encode_outcomes(outcomes: pa.Table) -> bytes:
    """The shard of a table."""
    notes = {"digest": _outcome_digest(outcomes.to_pylist())}
    return encode([outcomes], OUTCOME_SCHEMA, outcomes["key"].to_pylist(), notes)


def read(path: Path) -> list[tuple[Place, Outcome]]:
    """The outcomes of a shard, each with its place among all outcomes.

    Raises:
        StoreError: The shard cannot be read or is damaged.
    """
    with opened(path) as shard:
        return [(_place(row), _outcome(row)) for row in _outcome_rows(shard)]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a shard as they are.

    Raises:
        StoreError: The shard cannot be read or is damaged.
    """
    with opened(path) as shard:
        return _outcome_rows(shard)


def _outcome_rows(shard: Shard) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = shard.file.read(use_threads=False).to_pylist()
    if _outcome_digest(rows) != shard.notes["digest"]:
        raise ValueError("its rows do not match their digest")
    return rows


def _outcome_digest(rows: Sequence[Mapping[str, Any]]) -> str:
    return digest(json.dumps(rows).encode())


def _place(row: Mapping[str, Any]) -> Place:
    return row["agent"], row["agent_key"], row["number"], row["key"]


def _outcome(row: Mapping[str, Any]) -> Outcome:
    return Outcome(
        exercise=Exercise.from_json(json.loads(row["exercise"])),
        payoff=row["payoff"],
        interactions=row["interactions"],
        total=row["total"],
        last_time=row["last_time"],
        end_ns=row["end"],
        ending=Ending(row["ending"]),
        first_reward=row["first_reward"],
        fault=from_json(json.loads(row["fault"])),
        remarks=json.loads(row["remarks"]),
    )


def _row(outcome: Outcome) -> dict[str, Any]:
    exercise, fault = outcome.exercise, outcome.fault
    return {
        "key": exercise.key,
        "agent": _printable(exercise.agent.label),
        "agent_id": _printable(exercise.agent.id),
        "agent_key": exercise.agent.key,
        "class_id": _printable(exercise.environment_class.id),
        "instance_key": exercise.instance.key,
        "complexity": exercise.complexity,
        "number": exercise.number,
        "payoff": outcome.payoff,
        "interactions": outcome.interactions,
        "total": outcome.total,
        "first_reward": outcome.first_reward,
        "last_time": outcome.last_time,
        "end": outcome.end_ns,
        "ending": str(outcome.ending),
        "fault_kind": None if fault is None else str(fault.kind),
        "fault_message": None if fault is None else _printable(fault.message),
        "fault": json.dumps(to_json(fault)),
        "remarks": json.dumps(outcome.remarks),
        "exercise": canonical_json(exercise.to_json()),
    }


def _printable(text: str) -> str:
    """The text without what UTF-8 cannot carry; the exact text is in the JSON columns."""
    return text.encode("utf-8", "replace").decode("utf-8")


TRACE_SCHEMA = pa.schema(
    [
        ("key", pa.dictionary(pa.int32(), pa.string())),
        ("index", pa.int64()),
        ("reward", pa.float64()),
        ("time", pa.int64()),
        ("action", pa.int64()),
        ("observation", pa.large_list(pa.int64())),
    ]
)
_READ = ["reward", "time", "action", "observation"]


def encode_traces(traces: Mapping[str, Trace], keys: Sequence[str]) -> bytes:
    """The shard of some traces.

    Args:
        traces: The traces by the keys of their exercises.
        keys: The exercises of the shard of outcomes that it belongs to.

    Raises:
        ValueError: The arrays of a trace do not belong together.
    """
    exact = {key: _exact(trace) for key, trace in traces.items()}
    heads = [_head(key, trace) for key, trace in exact.items()]
    groups = (_trace_rows(key, trace) for key, trace in exact.items())
    return encode(groups, TRACE_SCHEMA, keys, {"traces": heads})


def read_all(path: Path) -> Iterator[tuple[str, Trace]]:
    """The traces of a shard one after the other, with the keys of their exercises.

    Raises:
        StoreError: The shard cannot be read or is damaged.
    """
    with opened(path) as shard:
        for group, head in enumerate(shard.notes["traces"]):
            yield (
                head["key"],
                _trace(head, shard.file.read_row_group(group, _READ, use_threads=False)),
            )


def read_one(path: Path, key: str) -> Trace | None:
    """The trace of one exercise, if the shard has it.

    Raises:
        StoreError: The shard cannot be read or is damaged.
    """
    with opened(path) as shard:
        for group, head in enumerate(shard.notes["traces"]):
            if head["key"] == key:
                return _trace(head, shard.file.read_row_group(group, _READ, use_threads=False))
    return None


def _exact(trace: Trace) -> Trace:
    """The same trace with its numbers in the types in which they are stored."""
    actions, observations = trace.actions, trace.observations
    if observations is not None and len(observations) < len(trace):
        raise ValueError(f"{len(observations)} observations for {len(trace)} actions")
    return replace(
        trace,
        rewards=np.asarray(trace.rewards, dtype=np.float64),
        times=np.asarray(trace.times, dtype=np.int64),
        actions=None if actions is None else np.asarray(actions, dtype=np.int64),
        observations=None if observations is None else np.asarray(observations, dtype=np.int64),
    )


def _head(key: str, trace: Trace) -> dict[str, Any]:
    """What belongs to the trace as a whole, and what was seen after its last action."""
    seen = trace.observations
    return {
        "key": key,
        "end": int(trace.end_ns),
        "ending": str(trace.ending),
        "first_reward": float(trace.first_reward),
        "fault": to_json(trace.fault),
        "actions": trace.actions is not None,
        "observations": None if seen is None else list(seen.shape),
        "last_observation": None if seen is None else seen[len(trace) :].ravel().tolist(),
        "digest": _trace_digest(trace),
    }


def _trace_rows(key: str, trace: Trace) -> pa.Table:
    count = len(trace)
    columns = {
        "key": pa.DictionaryArray.from_arrays(np.zeros(count, dtype=np.int32), [key]),
        "index": np.arange(count),
        "reward": trace.rewards,
        "time": trace.times,
        "action": pa.nulls(count) if trace.actions is None else trace.actions,
        "observation": _lists(trace.observations, count),
    }
    return pa.Table.from_pydict(columns, schema=TRACE_SCHEMA)


def _lists(observations: IntArray | None, count: int) -> pa.Array:
    """What was seen before each action, one list per row."""
    kind = TRACE_SCHEMA.field("observation").type
    if observations is None or count == 0:
        return pa.nulls(count, kind)
    numbers = observations[:count].ravel()
    offsets = np.arange(count + 1) * (len(numbers) // count)
    return pa.LargeListArray.from_arrays(offsets, numbers)


def _trace(head: Mapping[str, Any], rows: pa.Table) -> Trace:
    """The trace that its head and its rows were made from."""
    trace = Trace(
        rewards=_numbers(rows["reward"]),
        times=_numbers(rows["time"]),
        end_ns=head["end"],
        ending=Ending(head["ending"]),
        first_reward=head["first_reward"],
        fault=from_json(head["fault"]),
        actions=_numbers(rows["action"]) if head["actions"] else None,
        observations=_seen(head, rows["observation"]),
    )
    if _trace_digest(trace) != head["digest"]:
        raise ValueError(f"the rows of exercise {head['key']} do not match their digest")
    return trace


def _trace_digest(trace: Trace) -> str:
    arrays = (trace.rewards, trace.times, trace.actions, trace.observations)
    return digest(*(array.tobytes() for array in arrays if array is not None))


def _seen(head: Mapping[str, Any], lists: pa.ChunkedArray) -> IntArray | None:
    if head["observations"] is None:
        return None
    last = np.asarray(head["last_observation"], dtype=np.int64)
    numbers = np.concatenate([lists.combine_chunks().flatten().to_numpy(), last])
    return numbers.reshape(head["observations"])


def _numbers(column: pa.ChunkedArray) -> Any:
    """A column as an array of its own, which may be written to."""
    return np.array(column.to_numpy())
