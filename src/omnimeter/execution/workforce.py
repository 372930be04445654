"""Who does the work: this process, or several beside it. The outcomes are the same."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from itertools import groupby
from multiprocessing import get_context

import numpy as np

from omnimeter.contract import Ending, Exercise, Fault, FaultKind, Outcome, Payoff, Trace
from omnimeter.execution.conduct import Conductor, Isolation, outcome_of, run_of
from omnimeter.interaction.limits import Limits

Finished = tuple[Outcome, Trace | None]

TRIES = 3
"""How often an exercise is tried that takes its worker down with it."""


@dataclass(frozen=True)
class Options:
    """How to run, which does not change what comes out.

    Attributes:
        workers: How many processes carry out exercises.
        isolation: Where agents sit.
        limits: What an agent in its own process may use.
    """

    workers: int = 1
    isolation: Isolation = Isolation.AUTO
    limits: Limits = Limits()


@dataclass(frozen=True)
class Job:
    """Some exercises in one class, of one agent alone or of one company.

    Attributes:
        exercises: The exercises. Those of a joint run stand next to each other.
        payoff: What judges their traces.
        keep: Whether the traces are kept.
    """

    exercises: tuple[Exercise, ...]
    payoff: Payoff
    keep: bool

    def singly(self) -> Iterator[Job]:
        """The same work, one run at a time."""
        return (replace(self, exercises=tuple(run)) for _, run in groupby(self.exercises, run_of))


@contextmanager
def workforce(options: Options) -> Iterator[Callable[[Iterable[Job]], Iterator[Finished]]]:
    """A function that carries out jobs and gives each finished exercise as soon as it is there."""
    if options.workers > 1:
        crew = _Crew(options)
        try:
            yield crew.work
        finally:
            crew.dismiss()
    else:
        with closing(Conductor(options.isolation, options.limits)) as conductor:
            yield lambda jobs: (done for job in jobs for done in _carry_out(job, conductor))


def _carry_out(job: Job, conductor: Conductor) -> Iterator[Finished]:
    for outcome, trace in conductor.outcomes(job.exercises, job.payoff, record=job.keep):
        yield outcome, trace if job.keep else None


class _Crew:
    """Processes beside this one. Work that brings one down is tried again, alone, then given up."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._pool = self._hire()

    def _hire(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._options.workers,
            mp_context=get_context("spawn"),
            initializer=_begin_shift,
            initargs=(self._options.isolation, self._options.limits),
        )

    def work(self, jobs: Iterable[Job]) -> Iterator[Finished]:
        """Each finished exercise, in whatever order."""
        lost = yield from self._together(jobs)
        if lost:  # whoever brought the crew down is among them, and innocent work too
            self._renew()
            lost = yield from self._together(lost)
        if lost:
            self._renew()
        for job in lost:
            for single in job.singly():
                yield from self._insist(single)

    def _together(self, jobs: Iterable[Job]) -> Generator[Finished, None, list[Job]]:
        """Do all jobs at once; give back those that were lost with a worker."""
        futures: dict[Future[list[Finished]], Job] = {}
        lost: list[Job] = []
        for job in jobs:
            try:
                futures[self._pool.submit(_work, job)] = job
            except BrokenProcessPool:
                lost.append(job)
        for future in as_completed(futures):
            try:
                yield from future.result()
            except BrokenProcessPool:
                lost.append(futures[future])
        return lost

    def _insist(self, job: Job) -> list[Finished]:
        for _ in range(TRIES):
            try:
                return self._pool.submit(_work, job).result()
            except BrokenProcessPool:
                self._renew()
        fault = Fault(
            FaultKind.INFRASTRUCTURE, f"The process that carried it out died {TRIES} times."
        )
        nothing = Trace(np.empty(0), np.empty(0, dtype=np.int64), 0, Ending.FAULT, fault=fault)
        return [(outcome_of(exercise, nothing, job.payoff), None) for exercise in job.exercises]

    def _renew(self) -> None:
        self.dismiss()
        self._pool = self._hire()

    def dismiss(self) -> None:
        """End all processes at once."""
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


_conductor: Conductor | None = None
"""The conductor of a process of the crew."""


def _begin_shift(isolation: Isolation, limits: Limits) -> None:
    global _conductor  # noqa: PLW0603 - a worker process has no other place for what it keeps
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the main process's to handle
    _conductor = Conductor(isolation, limits)


def _work(job: Job) -> list[Finished]:
    assert _conductor is not None  # set at the beginning of the shift
    return list(_carry_out(job, _conductor))
