"""Stored outcomes by columns; objects are made of the rows that are asked for."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from omnimeter.contract import Exercise, Outcome, Outcomes, Spec
from omnimeter.contract.agent import IntArray
from omnimeter.contract.errors import DamagedError, StoreError
from omnimeter.contract.outcomes import COLUMNS, ENDINGS, FAULTS
from omnimeter.results import sealing, tables
from omnimeter.results.files import Key, Layout

_GROUPS_KEPT = 4  # row groups that objects were made from last


def _ordered(columns: Sequence[NDArray[Any]]) -> bool:
    """Whether rows are in order by some columns, the first of which counts most."""
    undecided = np.ones(max(0, len(columns[0]) - 1), dtype=np.bool_)
    for column in columns:
        if (undecided & (column[1:] < column[:-1])).any():
            return False
        undecided &= column[1:] == column[:-1]
    return True


def places_among(texts: Sequence[Any], known: dict[Any, int]) -> IntArray:
    """The place of each text among the known ones, to which new ones are added."""
    return np.array([known.setdefault(each, len(known)) for each in texts], dtype=np.int64)


def _one(column: pa.ChunkedArray) -> pa.Array:
    """A column in one piece."""
    piece = column.combine_chunks()
    return pa.concat_arrays(piece.chunks) if isinstance(piece, pa.ChunkedArray) else piece


def _encoded(column: pa.ChunkedArray) -> tuple[list[Any], IntArray]:
    """The different values of a column, and the place of each row's among them."""
    chunk = pc.dictionary_encode(column).combine_chunks()
    if isinstance(chunk, pa.ChunkedArray):  # without any row
        return [], np.empty(0, dtype=np.int64)
    places = np.where(tables.valid_of(chunk), tables.numbers_of(chunk.indices), -1)
    return chunk.dictionary.to_pylist(), places


@dataclass
class Columns:
    """The light columns of some shards, row after row as they are on disk.

    Attributes:
        shards: The names of the shards.
        merged: The names of the shards that each was merged of, by its own.
        older: The names of those of an older format.
        groups: The first row of each row group of each shard, and its end.
        agents: Label and key of each agent that occurs, with its place.
        kinds: The kinds of exercises, with their places.
        arrays: The columns of ``Outcomes``, and ``shard``, ``row``, ``agent`` and ``kind``.
        remarks: The remarks as JSON, null where there are none.
    """

    shards: list[str] = field(default_factory=list)
    merged: dict[str, set[str]] = field(default_factory=dict)
    older: set[str] = field(default_factory=set)
    groups: list[IntArray] = field(default_factory=list)
    agents: dict[tuple[str, str], int] = field(default_factory=dict)
    kinds: dict[str, int] = field(default_factory=dict)
    arrays: dict[str, NDArray[Any]] = field(default_factory=dict)
    remarks: pa.ChunkedArray = field(default_factory=lambda: pa.chunked_array([], pa.string()))

    def extended(
        self,
        layout: Layout,
        names: Sequence[str],
        key: Key | None,
        damaged: dict[Path, StoreError] | None = None,
    ) -> Columns:
        """These and the columns of further shards.

        Args:
            layout: The evaluation.
            names: The shards.
            key: The key of the evaluation.
            damaged: Where damaged shards are noted, which are left out then.

        Raises:
            StoreError: One cannot be read.
        """
        more = replace(
            self,
            shards=[*self.shards],
            groups=[*self.groups],
            merged={**self.merged},
            older={*self.older},
            agents={**self.agents},
            kinds={**self.kinds},
        )
        parts, remarks = [{**self.arrays}] if self.arrays else [], [*self.remarks.chunks]
        for name in names:
            path = layout.outcome_shard(name)
            try:
                table, footer = tables.read_outcome_columns(path, key, whole=damaged is not None)
                with sealing.decoding_errors(path):
                    parts.append(more._arrays(table, footer))
            except DamagedError as error:
                if damaged is None:
                    raise
                damaged[path] = error
                del more.groups[len(more.shards) :]
                continue
            remarks += table["remarks"].chunks
            more.shards.append(name)
            more.merged[name] = set(footer.get("merged", ()))
            if footer["version"] < sealing.SCHEMA_VERSION:
                more.older.add(name)
            del table
            pa.default_memory_pool().release_unused()
        # Column by column, so that there are never two copies of all.
        more.arrays = {
            column: np.concatenate([part.pop(column) for part in parts])
            for column in ([*parts[0]] if parts else ())
        }
        more.remarks = pa.chunked_array(remarks, pa.string())
        pa.default_memory_pool().release_unused()
        return more

    def _arrays(self, table: pa.Table, footer: Mapping[str, Any]) -> dict[str, NDArray[Any]]:
        """The arrays of one shard."""

        def numbers(name: str) -> NDArray[Any]:
            return np.array(tables.numbers_of(table[name].combine_chunks()))

        count = len(table)
        self.groups.append(np.concatenate([[0], np.cumsum(footer["rows"], dtype=np.int64)]))
        kinds, labels = footer["kinds"], _encoded(table["agent"])
        keys = _encoded(table["agent_key"])
        pairs = labels[1] * max(1, len(keys[0])) + keys[1]
        different, inverse = np.unique(pairs, return_inverse=True)
        names = [
            (labels[0][pair // len(keys[0])], keys[0][pair % len(keys[0])])
            for pair in different.tolist()
        ]
        faults, fault = _encoded(table["fault_kind"])
        codes = np.array([*map(FAULTS.index, faults), 0], dtype=np.int8)
        endings, ending = _encoded(table["ending"])
        ends = np.array([*map(ENDINGS.index, endings)], dtype=np.int8)
        payoff = table["payoff"].combine_chunks()
        paid = tables.valid_of(payoff)
        return {
            "shard": np.full(count, len(self.shards), dtype=np.int32),
            "row": np.arange(count, dtype=np.int32),
            "agent": places_among(names, self.agents)[inverse].astype(np.int32),
            "kind": places_among(kinds, self.kinds)[numbers("kind")].astype(np.int32),
            "number": numbers("number"),
            "key": tables.key_codes(table["key"]),
            "instance": tables.key_codes(table["instance_key"]),
            "complexity": numbers("complexity"),
            "payoff": np.where(paid, tables.numbers_of(payoff), np.nan),
            "paid": paid,
            "interactions": numbers("interactions"),
            "total": numbers("total"),
            "last_time": numbers("last_time"),
            "ending": ends[ending],
            "fault": codes[fault],
            "attempts": numbers("attempts"),
        }

    @cached_property
    def order(self) -> IntArray:
        """All rows by agent (its label and key), number and key of the exercise, and attempts."""
        if not self.arrays:
            return np.empty(0, dtype=np.int64)
        ranks = np.empty(len(self.agents), dtype=np.int32)
        ranks[[self.agents[pair] for pair in sorted(self.agents)]] = np.arange(len(self.agents))
        own = self.arrays
        order = [ranks[own["agent"]], own["number"], own["key"], own["attempts"]]
        if _ordered(order):
            return np.arange(len(order[0]))
        rank, number = order[0].astype(np.int64), own["number"]
        if number.min() >= 0 and number.max() < 1 << 40:  # as mostly: both are one number
            both = (rank << 40) | number
            rows = np.argsort(both, kind="stable")
            if (np.diff(both[rows]) > 0).all():
                return rows
        return np.lexsort(order[::-1])

    @cached_property
    def superseded(self) -> set[str]:
        """The shards whose outcomes are in merged ones too: something had come between."""
        return {*self.shards} & {name for names in self.merged.values() for name in names}

    def table(
        self, layout: Layout, key: Key | None, rows: IntArray, names: Sequence[str]
    ) -> tuple[pa.Table, list[str]]:
        """Some columns of some rows, in their order, and the kinds of exercises that they name.

        Only the row groups that they are in are read; the column ``kind`` is always there.
        """
        parts, places, kinds = [], [], dict[str, int]()
        names = list(dict.fromkeys((*names, "kind")))
        in_shards = self.arrays["shard"][rows]
        for shard in np.unique(in_shards).tolist():
            path = layout.outcome_shard(self.shards[shard])
            own = np.flatnonzero(in_shards == shard)
            within, starts = self.arrays["row"][rows[own]], self.groups[shard]
            groups, group = np.unique(
                np.searchsorted(starts, within, side="right") - 1, return_inverse=True
            )
            # Where each of these groups begins when only they are read.
            begins = np.cumsum(np.append(0, np.diff(starts)[groups]))
            table, footer = tables.read_outcome_columns(path, key, names, groups.tolist())
            part = table.take(pa.array(within - starts[groups][group] + begins[group]))
            kind = places_among(footer["kinds"], kinds)[tables.numbers_of(_one(part["kind"]))]
            where = part.schema.get_field_index("kind")
            column = pa.array(kind.astype(np.int32))
            parts.append(part.set_column(where, tables.OUTCOME_SCHEMA.field("kind"), column))
            places.append(own)
        order = np.argsort(np.concatenate(places))
        return pa.concat_tables(parts).take(pa.array(order)), list(kinds)


class Objects:
    """Makes outcomes of rows on disk, row group by row group.

    Args:
        layout: The evaluation.
        key: Its key.
        again: Reads its outcomes anew.
    """

    def __init__(self, layout: Layout, key: Key | None, again: Callable[[], Outcomes]) -> None:
        self._layout, self._key, self._again = layout, key, again
        self._groups: OrderedDict[tuple[str, int], tuple[pa.Table, list[Exercise]]] = OrderedDict()
        self._kinds: dict[str, Exercise] = {}
        self._moved: Outcomes | None = None

    def of(self, columns: Columns, rows: IntArray) -> list[Outcome]:
        """The outcomes of some rows."""
        made: list[Outcome | None] = [None] * len(rows)
        in_shards, places = columns.arrays["shard"][rows], columns.arrays["row"][rows]
        for shard in np.unique(in_shards).tolist():
            own = np.flatnonzero(in_shards == shard)
            starts = columns.groups[shard]
            groups = np.searchsorted(starts, places[own], side="right") - 1
            for group in np.unique(groups).tolist():
                here = own[groups == group]
                outcomes = self._in_group(
                    columns, rows[here], columns.shards[shard], group, places[here] - starts[group]
                )
                for place, outcome in zip(here.tolist(), outcomes, strict=True):
                    made[place] = outcome
        return [each for each in made if each is not None]

    def table(
        self, columns: Columns, rows: IntArray, names: Sequence[str]
    ) -> tuple[pa.Table, list[str]]:
        """Some columns of some rows, and their kinds of exercises."""
        return columns.table(self._layout, self._key, rows, names)

    def _in_group(
        self, columns: Columns, rows: IntArray, shard: str, group: int, places: IntArray
    ) -> list[Outcome]:
        """The outcomes of some rows, which are at some places of one row group."""
        try:
            table, kinds = self._group(shard, group)
        except sealing.MissingShardError:
            return self._elsewhere(columns, rows)
        if places.max() >= len(table):
            return self._elsewhere(columns, rows)
        chosen = table.take(pa.array(places))
        if not np.array_equal(tables.key_codes(chosen["key"]), columns.arrays["key"][rows]):
            return self._elsewhere(columns, rows)
        return tables.outcomes_of(chosen, kinds)

    def _elsewhere(self, columns: Columns, rows: IntArray) -> list[Outcome]:
        """The outcomes of some rows whose shard was merged with others after it was read."""
        keys, attempts = columns.arrays["key"][rows], columns.arrays["attempts"][rows]
        if self._moved is None:
            self._moved = self._again()
        order = np.argsort(self._moved.keys)
        places = np.searchsorted(self._moved.keys[order], keys)
        matches = order[np.minimum(places, len(order) - 1)] if len(order) else order
        if not (
            len(matches)
            and np.array_equal(self._moved.keys[matches], keys)
            and np.array_equal(self._moved.attempts[matches], attempts)
        ):
            message = f"Outcomes in {self._layout.outcomes} were removed while they were read."
            raise StoreError(message, "Read the evaluation again.")
        return self._moved.objects(matches)

    def _group(self, shard: str, group: int) -> tuple[pa.Table, list[Exercise]]:
        if (shard, group) not in self._groups:
            path = self._layout.outcome_shard(shard)
            names = tables.OUTCOME_SCHEMA.names
            table, footer = tables.read_outcome_columns(path, self._key, names, [group])
            with sealing.decoding_errors(path):
                kinds = [self._kind(each) for each in footer["kinds"]]
            self._groups[shard, group] = table, kinds
            if len(self._groups) > _GROUPS_KEPT:
                self._groups.popitem(last=False)
        self._groups.move_to_end((shard, group))
        return self._groups[shard, group]

    def _kind(self, kind: str) -> Exercise:
        if kind not in self._kinds:
            self._kinds[kind] = tables.exercise_of_kind(kind)
        return self._kinds[kind]


class StoredOutcomes(Outcomes):
    """Outcomes on disk: columns are in memory, and objects are read where they are asked for."""

    def __init__(self, columns: Columns, rows: IntArray, made: Objects) -> None:
        super().__init__()
        self.columns, self.rows, self._made = columns, rows, made

    @property
    def shards(self) -> list[str]:
        """The shards that they are in."""
        if not len(self):
            return []
        return [
            self.columns.shards[each] for each in np.unique(self.columns.arrays["shard"][self.rows])
        ]

    def objects(self, rows: IntArray) -> list[Outcome]:  # noqa: D102 - see Outcomes
        return self._made.of(self.columns, self.rows[rows])

    def compute(self, name: str) -> NDArray[Any]:  # noqa: D102 - see Outcomes
        own = self.columns.arrays
        return own[name][self.rows] if own else np.empty(0, dtype=COLUMNS[name][0])

    def remarks(self, name: str) -> list[tuple[Any, IntArray]]:  # noqa: D102 - see Outcomes
        if not len(self):
            return []
        texts = self.columns.remarks.take(pa.array(self.rows))
        with_it = pc.match_substring(texts, json.dumps(name)).fill_null(False)
        rows = np.flatnonzero(with_it.to_numpy())
        by_value: dict[str, tuple[Any, list[int]]] = {}
        for row, text in zip(rows.tolist(), texts.take(pa.array(rows)).to_pylist(), strict=True):
            data = json.loads(text)
            if name in data:
                by_value.setdefault(repr(data[name]), (data[name], []))[1].append(row)
        return [(value, np.array(where)) for value, where in by_value.values()]

    def distinct_exercises(self) -> list[Exercise]:  # noqa: D102 - see Outcomes
        if not len(self):
            return []
        _, first = np.unique(self.columns.arrays["kind"][self.rows], return_index=True)
        return [each.exercise for each in self.objects(np.sort(first))]

    def remark_texts(self) -> list[str | None]:  # noqa: D102 - see Outcomes
        texts: list[str | None] = self.columns.remarks.take(pa.array(self.rows)).to_pylist()
        return texts

    def classes(self) -> list[tuple[Spec, IntArray]]:  # noqa: D102 - see Outcomes
        rows: dict[Spec, list[IntArray]] = {}
        kinds = self.columns.arrays["kind"][self.rows] if len(self) else self.rows
        names = list(self.columns.kinds)
        for kind in np.unique(kinds).tolist():
            spec = tables.exercise_of_kind(names[kind]).environment_class
            rows.setdefault(spec, []).append(np.flatnonzero(kinds == kind))
        return [(spec, np.sort(np.concatenate(where))) for spec, where in rows.items()]

    def by_agent(self, agents: Iterable[Spec]) -> dict[Spec, Outcomes]:  # noqa: D102 - see Outcomes
        places = self.columns.arrays["agent"][self.rows] if len(self) else self.rows
        known: dict[str, list[int]] = {}
        for (_, key), place in self.columns.agents.items():
            known.setdefault(key, []).append(place)
        return {
            agent: self.take(np.flatnonzero(np.isin(places, known.get(agent.key, []))))
            for agent in agents
        }

    def take(self, rows: IntArray) -> Self:  # noqa: D102 - see Outcomes
        return type(self)(self.columns, self.rows[rows], self._made)

    def table(self, rows: IntArray, names: Sequence[str]) -> tuple[pa.Table, list[str]]:
        """Some columns of some rows as they are in shards, and their kinds of exercises."""
        return self._made.table(self.columns, self.rows[rows], names)

    def label(self, row: int) -> str:
        """The label of the agent in a row."""
        labels = {place: label for (label, _), place in self.columns.agents.items()}
        return labels[int(self.columns.arrays["agent"][self.rows[row]])]

    def __len__(self) -> int:
        return len(self.rows)
