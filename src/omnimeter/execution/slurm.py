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
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Timer
from typing import Any, Literal

from omnimeter.contract import InvalidInputError, OmnimeterError, Spec
from omnimeter.contract.prior import Preparation
from omnimeter.contract.spec import canonical_json
from omnimeter.execution.cluster import home_of, quarantine, tail_of
from omnimeter.execution.pool import Preparing
from omnimeter.execution.units import Receipt, Unit, carry_out, unfinished, units_of
from omnimeter.execution.workers import TRIES
from omnimeter.protocols import Evaluation
from omnimeter.results import files
from omnimeter.results.store import Record

UNFINISHED = 75
"""Exit code of an array task that has units left and is to be queued again (EX_TEMPFAIL)."""

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
        units: How many units there are.
        finished: How many of them are.
        quarantined: Those that were put into quarantine now.
        active: The states of tasks that wait or run, by job and task.
        ended: The last output of tasks that ended and left units unfinished, by its file.
    """

    units: int
    finished: int
    quarantined: tuple[Receipt, ...] = ()
    active: Mapping[str, str] = field(default_factory=dict)
    ended: Mapping[str, str] = field(default_factory=dict)


def slurm_submit(
    directory: Path,
    groups: Sequence[Group] = (),
    settings: Settings = Settings(),  # noqa: B008 - a frozen value
) -> list[str]:
    """Submit what is unfinished as array jobs; their tasks call ``work``.

    Args:
        directory: The campaign, on a file system that the nodes share.
        groups: Units with their limits; without them all units, with the limits of the cluster.
        settings: How they are submitted.

    Returns:
        The numbers of the jobs; none if nothing is left.

    Raises:
        OmnimeterError: Jobs of the campaign are still active, or SLURM did not take one.
    """
    directory = Path(directory).resolve()
    if active := _active(directory):
        raise InvalidInputError(
            f"{len(active)} tasks of this campaign still wait or run ({min(active)}).",
            "Wait for them, or end them with scancel.",
        )
    jobs: list[dict[str, Any]] = []
    for group in groups or [Group("all", _units(directory))]:
        if not re.fullmatch(r"[\w.-]+", group.name):
            advice = "Use letters, digits, dots and hyphens."
            raise InvalidInputError(f"The group {group.name!r} cannot be a file name.", advice)
        left = _unfinished(group.units)
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
            plan = {"units": [unit.key for unit in left], "warning": settings.warning}
            files.make_directory(directory / "cluster")
            files.write(_plan_file(directory, name), canonical_json(plan).encode())
            script = directory / "cluster" / f"{name}.sh"
            files.write(script, _script(directory, name, parts, resources, settings).encode())
            wait = [f"--dependency=afterany:{after}"] if after else []
            after = _run("sbatch", "--parsable", *wait, str(script)).split(";")[0].strip()
            jobs.append({"job": after, "group": name, "parts": parts})
            # At once, so that no job is forgotten if the next one cannot be submitted.
            files.write(directory / "cluster" / "jobs.json", canonical_json(jobs).encode())
    return [job["job"] for job in jobs]


def work(directory: Path, part: int, parts: int, group: str | None = None) -> int:
    """Be one task of an array job: do the units of a part that are unfinished.

    Ends early when it is warned (SIGUSR1) that its time is nearly over: after the unit that is
    under way, or with what that unit has finished when half of the time is left.

    Args:
        directory: The campaign.
        part: Which part, from 0.
        parts: How many parts there are.
        group: What was submitted, as ``slurm_submit`` names it; by default all units.

    Returns:
        0 if the part is done or in quarantine, 75 if it has to go on.
    """
    directory = Path(directory).resolve()
    units, warning = _units(directory), 60
    if group is not None:
        plan = json.loads(_plan_file(directory, group).read_bytes())
        chosen, warning = set(plan["units"]), plan["warning"]
        units = [unit for unit in units if unit.key in chosen]
    warned: list[int] = []

    def warn(number: int, frame: object) -> None:  # noqa: ARG001 - as the system calls it
        if not warned:
            warned.append(number)
            last = Timer(warning / 2, os.kill, (os.getpid(), signal.SIGINT))
            last.daemon = True
            last.start()

    signal.signal(signal.SIGUSR1, warn)
    if group is not None and group.endswith("-offline"):
        for agent, preparation, unit in _preparations(units)[part::parts]:
            if warned:
                return UNFINISHED
            Preparing(agent, preparation, unit.options).prepare()
        return 0
    left = []
    for unit in _unfinished(units[part::parts]):
        if _deaths(unit) >= TRIES:
            _quarantine_dead(unit)
        else:
            left.append(unit)
    for number, unit in enumerate(left):
        if warned:
            return UNFINISHED
        _note(unit, "begun", log=_own_log(), offset=_size(_own_log()), task=_own_task())
        receipt = carry_out(unit)
        print(f"{unit.key} {receipt.outcome}: {receipt.finished} in {receipt.seconds:.1f} s")
        if receipt.outcome == "done":
            _attempts(unit).unlink(missing_ok=True)
            continue
        if receipt.outcome == "interrupted":
            # It had all the time of a task and finished no exercise in it: that is no better than
            # a death, and would go on for ever.
            futile = bool(warned) and number == 0 and receipt.finished == 0
            _note(unit, "futile" if futile else "interrupted")
            return UNFINISHED
    return 0


def collect(directory: Path) -> Collected:
    """See what became of array jobs, and put into quarantine what keeps killing its workers.

    It can be called at any time, also while they run.
    """
    directory = Path(directory).resolve()
    active, units = _active(directory), _units(directory)
    left = _unfinished(units)
    dead = [each for each in left if _deaths(each) >= TRIES and _last_task(each) not in active]
    quarantined = tuple(_quarantine_dead(unit) for unit in dead)
    unclear = {unit.key for unit in left} - {receipt.unit for receipt in quarantined}
    ended = {}
    for job in _jobs(directory):
        plan = json.loads(_plan_file(directory, job["group"]).read_bytes())
        chosen = set(plan["units"])
        keys = [unit.key for unit in units if unit.key in chosen]
        for part in range(job["parts"]):
            log = directory / "cluster" / f"{job['group']}-{part}.log"
            if f"{job['job']}_{part}" not in active and unclear.intersection(
                keys[part :: job["parts"]]
            ):
                ended[str(log)] = tail_of(log)
    finished = len(units) - len(left)
    return Collected(len(units), finished, quarantined, active, ended)


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
    found: dict[tuple[Spec, Preparation], Unit] = {}
    evaluations: dict[str, Evaluation] = {}
    seen = set()
    for unit in units:
        if unit.directory not in evaluations:
            record = Record(unit.directory)
            made = Evaluation.from_json(record.spec, unit.directory).with_seed(record.seed)
            evaluations[unit.directory] = made
        for agent in unit.agents:
            if (unit.directory, agent) not in seen:
                seen.add((unit.directory, agent))
                for exercise in evaluations[unit.directory].make_protocol().propose(agent, [])[:1]:
                    if exercise.preparation is not None:
                        found.setdefault((agent, exercise.preparation), unit)
    return [(agent, preparation, unit) for (agent, preparation), unit in found.items()]


def _active(directory: Path) -> dict[str, str]:
    """The states of the campaign's tasks that wait or run, by job and task."""
    jobs = {job["job"] for job in _jobs(directory)}
    if not jobs:
        return {}
    rows = [row.split() for row in _run("squeue", "--me", "-h", "-r", "-o", "%F %K %T").split("\n")]
    return {f"{row[0]}_{row[1]}": row[2] for row in rows if len(row) == 3 and row[0] in jobs}


def _jobs(directory: Path) -> list[dict[str, Any]]:
    """The jobs that were submitted last."""
    try:
        return list(json.loads((directory / "cluster" / "jobs.json").read_bytes()))
    except FileNotFoundError:
        return []


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


def _units(directory: Path) -> list[Unit]:
    """The units of a campaign, or of an evaluation, always in the same order."""
    if (directory / "evaluations").is_dir():
        return [u for each in sorted((directory / "evaluations").iterdir()) for u in units_of(each)]
    return units_of(directory)


def _unfinished(units: Sequence[Unit]) -> list[Unit]:
    """The units that are neither finished nor in quarantine."""
    left = unfinished(units)
    return [u for u in left if not (home_of(u) / "quarantine" / f"{u.key}.json").exists()]


def _plan_file(directory: Path, group: str) -> Path:
    return directory / "cluster" / f"{group}.json"


def _attempts(unit: Unit) -> Path:
    """Where the attempts of a unit that is not finished are noted."""
    return home_of(unit) / "attempts" / unit.key


def _note(unit: Unit, event: str, **details: object) -> None:
    """Add a line on an attempt; one write, which the system does not divide."""
    path = _attempts(unit)
    path.parent.mkdir(exist_ok=True)
    line = json.dumps({"event": event, "host": socket.gethostname(), "pid": os.getpid(), **details})
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    try:
        os.write(descriptor, f"\n{line}".encode())
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _noted(unit: Unit) -> list[dict[str, Any]]:
    """The lines on the attempts of a unit; one that was cut off is none."""
    notes = []
    with suppress(FileNotFoundError):
        for line in _attempts(unit).read_text(encoding="utf-8", errors="replace").split("\n"):
            with suppress(ValueError):
                notes.append(json.loads(line))
    return notes


def _deaths(unit: Unit) -> int:
    """How many attempts ended neither with a result nor by an interruption."""
    events = Counter(note["event"] for note in _noted(unit))
    return events["begun"] - events["interrupted"]


def _last_task(unit: Unit) -> str:
    """The array task that began a unit last."""
    return next((note["task"] for note in reversed(_noted(unit)) if note["event"] == "begun"), "")


def _quarantine_dead(unit: Unit) -> Receipt:
    """Put a unit into quarantine that was begun too often without an end."""
    notes = [note for note in _noted(unit) if note["event"] in {"begun", "futile"}]
    begun = [note for note in notes if note["event"] == "begun"][-1]
    if notes[-1]["event"] == "futile":
        reason = "No exercise of it was finished in the whole time of a task. Give it more minutes."
    else:
        reason = f"Its worker died {TRIES} times, the last time in task {begun['task'] or '?'}."
    receipt = quarantine(unit, reason, tail_of(Path(begun["log"]), begun["offset"]))
    _attempts(unit).unlink(missing_ok=True)
    return receipt


def _own_task() -> str:
    return os.environ.get("OMNIMETER_TASK", "")


def _own_log() -> str:
    return os.environ.get("OMNIMETER_LOG", os.devnull)


def _size(path: str) -> int:
    return os.stat(path).st_size if os.path.exists(path) else 0
