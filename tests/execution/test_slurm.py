"""Array jobs, with a scripted SLURM whose tasks are processes on this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import NoReturn

import pytest

import scripted_slurm
from array_jobs import begun, ended, really_collected, scontrol
from campaign_samples import bayesian_campaign, expected, results_of, small_campaign, units_in
from omnimeter import InvalidInputError, OmnimeterError
from omnimeter.contract.errors import StoreError
from omnimeter.execution import slurm
from omnimeter.execution.slurm import (
    UNFINISHED,
    Attempts,
    Collected,
    Group,
    Resources,
    Settings,
    collect,
    slurm_submit,
    work,
)
from omnimeter.execution.units import Receipt, Unit, unfinished
from private_network import PrivateNetwork, until

SUPPORT = Path(__file__).parent.parent / "support"
TASK = (sys.executable, str(SUPPORT / "array_task.py"))


def submit(directory: Path, **settings: object) -> list[str]:
    """Submit all units, with the limits of the cluster."""
    given = Settings(**{"command": TASK, **settings})
    return slurm_submit(directory, [Group("all", units_in(directory))], given)


def collected(directory: Path) -> Collected:
    """What became of the jobs when all of them have ended."""
    ended()
    return collect(directory)


def test_tasks_share_the_units_and_the_results_are_those_of_one_process(
    jobs: Path, tmp_path: Path
) -> None:
    study = small_campaign(tmp_path / "a study" / "100%b")
    assert submit(study, tasks=2, running=1) == ["1"]
    done = collected(study)
    assert (done.units, done.finished) == (len(units_in(study)),) * 2
    assert (done.given_up, done.ended) == (0, {})
    assert begun(study) == []
    assert results_of(study) == expected(tmp_path / "100%b")
    assert sorted(each.name for each in (study / "cluster").glob("*.log")) == [
        "all-online-0.log",
        "all-online-1.log",
    ]
    assert submit(study) == []  # nothing is left


def test_limits_are_those_of_the_group_and_the_phase(jobs: Path, tmp_path: Path) -> None:
    study = bayesian_campaign(tmp_path / "study")
    first, *others = units_in(study)
    small = Group("small", others, Resources(500, 60))
    large = Group("large-1", [first], Resources(8000, 600), offline=Resources(16000, 1440))
    further = ("--partition=long", "--comment=two words")
    settings = Settings(tasks=3, running=2, warning=120, options=further, command=TASK)
    assert slurm_submit(study, [small, large], settings) == ["1", "2", "3"]

    def options(name: str) -> dict[str, str]:
        return scripted_slurm.options_of(study / "cluster" / f"{name}.sh")

    common = {"--requeue": "", "--open-mode": "append", "--signal": "B:USR1@120"}
    common |= {"--partition": "long", "--comment": "two words"}
    assert options("small-online").items() >= {**common, "--mem": "500M", "--time": "60"}.items()
    assert options("small-online")["--array"] == f"0-{min(3, len(others)) - 1}%2"
    assert options("large-1-offline")["--mem"] == "16000M"
    assert options("large-1-offline")["--time"] == "1440"
    assert options("large-1-online")["--mem"] == "8000M"
    assert options("large-1-online")["--array"] == "0-0%2"
    assert "--dependency=afterany:2" in (jobs / "3.args").read_text().split("\n")
    assert "dependency" not in (jobs / "1.args").read_text()
    done = collected(study)
    assert done.finished == done.units
    log = (study / "cluster" / "large-1-offline-0.log").read_text()
    assert "done" not in log  # it only prepared


@pytest.mark.slow
def test_a_task_whose_worker_is_killed_goes_on(jobs: Path, tmp_path: Path) -> None:
    study = small_campaign(tmp_path / "study", seconds=0.1)
    submit(study, tasks=1)
    until(lambda: begun(study), 60, "a unit")
    os.kill(begun(study)[0]["pid"], signal.SIGKILL)
    done = collected(study)
    assert done.finished == done.units
    assert "Killed" in (study / "cluster" / "all-online-0.log").read_text()
    assert results_of(study) == expected(tmp_path / "again", seconds=0.1)


@pytest.mark.slow
def test_a_unit_whose_worker_dies_three_times_is_quarantined(
    jobs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = small_campaign(tmp_path / "study")
    deadly = units_in(study)[2]
    monkeypatch.setenv("DEADLY_UNIT", deadly.key)
    submit(study, tasks=2)
    done = collected(study)
    (path,) = (study / "quarantine").iterdir()
    told = json.loads(path.read_text())
    assert path.stem == deadly.key
    assert told["reason"] == "Its worker died 3 times, the last time in task 1_0."
    assert told["tail"].count("This unit is deadly.") == 1  # the last attempt, and no earlier ones
    assert done.finished == done.units - 1
    assert not done.ended
    monkeypatch.delenv("DEADLY_UNIT")
    assert submit(study) == []
    path.unlink()  # so it is tried again
    assert submit(study, tasks=2) == ["2"]
    assert collected(study).finished == 1
    assert results_of(study) == expected(tmp_path / "again")


@pytest.mark.slow
def test_a_warned_task_finishes_its_unit_and_goes_on_in_a_new_one(
    jobs: Path, tmp_path: Path
) -> None:
    study = small_campaign(tmp_path / "study", seconds=0.1)
    submit(study, tasks=1)
    until(lambda: begun(study), 60, "a unit")
    os.kill(int((jobs / "1_0.pid").read_text()), signal.SIGUSR1)  # SLURM warns the script
    done = collected(study)
    assert done.finished == done.units
    log = (study / "cluster" / "all-online-0.log").read_text()
    assert log.count(" done: ") == done.units
    assert "interrupted" not in log
    assert "It goes on in a new task." in log
    assert results_of(study) == expected(tmp_path / "again", seconds=0.1)


@pytest.mark.slow
def test_a_task_that_is_queued_again_stores_what_it_has(jobs: Path, tmp_path: Path) -> None:
    study = small_campaign(tmp_path / "study", seconds=0.1)
    submit(study, tasks=1)
    until(lambda: begun(study), 60, "a unit")
    scripted_slurm.scontrol("requeue", "1_0")
    done = collected(study)
    assert done.finished == done.units
    assert "interrupted" in (study / "cluster" / "all-online-0.log").read_text()
    assert results_of(study) == expected(tmp_path / "again", seconds=0.1)


@pytest.mark.slow
def test_a_unit_that_no_task_has_time_for_is_quarantined(jobs: Path, tmp_path: Path) -> None:
    study = small_campaign(tmp_path / "study", 2.0, seeds=1, interactions=100)
    slurm_submit(study, [Group("all", units_in(study)[-1:])], Settings(1, 1, 1, command=TASK))
    for attempt in range(1, 4):
        until(lambda n=attempt: len(begun(study)) == n, 60, f"attempt {attempt}")
        time.sleep(0.5)  # the worker is inside the exercise
        os.kill(int((jobs / "1_0.pid").read_text()), signal.SIGUSR1)
    done = collected(study)
    (path,) = (study / "quarantine").iterdir()
    assert "A task has not time enough" in json.loads(path.read_text())["reason"]
    assert (done.units, done.finished) == (1, 0)


def test_units_that_were_given_up_took_no_time_of_the_task(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = small_campaign(tmp_path / "study")
    deadly, endless = units_in(study)[:2]
    (study / "cluster").mkdir()
    slurm._write_plan(study, "all", [deadly, endless], 300)
    for _ in range(3):
        Attempts(study, deadly).note("begun", task="1_0", log="", offset=0)

    def endlessly(unit: Unit) -> Receipt:
        os.kill(os.getpid(), signal.SIGUSR1)
        return Receipt(unit.key, 0, 0.0, "interrupted")

    monkeypatch.setattr(slurm, "carry_out", endlessly)
    assert work(study, 0, 1, "all") == UNFINISHED
    assert not Attempts(study, deadly).path.exists()
    assert Attempts(study, endless).deaths == 1


def test_errors_and_early_interruptions_are_no_deaths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = small_campaign(tmp_path / "study")
    units = units_in(study)
    (study / "cluster").mkdir()
    slurm._write_plan(study, "all", units[:1], 300)
    attempts = Attempts(study, units[0])
    attempts.note("begun", task="1_0", log="", offset=0)  # by a worker that was killed

    def fail(failure: BaseException) -> NoReturn:
        raise failure

    full = StoreError("No space left on device.", "Make some.")
    for _ in range(3):
        monkeypatch.setattr(slurm, "carry_out", lambda _: fail(full))
        with pytest.raises(StoreError, match="No space left"):
            work(study, 0, 1, "all")
        monkeypatch.setattr(slurm, "carry_out", lambda _: fail(KeyboardInterrupt()))
        assert work(study, 0, 1, "all") == UNFINISHED
        assert attempts.deaths == 1
    monkeypatch.undo()
    assert work(study, 0, 1, "all") == 0
    assert not attempts.path.exists()


def test_a_task_leaves_out_what_is_damaged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = small_campaign(tmp_path / "study")
    units = units_in(study)
    (study / "cluster").mkdir()
    slurm._write_plan(study, "all", units, 300)
    directory = units[0].directory
    Path(directory, "begun").write_bytes(b"\xff")
    assert slurm.work(study, 0, 1, "all") == 4
    assert f"{directory}/begun cannot be read" in capsys.readouterr().err
    assert {unit.directory for unit in unfinished(units)} == {directory}
    assert not Attempts(study, units[0]).deaths
    Path(directory, "begun").unlink()
    assert slurm.work(study, 0, 1, "all") == 0
    assert not unfinished(units)


def test_what_a_task_said_that_could_not_work_is_collected(jobs: Path, tmp_path: Path) -> None:
    study = small_campaign(tmp_path / "study")
    failing = (sys.executable, "-c", "import sys; sys.exit('No space is left.')")
    submit(study, tasks=2, command=failing)
    done = collected(study)
    assert done.finished == 0
    assert done.ended == {
        str(study / "cluster" / f"all-online-{task}.log"): "No space is left." for task in range(2)
    }


def test_active_jobs_are_not_submitted_twice(jobs: Path, tmp_path: Path) -> None:
    study = small_campaign(tmp_path / "study", seconds=0.1)
    submit(study, tasks=2)
    with pytest.raises(InvalidInputError, match="2 tasks of this campaign still wait or run"):
        submit(study)
    assert collect(study).active.keys() == {"1_0", "1_1"}


def test_without_slurm_it_is_said(
    jobs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = small_campaign(tmp_path / "study")
    with pytest.raises(InvalidInputError, match="The group 'a/b' cannot be a file name"):
        slurm_submit(study, [Group("a/b", units_in(study))])
    monkeypatch.delenv("SCRIPTED_SLURM")  # its commands fail
    with pytest.raises(OmnimeterError, match="sbatch failed"):
        submit(study)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InvalidInputError, match="sbatch cannot be run"):
        submit(study)


def test_a_task_needs_a_plan_that_is_whole(tmp_path: Path) -> None:
    study = small_campaign(tmp_path / "study")
    with pytest.raises(StoreError, match=r"all-online.json"):
        work(study, 0, 1, "all-online")
    (study / "cluster").mkdir()
    (study / "cluster" / "all-online.json").write_text('{"warning": 60, "units": [[0, [0], 0')
    with pytest.raises(StoreError, match=r"all-online.json is not as it was written"):
        work(study, 0, 1, "all-online")


# The real one


@pytest.mark.slow
def test_a_real_slurm_gives_the_same_results(real: PrivateNetwork, tmp_path: Path) -> None:
    study = small_campaign(tmp_path / "a study", 0.2, seeds=4)
    limits = [Group("small", units_in(study), Resources(memory_mb=600, minutes=10))]
    (job,) = slurm_submit(study, limits, Settings(tasks=2, command=TASK))
    until(lambda: len(begun(study)) == 2, 90, "two tasks")
    scontrol("requeue", f"{job}_0")
    (killed,) = (note for note in begun(study) if note["task"] == f"{job}_1")
    real.run("kill", "-9", str(killed["pid"]))
    done = really_collected(study)
    assert (done.units, done.finished) == (len(units_in(study)),) * 2
    assert done.ended == {}
    logs = [(study / "cluster" / f"small-online-{task}.log").read_text() for task in range(2)]
    assert "DUE TO JOB REQUEUE" in logs[0]
    assert "Killed" in logs[1]
    assert results_of(study) == expected(tmp_path / "again", 0.2, seeds=4)


@pytest.mark.slow
def test_a_real_task_is_warned_and_goes_on(real: PrivateNetwork, tmp_path: Path) -> None:
    study = small_campaign(tmp_path / "study", 0.3, seeds=16)
    # SLURM counts minutes, warns up to a minute too early, and looks every half minute only.
    slurm_submit(
        study,
        [Group("short", units_in(study), Resources(minutes=1))],
        Settings(tasks=1, warning=50, command=TASK),
    )
    done = really_collected(study)
    assert (done.units, done.finished) == (len(units_in(study)),) * 2
    assert "It goes on in a new task." in (study / "cluster" / "short-online-0.log").read_text()
    assert results_of(study) == expected(tmp_path / "again", 0.3, seeds=16)


@pytest.mark.slow
def test_a_real_task_that_is_cancelled_stays_so(real: PrivateNetwork, tmp_path: Path) -> None:
    study = small_campaign(tmp_path / "study", 0.3, seeds=6)
    (job,) = slurm_submit(study, [Group("all", units_in(study))], Settings(1, command=TASK))
    until(lambda: begun(study), 90, "a task")
    subprocess.run(["scancel", job], check=True)
    until(lambda: not collect(study).active, 60, "the end of the job")
    time.sleep(3)
    told = collect(study)
    assert told.active == {}
    assert told.finished < told.units
    assert list(told.ended) == [str(study / "cluster" / "all-online-0.log")]
