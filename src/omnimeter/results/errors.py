"""Errors of the store: what the user is told when a file cannot be written or read."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from omnimeter.contract.errors import StoreError

_SAFE = "Everything stored so far is safe."
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_NOT_A_DIRECTORY = {errno.ENOTDIR, errno.EEXIST}


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
        if error.errno in _FULL:
            message = f"There is no space left to write {path} ({reason})."
            advice = f"Free some space and run the same command again: it will continue. {_SAFE}"
        elif error.errno in _FORBIDDEN:
            message = f"{path} may not be written ({reason})."
            advice = f"Choose another directory with --out, or allow writing there. {_SAFE}"
        elif error.errno in _NOT_A_DIRECTORY:
            message = f"{path} cannot be a directory: a file has that name ({reason})."
            advice = "Choose another directory with --out."
        else:
            message = f"{path} cannot be written ({reason})."
            advice = f"Fix the cause and run the same command again: it will continue. {_SAFE}"
        raise StoreError(message, advice) from error


def read_error(error: OSError, path: Path) -> StoreError:
    """The error for a file that the system does not let us read."""
    return StoreError(
        f"{path} cannot be read ({error.strerror or error}).",
        "Check that it exists and that you may read it.",
    )


def damage_error(path: Path, reason: object) -> StoreError:
    """The error for a shard that does not hold what was once written to it."""
    advice = "Remove that file and run the same command again: those exercises will be run again."
    if path.parent.name == "traces":
        advice = (
            "Remove that file to continue without its traces; remove the file of the same name in "
            "'outcomes' too, and those exercises will be run again."
        )
    return StoreError(f"{path} is damaged ({reason}).", advice)


def newer_format_error(path: Path, version: int) -> StoreError:
    """The error for a file that a newer Omnimeter wrote."""
    return StoreError(
        f"{path} was written by a newer Omnimeter (format {version}).", "Update Omnimeter."
    )
