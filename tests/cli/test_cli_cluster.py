"""One campaign from a file, by whatever carries it out: always the results of one process."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

import scripted_slurm
from array_jobs import begun, ended, really_collected
from campaign_samples import SLOW
from omnimeter import InvalidInputError
from omnimeter.api.campaign import Campaign, campaign
from omnimeter.api.evaluation import load
from omnimeter.cli import main
from omnimeter.contract import Outcome
from omnimeter.results import merging
from omnimeter.results.files import Layout
from private_network import PrivateNetwork, until

TEXT = """
title = "Everywhere"
seeds = [0, 1]

[[agents]]
agent = "random"

[[agents]]
agent = "q-learning"
group = "learners"
grid = { alpha = [0.1, 0.3] }

[[tests]]
class = "cups"
exercises = 8
interactions = 300_000

[[tests]]
definition = 19
class = "automata"
interactions = 300
agents = ["learners"]

[slurm]
tasks = 2
warning = 60
options = ["--comment=two words"]

[slurm.learners]
memory = 600
minutes = 10
"""

FROM_FILES = f"""
[[agents]]
agent = "{SLOW}"
grid = {{ seconds = [0.05] }}

[[agents]]
agent = "bad.py:act"

[limits]
fault_limit = 3
"""
"""Agents in processes of their own; one is stopped after three faults."""

SMALL = """
seeds = [0]
[[agents]]
agent = "random"
[[tests]]
class = "cups"
exercises = 2
interactions = 5
[run]
executor = "slurm"
"""

Typed = tuple[int, str, str]


@pytest.fixture
def omnimeter(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> Callable[..., Typed]:
    """Types a command in a directory with two campaigns."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    monkeypatch.setenv("COLUMNS", "100")
    Path("study.toml").write_text(TEXT)
    Path("files.toml").write_text(TEXT.replace("300_000", "3") + FROM_FILES)
    Path("small.toml").write_text(SMALL)
    Path("bad.py").write_text("def act(observation):\n    raise ValueError\n")

    def type_in(*arguments: str) -> Typed:
        monkeypatch.setattr(sys, "argv", ["omnimeter", *arguments])
        code: int | str = 0
        try:
            main()
        except SystemExit as leaving:
            code = leaving.code or 0
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        return int(code), out, err

    return type_in


def outcomes(directory: str) -> dict[tuple[str, str], list[Outcome]]:
    """The outcomes of each agent that count, however often an exercise was begun."""
    judged = {
        entry.name: load(Path(directory) / "evaluations" / entry.name).judged
        for entry in Campaign.open(directory).entries
    }
    return {
        (name, agent.label): [replace(each, attempts=1) for each in done]
        for name, result in judged.items()
        for agent, done in result.outcomes.items()
    }


def check_same(omnimeter: Callable[..., Typed], file: str = "study.toml") -> None:
    """Check that the campaign is complete, and what it would be if this process had run it."""
    alone = omnimeter("campaign", "run", file, "--out", "one", "--executor", "this-process")
    assert alone[0] in {0, 3}, alone
    states = [omnimeter("campaign", "status", each, "--json") for each in ("study", "one")]
    mine, theirs = (json.loads(out) for _, out, _ in states)
    assert mine == {**theirs, "directory": "study"}
    assert (mine["complete"], mine["quarantined"], mine["tasks"]) == (True, [], {})
    here, there = outcomes("study"), outcomes("one")
    assert [each for each in there if here[each] != there[each]] == []
    assert here.keys() == there.keys()
    scores = [omnimeter("campaign", "results", each, "--json") for each in ("study", "one")]
    assert scores[0] == scores[1]


def started(*command: str) -> subprocess.Popen[str]:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, text=True, start_new_session=True, **pipes)


SLURM = ("campaign", "run", "files.toml", "--out", "study", "--executor", "slurm")
RUN = (sys.executable, "-m", "omnimeter", "campaign", "run")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_local_processes_of_which_one_is_killed(omnimeter: Callable[..., Typed]) -> None:
    process = started(*RUN, "study.toml", "--executor", "processes", "--workers", "2")
    shards = Path("study/evaluations")
    until(lambda: list(shards.glob("*/outcomes/*.parquet")), 60, "an outcome")
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    out, err = process.communicate(timeout=90)
    assert process.returncode == 0, err
    assert "Complete: 4 evaluations" in out
    check_same(omnimeter)


def test_array_jobs_of_which_a_task_is_killed(
    jobs: Path, omnimeter: Callable[..., Typed], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, _ = omnimeter("campaign", "run", "study.toml", "--executor", "slurm")
    assert (code, out.split("\n")[0]) == (0, "Submitted: jobs 1, 2.")
    assert "when it has ended: omnimeter campaign collect study" in out
    until(lambda: begun(Path("study")), 60, "a unit")
    os.kill(int(str(begun(Path("study"))[0]["pid"])), signal.SIGKILL)
    code, out, _ = omnimeter("campaign", "status", "study")
    assert out.startswith("Everywhere: ")
    assert " waiting tasks\n" in out
    code, _, err = omnimeter("campaign", "run", "study.toml", "--executor", "slurm")
    assert code == 2
    assert "tasks of this campaign still wait or run" in err
    code, _, err = omnimeter("campaign", "run", "study", "--executor", "processes")
    assert code == 2
    assert "tasks of this campaign still wait or run" in err
    ended()
    code, out, _ = omnimeter("campaign", "status", "study")
    assert "The tasks have ended. Next: omnimeter campaign collect study" in out
    shards = [Layout(each) for each in Path("study/evaluations").iterdir()]
    assert max(len(each.shards()) for each in shards) > 1
    monkeypatch.setattr(merging, "MANY", 1)
    code, out, _ = omnimeter("campaign", "collect", "study")
    assert code == 0
    assert "Complete: 4 evaluations" in out
    assert [len(each.shards()) for each in shards] == [1] * 4
    cluster = Path("study/cluster")
    assert any("Killed" in log.read_text() for log in cluster.glob("*.log"))
    limits = {each.stem: scripted_slurm.options_of(each) for each in cluster.glob("*.sh")}
    assert limits.keys() == {"all-online", "learners-online"}
    assert limits["learners-online"]["--mem"] == "600M"
    assert limits["learners-online"]["--time"] == "10"
    assert "--mem" not in limits["all-online"]
    assert {each["--comment"] for each in limits.values()} == {"two words"}
    check_same(omnimeter)


def test_what_is_left_is_collected_and_submitted_again(
    jobs: Path, omnimeter: Callable[..., Typed], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert omnimeter("campaign", "collect", "small")[0] == 4  # there is no campaign
    broken = Path("broken/omnimeter/__init__.py")
    broken.parent.mkdir(parents=True)
    broken.write_text("raise SystemExit('No space is left.')")
    monkeypatch.setenv("PYTHONPATH", str(broken.parent.parent.absolute()))
    assert omnimeter("campaign", "run", "small.toml", "--json")[0] == 0
    ended()
    code, out, _ = omnimeter("campaign", "collect", "small")
    assert code == 75
    assert "Submitted last: 1 unit" in out
    assert "ended with something left to do: " in out
    assert "    No space is left.\n" in out
    assert "go on: omnimeter campaign run small" in out
    told = json.loads(omnimeter("campaign", "collect", "small", "--json")[1])
    assert (told["complete"], told["submitted"]["finished"]) == (False, 0)
    assert [Path(each).name for each in told["submitted"]["ended"]] == ["all-online-0.log"]
    code, out, _ = omnimeter("campaign", "run", "small", "--executor", "this-process")
    assert code == 0
    assert "Complete: 1 evaluation" in out
    assert omnimeter("campaign", "collect", "small")[0] == 0
    code, out, _ = omnimeter("campaign", "run", "small.toml", "--json")  # by slurm again
    assert (code, json.loads(out)["jobs"], json.loads(out)["complete"]) == (0, [], True)


def test_where_no_slurm_tells_of_tasks(
    omnimeter: Callable[..., Typed], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    code, _, err = omnimeter("campaign", "run", "small.toml")
    assert code == 2
    assert "sbatch cannot be run" in err
    assert "No array job of " in omnimeter("campaign", "collect", "small")[2]
    submitted = Path("small/cluster/jobs.json")
    submitted.parent.mkdir(exist_ok=True)
    submitted.write_text('[{"group": "all-online", "job": "7", "parts": 1}]')
    code, out, _ = omnimeter("campaign", "status", "small")
    assert code == 0
    assert "Whether tasks wait or run is not known: squeue cannot be run" in out
    with warnings.catch_warnings():
        warnings.simplefilter("always")  # as outside of tests
        code, _, err = omnimeter("campaign", "run", "small", "--executor", "this-process")
    assert code == 0
    assert "Warning: Whether tasks of this campaign still wait or run is not known" in err
    assert "not known" not in omnimeter("campaign", "status", "small")[1]  # it is complete
    submitted.write_text("[{")
    assert omnimeter("campaign", "collect", "small")[0] == 4


def test_a_task_says_what_is_wrong(omnimeter: Callable[..., Typed]) -> None:
    for part in ("1/1", "x", "-1/2", "1"):
        code, _, err = omnimeter("campaign", "work", "small", "--part", part, "--group", "g")
        assert (code, "There is no part" in err) == (2, True)
    assert omnimeter("campaign", "work", "small", "--group", "g")[0] == 2
    code, _, err = omnimeter("campaign", "work", "small", "--part", "0/1", "--group", "g")
    assert code == 4
    assert "g.json" in err


def test_options_that_contradict_each_other(omnimeter: Callable[..., Typed]) -> None:
    code, _, err = omnimeter("campaign", "run", "small.toml", "--workers", "2")
    assert code == 2
    assert "--workers 2 has no effect on array jobs" in err
    code, _, err = omnimeter("campaign", "run", "small.toml", "--address", "head:6379")
    assert code == 2
    assert "--address head:6379 has no effect on the executor 'slurm'" in err
    with pytest.raises(InvalidInputError, match="not waited for"):
        campaign("small.toml").run()
    with pytest.raises(InvalidInputError, match="takes no jobs"):
        campaign("study.toml").submit()
    assert not Path("small").exists()


@pytest.mark.slow
def test_a_real_slurm_of_which_a_task_is_killed(
    real: PrivateNetwork, omnimeter: Callable[..., Typed]
) -> None:
    code, out, _ = omnimeter(*SLURM)
    assert (code, out.split("\n")[0]) == (0, "Submitted: jobs 1, 2.")
    until(lambda: begun(Path("study")), 90, "a unit")
    real.run("kill", "-9", str(begun(Path("study"))[0]["pid"]))
    assert "waiting tasks" in omnimeter("campaign", "status", "study")[1]
    assert omnimeter("campaign", "collect", "study")[0] == 75
    really_collected(Path("study"))
    assert omnimeter("campaign", "collect", "study")[0] == 3
    logs = [log.read_text() for log in Path("study/cluster").glob("*.log")]
    assert any("Killed" in log for log in logs)
    check_same(omnimeter, "files.toml")


@pytest.mark.slow
def test_a_real_ray_of_which_a_worker_and_then_the_command_are_killed(
    network: PrivateNetwork, omnimeter: Callable[..., Typed]
) -> None:
    file, study = Path("files.toml").absolute(), Path("study").absolute()  # it begins in /
    ray = ("--executor", "ray", "--workers", "2")
    process = started(*network.enter(*RUN, file, "--out", study, *ray))
    until(lambda: network.processes("ray::_ray_task"), 120, "tasks")
    network.run("kill", "-9", str(network.processes("ray::_ray_task")[0]))
    shards = Path("study/evaluations")
    until(lambda: list(shards.glob("*/outcomes/*.parquet")), 60, "an outcome")
    inside = min(network.processes("omnimeter campaign run"))
    network.run("kill", "-9", str(inside))
    process.communicate(timeout=60)
    until(lambda: not network.processes("ray::_ray_task"), 60, "the end of tasks")
    assert not Campaign.open("study").status().complete
    process = started(*network.enter(*RUN, study, *ray))
    out, err = process.communicate(timeout=240)
    assert process.returncode == 3, err
    assert "Complete: 4 evaluations" in out
    check_same(omnimeter, "files.toml")
