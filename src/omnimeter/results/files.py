"""The directory of an evaluation: its layout, its lock, atomic writes, and errors for users."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from omnimeter.contract.errors import StoreError
from omnimeter.contract.spec import fingerprint

UNFINISHED = ".writing"  # how the name of a file ends while it is being written


@contextmanager
def write_errors(path: Path) -> Iterator[None]:
    """Turn an ``OSError`` while something is written into an error that says what to do.

    Raises:
        StoreError: In place of any ``OSError``.
    """
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        message = f"{path} cannot be written ({reason})."
        advice = "Fix the cause and run the same command again: it will continue."
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            message = f"There is no space left to write {path} ({reason})."
            advice = "Free some space and run the same command again: it will continue."
        elif error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
            message = f"{path} may not be written ({reason})."
            advice = "Choose another directory with --out, or allow writing there."
        elif error.errno in (errno.ENOTDIR, errno.EEXIST):
            message = f"{path} cannot be a directory: a file has that name ({reason})."
            advice = "Choose another directory with --out."
        raise StoreError(message, f"{advice} Everything stored so far is safe.") from error


def read_error(error: OSError, path: Path) -> StoreError:
    """The error for a file that the system does not let us read."""
    message = f"{path} cannot be read ({error.strerror or error})."
    return StoreError(message, "Check that it exists and that you may read it.")


def newer_format_error(path: Path, version: int) -> StoreError:
    """The error for a file that a newer Omnimeter wrote."""
    message = f"{path} was written by a newer Omnimeter (format {version})."
    return StoreError(message, "Update Omnimeter.")


def write(path: Path, content: bytes) -> None:
    """Write a file atomically; once this returns, it survives a crash of the machine.

    Raises:
        StoreError: It could not be written; no part of it is left.
    """
    unfinished = path.with_name(path.name + UNFINISHED)
    with write_errors(path):
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
        _sync_directory(path.parent)


def make_directory(path: Path) -> None:
    """Make a directory and its parents, which survive a crash once this returns.

    Raises:
        StoreError: It could not be made.
    """
    with write_errors(path):
        missing = [each for each in (path, *path.parents) if not each.exists()]
        path.mkdir(parents=True, exist_ok=True)
        for each in missing:
            _sync_directory(each.parent)


def _sync_directory(directory: Path) -> None:
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


class Layout:
    """The files and directories of one evaluation.

    Attributes:
        spec: What is evaluated; written once, before anything else.
        lock: Held by the one process that writes.
        index: The SQLite index, which can always be rebuilt from the shards.
        provenance: The directory with one file for each time that the evaluation was written.
        traces: The directory of the shards of traces, each named like its shard of outcomes.
        begun: The keys of exercises of untrusted agents, written when they are begun.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.spec = root / "spec.json"
        self.lock = root / "lock"
        self.index = root / "index.sqlite"
        self.provenance = root / "provenance"
        self.outcomes = root / "outcomes"
        self.traces = root / "traces"
        self.begun = root / "begun"

    def outcome_shard(self, name: str) -> Path:
        """The file of a shard of outcomes."""
        return self.outcomes / f"{name}.parquet"

    def trace_shard(self, name: str) -> Path:
        """The file of the traces of a shard of outcomes; it need not exist."""
        return self.traces / f"{name}.parquet"

    def shards(self) -> list[str]:
        """The names of all shards of outcomes on disk, in order."""
        return [path.stem for path in _files(self.outcomes, ".parquet")]

    def trace_shards(self) -> list[str]:
        """The names of all shards of traces on disk, in order."""
        return [path.stem for path in _files(self.traces, ".parquet")]

    def provenance_files(self) -> list[Path]:
        """The provenance files, in order."""
        return _files(self.provenance, ".json")


def _files(directory: Path, suffix: str) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if path.suffix == suffix)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise read_error(error, directory) from error


@contextmanager
def locked(layout: Layout) -> Iterator[None]:
    """Hold the lock of an evaluation, or fail at once if another process holds it.

    The operating system releases the lock when its holder dies; the lock file stays.

    Raises:
        StoreError: Another process holds it.
    """
    lock = FileLock(layout.lock, timeout=0, thread_local=False)
    with write_errors(layout.lock):
        try:
            lock.acquire()
        except Timeout as error:
            holder = ""
            with suppress(OSError, ValueError):
                holder = f" (pid {int(layout.lock.read_text(encoding='ascii'))})"
            message = f"{layout.root} is being written by another process{holder}."
            advice = "Wait until it has finished, or choose another directory with --out."
            raise StoreError(message, advice) from error
    try:
        with suppress(OSError):  # the process id only makes the message above clearer
            layout.lock.write_text(str(os.getpid()), encoding="ascii")
        yield
    finally:
        lock.release()
