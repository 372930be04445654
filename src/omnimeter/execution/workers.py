"""Running exercises in this process, with agents in processes of their own."""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cached_property, lru_cache, partial
from itertools import groupby
from threading import current_thread, main_thread
from time import monotonic
from types import FrameType
from typing import Any

import numpy as np

from omnimeter.catalogue import Kind, inner_part, is_program, make, objects
from omnimeter.contract import (
    Agent,
    Briefing,
    ClockKind,
    Ending,
    EnvironmentClass,
    Exercise,
    Fault,
    FaultKind,
    Observation,
    Outcome,
    Payoff,
    Spec,
    Trace,
)
from omnimeter.contract.errors import BrokenPartError
from omnimeter.contract.protocol import Memory
from omnimeter.execution.journaling import JournaledAgent, Journaling
from omnimeter.execution.preparing import Prepared, computation, machine, prior_of
from omnimeter.interaction import run
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.dispatch import can_run_compiled
from omnimeter.interaction.handles import (
    AgentFault,
    AgentHandle,
    agent_error,
    costly_of,
    restore,
    view_of,
)
from omnimeter.interaction.loop import build, seated
from omnimeter.interaction.process import AgentProcess, Limits
from omnimeter.interaction.sandbox import Sandbox, Sandboxing, contains, sandbox_for
from omnimeter.results.journal import Journal, Journals

Finished = tuple[Outcome, Trace | None]

NOT_ASKED = Fault(FaultKind.INFRASTRUCTURE, "Costly agents are not asked for what does not count.")
"""Stands in the results of a costly agent's warm-up."""

QUICK = 10.0
"""Seconds that an exercise may take to be run again, to see whether its agent is reproducible."""

AGAIN = 2.0
"""Seconds after which it is cut off then."""

LONG_ENOUGH = 10
"""Interactions of an exercise that is run again."""

DIFFERENT = {"reproducible": False}
"""The remark on an outcome whose exercise went otherwise when it was run again."""

TRIES = 3
"""How often an exercise is begun at the most that ends in a fault of the infrastructure."""

LONGEST_TIMER = 1e8
"""Seconds that a timer of the system can be set to at the most."""

PAST = "past"
"""The remark on an outcome with the seconds of its answers that were taken from a journal."""

KEPT_PROCESSES = 8
"""Processes of agents at the most that are kept while other agents take exercises."""

MARGIN = 60.0
"""Seconds beyond its limit after which an exercise is ended from outside. Starting an agent's
process and compiling count in them, and the loop's own end comes first."""


def cores() -> int:
    """How many processors this process may use, which a container or a cluster may limit."""
    if hasattr(os, "sched_getaffinity"):  # not everywhere
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Isolation(StrEnum):
    """Whether agents run in processes of their own.

    ``AUTO`` trusts what is installed and gives what comes from a file a process of its own.
    """

    AUTO = "auto"
    PROCESS = "process"
    NONE = "none"


def is_isolated(agent: Spec, isolation: Isolation) -> bool:
    """Whether an agent gets a process of its own; a Python object never does, a program always.

    What a part of the catalogue reads from a file, such as a model, may be code as well.
    """
    if objects.is_object(agent.id):
        return False
    if is_program(agent):
        return True
    if isolation is Isolation.AUTO:
        inner = inner_part(Kind.AGENT, agent, "agent")
        inside = inner is not None and is_isolated(inner, isolation)
        # A place in a file or a module, not an id; or an agent of the catalogue made of a file.
        return inside or ":" in agent.id or "file" in agent.parameters
    return isolation is Isolation.PROCESS


def is_untrusted(environment_class: Spec) -> bool:
    """Whether an environment class, or one that it is made of, comes from a file or a module.

    So does an environment of Gymnasium whose id names the module to import.
    """
    if objects.is_object(environment_class.id):
        return False
    inner = (inner_part(Kind.ENVIRONMENT, environment_class, each) for each in ("first", "second"))
    names = environment_class.id, str(environment_class.parameters.get("id", ""))
    return any(":" in name for name in names) or any(map(is_untrusted, filter(None, inner)))


def exposed(agents: Iterable[Spec], options: Options) -> set[Spec]:
    """The untrusted agents among some that nothing keeps from ending the process they run in.

    Those are the agents from files and modules that are not contained by a sandbox.
    """
    return {
        agent
        for agent in agents
        if is_isolated(agent, Isolation.AUTO)
        and not (is_isolated(agent, options.isolation) and contains(options.sandboxing))
    }


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


def batch_size(exercise: Exercise, options: Options) -> int:
    """How many runs like that of this exercise make a job of about a tenth of a second.

    Only compiled ones are quick enough for more than one.
    """
    members, every = agents_of(exercise), (options.isolation, Isolation.AUTO)
    if any(is_isolated(member, each) for member in members for each in every):
        return 1  # nor is untrusted code loaded here
    if options.journal is Journaling.ALL:
        return 1
    environment_class = make_environment_class(exercise.environment_class)
    try:
        agents = [make_agent(member) for member in members]
        costly = any(map(costly_of, agents))
    except (BrokenPartError, AgentFault):  # which its exercises are going to say
        return 1
    if costly or not can_run_compiled(environment_class, agents, exercise):
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
    if not objects.is_object(agent.id):
        return False
    made = make_environment_class(exercise.environment_class)
    return not can_run_compiled(made, [make_agent(agent)], exercise)


def _is_real(exercise: Exercise) -> bool:
    """Whether real time counts in an exercise: no process of another agent may use it meanwhile."""
    timed = exercise.clock.kind is ClockKind.WALL or exercise.timeout is not None
    return timed or exercise.measured or exercise.preparation is not None


def starts_anew(exercise: Exercise, options: Options, isolated: int) -> bool:
    """Whether an agent with a process of its own gets a new one after exercises of others.

    Args:
        exercise: One of the agent's.
        options: How it is run.
        isolated: How many agents take turns that have processes of their own.
    """
    if exercise.budget.wall_limit is not None:
        return False
    if not any(is_isolated(agent, options.isolation) for agent in agents_of(exercise)):
        return False
    few = isolated <= KEPT_PROCESSES and contains(options.sandboxing)
    return not few or _is_real(exercise)


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
        journal: Journaling = Journaling.AUTO,
    ) -> None:
        self.isolation = isolation
        self.limits = limits or Limits()
        self._journal = journal
        self._job: Job | None = None  # the present one
        self._sandboxing, self._hidden = sandboxing, hidden
        self._privileged = privileged  # whether all views are granted
        self._prepared = prepared  # by the agent of the present job
        self._processes: dict[Spec, AgentProcess] = {}
        self._views: dict[tuple[Spec, Spec], str | None] = {}  # privileged ones, by class and agent
        self._costly: dict[Spec, bool] = {}
        self._beside: list[float] = []  # the totals of those seated in the present exercise
        self._past = 0.0  # seconds of the present exercise from before an interruption
        self._carried: dict[Spec, Agent] | None = None  # the agents of a carried sequence

    def close(self, keep: Sequence[Spec] = ()) -> None:
        """End the agents' processes, if there are any, but for those to keep.

        What is known of agents that hang is kept, too.
        """
        for agent in [each for each in self._processes if each not in keep]:
            self._processes[agent].close()
            if self._processes[agent].hung is None:
                del self._processes[agent]

    def load(self, agent: Spec) -> Fault | None:
        """Make an agent, to see whether that can be done; its own faults are left to exercises.

        Returns:
            The fault of all its exercises, if it hangs and is not going to be waited for again.

        Raises:
            OmnimeterError: There is no such agent, or its parameters are wrong.
        """
        handle = self._handle(agent)
        with suppress(AgentFault):
            if isinstance(handle, AgentProcess):
                handle.load()
            else:
                view_of(handle)
        return handle.hung if isinstance(handle, AgentProcess) else None

    def carry_out(self, job: Job) -> Iterator[Finished]:
        """Do a job; under ``carried`` one agent takes all of its exercises."""
        carried = job.memory == "carried"
        if (job.prepared and job.prepared.digest) != (self._prepared and self._prepared.digest):
            self.close()  # an agent's process has taken up something else
        self._prepared, self._privileged, self._job = job.prepared, job.privileged, job
        if carried:
            self.close()
            self._carried = {}
        left = list(job.exercises)
        isolated = any(is_isolated(agent, self.isolation) for agent in job.agents)
        try:
            while left:
                with closing(self._finished(tuple(left), job)) as finished:
                    try:
                        while done := self._next(finished, len(left), isolated):
                            left.pop(0)
                            yield done
                    except _TimeIsOver as over:  # it came while the harness itself was at work
                        self.close()
                        empty = failed(Fault(FaultKind.INFRASTRUCTURE, str(over)))
                        yield job.outcome(left.pop(0), empty), None
        finally:
            if carried:
                self.close()
                self._carried = None

    def _finished(self, exercises: Sequence[Exercise], job: Job) -> Generator[Finished, None, None]:
        if job.warm_up and any(map(self.is_costly, job.agents)):
            for exercise in exercises:
                yield job.outcome(exercise, failed(NOT_ASKED)), None
            return
        for _, alike in groupby(exercises, lambda exercise: exercise.environment_class):
            record, before = job.keep or job.check is not None, monotonic()
            for outcome, trace in self.outcomes(tuple(alike), job.payoff, record=record):
                checked = outcome
                if job.earlier:
                    checked = replace(outcome, attempts=job.attempts(outcome.exercise))
                again = outcome.exercise.key == job.check and not any(
                    map(self.is_costly, job.agents)
                )
                if again and monotonic() - before < QUICK:
                    checked = self._compared(checked, trace)
                yield checked, trace if job.keep else None

    def _next(self, finished: Iterator[Finished], left: int, isolated: bool) -> Finished | None:
        """The next finished exercise, unless it takes far too long; ``None`` after the last."""
        limits = self.limits
        # What an agent's own process takes to begin is bounded by itself.
        starting = 2 * limits.seconds_to_begin * isolated
        with _hard_end(limits.seconds_per_exercise * left, starting + MARGIN):
            return next(finished, None)

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
            others = [each for each in self._processes if each not in specs]
            room = KEPT_PROCESSES - len(specs)
            shared = contains(self._sandboxing) and not _is_real(first)
            self.close(keep=(*specs, *others[max(0, len(others) - room) :]) if shared else specs)
        runs = [[each] for each in exercises]
        if first.joint:
            runs = [list(group) for _, group in groupby(exercises, run_of)]
        made, self._past = make_environment_class(first.environment_class), 0.0
        refused = () if self._privileged else made.privileged
        if any(map(self._is_journaled, specs)):
            traces = self._journaled(made, [group[0] for group in runs], record, refused)
        else:
            traces = run(
                made,
                [partial(self._handle, spec) for spec in specs],
                [group[0] for group in runs],
                record=record,
                refused=refused,
            )
        for group, of_run in zip(runs, traces, strict=True):
            beside = of_run[len(specs) - first.seated :]
            self._beside = [float(each.rewards.sum()) for each in beside]
            for exercise in group:
                yield undisturbed(of_run[specs.index(exercise.agent)], exercise.beside, beside)

    def _journaled(
        self,
        environment_class: EnvironmentClass,
        exercises: Sequence[Exercise],
        record: bool,
        refused: Sequence[str],
    ) -> Iterator[list[Trace]]:
        """The traces of some exercises, one after the other, each with its journals."""
        assert self._job is not None  # see _is_journaled
        for exercise in exercises:
            handles: list[Agent | AgentHandle] = []
            for spec in agents_of(exercise):
                handle = self._handle(spec)
                if self._is_journaled(spec):
                    own = exercise.for_agent(spec)
                    handle = JournaledAgent(handle, partial(self._job.open_journal, own))
                handles.append(handle)
            kept = [each for each in handles if isinstance(each, JournaledAgent)]
            try:
                (traces,) = run(
                    environment_class, handles, [exercise], record=record, refused=refused
                )
            finally:
                for each in kept:
                    each.close()
            self._past = max(each.past_ns for each in kept) / 1e9
            yield traces

    def _is_journaled(self, agent: Spec) -> bool:
        """Whether what an agent answers is journaled in the present job."""
        if self._job is None or self._job.journals is None:
            return False
        return self._journal is Journaling.ALL or self.is_costly(agent)

    def is_costly(self, agent: Spec) -> bool:
        """Whether an agent says that its answers are costly."""
        if agent not in self._costly:
            try:
                self._costly[agent] = costly_of(self._handle(agent))
            except AgentFault:  # an agent that cannot be made: its exercises are going to say so
                self._costly[agent] = False
        return self._costly[agent]

    def outcomes(
        self, exercises: Sequence[Exercise], payoff: Payoff, *, record: bool = False
    ) -> Iterator[tuple[Outcome, Trace]]:
        """The outcome and the trace of each exercise, in order; see ``traces``."""
        for exercise, trace in zip(exercises, self.traces(exercises, record=record), strict=True):
            outcome = outcome_of(exercise, trace, payoff, self._prepared)
            if is_isolated(exercise.agent, self.isolation):
                contained = {"sandbox": self.sandbox.mechanism.value}
                outcome = replace(outcome, remarks={**outcome.remarks, **contained})
            if self._beside:
                outcome = replace(outcome, remarks={**outcome.remarks, "seated": self._beside})
            if self._past and exercise.budget.wall_limit is not None:
                outcome = replace(outcome, remarks={**outcome.remarks, PAST: self._past})
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
                alone = replace(exercise, joint=(), seated=0)
                view = build(seen, alone, 1).view_of(0)
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
                try:
                    made = make_agent(agent)
                except BrokenPartError as error:
                    return BrokenAgent(agent_error(str(error)))
                kept[agent] = made
                if told:
                    restore(made, *told)
            return kept[agent]
        if agent in self._processes:
            self._processes[agent] = self._processes.pop(agent)  # the last that was used
        else:
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


class BrokenAgent(AgentHandle):
    """The handle of an agent that cannot be made: each of its exercises ends in the same fault."""

    def __init__(self, trouble: AgentFault) -> None:
        self._trouble = trouble

    @property
    def view(self) -> str | None:  # noqa: D102 - see AgentHandle
        raise self._trouble

    def begin(self, briefing: Briefing, seed: int) -> None:  # noqa: D102, ARG002
        raise self._trouble

    def ask(self, reward: float, observation: Observation, left: int | None) -> tuple[object, int]:  # noqa: D102, ARG002
        raise self._trouble

    def finish(self, reward: float, observation: Observation) -> None:
        """Nothing has begun."""


class _TimeIsOver(BaseException):
    """An exercise takes far too long; no ``except Exception`` of a third party may catch it."""


@contextmanager
def _hard_end(seconds: float, margin: float) -> Iterator[None]:
    """End what takes longer by an exception, where this can be done.

    The margin leaves time for an agent to be ended first, by the limits of its process.

    That is in the main thread, unless the timer is in use; and Python code ends then, but
    compiled code does not before it is done. A worker that does not end is ended by its pool.
    """
    if current_thread() is not main_thread() or signal.getsignal(signal.SIGALRM) != signal.SIG_DFL:
        yield
        return

    def end(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        raise _TimeIsOver(f"The exercise took longer than {seconds:g} s of real time.")

    signal.signal(signal.SIGALRM, end)
    signal.setitimer(signal.ITIMER_REAL, min(seconds + margin, LONGEST_TIMER))
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)


def failed(fault: Fault) -> Trace:
    """The trace of an exercise that could not begin."""
    return Trace(np.empty(0), np.empty(0, dtype=np.int64), 0, Ending.FAULT, fault=fault)


def undisturbed(trace: Trace, beside: Sequence[Spec], theirs: Sequence[Trace]) -> Trace:
    """The trace of an agent, up to where an agent that is seated beside it failed (section 14).

    A fault of a seated agent ends the exercise if the agent had a further interaction without it.

    Args:
        trace: The trace of the agent that is evaluated.
        beside: The agents that are seated beside it.
        theirs: The traces of these.
    """
    failing = [(len(each), place) for place, each in enumerate(theirs) if each.fault is not None]
    count, place = min(failing, default=(len(trace), 0))
    fault = theirs[place].fault if count < len(trace) else None
    if fault is None:
        return trace
    message = f"{beside[place].label}, which is seated beside it: {fault.message}"
    return replace(
        trace,
        rewards=trace.rewards[:count],
        times=trace.times[:count],
        end_ns=theirs[place].end_ns,
        ending=Ending.FAULT,
        fault=Fault(FaultKind.SEATED, message, fault.detail),
        actions=None if trace.actions is None else trace.actions[:count],
        observations=None if trace.observations is None else trace.observations[: count + 1],
    )


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
        journal: Whose exercises are journaled, where results are stored.
        folder: Where relative names of files begin; by default where the process is.
    """

    workers: int = 1
    isolation: Isolation = Isolation.AUTO
    limits: Limits = Limits()
    sandboxing: Sandboxing = Sandboxing.AUTO
    fault_limit: int = 10
    hidden: tuple[str, ...] = ()
    journal: Journaling = Journaling.AUTO
    folder: str = ""

    @property
    def sandbox(self) -> Sandbox:
        """What contains the processes of agents.

        Raises:
            InvalidInputError: A sandbox is required, and there is none on this machine.
        """
        return sandbox_for(self.sandboxing, self.hidden)


def runner_for(options: Options) -> ExerciseRunner:
    """What runs exercises in this process."""
    contained = options.sandboxing, options.hidden
    return ExerciseRunner(
        options.isolation, options.limits, None, *contained, journal=options.journal
    )


@dataclass(frozen=True)
class End:
    """How a process ended that was carrying something out.

    Attributes:
        message: How, in a sentence.
        culprits: The agents whose fault it is; empty if it is one of the infrastructure.
        final: Whether another try would only take as long again.
        output: The end of its error output, where that was kept.
    """

    message: str
    culprits: frozenset[Spec] = frozenset()
    final: bool = False
    output: str = ""

    def fault(self, agent: Spec, beside: Sequence[Spec] = ()) -> Fault:
        """The fault of an agent's exercise that was under way, with others seated beside it."""
        kind = FaultKind.TIME_OUT if self.final else FaultKind.AGENT_ERROR
        blame = "Without a sandbox, this counts as a fault of the agent."
        if agent not in self.culprits:
            who = " and ".join(each.label for each in beside if each in self.culprits)
            if not who:
                return Fault(FaultKind.INFRASTRUCTURE, self.message)
            kind = FaultKind.SEATED
            blame = f"Without a sandbox, this counts as a fault of {who}, seated beside it."
        return Fault(kind, f"{self.message} {blame}")


@dataclass(frozen=True)
class Job:
    """Some exercises in one class, of one agent or of the same agents jointly.

    Those of a joint run are next to each other. If the memory is ``carried``, one agent takes all
    exercises, in this order and in any classes. ``keep`` says whether the traces are kept, and
    ``check`` is the key of an exercise that is run again, if that is quick: whether it goes the
    same way is remarked, and nothing else of it counts. ``prepared`` is what its agent prepared in
    an offline phase. ``earlier`` says how often exercises were begun before, by their keys, and
    ``foreign`` whether the payoff comes from a file or a module. ``privileged`` says whether views
    that tell what others have to find out are granted; only evaluations refuse them. ``journals``
    are those of exercises under way, and ``warm_up`` says that nothing of it counts: costly agents
    are not asked.
    """

    exercises: tuple[Exercise, ...]
    payoff: Payoff
    keep: bool
    memory: Memory = "fresh"
    check: str | None = None
    prepared: Prepared | None = None
    privileged: bool = True
    earlier: Mapping[str, int] = field(default_factory=dict)
    foreign: bool = False
    journals: Journals | None = None
    warm_up: bool = False

    @property
    def agents(self) -> tuple[Spec, ...]:
        """The agents that take part."""
        return agents_of(self.exercises[0])

    @property
    def results(self) -> int:
        """How many results it has."""
        return len(self.exercises)

    @property
    def whole(self) -> bool:
        """Whether its results only count together."""
        return self.memory == "carried"

    @property
    def keeps_others(self) -> bool:
        """Whether the processes of other agents are kept meanwhile: see ``ExerciseRunner``."""
        return self.exercises[0].budget.wall_limit is not None

    def seconds(self, options: Options, done: int) -> float:
        """The longest that the rest of it may take, when so many results are there."""
        limits, isolated = options.limits, [is_isolated(a, options.isolation) for a in self.agents]
        starting = 2 * limits.seconds_to_begin * any(isolated)  # to greet and to begin
        return limits.seconds_per_exercise * (self.results - done) + starting + 2 * MARGIN

    def needs_worker(self, options: Options) -> bool:
        """Whether it has untrusted code in it that could end the process which carries it out."""
        classes = {exercise.environment_class for exercise in self.exercises}
        return (
            self.foreign or bool(exposed(self.agents, options)) or any(map(is_untrusted, classes))
        )

    def attempts(self, exercise: Exercise) -> int:
        """How often an exercise was begun, this time included."""
        return self.earlier.get(exercise.key, 0) + 1

    def open_journal(self, exercise: Exercise) -> Journal:
        """The journal of one of its exercises."""
        assert self.journals is not None
        return self.journals.open(exercise.key, self.attempts(exercise))

    def carry_out(self, runner: ExerciseRunner) -> Iterator[Finished]:
        """Each finished exercise, in order."""
        return runner.carry_out(self)

    def singly(self) -> Iterator[Job]:
        """The same work, one run at a time; a carried sequence cannot be divided."""
        if self.whole:
            return iter([self])
        return (replace(self, exercises=tuple(run)) for _, run in groupby(self.exercises, run_of))

    def outcome(self, exercise: Exercise, trace: Trace) -> Outcome:
        """The outcome of one of its exercises."""
        judged = outcome_of(exercise, trace, self.payoff, self.prepared)
        return replace(judged, attempts=self.attempts(exercise))

    def lost(self, finished: Sequence[Finished], end: End) -> tuple[list[Finished], list[Job]]:
        """What becomes of it when the process that carries it out ends (standard, section 8).

        Args:
            finished: The results that were there by then.
            end: How the process ended, and through whom.

        Returns:
            Results that are not there yet, and jobs to be done instead.
        """
        left = replace(self, exercises=self.exercises[len(finished) :])
        first, *rest = left.singly()
        if not (end.culprits or end.final) and self.attempts(first.exercises[0]) < TRIES:
            again = self if self.whole else first
            begun = {each.key: self.attempts(each) for each in again.exercises}
            return [], [replace(again, earlier={**self.earlier, **begun}), *rest]
        faults = [
            (self.outcome(each, failed(end.fault(each.agent, each.beside))), None)
            for each in first.exercises
        ]
        return [*(finished if self.whole else ()), *faults], rest
