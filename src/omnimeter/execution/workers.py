"""Running exercises in one process or several, with agents in processes of their own."""

from __future__ import annotations

import signal
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, lru_cache, partial
from itertools import chain, groupby
from multiprocessing import get_context
from time import monotonic
from typing import Any

import numpy as np

from omnimeter.catalogue import Kind, inner_part, make, objects
from omnimeter.contract import (
    Agent,
    ClockKind,
    Ending,
    EnvironmentClass,
    Exercise,
    Fault,
    FaultKind,
    Outcome,
    Payoff,
    Spec,
    Trace,
)
from omnimeter.contract.protocol import Memory
from omnimeter.execution.preparing import Prepared, computation, machine, prior_of
from omnimeter.interaction import run
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.dispatch import can_run_compiled
from omnimeter.interaction.handles import AgentFault, AgentHandle, restore, view_of
from omnimeter.interaction.loop import build, seated
from omnimeter.interaction.process import AgentProcess, Limits
from omnimeter.interaction.sandbox import Sandbox, Sandboxing, sandbox_for

Finished = tuple[Outcome, Trace | None]

QUICK = 10.0
"""Seconds that an exercise may take to be run again, to see whether its agent is reproducible."""

AGAIN = 2.0
"""Seconds after which it is cut off then."""

LONG_ENOUGH = 10
"""Interactions of an exercise that is run again."""

DIFFERENT = {"reproducible": False}
"""The remark on an outcome whose exercise went otherwise when it was run again."""

TRIES = 3
"""How often an exercise is tried that ends its worker process."""


class Isolation(StrEnum):
    """Whether agents run in processes of their own.

    ``AUTO`` trusts what is installed and gives what comes from a file a process of its own.
    """

    AUTO = "auto"
    PROCESS = "process"
    NONE = "none"


def is_isolated(agent: Spec, isolation: Isolation) -> bool:
    """Whether an agent gets a process of its own; a Python object never does."""
    if objects.is_object(agent.id):
        return False
    if isolation is Isolation.AUTO:
        inner = inner_part(Kind.AGENT, agent, "agent")
        inside = inner is not None and is_isolated(inner, isolation)
        return inside or ":" in agent.id  # a place in a file or a module, not an id
    return isolation is Isolation.PROCESS


def make_environment_class(spec: Spec) -> EnvironmentClass:
    """The class of a spec, made once."""
    return _environment_class(spec, objects.generation())


@lru_cache(maxsize=16)
def _environment_class(spec: Spec, generation: int) -> EnvironmentClass:  # noqa: ARG001
    made: EnvironmentClass = make(Kind.ENVIRONMENT, spec)
    return made


def make_agent(spec: Spec) -> Agent:
    """A new agent in this process."""
    return adapt(make(Kind.AGENT, spec))


def batch_size(exercise: Exercise, isolation: Isolation) -> int:
    """How many runs like that of this exercise make a job of about a tenth of a second.

    Only compiled ones are quick enough for more than one.
    """
    members = agents_of(exercise)
    if any(is_isolated(member, isolation) for member in members):
        return 1
    environment_class = make_environment_class(exercise.environment_class)
    agents = [make_agent(member) for member in members]
    if not can_run_compiled(environment_class, agents, exercise):
        return 1
    work = sum(getattr(agent, "work", 1) for agent in agents)
    interactions = max(1, exercise.budget.max_interactions * work)
    return max(1, min(64, 5_000_000 // interactions))  # as many as compiled loops do in that time


def is_checkable(exercise: Exercise) -> bool:
    """Whether running an exercise again can show that its agent is not reproducible.

    That is so of agents from files and modules and of Python objects, alone and where no real time
    counts. What runs compiled gets all its randomness from us. A test of growing exercises begins
    with some that are too short to show anything.
    """
    agent, budget = exercise.agent, exercise.budget
    if exercise.clock.kind is not ClockKind.VIRTUAL or exercise.timeout or exercise.joint:
        return False
    if budget.max_interactions < LONG_ENOUGH:
        return False
    if is_isolated(agent, Isolation.AUTO):
        return True
    made = make_environment_class(exercise.environment_class)
    return objects.is_object(agent.id) and not can_run_compiled(made, [make_agent(agent)], exercise)


def agents_of(exercise: Exercise) -> tuple[Spec, ...]:
    """The agents in the environment: those of a joint run, or one agent."""
    return exercise.joint or (exercise.agent,)


def run_of(exercise: Exercise) -> str:
    """The key of the run of an exercise, which all agents of a joint run have in common."""
    return exercise.for_agent(exercise.joint[0]).key if exercise.joint else exercise.key


class ExerciseRunner:
    """Runs exercises of one agent, or joint runs, and keeps the agents' processes."""

    def __init__(
        self,
        isolation: Isolation = Isolation.AUTO,
        limits: Limits | None = None,
        prepared: Prepared | None = None,
        sandboxing: Sandboxing = Sandboxing.AUTO,
        hidden: tuple[str, ...] = (),
        privileged: bool = True,
    ) -> None:
        self.isolation = isolation
        self.limits = limits or Limits()
        self._sandboxing, self._hidden = sandboxing, hidden
        self._privileged = privileged  # whether all views are granted
        self._prepared = prepared  # by the agent of the present job
        self._processes: dict[Spec, AgentProcess] = {}
        self._views: dict[tuple[Spec, Spec], str | None] = {}  # privileged ones, by class and agent
        self._carried: dict[Spec, Agent] | None = None  # the agents of a carried sequence

    def close(self, keep: Sequence[Spec] = ()) -> None:
        """End the agents' processes, if there are any, but for those to keep."""
        for agent in [each for each in self._processes if each not in keep]:
            self._processes.pop(agent).close()

    def carry_out(self, job: Job) -> Iterator[Finished]:
        """Do a job; under ``carried`` one agent takes all of its exercises."""
        carried = job.memory == "carried"
        if (job.prepared and job.prepared.digest) != (self._prepared and self._prepared.digest):
            self.close()  # an agent's process has taken up something else
        self._prepared, self._privileged = job.prepared, job.privileged
        if carried:
            self.close()
            self._carried = {}
        try:
            for _, alike in groupby(job.exercises, lambda exercise: exercise.environment_class):
                record, before = job.keep or job.check is not None, monotonic()
                for outcome, trace in self.outcomes(tuple(alike), job.payoff, record=record):
                    checked = outcome
                    if outcome.exercise.key == job.check and monotonic() - before < QUICK:
                        checked = self._compared(outcome, trace)
                    yield checked, trace if job.keep else None
        finally:
            if carried:
                self.close()
                self._carried = None

    def _compared(self, outcome: Outcome, trace: Trace) -> Outcome:
        """The outcome with a remark if its exercise, run again by a new agent, goes otherwise.

        An agent with a process of its own gets a new one.
        """
        if trace.fault is not None:
            return outcome
        budget = replace(outcome.exercise.budget, wall_limit=AGAIN)
        with closing(self._like_this()) as other:
            (again,) = other.traces([replace(outcome.exercise, budget=budget)], record=True)
        seen = len(again)
        cut_off = again.ending is Ending.BUDGET and seen < len(trace)
        same = (cut_off or (seen, again.ending) == (len(trace), trace.ending)) and all(
            np.array_equal(getattr(trace, each)[:seen], getattr(again, each))
            for each in ("actions", "rewards", "times")
        )
        return outcome if same else replace(outcome, remarks={**outcome.remarks, **DIFFERENT})

    @cached_property
    def sandbox(self) -> Sandbox:
        """What contains the processes of agents, tried out when it is first needed."""
        return sandbox_for(self._sandboxing, self._hidden)

    def _like_this(self) -> ExerciseRunner:
        own = (self._sandboxing, self._hidden, self._privileged)
        return ExerciseRunner(self.isolation, self.limits, self._prepared, *own)

    def traces(self, exercises: Sequence[Exercise], *, record: bool = False) -> Iterator[Trace]:
        """The traces of some exercises, in order.

        Args:
            exercises: All in one class, and of one agent or of the same agents jointly. Those of
                the same joint run are next to each other: it is run once.
            record: Whether to keep actions and observations too.
        """
        first = exercises[0]
        specs = agents_of(first)
        if self._prepared is not None and self._prepared.fault is not None:
            for _ in exercises:
                yield failed(self._prepared.fault)
            return
        if first.budget.wall_limit is None:  # real time would be lost by starting a new process
            self.close(keep=specs)
        runs = [[each] for each in exercises]
        if first.joint:
            runs = [list(group) for _, group in groupby(exercises, run_of)]
        made = make_environment_class(first.environment_class)
        traces = run(
            made,
            [partial(self._handle, spec) for spec in specs],
            [group[0] for group in runs],
            record=record,
            refused=() if self._privileged else made.privileged,
        )
        for group, of_run in zip(runs, traces, strict=True):
            for exercise in group:
                yield of_run[specs.index(exercise.agent)]

    def outcomes(
        self, exercises: Sequence[Exercise], payoff: Payoff, *, record: bool = False
    ) -> Iterator[tuple[Outcome, Trace]]:
        """The outcome and the trace of each exercise, in order; see ``traces``."""
        for exercise, trace in zip(exercises, self.traces(exercises, record=record), strict=True):
            outcome = outcome_of(exercise, trace, payoff, self._prepared)
            if is_isolated(exercise.agent, self.isolation):
                contained = {"sandbox": self.sandbox.mechanism.value}
                outcome = replace(outcome, remarks={**outcome.remarks, **contained})
            if self._privileged and (view := self._privileged_view(exercise)):
                outcome = replace(outcome, remarks={**outcome.remarks, "privileged": view})
            yield outcome, trace

    def _privileged_view(self, exercise: Exercise) -> str | None:
        """The view that an agent has, if it tells what others have to find out."""
        made = make_environment_class(exercise.environment_class)
        if not made.privileged:
            return None
        key = exercise.environment_class, exercise.agent
        if key not in self._views:
            try:
                seen = seated(made, [view_of(self._handle(exercise.agent))])
                view = build(seen, replace(exercise, joint=()), 1).view_of(0)
            except AgentFault:  # which its trace has, too
                return None
            self._views[key] = view if view in made.privileged else None
        return self._views[key]

    def _handle(self, agent: Spec) -> Agent | AgentHandle:
        """A new agent in this process, or the handle of one in a process of its own."""
        told = self._prepared and (prior_of(self._prepared.preparation), self._prepared.content)
        if not is_isolated(agent, self.isolation):
            kept = {} if self._carried is None else self._carried
            if agent not in kept:
                kept[agent] = make_agent(agent)
                if told:
                    restore(kept[agent], *told)
            return kept[agent]
        if agent not in self._processes:
            carry, (prior, prepared) = self._carried is not None, told or (None, None)
            self._processes[agent] = AgentProcess(
                agent,
                self.limits,
                carry=carry,
                prior=prior,
                prepared=prepared,
                sandbox=self.sandbox,
            )
        return self._processes[agent]


def failed(fault: Fault) -> Trace:
    """The trace of an exercise that could not begin."""
    return Trace(np.empty(0), np.empty(0, dtype=np.int64), 0, Ending.FAULT, fault=fault)


def outcome_of(
    exercise: Exercise, trace: Trace, payoff: Payoff, prepared: Prepared | None = None
) -> Outcome:
    """Judge a trace. What a fault cut short is kept, but has no payoff."""
    remarks: dict[str, Any] = {} if prepared is None else {"offline": prepared.remark()}
    if trace.wall_ns is not None:
        remarks |= {"online": computation(trace), "machine": machine()}
    remark = getattr(payoff, "remarks", None)
    if remark is not None and trace.fault is None:
        remarks |= remark(trace)
    return Outcome(
        exercise=exercise,
        payoff=payoff(trace) if trace.fault is None else None,
        interactions=len(trace),
        total=float(trace.rewards.sum()),
        last_time=int(trace.times[-1]) if len(trace) else 0,
        end_ns=trace.end_ns,
        ending=trace.ending,
        first_reward=trace.first_reward,
        fault=trace.fault,
        remarks=remarks,
    )


@dataclass(frozen=True)
class Options:
    """How to run, which does not change what comes out.

    Attributes:
        workers: How many processes carry out exercises.
        isolation: Whether agents run in processes of their own.
        limits: What an agent in its own process may use.
        sandboxing: Whether the processes of agents are contained.
        fault_limit: After how many faults of its own in a row an agent takes no more exercises.
        hidden: Folders that no agent in a process of its own may see, beside the cache.
    """

    workers: int = 1
    isolation: Isolation = Isolation.AUTO
    limits: Limits = Limits()
    sandboxing: Sandboxing = Sandboxing.AUTO
    fault_limit: int = 10
    hidden: tuple[str, ...] = ()

    @property
    def sandbox(self) -> Sandbox:
        """What contains the processes of agents.

        Raises:
            InvalidInputError: A sandbox is required, and there is none on this machine.
        """
        return sandbox_for(self.sandboxing, self.hidden)


@dataclass(frozen=True)
class Job:
    """Some exercises in one class, of one agent or of the same agents jointly.

    Those of a joint run are next to each other. If the memory is ``carried``, one agent takes all
    exercises, in this order and in any classes. ``keep`` says whether the traces are kept, and
    ``check`` is the key of an exercise that is run again, if that is quick: whether it goes the
    same way is remarked, and nothing else of it counts. ``prepared`` is what its agent prepared in
    an offline phase. ``privileged`` says whether views that tell what others have to find out are
    granted; only evaluations refuse them.
    """

    exercises: tuple[Exercise, ...]
    payoff: Payoff
    keep: bool
    memory: Memory = "fresh"
    check: str | None = None
    prepared: Prepared | None = None
    privileged: bool = True

    def singly(self) -> Iterator[Job]:
        """The same work, one run at a time; a carried sequence cannot be divided."""
        if self.memory == "carried":
            return iter([self])
        return (replace(self, exercises=tuple(run)) for _, run in groupby(self.exercises, run_of))


@contextmanager
def worker_pool(options: Options) -> Iterator[Callable[[Iterable[Job]], Iterator[Finished]]]:
    """A function that carries out jobs and gives each finished exercise as soon as it is there."""
    if options.workers > 1:
        pool = _WorkerPool(options)
        try:
            yield pool.work
        finally:
            pool.dismiss()
    else:
        with closing(_runner_for(options)) as runner:
            yield lambda jobs: (done for job in jobs for done in runner.carry_out(job))


class _WorkerPool:
    """Worker processes. Jobs that end one are tried again, one at a time, and then given up."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._pool = self._start()

    def _start(self) -> ProcessPoolExecutor:
        return ProcessPoolExecutor(
            self._options.workers,
            mp_context=get_context("spawn"),
            initializer=_init_worker,
            initargs=(self._options, objects.pack()),
        )

    def work(self, jobs: Iterable[Job]) -> Iterator[Finished]:
        """Each finished exercise, in whatever order."""
        lost = yield from self._submit_all(jobs)
        if lost:  # the job that ended a worker, and others that were lost with it
            self._renew()
            lost = yield from self._submit_all(lost)
        if lost:
            self._renew()
        for single in chain.from_iterable(job.singly() for job in lost):
            yield from self._retry(single)

    def _submit_all(self, jobs: Iterable[Job]) -> Generator[Finished, None, list[Job]]:
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

    def _retry(self, job: Job) -> list[Finished]:
        for _ in range(TRIES):
            try:
                return self._pool.submit(_work, job).result()
            except BrokenProcessPool:
                self._renew()
        message = f"The process that carried it out died {TRIES} times."
        empty = failed(Fault(FaultKind.INFRASTRUCTURE, message))
        return [
            (outcome_of(exercise, empty, job.payoff, job.prepared), None)
            for exercise in job.exercises
        ]

    def _renew(self) -> None:
        self.dismiss()
        self._pool = self._start()

    def dismiss(self) -> None:
        """End all processes at once."""
        processes = list((self._pool._processes or {}).values())
        self._pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.terminate()


_runner: ExerciseRunner | None = None
"""The runner of a process of the pool."""


def _runner_for(options: Options) -> ExerciseRunner:
    contained = options.sandboxing, options.hidden
    return ExerciseRunner(options.isolation, options.limits, None, *contained)


def _init_worker(options: Options, packed: bytes) -> None:
    global _runner  # noqa: PLW0603 - a worker process has no other place for what it keeps
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the main process's to handle
    _runner = _runner_for(options)
    objects.receive(packed)


def _work(job: Job) -> list[Finished]:
    assert _runner is not None  # set at the beginning of the shift
    return list(_runner.carry_out(job))
