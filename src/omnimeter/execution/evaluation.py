"""Evaluations: propose, run, store, score."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from math import inf
from operator import itemgetter
from time import monotonic, perf_counter

from omnimeter.contract import Budget, Exercise, Outcome, Payoff, Protocol, Spec
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
from omnimeter.results import Writer


class Observer:
    """Somebody who watches; this one does not look."""

    def started(self, agents: Sequence[Spec], expected: int | None) -> None:
        """The agents, and how many exercises each is going to take, where that is known."""

    def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:
        """Some exercises of an agent are done and stored, now or in an earlier session."""


def rehearse(
    proposed: Mapping[Spec, Sequence[Exercise]],
    work: Callable[[Iterable[Job]], Iterator[Finished]],
    payoff: Payoff,
) -> None:
    """Let agents whose test has an end in real time do one action that does not count.

    Whatever happens only once is then done before the time runs: kernels are compiled, files read,
    processes started. It lasts as long as the test at the most, or as patience with the agent.

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
        """Look at what is to be done next."""
        self.late = False
        self._left = {
            agent: sum(
                inf if each.budget.wall_limit is None else each.budget.wall_limit
                for each in exercises
            )
            for agent, exercises in proposed.items()
        }

    def timed(self, finished: Finished) -> Finished:
        """The same, with the real time that it took where that matters: the remark ``elapsed``.

        All that was done since the last one counts: choosing it, building it, writing down others.
        """
        outcome, trace = finished
        now = perf_counter()
        elapsed, self._last = now - self._last, now
        self._left[outcome.exercise.agent] -= elapsed
        self.late = self.late or self._left[outcome.exercise.agent] < 0
        if outcome.exercise.budget.wall_limit is None:
            return finished
        return replace(outcome, remarks={**outcome.remarks, "elapsed": elapsed}), trace


FLUSH_SECONDS = 1.0
"""What was finished since the last shard is written at least this often, as outcomes come in."""

SHARD = 512
"""Outcomes in one shard at the most."""


def check(evaluation: Evaluation, options: Options) -> None:
    """Find out beforehand whether everything can be made: the test, its exercises, the agents.

    Raises:
        OmnimeterError: What cannot be made, and why.
    """
    protocol = evaluation.make_protocol()
    for agent in evaluation.agents:
        proposed = protocol.propose(agent, [])
        for member in {agent, *(each for exercise in proposed for each in exercise.joint)}:
            if not is_isolated(member, options.isolation):  # a stranger is not let in for this
                make_agent(member)


def evaluate(
    evaluation: Evaluation,
    writer: Writer | None = None,
    options: Options = Options(),  # noqa: B008 - a frozen value
    observer: Observer | None = None,
) -> Result:
    """Run what is not finished yet.

    Ctrl-C ends it early: what is finished is stored, and the result so far comes back.

    Args:
        evaluation: The protocol and the agents.
        writer: Where outcomes are stored; without it they are only kept in memory.
        options: How to run it.
        observer: Is told of the progress.
    """
    observer = observer or Observer()
    protocol = evaluation.make_protocol()
    progress = _Progress(evaluation, writer, observer)
    observer.started(evaluation.agents, protocol.expected())
    progress.recall()
    complete = False
    try:
        with workforce(options) as work:
            exercises = _proposed(protocol, progress)
            rehearse(exercises, work, protocol.payoff())
            watch = Stopwatch()
            while exercises:
                watch.begin(exercises)
                jobs = _jobs(exercises, protocol.payoff(), evaluation.traces, options)
                for finished in work(jobs):
                    progress.add(watch.timed(finished))
                    if watch.late:  # the test decides anew whether the rest is still to be done
                        break
                exercises = _proposed(protocol, progress)
            progress.flush()
        complete = True
    except KeyboardInterrupt:
        pass
    finally:
        progress.flush()
    return judge(protocol, progress.outcomes, complete)


class _Progress:
    """What is finished, and what of it is not on disk yet."""

    def __init__(self, evaluation: Evaluation, writer: Writer | None, observer: Observer) -> None:
        self.evaluation = evaluation
        self.writer = writer
        self.observer = observer
        self.outcomes: dict[Spec, list[Outcome]] = {agent: [] for agent in evaluation.agents}
        self._waiting: list[Finished] = []
        self._flushed = monotonic()

    def recall(self) -> None:
        """Take up what earlier sessions finished."""
        for outcome in self.writer.outcomes() if self.writer else ():
            self.outcomes[outcome.exercise.agent].append(outcome)
        for agent, done in self.outcomes.items():
            if done:
                self.observer.finished(agent, done)

    def add(self, finished: Finished) -> None:
        """Take a finished exercise."""
        self._waiting.append(finished)
        if len(self._waiting) >= SHARD or monotonic() - self._flushed > FLUSH_SECONDS:
            self.flush()

    def so_far(self) -> dict[Spec, list[Outcome]]:
        """What is finished, on disk or not: a test goes on without waiting for the disk."""
        known = {agent: list(done) for agent, done in self.outcomes.items()}
        for outcome, _ in self._waiting:
            known[outcome.exercise.agent].append(outcome)
        return known

    def flush(self) -> None:
        """Write down what is finished; only then is it safe."""
        waiting = list(self._waiting)
        if waiting and self.writer:
            kept = {o.exercise.key: t for o, t in waiting if t is not None}
            self.writer.append([outcome for outcome, _ in waiting], kept)
        del self._waiting[: len(waiting)]  # not before they are stored: Ctrl-C may come any time
        for outcome, _ in waiting:
            self.outcomes[outcome.exercise.agent].append(outcome)
        for outcome, _ in waiting:  # now that all of it counts: somebody who draws takes his time
            self.observer.finished(outcome.exercise.agent, [outcome])
        self._flushed = monotonic()


def _proposed(protocol: Protocol, progress: _Progress) -> dict[Spec, list[Exercise]]:
    """What each agent takes next, without what is finished."""
    proposed = {}
    for agent, done in progress.so_far().items():
        finished = {outcome.exercise.key for outcome in done}
        proposed[agent] = [e for e in protocol.propose(agent, done) if e.key not in finished]
    return {agent: exercises for agent, exercises in proposed.items() if exercises}


def _jobs(
    proposed: dict[Spec, list[Exercise]], payoff: Payoff, keep: bool, options: Options
) -> Iterator[Job]:
    """Portions of work, small enough to be spread and to show progress.

    One agent or company after the other, so that processes can be kept for them. The classes take
    turns, so that an interrupted evaluation has had about the same share of each.
    """
    exercises = [exercise for each in proposed.values() for exercise in each]
    for taken in _grouped(exercises, takers):
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
