"""Traces as rows, one per interaction; each trace is a row group that can be read by itself.

What belongs to a trace as a whole stands in the footer of its shard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from omnimeter.contract import Ending, IntArray, Trace
from omnimeter.results import faults, shards

SCHEMA = pa.schema(
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


def encode(traces: Mapping[str, Trace], keys: Sequence[str]) -> bytes:
    """The shard of some traces.

    Args:
        traces: The traces by the keys of their exercises.
        keys: The exercises of the shard of outcomes that it belongs to.

    Raises:
        ValueError: The arrays of a trace do not belong together.
    """
    exact = {key: _exact(trace) for key, trace in traces.items()}
    heads = [_head(key, trace) for key, trace in exact.items()]
    groups = (_rows(key, trace) for key, trace in exact.items())
    return shards.encode(groups, SCHEMA, keys, {"traces": heads})


def read_all(path: Path) -> Iterator[tuple[str, Trace]]:
    """The traces of a shard one after the other, with the keys of their exercises.

    Raises:
        StoreError: The shard cannot be read or is damaged.
    """
    with shards.opened(path) as shard:
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
    with shards.opened(path) as shard:
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
        "end": int(trace.end),
        "ending": str(trace.ending),
        "first_reward": float(trace.first_reward),
        "fault": faults.to_json(trace.fault),
        "actions": trace.actions is not None,
        "observations": None if seen is None else list(seen.shape),
        "last_observation": None if seen is None else seen[len(trace) :].ravel().tolist(),
        "digest": _digest(trace),
    }


def _rows(key: str, trace: Trace) -> pa.Table:
    count = len(trace)
    columns = {
        "key": pa.DictionaryArray.from_arrays(np.zeros(count, dtype=np.int32), [key]),
        "index": np.arange(count),
        "reward": trace.rewards,
        "time": trace.times,
        "action": pa.nulls(count) if trace.actions is None else trace.actions,
        "observation": _lists(trace.observations, count),
    }
    return pa.Table.from_pydict(columns, schema=SCHEMA)


def _lists(observations: IntArray | None, count: int) -> pa.Array:
    """What was seen before each action, one list per row."""
    kind = SCHEMA.field("observation").type
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
        end=head["end"],
        ending=Ending(head["ending"]),
        first_reward=head["first_reward"],
        fault=faults.from_json(head["fault"]),
        actions=_numbers(rows["action"]) if head["actions"] else None,
        observations=_seen(head, rows["observation"]),
    )
    if _digest(trace) != head["digest"]:
        raise ValueError(f"the rows of exercise {head['key']} do not match their digest")
    return trace


def _digest(trace: Trace) -> str:
    arrays = (trace.rewards, trace.times, trace.actions, trace.observations)
    return shards.digest(*(array.tobytes() for array in arrays if array is not None))


def _seen(head: Mapping[str, Any], lists: pa.ChunkedArray) -> IntArray | None:
    if head["observations"] is None:
        return None
    last = np.asarray(head["last_observation"], dtype=np.int64)
    numbers = np.concatenate([lists.combine_chunks().flatten().to_numpy(), last])
    return numbers.reshape(head["observations"])


def _numbers(column: pa.ChunkedArray) -> Any:
    """A column as an array of its own, which may be written to."""
    return np.array(column.to_numpy())
