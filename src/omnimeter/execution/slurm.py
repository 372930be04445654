"""SLURM as the engine of a campaign: array jobs that are submitted now and collected later.

Only ``sbatch``, ``squeue`` and ``scontrol`` are used, so that no accounting is needed. The tasks of
an array job share the units among them from the beginning, store what they finish in the campaign
itself, and note which unit they begin: so the next task knows which one killed its worker.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from threading import Event, Thread
from typing import Any, Literal

from pydantic import TypeAdapter

from omnimeter.catalogue import files_in
from omnimeter.contract import InvalidInputError, OmnimeterError, Spec
from omnimeter.contract.errors import StoreError
from omnimeter.contract.prior import Preparation
from omnimeter.contract.spec import canonical_json
from omnimeter.execution.pool import Preparing, tail_of
from omnimeter.execution.units import (
    Receipt,
    Unit,
    carry_out,
    evaluation_of,
    quarantine,
    quarantine_file,
    unfinished,
)
from omnimeter.execution.workers import TRIES, Options
from omnimeter.results import Record, files
from omnimeter.results.files import read_error, write_errors

UNFINISHED = 75
"""Exit code of an array task that has units left and is to be queued again (EX_TEMPFAIL)."""

REMIND = 10.0
"""Seconds after which a worker is interrupted again that goes on."""

REPLACED = 50
"""How often an array task starts its worker."""

RESTARTS = 200
"""How often an array task is queued again by its own script."""

Phase = Literal["offline", "online"]


@dataclass(frozen=True)
class Resources:
    """What an array task may take, as SLURM enforces it.

    Attributes:
        memory_mb: Megabytes of memory; ``None`` for the default of the cluster.
        minutes: Minutes until it is ended and queued again; ``None`` for the default.
    """

    memory_mb: int | None = None
    minutes: int | None = None


@dataclass(frozen=True)
class Group:
    """Units with the same limits, which become one array job for each phase.

    Attributes:
        name: What its files are called.
        units: Its units.
        online: The limits of tasks that carry out its exercises.
        offline: Those of tasks that prepare its agents before, if these have an offline phase;
            without them it is a part of the exercises' tasks.
    """

    name: str
    units: Sequence[Unit]
    online: Resources = Resources()
    offline: Resources | None = None


@dataclass(frozen=True)
class Settings:
    """How array jobs are submitted.

    Attributes:
        tasks: Tasks of an array job at the most; the units are dealt out to them in turns.
        running: How many of them run at once at the most.
        warning: Seconds before its end at which a task is told to finish its unit.
        options: Further options of ``sbatch``, such as ``--partition=long``.
        command: How Omnimeter is called on the nodes.
    """

    tasks: int = 10
    running: int | None = None
    warning: int = 300
    options: tuple[str, ...] = ()
    command: tuple[str, ...] = (sys.executable, "-m", "omnimeter")


@dataclass(frozen=True)
class Collected:
    """What became of the array jobs of a campaign.

    Attributes:
        units: How many units were submitted last.
        finished: How many of them are finished.
        given_up: How many of them are in quarantine.
        quarantined: Those that were put there now.
        active: The states of tasks that wait or run, by job and task.
        ended: The last output of tasks that ended and left units unfinished, by its file.
    """

    units: int
    finished: int
    given_up: int = 0
    quarantined: tuple[Receipt, ...] = ()
    active: Mapping[str, str] = field(default_factory=dict)
    ended: Mapping[str, str] = field(default_factory=dict)


def slurm_submit(
    directory: Path,
    groups: Sequence[Group],
    settings: Settings = Settings(),  # noqa: B008 - a frozen value
) -> list[str]:
    """Submit what is unfinished as array jobs; their tasks call ``work``.

    Args:
        directory: The campaign, on a file system that the nodes share.
        groups: Units with their limits.
        settings: How they are submitted.

    Returns:
        The numbers of the jobs; none if nothing is left.

    Raises:
        OmnimeterError: Jobs of the campaign are still active, or SLURM did not take one.
    """
    directory = Path(directory).resolve()
    refuse_active(active_tasks(directory))
    jobs: list[dict[str, Any]] = []
    for group in groups:
        if not re.fullmatch(r"[\w.-]+", group.name):
            advice = "Use letters, digits, dots and hyphens."
            raise InvalidInputError(f"The group {group.name!r} cannot be a file name.", advice)
        left = _unfinished(directory, group.units)
        if not left:
            continue
        limits: dict[Phase, Resources] = {"online": group.online}
        preparing = len(_preparations(left)) if group.offline else 0
        if group.offline and preparing:
            limits = {"offline": group.offline, **limits}
        after = ""
        for phase, resources in limits.items():
            parts = min(settings.tasks, len(left) if phase == "online" else preparing)
            name = f"{group.name}-{phase}"
            files.make_directory(directory / "cluster")
            _write_plan(directory, name, left, settings.warning)
            script = directory / "cluster" / f"{name}.sh"
            files.write(script, _script(directory, name, parts, resources, settings).encode())
            wait = [f"--dependency=afterany:{after}"] if after else []
            after = _run("sbatch", "--parsable", *wait, str(script)).split(";")[0].strip()
            jobs.append({"job": after, "group": name, "parts": parts})
            # At once, so that no job is forgotten if the next one cannot be submitted.
            files.write(_jobs_file(directory), canonical_json(jobs).encode())
    return [job["job"] for job in jobs]


def work(directory: Path, part: int, parts: int, group: str) -> int:
    """Be one task of an array job: do the units of a part that are unfinished.

    Ends early when it is warned (SIGUSR1) that its time is nearly over: after the unit that is
    under way, or with what that unit has finished when half of the time is left.

    Args:
        directory: The campaign.
        part: Which part, from 0.
        parts: How many parts there are.
        group: What was submitted, as its script names it.

    Returns:
        0 if the part is finished or in quarantine, 75 if it has to go on, 4 if it is finished but
        for units of which a file is damaged.
    """
    directory, code = Path(directory).resolve(), 0
    units, warning = _read_plan(directory, group)
    warned = Warned(warning / 2)
    try:
        if group.endswith("-offline"):
            for agent, preparation, unit in _preparations(units)[part::parts]:
                if warned:
                    return UNFINISHED
                with files_in(unit.options.folder):
                    Preparing(agent, preparation, unit.options).prepare()
            return 0
        first = True  # of those that this task begins
        for unit in _unfinished(directory, units[part::parts]):
            attempts = Attempts(directory, unit)
            if attempts.deaths >= TRIES:
                attempts.give_up()
                continue
            if warned:
                return UNFINISHED
            with attempts.counted():
                receipt = carry_out(unit)
            print(f"{unit.key} {receipt.outcome}: {receipt.finished} in {receipt.seconds:.1f} s")
            if receipt.outcome == "done":
                attempts.path.unlink(missing_ok=True)
                first = False
                continue
            if receipt.damage is not None:
                attempts.note("interrupted")  # it is no death
                print(receipt.damage, file=sys.stderr)
                code = receipt.damage.exit_code
                continue
            # It had all the time of a task and finished no exercise in it: that is no better than
            # a death, and would go on for ever.
            futile = bool(warned) and first and receipt.finished == 0
            attempts.note("futile" if futile else "interrupted")
            return UNFINISHED
    except KeyboardInterrupt:  # in an offline phase, or between two units
        return UNFINISHED
    finally:
        warned.end()
    return code


class Warned:
    """Whether this process was warned (SIGUSR1) that its time is nearly over.

    Some seconds after the warning it is interrupted, as by Ctrl-C, and again until it listens: an
    interruption that comes in a callback is lost.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds, self._late, self._over = seconds, False, Event()
        self._reminder = Thread(target=self._remind, daemon=True)
        signal.signal(signal.SIGUSR1, self._warn)

    def __bool__(self) -> bool:
        return self._reminder.ident is not None

    def end(self) -> None:
        """From now on, it is not interrupted any more."""
        signal.signal(signal.SIGUSR1, signal.SIG_IGN)
        self._over.set()

    def _warn(self, number: int, frame: object) -> None:  # noqa: ARG002 - as the system calls it
        if self._late:
            raise KeyboardInterrupt
        if not self:
            self._reminder.start()

    def _remind(self) -> None:
        delay = self._seconds
        while not self._over.wait(delay):
            self._late, delay = True, REMIND
            os.kill(os.getpid(), signal.SIGUSR1)  # a shell's background ignores SIGINT


def collect(directory: Path) -> Collected:
    """See what became of array jobs, and put into quarantine what keeps killing its workers.

    It can be called at any time, also while they run.

    Raises:
        InvalidInputError: None was submitted.
        OmnimeterError: SLURM does not tell which of them are active.
    """
    directory = Path(directory).resolve()
    if not submitted(directory):
        advice = "Give 'omnimeter campaign run' with --executor slurm first."
        raise InvalidInputError(f"No array job of {directory} was submitted.", advice)
    active, quarantined, ended = active_tasks(directory), list[Receipt](), dict[str, str]()
    every: dict[str, Unit] = {}
    for job in _jobs(directory):
        units, _ = _read_plan(directory, job["group"])
        every |= {unit.key: unit for unit in units}
        left = {unit.key for unit in _unfinished(directory, units)}
        for part in range(job["parts"]):
            if f"{job['job']}_{part}" in active or job["group"].endswith("-offline"):
                continue
            own = [unit for unit in units[part :: job["parts"]] if unit.key in left]
            dead = [each for each in own if Attempts(directory, each).deaths >= TRIES]
            quarantined += [Attempts(directory, unit).give_up() for unit in dead]
            if len(dead) < len(own):
                log = directory / "cluster" / f"{job['group']}-{part}.log"
                ended[str(log)] = tail_of(log)
    damaged: dict[str, StoreError] = {}
    left = {unit.key for unit in unfinished(every.values(), damaged)}
    given_up = sum(quarantine_file(directory, every[key]).exists() for key in left)
    finished = sum(key not in left and u.directory not in damaged for key, u in every.items())
    return Collected(len(every), finished, given_up, tuple(quarantined), active, ended)


def submitted(directory: Path) -> bool:
    """Whether array jobs of a campaign were ever submitted."""
    return _jobs_file(directory).exists()


def active_tasks(directory: Path) -> dict[str, str]:
    """The states of a campaign's tasks that wait or run, by job and task.

    Raises:
        OmnimeterError: There are jobs, and SLURM does not tell.
    """
    jobs = {job["job"] for job in _jobs(directory)}
    if not jobs:
        return {}
    rows = [row.split() for row in _run("squeue", "--me", "-h", "-r", "-o", "%F %K %T").split("\n")]
    return {f"{row[0]}_{row[1]}": row[2] for row in rows if len(row) == 3 and row[0] in jobs}


def refuse_active(active: Mapping[str, str]) -> None:
    """Let nothing else carry out a campaign of which tasks are active.

    Raises:
        InvalidInputError: There are such tasks.
    """
    if active:
        raise InvalidInputError(
            f"{len(active)} tasks of this campaign still wait or run ({min(active)}).",
            "Wait for them, or end them with scancel.",
        )


def _script(
    directory: Path, name: str, parts: int, resources: Resources, settings: Settings
) -> str:
    """The batch script of an array job. What a job is given is to be read in it."""
    log = str(directory / "cluster" / f"{name}-").replace("%", "%%")
    options = [
        f"--job-name=omnimeter-{name}",
        f"--array=0-{parts - 1}" + (f"%{settings.running}" if settings.running else ""),
        "--requeue",
        "--open-mode=append",
        f"--output={log}%a.log",
        f"--signal=B:USR1@{settings.warning}",
    ]
    options += [f"--mem={resources.memory_mb}M"] * (resources.memory_mb is not None)
    options += [f"--time={resources.minutes}"] * (resources.minutes is not None)
    lines = "\n".join(f"#SBATCH {shlex.quote(each)}" for each in (*options, *settings.options))
    command = shlex.join((*settings.command, "campaign", "work", str(directory)))
    return f"""#!/bin/bash
{lines}
task="${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}"
export OMNIMETER_TASK="$task"
export OMNIMETER_LOG={shlex.quote(str(directory / "cluster" / name))}-"$SLURM_ARRAY_TASK_ID".log
# SLURM warns this shell, which tells the worker to finish its unit.
trap 'kill -USR1 $worker 2>/dev/null' USR1
trap 'stopped=1; kill -TERM $worker 2>/dev/null' TERM
# A worker that died is replaced. Units that it died of three times are put into quarantine.
for try in {{1..{REPLACED}}}; do
    {command} --part "$SLURM_ARRAY_TASK_ID"/{parts} --group {name} &
    worker=$!
    wait $worker; code=$?
    while [ $code -gt 128 ] && kill -0 $worker 2>/dev/null; do wait $worker; code=$?; done
    if [ $code -le 128 ] || [ "$stopped" ]; then break; fi
done
# {UNFINISHED}: there is more to do. If SLURM stopped it, SLURM decides whether it goes on.
if [ $code -eq {UNFINISHED} ] && [ ! "$stopped" ]; then
    if [ "${{SLURM_RESTART_COUNT:-0}}" -lt {RESTARTS} ]; then
        echo "It goes on in a new task."
        scontrol requeue "$task" && {{ sleep 60 & wait; }}
    fi
fi
exit $code
"""


def _preparations(units: Sequence[Unit]) -> list[tuple[Spec, Preparation, Unit]]:
    """The offline phases that units ask for, each once, with the first unit that does."""
    phases: dict[tuple[Spec, Preparation], Unit] = {}
    protocols = {each: evaluation_of(Record(each)).make_protocol() for each in _places(units)}
    for unit in units:
        if unit.first == 0:  # agents that prepare something take all their exercises in one unit
            for agent in unit.agents:
                with files_in(unit.options.folder):
                    first = protocols[unit.directory].propose(agent, [])[:1]
                if len(first) and first[0].preparation is not None:
                    phases.setdefault((agent, first[0].preparation), unit)
    return [(agent, preparation, unit) for (agent, preparation), unit in phases.items()]


def _jobs_file(directory: Path) -> Path:
    return directory / "cluster" / "jobs.json"


def _jobs(directory: Path) -> list[dict[str, Any]]:
    """The jobs that were submitted last."""
    path = _jobs_file(directory)
    try:
        jobs = list(json.loads(path.read_bytes()))
        return [{name: job[name] for name in ("job", "group", "parts")} for job in jobs]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise read_error(error, path) from error
    except (ValueError, KeyError, TypeError) as error:
        advice = "Remove it when none of the campaign's jobs is active."
        raise StoreError(f"{path} is not as it was written.", advice) from error


def _run(*command: str) -> str:
    """What a command of SLURM prints."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        advice = "Run this where the commands of SLURM are installed."
        raise InvalidInputError(
            f"{command[0]} cannot be run ({error.strerror}).", advice
        ) from error
    if done.returncode:
        message = f"{command[0]} failed ({done.stderr.strip() or done.returncode})."
        raise OmnimeterError(message, "Ask the administrators of the cluster what it expects.")
    return done.stdout


def _places(units: Sequence[Unit]) -> list[str]:
    return list(dict.fromkeys(unit.directory for unit in units))


def _unfinished(directory: Path, units: Sequence[Unit]) -> list[Unit]:
    """The units that are neither finished nor in quarantine, nor in damaged evaluations."""
    return [u for u in unfinished(units, {}) if not quarantine_file(directory, u).exists()]


def _plan_file(directory: Path, group: str) -> Path:
    return directory / "cluster" / f"{group}.json"


def _write_plan(directory: Path, group: str, units: Sequence[Unit], warning: int) -> None:
    """Write down what an array job does; evaluations, agents and options are there once."""
    places = {each: n for n, each in enumerate(_places(units))}
    agents = {each: n for n, each in enumerate(dict.fromkeys(a for u in units for a in u.agents))}
    options = {each: n for n, each in enumerate(dict.fromkeys(u.options for u in units))}
    rows = [
        [places[u.directory], [agents[a] for a in u.agents], u.first, u.last, options[u.options]]
        for u in units
    ]
    content = {
        "warning": warning,
        "evaluations": [os.path.relpath(each, directory) for each in places],
        "agents": [agent.to_json() for agent in agents],
        "options": [asdict(each) for each in options],
        "units": rows,
    }
    files.write(_plan_file(directory, group), json.dumps(content).encode())


def _read_plan(directory: Path, group: str) -> tuple[list[Unit], float]:
    """The units of an array job, and how long before its end a task is warned.

    Raises:
        StoreError: It cannot be read.
    """
    path = _plan_file(directory, group)
    try:
        content = json.loads(path.read_bytes())
        agents = [Spec.from_json(each) for each in content["agents"]]
        options = TypeAdapter(list[Options]).validate_python(content["options"])
        units = [
            Unit(
                os.path.normpath(directory / content["evaluations"][place]),
                tuple(agents[each] for each in members),
                first,
                last,
                options[chosen],
            )
            for place, members, first, last, chosen in content["units"]
        ]
        return units, float(content["warning"])
    except OSError as error:
        raise read_error(error, path) from error
    except (ValueError, KeyError, TypeError, IndexError, InvalidInputError) as error:
        advice = "Submit the campaign again."
        raise StoreError(f"{path} is not as it was written ({error}).", advice) from error


class Attempts:
    """The attempts at a unit that is not finished, as lines of a file; no task ends unnoticed.

    Attributes:
        path: The file; there is none where there was no attempt.
    """

    def __init__(self, directory: Path, unit: Unit) -> None:
        self._directory, self._unit = directory, unit
        self.path = directory / "attempts" / unit.key
        self._before = 0  # size of the file when this attempt began

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Note that the unit is begun by this process, before it is.

        An error is told to the user, and an interruption before anything could be done ends the
        task: neither is a death. Their notes are cut off, for which a full disk has space.
        """
        self._begin()
        try:
            yield
        except BaseException:
            with suppress(OSError):
                os.truncate(self.path, self._before)
            raise

    def _begin(self) -> None:
        log = os.environ.get("OMNIMETER_LOG", "")
        size = os.path.getsize(log) if os.path.exists(log) else 0
        task = os.environ.get("OMNIMETER_TASK", "")
        host, pid = socket.gethostname(), os.getpid()
        self._before = os.path.getsize(self.path) if self.path.exists() else 0
        self.note("begun", task=task, host=host, pid=pid, log=log, offset=size)

    def note(self, event: str, **details: object) -> None:
        """Add a line by one write, which the system does not divide."""
        files.make_directory(self.path.parent)
        with write_errors(self.path), self.path.open("ab", buffering=0) as file:
            file.write(b"\n" + json.dumps({"event": event, **details}).encode())
            os.fsync(file.fileno())

    def _notes(self, *events: str) -> list[dict[str, Any]]:
        notes = []
        with suppress(FileNotFoundError):
            for line in self.path.read_bytes().split(b"\n"):
                with suppress(ValueError):  # a killed worker did not write all of it
                    notes.append(json.loads(line))
        return [note for note in notes if note["event"] in events]

    @property
    def deaths(self) -> int:
        """How many attempts ended neither with a result nor by an interruption."""
        return len(self._notes("begun")) - len(self._notes("interrupted"))

    def give_up(self) -> Receipt:
        """Give the unit up; if the file in the quarantine is removed, it is tried again."""
        last, begun = self._notes("begun", "futile")[-1], self._notes("begun")[-1]
        reason = f"Its worker died {TRIES} times, the last time in task {begun['task'] or '?'}."
        if last["event"] == "futile":
            reason = "A task has not time enough for an exercise of it. Give it more minutes."
        tail, unit = tail_of(Path(begun["log"]), begun["offset"]), self._unit
        quarantine(self._directory, unit, reason, tail)
        self.path.unlink(missing_ok=True)
        return Receipt(unit.key, 0, 0.0, "quarantined", (), reason, tail)
