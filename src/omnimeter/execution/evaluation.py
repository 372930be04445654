"""Evaluations: propose, run, store, score."""

from __future__ import annotations

from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import replace
from itertools import chain
from math import inf
from operator import itemgetter
from time import monotonic, perf_counter
from typing import Protocol as StructuralType

from omnimeter.catalogue import unhashed
from omnimeter.contract import Budget, Exercise, InvalidInputError, Outcome, Payoff, Spec, Trace
from omnimeter.contract.protocol import Memory
from omnimeter.execution.preparing import Prepared, prepare
from omnimeter.execution.workers import (
    Finished,
    Job,
    Options,
    agents_of,
    batch_size,
    is_checkable,
    is_isolated,
    make_agent,
    run_of,
    worker_pool,
)
from omnimeter.interaction.compilation import announce
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
    parts = (evaluation.protocol, *evaluation.agents)
    if unknown := "; ".join(text for part in parts for text in unhashed(part)):
        announce(f"Parts may change without a new digest: {unknown}.", warn=True)
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
    with suppress(KeyboardInterrupt):
        for _ in run:
            pass
    return run.result


class Run:
    """An evaluation under way. Iterating over it carries it out, one round after the other.

    A round is what the protocol proposes at once. Leaving the iteration early keeps what is
    finished; of agents that carry their memory only complete sequences count. The parameters are
    those of ``evaluate``.

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
        self._checked: set[Spec] = set()  # agents of which an exercise was run again
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
        for outcome in self._writer.outcomes() if self._writer else ():  # of earlier runs
            self._stored[outcome.exercise.agent].append(outcome)
        for agent, done in self._stored.items():
            if done:
                self._observer.finished(agent, done)
                if is_checkable(done[-1].exercise):
                    self._checked.add(agent)
        try:
            with worker_pool(self._options) as carry_out:

                def work(jobs: Iterable[Job]) -> Iterator[Finished]:
                    granted = self.evaluation.privileged
                    return carry_out(replace(job, privileged=granted) for job in jobs)

                exercises = self._proposed()
                prepared = self._prepared(exercises)
                warm_up_agents(exercises, work, payoff)
                last = perf_counter()
                while exercises:
                    left = {agent: sum(map(_wall_limit, each)) for agent, each in exercises.items()}
                    keep, memory = self.evaluation.traces, self.protocol.memory
                    checks = self._checks(exercises)
                    portions = jobs(
                        exercises, payoff, keep, self._options, memory, checks, prepared
                    )
                    for outcome, trace in work(portions):
                        # All that was done since the last one counts: choosing, building, storing.
                        now = perf_counter()
                        elapsed, last = now - last, now
                        self._add(outcome, trace, elapsed)
                        left[outcome.exercise.agent] -= elapsed
                        if left[outcome.exercise.agent] < 0:
                            break  # the test decides anew whether to do the rest
                    exercises = self._proposed()
                    self.complete = not exercises
                    if exercises and memory == "carried":
                        raise InvalidInputError(
                            "A protocol with carried memory proposed a second round of exercises.",
                            "Let it propose the whole sequence at once, or use fresh memory.",
                        )
                    paused = perf_counter()
                    yield
                    last += perf_counter() - paused  # the caller's time does not count
                self._flush()
            self.complete = True
        finally:
            self._flush()
            self._waiting.clear()  # carried sequences that are not complete are taken again

    def _prepared(self, proposed: Mapping[Spec, Sequence[Exercise]]) -> dict[Spec, Prepared]:
        """The offline phase of each agent that has exercises left, if they ask for one."""
        phases = {}
        for agent, (first, *_) in proposed.items():
            if first.preparation is None:
                continue
            isolated = is_isolated(agent, self._options.isolation)
            phases[agent] = prepare(
                agent,
                first.preparation,
                isolated=isolated,
                limits=self._options.limits,
                sandbox=self._options.sandbox,
            )
            digest = phases[agent].remark()["digest"]
            earlier = (each.remarks.get("offline") for each in self._stored[agent])
            if any(each is not None and each["digest"] != digest for each in earlier):
                raise InvalidInputError(
                    f"{agent.label} prepared something else than for its earlier exercises.",
                    "Start a new evaluation: what it prepares is not reproducible.",
                )
        return phases

    def _checks(self, proposed: Mapping[Spec, Sequence[Exercise]]) -> set[str]:
        """The first exercise of each agent that is worth it, to be run again once; their keys."""
        checks = set()
        for agent, exercises in proposed.items():
            # Those of a round are about as long as each other, so that the first stands for all.
            first = exercises[0]
            if agent not in self._checked and is_checkable(first):
                self._checked.add(agent)
                checks.add(first.key)
        return checks

    def _add(self, outcome: Outcome, trace: Trace | None, elapsed: float) -> None:
        if outcome.exercise.budget.wall_limit is not None:
            outcome = replace(outcome, remarks={**outcome.remarks, "elapsed": elapsed})
        self._waiting.append((outcome, trace))
        self._missing[outcome.exercise.agent] -= 1
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
    checks: AbstractSet[str] = frozenset(),
    prepared: Mapping[Spec, Prepared] | None = None,
) -> Iterator[Job]:
    """Portions of work, small enough to be spread and to show progress.

    One agent or joint run after the other, so that processes can be kept for them. The classes
    take turns, so that an interrupted evaluation has had about the same share of each. A sequence
    whose memory is ``carried`` is one job. Exercises whose keys are in ``checks`` are run again.
    ``prepared`` is what agents prepared in an offline phase.
    """

    def check(work: Sequence[Exercise]) -> str | None:
        return next((each.key for each in work if each.key in checks), None) if checks else None

    exercises = [exercise for each in proposed.values() for exercise in each]
    for taken in _grouped(exercises, agents_of):
        offline = (prepared or {}).get(taken[0].agent)
        if memory == "carried":
            sequence = tuple(chain.from_iterable(_grouped(taken, run_of)))
            yield Job(sequence, payoff, keep, memory, check(sequence), offline)
            continue
        portions = []  # with the share of the exercises in their class that comes before them
        for alike in _grouped(taken, lambda exercise: exercise.environment_class):
            runs = list(_grouped(alike, run_of))
            longest = max(alike, key=lambda exercise: exercise.budget.max_interactions)
            fair = max(1, len(runs) // (4 * options.workers))
            size = min(fair, batch_size(longest, options.isolation))
            for first in range(0, len(runs), size):
                work = tuple(chain.from_iterable(runs[first : first + size]))
                portions.append((first / len(runs), work))
        for _, work in sorted(portions, key=itemgetter(0)):
            yield Job(work, payoff, keep, check=check(work), prepared=offline)


def _grouped(
    exercises: Iterable[Exercise], of: Callable[[Exercise], Hashable]
) -> Iterable[list[Exercise]]:
    """The exercises that have something in common."""
    groups: dict[Hashable, list[Exercise]] = {}
    for exercise in exercises:
        groups.setdefault(of(exercise), []).append(exercise)
    return groups.values()


def warm_up_agents(
    proposed: Mapping[Spec, Sequence[Exercise]],
    work: Callable[[Iterable[Job]], Iterator[Finished]],
    payoff: Payoff,
) -> None:
    """Let agents whose test has an end in real time do one action that does not count.

    What happens only once is then done before the time runs: kernels are compiled, files read,
    processes started. It lasts as long as the test at the most, or as the time-out of an action.
    """
    trials = []
    for first, *others in proposed.values():
        if (limit := first.budget.wall_limit) is not None:
            budget = Budget(interactions=1, wall_limit=limit * (1 + len(others)))
            trials.append(Job((replace(first, budget=budget),), payoff, keep=False))
    for _ in work(trials):
        pass


def _wall_limit(exercise: Exercise) -> float:
    return inf if exercise.budget.wall_limit is None else exercise.budget.wall_limit
