"""How a file is written so that it is there whole or not at all, and stays there."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from omnimeter.results.refusals import refusal

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
    """Make a directory and those above it, as lasting as a file that was written.

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
