"""Hostile agents change nothing but their own outcomes (``docs/trust.md`` says what is tried).

All of them take part in one evaluation, together with an agent that does nothing wrong: so none may
disturb another either. What they try is in the first line of each file in ``agents``.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import omnimeter as om
from omnimeter.contract.exercise import is_own_fault
from omnimeter.interaction import sandbox
from omnimeter.interaction.compilation import cache_directory

FILES = Path(__file__).parent / "agents"

ERROR, LATE = frozenset({"agent-error"}), frozenset({"time-out"})
EITHER = ERROR | LATE  # a machine that is busy may find the one before the other
NONE: frozenset[str] = frozenset()

FAULTS = {
    # what it tries, and which faults end its exercises; the others must have none
    "kill_parent": ERROR,
    "kill_everybody": ERROR,
    "kill_group": ERROR,
    "fork_bomb": EITHER,
    "memory": EITHER,
    "memory_of_children": EITHER,
    "raise_limits": EITHER,
    "fill_disk": ERROR,
    "hang_loading": LATE,
    "hang_begin": LATE,
    "hang_act": LATE,
    "hang_finish": LATE,
    "exit_zero": ERROR,
    "system_exit": ERROR,
    "interrupt": ERROR,
    "memory_error": ERROR,
    "recursion": ERROR,
    "crash_when_losing": ERROR,
    "not_a_number": ERROR,
    "infinity": ERROR,
    "words": ERROR,
    "fraction": ERROR,
    "huge_number": ERROR,
    "huge_answer": ERROR,
    "odd_number": ERROR,
    "close_pipes": EITHER,
    "other_turns": EITHER,
    "garbage": EITHER,
    "escapes": ERROR,
    "surrogates": ERROR,
    "long_message": ERROR,
    "odd_exception": ERROR,
}

PARTLY = {"crash_when_losing", "kill_parent", "hang_finish"}
"""Those whose faults depend on how an exercise goes, or come after it."""

SLOW = {
    "hang_loading",
    "hang_begin",
    "fork_bomb",
    "memory_of_children",
    "endless_output",
    "fill_disk",
}
"""Those that take long by what they do."""

ALIKE = {
    *("infinity", "fraction", "words", "interrupt", "long_message", "raise_limits", "memory_error"),
    *("garbage", "stop_at_once", "threads", "huge_number", "kill_group", "hang_finish", "symlinks"),
    *("odd_exception", "odd_number", "system_exit", "inherited_files", "stop_parent", "recursion"),
    *("huge_answer", "kill_parent", "memory", "other_turns"),
}
"""Those that are too much like others for the ordinary tests."""

TIMED = {"slow", "claims_no_time", "waits_for_the_end"}
OTHER_CLASS = {"privileged_view"}

UNCONTAINED = {
    *(
        "kill_parent",
        "kill_group",
        "exit_zero",
        "system_exit",
        "interrupt",
        "memory",
        "memory_error",
    ),
    *("recursion", "crash_when_losing", "stop_when_lucky", "not_a_number", "words", "huge_number"),
    *("huge_answer", "other_turns", "close_pipes", "garbage", "escapes", "surrogates", "survivor"),
    *("long_message", "odd_exception", "odd_number", "split", "monkeypatch", "hang_act"),
}
"""Those that a process of their own holds, without a sandbox; the rest would do real harm."""

ALL = {path.stem for path in FILES.glob("*.py")}
QUICK = ALL - SLOW - TIMED - OTHER_CLASS - ALIKE

SETTING = {"environment_class": "cups(rule=rest)", "exercises": 2, "interactions": 30}
LIMITS = {"action_timeout": 3.0, "memory_limit": 512, "begin_timeout": 20.0}

needs_sandbox = pytest.mark.skipif(
    not sandbox.contains(sandbox.Sandboxing.AUTO), reason="this machine has no sandbox"
)


@dataclass
class Stage:
    """A folder with hostile agents and things that they must not touch."""

    folder: Path
    marker: str
    port: int

    def agent(self, name: str) -> str:
        given = f"(port={self.port})" if name == "network" else ""
        return f"agents/{name}.py:Hostile{given}"

    def files(self) -> dict[str, str]:
        """What is in the folder and the canary of the cache, but for results."""
        present = [
            each
            for each in [*self.folder.rglob("*"), cache_directory() / "canary.txt"]
            if each.is_file() and self.folder / "out" not in each.parents
        ]
        return {str(e): hashlib.sha256(e.read_bytes()).hexdigest() for e in present} | {
            f"mode of {each}": oct(each.stat().st_mode)
            for each in (self.folder, self.folder / "canary.txt")
        }

    def processes(self) -> list[int]:
        """The processes that come from this test and are not in its own process."""
        alive = []
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                environment = (folder / "environ").read_bytes()
                command = (folder / "cmdline").read_bytes()
                state = (folder / "stat").read_text().rpartition(")")[2].split()[0]
            except OSError:
                continue
            # Python has one of its own for as long as this process lives.
            tracker = b"multiprocessing.resource_tracker" in command
            if self.marker.encode() in environment and state != "Z" and not tracker:
                alive.append(int(folder.name))
        return [each for each in alive if each != os.getpid()]

    def wait_for_silence(self) -> list[int]:
        """What is left after a moment to end."""
        deadline = time.monotonic() + 10
        while (left := self.processes()) and time.monotonic() < deadline:
            time.sleep(0.2)
        return left


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    folder = tmp_path_factory.mktemp("stage")
    shutil.copytree(FILES, folder / "agents")
    (folder / "canary.txt").write_text("nobody may read or change this")
    (folder / "evaluations").mkdir()
    (folder / "evaluations" / "spec.json").write_text('{"protocol": {"parameters": {"seed": 0}}}')
    cache_directory().mkdir(0o700, parents=True, exist_ok=True)
    (cache_directory() / "canary.txt").write_text("nor this")
    before = Path.cwd(), os.environ["PATH"]
    marker = f"/hostile-{uuid.uuid4().hex}"
    listener = socket.create_server(("127.0.0.1", 0))
    os.chdir(folder)
    os.environ["PATH"] += f":{marker}"  # one of the few variables that agents are given
    os.environ["SECRET_OF_THE_USER"] = "secret"
    try:
        yield Stage(folder, marker, listener.getsockname()[1])
    finally:
        os.chdir(before[0])
        os.environ["PATH"] = before[1]
        del os.environ["SECRET_OF_THE_USER"]
        listener.close()


def evaluated(stage: Stage, names: set[str], **changes: object) -> om.Result:
    """One evaluation of some hostile agents and of ``random``, checked for effects outside."""
    agents = ["random", *map(stage.agent, sorted(names))]
    before = stage.files()
    given = {**SETTING, **LIMITS, "out": stage.folder / "out" / uuid.uuid4().hex, **changes}
    result = om.evaluate(agents, **given)  # type: ignore[arg-type]
    assert stage.wait_for_silence() == []
    assert stage.files() == before
    assert not list(stage.folder.rglob("forged*"))
    assert result.complete
    return result


def payoffs(result: om.Result, label: str = "random-v1") -> list[float | None]:
    (done,) = (each for agent, each in result.outcomes.items() if agent.label == label)
    return [each.payoff for each in sorted(done, key=lambda each: each.exercise.number)]


def check(result: om.Result, stage: Stage, names: set[str]) -> None:
    """No wrong score: faults of the right kind, and nothing above what acting can give."""
    by_label = {agent.label: each for agent, each in result.outcomes.items()}
    wrong = {}
    for name in sorted(names):
        done = by_label[stage.agent(name)]
        kinds = {str(each.fault.kind) for each in done if each.fault is not None}
        failed = sum(map(is_own_fault, done))
        expected = FAULTS.get(name, NONE)
        right = kinds <= expected and (
            name in PARTLY or failed in (0 if not expected else len(done),)
        )
        if not right:
            wrong[name] = [(each.payoff, each.fault and each.fault.message) for each in done]
        assert all(-1 <= each.payoff <= 1 for each in done if each.payoff is not None)
    assert wrong == {}
    ranking = om_json(result)["ranking"]
    faulty = {label for label, each in by_label.items() if any(map(is_own_fault, each))}
    assert not faulty & set(ranking)


def om_json(result: om.Result) -> dict[str, object]:
    from omnimeter.reports import result_json

    data: dict[str, object] = json.loads(json.dumps(result_json(result.judged)))
    return data


@pytest.fixture(scope="module")
def everyone(stage: Stage) -> om.Result:
    """All quick ones at once."""
    return evaluated(stage, QUICK, seed=0)


def test_there_are_at_least_thirty() -> None:
    assert len(ALL) >= 30
    assert set(FAULTS) <= ALL
    assert ALL >= UNCONTAINED | SLOW | TIMED | OTHER_CLASS | PARTLY


@needs_sandbox
def test_none_gets_a_wrong_score(everyone: om.Result, stage: Stage) -> None:
    check(everyone, stage, QUICK)


@needs_sandbox
def test_random_scores_what_it_scores_alone(everyone: om.Result) -> None:
    assert payoffs(everyone) == payoffs(om.evaluate("random", seed=0, **SETTING))  # type: ignore[arg-type]


@needs_sandbox
def test_the_report_of_them_is_harmless(everyone: om.Result, stage: Stage) -> None:
    page = everyone.report().read_text(encoding="utf-8")
    for text in (page, repr(everyone), json.dumps(om_json(everyone), ensure_ascii=False)):
        assert not {"\x1b", "\x9b", "\u202e", "\x07"} & set(text)
        text.encode()
    assert "<script>" not in page
    assert str(stage.folder) not in page.replace(str(stage.folder / "out"), "")
    assert "†" in page


@needs_sandbox
def test_stopping_and_resting_pay_no_more_than_acting(everyone: om.Result, stage: Stage) -> None:
    _, high, *_ = everyone.scores[stage.agent("honest")].interval or (0, 1.0)
    for name in ("stop_when_lucky", "rest", "remembers", "monkeypatch"):
        value = everyone.scores[stage.agent(name)].value
        assert value is not None
        assert value <= high


@needs_sandbox
def test_a_claim_about_time_buys_none(stage: Stage) -> None:
    timed = {"interactions": None, "seconds": 0.5, "exercises": 1, "seed": 0}
    result = evaluated(stage, TIMED, **timed)
    acted = {
        name: [each.interactions for each in result.outcomes[agent]]
        for name in TIMED
        for agent in result.outcomes
        if agent.label == stage.agent(name)
    }
    most = 0.5 / 0.02 + 1
    assert max(acted["claims_no_time"]) <= most
    assert max(acted["slow"]) <= most
    assert max(acted["waits_for_the_end"]) <= 2


@needs_sandbox
def test_a_privileged_view_is_refused_and_marked(stage: Stage) -> None:
    name = stage.agent("privileged_view")
    small = {"environment_class": "gc", "exercises": 2, "interactions": 20, "seed": 0}
    refused = om.evaluate(["random", name], **small)  # type: ignore[arg-type]
    assert payoffs(refused, name) == [None, None]
    granted = om.evaluate(["random", name], **small, privileged=True)  # type: ignore[arg-type]
    assert f"{name}*" in repr(granted)
    assert payoffs(granted) == payoffs(refused)


@needs_sandbox
def test_the_command_line_ends_with_what_it_has(stage: Stage) -> None:
    names = ("exit_zero", "escapes")
    command = [sys.executable, "-m", "omnimeter", "run", "--class", "cups", "--exercises", "2"]
    command += ["--interactions", "10", "--seed", "0", "--agent", "random", "--out", "out/commands"]
    for name in names:
        command += ["--agent", stage.agent(name)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 3, done.stderr
    assert not {"\x1b", "\u202e", "\x9b"} & set(done.stdout + done.stderr)
    assert done.stdout.index("random-v1") < done.stdout.index("escapes.py:Hostile†")
    assert "2 of 2 exercises ended in faults of its own" in " ".join(done.stdout.split())
    assert stage.wait_for_silence() == []


@needs_sandbox
@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_the_slow_ones_neither(stage: Stage, workers: int) -> None:
    result = evaluated(stage, SLOW, workers=workers, seed=0, begin_timeout=8.0, exercises=2)
    check(result, stage, SLOW)


@needs_sandbox
@pytest.mark.slow
def test_nor_on_several_workers_with_a_secret_seed(stage: Stage) -> None:
    result = evaluated(stage, QUICK | ALIKE, workers=2)
    check(result, stage, QUICK | ALIKE)
    alone = om.evaluate("random", seed=result.seed, **SETTING)  # type: ignore[arg-type, attr-defined]
    assert payoffs(result) == payoffs(alone)


@pytest.mark.slow
@pytest.mark.parametrize("workers", [1, 2])
def test_a_process_of_its_own_holds_many_without_a_sandbox(stage: Stage, workers: int) -> None:
    """By the command line: what goes wrong here may end the process that evaluates."""
    out = stage.folder / "out" / f"bare-{workers}"
    command = [
        sys.executable,
        "-m",
        "omnimeter",
        "run",
        "--class",
        "cups(rule=rest)",
        "--seed",
        "0",
    ]
    command += ["--exercises", "2", "--interactions", "30", "--sandbox", "none", "--json"]
    command += ["--action-timeout", "3", "--memory-limit", "512", "--workers", str(workers)]
    command += ["--out", str(out), "--agent", "random"]
    for name in sorted(UNCONTAINED):
        command += ["--agent", stage.agent(name)]
    before = stage.files()
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=400)
    assert done.returncode == 3, done.stderr
    assert stage.wait_for_silence() == []
    assert stage.files() == before
    result = om.load(out)
    check(result, stage, UNCONTAINED)
    assert payoffs(result) == payoffs(om.evaluate("random", seed=0, **SETTING))  # type: ignore[arg-type]
