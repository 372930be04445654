"""Ray as the engine of a campaign: units are its tasks, and receipts are all that they give back.

Workers share a file system with the campaign and store there what they finish. What Ray is trusted
with, and what it is not, is in ``docs/cluster.md``.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any

from omnimeter.contract import InvalidInputError, OmnimeterError
from omnimeter.execution.pool import tail_of
from omnimeter.execution.units import (
    Executor,
    Receipt,
    Tell,
    Unit,
    Wanted,
    carry_out,
    unfinished,
)
from omnimeter.execution.workers import TRIES, cores

GRACE = 20.0
"""Seconds that workers get to store what they have when a campaign is interrupted."""

STORE_BYTES = 80 * 2**20
"""Size of the object store of a cluster that we start: receipts are small. Ray's least is 75 MB."""

LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""Ray's switch for clusters of several machines. Without them it uses the loopback address only,
on Linux as well; with them it listens on all addresses of the machine, whatever it is told."""


def ray_executor(workers: int | None = None, address: str | None = None) -> Executor:
    """An executor whose units are tasks of Ray.

    Args:
        workers: How many units are carried out at once; by default as many as there are
            processors.
        address: Where a cluster is running already, as for ``ray.init``. Without it one is started
            that only this user can reach, on the loopback address, and ended afterwards.

    Raises:
        InvalidInputError: Ray is not installed, or was imported in a way that is not safe.
    """

    def execute(units: Sequence[Unit], tell: Tell) -> None:
        if units:
            with _local_cluster(workers) if address is None else _cluster(address) as ray:
                there = int(ray.cluster_resources().get("CPU", 1))
                # A cluster of ours runs no more than it has processors for. Those that wait for
                # one keep it busy while the receipt of the one before is on its way.
                ahead = workers if address and workers else 2 * there
                _with_ray(ray, units, tell, max(1, ahead))

    return execute


def _with_ray(ray: Any, units: Sequence[Unit], tell: Tell, ahead: int) -> None:
    """Carry out units, so many submitted at a time; deaths of workers are counted here."""
    errors = ray.exceptions
    died = (errors.WorkerCrashedError, errors.OutOfMemoryError, errors.NodeDiedError)
    task = ray.remote(num_cpus=1, max_retries=0)(_ray_task)
    wanted, pending, deaths = Wanted(units, tell), dict[Any, Unit](), Counter[str]()
    try:
        while True:
            while len(pending) < ahead and (unit := next(wanted, None)) is not None:
                pending[task.remote(unit)] = unit
            if not pending:
                return
            (done,), _ = ray.wait(list(pending), num_returns=1)
            unit = pending.pop(done)
            try:
                receipt = ray.get(done)
                wanted.tell(receipt)
                tell(receipt)
            except died as error:
                deaths[unit.key] += 1
                if not (left := unfinished([unit], {})):  # it died before it could tell
                    tell(Receipt(unit.key, 0, 0.0))
                elif deaths[unit.key] < TRIES:
                    pending[task.remote(left[0])] = left[0]
                    continue
                else:
                    why = f"Its worker died {TRIES} times, the last time by a "
                    why, tail = f"{why}{type(error).__name__}.", tail_of(error_log(unit))
                    tell(Receipt(unit.key, 0, 0.0, "quarantined", (), why, tail))
            except errors.RayTaskError as error:
                raise error.cause from None
            error_log(unit).unlink(missing_ok=True)
    except errors.RaySystemError as error:
        message = f"The Ray cluster is gone ({first_line(error)})."
        advice = "What is finished is stored: run the same command again."
        raise OmnimeterError(message, advice) from error
    finally:
        for each in pending:  # a unit under way stores what it has
            ray.cancel(each)
        if pending:
            ray.wait(list(pending), num_returns=len(pending), timeout=GRACE)


def _ray_task(unit: Unit) -> Receipt:
    """Carry out a unit in a worker of Ray. Its error output goes to a file next to the campaign."""
    os.environ.pop("RAY_AUTH_TOKEN", None)  # no agent inherits it
    # By which a task is cancelled; a command that was started in the background ignores it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    log = error_log(unit)
    log.parent.mkdir(parents=True, exist_ok=True)
    sys.stderr.flush()
    before, mine = os.dup(2), os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    os.dup2(mine, 2)
    os.close(mine)
    try:
        return carry_out(unit)
    finally:
        sys.stderr.flush()
        os.dup2(before, 2)
        os.close(before)


@contextmanager
def _local_cluster(workers: int | None) -> Iterator[Any]:
    """Ray on this machine: on the loopback address, with a secret token and no statistics."""
    if "ray" in sys.modules and os.environ.get(LOOPBACK) != "0":
        raise InvalidInputError(
            "Ray was imported before, so that it would listen on all addresses of this machine.",
            f"Set {LOOPBACK}=0 before it is imported, or give the address of a running cluster.",
        )
    os.environ[LOOPBACK] = "0"  # which Ray reads once, when it is imported
    settings = {
        "RAY_AUTH_MODE": "token",
        "RAY_AUTH_TOKEN": _token(),
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    before = {name: os.environ.get(name) for name in settings}
    # Not where temporary files are elsewhere: the path of a socket has 107 characters at the most.
    directory = tempfile.mkdtemp(prefix="omnimeter-ray-", dir="/tmp")
    os.environ |= settings
    try:
        with _cluster(
            None,
            num_cpus=workers or cores(),
            num_gpus=0,
            include_dashboard=False,
            object_store_memory=STORE_BYTES,
            _node_ip_address="127.0.0.1",
            _temp_dir=directory,
        ) as ray:
            if any(not each["NodeManagerAddress"].startswith("127.") for each in ray.nodes()):
                raise OmnimeterError(
                    "Ray does not keep to the loopback address, so it was ended.",
                    "Use another version of Ray, or give the address of a running cluster.",
                )
            yield ray
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _cluster(address: str | None, **options: Any) -> Iterator[Any]:
    """Ray, connected to a cluster or to one that is started now."""
    try:
        import ray
    except ImportError as error:
        advice = "Install it: pip install 'omnimeter[cluster]'."
        raise InvalidInputError("Ray is not installed.", advice) from error
    handlers = {}
    if current_thread() is main_thread():  # Ray replaces what the command does on SIGTERM
        handlers = {each: signal.getsignal(each) for each in (signal.SIGINT, signal.SIGTERM)}
    try:
        ray.init(address or "local", log_to_driver=False, logging_level="critical", **options)
    except (ConnectionError, RuntimeError, ray.exceptions.RayError) as error:
        where = "cannot be started" if address is None else f"at {address} cannot be used"
        advice = "Check its address, and its token (docs/cluster.md)."
        raise OmnimeterError(f"Ray {where} ({first_line(error)}).", advice) from error
    try:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        yield ray
    finally:
        ray.shutdown()


@cache
def _token() -> str:
    """The secret of this process's clusters: Ray reads it once."""
    return secrets.token_hex(32)


def error_log(unit: Unit) -> Path:
    """The file of the error output of a unit's worker, in the campaign."""
    return Path(unit.directory).parent.parent / "cluster" / f"{unit.key}.err"


def first_line(error: BaseException) -> str:
    """The first line of what an error says."""
    return (str(error).strip() or type(error).__name__).splitlines()[0]
