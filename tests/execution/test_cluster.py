"""Units as tasks of Ray: with a scripted Ray, and with a real one in a private network."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from campaign_samples import begin, expected, results_of, small_campaign, units_in
from omnimeter import InvalidInputError, OmnimeterError
from omnimeter.contract import Spec
from omnimeter.contract.errors import StoreError
from omnimeter.execution.cluster import LOOPBACK, error_log, ray_executor
from omnimeter.execution.units import Receipt, Unit, this_process, unfinished
from omnimeter.protocols import Evaluation
from private_network import PrivateNetwork, until

DRIVER = Path(__file__).parent.parent / "support" / "ray_driver.py"


class ScriptedRay(ModuleType):
    """A cluster with one worker; a unit whose key is in ``deadly`` kills it so many times."""

    def __init__(self) -> None:
        super().__init__("ray")
        error = type("RayError", (Exception,), {})
        names = ("WorkerCrashedError", "OutOfMemoryError", "NodeDiedError", "RaySystemError")
        own = {name: type(name, (error,), {}) for name in (*names, "RayTaskError")}
        self.exceptions = SimpleNamespace(RayError=error, **own)
        self.deadly: dict[str, int] = {}
        self.wrong: Exception | None = None
        self.waiting: list[Any] = []
        self.most = 0
        self.cancelled: list[Any] = []
        self.given: dict[str, Any] = {}
        self.connected = False

    def init(self, address: str, **given: Any) -> None:
        self.given, self.connected = {"address": address, **given}, True
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # as Ray does

    def shutdown(self) -> None:
        self.connected = False

    def cluster_resources(self) -> dict[str, float]:
        return {"CPU": 4.0}

    def remote(self, **options: Any) -> Any:
        assert options == {"num_cpus": 1, "max_retries": 0}

        def wrap(function: Any) -> Any:
            def submit(unit: Unit) -> object:
                task = SimpleNamespace(run=function, unit=unit)
                self.waiting.append(Identity(task))
                self.most = max(self.most, len(self.waiting))
                return self.waiting[-1]

            return SimpleNamespace(remote=submit)

        return wrap

    def wait(self, tasks: list[Any], num_returns: int, timeout: float = 0) -> Any:
        return tasks[:num_returns], tasks[num_returns:]

    def get(self, task: Identity) -> Receipt:
        self.waiting.remove(task)
        unit = task.task.unit
        if self.deadly.get(unit.key, 0):
            self.deadly[unit.key] -= 1
            error_log(unit).parent.mkdir(exist_ok=True)
            error_log(unit).write_text("The last words of a worker.\n")
            raise self.exceptions.WorkerCrashedError("It crashed.")
        if self.wrong:
            raise self.wrong
        return task.task.run(unit)

    def cancel(self, task: Identity) -> None:
        self.cancelled.append(task)


class Identity:
    """A reference to a task."""

    def __init__(self, task: SimpleNamespace) -> None:
        self.task = task


@pytest.fixture
def ray(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedRay]:
    before = signal.getsignal(signal.SIGTERM)
    scripted = ScriptedRay()
    monkeypatch.setitem(sys.modules, "ray", scripted)
    yield scripted
    assert signal.getsignal(signal.SIGTERM) == before
    assert not scripted.connected


def test_tasks_give_receipts_and_store_what_one_process_would(
    ray: ScriptedRay, tmp_path: Path
) -> None:
    study, told = small_campaign(tmp_path / "study"), list[Receipt]()
    units = units_in(study)
    ray_executor(address="a-head:6379")(units, told.append)
    assert {each.unit for each in told} == {unit.key for unit in units}
    assert {(each.outcome, each.finished) for each in told} == {("done", 3)}
    assert results_of(study) == expected(tmp_path / "again")
    assert ray.given["address"] == "a-head:6379"
    assert not any((study / "cluster").iterdir())  # workers had nothing to complain about


def test_an_agent_that_is_stopped_takes_no_more_units(ray: ScriptedRay, tmp_path: Path) -> None:
    agent = tmp_path / "failing.py"
    agent.write_text(
        "import omnimeter as om\n"
        "class Failing(om.Agent):\n"
        "    def begin(self, briefing, rng):\n"
        "        raise RuntimeError('never')\n"
        "    def act(self, reward, observation):\n"
        "        return 0\n"
    )
    given = {"environment_class": "cups-v1", "exercises": 60, "interactions": 20_000, "seed": 0}
    evaluation = Evaluation(Spec("sample-v1", given), (Spec(f"{agent}:Failing"),))
    begin(tmp_path, "cups", evaluation)
    units, told = units_in(tmp_path), list[Receipt]()
    ray_executor(1, "a-head:6379")(units, told.append)
    assert {each.unit for each in told} == {unit.key for unit in units}
    assert 10 <= sum(each.finished for each in told) < 60
    assert unfinished(units) == []


def test_only_some_units_are_submitted_beforehand(ray: ScriptedRay, tmp_path: Path) -> None:
    units = units_in(small_campaign(tmp_path / "study", seeds=6))
    ray_executor(address="a-head:6379")(units, lambda receipt: None)
    assert (len(units), ray.most) == (12, 8)  # two for each of its processors
    ray.most = 0
    ray_executor(3, "a-head:6379")(units, lambda receipt: None)
    assert ray.most == 3


def test_a_unit_whose_worker_dies_three_times_is_quarantined(
    ray: ScriptedRay, tmp_path: Path
) -> None:
    study, told = small_campaign(tmp_path / "study"), dict[str, Receipt]()
    first, second, *others = units_in(study)
    ray.deadly = {first.key: 2, second.key: 3}
    ray_executor(address="auto")(
        [first, second, *others], lambda receipt: told.update({receipt.unit: receipt})
    )
    assert told[first.key].outcome == "done"
    assert told[second.key].outcome == "quarantined"
    assert told[second.key].reason == (
        "Its worker died 3 times, the last time by a WorkerCrashedError."
    )
    assert told[second.key].tail == "The last words of a worker."
    assert {told[each.key].outcome for each in others} == {"done"}
    assert ray.deadly == {first.key: 0, second.key: 0}


def test_a_worker_that_died_after_its_unit_was_stored_is_no_failure(
    ray: ScriptedRay, tmp_path: Path
) -> None:
    unit, *_ = units_in(small_campaign(tmp_path / "study"))
    this_process([unit], lambda receipt: None)
    ray.deadly, told = {unit.key: 1}, list[Receipt]()
    ray_executor(address="auto")([unit], told.append)
    assert [(each.outcome, each.finished) for each in told] == [("done", 0)]


def test_the_error_of_a_task_is_the_users(ray: ScriptedRay, tmp_path: Path) -> None:
    units = units_in(small_campaign(tmp_path / "study"))
    ray.wrong = ray.exceptions.RayTaskError("Its text is long.")
    ray.wrong.cause = StoreError("The disk is full.")
    with pytest.raises(StoreError, match="The disk is full"):
        ray_executor(address="auto")(units, lambda receipt: None)
    assert len(ray.cancelled) == len(units) - 1
    ray.wrong = ray.exceptions.RaySystemError("The head does not answer.")
    with pytest.raises(OmnimeterError, match=r"is gone \(The head does not answer"):
        ray_executor(address="auto")(units, lambda receipt: None)


def test_a_damaged_unit_ends_no_other(ray: ScriptedRay, tmp_path: Path) -> None:
    units = units_in(small_campaign(tmp_path / "study"))
    directory = units[0].directory
    Path(directory, "begun").write_bytes(b"\xff")
    receipts: list[Receipt] = []
    ray_executor(address="auto")(units, receipts.append)
    damaged = {each.unit for each in receipts if each.outcome == "damaged"}
    assert damaged == {unit.key for unit in units if unit.directory == directory}
    assert {unit.key for unit in unfinished(units)} == damaged


def test_an_interruption_cancels_what_is_under_way(ray: ScriptedRay, tmp_path: Path) -> None:
    units = units_in(small_campaign(tmp_path / "study"))

    def interrupt(receipt: Receipt) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ray_executor(address="auto")(units, interrupt)
    assert len(ray.cancelled) == len(units) - 1


def test_a_cluster_of_ours_keeps_to_this_machine(
    ray: ScriptedRay, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    units = units_in(small_campaign(tmp_path / "study"))
    monkeypatch.delenv(LOOPBACK, raising=False)
    with pytest.raises(InvalidInputError, match="listen on all addresses"):
        ray_executor(2)(units, lambda receipt: None)  # it was imported before
    monkeypatch.setenv(LOOPBACK, "0")
    ray.nodes = lambda: [{"NodeManagerAddress": "192.0.2.7"}]
    with pytest.raises(OmnimeterError, match="does not keep to the loopback address"):
        ray_executor(2)(units, lambda receipt: None)
    ray.nodes = lambda: [{"NodeManagerAddress": "127.0.0.1"}]
    seen = {}

    def tell(receipt: Receipt) -> None:
        names = ("RAY_AUTH_MODE", "RAY_USAGE_STATS_ENABLED")
        seen.update({name: os.environ[name] for name in names})

    ray_executor(2)(units, tell)
    assert seen == {"RAY_AUTH_MODE": "token", "RAY_USAGE_STATS_ENABLED": "0"}
    assert "RAY_AUTH_MODE" not in os.environ
    assert ray.given["address"] == "local"
    assert ray.given["_node_ip_address"] == "127.0.0.1"
    assert ray.given["include_dashboard"] is False
    assert ray.given["num_cpus"] == 2
    assert not Path(ray.given["_temp_dir"]).exists()


def test_without_ray_it_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    units = units_in(small_campaign(tmp_path / "study"))
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(InvalidInputError, match="Ray is not installed"):
        ray_executor(address="auto")(units, lambda receipt: None)


# The real one


def driver(network: PrivateNetwork, study: Path) -> subprocess.Popen[str]:
    """A process that carries out a campaign with Ray and two workers, and prints receipts."""
    command = network.enter(sys.executable, DRIVER, study)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.Popen(command, text=True, start_new_session=True, **pipes)


def of_ray(network: PrivateNetwork) -> list[int]:
    """All processes of Ray."""
    return network.processes("ray::") + network.processes("site-packages/ray/")


def stored(study: Path) -> int:
    """How many exercises have an outcome."""
    return sum(map(len, results_of(study).values()))


@pytest.mark.slow
def test_a_real_cluster_gives_the_same_results(network: PrivateNetwork, tmp_path: Path) -> None:
    study = small_campaign(tmp_path / "study", 0.3, seeds=4)
    process = driver(network, study)
    until(lambda: network.processes("ray::_ray_task"), 120, "tasks")
    listening = network.run("ss", "-Hltn").splitlines()
    assert len(listening) >= 4
    assert {row.split()[3].rsplit(":", 1)[0] for row in listening} <= {
        "127.0.0.1",
        "[::ffff:127.0.0.1]",
    }
    killed = network.processes("ray::_ray_task")[0]
    network.run("kill", "-9", str(killed))
    output, _ = process.communicate(timeout=240)
    assert process.returncode == 0, output
    assert output.count(" done ") == len(units_in(study)), output
    assert results_of(study) == expected(tmp_path / "again", 0.3, seeds=4)
    assert of_ray(network) == []


@pytest.mark.slow
def test_nobody_else_can_use_a_cluster_of_ours(network: PrivateNetwork, tmp_path: Path) -> None:
    study = small_campaign(tmp_path / "study", 1.0, seeds=10)
    process = driver(network, study)
    until(lambda: network.processes("ray::_ray_task"), 120, "tasks")
    rows = network.run("ss", "-Hltnp").splitlines()
    (head,) = (row for row in rows if "gcs_server" in row)
    (number,) = network.processes("ray/gcs/gcs_server")
    environment = network.run("cat", f"/proc/{number}/environ").split("\0")
    (secret,) = (each for each in environment if each.startswith("RAY_AUTH_TOKEN="))
    port = head.split()[3].split(":")[-1]
    visit = f"""
import ray
ray.init("127.0.0.1:{port}", log_to_driver=False)
print("They let me in.")
"""
    for token, welcome in (("RAY_AUTH_TOKEN=" + "0" * 64, False), (secret, True)):
        shown = ["env", "RAY_AUTH_MODE=token", token, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER=0"]
        command = network.enter(*shown, "timeout", "30", sys.executable, "-c", visit)
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert ("They let me in." in done.stdout) == welcome, done.stdout + done.stderr
    process.kill()
    process.communicate()


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_driver_that_is_ended_leaves_nothing(
    network: PrivateNetwork, tmp_path: Path, number: signal.Signals
) -> None:
    study = small_campaign(tmp_path / "study", 0.3, seeds=4)
    process = driver(network, study)
    until(lambda: stored(study) > 3, 120, "outcomes")
    (inside,) = network.processes(str(DRIVER))
    network.run("kill", f"-{number.value}", str(inside))
    output, _ = process.communicate(timeout=60)
    if number is not signal.SIGKILL:
        assert "interrupted" in output
        assert of_ray(network) == []
    until(lambda: not network.processes("ray::_ray_task"), 10, "the end of tasks")
    # After kill -9 two idle processes of Ray itself notice only when they cannot tell it anybody.
    until(lambda: not of_ray(network), 120, "the end of Ray")
    before = stored(study)
    assert before < 24
    again = driver(network, study)
    output, _ = again.communicate(timeout=240)
    assert again.returncode == 0, output
    assert results_of(study) == expected(tmp_path / "again", 0.3, seeds=4)


@pytest.mark.slow
def test_a_unit_that_keeps_killing_its_worker_is_quarantined(
    network: PrivateNetwork, tmp_path: Path
) -> None:
    study = small_campaign(tmp_path / "study", 2.0, seeds=1, exercises=1)
    process = driver(network, study)
    for _ in range(3):
        until(lambda: network.processes("ray::_ray_task"), 120, "the slow unit")
        until(lambda: stored(study) == 1, 120, "the quick unit")
        (worker,) = network.processes("ray::_ray_task")
        network.run("kill", "-9", str(worker))
        until(lambda w=worker: w not in of_ray(network), 30, "the end of a worker")
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 0, output
    assert output.count(" quarantined ") == 1
    assert "Its worker died 3 times" in output
    assert stored(study) == 1
