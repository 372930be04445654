"""The directory of an evaluation: its layout, its lock, and atomic writes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from omnimeter.contract.errors import StoreError
from omnimeter.contract.spec import fingerprint
from omnimeter.results.errors import refusal, unreadable

UNFINISHED = ".writing"
"""How the name of a file ends while it is being written."""


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Turn what the system refuses into an error that says what to do.

    Raises:
        StoreError: In place of any ``OSError``.
    """
    try:
        yield
    except OSError as error:
        raise refusal(error, path) from error


def write(path: Path, content: bytes) -> None:
    """Write a file; it has survived a crash of the machine once this returns.

    Raises:
        StoreError: It could not be written; nothing is left of it.
    """
    unfinished = path.with_name(path.name + UNFINISHED)
    with explained(path):
        try:
            with unfinished.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise
        _settle(path.parent)


def make_directory(path: Path) -> None:
    """Make a directory and those above it, as snapshot as a file that was written.

    Raises:
        StoreError: It could not be made.
    """
    with explained(path):
        missing = [place for place in (path, *path.parents) if not place.exists()]
        path.mkdir(parents=True, exist_ok=True)
        for place in missing:
            _settle(place.parent)


def remove_unfinished(directory: Path) -> None:
    """Remove what a killed writer had begun in a directory.

    Raises:
        StoreError: It could not be removed.
    """
    with explained(directory):
        for path in directory.glob(f"*{UNFINISHED}"):
            path.unlink()


def _settle(directory: Path) -> None:
    """Make the names in a directory durable."""
    if os.name == "nt":  # a directory cannot be opened there, and a rename needs no such call
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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


@contextmanager
def exclusive(path: Path, owner: Path) -> Iterator[None]:
    """Hold a lock file, or give up at once.

    The system itself lets go of the lock when its holder dies.

    Args:
        path: The lock file. It stays when the lock is released.
        owner: What it protects, for the message.

    Raises:
        StoreError: Another process holds it.
    """
    lock = FileLock(path, timeout=0, thread_local=False)
    with explained(path):
        try:
            lock.acquire()
        except Timeout as error:
            raise StoreError(
                f"{owner} is being written by another process{_holder(path)}.",
                "Wait until it has finished, or choose another directory with --out.",
            ) from error
    try:
        with suppress(OSError):  # only a courtesy to whoever finds the door locked
            path.write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        lock.release()


def _holder(path: Path) -> str:
    try:
        return f" (pid {int(path.read_text(encoding='ascii'))})"
    except (OSError, ValueError):
        return ""
