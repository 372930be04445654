"""Outcomes as rows: plain columns for people who open a shard, exact JSON for what is nested."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from omnimeter.contract import Ending, Exercise, Outcome, canonical
from omnimeter.results import faults, shards

SCHEMA = pa.schema(
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
    return pa.Table.from_pylist([_row(outcome) for outcome in outcomes], schema=SCHEMA)


def encode(outcomes: pa.Table) -> bytes:
    """The shard of a table."""
    notes = {"digest": _digest(outcomes.to_pylist())}
    return shards.encode([outcomes], SCHEMA, outcomes["key"].to_pylist(), notes)


def read(path: Path) -> list[tuple[Place, Outcome]]:
    """The outcomes of a shard, each with its place among all outcomes.

    Raises:
        StoreError: The shard cannot be read or is damaged.
    """
    with shards.opened(path) as shard:
        return [(_place(row), _outcome(row)) for row in _rows(shard)]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a shard as they are.

    Raises:
        StoreError: The shard cannot be read or is damaged.
    """
    with shards.opened(path) as shard:
        return _rows(shard)


def _rows(shard: shards.Shard) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = shard.file.read(use_threads=False).to_pylist()
    if _digest(rows) != shard.notes["digest"]:
        raise ValueError("its rows do not match their digest")
    return rows


def _digest(rows: Sequence[Mapping[str, Any]]) -> str:
    return shards.digest(json.dumps(rows).encode())


def _place(row: Mapping[str, Any]) -> Place:
    return row["agent"], row["agent_key"], row["number"], row["key"]


def _outcome(row: Mapping[str, Any]) -> Outcome:
    return Outcome(
        exercise=Exercise.from_json(json.loads(row["exercise"])),
        payoff=row["payoff"],
        interactions=row["interactions"],
        total=row["total"],
        last_time=row["last_time"],
        end=row["end"],
        ending=Ending(row["ending"]),
        first_reward=row["first_reward"],
        fault=faults.from_json(json.loads(row["fault"])),
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
        "end": outcome.end,
        "ending": str(outcome.ending),
        "fault_kind": None if fault is None else str(fault.kind),
        "fault_message": None if fault is None else _printable(fault.message),
        "fault": json.dumps(faults.to_json(fault)),
        "remarks": json.dumps(outcome.remarks),
        "exercise": canonical(exercise.to_json()),
    }


def _printable(text: str) -> str:
    """The text without what UTF-8 cannot carry; the exact text is in the JSON columns."""
    return text.encode("utf-8", "replace").decode("utf-8")
