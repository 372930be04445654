"""The directory of an evaluation: its layout, lock and key, atomic writes, and errors for users."""

from __future__ import annotations

import errno
import hashlib
import hmac
import json
import os
import secrets
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, NamedTuple

from filelock import FileLock, Timeout

from omnimeter.contract.errors import DamagedError, StoreError
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


def read_error(error: OSError, path: Path) -> DamagedError:
    """The error for a file that the system does not let us read."""
    message = f"{path} cannot be read ({error.strerror or error})."
    return DamagedError(message, "Check that it exists and that you may read it.")


def newer_format_error(path: Path, version: int) -> StoreError:
    """The error for a file that a newer Omnimeter wrote."""
    message = f"{path} was written by a newer Omnimeter (format {version})."
    return StoreError(message, "Update Omnimeter.")


def write(path: Path, content: bytes, mode: int = 0o666) -> None:
    """Write a file atomically; once this returns, it survives a crash of the machine.

    Args:
        path: The file.
        content: What it will hold.
        mode: Who may read and write it, as far as the user's mask lets them.

    Raises:
        StoreError: It could not be written; no part of it is left.
    """
    with writing(path, mode) as file:
        file.write(content)


@contextmanager
def writing(path: Path, mode: int = 0o666) -> Iterator[BinaryIO]:
    """A file to write piece by piece; it has its name, and survives a crash, when this ends.

    Args:
        path: The file.
        mode: Who may read and write it, as far as the user's mask lets them.

    Raises:
        StoreError: It could not be written; no part of it is left.
    """
    unfinished = path.with_name(f"{path.name}.{secrets.token_hex(4)}{UNFINISHED}")
    with write_errors(path):
        try:
            # Made anew, so that a link that lies there under its name is not followed.
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            with os.fdopen(os.open(unfinished, flags, mode), "wb") as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(path)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise
        sync_directory(path.parent)


def make_directory(path: Path, mode: int = 0o777) -> None:
    """Make a directory and its parents, which survive a crash once this returns.

    Args:
        path: The directory.
        mode: Who may use it if it is new, as far as the user's mask lets them.

    Raises:
        StoreError: It could not be made.
    """
    with write_errors(path):
        missing = [each for each in (path, *path.parents) if not each.exists()]
        path.mkdir(mode=mode, parents=True, exist_ok=True)
        for each in missing:
            sync_directory(each.parent)


def remove_unfinished(directory: Path, name: str = "*") -> None:
    """Remove what killed processes had begun to write in a directory that no other one writes now.

    Args:
        directory: The directory, which need not exist.
        name: Only of files with this name.

    Raises:
        StoreError: Something cannot be removed.
    """
    with write_errors(directory):
        for unfinished in directory.glob(f"{name}{UNFINISHED}"):
            unfinished.unlink(missing_ok=True)


def sync_directory(directory: Path) -> None:
    """Flush to the disk which files there are in a directory."""
    if os.name == "nt":  # a directory cannot be opened there, and a rename needs no such call
        return
    descriptor = os.open(directory, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def shard_name(attempts: Mapping[str, int]) -> str:
    """The name of the shard that holds exactly these exercises, each with the number of attempts.

    An exercise that was run again has another name, so that its shard does not replace the first.
    """
    return fingerprint(sorted(f"{key}.{n}" if n > 1 else key for key, n in attempts.items()))


class Layout:
    """The files and directories of one evaluation.

    Attributes:
        key: The secret that shards are signed with, for its owner only; written before all else.
        spec: What is evaluated; written before anything is run.
        seed: The secret seed that was drawn for it, for its owner only; written before the spec.
        lock: Held by the one process that writes.
        provenance: The directory with one file for each time that the evaluation was written.
        traces: The directory of the shards of traces, each named like its shard of outcomes.
        begun: The keys of exercises of untrusted agents, written when they are begun.
        journal: The directory of the journals of exercises that are under way.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.key = root / "key.json"
        self.spec = root / "spec.json"
        self.seed = root / "seed.json"
        self.lock = root / "lock"
        self.provenance = root / "provenance"
        self.outcomes = root / "outcomes"
        self.traces = root / "traces"
        self.begun = root / "begun"
        self.journal = root / "journal"

    @property
    def has_begun(self) -> bool:
        """Whether there is an evaluation, or what is left of one that has lost its spec."""
        later = (self.provenance, self.outcomes, self.traces, self.begun, self.journal)
        return self.spec.exists() or any(path.exists() for path in later)

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


class Key(NamedTuple):
    """What tells the shards of an evaluation from all others (``docs/standard.md``, §13.6).

    Agents cannot see the directory, and so not sign anything. Its owner can: a copy of the
    directory has the key too.

    Attributes:
        secret: What shards are signed with.
        spec: The fingerprint of the spec that it belongs to.
        unsigned: The digests of the shards that an older version had written before there was a
            key, by their paths in the directory.
        sealed: Whether its file has a digest, which it matches; an older version wrote none.
        next: The fingerprint of the spec that is about to take the place of the other, if one is.
    """

    secret: bytes
    spec: str
    unsigned: Mapping[str, str]
    sealed: bool = True
    next: str = ""

    def sign(self, content: bytes) -> str:
        """The signature of some content."""
        return hmac.new(self.secret, content, hashlib.sha256).hexdigest()

    def check(self, path: Path, content: bytes, signature: str | None) -> None:
        """Check that a shard was written by this evaluation.

        Args:
            path: Its file.
            content: What is signed in it.
            signature: The signature in it, if there is one.

        Raises:
            ValueError: It was not; the message says why.
        """
        if signature is not None:
            if not hmac.compare_digest(signature.encode(), self.sign(content).encode()):
                raise ValueError("its signature does not fit the key of this evaluation")
        elif self.unsigned.get(_inner(path)) != _file_digest(path):
            raise ValueError("it is not signed with the key of this evaluation")


def write_key(layout: Layout, spec: str) -> None:
    """Write a new key, for the spec of this fingerprint; shards that are there are accepted.

    Raises:
        StoreError: It could not be written.
    """
    shards = [layout.outcome_shard(name) for name in layout.shards()]
    shards += [layout.trace_shard(name) for name in layout.trace_shards()]
    unsigned = {_inner(path): _file_digest(path) for path in shards}
    _write_key(layout, {"key": secrets.token_hex(32), "spec": spec, "unsigned": unsigned})


def change_key(layout: Layout, key: Key, spec: str, following: str = "") -> None:
    """Write a key again, for the spec of another fingerprint; or for one, and the ``following``.

    Raises:
        StoreError: It could not be written.
    """
    content = {"key": key.secret.hex(), "spec": spec, "unsigned": dict(key.unsigned)}
    _write_key(layout, {**content, "next": following} if following else content)


def _write_key(layout: Layout, content: Mapping[str, object]) -> None:
    sealed = {**content, "fingerprint": fingerprint(content)}
    write(layout.key, (json.dumps(sealed, indent=2) + "\n").encode(), mode=0o600)


def read_key(layout: Layout) -> Key | None:
    """The key of an evaluation; an older version wrote none.

    Raises:
        StoreError: It cannot be read, or is not as it was written.
    """
    try:
        content = dict(json.loads(layout.key.read_bytes()))
        seal = content.pop("fingerprint", None)
        secret = bytes.fromhex(content["key"])
        unsigned, following = dict(content["unsigned"]), str(content.get("next", ""))
        key = Key(secret, str(content["spec"]), unsigned, seal is not None, following)
        if len(secret) != 32 or (key.sealed and seal != fingerprint(content)):
            raise ValueError("it does not match its digest")
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise read_error(error, layout.key) from error
    except (ValueError, KeyError, TypeError) as error:
        message = f"{layout.key} is not as it was written."
        raise DamagedError(
            message, "Restore the file; it is needed to read the results."
        ) from error
    return key


def _inner(path: Path) -> str:
    return f"{path.parent.name}/{path.name}"


def _file_digest(path: Path) -> str:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise read_error(error, path) from error


def refuse_links(layout: Layout) -> None:
    """Check that nothing in a directory lies elsewhere: what is written there must stay there.

    Raises:
        StoreError: A file or a directory is a symbolic link.
    """
    own = (layout.key, layout.seed, layout.spec, layout.begun, layout.lock)
    for path in (*own, layout.provenance, layout.outcomes, layout.traces, layout.journal):
        if path.is_symlink():
            message = f"{path} is a symbolic link, and nothing is written through one."
            raise StoreError(message, "Put the file itself there, or choose another --out.")


@contextmanager
def locked(layout: Layout, timeout: float = 0) -> Iterator[None]:
    """Hold the lock of an evaluation, or fail if another process holds it.

    The operating system releases the lock when its holder dies; the lock file stays.

    Args:
        layout: The evaluation.
        timeout: For how many seconds to wait for it.

    Raises:
        StoreError: Another process holds it.
    """
    lock = FileLock(layout.lock, timeout=timeout, thread_local=False)
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


def is_locked(layout: Layout) -> bool:
    """Whether a process holds the lock, which is as it was afterwards."""
    try:
        import fcntl
    except ImportError:  # Windows
        try:
            with locked(layout):
                return False
        except StoreError:
            return True
    try:
        with layout.lock.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return True
    except FileNotFoundError:
        return False
    except OSError as error:
        raise read_error(error, layout.lock) from error
    return False
