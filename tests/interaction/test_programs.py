"""Programs in any language as agents: commands, their files, their faults and what they can see."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import omnimeter as om
from isolation_parts import documented_program, take, take_timed
from omnimeter.catalogue import Kind, parse
from omnimeter.catalogue.programs import program_of
from omnimeter.contract import FaultKind, InvalidInputError, Spec, Trace
from omnimeter.execution.workers import Isolation, is_isolated
from omnimeter.interaction.process import AgentProcess, Limits
from omnimeter.interaction.sandbox import Mechanism, Sandbox, obstacle

EXAMPLES = Path(__file__).parents[2] / "examples" / "programs"
PYTHON = sys.executable
SHORT = Limits(seconds_per_action=1, seconds_to_begin=2, memory_mb=300)


@pytest.fixture(params=list(Mechanism))
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    if request.param is not Mechanism.NONE and (why := obstacle(request.param)):
        pytest.skip(f"{request.param} does not work here: {why}")
    return Sandbox(request.param)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current directory, with the program of the documentation."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "agent.py").write_text(documented_program())
    return tmp_path


def command(run: str, **more: Any) -> Spec:
    return parse(Kind.AGENT, Spec("command-v1", {"run": run, **more}).label)


def changed(old: str, new: str) -> Spec:
    """The agent of the documentation with something else in it."""
    program = documented_program()
    assert program.count(old) == 1
    Path("agent.py").write_text(program.replace(old, new))
    return command(f"{PYTHON} agent.py")


def fault(trace: Trace) -> tuple[FaultKind, str, str]:
    assert trace.fault is not None
    return trace.fault.kind, trace.fault.message, trace.fault.detail


def test_a_program_takes_exercises_in_every_sandbox(sandbox: Sandbox) -> None:
    with AgentProcess(command(f"{PYTHON} agent.py"), sandbox=sandbox) as seat:
        seat.load()
        for _ in range(2):
            trace = take(seat, budget=4)
            assert trace.fault is None
            assert trace.actions is not None
            assert trace.actions.tolist() == [0, 1, 2, 0]
        trace, _ = take_timed(seat, "", 0.2)
        assert trace.fault is None
        assert len(trace) > 10


@pytest.mark.parametrize(
    ("old", "new", "kind", "message"),
    [
        ("import json", "import json; print('Hello!')", "agent-error", "'Hello!' is not a line of"),
        ("import json", "import json; raise SystemExit(7)", "agent-error", "exit code 7"),
        ("import json", "import json; print(json.dumps({'turn': 9, 'type': 'move'}), flush=True)",
         "agent-error", "turn 9 has not come yet"),
        ("import json", "import json, time; time.sleep(60)", "time-out", "2 s to answer"),
        ('"wire": 1', '"wire": 2', "agent-error", "version 1 of the wire format"),
        ('"type": "ready"', '"type": "steady"', "agent-error", "'steady' is no answer here"),
        ("pressed += 1", "sys.exit(5)", "agent-error", "exit code 5"),
        ("pressed += 1", "print('thinking')", "agent-error", "'thinking' is not a line of JSON"),
        ("pressed += 1", "print('thinking', file=sys.stderr); import time; time.sleep(60)",
         "time-out", "1 s for one action"),
        ("pressed += 1", "import os; os.kill(os.getpid(), 9)", "agent-error", "SIGKILL"),
        ("pressed += 1", "hog = [bytearray(1 << 20) for _ in range(900)]; import time;"
         " time.sleep(0.5)", "agent-error", "300 MB of memory"),
        ('"action": pressed % actions', '"action": "left"', "agent-error", "returned 'left'"),
    ],
)  # fmt: skip
def test_each_failure_has_its_fault(
    old: str, new: str, kind: str, message: str, sandbox: Sandbox
) -> None:
    spec = changed(old, new)
    with AgentProcess(spec, SHORT, sandbox=sandbox) as seat:
        kind_of_fault, said, _ = fault(take(seat))
    assert kind_of_fault == kind
    assert message in said.replace("b'", "'").replace("\\n", "")


HANGS = "import time\nopen('started', 'a').write('x')\ntime.sleep(60)\n"


@pytest.mark.parametrize("agent", ['command(run="python3 hangs.py")', "hangs.py:Agent"])
@pytest.mark.parametrize(
    "test",
    [
        {"environment_class": "buttons", "exercises": 6, "interactions": 5},
        {"environment_class": "gc", "prior": "gc", "exercises": 6, "interactions": 5},
        {"environment_class": "buttons", "exercises": 12, "interactions": 5, "workers": 2},
    ],
    ids=["fixed", "prepared", "workers"],
)
def test_an_agent_that_hangs_when_it_starts_costs_its_limit_once(
    agent: str, test: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "hangs.py").write_text(HANGS)
    limits: dict[str, Any] = {"begin_timeout": 1.0, "action_timeout": 0.5, "sandbox": "none"}
    result = om.evaluate(["random", agent], out="there", seed=0, **limits, **test)
    _, outcomes = result.outcomes.values()
    for outcome in outcomes:
        assert outcome.fault is not None
        assert outcome.fault.kind is FaultKind.TIME_OUT
        assert "longer than 1 s to" in outcome.fault.message
    assert len(outcomes) >= 6
    # Once in each process that works.
    assert 1 <= len((tmp_path / "started").read_text()) <= test.get("workers", 1)


def test_a_program_that_answered_once_may_hang_later(folder: Path) -> None:
    spec = changed("import json", "import json, os, time; time.sleep(60 * os.path.exists('late'))")
    with AgentProcess(spec, SHORT) as seat:
        assert take(seat).fault is None
        seat.close()
        (folder / "late").touch()
        assert fault(take(seat))[0] is FaultKind.TIME_OUT
        (folder / "late").unlink()
        assert take(seat).fault is None


def test_a_flood_of_errors_does_no_harm(sandbox: Sandbox) -> None:
    spec = changed("pressed += 1", "pressed += 1; sys.stderr.write('flood ' * 100_000)")
    with AgentProcess(spec, SHORT, sandbox=sandbox) as seat:
        assert take(seat).fault is None


def test_the_end_of_its_errors_is_kept() -> None:
    spec = changed("pressed += 1", "raise ValueError('no idea')")
    with AgentProcess(spec, SHORT) as seat:
        kind, _, detail = fault(take(seat))
    assert kind is FaultKind.AGENT_ERROR
    assert "ValueError: no idea" in detail


@pytest.mark.parametrize(
    ("run", "message"),
    [
        ("pyhton3 agent.py", "There is no program 'pyhton3' in the folders of PATH"),
        ("agent.py", "written with its path: './agent.py'"),
        ("./agnet", "agnet does not exist"),
        ("./agent.py", "agent.py is not executable"),
        ("./agent.py", "chmod +x ./agent.py"),
        (".//", "is a folder"),
        (f"{PYTHON} agnet.py", "agnet.py', which does not exist"),
        (f"{PYTHON} agnet.py", "Did you mean 'agent.py'?"),
        (f"{PYTHON} 'agent.py", "cannot be read: No closing quotation"),
        ("", "names no program"),
    ],
)
def test_what_is_not_there_is_said_with_what_was_looked_for(run: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as said:
        command(run)
    assert message.replace("'", "") in str(said.value).replace("'", "")


def test_parameters_of_a_command_are_checked() -> None:
    for wrong in ("command", "command()", "command(files=agent.py)"):  # at once, and how it is done
        with pytest.raises(InvalidInputError, match="needs the parameter 'run'") as said:
            parse(Kind.AGENT, wrong)
        assert "command(run='node agent.js')" in said.value.advice
    for wrong, message in (("command", "needs the parameter 'run'"),
                           ("command(run=7)", "needs the parameter 'run'"),
                           ("command(run=sh, depth=3)", "no parameter 'depth'")):  # fmt: skip
        with pytest.raises(InvalidInputError, match=message):
            om.evaluate(wrong, "cups", exercises=1)
    with pytest.raises(InvalidInputError, match="declares the file 'lib', and there is none"):
        command(f"{PYTHON} agent.py", files=["lib"])
    with pytest.raises(InvalidInputError, match="'files' of a command cannot be 7"):
        command(f"{PYTHON} agent.py", files=7)


def test_a_file_that_the_system_does_not_execute(folder: Path, sandbox: Sandbox) -> None:
    (folder / "agent").write_bytes(b"\x7fELF, or rather not")
    (folder / "agent").chmod(0o755)
    spec = command("./agent")
    with AgentProcess(spec, SHORT, sandbox=sandbox) as seat:
        with pytest.raises(InvalidInputError, match="agent cannot be executed: Exec format error"):
            seat.load()
        kind, said, _ = fault(take(seat))
    assert kind is FaultKind.AGENT_ERROR
    assert "Compile it for this system" in said


def test_an_interpreter_that_is_not_there(folder: Path) -> None:
    (folder / "agent").write_text("#!/no/such/interpreter\n")
    (folder / "agent").chmod(0o755)
    with (
        AgentProcess(command("./agent")) as seat,
        pytest.raises(InvalidInputError, match="No such file"),
    ):
        seat.load()


def test_a_program_that_is_gone_is_no_fault_of_its_own(folder: Path) -> None:
    (folder / "agent").write_text(f"#!{PYTHON}\n{documented_program()}")
    (folder / "agent").chmod(0o755)
    with AgentProcess(command("./agent")) as seat:
        assert take(seat).fault is None
        seat.close()
        (folder / "agent").unlink()
        kind, said, _ = fault(take(seat))
    assert kind is FaultKind.INFRASTRUCTURE
    assert "does not exist" in said


def test_a_sandbox_that_cannot_be_made_is_no_fault_of_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if why := obstacle(Mechanism.NAMESPACES):
        pytest.skip(f"namespaces do not work here: {why}")
    monkeypatch.setattr("omnimeter.interaction.sandbox.TEMPORARY_MB", -1)
    spec = command(f"{PYTHON} agent.py")
    with AgentProcess(spec, SHORT, sandbox=Sandbox(Mechanism.NAMESPACES)) as seat:
        kind, _, _ = fault(take(seat))
    assert kind is FaultKind.INFRASTRUCTURE


def test_a_changed_program_is_another_agent(folder: Path) -> None:
    (folder / "weights").mkdir()
    (folder / "weights" / "one.txt").write_text("1")
    plain, declared = f"{PYTHON} agent.py", {"files": ["weights"]}
    first, second = command(plain), command(plain, **declared)
    assert len({first.digest, second.digest, ""}) == 3
    (folder / "weights" / "one.txt").write_text("2")
    assert command(plain).digest == first.digest
    assert command(plain, **declared).digest != second.digest
    (folder / "agent.py").write_text("pass")
    assert command(plain).digest != first.digest


def test_it_sees_its_files_and_no_others(folder: Path, sandbox: Sandbox) -> None:
    if sandbox.mechanism is Mechanism.NONE:
        pytest.skip("nothing is contained")
    for name in ("declared.txt", "secret.txt"):
        (folder / name).write_text(name)
    changed("pressed += 1", "pressed += 1; sys.exit(seen())")
    tried = "def seen():\n    said = [open('declared.txt').read()]\n    try:\n"
    tried += "        said.append(open('secret.txt').read())\n    except OSError as error:\n"
    tried += "        said.append(type(error).__name__)\n    return ' and '.join(said)\n"
    Path("agent.py").write_text(tried + Path("agent.py").read_text())
    spec = command(f"{PYTHON} agent.py", files="declared.txt")
    with AgentProcess(spec, SHORT, sandbox=sandbox) as seat:
        _, _, detail = fault(take(seat))
    assert "declared.txt and FileNotFoundError" in detail or "and PermissionError" in detail


def test_of_the_home_it_sees_python_and_omnimeter_alone(
    folder: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sandbox.mechanism is Mechanism.NONE:
        pytest.skip("nothing is contained")
    package = Path(om.__file__).parent
    monkeypatch.setenv("HOME", str(package.parents[1]))  # so that both are in the home
    module = folder / "modules" / "some.py"
    module.parent.mkdir()
    module.write_text("x = 1")
    monkeypatch.setattr(sys, "path", [*sys.path, str(module.parent)])
    seen = [package / "__init__.py", Path(sys.prefix) / "pyvenv.cfg", module]
    unseen = [package.parents[1] / "pyproject.toml"]
    assert all(each.is_file() for each in [*seen, *unseen])
    look = (
        "import os, sys\n"
        f"for each in {[*map(str, seen)]}: open(each).read(1)\n"
        f"for each in {[*map(str, unseen)]}:\n"
        "    try: open(each)\n"
        "    except OSError: continue\n"
        "    sys.exit('it sees ' + each)\n"
        "assert os.listdir(os.environ['HOME']) == []\n"
        "open(os.environ['HOME'] + '/own', 'w').write('x')\n"
    )
    (folder / "agent.py").write_text(look + documented_program())
    with AgentProcess(command(f"{PYTHON} agent.py"), SHORT, sandbox=sandbox) as seat:
        assert take(seat).fault is None


def test_an_interpreter_outside_of_the_system_can_be_read(
    folder: Path, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As those of nvm, pyenv and others: in the home, with libraries beside their folder bin."""
    home = folder / "home" / "tool"
    (home / "bin").mkdir(parents=True)
    (home / "lib").mkdir()
    (home / "lib" / "words.txt").write_text("library")
    script = "import pathlib, sys; lib = pathlib.Path(sys.argv[0]).parents[1] / 'lib/words.txt'\n"
    script += "assert lib.read_text() == 'library'\n"
    (home / "bin" / "mylang").write_text(f"#!{PYTHON}\n{script}{documented_program()}")
    (home / "bin" / "mylang").chmod(0o755)
    monkeypatch.setenv("PATH", f"{home / 'bin'}:/usr/bin")
    with AgentProcess(command("mylang agent.py"), SHORT, sandbox=sandbox) as seat:
        assert take(seat).fault is None


def test_shims_are_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for place in ("shims", "real"):
        (folder / place).mkdir()
        (folder / place / "mylang").write_text("#!/bin/sh\n")
        (folder / place / "mylang").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder / 'shims'}:{folder / 'real'}")
    assert program_of(Spec("command-v1", {"run": "mylang"})).command[0] == f"{folder}/real/mylang"
    monkeypatch.setenv("PATH", str(folder / "shims"))
    with pytest.raises(InvalidInputError, match="Name the program itself"):
        command("mylang")


def test_a_program_never_runs_in_the_process_of_the_harness() -> None:
    spec = command(f"{PYTHON} agent.py")
    assert all(is_isolated(spec, each) for each in Isolation)


def test_a_command_is_evaluated_from_python_and_as_json(folder: Path) -> None:
    run = f"{PYTHON} agent.py"
    settings: dict[str, Any] = {"exercises": 3, "interactions": 20, "seed": 1}
    Path("agent.json").write_text(json.dumps({"id": "command", "parameters": {"run": run}}))
    results = [
        om.evaluate(agent, "cups", **settings)
        for agent in (f"command(run={json.dumps(run)})", "agent.json",
                      om.Spec("command-v1", {"run": run}))
    ]  # fmt: skip
    [first, second, third] = [list(each.scores.values()) for each in results]
    assert first == second == third
    assert first[0].faults == {}
    inner = f"slowed(agent={json.dumps(f'command(run={json.dumps(run)})')}, seconds=1)"
    [score] = om.evaluate(inner, "cups", **settings).scores.values()
    assert (score.value, score.faults) == (first[0].value, {})


def program(kind: str, folder: Path) -> Spec:
    """An example program, ready to run."""
    tool = {"agent.js": "node", "agent.c": "cc", "agent.sh": "sh"}[kind]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed, so examples/programs/{kind} is not tried")
    shutil.copy(EXAMPLES / kind, folder)
    if kind == "agent.c":
        flags = ["-O2", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["cc", *flags, "-o", "agent", "agent.c"], check=True)
        return command("./agent")
    return command("node agent.js" if kind == "agent.js" else f"./{kind}")


@pytest.mark.parametrize("kind", ["agent.js", "agent.c"])
def test_the_example_learns(kind: str, folder: Path) -> None:
    spec = program(kind, folder)
    how: dict[str, Any] = {"exercises": 5, "interactions": 300, "seed": 1}
    [score] = om.evaluate(spec, "buttons", **how).scores.values()
    assert score.faults == {}
    assert score.value is not None
    assert score.value > 0.5  # random agents get about 0
    [again] = om.evaluate(spec, "buttons", **how).scores.values()
    assert again == score  # all randomness comes from the seed


@pytest.mark.parametrize("kind", ["agent.js", "agent.c", "agent.sh"])
def test_the_example_runs_in_every_sandbox(kind: str, folder: Path, sandbox: Sandbox) -> None:
    with AgentProcess(program(kind, folder), sandbox=sandbox) as seat:
        assert take(seat).fault is None
