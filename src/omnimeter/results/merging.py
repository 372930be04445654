"""Keeping an evaluation in few, current shards: merging, migrating and clearing away."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from omnimeter.contract import Trace
from omnimeter.contract.agent import IntArray
from omnimeter.contract.spec import fingerprint
from omnimeter.results import files, sealing, tables
from omnimeter.results.columns import Columns, StoredOutcomes
from omnimeter.results.files import Key, Layout, write_errors
from omnimeter.results.traces import encode_traces, read_traces, stored_traces

SMALL = 16_384
"""Outcomes of a shard below which it is merged with others."""

SMALL_BYTES = 4 << 20
"""Bytes of such a shard at the most."""

MANY = 64
"""So many small shards are left as they are when an evaluation is opened for writing."""

MERGED = 131_072
"""Outcomes of a merged shard at the most."""

MERGED_BYTES = 16 << 20
"""Bytes of the shards that are merged into one, which are in memory together, at the most."""

Item = TypeVar("Item")


def tidy(layout: Layout, key: Key, outcomes: StoredOutcomes) -> bool:
    """Clear away what has no outcome, rewrite older formats, and merge many small shards.

    Only the holder of the lock does this. Whatever interrupts it, nothing is lost: a file is
    removed when its content is on disk in another one, or was never finished.

    Args:
        layout: The evaluation.
        key: Its key.
        outcomes: All its outcomes.

    Returns:
        Whether the shards of outcomes are other ones now.

    Raises:
        StoreError: Something cannot be read, written or removed.
    """
    _remove_orphaned_traces(layout, key, outcomes.columns)
    if outcomes.columns.older:
        _rewrite_older_traces(layout, key, outcomes)
    _merge_traces(layout, key)
    return _merge_outcomes(layout, key, outcomes)


def _remove_orphaned_traces(layout: Layout, key: Key, columns: Columns) -> None:
    """Remove traces whose outcomes were not written: their exercises will be run again."""
    known = {*columns.shards}.union(*columns.merged.values())
    for shard in layout.trace_shards():
        if shard in known:
            continue
        path = layout.trace_shard(shard)
        stored = stored_traces(path, key)
        finished = set[tuple[int, int]]()
        if own := columns.arrays:
            near = np.isin(own["key"], stored.keys)
            pairs = zip(own["key"][near].tolist(), own["attempts"][near].tolist(), strict=True)
            finished.update(pairs)
        traced = zip(stored.keys.tolist(), stored.attempts.tolist(), strict=True)
        if not stored.merged and not finished.issuperset(traced):
            with write_errors(path):
                path.unlink()


def _rewrite_older_traces(layout: Layout, key: Key, outcomes: StoredOutcomes) -> None:
    """Rewrite the traces of an evaluation of an older format, each shard in its own place.

    Its outcomes follow: as long as some are of an older format, this is not done.
    """
    budgets = {each.exercise.key: each.exercise.budget for each in outcomes}
    for shard in layout.trace_shards():
        path = layout.trace_shard(shard)
        stored = stored_traces(path, key)
        if stored.version < sealing.SCHEMA_VERSION:
            own = dict(read_traces(path, key, set(stored.exercises), budgets.__getitem__))
            files.write(path, encode_traces(shard, own, key))


def _merge_traces(layout: Layout, key: Key) -> None:
    """Merge small shards of traces; the same trace may be there twice if that is interrupted."""
    sizes = {name: layout.trace_shard(name).stat().st_size for name in layout.trace_shards()}
    small = {name: size for name, size in sizes.items() if size < SMALL_BYTES}
    if len(small) <= MANY:
        return
    for group in _grouped(small.items(), lambda each: each[1], MERGED_BYTES):
        names = sorted(name for name, _ in group)
        own: dict[tuple[str, int], Trace] = {}
        for name in names:
            path = layout.trace_shard(name)
            own |= read_traces(path, key, set(stored_traces(path, key).exercises))
        merged = fingerprint(names)
        content = encode_traces(merged, own, key, merged=names)
        files.write(layout.trace_shard(merged), content)
        _remove(layout.trace_shard(name) for name in names)


def _grouped(
    items: Iterable[Item], size: Callable[[Item], float], largest: float
) -> Iterator[list[Item]]:
    """Consecutive items whose sizes add up to a largest one, or one item that is larger."""
    group: list[Item] = []
    total = 0.0
    for item in items:
        if group and total + size(item) > largest:
            yield group
            group, total = [], 0.0
        group.append(item)
        total += size(item)
    if group:
        yield group


def _merge_outcomes(layout: Layout, key: Key, outcomes: StoredOutcomes) -> bool:
    """Merge small shards if there are many, and rewrite those of an older format.

    A merged shard names those in it: if they are still there after an interruption, they are not
    looked at any more.
    """
    columns, left_over = outcomes.columns, outcomes.columns.superseded
    _remove(map(layout.outcome_shard, left_over))
    if not len(outcomes):
        return bool(left_over)
    counts = np.bincount(columns.arrays["shard"], minlength=len(columns.shards)).tolist()
    sizes = [
        0 if n in left_over else layout.outcome_shard(n).stat().st_size for n in columns.shards
    ]
    small = {
        name
        for name, count, size in zip(columns.shards, counts, sizes, strict=True)
        if name in columns.older or (count < SMALL and size < SMALL_BYTES)
    } - left_over
    if len(small) <= MANY and not columns.older:
        return bool(left_over)
    # In the order of their first outcomes, so that what is read together lies together.
    rows = outcomes.rows
    places, first = np.unique(columns.arrays["shard"][rows], return_index=True)
    order = [*places[np.argsort(first)].tolist()]
    order += [shard for shard in range(len(columns.shards)) if shard not in set(order)]
    chosen = [shard for shard in order if columns.shards[shard] in small]
    weight = [max(n / MERGED, size / MERGED_BYTES) for n, size in zip(counts, sizes, strict=True)]
    for group in _grouped(chosen, weight.__getitem__, 1):
        _merge_group(layout, key, columns, rows, group)
    return True


def _merge_group(
    layout: Layout, key: Key, columns: Columns, rows: IntArray, group: Sequence[int]
) -> None:
    """Write one shard with those rows that some shards have, and remove these."""
    names = {columns.shards[shard] for shard in group}
    chosen = rows[np.isin(columns.arrays["shard"][rows], group)]
    if len(chosen):
        table, kinds = columns.table(layout, key, chosen, tables.OUTCOME_SCHEMA.names)
        earlier = set[str]().union(*(columns.merged[name] for name in names))
        merged, content = tables.encode_outcomes(table, kinds, key, names | earlier)
        files.write(layout.outcome_shard(merged), content)
        names.discard(merged)
    _remove(map(layout.outcome_shard, names))


def _remove(paths: Iterable[Path]) -> None:
    for path in paths:
        with write_errors(path):
            path.unlink(missing_ok=True)
