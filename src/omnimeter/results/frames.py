"""Stored results as tables for other programs: data frames, Arrow batches, Parquet and CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

from omnimeter.contract import InvalidInputError, Trace
from omnimeter.contract.agent import IntArray
from omnimeter.contract.errors import StoreError
from omnimeter.contract.outcomes import that_count
from omnimeter.contract.text import FORMULA, no_formula
from omnimeter.results import files, tables
from omnimeter.results.columns import StoredOutcomes
from omnimeter.results.store import Record

if TYPE_CHECKING:
    import pandas as pd

ROWS = 1 << 16
"""Rows that are in memory together while a table is streamed."""

_NAMES = {  # columns of outcomes by those of a shard
    "agent": "agent",
    "environment_class": None,
    "complexity": "complexity",
    "number": "number",
    "seed": None,
    "payoff": "payoff",
    "interactions": "interactions",
    "total": "total",
    "first_reward": "first_reward",
    "last_time_ns": "last_time",
    "end_ns": "end_ns",
    "ending": "ending",
    "fault_kind": "fault_kind",
    "fault_message": "fault_message",
    "remarks": "remarks",
    "attempts": "attempts",
    "instance": "instance_key",
    "exercise": "key",
}
_OUTCOMES = pa.schema(
    (name, pa.string() if column is None else tables.OUTCOME_SCHEMA.field(column).type)
    for name, column in _NAMES.items()
)
_TRACES = pa.schema(
    [
        ("agent", pa.string()),
        ("number", pa.int64()),
        ("index", pa.int64()),
        ("time_ns", pa.int64()),
        ("reward", pa.float64()),
        ("action", pa.int64()),
        ("observation", pa.list_(pa.int64())),
        ("wall_ns", pa.int64()),
        ("cpu_ns", pa.int64()),
        ("exercise", pa.string()),
    ]
)
_EVALUATION = pa.schema([(name, pa.string()) for name in ("evaluation", "test", "point")])
"""Columns of a campaign: the evaluation, its test, and the point in the test's grid as JSON."""

TableName = Literal["outcomes", "traces"]


def open_results(
    path: str | PathLike[str], damaged: Literal["error", "skip"] = "error"
) -> StoredResults:
    """Open the results in the directory of an evaluation or of a campaign.

    Args:
        path: The directory; that of a campaign has ``campaign.json``, or ``evaluations``.
        damaged: What is done with a damaged shard: it is an error, or it is left out and noted in
            ``StoredResults.damaged``.

    Raises:
        StoreError: There are no results, or they cannot be read.
    """
    root = Path(path)
    several = root / "evaluations"
    planned = root.joinpath("campaign.json").exists()
    if not root.joinpath("spec.json").exists() and (planned or several.is_dir()):
        try:
            inside = sorted(each for each in several.iterdir() if files.Layout(each).has_begun)
        except FileNotFoundError:  # a campaign that has none yet
            inside = []
        except OSError as error:
            raise files.read_error(error, several) from error
        left_out: dict[Path, StoreError] = {}
        records = {}
        for each in inside:
            record = Record.intact(each, left_out) if damaged == "skip" else Record(each)
            if record is not None:
                records[each.name] = record
        return StoredResults(records, _described(root, records), left_out)
    record = Record(root, damaged=damaged)
    return StoredResults({root.name: record}, None, record.damaged)


def _described(root: Path, names: Iterable[str]) -> dict[str, list[str]]:
    """The columns of each evaluation of a campaign, by the name of the evaluation."""
    described = {name: [name, "", ""] for name in names}
    try:
        entries = json.loads(root.joinpath("campaign.json").read_bytes())["plan"]["entries"]
        for entry in entries:
            point = json.dumps(entry["point"]) if entry.get("point") else ""
            described[entry["name"]] = [entry["name"], entry["test"], point]
    except FileNotFoundError:  # only evaluations, put together
        return described
    except OSError as error:
        raise files.read_error(error, root / "campaign.json") from error
    except (ValueError, LookupError, TypeError) as error:
        message = f"{root / 'campaign.json'} is not as it was written."
        raise StoreError(message, "Restore the original file.") from error
    return described


class StoredResults:
    """The results of one or several evaluations as tables, read as they are at that moment.

    Args:
        records: The evaluations by their names.
        described: Of those of a campaign, what their first columns say.
        damaged: The files that were left out, as far as they were looked at, and why.
    """

    def __init__(
        self,
        records: Mapping[str, Record],
        described: Mapping[str, Sequence[str]] | None,
        damaged: Mapping[Path, StoreError],
    ) -> None:
        self.records, self.damaged = dict(records), damaged
        self._described = described

    def outcomes(self) -> pd.DataFrame:
        """One row for each exercise, ordered by agent and number; needs the extra ``pandas``.

        Raises:
            InvalidInputError: pandas is not installed.
            StoreError: Something cannot be read.
        """
        return self._frame("outcomes")

    def traces(self) -> pd.DataFrame:
        """One row for each interaction whose trace was kept; needs the extra ``pandas``.

        Raises:
            InvalidInputError: pandas is not installed.
            StoreError: Something cannot be read.
        """
        return self._frame("traces")

    def to_arrow(self, table: TableName = "outcomes") -> pa.RecordBatchReader:
        """A table as a stream of record batches, of which few are in memory at a time."""
        read = {"outcomes": (_OUTCOMES, _outcome_tables), "traces": (_TRACES, _trace_tables)}
        schema, parts = read[table]
        schema = schema if self._described is None else pa.schema([*_EVALUATION, *schema])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema, parts))

    def export(
        self,
        kind: Literal["parquet", "csv"],
        out: str | PathLike[str],
        table: TableName = "outcomes",
    ) -> int:
        """Write a table into a file, which is there as a whole or not at all.

        In CSV an apostrophe is put before texts that a spreadsheet would take for a formula, and
        the numbers of an observation are separated by spaces.

        Returns:
            How many rows there are.

        Raises:
            StoreError: Something cannot be read or written.
        """
        return write_table(self.to_arrow(table), kind, out)

    def _frame(self, table: TableName) -> pd.DataFrame:
        try:
            import pandas as pd  # noqa: F401 - Arrow makes the frame, and needs it
        except ImportError as error:
            raise InvalidInputError(
                "Data frames need pandas, which is not installed.",
                "pip install 'omnimeter[pandas]', or use to_arrow() or export().",
            ) from error
        return self.to_arrow(table).read_all().to_pandas()

    def _batches(
        self, schema: pa.Schema, parts: Callable[[Record], Iterator[pa.Table]]
    ) -> Iterator[pa.RecordBatch]:
        for name, record in self.records.items():
            described = () if self._described is None else self._described[name]
            for part in parts(record):
                table = part
                for place, text in enumerate(described):
                    column = pa.array([tables.valid_text(text)] * len(part), pa.string())
                    table = table.add_column(place, _EVALUATION.field(place), column)
                yield from table.cast(schema).combine_chunks().to_batches()


def write_table(
    stream: pa.RecordBatchReader, kind: Literal["parquet", "csv"], out: str | PathLike[str]
) -> int:
    """Write a stream of record batches into a file, as ``StoredResults.export`` does.

    Returns:
        How many rows there are.

    Raises:
        StoreError: It cannot be written.
    """
    schema = stream.schema if kind == "parquet" else _plain_schema(stream.schema)
    count = 0
    with files.writing(Path(out)) as file:
        if kind == "parquet":
            writer: Any = pq.ParquetWriter(file, schema, compression="zstd")
        else:
            writer = pyarrow.csv.CSVWriter(file, schema)
        with writer:
            for batch in stream:
                writer.write_batch(batch if kind == "parquet" else _plain(batch, schema))
                count += len(batch)
    return count


def _that_count(record: Record) -> StoredOutcomes:
    """The outcomes of an evaluation, of each agent up to where it was stopped, as in its score."""
    outcomes = record.outcomes()
    if not outcomes.own_faults.any():
        return outcomes
    agents, counts = outcomes.compute("agent"), np.ones(len(outcomes), dtype=np.bool_)
    for agent in np.unique(agents[outcomes.own_faults]):
        own = np.flatnonzero(agents == agent)
        counts[own] = np.isin(outcomes.numbers[own], that_count(outcomes.take(own)).numbers)
    return outcomes.where(counts)


def _outcome_tables(record: Record) -> Iterator[pa.Table]:
    outcomes = _that_count(record)
    stored = [column for column in _NAMES.values() if column is not None]
    for first in range(0, len(outcomes), ROWS):
        table, kinds = outcomes.table(np.arange(first, min(first + ROWS, len(outcomes))), stored)
        exercises = [tables.exercise_of_kind(kind) for kind in kinds]
        labels = [tables.valid_text(each.environment_class.label) for each in exercises]
        # A seed that was drawn stays a secret, also in tables that are passed on.
        seeds = [None if record.seed is not None else str(each.seed) for each in exercises]
        derived = {"environment_class": labels, "seed": seeds}
        columns = [
            pa.array(derived[name], pa.string()).take(table["kind"])
            if column is None
            else table[column]
            for name, column in _NAMES.items()
        ]
        yield pa.Table.from_arrays(columns, schema=_OUTCOMES)


def _trace_tables(record: Record) -> Iterator[pa.Table]:
    outcomes = _that_count(record)
    order = np.argsort(outcomes.keys)
    keys = outcomes.keys[order]
    waiting: list[pa.Table] = []
    for key, trace in record.traces():
        code = np.uint64(int(key, 16))
        at = np.searchsorted(keys, code)
        if at == len(keys) or keys[at] != code:
            continue
        place = order[at]
        for first in range(0, len(trace), ROWS):
            waiting.append(_rows(key, trace, first, outcomes, place))
            if sum(map(len, waiting)) >= ROWS:
                yield pa.concat_tables(waiting)
                waiting = []
    if waiting:
        yield pa.concat_tables(waiting)


def _rows(key: str, trace: Trace, first: int, outcomes: StoredOutcomes, place: int) -> pa.Table:
    """Some interactions of a trace, one row each."""
    last = min(first + ROWS, len(trace))
    count = last - first

    def part(array: IntArray | None) -> pa.Array:
        return pa.nulls(count, pa.int64()) if array is None else pa.array(array[first:last])

    observations = pa.nulls(count, _TRACES.field("observation").type)
    if trace.observations is not None:
        seen = trace.observations[first:last].reshape(count, -1)
        offsets = pa.array(np.arange(count + 1) * seen.shape[1], pa.int32())
        observations = pa.ListArray.from_arrays(offsets, pa.array(seen.ravel()))
    label, number = outcomes.label(place), int(outcomes.numbers[place])
    columns = {
        "agent": pa.array([label] * count, pa.string()),
        "number": pa.array(np.full(count, number)),
        "index": pa.array(np.arange(first, last)),
        "time_ns": part(trace.times),
        "reward": pa.array(trace.rewards[first:last]),
        "action": part(trace.actions),
        "observation": observations,
        "wall_ns": part(trace.wall_ns),
        "cpu_ns": part(trace.cpu_ns),
        "exercise": pa.array([key] * count, pa.string()),
    }
    return pa.Table.from_arrays([columns[name] for name in _TRACES.names], schema=_TRACES)


def _plain_schema(schema: pa.Schema) -> pa.Schema:
    """The schema of a CSV file, which has no lists."""
    return pa.schema(
        field.with_type(pa.string()) if pa.types.is_list(field.type) else field for field in schema
    )


def _plain(batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """A batch as it is written into a CSV file."""
    columns = []
    for given in batch.columns:
        column = given
        if pa.types.is_list(column.type):
            column = pc.binary_join(column.cast(pa.list_(pa.string())), " ")
        elif pa.types.is_string(column.type):
            risky = pc.match_substring_regex(column, FORMULA).fill_null(False)
            harmless = list(map(no_formula, column.filter(risky).to_pylist()))
            column = pc.replace_with_mask(column, risky, pa.array(harmless, pa.string()))
        columns.append(column)
    return pa.RecordBatch.from_arrays(columns, schema=schema)
