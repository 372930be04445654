"""Journals of exercises under way: every answer of a costly agent survives a crash.

A journal is a file of lines ``LENGTH DIGEST JSON``. The first is its header, each further one an
interaction. The digest of a line depends on the header too, so that no line of another journal
passes for one of this, and each line has its number.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple, Self

from omnimeter.contract.errors import DamagedError, StoreError
from omnimeter.results import files
from omnimeter.results.files import newer_format_error, read_error, write_errors

FORMAT = 1
"""The format of journals; the first line of every format has its number."""

_SEED = b"omnimeter-journal"
_HEAD = re.compile(rb"(\d{1,9}) [0-9a-f]{32} ")
_LATER = re.compile(rb"(?=\d{1,9} [0-9a-f]{32} )")  # also within what looks like another head
_encode = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode


class Entry(NamedTuple):
    """One interaction.

    Attributes:
        reward: The reward that the agent was shown, for readers.
        shown: A digest of the reward and the observation.
        action: Its action, -1 to stop, or ``None`` if the time was over before it answered.
        seconds: The delay that it declared, if it did.
        elapsed: The nanoseconds that its answer took.
    """

    reward: float
    shown: str
    action: int | None
    seconds: float | None
    elapsed: int


class Log:
    """A file of lines of JSON data, open for its only writer, in which each survives a crash.

    What an interrupted write has left at its end is cut off.

    Args:
        path: Its file, which need not exist.
        header: What it is, if it is new: its first line.

    Attributes:
        lines: The data of the lines that were in it when it was opened, without the header.

    Raises:
        StoreError: It is damaged, of something else or of a newer format, or cannot be used.
    """

    def __init__(self, path: Path, header: Mapping[str, Any]) -> None:
        self.path, self.lines = path, list[dict[str, Any]]()
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        with write_errors(path):
            self._file = os.open(path, flags | getattr(os, "O_BINARY", 0), 0o600)
        try:
            self._lock()
            self._open(header)
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def add(self, data: Mapping[str, Any]) -> None:
        """Add a line, which survives a crash of the machine once this returns.

        Raises:
            StoreError: It could not be written.
        """
        content = _encode({"number": self._count, **data}).encode()
        self._write(_framed(content, self._seed))
        self._count += 1

    def close(self) -> None:
        """Close the file, and let others write it."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _lock(self) -> None:
        if os.name == "nt":  # which has no such locks; opening is not exclusive there
            return
        import fcntl

        with write_errors(self.path):
            try:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                message = f"{self.path} is being written by another process."
                advice = "Wait until it has finished: the exercise is under way there."
                raise StoreError(message, advice) from error

    def _check(self, told: Mapping[str, Any], header: Mapping[str, Any]) -> None:
        """Check that the header of the file is of what it should be."""

    def _open(self, given: Mapping[str, Any]) -> None:
        """Read what is there, and make the end of the file that of its last intact line."""
        content = _content(self.path)
        if b"\n" not in content:  # not even its first line was ever written
            header = _encode({"format": FORMAT, **given}).encode()
            self._seed, end, self._count = _digest(header, _SEED), 0, 0
            self._cut(content, end)
            self._write(_framed(header, _SEED))
            with write_errors(self.path):
                files.sync_directory(self.path.parent)
            return
        header, end = _header(self.path, content)
        self._check(json.loads(header), given)
        self._seed = _digest(header, _SEED)
        while (line := _line(content, end, self._seed)) is not None:
            data = json.loads(line)
            if data.pop("number") != len(self.lines):
                raise _damage(self.path, end, "its lines are not in order")
            self.lines.append(data)
            end += len(_framed(line, self._seed))
        self._count = len(self.lines)
        later = (each.start() for each in _LATER.finditer(content, end + 1))
        if any(_line(content, start, self._seed) is not None for start in later):
            raise _damage(self.path, end, "there are intact lines after it")
        self._cut(content, end)

    def _cut(self, content: bytes, end: int) -> None:
        if len(content) > end:
            with write_errors(self.path):
                os.ftruncate(self._file, end)
                os.fsync(self._file)

    def _write(self, line: bytes) -> None:
        rest = memoryview(line)
        try:
            with write_errors(self.path):
                while rest:
                    rest = rest[os.write(self._file, rest) :]
                os.fsync(self._file)
        except BaseException:
            self.close()  # nothing may follow a line that is not whole
            raise


class Journal(Log):
    """The journal of one exercise, open for its only writer.

    Args:
        path: Its file, which need not exist.
        key: The key of the exercise.
        attempt: How often the exercise was begun, if the journal is new.

    Attributes:
        past: The interactions that were in it when it was opened.

    Raises:
        StoreError: It is damaged, of another exercise or of a newer format, or cannot be used.
    """

    def __init__(self, path: Path, key: str, attempt: int) -> None:
        super().__init__(path, {"exercise": key, "attempt": attempt})
        self.past = [Entry(**data) for data in self.lines]

    def append(self, entry: Entry) -> None:
        """Add an interaction, which survives a crash of the machine once this returns.

        Raises:
            StoreError: It could not be written.
        """
        self.add(entry._asdict())

    def _check(self, told: Mapping[str, Any], header: Mapping[str, Any]) -> None:
        if told["exercise"] != header["exercise"]:
            message = f"{self.path} is the journal of another exercise, {told['exercise']}."
            raise DamagedError(message, "Give the file its own name again.")


def read_log(path: Path) -> list[dict[str, Any]]:
    """The data of the intact lines of a log, which another process may be writing.

    Raises:
        StoreError: It is damaged, or cannot be read.
    """
    content = _content(path) if path.exists() else b""
    if b"\n" not in content:
        return []
    header, end = _header(path, content)
    seed, lines = _digest(header, _SEED), []
    while (line := _line(content, end, seed)) is not None:
        lines.append({k: v for k, v in json.loads(line).items() if k != "number"})
        end += len(_framed(line, seed))
    return lines


@dataclass(frozen=True)
class Journals:
    """The journals of the exercises of an evaluation that are under way.

    Attributes:
        directory: Where they are. It is made when there is something to be written.
    """

    directory: str

    def path(self, key: str) -> Path:
        """The file of the journal of an exercise; it need not exist."""
        return Path(self.directory, f"{key}.journal")

    def keys(self) -> set[str]:
        """The keys of the exercises that have a journal.

        Raises:
            StoreError: The directory cannot be read.
        """
        try:
            names = [os.path.splitext(name) for name in os.listdir(self.directory)]
        except FileNotFoundError:
            return set()
        except OSError as error:
            raise read_error(error, Path(self.directory)) from error
        return {key for key, suffix in names if suffix == ".journal"}

    def __contains__(self, key: str) -> bool:
        return os.path.lexists(f"{self.directory}/{key}.journal")

    def attempt(self, key: str) -> int | None:
        """Which attempt of an exercise began its journal, if anything is in it.

        Raises:
            StoreError: It is damaged, or cannot be read.
        """
        content = _content(self.path(key)) if key in self else b""
        if b"\n" not in content:
            return None
        return int(json.loads(_header(self.path(key), content)[0])["attempt"])

    def open(self, key: str, attempt: int) -> Journal:
        """Open the journal of an exercise, for writing.

        Raises:
            StoreError: See ``Journal``.
        """
        files.make_directory(Path(self.directory), mode=0o700)
        return Journal(self.path(key), key, attempt)

    def remove(self, keys: Collection[str]) -> None:
        """Remove the journals of exercises of which the outcomes are stored.

        Raises:
            StoreError: One cannot be removed.
        """
        for key in keys:
            with write_errors(self.path(key)):
                self.path(key).unlink(missing_ok=True)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise read_error(error, path) from error


def _digest(content: bytes, seed: bytes) -> bytes:
    return blake2b(content, digest_size=16, key=seed).digest()


def _framed(content: bytes, seed: bytes) -> bytes:
    return b"%d %s %s\n" % (len(content), _digest(content, seed).hex().encode(), content)


def _line(content: bytes, start: int, seed: bytes) -> bytes | None:
    """What is in the line that begins there, if it is intact."""
    head = _HEAD.match(content, start)
    if head is None:
        return None
    inner = content[head.end() : head.end() + int(head[1])]
    framed = _framed(inner, seed)
    return inner if content[start : start + len(framed)] == framed else None


def _header(path: Path, content: bytes) -> tuple[bytes, int]:
    """The header of a journal, and where it ends."""
    header = _line(content, 0, _SEED)
    if header is None:
        raise _damage(path, 0, "it is the first line")
    version: Any = json.loads(header)["format"]
    if version > FORMAT:
        raise newer_format_error(path, version)
    return header, len(_framed(header, _SEED))


def _damage(path: Path, place: int, why: str) -> DamagedError:
    message = f"{path} is damaged at byte {place}: {why}, so that this was no interrupted write."
    anew = "; or remove it, and the exercise is begun anew" if path.suffix == ".journal" else ""
    advice = f"Restore the file from a copy{anew}."
    return DamagedError(message, advice)
