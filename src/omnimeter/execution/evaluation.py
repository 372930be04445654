"""Evaluations: propose, run, store, score."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import nullcontext, suppress
from dataclasses import replace
from heapq import heappop, heappush
from itertools import chain, count
from math import inf
from operator import itemgetter
from time import monotonic, perf_counter
from typing import Protocol as StructuralType

import numpy as np

from omnimeter.caching import announce
from omnimeter.catalogue import unhashed
from omnimeter.contract import (
    Budget,
    ClockKind,
    Exercise,
    Fault,
    InvalidInputError,
    Outcome,
    Outcomes,
    Payoff,
    Spec,
    Trace,
)
from omnimeter.contract.errors import BrokenPartError
from omnimeter.contract.exercise import hides_payoff, is_own_fault
from omnimeter.contract.outcomes import FAULT_LIMIT, INFRASTRUCTURE, STOPPED, stopped_at
from omnimeter.contract.protocol import Memory
from omnimeter.execution.journaling import Journaling
from omnimeter.execution.pool import Loading, Preparing, Task, Work, worker_pool
from omnimeter.execution.preparing import Prepared, known
from omnimeter.execution.workers import (
    PAST,
    TRIES,
    Finished,
    Isolation,
    Job,
    Options,
    agents_of,
    batch_size,
    is_checkable,
    is_isolated,
    make_agent,
    run_of,
    starts_anew,
)
from omnimeter.protocols.evaluation import Evaluation, Result, judge
from omnimeter.protocols.sample import KEPT
from omnimeter.results.journal import Journals

FLUSH_SECONDS = 1.0
"""What was finished since the last shard is written at least this often, as outcomes come in."""

SHARD = 4096
"""Outcomes in one shard at the most."""

STEPS = 32
"""In so many steps at most an observer is told of what was stored together."""

CHECKED = 256
"""Exercises that are drawn before anything is run, to see whether that can be done."""

TURN = 2.0
"""Seconds in a row for an agent whose process ends when another agent's exercises begin."""

SLICE = KEPT
"""Exercises of an agent in one slice at the most, so that the next agent's are already drawn."""

COMPILED_SLICE, SLOW_SLICE = 4_000_000, 20_000
"""Interactions in a slice: of agents that run compiled, and of others."""

SLOW_SLICES = 16
"""Into so many slices at least the exercises of an agent are cut that does not run compiled."""


class Observer:
    """Is told of the progress of an evaluation; this one ignores it."""

    def started(self, agents: Sequence[Spec], expected: int | None) -> None:
        """The agents, and how many exercises each is going to take, where that is known."""

    def finished(self, agent: Spec, outcomes: Sequence[Outcome]) -> None:
        """Some exercises of an agent are done and stored, now or by an earlier run."""


class Store(StructuralType):
    """Where outcomes are kept: ``omnimeter.results.Writer``, or something in memory."""

    def outcomes(self) -> Outcomes:
        """All outcomes so far."""
        ...

    def append(
        self, outcomes: Iterable[Outcome], traces: Mapping[str, Trace] | None = None
    ) -> None:
        """Keep outcomes, and traces by the keys of their exercises.

        An outcome of more attempts takes the place of one that the infrastructure spoilt.
        """
        ...

    def begin(self, keys: Iterable[str]) -> None:
        """Keep that some exercises are begun now, before they are."""
        ...

    def begun(self) -> Mapping[str, int]:
        """How often exercises were begun, by their keys, as far as that was kept."""
        ...

    @property
    def journals(self) -> Journals | None:
        """The journals of exercises under way, if there can be any."""
        ...


def check(evaluation: Evaluation) -> None:
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
        # Of the first agent some are drawn, to see whether they can be; others get the same ones.
        proposed = proposed[: CHECKED if agent == evaluation.agents[0] else 1]
        for member in {agent, *(each for exercise in proposed for each in exercise.joint)}:
            if not is_isolated(member, Isolation.AUTO):  # no untrusted code is loaded here
                with suppress(BrokenPartError):  # its exercises end in faults
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

    A round is what the protocol proposes at once, or a slice of it where the exercises are fixed,
    so that memory does not grow with their number. Leaving the iteration early keeps what is
    finished; of agents that carry their memory only complete sequences count.

    Args:
        evaluation: As for ``evaluate``.
        writer: As for ``evaluate``.
        options: As for ``evaluate``.
        observer: As for ``evaluate``.
        part: Only these exercises of a test with fixed exercises.
        work: What carries out tasks; by default a pool of its own.

    Attributes:
        complete: Whether all exercises are done.
        faults: How many exercises have ended in faults.
    """

    def __init__(
        self,
        evaluation: Evaluation,
        writer: Store | None = None,
        options: Options = Options(),  # noqa: B008 - a frozen value
        observer: Observer | None = None,
        part: range | None = None,
        work: Work | None = None,
    ) -> None:
        self.evaluation = evaluation
        self.protocol = evaluation.make_protocol()
        self.complete = False
        self.faults = 0
        self._writer = writer
        self._journals = writer.journals if writer else None
        self._going_on: set[str] = set()  # the exercises that had a journal at first
        self._options = options
        self._observer = observer or Observer()
        self._part, self._work = part, work
        self._sliced = self.protocol.fixed and self.protocol.memory == "fresh"
        self._ahead: dict[Spec, deque[range]] = {}  # the slices that each agent has not begun
        # What is finished: of a test that adapts, or where nothing is stored, as objects.
        self._holds = writer is None or not self._sliced
        self._finished: dict[Spec, list[Outcome]] = {agent: [] for agent in evaluation.agents}
        self._stored: dict[Spec, Outcomes] = {agent: Outcomes() for agent in evaluation.agents}
        self._waiting: list[Finished] = []  # finished, and not stored yet
        self._missing: dict[Spec, int] = {}  # exercises of the present round, by agent
        self._checked: set[Spec] = set()  # agents of which an exercise was run again
        self._earlier: dict[str, int] = {}  # how often exercises were begun by earlier runs
        self._again: dict[str, Exercise] = {}  # those that the infrastructure spoilt then
        self._hung: dict[Spec, Fault] = {}  # of agents that hang when they are loaded
        self._rows = _FaultRows(options.fault_limit, fixed=self._sliced)
        self._flushed = monotonic()

    @property
    def result(self) -> Result:
        """What the outcomes so far say."""
        return judge(self.protocol, self.outcomes(), self.complete)

    def outcomes(self) -> dict[Spec, Outcomes]:
        """What is finished, stored or not: a test goes on without waiting for the disk."""
        if not self._holds and self._writer is not None:
            return self._writer.outcomes().by_agent(self.evaluation.agents)
        known = {}
        for agent, finished in self._finished.items():
            waiting = [outcome for outcome, _ in self._waiting if outcome.exercise.agent == agent]
            known[agent] = Outcomes(_updated([*finished], waiting))
        return known

    def __iter__(self) -> Generator[None, None, None]:
        payoff = self.protocol.payoff()
        self._observer.started(self.evaluation.agents, self.protocol.expected())
        self._take_up()
        try:
            with nullcontext(self._work) if self._work else worker_pool(self._options) as work:
                exercises, prepared = self._proposed(), dict[Spec, Prepared]()
                ready, last = set[Spec](), perf_counter()
                while exercises:
                    if new := {agent: e for agent, e in exercises.items() if agent not in ready}:
                        self._load(new, work)
                        prepared |= self._prepared(new, work)
                        for _ in work(self._wanted(self._warm_ups(new), counts=False)):
                            pass  # what they do does not count
                        ready |= new.keys()
                        last = perf_counter()
                    left = {agent: sum(map(_wall_limit, each)) for agent, each in exercises.items()}
                    keep, memory = self.evaluation.traces, self.protocol.memory
                    checks = self._checks(exercises)
                    portions = jobs(
                        exercises, payoff, keep, self._options, memory, checks, prepared
                    )
                    for outcome, trace in work(self._wanted(portions), self._begin):
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

    def _take_up(self) -> None:
        """Take up what earlier runs have done."""
        if self._writer is None:
            return
        self._earlier = dict(self._writer.begun())
        self._going_on = self._journals.keys() if self._journals else set()
        self._stored = self._writer.outcomes().by_agent(self.evaluation.agents)
        for agent, done in self._stored.items():
            if self._holds:
                self._finished[agent] = list(done)
            for outcome in self._spoilt(done):
                key = outcome.exercise.key
                self._again[key] = outcome.exercise
                self._earlier[key] = max(outcome.attempts, self._earlier.get(key, 0))
            self._rows.take_up(agent, done)
            if self._journals and self._going_on:  # stored, but the journal was not removed
                again = (done.faults == INFRASTRUCTURE) & (done.attempts < TRIES)
                over = {f"{key:016x}" for key in done.keys[~again].tolist()}
                self._journals.remove(over & self._going_on)
            spoilt = np.array([int(key, 16) for key in self._again], dtype=np.uint64)
            if len(known := done.where(~np.isin(done.keys, spoilt))):
                self._observer.finished(agent, known)
                if is_checkable(known[-1].exercise):
                    self._checked.add(agent)

    def _spoilt(self, outcomes: Outcomes) -> Outcomes:
        """The outcomes of one agent that are to be had anew: faults of the infrastructure.

        But not where later exercises depend on them, and only ``TRIES`` times in all.
        """
        numbers = outcomes.numbers
        spoilt = (outcomes.faults == INFRASTRUCTURE) & (outcomes.attempts < TRIES)
        if self.protocol.memory == "carried":
            spoilt[:] = False
        if self._part is not None:
            spoilt &= (numbers >= self._part.start) & (numbers < self._part.stop)
        design = self.protocol.describe()
        if design.unit == "repetition" and design.units and not self._sliced and len(numbers):
            spoilt &= numbers // design.units == numbers.max() // design.units
        return outcomes.take(np.flatnonzero(spoilt))

    def _load(self, proposed: Mapping[Spec, Sequence[Exercise]], work: Work) -> None:
        """Find out whether the input is right of agents that could not be made beforehand."""
        firsts = [exercises[0] for exercises in proposed.values()]
        members = dict.fromkeys(each for first in firsts for each in agents_of(first))
        new = [agent for agent in members if not len(self._stored.get(agent, ()))]
        loading = work(Loading(agent) for agent in new if is_isolated(agent, Isolation.AUTO))
        self._hung |= {agent: fault for agent, fault in loading if fault is not None}

    def _wanted(self, portions: Iterable[Job], counts: bool = True) -> Iterator[Job]:
        """The jobs without exercises of agents that were stopped, and with what is known here."""
        journaled = counts and self._options.journal is not Journaling.NONE
        journals = self._journals if journaled else None
        payoff, granted = self.protocol.describe().payoff, self.evaluation.privileged
        foreign = payoff is not None and ":" in payoff.id
        for job in portions:
            wanted = tuple(e for e in job.exercises if e.agent not in self._rows.stopped)
            earlier = {e.key: count for e in wanted if (count := self._begun(e.key))}
            if wanted:
                job = replace(job, exercises=wanted, privileged=granted)  # noqa: PLW2901
                yield replace(job, earlier=earlier, foreign=foreign, journals=journals)

    def _warm_ups(self, proposed: Mapping[Spec, Sequence[Exercise]]) -> Iterator[Job]:
        """One action that does not count, of agents whose test adapts to measured time.

        What happens only once is then done before the time runs: kernels are compiled, files read,
        processes started. It lasts as long as the exercises at the most, or as the time-out of an
        action.
        """
        payoff, adapts = self.protocol.payoff(), not self.protocol.fixed
        for first, *others in proposed.values():
            limit = first.budget.wall_limit
            if limit is None and adapts and first.clock.kind is ClockKind.WALL:
                limit = first.budget.seconds
            if limit is not None:
                budget = Budget(interactions=1, wall_limit=limit * (1 + len(others)))
                yield Job((replace(first, budget=budget),), payoff, keep=False, warm_up=True)

    def _begun(self, key: str) -> int:
        """How often an exercise was begun before; one with a journal goes on, as the same try."""
        if self._journals and key in self._going_on and key not in self._again:
            attempt = self._journals.attempt(key)
            return self._earlier.get(key, 0) if attempt is None else attempt - 1
        return self._earlier.get(key, 0)

    def _begin(self, job: Task[Finished]) -> None:
        """Keep that exercises of untrusted agents are begun, whatever ends this process then."""
        if self._writer and any(is_isolated(agent, Isolation.AUTO) for agent in job.agents):
            assert isinstance(job, Job)  # nothing else is begun
            keys = [exercise.key for exercise in job.exercises]
            self._writer.begin(key for key in keys if not (job.journals and key in job.journals))

    def _prepared(
        self, proposed: Mapping[Spec, Sequence[Exercise]], work: Work
    ) -> dict[Spec, Prepared]:
        """The offline phase of each agent that has exercises left, if they ask for one.

        One after the other, so that they do not disturb each other's time.
        """
        phases = {}
        for agent, (first, *_) in proposed.items():
            if first.preparation is None:
                continue
            task = Preparing(agent, first.preparation, self._options)
            if prepared := known(agent, first.preparation):
                phases[agent] = prepared
            elif fault := self._hung.get(agent):
                phases[agent] = task.failed(fault)
            elif task.needs_worker(self._options):
                (phases[agent],) = work([task])
            else:
                phases[agent] = task.prepare()
            digest = phases[agent].remark()["digest"]
            earlier = (value["digest"] for value, _ in self._stored[agent].remarks("offline"))
            if any(each != digest for each in earlier):
                raise InvalidInputError(
                    f"{agent.label} prepared something else than for its earlier exercises.",
                    "Start a new evaluation: what it prepares is not reproducible.",
                )
        return phases

    def _checks(self, proposed: Mapping[Spec, Sequence[Exercise]]) -> set[str]:
        """The first exercise of each agent that is worth it, to be run again once; their keys."""
        checks: set[str] = set()
        if self._part is not None and self._part.start:
            return checks  # whatever takes the first part does it
        for agent, exercises in proposed.items():
            # Those of a round are about as long as each other, so that the first stands for all.
            first = exercises[0]
            if agent not in self._checked and is_checkable(first):
                self._checked.add(agent)
                checks.add(first.key)
        return checks

    def _add(self, outcome: Outcome, trace: Trace | None, elapsed: float) -> None:
        if outcome.exercise.budget.wall_limit is not None:
            remarks = {**outcome.remarks}
            remarks["elapsed"] = elapsed + remarks.pop(PAST, 0.0)
            outcome = replace(outcome, remarks=remarks)
        if self.protocol.memory == "fresh":
            outcome = self._rows.add(outcome)
        self.faults += outcome.fault is not None
        self._again.pop(outcome.exercise.key, None)
        self._waiting.append((outcome, trace))
        self._missing[outcome.exercise.agent] -= 1
        late = len(self._waiting) >= SHARD or monotonic() - self._flushed > FLUSH_SECONDS
        # A test in real time could propose other exercises if it had to wait for the same one.
        if late or (self._journals and outcome.exercise.key in self._journals):
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
            if self._journals:
                final = [o.exercise for o, _ in ready if not _is_begun_again(o)]
                over = {e.for_agent(own).key for e in final for own in (e.agent, *e.beside)}
                self._journals.remove(over & self._journals.keys())
        # Not before they are stored: Ctrl-C may come at any time.
        self._waiting = early
        done: dict[Spec, list[Outcome]] = {}
        for outcome, _ in ready:
            done.setdefault(outcome.exercise.agent, []).append(outcome)
        if self._holds:
            for agent, new in done.items():
                self._finished[agent] = _updated(self._finished[agent], new)
        for agent, outcomes in done.items():  # now that all of it counts: drawing takes time
            size = -(-len(outcomes) // STEPS)
            for first in range(0, len(outcomes), size):
                self._observer.finished(agent, outcomes[first : first + size])
        self._flushed = monotonic()

    def _proposed(self) -> dict[Spec, list[Exercise]]:
        """What each agent takes next, without what is finished.

        First what is to be had anew, because a test may choose by it.
        """
        proposed: dict[Spec, list[Exercise]] = {}
        for exercise in self._again.values():
            if exercise.agent not in self._rows.stopped:
                proposed.setdefault(exercise.agent, []).append(exercise)
        if not proposed:
            proposed = self._slices() if self._sliced else self._round()
        self._missing = {agent: len(proposed.get(agent, ())) for agent in self._finished}
        return proposed

    def _round(self) -> dict[Spec, list[Exercise]]:
        """What the test proposes now."""
        proposed = {}
        for agent, done in self.outcomes().items():
            if agent in self._rows.stopped:
                continue
            finished = {outcome.exercise.key for outcome in done}
            exercises = [e for e in self.protocol.propose(agent, done) if e.key not in finished]
            if exercises:
                proposed[agent] = exercises
                self._rows.expect(agent, [*(each.exercise for each in done), *exercises])
        return proposed

    def _slices(self) -> dict[Spec, list[Exercise]]:
        """The next slice in which something is left to do, of the agents that are behind others."""
        given = {agent: self.protocol.propose(agent, []) for agent in self._stored}
        if not self._ahead:  # all of them as short as those of the slowest
            size = min((slice_size(each, self._options) for each in given.values()), default=1)
            for agent, exercises in given.items():
                cut = slices(len(exercises), size) if self._part is None else [self._part]
                self._ahead[agent] = deque(cut)
        left: dict[Spec, tuple[int, list[Exercise]]] = {}
        for agent, done in self._stored.items():
            ahead = self._ahead[agent]
            while ahead and agent not in left and agent not in self._rows.stopped:
                part = ahead[0]
                own = done[slice(*np.searchsorted(done.numbers, [part.start, part.stop]).tolist())]
                new: list[Exercise] = []
                if len(own) < len(part):
                    finished = set(own.keys.tolist())
                    exercises = given[agent][part.start : part.stop]
                    new = [each for each in exercises if int(each.key, 16) not in finished]
                if new:
                    left[agent] = part.start, new
                else:
                    ahead.popleft()
        first = min((start for start, _ in left.values()), default=0)
        proposed = {agent: new for agent, (start, new) in left.items() if start == first}
        for agent in proposed:
            self._ahead[agent].popleft()
        return proposed


def slice_size(exercises: Sequence[Exercise], options: Options) -> int:
    """How many exercises an agent takes in a slice, which is a second's work or so.

    It depends on the test and the agent, and not on the number of processes.
    """
    if not len(exercises):
        return SLICE
    first = exercises[0]
    length = max(1, first.budget.max_interactions)
    if batch_size(first, options) > 1:
        return max(1, min(SLICE, COMPILED_SLICE // length))
    return max(1, min(SLICE, SLOW_SLICE // length, -(-len(exercises) // SLOW_SLICES)))


def slices(total: int, size: int) -> list[range]:
    """So many exercises, cut into slices of this size."""
    return [range(start, min(start + size, total)) for start in range(0, total, size)]


def _is_begun_again(outcome: Outcome) -> bool:
    """Whether an exercise that the infrastructure spoilt can be had anew: see ``_spoilt``."""
    spoilt = outcome.fault is not None and not hides_payoff(outcome)
    return spoilt and outcome.attempts < TRIES


def _updated(known: list[Outcome], new: Sequence[Outcome]) -> list[Outcome]:
    """The list with further outcomes; exercises that were run again have the new one."""
    if again := {each.exercise.key for each in new if each.attempts > 1}:
        known = [each for each in known if each.exercise.key not in again]
    known.extend(new)
    return known


class _FaultRows:
    """Stops agents after so many faults of their own in a row, in the order of exercise numbers.

    That order does not depend on when exercises are done. One that is not done yet interrupts a
    row, and a fault of the infrastructure does not count. A record tells it by remarks, without the
    options of a run (``omnimeter.contract.outcomes.stopped_at``).

    Attributes:
        stopped: The agents that take no more exercises.
    """

    def __init__(self, limit: int, *, fixed: bool) -> None:
        self.stopped: set[Spec] = set()
        self._limit, self._fixed = limit, fixed
        self._orders: dict[Spec, list[int]] = {}  # of a test that adapts
        # The exercises that ended in faults, by their numbers, and whether in one of the agent's.
        self._faulty: dict[Spec, dict[int, bool]] = defaultdict(dict)

    def take_up(self, agent: Spec, outcomes: Outcomes) -> None:
        """What an agent has done in earlier runs, perhaps under another limit."""
        faulty = outcomes.where(outcomes.faults != 0)
        own = faulty.own_faults.tolist()
        self._faulty[agent] |= dict(zip(faulty.numbers.tolist(), own, strict=True))
        stop = stopped_at(outcomes)
        if stop is not None and stop.limit >= self._limit:
            self.stopped.add(agent)

    def expect(self, agent: Spec, exercises: Iterable[Exercise]) -> None:
        """Among which exercises of a test that adapts an agent's row is looked for."""
        self._orders[agent] = sorted(each.number for each in exercises)

    def add(self, outcome: Outcome) -> Outcome:
        """Take up an outcome; with a remark if it is the agent's own fault, or completes a row."""
        agent, number = outcome.exercise.agent, outcome.exercise.number
        faulty = self._faulty[agent]
        if outcome.fault is None:
            faulty.pop(number, None)
            return outcome
        faulty[number] = is_own_fault(outcome)
        if not faulty[number]:
            return outcome
        before: Iterable[int]
        after: Iterable[int]
        if self._fixed:
            before, after = range(number - 1, -1, -1), count(number + 1)
            remark = {FAULT_LIMIT: self._limit}
        else:
            order = self._orders[agent]
            place = bisect_left(order, number)
            before, after = order[:place][::-1], order[place + 1 :]
            remark = {STOPPED: self._limit}
        whole = 1 + self._row(faulty, before) + self._row(faulty, after) >= self._limit
        if not self._fixed and (not whole or agent in self.stopped):
            return outcome
        if whole:
            self.stopped.add(agent)
        return replace(outcome, remarks={**outcome.remarks, **remark})

    def _row(self, faulty: Mapping[int, bool], numbers: Iterable[int]) -> int:
        """How many faults of the agent's own come first."""
        faults = 0
        for number in numbers:
            if number not in faulty or faults >= self._limit:
                break
            faults += faulty[number]
        return faults


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

    The agents take turns, and of each the classes, so that an interrupted evaluation has had about
    the same share of each. A sequence whose memory is ``carried`` is one job. Exercises whose keys
    are in ``checks`` are run again. ``prepared`` is what agents prepared in an offline phase.
    """

    def check(work: Sequence[Exercise]) -> str | None:
        return next((each.key for each in work if each.key in checks), None) if checks else None

    exercises = [exercise for each in proposed.values() for exercise in each]
    turns: list[deque[Job]] = []
    for taken in _grouped(exercises, agents_of):
        offline = (prepared or {}).get(taken[0].agent)
        if memory == "carried":
            sequence = tuple(chain.from_iterable(_grouped(taken, run_of)))
            turns.append(deque([Job(sequence, payoff, keep, memory, check(sequence), offline)]))
            continue
        portions = []  # with the share of the exercises in their class that comes before them
        for alike in _grouped(taken, lambda exercise: exercise.environment_class):
            runs = list(_grouped(alike, run_of))
            longest = max(alike, key=lambda exercise: exercise.budget.max_interactions)
            fair = max(1, len(runs) // (4 * options.workers))
            size = min(fair, batch_size(longest, options))
            for first in range(0, len(runs), size):
                work = tuple(chain.from_iterable(runs[first : first + size]))
                portions.append((first / len(runs), work))
        portions.sort(key=itemgetter(0))
        turns.append(
            deque(
                Job(work, payoff, keep, check=check(work), prepared=offline) for _, work in portions
            )
        )
    yield from _in_turn(turns, options)


def _in_turn(jobs_of: Sequence[deque[Job]], options: Options) -> Iterator[Job]:
    """The jobs of several agents, always one of those that have begun the fewest exercises.

    An agent whose process is started anew for each turn goes on for ``TURN`` seconds.
    """
    isolated = sum(
        any(is_isolated(agent, options.isolation) for agent in own[0].agents) for own in jobs_of
    )
    queue = [(0, place) for place in range(len(jobs_of))]
    while queue:
        begun, place = heappop(queue)
        own = jobs_of[place]
        first = own[0].exercises[0]
        long = isolated > 1 and starts_anew(first, options, isolated)
        end = monotonic() + TURN * long
        while own:
            job = own.popleft()
            begun += job.results
            yield job
            if monotonic() >= end:
                break
        if own:
            heappush(queue, (begun, place))


def _grouped(
    exercises: Iterable[Exercise], of: Callable[[Exercise], Hashable]
) -> Iterable[list[Exercise]]:
    """The exercises that have something in common."""
    groups: dict[Hashable, list[Exercise]] = {}
    for exercise in exercises:
        groups.setdefault(of(exercise), []).append(exercise)
    return groups.values()


def _wall_limit(exercise: Exercise) -> float:
    return inf if exercise.budget.wall_limit is None else exercise.budget.wall_limit
