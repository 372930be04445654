"""Where each thing lies inside the directory of one evaluation."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from omnimeter.contract import fingerprint
from omnimeter.results.refusals import unreadable


def shard_name(keys: Iterable[str]) -> str:
    """The name of the shard that holds exactly these exercises."""
    return fingerprint(sorted(keys))


@dataclass(frozen=True, slots=True)
class Layout:
    """The places of one evaluation.

    Attributes:
        root: The directory that is the evaluation.
    """

    root: Path

    @property
    def spec(self) -> Path:
        """What is evaluated; written once, before anything else."""
        return self.root / "spec.json"

    @property
    def lock(self) -> Path:
        """Held by the one process that writes."""
        return self.root / "lock"

    @property
    def ledger(self) -> Path:
        """The index, which can always be made again from the shards."""
        return self.root / "ledger.sqlite"

    @property
    def provenance(self) -> Path:
        """One file per time that somebody came to write."""
        return self.root / "provenance"

    @property
    def outcomes(self) -> Path:
        """The shards of outcomes."""
        return self.root / "outcomes"

    @property
    def traces(self) -> Path:
        """The shards of traces, each named like the shard of outcomes that it belongs to."""
        return self.root / "traces"

    @property
    def directories(self) -> tuple[Path, ...]:
        """Every directory of the evaluation, the root first."""
        return (self.root, self.provenance, self.outcomes, self.traces)

    def outcome_shard(self, name: str) -> Path:
        """The file of a shard of outcomes."""
        return self.outcomes / f"{name}.parquet"

    def trace_shard(self, name: str) -> Path:
        """The file of the traces that belong to a shard of outcomes; it need not be there."""
        return self.traces / f"{name}.parquet"

    def shards(self) -> list[str]:
        """The names of all shards of outcomes on disk, in order."""
        return [path.stem for path in _files(self.outcomes, ".parquet")]

    def trace_shards(self) -> list[str]:
        """The names of all shards of traces on disk, in order."""
        return [path.stem for path in _files(self.traces, ".parquet")]

    def sessions(self) -> list[Path]:
        """The provenance files, in order."""
        return _files(self.provenance, ".json")


def _files(directory: Path, suffix: str) -> list[Path]:
    """The files of a directory whose names end so; none where there is no directory yet."""
    try:
        return sorted(path for path in directory.iterdir() if path.suffix == suffix)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise unreadable(error, directory) from error
