"""Errors of the store: what to tell a person when the disk refuses or a file is damaged."""

from __future__ import annotations

import errno
from pathlib import Path

from omnimeter.contract.errors import StoreError

_SAFE = "Everything stored so far is safe."
_FULL = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
_FORBIDDEN = {errno.EACCES, errno.EPERM, errno.EROFS}
_IN_THE_WAY = {errno.ENOTDIR, errno.EEXIST}


def refusal(error: OSError, path: Path) -> StoreError:
    """The error for a person when a file or directory cannot be written."""
    reason = error.strerror or str(error)
    if error.errno in _FULL:
        return StoreError(
            f"There is no room to write {path} ({reason}).",
            f"Make room and run the same command again: it will continue. {_SAFE}",
        )
    if error.errno in _FORBIDDEN:
        return StoreError(
            f"{path} may not be written ({reason}).",
            f"Choose another directory with --out, or allow writing there. {_SAFE}",
        )
    if error.errno in _IN_THE_WAY:
        return StoreError(
            f"{path} cannot be a directory: a file is in the way ({reason}).",
            "Choose another directory with --out.",
        )
    return StoreError(
        f"{path} cannot be written ({reason}).",
        f"Mend the cause and run the same command again: it will continue. {_SAFE}",
    )


def unreadable(error: OSError, path: Path) -> StoreError:
    """The error for a person when the system does not let a file be read."""
    return StoreError(
        f"{path} cannot be read ({error.strerror or error}).", "Check that it is there and yours."
    )


def damaged(path: Path, reason: object) -> StoreError:
    """The error for a person when a shard does not hold what was once written to it."""
    if path.parent.name == "traces":
        advice = (
            "Remove that file to go on without its traces; remove the file of the same name in "
            "'outcomes' too, and those exercises will be run again."
        )
    else:
        advice = (
            "Remove that file and run the same command again: those exercises will be run again."
        )
    return StoreError(f"{path} is damaged ({reason}).", advice)


def too_new(path: Path, version: int) -> StoreError:
    """The error for a person when a newer Omnimeter wrote a file."""
    return StoreError(
        f"{path} was written by a newer Omnimeter (format {version}).", "Update Omnimeter."
    )
