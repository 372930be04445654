"""Outcomes and traces of many evaluations as one table in a file: Parquet or CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from omnimeter.contract import InvalidInputError, Outcome, Trace
from omnimeter.contract.exercise import is_own_fault
from omnimeter.results.files import UNFINISHED, write_errors

if TYPE_CHECKING:
    import pyarrow as pa

FORMATS = ("parquet", "csv")

_EVALUATION = {
    "evaluation": "string",
    "test": "string",
    "environment_class": "string",
    "point": "string",
    "seed": "int64",
    "repetition": "int64",
    "agent": "string",
    "exercise": "int64",
    "key": "string",
}
_OUTCOME = {
    "instance": "string",
    "complexity": "float64",
    "payoff": "float64",
    "interactions": "int64",
    "total_reward": "float64",
    "seconds": "float64",
    "ending": "string",
    "fault": "string",
    "own_fault": "bool_",
    "privileged": "string",
    "attempts": "int64",
}
_INTERACTION = {
    "interaction": "int64",
    "action": "int64",
    "reward": "float64",
    "seconds": "float64",
    "observation": "string",
}

_Evaluations = Iterable[tuple[Mapping[str, Any], Path]]


def write_tables(evaluations: _Evaluations, path: Path, file_format: str, *, traces: bool) -> int:
    """Write the outcomes or the traces of evaluations, one evaluation after the other.

    Args:
        evaluations: The columns that say which one it is, and the directory of each.
        path: The file, which is there only when all of it was written.
        file_format: ``parquet`` or ``csv``.
        traces: Whether interactions are written instead of outcomes.

    Returns:
        How many rows there are.

    Raises:
        InvalidInputError: There is no such format.
        StoreError: An evaluation cannot be read, or the file cannot be written.
    """
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    if file_format not in FORMATS:
        message = f"There is no format {file_format!r}."
        raise InvalidInputError(message, f"Known: {', '.join(FORMATS)}.")
    columns = {**_EVALUATION, **(_INTERACTION if traces else _OUTCOME)}
    schema = pa.schema([(name, getattr(pa, kind)()) for name, kind in columns.items()])
    unfinished, count = path.with_name(path.name + UNFINISHED), 0
    writing = pa.parquet.ParquetWriter if file_format == "parquet" else pa.csv.CSVWriter
    with write_errors(path):
        try:
            with writing(unfinished, schema) as writer:
                for table in _tables(evaluations, schema, traces=traces):
                    writer.write_table(table)
                    count += len(table)
            unfinished.replace(path)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise
    return count


def _tables(evaluations: _Evaluations, schema: pa.Schema, *, traces: bool) -> Iterator[pa.Table]:
    import pyarrow as pa

    from omnimeter.results import Record

    for described, directory in evaluations:
        record = Record(directory)
        outcomes = record.outcomes()
        if not traces:
            rows = [{**described, **_exercise(each), **_outcome(each)} for each in outcomes]
            yield pa.Table.from_pylist(rows, schema)
            continue
        by_key = {each.exercise.key: each for each in outcomes}
        for key, trace in record.traces():
            exercise = {**described, **_exercise(by_key[key])}
            yield pa.Table.from_pylist([{**exercise, **row} for row in _steps(trace)], schema)


def _exercise(outcome: Outcome) -> dict[str, Any]:
    exercise = outcome.exercise
    own = {"environment_class": exercise.environment_class.label, "agent": exercise.agent.label}
    return {**own, "exercise": exercise.number, "key": exercise.key}


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "instance": outcome.exercise.instance.key,
        "complexity": outcome.exercise.complexity,
        "payoff": outcome.payoff,
        "interactions": outcome.interactions,
        "total_reward": outcome.total,
        "seconds": outcome.last_time / 1e9,
        "ending": str(outcome.ending),
        "fault": None if outcome.fault is None else str(outcome.fault.kind),
        "own_fault": is_own_fault(outcome),
        "privileged": str(outcome.remarks.get("privileged", "")),
        "attempts": outcome.attempts,
    }


def _steps(trace: Trace) -> Iterator[dict[str, Any]]:
    """The interactions of a trace, each with the observation before it; the last is left out."""
    for place, reward in enumerate(trace.rewards.tolist()):
        seen = None if trace.observations is None else trace.observations[place].tolist()
        yield {
            "interaction": place + 1,
            "action": None if trace.actions is None else int(trace.actions[place]),
            "reward": reward,
            "seconds": float(trace.times[place]) / 1e9,
            "observation": None if seen is None else json.dumps(seen),
        }
