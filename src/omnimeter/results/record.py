"""Reading an evaluation: its spec, where it comes from, its outcomes and its traces."""

from __future__ import annotations

import json
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import Any

from omnimeter.contract import Outcome, StoreError, Trace, fingerprint
from omnimeter.results import ledger, outcome_table, shards, trace_table
from omnimeter.results.layout import Layout
from omnimeter.results.refusals import unreadable
from omnimeter.results.specification import read_spec


class Record:
    """One evaluation on disk, for reading only.

    It takes no lock and writes nothing, so it also serves while somebody writes and where nobody
    may write. Each call sees what is stored at that moment.

    Args:
        path: The directory of the evaluation.

    Attributes:
        path: The directory of the evaluation.
        spec: What is evaluated, as plain JSON data.

    Raises:
        StoreError: There is no evaluation, or its spec is not as it was written.
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self._layout = Layout(self.path)
        self.spec: dict[str, Any] = read_spec(self._layout)
        self._keys: dict[str, frozenset[str]] = {}

    @property
    def fingerprint(self) -> str:
        """A short name that depends on the whole spec."""
        return fingerprint(self.spec)

    def keys(self) -> set[str]:
        """The keys of all exercises that have an outcome.

        Raises:
            StoreError: A shard is damaged.
        """
        return set().union(*self._shards().values())

    def outcomes(self) -> list[Outcome]:
        """All outcomes, ordered by agent, number of the exercise and key.

        Raises:
            StoreError: A shard is damaged.
        """
        found: dict[outcome_table.Place, Outcome] = {}
        for shard in self._layout.shards():
            for place, outcome in outcome_table.read(self._layout.outcome_shard(shard)):
                found.setdefault(place, outcome)
        return [found[place] for place in sorted(found)]

    def trace(self, key: str) -> Trace | None:
        """The trace of one exercise, if it was kept.

        Raises:
            StoreError: Its shard is damaged.
        """
        for shard, keys in self._shards().items():
            if key in keys:
                path = self._layout.trace_shard(shard)
                return trace_table.read_one(path, key) if _there(path) else None
        return None

    def traces(self) -> Iterator[tuple[str, Trace]]:
        """All traces that were kept with the keys of their exercises, one at a time.

        Raises:
            StoreError: A shard is damaged.
        """
        for shard in self._layout.shards():
            path = self._layout.trace_shard(shard)
            if _there(path):
                yield from trace_table.read_all(path)

    def provenance(self) -> list[dict[str, Any]]:
        """How the results were made, once for each time that somebody came to write.

        Raises:
            StoreError: A file cannot be read.
        """
        return [_load(path) for path in self._layout.sessions()]

    def _shards(self) -> dict[str, frozenset[str]]:
        """Which exercises each shard on disk holds; as a shard never changes, it is asked once."""
        present = self._layout.shards()
        if any(shard not in self._keys for shard in present):
            noted = ledger.known(self._layout)
            for shard in present:
                if shard not in self._keys:
                    keys = noted.get(shard) or shards.read_keys(self._layout.outcome_shard(shard))
                    self._keys[shard] = frozenset(keys)
        self._keys = {shard: self._keys[shard] for shard in present}
        return self._keys


def _there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError as error:
        raise unreadable(error, path) from error


def _load(path: Path) -> dict[str, Any]:
    try:
        return dict(json.loads(path.read_bytes()))
    except OSError as error:
        raise unreadable(error, path) from error
    except ValueError as error:
        advice = "Remove that file; no result depends on it."
        raise StoreError(f"{path} is damaged ({error}).", advice) from error
