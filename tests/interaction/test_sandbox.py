"""What hostile code can do in the sandbox of an agent's process, by each mechanism."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from ast import literal_eval
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

import omnimeter
from isolation_parts import Corridor, streams
from omnimeter.contract import Budget, Fault, FaultKind, InvalidInputError, Spec
from omnimeter.interaction import interact, launcher, sandbox
from omnimeter.interaction.process import AgentProcess, Limits
from omnimeter.interaction.sandbox import MOST_PROCESSES, Mechanism, Sandbox, Sandboxing, obstacle

SOURCE = '''
from omnimeter import Agent


class Probe(Agent):
    """Runs the code that it is told, and tells what came of it as an exception."""

    def begin(self, briefing, rng):
        self.code = briefing.remarks["how"]

    def act(self, reward, observation):
        scope = {}
        exec(self.code, scope)
        if "result" in scope:
            raise RuntimeError(repr(scope["result"]))
        return 0
'''
LIMITS = Limits(seconds_per_action=20, memory_mb=200)


@pytest.fixture(scope="module", params=[Mechanism.NAMESPACES, Mechanism.LANDLOCK])
def mechanism(request: pytest.FixtureRequest) -> Mechanism:
    if why := obstacle(request.param):
        pytest.skip(f"{request.param} does not work here: {why}")
    return Mechanism(request.param)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the agent, results, a cache and a home, in each of which there is a secret."""
    folder = tmp_path_factory.mktemp("places")
    for name in ("results", "cache", "home", "modules/results"):
        (folder / name).mkdir(parents=True)
        (folder / name / "secret").write_text("SECRET")
    (folder / "probe.py").write_text(SOURCE)
    return folder


@pytest.fixture(scope="module")
def probe(mechanism: Mechanism, places: Path) -> Iterator[AgentProcess]:
    """One contained process, for all that does not end it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMNIMETER_CACHE_DIR", str(places / "cache"))
        patch.setenv("OMNIMETER_SEED", "SECRET")
        patch.setenv("API_KEY", "SECRET")
        patch.setenv("HOME", str(places / "home"))
        patch.chdir(places)
        patch.setattr(sys, "path", [str(places / "modules"), *sys.path])
        hidden = (str(places / "results"), str(places / "modules/results"))
        with AgentProcess(
            Spec("probe.py:Probe"), LIMITS, sandbox=Sandbox(mechanism, hidden)
        ) as own:
            result_of(own, "result = 0")
            yield own


def fault_of(process: AgentProcess, code: str) -> Fault | None:
    return interact(Corridor(dedent(code)), process, Budget(1), streams).fault


def result_of(process: AgentProcess, code: str) -> Any:
    """What code sets ``result`` to inside."""
    fault = fault_of(process, code)
    assert fault is not None
    prefix = "The agent raised RuntimeError when acting: "
    assert fault.message.startswith(prefix), fault
    return literal_eval(fault.message.removeprefix(prefix))


ATTEMPTS = """
result = []
for attempt in attempts:
    try:
        result.append(attempt() or "done")
    except OSError as error:
        result.append(type(error).__name__)
"""


def attempts(process: AgentProcess, *code: str) -> list[str]:
    """What came of some expressions: the name of an error, or their value."""
    return result_of(  # type: ignore[no-any-return]
        process,
        "import os, socket, tempfile, ctypes, pathlib\n"
        f"attempts = [{', '.join(f'lambda: {each}' for each in code)}]\n{ATTEMPTS}",
    )


def processes_with(mark: str) -> list[int]:
    """All processes that have a text in their command line."""
    alive = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdigit() and mark.encode() in (entry / "cmdline").read_bytes():
                alive.append(int(entry.name))
        except OSError:
            continue  # it has ended meanwhile
    return alive


def gone(mark: str) -> bool:
    deadline = time.monotonic() + 5
    while processes_with(mark):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def test_no_network(probe: AgentProcess) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as local:
        local.bind("\0omnimeter-test")
        local.listen()
        port = server.getsockname()[1]
        answers = attempts(
            probe,
            f"socket.create_connection(('127.0.0.1', {port}), 1)",
            f"socket.socket(type=socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', {port}))",
            "socket.socket(socket.AF_UNIX).connect('\\0omnimeter-test')",
            "socket.create_server(('127.0.0.1', 0)).getsockname() and None"
            if probe.sandbox.mechanism is Mechanism.LANDLOCK
            else "socket.create_connection(('192.0.2.1', 80), 1)",
        )
    assert all(re.fullmatch(r"\w*Error", each) for each in answers)


def test_no_signals_and_no_view_of_other_processes(probe: AgentProcess) -> None:
    own = os.getpid()
    answers = attempts(
        probe,
        f"os.kill({own}, 0)",
        f"os.kill({probe.pid}, 0)",
        f"os.killpg({os.getpgid(0)}, 0)",
        f"open('/proc/{own}/environ').read()",
        f"open('/proc/{own}/cmdline').read()",
        f"open('/proc/{own}/mem', 'rb').read(1)",
        f"os.listdir('/proc/{own}/fd')",
    )
    assert all(re.fullmatch(r"\w*Error", each) for each in answers)


def test_its_parent_cannot_be_killed(probe: AgentProcess) -> None:
    fault = fault_of(probe, "import os\nos.kill(os.getppid(), 9)")
    assert fault is None or "Error" in fault.message
    assert result_of(probe, "result = 1") == 1


def test_no_results_no_cache_no_home(probe: AgentProcess, places: Path) -> None:
    kept = ("results", "cache", "home", "modules/results")
    reading = attempts(probe, *(f"open('{places / each / 'secret'}').read()" for each in kept))
    assert "SECRET" not in reading
    writing = attempts(
        probe,
        *(f"pathlib.Path('{places / each / 'secret'}').write_text('forged')" for each in kept),
    )
    attempts(probe, f"os.rename('{places / 'results'}', '{places / 'gone'}')")
    assert len(writing) == 4
    assert all((places / each / "secret").read_text() == "SECRET" for each in kept)
    assert attempts(probe, "os.listdir('/root')", "os.listdir('/home')")[0] != "done"
    assert result_of(probe, "import os\nresult = os.listdir(os.path.expanduser('~'))") == []


def test_system_and_own_source_cannot_be_changed(probe: AgentProcess, places: Path) -> None:
    # Nothing is written: a sandbox that fails must not cost the machine that this is tried on.
    answers = attempts(
        probe,
        "tempfile.TemporaryFile(dir='/usr').name",
        "open('/etc/passwd', 'a').name",
        f"open({omnimeter.__file__!r}, 'a').name",
        f"open({str(places / 'probe.py')!r}, 'a').name",
    )
    assert all(re.fullmatch(r"\w*Error", each) for each in answers)
    assert (places / "probe.py").read_text() == SOURCE


def test_environment_and_descriptors(probe: AgentProcess) -> None:
    variables = result_of(
        probe,
        "import os\nresult = sorted(k for k in os.environ if not k.startswith('LC_'))",
    )
    known = {*sandbox.VARIABLES, *sandbox.SETTINGS, "HOME", "TMPDIR", "USER", "OMNIMETER_CACHE_DIR"}
    assert set(variables) <= known | {"LC_CTYPE"}
    assert "SECRET" not in str(result_of(probe, "import os\nresult = list(os.environ.values())"))
    opened = result_of(
        probe,
        """
        import os
        files = [f'/proc/self/fd/{number}' for number in range(30)]
        names = [os.readlink(each) for each in files if os.path.exists(each)]
        result = sorted({name.partition(':')[0] for name in names})
        """,
    )
    assert set(opened) <= {"pipe", "null", "urandom"}  # without the folder of devices


def test_no_rights_and_none_to_get(probe: AgentProcess) -> None:
    status = result_of(
        probe,
        """
        lines = dict(each.split(':\\t') for each in open('/proc/self/status').read().splitlines())
        result = {name: lines[name] for name in ('Uid', 'CapEff', 'NoNewPrivs')}
        """,
    )
    users = {int(each) for each in status["Uid"].split()}
    assert os.geteuid() != 0 or 0 not in users
    reading = 1 << 2 if os.geteuid() == 0 and probe.sandbox.mechanism is Mechanism.LANDLOCK else 0
    assert int(status["CapEff"], 16) == reading  # of what landlock lets it read
    assert status["NoNewPrivs"] == "1"
    answers = attempts(
        probe,
        "os.setuid(0)",
        "os.setgroups([0])",
        "os.chroot('/tmp')",
        "os.chown('/tmp', 0, 0)",
        "os.mknod('/tmp/disk', 0o60666, os.makedev(8, 0))",
    )
    assert all(re.fullmatch(r"\w*Error", each) for each in answers)
    new_user_namespace = "ctypes.CDLL(None).unshare(0x10000000)"
    if probe.sandbox.mechanism is Mechanism.NAMESPACES:
        assert attempts(probe, new_user_namespace) == [-1]


def test_own_temporary_folder_is_limited(probe: AgentProcess) -> None:
    written = result_of(
        probe,
        """
        import os, tempfile
        written = 0
        try:
            for name in range(4):
                with open(os.path.join(tempfile.gettempdir(), str(name)), 'wb') as file:
                    for _ in range(10):
                        file.write(bytes(10 << 20))
                        written += 10
        except OSError as error:
            result = written
        else:
            result = written
        for name in range(4):
            try:
                os.unlink(os.path.join(tempfile.gettempdir(), str(name)))
            except FileNotFoundError:
                pass
        """,
    )
    limited = probe.sandbox.mechanism is Mechanism.NAMESPACES
    assert written <= (256 if limited else 400)


def test_one_file_is_limited(probe: AgentProcess) -> None:
    assert (
        result_of(
            probe,
            """
        import os, tempfile
        with tempfile.TemporaryFile() as file:
            try:
                file.truncate(300 << 20)
            except OSError:
                result = 'refused'
            else:
                result = 'done'
        """,
        )
        == "refused"
    )


def test_a_fork_bomb_is_bounded(probe: AgentProcess, places: Path) -> None:
    count = result_of(
        probe,
        """
        import os, signal, time
        children = []
        try:
            while len(children) < 1000:
                child = os.fork()
                if child == 0:
                    time.sleep(60)
                    os._exit(0)
                children.append(child)
        except BlockingIOError:
            pass
        result = len(children)
        for child in children:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
        """,
    )
    assert 10 < count < MOST_PROCESSES


def test_memory_of_all_processes_counts(probe: AgentProcess) -> None:
    if probe.sandbox.mechanism is not Mechanism.NAMESPACES:
        pytest.skip("only an own pid namespace can be measured as a whole")
    fault = fault_of(
        probe,
        """
        import os, time
        for _ in range(4):
            if os.fork() == 0:
                eaten = bytearray(120 << 20)
                time.sleep(60)
        time.sleep(15)
        """,
    )
    assert fault is not None
    assert fault.kind is FaultKind.AGENT_ERROR
    assert fault.message == "The agent used more than 200 MB of memory."
    assert result_of(probe, "result = 1") == 1  # in a new process


def test_memory_that_belongs_to_no_process_is_refused(probe: AgentProcess) -> None:
    code = """
    import os
    try:
        result = os.memfd_create("hidden")
    except PermissionError:
        result = "refused"
    """
    assert result_of(probe, code) == "refused"


def test_shared_memory_counts(probe: AgentProcess) -> None:
    if probe.sandbox.mechanism is not Mechanism.NAMESPACES:
        pytest.skip("only an own pid namespace can be measured as a whole")
    fault = fault_of(
        probe,
        """
        import mmap, os, time
        for _ in range(4):
            if os.fork() == 0:
                eaten = mmap.mmap(-1, 120 << 20)
                for _ in range(120):
                    eaten.write(b"x" * (1 << 20))
                time.sleep(60)
        time.sleep(15)
        """,
    )
    assert fault is not None
    assert fault.message == "The agent used more than 200 MB of memory."


def test_answers_before_they_are_asked_for(probe: AgentProcess) -> None:
    code = """
    import json, os, sys
    for number in range(3, 12):
        try:
            if os.readlink(f"/proc/self/fd/{number}").startswith("pipe"):
                for turn in range(1, 200):
                    line = json.dumps({"turn": turn, "type": "move", "action": 0})
                    os.write(number, line.encode() + b"\\n")
        except OSError:
            pass
    result = 0
    """
    fault = fault_of(probe, code)
    assert fault is not None
    assert "broke the wire format" in fault.message


def test_memory_in_common_counts_once(probe: AgentProcess) -> None:
    fault = fault_of(
        probe,
        """
        import os, time
        common = bytearray(120 << 20)
        children = [os.fork() for _ in range(1)]
        if children[0] == 0:
            time.sleep(0.5)
            os._exit(0)
        os.waitpid(children[0], 0)
        """,
    )
    assert fault is None


def test_a_flood_of_output_costs_only_its_own_time(mechanism: Mechanism, places: Path) -> None:
    limits = Limits(seconds_per_action=0.5)
    spec = Spec(f"{places / 'probe.py'}:Probe")
    with AgentProcess(spec, limits, sandbox=Sandbox(mechanism)) as process:
        before = time.monotonic()
        fault = fault_of(process, "while True: print('x' * 10_000)")
        assert time.monotonic() - before < 5
        assert fault is not None
        assert fault.kind is FaultKind.TIME_OUT
        assert len(fault.detail) < 10_000


SURVIVOR = """
import os, subprocess, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60) # {mark}'],
            start_new_session=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
    os._exit(0)
time.sleep(0.5)
"""


@pytest.mark.parametrize("how", list(Mechanism))
def test_nothing_survives_its_end(how: Mechanism, places: Path) -> None:
    if why := obstacle(how):
        pytest.skip(why)
    mark = f"survivor-{how}-{os.getpid()}"
    spec = Spec(f"{places / 'probe.py'}:Probe")
    with AgentProcess(spec, sandbox=Sandbox(how)) as process:
        assert fault_of(process, SURVIVOR.replace("{mark}", mark)) is None
        assert processes_with(mark)
    assert gone(mark)


@pytest.mark.parametrize("how", list(Mechanism))
def test_nothing_survives_a_harness_that_is_killed(
    how: Mechanism, places: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    if why := obstacle(how):
        pytest.skip(why)
    temporary = tmp_path_factory.mktemp("temporary")
    mark = f"orphan-{how}-{os.getpid()}"
    script = f"""
import sys
sys.path.insert(0, {str(Path(__file__).parents[1] / "support")!r})
from isolation_parts import *
from omnimeter.interaction.sandbox import Mechanism, Sandbox
spec = Spec({str(places / "probe.py")!r} + ":Probe")
process = AgentProcess(spec, sandbox=Sandbox(Mechanism({how.value!r})))
take(process, {SURVIVOR.replace("{mark}", mark)!r}, 1)
print("ready", flush=True)
take(process, "while True: pass", 1)
"""
    command, variables = [sys.executable, "-c", script], {**os.environ, "TMPDIR": str(temporary)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=variables) as harness:
        assert harness.stdout is not None
        assert harness.stdout.readline() == b"ready\n"
        assert processes_with(mark)
        harness.send_signal(signal.SIGKILL)
    assert gone(mark)
    deadline = time.monotonic() + 5
    while list(temporary.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not list(temporary.iterdir())


def test_a_private_file_can_be_the_agents(mechanism: Mechanism, places: Path) -> None:
    private = places / "private"
    private.mkdir(mode=0o700)
    path = private / "agent.py"
    path.write_text("def choose(observation):\n    return 0\n")
    path.chmod(0o600)
    (private / "other").write_text("SECRET")
    with AgentProcess(Spec(f"{path}:choose"), sandbox=Sandbox(mechanism)) as process:
        assert fault_of(process, "") is None
    path.unlink()
    (private / "other").unlink()
    private.rmdir()


def evaluated(tmp_path: Path, **options: Any) -> omnimeter.Result:
    (tmp_path / "agent.py").write_text("def choose(observation):\n    return 0\n")
    return omnimeter.evaluate(
        [f"{tmp_path / 'agent.py'}:choose", "random"],
        "cups",
        exercises=2,
        interactions=3,
        seed=1,
        **options,
    )


def test_outcomes_say_what_contained_the_agent(tmp_path: Path) -> None:
    best = sandbox.sandbox_for(Sandboxing.AUTO).mechanism
    for choice, said in (("auto", best.value), ("none", "none")):
        result = evaluated(tmp_path, sandbox=choice)
        ours, random = result.evaluation.agents
        assert {each.remarks["sandbox"] for each in result.outcomes[ours]} == {said}
        assert not any("sandbox" in each.remarks for each in result.outcomes[random])


def test_machines_without_a_sandbox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox, "obstacle", lambda mechanism: "not today")
    with pytest.raises(InvalidInputError, match="sandbox=required"):
        evaluated(tmp_path, sandbox="required", out=tmp_path / "out")
    assert not (tmp_path / "out").exists()
    with pytest.warns(UserWarning, match="not contained"):
        evaluated(tmp_path, sandbox="auto")


def test_results_are_hidden_from_agents(tmp_path: Path) -> None:
    if not sandbox.contains(Sandboxing.AUTO):
        pytest.skip("no sandbox here")
    out = tmp_path / "evaluations" / "this"
    (tmp_path / "agent.py").write_text(
        dedent(f"""
        def choose(observation):
            try:
                open({str(out / "spec.json")!r})
            except OSError:
                return 0
            raise RuntimeError("seen")
        """)
    )
    for choice, faults in (("auto", 0), ("none", 1)):
        result = omnimeter.evaluate(
            f"{tmp_path / 'agent.py'}:choose",
            "cups",
            exercises=1,
            interactions=2,
            seed=1,
            out=out,
            sandbox=choice,
        )
        (outcomes,) = result.outcomes.values()
        assert sum(each.fault is not None for each in outcomes) == faults
        shutil.rmtree(out)


def test_a_user_without_rights_can_contain_processes(tmp_path: Path) -> None:
    python = shutil.which("python3", path="/usr/bin")
    if os.geteuid() != 0 or python is None or obstacle(Mechanism.NAMESPACES):
        pytest.skip("needs root to become another user, and a Python that all users can run")
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    program = shutil.copy(launcher.__file__, folder)
    code = "import os; print(os.getuid(), os.path.exists('/root'), *os.listdir('/'))"
    plan = {
        "mechanism": "namespaces",
        "command": [python, "-I", "-c", code],
        "directory": str(folder),
        "trees": [each for each in sandbox.SYSTEM if os.path.exists(each)],
        **{name: [] for name in ("files", "hidden")},
        **{"user": None, "limits": {"RLIMIT_NPROC": 50}, "memory": 200 << 20},
        **{"temporary": "/tmp", "temporary_bytes": 1 << 20},
    }
    done = subprocess.run(
        [python, "-I", "-S", program],
        input=json.dumps(plan).encode() + b"\n",
        capture_output=True,
        user=54_321,
        group=54_321,
        extra_groups=[],
        check=False,
    )
    shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr
    user, seen, *entries = done.stdout.decode().split()
    assert (int(user), seen) == (54_321, "False")
    assert {"usr", "tmp", "proc", "dev"} <= set(entries)
    assert not {"root", "home", "var", "sys", "run"} & set(entries)
