"""A campaign: many evaluations with a common plan, in one directory, carried out and read."""

from __future__ import annotations

import json
import os
import secrets
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager, suppress
from copy import copy
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Literal

import numpy as np

from omnimeter.api.campaign_file import read_plan
from omnimeter.api.campaign_plan import Entry, Plan
from omnimeter.api.campaign_status import AgentStatus, Progress, Quarantined, Status, TimeLeft
from omnimeter.api.cluster import (
    EXECUTORS,
    SLURM,
    array_jobs,
    check_address,
    executor_named,
    settings_in,
)
from omnimeter.api.evaluation import Session, directory_of, running_options
from omnimeter.api.result import agent_among, opened, seed_warning
from omnimeter.api.universal import DEFINITIONS, UniversalTest
from omnimeter.api.workload import Workload, workload
from omnimeter.catalogue import files_in
from omnimeter.contract import (
    ClockKind,
    InvalidInputError,
    OmnimeterError,
    Outcomes,
    Spec,
)
from omnimeter.contract.errors import DamagedError, StoreError
from omnimeter.contract.outcomes import stopped_at, that_count
from omnimeter.contract.text import clean_line, clean_message
from omnimeter.execution import slurm
from omnimeter.execution.units import (
    Executor,
    Receipt,
    Unit,
    quarantine,
    unfinished,
    units_of,
)
from omnimeter.execution.workers import cores
from omnimeter.protocols import Evaluation
from omnimeter.results import files, merging
from omnimeter.results.files import Layout, is_locked, newer_format_error, read_error

if TYPE_CHECKING:
    from omnimeter.protocols import Result as Judged
    from omnimeter.reports import Comparison
    from omnimeter.reports.between import Between, Taken
    from omnimeter.reports.campaign import CampaignScore, Member
    from omnimeter.reports.campaign_page import Study

FORMAT = 1
"""The version of the layout that this package writes."""

PAUSE = 1.0
"""Seconds between two times that the progress is written down."""

_PROTOCOLS = {definition.protocol: definition for definition in DEFINITIONS.values()}


class Campaign:
    """A campaign that is going to be carried out, goes on, or is only read.

    Args:
        plan: What it carries out.
        path: Its directory, which need not exist.
        source: The file that the plan is from, of which a copy is kept.

    Attributes:
        damaged: The files that its methods have left out, as far as they looked at them, and why. A
            damaged evaluation is not carried out: what is wrong with it can be repaired.

    Raises:
        StoreError: The directory holds something else.
    """

    def __init__(self, plan: Plan, path: str | Path, source: bytes = b"") -> None:
        self.plan, self.path, self._source = plan, directory_of(path), source
        # What is stored of how it is carried out, whatever is chosen for one run.
        self._lasting = {name: getattr(plan, name) for name in ("workers", "executor", "address")}
        self.damaged: dict[Path, StoreError] = {}
        if source:
            folder = plan.folders[-1]
            beside = os.path.relpath(folder, self.path.absolute())
            self.plan = plan = replace(plan, folders=(beside, folder))
        self._grows = False  # whether it has more than what is stored
        self._new = not self._file(self.path).exists()
        if not self._new:
            self._agree()
        if self._new and self.path.exists():
            with files.write_errors(self.path):
                names = {each.name for each in self.path.iterdir()}
            begun = {self._layout.lock.name, "campaign.toml"}  # by a run that was killed
            if any(name for name in names - begun if not name.endswith(files.UNFINISHED)):
                message = f"{self.path} is not empty and holds no campaign."
                raise StoreError(message, "Choose another directory with --out.")

    @classmethod
    def open(cls, path: str | Path) -> Campaign:
        """The campaign in a directory.

        Raises:
            StoreError: There is none, or it is damaged or of a newer version.
        """
        return cls(cls._stored_plan(directory_of(path)), path)

    @staticmethod
    def _file(path: Path) -> Path:
        return path / "campaign.json"

    @classmethod
    def _stored_plan(cls, path: Path) -> Plan:
        file = cls._file(path)
        try:
            content = json.loads(file.read_bytes())
            if int(content["format"]) > FORMAT:
                raise newer_format_error(file, int(content["format"]))
            plan = Plan.from_json(content["plan"], str(file))
            intact = content["fingerprint"] == plan.fingerprint
        except (FileNotFoundError, NotADirectoryError) as error:
            message = f"{path} is not a campaign: it has no file campaign.json."
            advice = "Check the path; a campaign is made by 'omnimeter campaign run FILE'."
            raise StoreError(message, advice) from error
        except OSError as error:
            raise read_error(error, file) from error
        except (ValueError, KeyError, TypeError, RecursionError, InvalidInputError):
            intact = False
        if not intact:
            raise StoreError(f"{file} is not as it was written.", "Restore the original file.")
        return plan

    def _agree(self) -> None:
        """Go on with what is stored, if the plan evaluates the same, or more of it.

        Raises:
            StoreError: It evaluates something else, or what is stored cannot be read.
        """
        stored = self._stored_plan(self.path)
        if self.plan.is_elsewhere(stored):
            self.plan = replace(self.plan, entries=stored.entries, groups=stored.groups)
        said = self.plan.difference(stored)
        if said:
            with files_in(self.folder):
                self._grows = self.plan.extends(stored)
        if said and not self._grows:
            message = f"{self.path} belongs to another plan: {said}."
            raise StoreError(message, "Choose another directory with --out, or restore the file.")
        self._new = False

    @cached_property
    def folder(self) -> str:
        """Where relative names of files begin: where the files of the plan are.

        They are looked for where they were as seen from here, where they were, beside the
        directory, and in it.
        """
        here = self.path.absolute()
        places = [os.path.normpath(here / each) for each in (*self.plan.folders, "..", ".")]
        for folder in places:
            with suppress(OmnimeterError):
                self.plan.check_files(folder)
                return folder
        return next(filter(self.plan.has_sources, places), places[0])

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The evaluations, in order."""
        return self.plan.entries

    def directory(self, entry: Entry) -> Path:
        """Where an evaluation is stored, as an ordinary one."""
        return self.path / "evaluations" / entry.name

    @property
    def _layout(self) -> Layout:
        return Layout(self.path)

    @property
    def workers(self) -> int:
        """How many workers share the work: those of the plan, or one for each processor.

        Of array jobs, how many tasks run at once at the most.
        """
        if self.plan.executor == "this-process":
            return 1
        if self.plan.executor == SLURM:
            settings = settings_in(self.plan)
            return min(settings.tasks, settings.running or settings.tasks)
        return self.plan.workers or cores()

    def with_running(
        self,
        workers: int | None = None,
        executor: str | None = None,
        address: str | None = None,
    ) -> Campaign:
        """The same campaign, carried out by other workers; that is not stored.

        Args:
            workers: How many work at once.
            executor: ``processes``, ``this-process``, ``ray`` or ``slurm``.
            address: That of a Ray cluster that is running.

        Raises:
            InvalidInputError: There is no such executor, or there cannot be so many workers.
        """
        running_options(workers=workers or 1)
        executor = executor or self.plan.executor
        if executor not in EXECUTORS:
            message = f"There is no executor {executor!r}."
            raise InvalidInputError(message, f"Known: {', '.join(EXECUTORS)}.")
        if workers and executor == SLURM:
            message = f"workers={workers} has no effect on array jobs."
            raise InvalidInputError(message, "Leave it out; [slurm] in the file has their tasks.")
        if workers and workers > 1 and executor == "this-process":
            message = f"workers={workers} has no effect in this process, which works alone."
            raise InvalidInputError(message, 'Leave it out, or give executor="processes".')
        if address is not None:
            check_address(address)
            if executor != "ray":
                message = f"address={address} has no effect on the executor {executor!r}."
                raise InvalidInputError(message, 'Give executor="ray" too, or leave it out.')
        other = copy(self)
        other.damaged = {}
        other.plan = replace(
            self.plan,
            workers=workers or self.plan.workers,
            executor=executor,
            address=address or self.plan.address,
        )
        return other

    @property
    def warnings(self) -> list[str]:
        """What to know of how its tests are taken, before it is carried out."""
        with files_in(self.folder):
            return sorted({seed_warning(self._as_it_goes_on(each)) for each in self.entries} - {""})

    def workload(self, progress: Callable[[str], None] = lambda doing: None) -> Workload:  # noqa: ARG005
        """Count the work, and estimate its time from short exercises; stores nothing."""
        with files_in(self.folder):
            return workload(self.plan, self.workers, self.path, progress=progress)

    def check(self) -> None:
        """Find out whether everything can be made, before anything is stored.

        Raises:
            OmnimeterError: What cannot be made, and why.
        """
        alike: dict[tuple[str, str], Entry] = {}
        for entry in self.entries:
            alike.setdefault((entry.setting, entry.environment_class), entry)
        for entry in alike.values():
            evaluation = entry.evaluation
            options = self.plan.options(evaluation.agents)
            definition = _PROTOCOLS.get(evaluation.protocol.id)
            with files_in(self.folder):
                if definition is None:
                    Session(evaluation, options=options).check()
                else:
                    UniversalTest(definition, evaluation, options=options).check()

    def _check_workers(self) -> None:
        """Check that tests in which real time counts are not disturbed by others."""
        plan, several = self.plan, self.workers > 1
        if plan.executor == "ray" and plan.address:  # how many it has is not known yet
            several = plan.workers != 1
        advice = 'Give workers=1, or clock = "virtual" in the file.'
        if plan.executor == SLURM:  # a task that has its node for itself is not disturbed
            several = several and "--exclusive" not in settings_in(plan).options
            advice = 'Give options = ["--exclusive"] in [slurm], or clock = "virtual".'
        for entry in self.entries if several else ():
            protocol = entry.evaluation.protocol
            definition = _PROTOCOLS.get(protocol.id)
            if definition and protocol.parameters.get("clock") == ClockKind.WALL:
                message = f"Real time counts in {entry.setting}: several workers would disturb it."
                raise InvalidInputError(message, advice)

    def run(
        self,
        progress: Callable[[Progress], None] = lambda progress: None,  # noqa: ARG005
        executor: Executor | None = None,
    ) -> Status:
        """Carry out what is not finished; Ctrl-C ends it early, and the next run goes on.

        Args:
            progress: Told how far it is, whenever that changes.
            executor: What carries it out; by default what the plan says.

        Returns:
            How far it is then.

        Raises:
            InvalidInputError: Its plan says SLURM, or tasks of SLURM wait or run.
            StoreError: Another process carries it out, or it cannot be stored.
            OmnimeterError: Something cannot be made.
        """
        if self.plan.executor == SLURM and executor is None:
            message = "Array jobs are submitted, and not waited for."
            raise InvalidInputError(message, "Call submit(), and collect() later.")
        self._check_workers()
        if self._new or self._grows:
            self.check()
        interrupted = False
        self.damaged.clear()
        with self._locked():
            now = Progress()
            try:
                begun = {self.directory(each) for each in self.entries if self._has_begun(each)}
                broken: dict[str, StoreError] = {}
                left = self._left(self._begin(broken), broken)
                if left:
                    self._check_files()
                    self._refuse_tasks()  # before shards are merged that they have begun
                    files.remove_unfinished(self.path / "quarantine")
                    going = {unit.directory for unit in left}
                    begun = {each for each in begun if str(each.absolute()) in going}
                left = self._reopened(left, begun if left else self._scattered(), broken)
                by_key = {unit.key: unit for unit in left}
                now = Progress(len(left), quarantined=len(self._quarantine))
                clock, written = TimeLeft(left), monotonic()
                self._write_progress(now)
                progress(now)

                def tell(receipt: Receipt) -> None:
                    nonlocal now, written
                    clock.add(receipt)
                    self._note_failure(by_key, receipt, broken)
                    quarantined = receipt.outcome == "quarantined"
                    now = replace(
                        now,
                        done=now.done + (receipt.outcome != "interrupted"),
                        finished=now.finished + receipt.finished,
                        quarantined=now.quarantined + quarantined,
                        seconds_left=clock.seconds,
                    )
                    if monotonic() - written > PAUSE:
                        self._write_progress(now)
                        written = monotonic()
                    progress(now)

                if left:
                    named = self.plan.executor, self.plan.workers, self.plan.address
                    (executor or executor_named(*named))(left, tell)
                    left = self._left(left, broken)
                    self._reopened([], self._scattered(), broken)
                now = replace(now, seconds_left=None, complete=not left and not broken)
                self._write_progress(now)
                progress(now)
            except KeyboardInterrupt:
                interrupted = True
                self._write_progress(replace(now, seconds_left=None))
        return replace(self.status(), running=False, interrupted=interrupted)

    def _note_failure(
        self, units: Mapping[str, Unit], receipt: Receipt, broken: dict[str, StoreError]
    ) -> None:
        """Write down that a unit was given up, or note that its evaluation is damaged."""
        if receipt.outcome == "quarantined":
            quarantine(self.path, units[receipt.unit], receipt.reason, receipt.tail)
        if receipt.damage is not None:
            place = units[receipt.unit].directory
            directory = self.path / "evaluations" / Path(place).name  # as they are named elsewhere
            self.damaged[directory] = broken[place] = receipt.damage

    def submit(self) -> list[str]:
        """Submit what is not finished as array jobs of SLURM, and do not wait for them.

        Returns:
            The numbers of the jobs; none if nothing is left.

        Raises:
            InvalidInputError: Its plan says something else than SLURM, tasks of it wait or run,
                or the commands of SLURM are not installed.
            StoreError: Another process carries it out, or it cannot be stored.
            OmnimeterError: Something cannot be made, or SLURM does not take a job.
        """
        if self.plan.executor != SLURM:
            message = f"The executor is {self.plan.executor!r}, which takes no jobs."
            raise InvalidInputError(message, 'Call with_running(executor="slurm") first.')
        self._check_workers()
        if self._new or self._grows:
            self.check()
        with self._locked():
            broken: dict[str, StoreError] = {}
            if left := unfinished(self._begin(broken), broken):
                self._check_files()
            groups = array_jobs(self.plan, left)
            jobs = slurm.slurm_submit(self.path, groups, settings_in(self.plan))
            given_up = len(self._quarantine)
            self._write_progress(Progress(quarantined=given_up, complete=not jobs and not broken))
        return jobs

    def collect(self) -> slurm.Collected:
        """See what became of the array jobs that were submitted last, also while they run.

        Raises:
            InvalidInputError: None was submitted, or the commands of SLURM are not installed.
            StoreError: Another process carries the campaign out, or it cannot be read.
            OmnimeterError: SLURM does not tell which jobs are active.
        """
        with self._locked():
            told = slurm.collect(self.path)
            broken: dict[str, StoreError] = {}
            left = self._left(self._begin(broken), broken)
            if not told.active:
                self._reopened([], self._scattered(), broken)
            done = told.finished + told.given_up
            complete = not left and not broken
            now = Progress(told.units, done, quarantined=len(self._quarantine), complete=complete)
            self._write_progress(now)
        return told

    def _check_files(self) -> None:
        try:
            self.plan.check_files(self.folder)
        except OmnimeterError as error:
            advice = f"It goes on with the files that it began with; put them into {self.folder}."
            raise InvalidInputError(error.message, advice) from error

    def _refuse_tasks(self) -> None:
        """Let tasks of SLURM that wait or run be the only ones that carry it out."""
        tasks, unknown = self._tasks()
        slurm.refuse_active(tasks)
        if unknown:
            said = f"Whether tasks of this campaign still wait or run is not known: {unknown}"
            warnings.warn(said, stacklevel=3)

    def _tasks(self) -> tuple[dict[str, str], str]:
        """The states of tasks of SLURM that wait or run, or why they are not known."""
        try:
            return slurm.active_tasks(self.path), ""
        except OmnimeterError as error:
            return {}, error.message

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock; a look at it by ``status`` lasts a moment only."""
        files.make_directory(self.path, mode=0o700)
        with files.locked(self._layout, timeout=0.5):
            for own in ("campaign.toml", "campaign.json", "progress.json"):
                files.remove_unfinished(self.path, f"{own}.*")
            if self._file(self.path).exists():  # another process may have been faster
                self._agree()
            plan = replace(self.plan, **self._lasting)
            if self._new or self._stored_plan(self.path) != plan:
                if self._source:
                    files.write(self.path / "campaign.toml", self._source)
                content = {
                    "format": FORMAT,
                    "fingerprint": plan.fingerprint,
                    "plan": plan.to_json(),
                }
                files.write(self._file(self.path), (json.dumps(content, indent=1) + "\n").encode())
                self._new = self._grows = False
            yield

    def _begin(self, broken: dict[str, StoreError]) -> list[Unit]:
        """The units of all evaluations, whose directories are made where there are none.

        Where the plan has more exercises or agents than an evaluation, that is extended. Those that
        are damaged so that nothing of them can be read are noted as broken.
        """
        units = []
        hidden, folder = str(self.path.absolute()), self.folder
        if not self._last_progress.complete:
            self._check_files()
        for entry in self.entries:
            directory, evaluation = self.directory(entry), entry.evaluation
            try:
                with files_in(folder):
                    if not self._has_begun(entry):
                        files.make_directory(directory.parent, mode=0o700)
                        drawn = secrets.randbits(63) if evaluation.needs_seed else None
                        with opened(evaluation, directory, drawn):
                            pass
                    elif (grown := self._as_it_goes_on(entry)) != self._stored(entry):
                        self._refuse_tasks()
                        with opened(grown, directory, replaces=self._stored(entry).to_json()):
                            pass
                    own = units_of(directory)
            except DamagedError as error:
                broken[str(directory.absolute())] = error
                continue
            for unit in own:
                options = self.plan.options(unit.agents)
                options = replace(options, hidden=(*options.hidden, hidden), folder=folder)
                units.append(replace(unit, options=options))
        return units

    def _has_begun(self, entry: Entry) -> bool:
        return Layout(self.directory(entry)).has_begun

    def _stored(self, entry: Entry) -> Evaluation:
        from omnimeter.results import Record

        return Evaluation.from_json(Record(self.directory(entry)).spec)

    def _as_it_goes_on(self, entry: Entry) -> Evaluation:
        """An evaluation with what is stored of it: whether it was extended, and its seed told."""
        from omnimeter.results import Record

        if not self._has_begun(entry):
            return entry.evaluation
        record = Record.intact(self.directory(entry), {})
        if record is None:
            return entry.evaluation
        stored, given = Evaluation.from_json(record.spec), entry.evaluation
        return given.continued(stored, record.seed, record.outcomes) or given

    def _reopened(
        self, left: list[Unit], places: Set[Path], broken: dict[str, StoreError]
    ) -> list[Unit]:
        """The units that are left, when some evaluations have been opened for going on.

        That notes how they go on, and merges their shards. Broken ones are left as they are.
        """
        changed = set()  # the evaluations that are in other shards now
        for entry in self.entries:
            directory = self.directory(entry)
            place = str(directory.absolute())
            if directory not in places or place in broken:
                continue
            before = Layout(directory).shards()
            try:
                with files_in(self.folder), opened(self._stored(entry), directory):
                    pass
            except DamagedError as error:  # of traces
                self.damaged[directory] = broken[place] = error
                left = [unit for unit in left if unit.directory != place]
            if Layout(directory).shards() != before:
                changed.add(place)
        anew = unfinished([unit for unit in left if unit.directory in changed], broken)
        known = {unit.key: unit for unit in anew}
        return [known.get(unit.key, unit) for unit in left]

    def _scattered(self) -> set[Path]:
        """The evaluations that are in many shards, because many workers wrote them."""
        begun = (self.directory(each) for each in self.entries if self._has_begun(each))
        return {each for each in begun if len(Layout(each).shards()) > merging.MANY}

    def _left(self, units: list[Unit], broken: dict[str, StoreError]) -> list[Unit]:
        """The units in which something is left to do, without those that were given up."""
        given_up = {file.stem for file in self._quarantine}
        return [unit for unit in unfinished(units, broken) if unit.key not in given_up]

    @property
    def _quarantine(self) -> list[Path]:
        """A file for each unit that was given up."""
        return sorted(self.path.joinpath("quarantine").glob("*.json"))

    def _write_progress(self, progress: Progress) -> None:
        content = json.dumps(progress.to_json()) + "\n"
        files.write(self.path / "progress.json", content.encode())

    @property
    def _last_progress(self) -> Progress:
        with suppress(OSError, ValueError, InvalidInputError):  # nothing depends on it
            text = (self.path / "progress.json").read_text(encoding="utf-8")
            return Progress.from_json(text, "progress.json")
        return Progress()

    def status(self) -> Status:
        """How far it is, also while another process carries it out. Writes nothing.

        Raises:
            StoreError: It cannot be read.
        """
        agents = tuple(row for entry in self.entries for row in self._agents(entry))
        status = Status(
            title=self.plan.title,
            running=is_locked(self._layout),
            agents=agents,
            quarantined=tuple(self._given_up()),
            progress=self._last_progress,
            damaged={str(path): error.message for path, error in self.damaged.items()},
        )
        # Of a complete one none is left that matters, and it may be on another machine by now.
        if status.complete:
            return status
        tasks, unknown = self._tasks()
        submitted = slurm.submitted(self.path)
        return replace(status, tasks=tasks, unknown=unknown, submitted=submitted)

    def _agents(self, entry: Entry) -> Iterator[AgentStatus]:
        """How far each agent of an evaluation is."""
        from omnimeter.results import Record

        directory = self.directory(entry)
        record = Record.intact(directory, self.damaged) if self._has_begun(entry) else None
        outcomes = record.outcomes() if record else Outcomes()
        for agent, done in outcomes.by_agent(entry.evaluation.agents).items():
            done = that_count(done)  # noqa: PLW2901 - of these
            faults, own = np.count_nonzero(done.faults), np.count_nonzero(done.own_faults)
            counts = len(done), entry.expected, int(faults), int(own)
            yield AgentStatus(entry.name, agent.label, *counts, stopped_at(done) is not None)

    def _given_up(self) -> Iterator[Quarantined]:
        for file in self._quarantine:
            try:
                content = json.loads(file.read_bytes())
                agents = tuple(map(clean_line, content["agents"]))
                said = clean_line(content["evaluation"]), agents, clean_message(content["reason"])
            except OSError as error:
                raise read_error(error, file) from error
            except (ValueError, KeyError, TypeError) as error:
                message = f"{file} is not as it was written."
                raise StoreError(message, "Remove it: the unit is then tried again.") from error
            yield Quarantined(*said, str(file))

    def results(self, *, trust: bool = False) -> list[CampaignScore]:
        """The score of each agent in each test, over all seeds, with its 95 % interval.

        Args:
            trust: Import code that its tests name; see ``load``.

        Raises:
            StoreError: Something cannot be read.
            InvalidInputError: Code is named that is not trusted.
        """
        from omnimeter.reports.campaign import campaign_scores

        return campaign_scores(self._members, trust=trust)

    def report(
        self,
        path: str | Path | None = None,
        *,
        trust: bool = False,
        progress: Callable[[str, int, int], None] = lambda *_: None,
    ) -> Path:
        """Write the report: one HTML file, and folders ``latex`` and ``data`` beside it.

        Args:
            path: The file to write; by default ``report.html`` in the directory of the campaign.
                Beside ``a.html`` the folders are ``a-latex`` and ``a-data``.
            trust: Import code that its tests name; see ``load``.
            progress: Told what is done, and how many steps of how many are over.

        Returns:
            The page.

        Raises:
            StoreError: Something cannot be read or written.
            InvalidInputError: Code is named that is not trusted.
        """
        from omnimeter.reports.campaign_page import write_campaign_report

        target = None if path is None else Path(path)
        _, written = write_campaign_report(self.study, target, trust=trust, tell=progress)
        return written["report"]

    @property
    def study(self) -> Study:
        """The campaign as its report needs it."""
        from omnimeter.reports.campaign_page import GivenUp, Study

        given_up = [
            GivenUp(each.evaluation, each.agents, each.reason, Path(each.file).name)
            for each in self._given_up()
        ]
        about = self.plan.title, self.path, self._members
        return Study(*about, given_up, self.plan.fingerprint, self.damaged)

    @property
    def _members(self) -> list[Member]:
        from omnimeter.reports.campaign import Member

        return [
            Member(
                entry.name,
                self.directory(entry),
                entry.evaluation,
                entry.setting,
                entry.environment_class,
                entry.expected,
                self.damaged,
                self.folder,
            )
            for entry in self.entries
        ]

    def tests(self, *, trust: bool = False) -> list[Taken]:
        """Each test with its results so far, one for each seed that has begun.

        Args:
            trust: Import code that its tests name; see ``load``.

        Raises:
            StoreError: Something cannot be read.
            InvalidInputError: Code is named that is not trusted.
        """
        from omnimeter.reports.between import Taken
        from omnimeter.reports.campaign import read_member

        classes: dict[str, set[str]] = {}
        for entry in self.entries:
            classes.setdefault(entry.setting, set()).add(entry.environment_class)
        # The test of each evaluation, and its class if the test has several.
        names = [
            f"{entry.setting} · {entry.environment_class}"
            if len(classes[entry.setting]) > 1
            else entry.setting
            for entry in self.entries
        ]
        planned = Counter(names)
        results: dict[str, list[Judged]] = {name: [] for name in names}
        agents: dict[str, dict[Spec, None]] = {name: {} for name in names}
        for name, member in zip(names, self._members, strict=True):
            agents[name] |= dict.fromkeys(member.evaluation.agents)
            with read_member(member, trust=trust) as stored:
                if stored is not None:
                    results[name].append(stored[1])
        return [Taken(name, results[name], planned[name], [*agents[name]]) for name in results]

    def compare(
        self,
        reference: str | Spec | None = None,
        *,
        trust: bool = False,
        tests: Sequence[Taken] | None = None,
    ) -> dict[str, list[Comparison]]:
        """Every agent against one of them in each test, over its seeds.

        The intervals of a test hold all at once; those of several tests do not. As long as a test
        is not complete they hold at every moment, whatever is the reason for stopping there.

        Args:
            reference: The agent to compare with; by default the best of the test.
            trust: As for ``tests``.
            tests: What ``tests`` gave, if it was called already.

        Raises:
            InvalidInputError: The reference took no part.
        """
        from omnimeter.reports.comparisons import comparisons_over, rows_over

        chosen = None if reference is None else agent_among(self.plan.agents, reference)
        return {
            test.name: comparisons_over(test.seeds, rows_over(test.results), chosen, test.planned)
            for test in (self.tests(trust=trust) if tests is None else tests)
            if any(chosen is None or chosen in each.outcomes for each in test.results)
        }

    def between(self, agent: str | Spec, reference: str | Spec, *, trust: bool = False) -> Between:
        """All that is known of the difference between two agents, over tests and seeds.

        Args:
            agent: The one agent.
            reference: The other one.
            trust: As for ``tests``.

        Raises:
            InvalidInputError: One took no part, both are the same, or met in no test.
        """
        from omnimeter.reports.between import between

        chosen = [agent_among(self.plan.agents, each) for each in (agent, reference)]
        return between(self.tests(trust=trust), *chosen)

    def export(
        self, path: str | Path, file_format: str | None = None, *, traces: bool = False
    ) -> int:
        """Write all outcomes, or all traces, into one file.

        Args:
            path: The file.
            file_format: ``parquet`` or ``csv``; by default as the name of the file ends.
            traces: Whether to write what was kept interaction by interaction instead.

        Returns:
            How many rows were written.

        Raises:
            InvalidInputError: There is no such format.
            StoreError: Something cannot be read or written.
        """
        from omnimeter import results

        path = directory_of(path)
        kinds: dict[str, Literal["parquet", "csv"]] = {"parquet": "parquet", "csv": "csv"}
        if (chosen := file_format or path.suffix[1:]) not in kinds:
            message = f"There is no format {chosen!r}."
            raise InvalidInputError(message, f"Known: {', '.join(kinds)}.")
        table: Literal["traces", "outcomes"] = "traces" if traces else "outcomes"
        stored = results.open(self.path, damaged="skip")
        count = stored.export(kinds[chosen], path, table)
        self.damaged |= stored.damaged
        return count


def campaign(given: str | Path, *, out: str | Path | None = None) -> Campaign:
    """A campaign: of a file that describes it, or of the directory where it is.

    Args:
        given: A TOML file, as ``omnimeter campaign new`` writes one, or a directory.
        out: The directory of a file's campaign; by default the file without ``.toml``. One that
            was interrupted there goes on.

    Raises:
        InvalidInputError: The file cannot be read, or has mistakes.
        StoreError: The directory holds something else.
    """
    path = directory_of(given)
    if path.is_dir():
        if out is not None:
            message = f"{path} is a directory, where its campaign goes on: out= has no effect."
            raise InvalidInputError(message, "Leave it out, or give a file.")
        return Campaign.open(path)
    plan, source = read_plan(path)
    if out is None:
        out = path.with_suffix("") if path.suffix else path.with_name(path.name + "-campaign")
    return Campaign(plan, out, source)
