"""Units of work of stored evaluations, and the executors in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field, replace
from functools import cached_property
from multiprocessing import get_context
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal

from omnimeter.contract import Outcome, Spec, Trace
from omnimeter.contract.spec import fingerprint
from omnimeter.execution.evaluation import Run
from omnimeter.execution.workers import Options
from omnimeter.protocols import Evaluation

if TYPE_CHECKING:
    from omnimeter.results import Writer


@dataclass(frozen=True)
class Unit:
    """The work of one agent in an evaluation, or of all agents of a joint run.

    Attributes:
        directory: The absolute path of the evaluation.
        agents: One agent, or all of a joint run.
        part: Which slice of the exercises it is.
        options: How it is carried out.
    """

    directory: str
    agents: tuple[Spec, ...]
    part: int = 0
    options: Options = field(default_factory=Options)

    @cached_property
    def key(self) -> str:
        """A short name that depends on the evaluation, the agents and the part."""
        name = Path(self.directory).name
        return fingerprint([name, [agent.to_json() for agent in self.agents], self.part])


@dataclass(frozen=True)
class Receipt:
    """What became of a unit.

    Attributes:
        unit: The key of the unit.
        finished: Exercises that were committed by this attempt.
        seconds: How long it took.
        outcome: Whether it is done.
        reason: Why it was quarantined, with the tail of its error output.
    """

    unit: str
    finished: int
    seconds: float
    outcome: Literal["done", "interrupted", "quarantined"]
    reason: str = ""


Executor = Callable[[Sequence[Unit], Callable[[Receipt], None]], None]


def units_of(directory: Path) -> list[Unit]:
    """The units of a stored evaluation, the same whoever asks."""
    from omnimeter.results import Record

    evaluation = Evaluation.from_json(Record(directory).spec)
    return [Unit(str(directory.absolute()), agents) for agents in _groups(evaluation)]


def unit_count(evaluation: Evaluation) -> int:
    """How many units an evaluation is going to have."""
    return len(_groups(evaluation))


def _groups(evaluation: Evaluation) -> list[tuple[Spec, ...]]:
    if "joint" in evaluation.protocol.parameters:
        return [evaluation.agents]
    return [(agent,) for agent in evaluation.agents]


def unfinished(units: Iterable[Unit]) -> list[Unit]:
    """The units that have exercises left."""
    return [unit for unit in units if not _is_done(unit)]


def _is_done(unit: Unit) -> bool:
    from omnimeter.protocols import summarise
    from omnimeter.results import Record

    record = Record(unit.directory)
    evaluation = Evaluation.from_json(record.spec).with_seed(record.seed)
    done = [each for each in record.outcomes() if each.exercise.agent in unit.agents]
    return summarise(replace(evaluation, agents=unit.agents), done).complete


class _Share:
    """What a writer holds of some agents."""

    def __init__(self, writer: Writer, agents: tuple[Spec, ...]) -> None:
        self._writer, self._agents = writer, agents
        self.begin, self.begun = writer.begin, writer.begun
        self.added = 0

    def outcomes(self) -> list[Outcome]:
        return [each for each in self._writer.outcomes() if each.exercise.agent in self._agents]

    def append(
        self, outcomes: Iterable[Outcome], traces: Mapping[str, Trace] | None = None
    ) -> None:
        every = list(outcomes)
        self._writer.append(every, traces)
        self.added += len(every)


def carry_out(unit: Unit) -> Receipt:
    """Carry out what is not finished of a unit, in this process."""
    from omnimeter.results import Record, open_writer

    begun = monotonic()
    spec = Record(unit.directory).spec
    with open_writer(unit.directory, spec) as writer:
        evaluation = Evaluation.from_json(spec).with_seed(writer.seed)
        store = _Share(writer, unit.agents)
        for _ in Run(replace(evaluation, agents=unit.agents), store, unit.options):
            pass
    return Receipt(unit.key, store.added, monotonic() - begun, "done")


def this_process(units: Sequence[Unit], tell: Callable[[Receipt], None]) -> None:
    """Carry out units one after the other."""
    for unit in units:
        tell(carry_out(unit))


def processes(workers: int) -> Executor:
    """An executor with processes of this machine, each of which carries out whole evaluations."""

    def execute(units: Sequence[Unit], tell: Callable[[Receipt], None]) -> None:
        evaluations: dict[str, list[Unit]] = {}
        for unit in units:
            evaluations.setdefault(unit.directory, []).append(unit)
        count = min(workers, len(evaluations))
        with ProcessPoolExecutor(count, mp_context=get_context("spawn")) as pool:
            try:
                work = [pool.submit(_carry_out, each) for each in evaluations.values()]
                for done in as_completed(work):
                    for receipt in done.result():
                        tell(receipt)
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise

    return execute


def _carry_out(units: Sequence[Unit]) -> list[Receipt]:
    return [carry_out(unit) for unit in units]


EXECUTORS: Mapping[str, Callable[[int], Executor]] = {
    "processes": processes,
    "this-process": lambda workers: this_process,  # noqa: ARG005 - as the others are called
}
