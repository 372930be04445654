"""Who may write: one process at a time, and a killed one stands in nobody's way."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import FileLock, Timeout

from omnimeter.contract import StoreError
from omnimeter.results.durable import explained


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
