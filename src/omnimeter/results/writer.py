"""Writing an evaluation: create or continue it, and append what is finished, durably."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from os import PathLike
from pathlib import Path
from typing import Any

from omnimeter.contract import Outcome, Spec, StoreError, Trace
from omnimeter.results import durable, ledger, outcome_table, trace_table
from omnimeter.results.layout import Layout, shard_name
from omnimeter.results.lock import exclusive
from omnimeter.results.origin import provenance
from omnimeter.results.record import Record
from omnimeter.results.specification import check_same, write_spec


class Writer(Record):
    """A record that can also be written; made by ``writing``, which holds its lock."""

    def __init__(self, path: str | PathLike[str]) -> None:
        super().__init__(path)
        self._closed = False
        self._stored = self.keys()

    def append(
        self, outcomes: Iterable[Outcome], traces: Mapping[str, Trace] | None = None
    ) -> None:
        """Store outcomes in one new shard; they are durable once this returns.

        Exercises that already have an outcome are left as they are.

        Args:
            outcomes: What came of some exercises.
            traces: What happened in them, by key, as far as it is to be kept.

        Raises:
            StoreError: They could not be stored; what was stored before is safe.
            ValueError: A trace belongs to none of the outcomes, or writing is over.
        """
        if self._closed:
            raise ValueError("this evaluation is no longer open for writing")
        given: dict[str, Outcome] = {}
        for outcome in outcomes:
            given.setdefault(outcome.exercise.key, outcome)
        if strangers := (traces or {}).keys() - given.keys():
            raise ValueError(f"traces without an outcome: {sorted(strangers)}")
        fresh = {key: outcome for key, outcome in given.items() if key not in self._stored}
        if fresh:
            kept = {key: trace for key, trace in (traces or {}).items() if key in fresh}
            self._store(fresh, kept)

    def _store(self, outcomes: Mapping[str, Outcome], traces: Mapping[str, Trace]) -> None:
        shard = shard_name(outcomes)
        rows = outcome_table.table(list(outcomes.values()))
        content = outcome_table.encode(rows)
        # The traces come first: a shard of outcomes on disk is what makes its exercises finished.
        if traces:
            durable.write(self._layout.trace_shard(shard), trace_table.encode(traces, [*outcomes]))
        try:
            durable.write(self._layout.outcome_shard(shard), content)
        except StoreError:
            with suppress(StoreError):
                _remove_stray_traces(self._layout)
            raise
        self._stored.update(outcomes)
        # The outcomes are safe by now. A ledger that stays behind is mended at the next opening.
        with suppress(sqlite3.Error):
            ledger.add(self._layout, shard, rows.to_pylist())


@contextmanager
def writing(
    path: str | PathLike[str],
    spec: Mapping[str, Any],
    seeds: Iterable[int] = (),
    specs: Iterable[Spec] = (),
) -> Iterator[Writer]:
    """Create an evaluation or continue it; nobody else may write it meanwhile.

    Args:
        path: The directory of the evaluation.
        spec: What is evaluated, as JSON-able data.
        seeds: The roots of all chance, for the provenance.
        specs: The parts that take part, for the provenance.

    Raises:
        StoreError: The directory holds something else, is being written, is damaged or cannot be
            written.
    """
    layout = Layout(Path(path))
    _check_free(layout)
    durable.make_directory(layout.root)
    with exclusive(layout.lock, layout.root):
        _prepare(layout, spec)
        writer = Writer(layout.root)
        _note_session(layout, {"spec": writer.fingerprint, **provenance(seeds, specs)})
        try:
            yield writer
        finally:
            writer._closed = True


def _check_free(layout: Layout) -> None:
    """Make sure that nothing of somebody else's is where the evaluation shall be."""
    with durable.explained(layout.root):
        names = {file.name for file in layout.root.iterdir()} if layout.root.exists() else set()
    begun = {layout.lock.name, layout.spec.name + durable.UNFINISHED}
    if layout.spec.name not in names and names - begun:
        raise StoreError(
            f"{layout.root} is not empty and holds no evaluation.",
            "Choose another directory with --out.",
        )


def _prepare(layout: Layout, spec: Mapping[str, Any]) -> None:
    """Bring the directory into order: the right spec, no leftovers, a ledger that agrees."""
    if layout.spec.exists():
        check_same(layout, spec)
    else:
        write_spec(layout, spec)
    for directory in layout.directories:
        durable.make_directory(directory)
        durable.remove_unfinished(directory)
    _remove_stray_traces(layout)
    ledger.reconcile(layout)


def _remove_stray_traces(layout: Layout) -> None:
    """Remove traces whose outcomes were not written: their exercises will be run again."""
    finished = set(layout.shards())
    for shard in layout.trace_shards():
        if shard not in finished:
            with durable.explained(layout.trace_shard(shard)):
                layout.trace_shard(shard).unlink()


def _note_session(layout: Layout, session: Mapping[str, Any]) -> None:
    numbers = [int(path.stem) for path in layout.sessions() if path.stem.isdecimal()]
    name = f"{max(numbers, default=0) + 1:04d}.json"
    content = json.dumps(session, indent=2, sort_keys=True) + "\n"
    durable.write(layout.provenance / name, content.encode())
