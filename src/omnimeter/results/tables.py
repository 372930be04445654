"""Outcomes as Parquet tables, one row each."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from omnimeter.contract import Ending, Exercise, Fault, Instance, Outcome
from omnimeter.results import sealing
from omnimeter.results.files import Key, shard_name

GROUP = 4096
"""Rows that are read together when the objects of some of them are asked for."""

LARGEST_GROUP = 64 << 20
"""Bytes of the descriptions of environments in such rows."""

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
        "agent": [valid_text(each.label) for each in agents],
        "agent_id": [valid_text(each.id) for each in agents],
        "agent_key": [each.key for each in agents],
        "class_id": [valid_text(each.environment_class.id) for each in exercises],
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
        "fault_message": [None if each is None else valid_text(each.message) for each in faults],
        "fault": [None if each is None else json.dumps(each.to_json()) for each in faults],
        "remarks": [json.dumps(each.remarks) if each.remarks else None for each in outcomes],
        "attempts": [each.attempts for each in outcomes],
        "kind": [kinds.setdefault(each.kind, len(kinds)) for each in exercises],
        "instance": [each.instance.text for each in exercises],
    }
    arrays = [pa.array(columns[each.name], each.type) for each in OUTCOME_SCHEMA]
    return pa.Table.from_arrays(arrays, schema=OUTCOME_SCHEMA), list(kinds)


def numbers_of(array: pa.Array) -> NDArray[Any]:
    """The numbers in an array; anything where one is missing.

    Arrow's own ``to_numpy`` loads pandas where it is installed: 70 MB and a third of a second.
    """
    _, values = array.buffers()
    if values is None:
        return np.empty(0, dtype=array.type.to_pandas_dtype())
    numbers = np.frombuffer(values, dtype=array.type.to_pandas_dtype())
    return numbers[array.offset : array.offset + len(array)]


def valid_of(array: pa.Array) -> NDArray[np.bool_]:
    """Which values of an array are not missing."""
    bits = array.buffers()[0]
    if bits is None:
        return np.ones(len(array), dtype=np.bool_)
    unpacked = np.unpackbits(np.frombuffer(bits, np.uint8), bitorder="little")
    return unpacked[array.offset : array.offset + len(array)].astype(np.bool_)


def key_codes(texts: pa.ChunkedArray) -> NDArray[np.uint64]:
    """Keys, sixteen hexadecimal digits each, as numbers."""
    digits = bytearray()
    for chunk in texts.chunks:
        _, ends, data = chunk.buffers()
        if len(chunk):
            places = np.frombuffer(ends, np.int32)[chunk.offset : chunk.offset + len(chunk) + 1]
            if chunk.null_count or (np.diff(places) != 16).any():
                raise ValueError("a key in it is none")
            digits += memoryview(data)[places[0] : places[-1]]
    numbers = bytes.fromhex(digits.decode("ascii"))
    if len(numbers) != 8 * len(texts):  # white space is no digit
        raise ValueError("a key in it is none")
    return np.frombuffer(numbers, ">u8").astype(np.uint64)


def attempts_in(table: pa.Table) -> dict[str, int]:
    """The exercises of a table of outcomes, by their keys, with how often each was begun."""
    return dict(zip(table["key"].to_pylist(), table["attempts"].to_pylist(), strict=True))


def encode_outcomes(
    table: pa.Table, kinds: Sequence[str], key: Key, merged: Iterable[str] = ()
) -> tuple[str, bytes]:
    """The shard of a table of outcomes, signed, and its name; it may be ``merged`` of others."""
    name = shard_name(attempts_in(table))
    groups = _groups(table)
    footer: dict[str, Any] = {"kinds": list(kinds), "rows": [*map(len, groups)]}
    if names := sorted({*merged} - {name}):
        footer["merged"] = names
    return name, sealing.encode(name, groups, OUTCOME_SCHEMA, footer, key, _REPEATED)


def _groups(table: pa.Table) -> list[pa.Table]:
    """The row groups of a table, bounded in rows and, where descriptions are long, in bytes."""
    size = table["instance"].nbytes // max(1, len(table))
    rows = max(1, min(GROUP, LARGEST_GROUP // max(1, size)))
    return [table.slice(first, rows) for first in range(0, len(table), rows)]


def read_outcome_columns(
    path: Path,
    key: Key | None,
    names: Sequence[str] = LIGHT,
    groups: Sequence[int] | None = None,
    whole: bool = False,
) -> tuple[pa.Table, Mapping[str, Any]]:
    """Some columns of a shard of outcomes, of some row groups or of all, and its footer.

    The footer has the ``version``, the ``kinds`` of exercises, the number of ``rows`` of each
    group, and the names of the shards that were ``merged`` in it.

    Args:
        path: The shard.
        key: The key of its evaluation.
        names: The columns.
        groups: The row groups; all by default.
        whole: Whether the other columns are checked too.

    Raises:
        StoreError: The shard cannot be read, or is not as it was written.
    """
    with sealing.open_shard(path, key) as shard:
        if shard.version < sealing.SCHEMA_VERSION:
            table, kinds = _of_older(shard)  # which have one row group
            footer = {"version": shard.version, "kinds": kinds, "rows": [len(table)]}
            return table.select(names), footer
        if whole:
            shard.verify()
        return shard.read(names, groups), shard.footer


def _of_older(shard: sealing.Shard) -> tuple[pa.Table, list[str]]:
    """The outcomes of a shard of format 1 or 2, as a table of this format."""
    rows: list[dict[str, Any]] = shard.file.read(use_threads=False).to_pylist()
    if sealing.digest(json.dumps(rows).encode()) != shard.footer["notes"]["digest"]:
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


def valid_text(text: str) -> str:
    """The text without what UTF-8 cannot encode; the exact text is in the JSON columns."""
    return text.encode("utf-8", "replace").decode("utf-8")
