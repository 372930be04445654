"""How far a campaign is: what is told while it is carried out, and afterwards."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from time import monotonic

from omnimeter.contract.spec import JsonData
from omnimeter.execution.units import Receipt, Unit


@dataclass(frozen=True)
class Progress(JsonData):
    """How far a run of a campaign is.

    Attributes:
        units: Units that this run carries out.
        done: How many of them are over, quarantined ones included.
        finished: Exercises that this run has stored, those after an agent's stop too.
        quarantined: Units whose worker died again and again, of all runs.
        seconds_left: An estimate of the time left; ``None`` as long as nothing is known.
        complete: Whether the run has found that nothing is left to do.
    """

    units: int = 0
    done: int = 0
    finished: int = 0
    quarantined: int = 0
    seconds_left: float | None = None
    complete: bool = False


@dataclass(frozen=True)
class AgentStatus(JsonData):
    """How far one agent is in one evaluation.

    Attributes:
        evaluation: The name of the evaluation.
        agent: The label of the agent.
        finished: Exercises with an outcome.
        expected: How many there are going to be, where that is known beforehand.
        faults: How many of them ended in a fault.
        own_faults: How many of these are faults of the agent.
        stopped: Whether it takes no more exercises because of them.
    """

    evaluation: str
    agent: str
    finished: int
    expected: int | None = None
    faults: int = 0
    own_faults: int = 0
    stopped: bool = False


@dataclass(frozen=True)
class Quarantined(JsonData):
    """A unit that was given up: its worker died again and again through no agent's fault."""

    evaluation: str
    agents: tuple[str, ...]
    reason: str
    file: str


@dataclass(frozen=True)
class Status(JsonData):
    """How far a campaign is.

    Attributes:
        title: What people call it.
        running: Whether a process is carrying it out.
        agents: Each agent in each evaluation.
        quarantined: Units that were given up.
        progress: How far the run is that goes on, or was when the last one ended.
        interrupted: Whether the run that this is the result of was interrupted.
        tasks: The states of its tasks of SLURM that wait or run, by job and task.
        unknown: Why these are not known, if so.
        submitted: Whether there are array jobs that may not have been collected.
        damaged: Why files were left out, by their paths.
    """

    title: str
    running: bool
    agents: tuple[AgentStatus, ...]
    quarantined: tuple[Quarantined, ...] = ()
    progress: Progress = Progress()
    interrupted: bool = False
    tasks: Mapping[str, str] = field(default_factory=dict)
    unknown: str = ""
    submitted: bool = False
    damaged: Mapping[str, str] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether nothing is left to do but what is quarantined, and nothing is damaged.

        What the last run found may no longer hold: files may have been removed since then.
        """
        intact = self.progress.complete and not self.damaged
        if not intact or len(self.quarantined) < self.progress.quarantined:
            return False
        given_up = {(each.evaluation, agent) for each in self.quarantined for agent in each.agents}
        return all(
            row.stopped
            or row.finished >= (row.expected or 0)
            or (row.evaluation, row.agent) in given_up
            for row in self.agents
        )

    @property
    def sentence(self) -> str:
        """The state in a few words."""
        if self.running:
            return "running"
        if self.tasks:
            waiting = sum(state == "PENDING" for state in self.tasks.values())
            return f"{len(self.tasks) - waiting} running and {waiting} waiting tasks"
        if not self.complete:
            return "not complete" if any(each.finished for each in self.agents) else "not begun"
        count = len(self.quarantined)
        return f"complete with {count} quarantined" if count else "complete"


class TimeLeft:
    """Estimates the time left from the receipts of a run, by a clock that cannot be set.

    What is left is taken to last as long as units of the same evaluation did, or else as all did.
    """

    def __init__(self, units: Sequence[Unit]) -> None:
        self._left = {unit.key: unit.directory for unit in units}
        self._seconds: dict[str, list[float]] = defaultdict(list)
        self._begun = monotonic()

    def add(self, receipt: Receipt) -> None:
        """A unit is over."""
        directory = self._left.pop(receipt.unit, None)
        if directory is not None:
            self._seconds[directory].append(receipt.seconds)

    @property
    def seconds(self) -> float | None:
        """The time left; ``None`` as long as nothing is over."""
        every = [each for seconds in self._seconds.values() for each in seconds]
        if not self._left:
            return 0.0
        if not every or not sum(every):
            return None
        means = {directory: fmean(seconds) for directory, seconds in self._seconds.items()}
        work = sum(means.get(directory, fmean(every)) for directory in self._left.values())
        # How many units were carried out at once so far.
        elapsed = max(monotonic() - self._begun, 1e-9)
        return work / max(sum(every) / elapsed, 1e-9)
