"""Units: pieces of stored evaluations that any process can carry out, and executors of them.

A unit commits its own shards, so that nothing but receipts comes back. Doing it twice does no harm:
what is finished is not run again, and shards are named by what they hold.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import inf
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal

import numpy as np

from omnimeter.catalogue import files_in
from omnimeter.contract import Outcome, Outcomes, Protocol, Spec
from omnimeter.contract.errors import DamagedError, StoreError
from omnimeter.contract.outcomes import INFRASTRUCTURE, Stop, stopped_at
from omnimeter.contract.spec import fingerprint
from omnimeter.execution.evaluation import Run, slice_size, slices
from omnimeter.execution.pool import Work, WorkerPool, work_within, worker_pool
from omnimeter.execution.workers import MARGIN, TRIES, End, ExerciseRunner, Options
from omnimeter.protocols import Evaluation
from omnimeter.results import files

if TYPE_CHECKING:
    from omnimeter.results import Record


@dataclass(frozen=True)
class Unit:
    """Some exercises of one agent, or of the agents of joint exercises, in a stored evaluation.

    Attributes:
        directory: The absolute path of the evaluation.
        agents: The agents.
        first: The number of the first exercise, where the exercises of the test are fixed.
        last: The number after the last one; ``None`` for all that the test proposes.
        options: How they are run.
        shards: The shards in which some of them are finished.
    """

    directory: str
    agents: tuple[Spec, ...]
    first: int = 0
    last: int | None = None
    options: Options = field(default_factory=Options)
    shards: tuple[str, ...] = ()

    @cached_property
    def key(self) -> str:
        """A short name that depends on the evaluation's name, the agents and the exercises."""
        name = Path(self.directory).name
        return fingerprint([name, [agent.to_json() for agent in self.agents], self.first])


@dataclass(frozen=True)
class Receipt:
    """What became of a unit.

    Attributes:
        unit: The key of the unit.
        finished: Exercises that were committed by this attempt.
        seconds: How long it took.
        outcome: Whether it is over.
        shards: The shards that this attempt wrote.
        faults: How many of these exercises ended in faults.
        damage: What of its evaluation is damaged, if that kept it from being carried out.
        reason: Why it was quarantined.
        tail: The end of the error output of its worker then.
    """

    unit: str
    finished: int
    seconds: float
    outcome: Literal["done", "interrupted", "quarantined", "damaged"] = "done"
    shards: tuple[str, ...] = ()
    reason: str = ""
    tail: str = ""
    faults: int = 0
    damage: DamagedError | None = None


Tell = Callable[[Receipt], None]
Executor = Callable[[Sequence[Unit], Tell], None]
"""Carries out units, in whatever order, and tells a receipt of each."""


def evaluation_of(record: Record) -> Evaluation:
    """What a record is an evaluation of, with its seed."""
    return Evaluation.from_json(record.spec).with_seed(record.seed)


def units_of(directory: Path) -> list[Unit]:
    """The units of a stored evaluation: always the same, whatever is finished."""
    from omnimeter.results import Record

    return units_in(evaluation_of(Record(directory)), directory)


def units_in(evaluation: Evaluation, directory: Path, options: Options | None = None) -> list[Unit]:
    """The units of an evaluation that is, or is going to be, in a directory.

    Agents take turns, so that an interrupted evaluation has had about the same share of each.
    """
    protocol, where = evaluation.make_protocol(), str(directory.absolute())
    options = options or Options()
    units: list[tuple[float, Unit]] = []
    first = protocol.propose(evaluation.agents[0], [])
    joint = bool(len(first)) and bool(first[0].joint) and not first[0].seated
    for agents in [evaluation.agents] if joint else [(agent,) for agent in evaluation.agents]:
        exercises = protocol.propose(agents[0], [])
        total = len(exercises)
        if not total or not _is_sliced(protocol) or exercises[0].preparation is not None:
            units.append((0.0, Unit(where, agents, options=options)))
            continue
        for part in slices(total, slice_size(exercises, options)):
            unit = Unit(where, agents, part.start, part.stop, options)
            units.append((part.start / total, unit))
    return [unit for _, unit in sorted(units, key=lambda pair: pair[0])]


def _is_sliced(protocol: Protocol) -> bool:
    return protocol.fixed and protocol.memory == "fresh"


def unfinished(units: Iterable[Unit], damaged: dict[str, StoreError] | None = None) -> list[Unit]:
    """The units in which something is left to do, with the shards that they have begun.

    Args:
        units: The units.
        damaged: Where damaged evaluations are noted, by their directories, and why. Their units are
            left out.

    Raises:
        StoreError: An evaluation cannot be read.
    """
    from omnimeter.results import Record

    by_directory: dict[str, list[Unit]] = {}
    for unit in units:
        by_directory.setdefault(unit.directory, []).append(unit)
    left: dict[str, Unit] = {}
    for directory, own in by_directory.items():
        noted: dict[Path, StoreError] = {}
        record = Record.intact(directory, noted)
        if record is None or noted:
            error = next(iter(noted.values()))
            if damaged is None:
                raise error
            damaged[directory] = error
            continue
        with files_in(own[0].options.folder):
            left |= _left(record, own)
    return [left[unit.key] for unit in units if unit.key in left]


def _left(record: Record, units: Sequence[Unit]) -> dict[str, Unit]:
    """The units of one evaluation in which something is left to do, by their keys."""
    left, protocol = {}, evaluation_of(record).make_protocol()
    agents = dict.fromkeys(agent for unit in units for agent in unit.agents)
    done = record.outcomes().by_agent(agents)
    stops = {agent: stopped_at(outcomes) for agent, outcomes in done.items()}
    for unit in units:
        outcomes = [_within(done[agent], unit) for agent in unit.agents]
        if any(
            _is_before(stops[agent], unit) and _is_left(protocol, unit, agent, each)
            for agent, each in zip(unit.agents, outcomes, strict=True)
        ):
            shards = {shard for each in outcomes for shard in each.shards}
            left[unit.key] = replace(unit, shards=tuple(sorted(shards)))
    return left


def _within(outcomes: Outcomes, unit: Unit) -> Outcomes:
    """The outcomes of one agent that belong to a unit; they are ordered by number."""
    if unit.last is None:
        return outcomes
    start, stop = np.searchsorted(outcomes.numbers, [unit.first, unit.last]).tolist()
    return outcomes[start:stop]


def _is_before(stop: Stop | None, unit: Unit) -> bool:
    """Whether a unit is not after the last exercise of an agent that was stopped."""
    return stop is None or stop.limit < unit.options.fault_limit or unit.first <= stop.number


def _is_left(protocol: Protocol, unit: Unit, agent: Spec, done: Outcomes) -> bool:
    spoilt = np.any((done.faults == INFRASTRUCTURE) & (done.attempts < TRIES))
    if unit.last is not None and len(done) >= unit.last - unit.first:
        return bool(spoilt)
    stop = stopped_at(done)
    if stop and stop.limit >= unit.options.fault_limit:
        return False
    return bool(spoilt or unit.last is not None or len(protocol.propose(agent, done)))


def carry_out(unit: Unit, work: Work | None = None) -> Receipt:
    """Carry out what is not finished of a unit, in this process.

    Where a file of its evaluation is damaged, it ends there: other units may be intact.

    Args:
        unit: The unit.
        work: Carries out its exercises, and keeps processes from one unit to the next.

    Raises:
        OmnimeterError: Something cannot be made, or cannot be stored.
    """
    begun = monotonic()
    try:
        return _carried_out(unit, work, begun)
    except DamagedError as error:
        return Receipt(unit.key, 0, monotonic() - begun, "damaged", damage=error)


def _carried_out(unit: Unit, work: Work | None, begun: float) -> Receipt:
    from omnimeter.results import Writer

    writer = Writer(unit.directory, unit.shards)
    evaluation = replace(evaluation_of(writer), agents=unit.agents)
    part = None if unit.last is None else range(unit.first, unit.last)
    outcome: Literal["done", "interrupted"] = "done"
    with files_in(unit.options.folder):
        run = Run(evaluation, writer, replace(unit.options, workers=1), part=part, work=work)
        try:
            for _ in run:
                pass
        except KeyboardInterrupt:
            outcome = "interrupted"
    finished, seconds = sum(writer.written.values()), monotonic() - begun
    written = tuple(writer.written)
    return Receipt(unit.key, finished, seconds, outcome, written, faults=run.faults)


def quarantine_file(directory: Path, unit: Unit) -> Path:
    """The file that keeps a unit of a campaign from being tried again, if it is there."""
    return directory / "quarantine" / f"{unit.key}.json"


def quarantine(directory: Path, unit: Unit, reason: str, tail: str) -> None:
    """Write down why a unit of a campaign is not tried again, and the end of its error output."""
    content = {
        "evaluation": Path(unit.directory).name,
        "agents": [agent.label for agent in unit.agents],
        "first": unit.first,
        "reason": reason,
        "tail": tail,
    }
    path = quarantine_file(directory, unit)
    files.make_directory(path.parent)
    files.write(path, (json.dumps(content, indent=2) + "\n").encode())


def this_process(units: Sequence[Unit], tell: Tell) -> None:
    """Carry out units one after the other, in this process.

    Raises:
        KeyboardInterrupt: It was interrupted; what was finished is stored.
    """
    for options, own in _by_options(units):
        with worker_pool(replace(options, workers=1)) as work:
            wanted = Wanted(own, tell)
            for unit in wanted:
                receipt = carry_out(unit, work)
                wanted.tell(receipt)
                tell(receipt)
                if receipt.outcome == "interrupted":
                    raise KeyboardInterrupt


class Wanted(Iterator[Unit]):
    """Units, without those after the exercise at which an agent was stopped meanwhile.

    Args:
        units: The units.
        skipped: Told a receipt of each that is left out.
    """

    def __init__(self, units: Sequence[Unit], skipped: Tell) -> None:
        self._skipped = skipped
        self._units, self._by_key = iter(units), {unit.key: unit for unit in units}
        self._faulty: dict[tuple[str, Spec], dict[int, Outcome]] = {}
        self._stops: dict[tuple[str, Spec], int] = {}

    def tell(self, receipt: Receipt) -> None:
        """What became of a unit: the faults of several may be one row."""
        if not receipt.faults:
            return
        from omnimeter.results import Record

        unit = self._by_key[receipt.unit]
        done = Record(unit.directory, receipt.shards).outcomes()
        for agent, outcomes in done.by_agent(unit.agents).items():
            place = unit.directory, agent
            known = self._faulty.setdefault(place, {})
            own = {each.exercise.number: each for each in outcomes.where(outcomes.faults != 0)}
            known |= own
            # What is new is a part of a longer row or is not; other rows have not changed.
            first, last = min(own, default=0), max(own, default=-1)
            while first - 1 in known:
                first -= 1
            while last + 1 in known:
                last += 1
            row = Outcomes([known[n] for n in range(first, last + 1) if n in known])
            if stop := stopped_at(row):
                self._stops[place] = min(stop.number, self._stops.get(place, stop.number))

    def __next__(self) -> Unit:
        while True:
            unit = next(self._units)
            stops = [self._stops.get((unit.directory, agent)) for agent in unit.agents]
            if any(stop is None or unit.first <= stop for stop in stops):
                return unit
            self._skipped(Receipt(unit.key, 0, 0.0))


def _by_options(units: Sequence[Unit]) -> Iterator[tuple[Options, list[Unit]]]:
    """The units that are run in the same way."""
    groups: dict[Options, list[Unit]] = {}
    for unit in units:
        groups.setdefault(unit.options, []).append(unit)
    yield from groups.items()


@dataclass(frozen=True)
class _Task:
    """A unit as a task of a pool of workers; how often its worker has died is counted."""

    unit: Unit
    died: int = 0
    agents: tuple[Spec, ...] = ()  # they are the unit's own business
    results = 1
    whole = True
    keeps_others = True

    def seconds(self, options: Options, done: int) -> float:  # noqa: ARG002 - see Task
        """As long as its exercises may take; where their number is open, there is no end."""
        if self.unit.last is None:
            return inf
        limits = options.limits
        each = limits.seconds_per_exercise + limits.seconds_to_begin + MARGIN
        return (self.unit.last - self.unit.first) * each * len(self.unit.agents)

    def needs_worker(self, options: Options) -> bool:  # noqa: ARG002
        return True

    def carry_out(self, runner: ExerciseRunner) -> Iterator[Receipt]:
        yield carry_out(self.unit, work_within(runner, replace(self.unit.options, workers=1)))

    def lost(
        self,
        finished: Sequence[Receipt],  # noqa: ARG002
        end: End,
    ) -> tuple[Sequence[Receipt], Sequence[_Task]]:
        left = unfinished([self.unit], {})  # a damaged evaluation is found by who reads it next
        if not left:  # it died before it could tell
            return [Receipt(self.unit.key, 0, 0.0)], []
        if self.died + 1 < TRIES:
            return [], [_Task(left[0], self.died + 1)]
        reason = f"{end.message} That was the end of {TRIES} workers in a row."
        return [Receipt(self.unit.key, 0, 0.0, "quarantined", (), reason, end.output)], []


def processes(workers: int) -> Executor:
    """An executor with so many processes on this machine.

    A worker that dies costs what it had not stored yet, a second's work; its unit is tried by
    another one. Workers end with this process, whatever ends it.
    """

    def execute(units: Sequence[Unit], tell: Tell) -> None:
        with tempfile.TemporaryDirectory(prefix="omnimeter-") as logs:
            for options, own in _by_options(units):
                pool = WorkerPool(replace(options, workers=min(workers, len(own))), Path(logs))
                try:
                    wanted = Wanted(own, tell)
                    for receipt in pool.work(map(_Task, wanted)):
                        wanted.tell(receipt)
                        tell(receipt)
                finally:
                    pool.dismiss()

    return execute


EXECUTORS: dict[str, Callable[[int], Executor]] = {
    "processes": processes,
    "this-process": lambda workers: this_process,  # noqa: ARG005 - as the others are called
}
"""What carries out the units of a campaign, by name, given how many workers there are."""
