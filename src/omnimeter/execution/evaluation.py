"""Evaluations: propose, run, store, score."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import inf
from operator import itemgetter
from time import monotonic, perf_counter
from typing import Protocol as StructuralType

from omnimeter.contract import Budget, Exercise, Outcome, Payoff, Spec, Trace
from omnimeter.contract.protocol import Memory
from omnimeter.execution.workers import (
    Finished,
    Job,
    Options,
    is_isolated,
    make_agent,
    portion,
    run_of,
    takers,
    workforce,
)
from omnimeter.protocols.evaluation import Evaluation, Result, judge

FLUSH_SECONDS = 1.0
"""What was finished since the last shard is written at least this often, as outcomes come in."""

SHARD = 512
"""Outcomes in one shard at the most."""


class Observer:
    """Is told of the progress of an evaluation; this one ignores it."""

    def started(self, agents: Sequence[Spec], expected: int | None) -> None:
        """The agents, and how many exercises each is going to take, where that is known."""

    def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:
        """Some exercises of an agent are done and stored, now or by an earlier run."""


class Store(StructuralType):
    """Where outcomes are kept: ``omnimeter.results.Writer``, or something in memory."""

    def outcomes(self) -> Sequence[Outcome]:
        """All outcomes so far."""
        ...

    def append(
        self, outcomes: Iterable[Outcome], traces: Mapping[str, Trace] | None = None
    ) -> None:
        """Keep outcomes, and traces by the keys of their exercises."""
        ...


def check(evaluation: Evaluation, options: Options) -> None:
    """Find out beforehand whether everything can be made: the test, its exercises, the agents.

    Raises:
        OmnimeterError: What cannot be made, and why.
    """
    protocol = evaluation.make_protocol()
    for agent in evaluation.agents:
        proposed = protocol.propose(agent, [])
        for member in {agent, *(each for exercise in proposed for each in exercise.joint)}:
            if not is_isolated(member, options.isolation):  # a file is loaded in its own process
                make_agent(member)


def evaluate(
    evaluation: Evaluation,
    writer: Store | None = None,
    options: Options = Options(),  # noqa: B008 - a frozen value
    observer: Observer | None = None,
) -> Result:
    """Run what is not finished yet.

    Ctrl-C ends it early: what is finished is stored, and the result so far is returned.

    Args:
        evaluation: The protocol and the agents.
        writer: Where outcomes are stored; without it they are only kept in memory.
        options: How to run it.
        observer: Is told of the progress.
    """
    run = Run(evaluation, writer, options, observer)
    try:
        for _ in run:
            pass
    except KeyboardInterrupt:
        pass
    return run.result


class Run:
    """An evaluation under way. Iterating over it carries it out, one round after the other.

    A round is what the protocol proposes at once. Leaving the iteration early keeps what is
    finished; of agents that carry their memory only complete sequences count.

    Args:
        evaluation: The protocol and the agents.
        writer: Where outcomes are stored; without it they are only kept in memory.
        options: How to run it.
        observer: Is told of the progress.

    Attributes:
        complete: Whether all exercises are done.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        writer: Store | None = None,
        options: Options = Options(),  # noqa: B008 - a frozen value
        observer: Observer | None = None,
    ) -> None:
        self.evaluation = evaluation
        self.protocol = evaluation.make_protocol()
        self.complete = False
        self._writer = writer
        self._options = options
        self._observer = observer or Observer()
        self._stored: dict[Spec, list[Outcome]] = {agent: [] for agent in evaluation.agents}
        self._waiting: list[Finished] = []  # finished, and not stored yet
        self._missing: dict[Spec, int] = {}  # exercises of the present round, by agent
        self._flushed = monotonic()

    @property
    def result(self) -> Result:
        """What the outcomes so far say."""
        return judge(self.protocol, self.outcomes(), self.complete)

    def outcomes(self) -> dict[Spec, list[Outcome]]:
        """What is finished, stored or not: a test goes on without waiting for the disk."""
        known = {agent: list(done) for agent, done in self._stored.items()}
        for outcome, _ in self._waiting:
            known[outcome.exercise.agent].append(outcome)
        return known

    def __iter__(self) -> Generator[None, None, None]:
        payoff = self.protocol.payoff()
        self._observer.started(self.evaluation.agents, self.protocol.expected())
        self._recall()
        try:
            with workforce(self._options) as work:
                exercises = self._proposed()
                rehearse(exercises, work, payoff)
                watch = Stopwatch()
                while exercises:
                    watch.begin(exercises)
                    keep, memory = self.evaluation.traces, self.protocol.memory
                    for finished in work(jobs(exercises, payoff, keep, self._options, memory)):
                        self._add(watch.timed(finished))
                        if watch.late:  # the test decides anew whether the rest is to be done
                            break
                    exercises = self._proposed()
                    self.complete = not exercises
                    paused = perf_counter()
                    yield
                    watch.exclude(perf_counter() - paused)
                self._flush()
            self.complete = True
        finally:
            self._flush()
            self._waiting.clear()  # carried sequences that are not complete are taken again

    def _recall(self) -> None:
        """Take up what earlier runs finished."""
        for outcome in self._writer.outcomes() if self._writer else ():
            self._stored[outcome.exercise.agent].append(outcome)
        for agent, done in self._stored.items():
            if done:
                self._observer.finished(agent, done)

    def _add(self, finished: Finished) -> None:
        self._waiting.append(finished)
        self._missing[finished[0].exercise.agent] -= 1
        if len(self._waiting) >= SHARD or monotonic() - self._flushed > FLUSH_SECONDS:
            self._flush()

    def _flush(self) -> None:
        """Store what is finished; only then is it safe."""
        ready, early = list(self._waiting), []
        if self.protocol.memory == "carried":
            early = [each for each in ready if self._missing[each[0].exercise.agent]]
            ready = [each for each in ready if not self._missing[each[0].exercise.agent]]
        if ready and self._writer:
            kept = {o.exercise.key: trace for o, trace in ready if trace is not None}
            self._writer.append([outcome for outcome, _ in ready], kept)
        # Not before they are stored: Ctrl-C may come at any time.
        self._waiting = early
        for outcome, _ in ready:
            self._stored[outcome.exercise.agent].append(outcome)
        for outcome, _ in ready:  # now that all of it counts: an observer that draws takes time
            self._observer.finished(outcome.exercise.agent, [outcome])
        self._flushed = monotonic()

    def _proposed(self) -> dict[Spec, list[Exercise]]:
        """What each agent takes next, without what is finished."""
        proposed = {}
        for agent, done in self.outcomes().items():
            finished = {outcome.exercise.key for outcome in done}
            exercises = [e for e in self.protocol.propose(agent, done) if e.key not in finished]
            if exercises:
                proposed[agent] = exercises
        self._missing = {agent: len(proposed.get(agent, ())) for agent in self._stored}
        return proposed


def jobs(
    proposed: Mapping[Spec, Sequence[Exercise]],
    payoff: Payoff,
    keep: bool,
    options: Options,
    memory: Memory = "fresh",
) -> Iterator[Job]:
    """Portions of work, small enough to be spread and to show progress.

    One agent or joint run after the other, so that processes can be kept for them. The classes
    take turns, so that an interrupted evaluation has had about the same share of each.

    Args:
        proposed: What each agent takes next.
        payoff: What judges traces.
        keep: Whether traces are kept.
        options: How to run it.
        memory: A sequence whose memory is ``carried`` is one job.
    """
    exercises = [exercise for each in proposed.values() for exercise in each]
    for taken in _grouped(exercises, takers):
        if memory == "carried":
            sequence = tuple(chain.from_iterable(_grouped(taken, run_of)))
            yield Job(sequence, payoff, keep, memory)
            continue
        alike = _grouped(taken, lambda exercise: exercise.environment_class)
        portions = [each for group in alike for each in _portions(group, options)]
        for _, work in sorted(portions, key=itemgetter(0)):
            yield Job(work, payoff, keep)


def _grouped(
    exercises: Iterable[Exercise], of: Callable[[Exercise], Hashable]
) -> Iterable[list[Exercise]]:
    """The exercises that have something in common."""
    groups: dict[Hashable, list[Exercise]] = {}
    for exercise in exercises:
        groups.setdefault(of(exercise), []).append(exercise)
    return groups.values()


def _portions(
    alike: Sequence[Exercise], options: Options
) -> Iterator[tuple[float, tuple[Exercise, ...]]]:
    """Portions of the exercises in one class, each with the share of them that comes before it."""
    runs = list(_grouped(alike, run_of))
    longest = max(alike, key=lambda exercise: exercise.budget.max_interactions)
    fair = max(1, len(runs) // (4 * options.workers))
    size = min(fair, portion(longest, options.isolation))
    for first in range(0, len(runs), size):
        yield first / len(runs), tuple(chain.from_iterable(runs[first : first + size]))


def rehearse(
    proposed: Mapping[Spec, Sequence[Exercise]],
    work: Callable[[Iterable[Job]], Iterator[Finished]],
    payoff: Payoff,
) -> None:
    """Let agents whose test has an end in real time do one action that does not count.

    What happens only once is then done before the time runs: kernels are compiled, files read,
    processes started. It lasts as long as the test at the most, or as the time-out of an action.

    Args:
        proposed: The first exercises of each agent.
        work: Carries out jobs.
        payoff: What judges traces.
    """
    trials = [
        replace(
            first,
            budget=Budget(interactions=1, wall_limit=first.budget.wall_limit * len(exercises)),
        )
        for exercises in proposed.values()
        if (first := exercises[0]).budget.wall_limit is not None
    ]
    for _ in work(Job((trial,), payoff, keep=False) for trial in trials):
        pass


class Stopwatch:
    """Says of each finished exercise how much real time has passed since the one before.

    Attributes:
        late: Whether an agent has taken more real time for what was proposed to it than the limits
            of all of it allow.
    """

    def __init__(self) -> None:
        self._last = perf_counter()
        self._left: dict[Spec, float] = {}
        self.late = False

    def begin(self, proposed: Mapping[Spec, Sequence[Exercise]]) -> None:
        """Note how much time the exercises of the next round may take."""
        self.late = False
        self._left = {
            agent: sum(
                inf if each.budget.wall_limit is None else each.budget.wall_limit
                for each in exercises
            )
            for agent, exercises in proposed.items()
        }

    def exclude(self, seconds: float) -> None:
        """Do not count some time that the caller took between two rounds."""
        self._last += seconds

    def timed(self, finished: Finished) -> Finished:
        """The same, with the real time that it took where that matters: the remark ``elapsed``.

        All that was done since the last one counts: choosing it, building it, storing others.
        """
        outcome, trace = finished
        now = perf_counter()
        elapsed, self._last = now - self._last, now
        self._left[outcome.exercise.agent] -= elapsed
        self.late = self.late or self._left[outcome.exercise.agent] < 0
        if outcome.exercise.budget.wall_limit is None:
            return finished
        return replace(outcome, remarks={**outcome.remarks, "elapsed": elapsed}), trace
