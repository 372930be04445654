"""Outcomes and traces of many evaluations as one table in a file: Parquet or CSV."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.contract import InvalidInputError, Outcomes, Spec, Trace
from omnimeter.contract.outcomes import ENDINGS, FAULTS
from omnimeter.protocols import Evaluation
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
    from omnimeter.results import Record

    for described, directory in evaluations:
        record = Record(directory)
        agents = Evaluation.from_json(record.spec).agents
        exercises: dict[str, dict[str, Any]] = {}
        for agent, done in record.outcomes().by_agent(agents).items():
            own = _exercises(agent, done)
            if traces:
                rows = zip(*own.values(), strict=True)
                exercises |= {row[-1]: dict(zip(own, row, strict=True)) for row in rows}
            elif len(done):
                yield _table({**own, **_outcomes(done)}, described, schema)
        for key, trace in record.traces() if traces else ():
            yield _table(_steps(trace), {**described, **exercises[key]}, schema)


def _table(
    columns: Mapping[str, Sequence[Any]], constant: Mapping[str, Any], schema: pa.Schema
) -> pa.Table:
    """A table in which some columns have the same value in every row."""
    import pyarrow as pa

    count = len(next(iter(columns.values())))
    every = {**{name: [value] * count for name, value in constant.items()}, **columns}
    return pa.Table.from_pydict({name: every[name] for name in schema.names}, schema)


def _exercises(agent: Spec, outcomes: Outcomes) -> dict[str, Sequence[Any]]:
    """The columns that say which exercise it is."""
    classes = {each.environment_class.label for each in outcomes.distinct_exercises()}
    labels = list(classes) * len(outcomes)
    if len(classes) > 1:
        labels = [each.exercise.environment_class.label for each in outcomes]
    return {
        "agent": [agent.label] * len(outcomes),
        "environment_class": labels,
        "exercise": outcomes.numbers.tolist(),
        "key": [f"{key:016x}" for key in outcomes.keys.tolist()],
    }


def _outcomes(outcomes: Outcomes) -> dict[str, Sequence[Any]]:
    """The columns that say what came of it."""
    privileged = np.full(len(outcomes), "", dtype=object)
    for view, rows in outcomes.remarks("privileged"):
        privileged[rows] = str(view)
    paid = zip(outcomes.payoffs.tolist(), outcomes.paid.tolist(), strict=True)
    return {
        "instance": [f"{key:016x}" for key in outcomes.instances.tolist()],
        "complexity": outcomes.complexities.tolist(),
        "payoff": [payoff if known else None for payoff, known in paid],
        "interactions": outcomes.interactions.tolist(),
        "total_reward": outcomes.totals.tolist(),
        "seconds": (outcomes.last_times / 1e9).tolist(),
        "ending": [ENDINGS[code] for code in outcomes.endings.tolist()],
        "fault": [FAULTS[code] or None for code in outcomes.faults.tolist()],
        "own_fault": outcomes.own_faults.tolist(),
        "privileged": privileged.tolist(),
        "attempts": outcomes.attempts.tolist(),
    }


def _steps(trace: Trace) -> dict[str, Sequence[Any]]:
    """The interactions of a trace, each with the observation before it; the last is left out."""
    count = len(trace)
    seen = [None] * count if trace.observations is None else trace.observations[:count].tolist()
    return {
        "interaction": range(1, count + 1),
        "action": [None] * count if trace.actions is None else trace.actions[:count].tolist(),
        "reward": trace.rewards.tolist(),
        "seconds": (trace.times / 1e9).tolist(),
        "observation": [None if each is None else json.dumps(each) for each in seen],
    }
