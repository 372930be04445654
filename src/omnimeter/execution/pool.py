"""Worker processes: each carries out one task at a time, and ends with the process that began it.

A worker tells every finished exercise as soon as it is done. So it is known which one was under way
when a worker ends or takes too long, and whose fault that is (``docs/standard.md``, section 8).
"""

from __future__ import annotations

import atexit
import ctypes
import gc
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from functools import cache
from multiprocessing.connection import Connection, wait
from pathlib import Path
from queue import SimpleQueue
from threading import Thread, current_thread, main_thread
from time import monotonic
from typing import Any, TypeVar
from typing import Protocol as StructuralType

from omnimeter.caching import announce
from omnimeter.catalogue import objects
from omnimeter.catalogue.loading import files_in, load_files, loaded_files
from omnimeter.contract import Fault, InvalidInputError, OmnimeterError, Spec
from omnimeter.contract.prior import Preparation
from omnimeter.execution.preparing import Prepared, machine, prepare
from omnimeter.execution.workers import (
    MARGIN,
    TRIES,
    End,
    ExerciseRunner,
    Options,
    exposed,
    is_isolated,
    runner_for,
)

R = TypeVar("R")

START = 120.0
"""Seconds in which a worker must be ready for its first task."""

SLICE = 0.5
"""Seconds after which silent workers are checked: their children may hold their channels open."""

TOGETHER = 0.005
"""Seconds within which results are sent together."""

LAST_MOMENT = 3.0
"""Seconds that a worker without a task gets to end the processes of its agents, and itself."""

TAIL = 4000
"""Bytes of error output that are kept of a worker that ended."""

SIGNALS = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP}
"""What ends an evaluation is for the main process to handle; a terminal sends it to all."""


class Task(StructuralType[R]):
    """Something to be carried out in this process or in a worker: a ``Job`` is one."""

    @property
    def agents(self) -> tuple[Spec, ...]:
        """The agents that take part."""
        ...

    @property
    def results(self) -> int:
        """How many results it has."""
        ...

    @property
    def whole(self) -> bool:
        """Whether its results only count together."""
        ...

    @property
    def keeps_others(self) -> bool:
        """Whether the processes of other agents are kept meanwhile."""
        ...

    def seconds(self, options: Options, done: int) -> float:
        """The longest that the rest of it may take, when so many results are there."""
        ...

    def needs_worker(self, options: Options) -> bool:
        """Whether it has untrusted code in it that could end the process which carries it out."""
        ...

    def carry_out(self, runner: ExerciseRunner) -> Iterator[R]:
        """Its results, in order."""
        ...

    def lost(self, finished: Sequence[R], end: End) -> tuple[Sequence[R], Sequence[Task[R]]]:
        """What becomes of it when its process ends: results, and tasks to be done instead."""
        ...


@dataclass(frozen=True)
class _Alone:
    """A task of one agent with one result."""

    agent: Spec
    results = 1
    whole = False
    keeps_others = True

    @property
    def agents(self) -> tuple[Spec, ...]:
        return (self.agent,)

    def needs_worker(self, options: Options) -> bool:
        return bool(exposed(self.agents, options))


Loaded = tuple[Spec, Fault | None]


@dataclass(frozen=True)
class Loading(_Alone):
    """Finds out whether an agent can be made, or the input is wrong.

    An agent whose own code fails is no error here: its exercises end in faults. The result is the
    agent with that fault if it hangs; else with ``None``.
    """

    def seconds(self, options: Options, done: int) -> float:  # noqa: ARG002 - see Task
        """As long as an agent may take to begin."""
        return 2 * options.limits.seconds_to_begin + 2 * MARGIN

    def carry_out(self, runner: ExerciseRunner) -> Iterator[Loaded]:
        """Make the agent."""
        yield self.agent, runner.load(self.agent)

    def lost(
        self,
        finished: Sequence[Loaded],  # noqa: ARG002 - see Task
        end: End,  # noqa: ARG002
    ) -> tuple[Sequence[Loaded], Sequence[Loading]]:
        """Its exercises are going to tell."""
        return [(self.agent, None)], []


@dataclass(frozen=True)
class Preparing(_Alone):
    """The offline phase of an agent, for a preparation; how often it was tried before."""

    preparation: Preparation
    options: Options
    tried: int = 0

    def seconds(self, options: Options, done: int) -> float:  # noqa: ARG002 - see Task
        """As long as an offline phase may take."""
        limits = options.limits
        return limits.seconds_to_prepare + 2 * limits.seconds_to_begin + 2 * MARGIN

    def prepare(self) -> Prepared:
        """Carry it out in this process, unless that was done before."""
        isolated = is_isolated(self.agent, self.options.isolation)
        limits, sandbox = self.options.limits, self.options.sandbox
        return prepare(
            self.agent, self.preparation, isolated=isolated, limits=limits, sandbox=sandbox
        )

    def carry_out(self, runner: ExerciseRunner) -> Iterator[Prepared]:  # noqa: ARG002 - see Task
        """What the agent prepared."""
        yield self.prepare()

    def lost(
        self,
        finished: Sequence[Prepared],  # noqa: ARG002 - see Task
        end: End,
    ) -> tuple[Sequence[Prepared], Sequence[Preparing]]:
        """Try it again, or let all exercises end in the fault."""
        if not (end.culprits or end.final) and self.tried + 1 < TRIES:
            return [], [replace(self, tried=self.tried + 1)]
        return [self.failed(end.fault(self.agent))], []

    def failed(self, fault: Fault) -> Prepared:
        """An offline phase that could not be carried out."""
        return Prepared(self.agent, self.preparation, {}, 0.0, None, machine(), fault)


class Work(StructuralType):
    """Carries out tasks and gives each result as soon as it is there, in whatever order."""

    def __call__(
        self, tasks: Iterable[Task[R]], begin: Callable[[Task[R]], None] | None = None
    ) -> Iterator[R]:
        """Take one task after the other; ``begin`` is told of each before it is begun."""
        ...


@contextmanager
def worker_pool(options: Options) -> Iterator[Work]:
    """A function that carries out tasks, in as many processes as the options say.

    With one worker tasks are carried out in this process; but those with untrusted code in them,
    which could end it, are carried out in a worker.
    """
    pool, runner = WorkerPool(options), runner_for(options)
    try:
        yield _work(options, pool, runner)
    finally:
        try:
            pool.dismiss()
        finally:
            runner.close()


@cache
def work_within(runner: ExerciseRunner, options: Options) -> Work:
    """The same for a task that has tasks of its own; its workers end with this process."""
    return _work(options, WorkerPool(options), runner)


def _work(options: Options, pool: WorkerPool, runner: ExerciseRunner) -> Work:
    def work(
        tasks: Iterable[Task[R]], begin: Callable[[Task[R]], None] | None = None
    ) -> Iterator[R]:
        if options.workers > 1:
            yield from pool.work(tasks, begin)
            return
        for task in tasks:
            if task.needs_worker(options) and _can_be_sent():
                yield from pool.work([task], begin)
            else:
                if begin is not None:
                    begin(task)
                yield from task.carry_out(runner)

    return work


def _can_be_sent() -> bool:
    """Whether the Python objects in use can be sent to a worker; it is told if they cannot."""
    try:
        objects.pack()
    except InvalidInputError as error:
        announce(f"Untrusted parts run in this process. {error.message}", warn=True)
        return False
    return True


@dataclass(eq=False)
class _Worker:
    """A worker process, as the pool knows it."""

    process: subprocess.Popen[bytes]
    channel: Connection
    deadline: float
    log: Path | None = None  # of its error output
    ready: bool = False
    task: Task[Any] | None = None
    finished: list[Any] = field(default_factory=list)  # results of the task
    abandoned: bool = False  # the results of the task are no longer wanted
    hosted: set[Spec] = field(default_factory=set)  # agents whose processes it may keep

    @property
    def idle(self) -> bool:
        return self.ready and self.task is None


class WorkerPool:
    """Worker processes, which are started when there is work for them.

    Args:
        options: How to run, and how many workers there are.
        logs: The directory for their error output; by default it goes where ours does.
    """

    def __init__(self, options: Options, logs: Path | None = None) -> None:
        self._options, self._logs = options, logs
        self._started = 0
        self._workers: list[_Worker] = []
        self._failures = 0  # of workers in a row that ended before they were ready
        self._errors: list[Exception] = []  # which tasks raised

    def work(
        self, tasks: Iterable[Task[R]], begin: Callable[[Task[R]], None] | None = None
    ) -> Iterator[R]:
        """Each result, in whatever order; see ``Work``."""
        source, more, waiting = iter(tasks), True, deque[Task[R]]()
        try:
            while True:
                for worker in [each for each in self._workers if each.idle]:
                    if worker.process.poll() is not None:  # nothing was under way
                        self._lost(worker, late=False)
                free = [each for each in self._workers if each.task is None]
                room = self._options.workers - len(self._workers)
                while more and len(waiting) < len(free) + room:
                    if (task := next(source, None)) is None:
                        more = False
                    else:
                        waiting.append(task)
                for _ in range(min(room, len(waiting) - len(free))):
                    self._start()
                for worker in [each for each in self._workers if each.idle][: len(waiting)]:
                    self._send(worker, waiting.popleft(), begin)
                busy = [each for each in self._workers if each.task and not each.abandoned]
                if not (waiting or more or busy):
                    return
                results, again = self._next_results()
                waiting.extendleft(reversed(again))
                yield from results
                if self._errors:
                    raise self._errors.pop()
        finally:
            for worker in self._workers:
                worker.abandoned = worker.task is not None

    def _start(self) -> None:
        """Start a worker.

        Raises:
            OmnimeterError: The system does not let us.
        """
        packed = objects.pack()
        ours, theirs = socket.socketpair()
        # Until the worker can handle signals it does not get any: Ctrl-C gives no traceback.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        self._started += 1
        log = None if self._logs is None else self._logs / f"{self._started}.err"
        try:
            with nullcontext() if log is None else log.open("wb") as errors:
                process = subprocess.Popen(COMMAND, stdin=theirs.fileno(), stderr=errors)
        except OSError as error:
            ours.close()
            if not self._workers:
                message = f"A worker process cannot be started: {error.strerror or error}."
                raise OmnimeterError(message, "Give fewer workers, or free some memory.") from error
            announce(f"There are only {len(self._workers)} workers: {error}.", warn=True)
            self._options = replace(self._options, workers=len(self._workers))
            return
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
            theirs.close()
        channel = Connection(ours.detach())
        if not self._workers:
            atexit.register(self.dismiss)
        self._workers.append(_Worker(process, channel, monotonic() + START, log))
        # A thread that ends takes with it what it has started, if that is asked for (prctl(2)).
        follow = current_thread() is main_thread()
        with suppress(OSError):  # it has ended already, which is noticed below
            channel.send((sys.path, os.getpid(), follow))
            channel.send((self._options, packed, loaded_files()))

    def _send(
        self, worker: _Worker, task: Task[R], begin: Callable[[Task[R]], None] | None
    ) -> None:
        if begin is not None:
            begin(task)
        worker.task, worker.finished, worker.abandoned = task, [], False
        worker.deadline = monotonic() + task.seconds(self._options, 0)
        worker.hosted = {*task.agents, *(worker.hosted if task.keeps_others else ())}
        with suppress(OSError):  # it has ended, which is noticed by the next result
            worker.channel.send(task)

    def _next_results(self) -> tuple[list[Any], list[Task[Any]]]:
        """Wait for results; give them, and tasks that have to be done again."""
        active = [each for each in self._workers if not each.idle]
        left = min(each.deadline for each in active) - monotonic()
        heard = wait([each.channel for each in active], max(0.0, min(left, SLICE)))
        ready = [each for each in active if each.channel in heard]
        results: list[Any] = []
        again: list[Task[Any]] = []
        for worker in active:
            alive = worker.process.poll() is None
            try:
                while worker in ready or (not alive and worker.channel.poll()):
                    results += self._received(worker, worker.channel.recv())
                    if not worker.channel.poll():
                        break
            except (EOFError, OSError):
                alive = False
            late = alive and not worker.idle and monotonic() > worker.deadline
            if not alive or (late and worker not in ready):
                given, instead = self._lost(worker, late)
                results += given
                again += instead
        return results, again

    def _received(self, worker: _Worker, message: list[Any] | Exception | None) -> list[Any]:
        """Take up a message: the worker is ready, some results, or an exception."""
        if message is None:
            worker.ready, self._failures = True, 0
            return []
        task, abandoned = worker.task, worker.abandoned
        if isinstance(message, Exception):
            worker.task = None
            self._errors += [] if abandoned else [message]
            return []
        assert task is not None  # what the results are of
        worker.finished += message
        given = [] if task.whole else message
        if len(worker.finished) == task.results:
            worker.task = None
            given = worker.finished if task.whole else message
        worker.deadline = monotonic() + task.seconds(self._options, len(worker.finished))
        return [] if abandoned else given

    def _lost(self, worker: _Worker, late: bool) -> tuple[Sequence[Any], Sequence[Task[Any]]]:
        """What becomes of the task of a worker that has ended, or takes too long."""
        self._workers.remove(worker)
        code = _end(worker)
        task = worker.task
        if not worker.ready:
            self._failures += 1
            if self._failures >= TRIES:
                why = f"took longer than {START:g} s" if late else f"ended ({_how(code)})"
                raise OmnimeterError(
                    f"A worker process {why} before it was ready, {TRIES} times in a row.",
                    "Its last output tells why. Give workers=1, or free some memory.",
                )
        if task is None or worker.abandoned:
            return [], []
        culprits = exposed(worker.hosted, self._options)
        if not culprits <= set(task.agents):
            culprits = set()  # it may have been another one than those of the task
        if late:
            message = "It took too long, and its process was ended."
        else:
            message = f"The process that carried it out ended ({_how(code)})."
        output = "" if worker.log is None else tail_of(worker.log)
        return task.lost(worker.finished, End(message, frozenset(culprits), late, output))

    def dismiss(self) -> None:
        """End all workers; those without a task end the processes of their agents first."""
        atexit.unregister(self.dismiss)
        workers, self._workers = self._workers, []
        for worker in workers:
            if worker.idle:
                with suppress(OSError):
                    worker.channel.send(None)
            else:
                worker.process.kill()
        deadline = monotonic() + LAST_MOMENT
        for worker in workers:
            with suppress(subprocess.TimeoutExpired):
                worker.process.wait(max(0.0, deadline - monotonic()))
            _end(worker)


def _end(worker: _Worker) -> int:
    """End a worker that may have ended already; its exit code."""
    worker.process.kill()
    worker.channel.close()
    return worker.process.wait()


def tail_of(path: Path, offset: int = 0) -> str:
    """The end of a file of output, of what follows an offset; nothing if there is none."""
    with suppress(OSError), path.open("rb") as file:
        file.seek(max(offset, file.seek(0, os.SEEK_END) - TAIL))
        return file.read(TAIL).decode(errors="replace").strip()
    return ""


def _how(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with suppress(ValueError):  # a number without a name
        return f"signal {signal.Signals(-code).name}"
    return f"signal {-code}"


COMMAND = (sys.executable, "-c", "from omnimeter.execution.pool import serve; serve()")
"""The program of a worker, which talks on its standard input. No secret is in it."""


def serve() -> None:
    """Be a worker: carry out tasks until the other end of the channel is closed."""
    channel = Connection(os.dup(0))
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    sys.path[:], parent, follow = channel.recv()
    if follow:
        _end_with(parent)
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    options, packed, files = channel.recv()
    objects.receive(packed)
    tasks: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(channel, tasks), daemon=True).start()
    load_files(files)
    gc.freeze()  # all that was imported stays, and need not be looked at again and again
    channel.send(None)
    runner = runner_for(options)
    try:
        with files_in(options.folder):
            while (task := pickle.loads(tasks.get())) is not None:
                _carry_out(task, runner, channel)
    finally:
        runner.close()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # nothing is left to be tidied up, which would take time


def _carry_out(task: Task[Any], runner: ExerciseRunner, channel: Connection) -> None:
    """Send each result of a task, or those of a moment together, or the exception that it raises.

    Where it matters which exercise was the last, a task has only one, or its results count
    together.
    """
    finished: list[Any] = []
    sent = monotonic()
    try:
        for number, result in enumerate(task.carry_out(runner), start=1):
            finished.append(result)
            if task.whole or number == task.results or monotonic() - sent > TOGETHER:
                channel.send(finished)
                finished, sent = [], monotonic()
    except Exception as error:
        channel.send(_sendable(error))


def _sendable(error: Exception) -> Exception:
    """The exception, or its text if it cannot be pickled."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


def _receive(channel: Connection, tasks: SimpleQueue[bytes]) -> None:
    """Receive tasks; end this process when the other end is gone, whatever it does just now."""
    with suppress(EOFError, OSError):
        while True:
            tasks.put(channel.recv_bytes())
    os._exit(1)


def _end_with(parent: int) -> None:
    """Let the system end this process with its parent, where it can (Linux)."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, int(signal.SIGKILL), 0, 0, 0)  # PR_SET_PDEATHSIG
    if os.getppid() != parent:  # which ended before
        os._exit(1)
