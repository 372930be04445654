"""Costly agents: an interrupted exercise goes on, and nothing is asked for twice."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import omnimeter as om
from isolation_parts import Corridor, streams
from omnimeter.agents.simulated import Delayed
from omnimeter.catalogue import Kind, make
from omnimeter.contract import Budget, Clock, ClockKind, FaultKind, Outcome, Spec
from omnimeter.contract.exercise import Trace
from omnimeter.environments.cups import Cups
from omnimeter.execution.journaling import JournaledAgent
from omnimeter.execution.units import carry_out, unfinished, units_of
from omnimeter.interaction import interact
from omnimeter.interaction.process import AgentProcess
from omnimeter.interaction.sandbox import Sandboxing, contains
from omnimeter.results import Record
from omnimeter.results.journal import Entry, Journal, Journals
from paid_agents import LOG, Forgetful, Paid
from results_samples import exact_outcome, exact_trace

SETTINGS: dict[str, Any] = {"exercises": 3, "interactions": 12, "seed": 5, "traces": True}
SUPPORT = Path(__file__).parent.parent / "support"
FILE = f"{SUPPORT / 'paid_agents.py'}:Paid"


@pytest.fixture
def asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], Counter[str]]:
    """How often agents were asked, told and so on."""
    monkeypatch.setenv(LOG, str(tmp_path / "log"))

    def count() -> Counter[str]:
        path = tmp_path / "log"
        lines = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return Counter(line.split()[0] for line in lines)

    return count


@pytest.fixture
def interrupt(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Interrupts an evaluation when so many answers are in journals."""
    append = Journal.append

    def after(answers: int) -> None:
        left = iter(range(answers, -1, -1))

        def appending(journal: Journal, entry: Entry) -> None:
            append(journal, entry)
            if next(left, 0) == 1:
                raise KeyboardInterrupt

        monkeypatch.setattr(Journal, "append", appending)

    return after


def stored(directory: Path) -> tuple[list[object], dict[str, object]]:
    """Everything in an evaluation, comparable bit for bit."""
    record = Record(directory)
    traces = {key: exact_trace(trace) for key, trace in record.traces()}
    return [(*exact_outcome(each), each.attempts) for each in record.outcomes()], traces


def journals(directory: Path) -> set[str]:
    return Journals(str(directory / "journal")).keys()


def wrapped(wrapper: str, **parameters: Any) -> Any:
    """A costly agent in another one of the catalogue."""
    return make(Kind.AGENT, Spec(wrapper, {"agent": FILE, **parameters}))


VARIANTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "python": (Paid, {}),
    "without memory": (Forgetful, {}),
    "carried": (Paid, {"memory": "carried"}),
    "declared delays": (Paid(delay=0.3), {"clock": "virtual", "seconds": 9, "interactions": None}),
    "time-outs": (Paid(delay=0.3), {"timeout": 0.5, "timeout_rule": "random-action"}),
    "joint": ([Paid, "random"], {"joint": True, "environment_class": "lambda"}),
    "kernels": ("q-learning", {"journal": "all"}),
    "slowed": (Delayed(Paid(), 2.0), {}),
    "permuted": (wrapped("perturbed", at=3, actions="permuted", noise=0.3, delay=1.0), {}),
    "isolated": (FILE, {"sandbox": "required"}),
}


@pytest.mark.parametrize("variant", VARIANTS)
def test_interrupted_anywhere_the_result_is_the_same(
    variant: str, tmp_path: Path, asked: Callable[[], Counter[str]], interrupt: Any
) -> None:
    agents, given = VARIANTS[variant]
    settings = {**SETTINGS, "environment_class": "cups", **given}
    if settings.get("sandbox") == "required" and not contains(Sandboxing.AUTO):
        pytest.skip("there is no sandbox on this machine")
    whole = om.evaluate(agents, out=tmp_path / "whole", **settings)
    assert whole.complete
    assert not any(score.faults for score in whole.scores.values())
    assert not journals(tmp_path / "whole")
    expected, once = stored(tmp_path / "whole"), asked()
    total = once["act"] or 36
    if variant not in ("declared delays", "time-outs"):  # where some come too late
        assert total == 36
    for answers in (1, 7, 12, 13, total - 1):
        interrupt(answers)
        out = tmp_path / str(answers)
        part = om.evaluate(agents, out=out, **settings)
        assert not part.complete
        assert len(journals(out)) == (1 if variant != "carried" else 1 + (answers - 1) // 12)
        assert om.evaluate(agents, out=out, **settings).complete
        assert stored(out) == expected
        assert not journals(out)
        if once:  # it keeps a log
            both = asked()
            assert both["act"] == once["act"]  # nothing twice
            assert both["recall"] > 0


def test_interrupted_again_and_again(
    tmp_path: Path, asked: Callable[[], Counter[str]], interrupt: Any
) -> None:
    om.evaluate(Paid, "cups", out=tmp_path / "whole", **SETTINGS)
    asked()
    result = None
    while result is None or not result.complete:
        interrupt(1)
        result = om.evaluate(Paid, "cups", out=tmp_path / "parts", **SETTINGS)
    assert asked()["act"] == 36
    assert stored(tmp_path / "parts") == stored(tmp_path / "whole")


@pytest.mark.parametrize("way", ["none", "auto", "all"])
def test_who_is_journaled(way: str, tmp_path: Path, interrupt: Any) -> None:
    for agent, costly in ((Paid, True), ("random", False), (lambda observation: 0, False)):
        interrupt(5)
        out = tmp_path / f"{costly}{agent}"
        result = om.evaluate(agent, "cups", out=out, journal=way, **SETTINGS)
        assert len(journals(out)) == (way == "all" or (way == "auto" and costly))
        assert result.complete != bool(journals(out))
    with pytest.raises(om.UnknownNameError, match="way of journaling 'most'"):
        om.evaluate(Paid, "cups", journal="most", **SETTINGS)


def test_adapted_objects_can_be_costly_and_recall(
    tmp_path: Path, asked: Callable[[], Counter[str]], interrupt: Any
) -> None:
    class Acting:  # no subclass of Agent
        costly = True

        def __init__(self) -> None:
            self._inner = Paid()
            self.begin, self.act = self._inner.begin, self._inner.act
            self.recall = self._inner.recall

    om.evaluate(Acting, "cups", out=tmp_path / "whole", **SETTINGS)
    interrupt(20)
    for _ in range(2):
        om.evaluate(Acting, "cups", out=tmp_path / "parts", **SETTINGS)
    assert asked()["recall"] == 8
    assert stored(tmp_path / "parts") == stored(tmp_path / "whole")


def test_nothing_is_journaled_where_nothing_is_stored(asked: Callable[[], Counter[str]]) -> None:
    assert om.evaluate(Paid, "cups", **SETTINGS).complete
    assert asked()["act"] == 36


class Changing(Cups):
    """Pays otherwise after it was changed."""

    factor = 1.0

    def build(self, instance: Any) -> Any:
        made = super().build(instance)
        step, factor = made.step, self.factor

        def changed(action: int) -> Any:
            reward, observation = step(action)
            return reward * factor, observation

        made.step = changed
        return made


def test_a_journal_that_does_not_fit_is_a_fault_and_is_kept(
    tmp_path: Path, interrupt: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Changing, "kernels", None, raising=False)
    interrupt(20)
    om.evaluate(Paid, Changing, out=tmp_path / "e", **SETTINGS)
    monkeypatch.setattr(Changing, "factor", 0.5)
    result = om.evaluate(Paid, Changing, out=tmp_path / "e", **SETTINGS)
    (fault,) = [each.fault for each in Record(tmp_path / "e").outcomes() if each.fault]
    assert fault.kind is FaultKind.INFRASTRUCTURE
    assert "does not fit: the environment gives the reward" in fault.message
    assert result.scores["python:Paid"].faults
    (key,) = journals(tmp_path / "e")
    assert key in fault.message
    monkeypatch.setattr(Changing, "factor", 1.0)
    assert om.evaluate(Paid, Changing, out=tmp_path / "e", **SETTINGS).complete
    om.evaluate(Paid, Changing, out=tmp_path / "whole", **SETTINGS)
    differing = Record(tmp_path / "e").outcomes(), Record(tmp_path / "whole").outcomes()
    again, whole = ({each.exercise.key: each for each in every} for every in differing)
    assert again[key].fault is None
    assert again[key].attempts == 2
    assert again[key].payoff == whole[key].payoff
    assert not journals(tmp_path / "e")


def test_a_damaged_journal_ends_the_evaluation_with_a_message(
    tmp_path: Path, interrupt: Any
) -> None:
    interrupt(20)
    om.evaluate(Paid, "cups", out=tmp_path / "e", **SETTINGS)
    (path,) = (tmp_path / "e" / "journal").iterdir()
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(om.OmnimeterError, match="is damaged at byte") as caught:
        om.evaluate(Paid, "cups", out=tmp_path / "e", **SETTINGS)
    assert "remove it" in str(caught.value.advice)
    path.unlink()
    assert om.evaluate(Paid, "cups", out=tmp_path / "e", **SETTINGS).complete


def test_units_go_on_too(tmp_path: Path, asked: Callable[[], Counter[str]], interrupt: Any) -> None:
    om.evaluate(Paid, "cups", out=tmp_path / "whole", **SETTINGS)
    asked()
    interrupt(17)
    om.evaluate(Paid, "cups", out=tmp_path / "parts", **SETTINGS)
    interrupt(5)
    unit, *_ = unfinished(units_of(tmp_path / "parts"))
    assert carry_out(unit).outcome == "interrupted"
    for unit in unfinished(units_of(tmp_path / "parts")):
        assert carry_out(unit).outcome == "done"
    assert asked()["act"] == 36
    assert stored(tmp_path / "parts") == stored(tmp_path / "whole")


COMMAND = f"""
import omnimeter as om, sys
if __name__ == "__main__":
    agent = {str(SUPPORT / "paid_agents.py")!r} + ":Paid(pause=0.01)"
    om.evaluate(agent, "cups", out=sys.argv[1], workers=int(sys.argv[2]), sandbox="none",
        exercises=4, interactions=12, seed=5, traces=True)
"""


@pytest.mark.skipif(os.name == "nt", reason="kills by POSIX signals")
@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])
def test_the_main_process_can_be_killed(
    workers: int, tmp_path: Path, asked: Callable[[], Counter[str]]
) -> None:
    out = tmp_path / "killed"
    command = [sys.executable, "-c", COMMAND, str(out), str(workers)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}

    def size() -> int:
        if not (out / "journal").exists():
            return 0
        return sum(path.stat().st_size for path in (out / "journal").glob("*.journal"))

    def begin() -> subprocess.Popen[bytes]:
        return subprocess.Popen(command, env=environment)

    kills = 2
    for _ in range(kills):
        with begin() as process:
            before, deadline = size(), time.monotonic() + 60
            while process.poll() is None and abs(size() - before) < 400:
                assert time.monotonic() < deadline
                time.sleep(0.002)
            process.send_signal(signal.SIGKILL)
        time.sleep(1.5)  # its workers and agents end with it
    with begin() as process:
        assert process.wait(120) == 0
    answers = asked()
    assert answers["recall"] > 0
    assert 48 <= answers["act"] <= 48 + workers * kills  # at most those under way
    om.evaluate(
        f"{SUPPORT / 'paid_agents.py'}:Paid(pause=0.01)", "cups", out=tmp_path / "whole",
        sandbox="none", exercises=4, interactions=12, seed=5, traces=True,
    )  # fmt: skip
    assert stored(out)[1] == stored(tmp_path / "whole")[1]

    def results(directory: Path) -> list[object]:
        return [exact_outcome(each)[:-1] for each in Record(directory).outcomes()]

    assert results(out) == results(tmp_path / "whole")
    # An exercise that was begun and had no answer yet counts as another attempt.
    assert all(each.attempts <= 1 + kills for each in Record(out).outcomes())
    assert not journals(out)


def test_times_go_on_where_they_were(tmp_path: Path, interrupt: Any) -> None:
    settings = {**SETTINGS, "exercises": 1, "interactions": 8, "clock": "wall"}
    agent = Paid(pause=0.01)
    interrupt(5)
    om.evaluate(agent, "cups", out=tmp_path / "e", **settings)
    (path,) = (tmp_path / "e" / "journal").iterdir()
    with Journals(str(path.parent)).open(path.stem, 1) as journal:
        recorded = np.cumsum([entry.elapsed for entry in journal.past])
    time.sleep(0.5)
    om.evaluate(agent, "cups", out=tmp_path / "e", **settings)
    ((_, trace),) = Record(tmp_path / "e").traces()
    assert trace.times[:5].tolist() == recorded.tolist()
    assert np.diff(trace.times).max() < 0.3e9  # the pause does not count


def test_the_real_time_of_a_test_goes_on_too(tmp_path: Path, interrupt: Any) -> None:
    """An exercise of half a second has half of it left when the other half has passed before."""
    exercise_budget = Budget(seconds=1e3, wall_limit=0.5)
    places = Journals(str(tmp_path))
    times = []
    for _ in range(2):
        handle = JournaledAgent(Paid(pause=0.05), lambda: places.open("0" * 16, 1))
        interrupt(6)
        before = time.monotonic()
        try:
            trace: Trace | None = interact(
                Corridor("behave"), handle, exercise_budget, streams, clock=Clock(ClockKind.WALL)
            )
        except KeyboardInterrupt:
            trace = None
        finally:
            handle.close()
        interrupt(10**6)
        times.append(time.monotonic() - before)
    assert trace is not None
    assert trace.fault is None
    assert handle.past_ns >= 0.3e9
    assert times[1] < 0.35  # and not half a second
    assert 6 <= len(trace) <= 10


def test_costly_agents_are_not_warmed_up(asked: Callable[[], Counter[str]]) -> None:
    given: dict[str, Any] = {"time": 0.4, "repetitions": 2, "slot": 0.05}
    test = om.test(Paid(pause=0.005), "cups", seed=1, **given)
    result = test.run()
    outcomes: list[Outcome] = [each for done in result.outcomes.values() for each in done]
    assert outcomes
    answers = asked()
    assert answers["begin"] == len(outcomes)


PRESSER = """
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    reply = {"hello": {"type": "hello", "wire": 1}, "begin": {"type": "ready"},
             "act": {"type": "move", "action": 1}, "finish": {"type": "finished"}}
    print(json.dumps({"turn": request["turn"], **reply[request["type"]]}), flush=True)
"""


def test_a_program_that_does_not_know_of_recall_goes_on(tmp_path: Path, interrupt: Any) -> None:
    places = Journals(str(tmp_path))
    traces = []
    for answers in (3, 10**6):
        interrupt(answers)
        process = AgentProcess(Spec("presser"), command=[sys.executable, "-c", PRESSER])
        with process:
            assert process.costly is False
            handle = JournaledAgent(process, lambda: places.open("0" * 16, 1))
            try:
                budget = Budget(interactions=6)
                traces.append(interact(Corridor("behave"), handle, budget, streams, record=True))
            except KeyboardInterrupt:
                assert answers == 3
            finally:
                handle.close()
    (trace,) = traces
    assert trace.fault is None
    assert trace.actions is not None
    assert trace.actions.tolist() == [1] * 6


def test_an_agent_that_fails_to_recall_has_a_fault(tmp_path: Path, interrupt: Any) -> None:
    class Confused(Paid):
        def recall(self, *given: Any) -> None:
            raise ValueError("who are you?")

    interrupt(5)
    om.evaluate(Confused, "cups", out=tmp_path / "e", **SETTINGS)
    om.evaluate(Confused, "cups", out=tmp_path / "e", **SETTINGS)
    (fault,) = [each.fault for each in Record(tmp_path / "e").outcomes() if each.fault]
    assert fault.kind is FaultKind.AGENT_ERROR
    assert fault.message == "The agent raised ValueError when recalling: who are you?"


def test_what_is_no_answer_is_not_kept(tmp_path: Path) -> None:
    class Wrong(Paid):
        def act(self, reward: float, observation: Any) -> Any:
            return "left"

    result = om.evaluate(Wrong, "cups", out=tmp_path / "e", **{**SETTINGS, "exercises": 1})
    assert result.scores["python:Wrong"].faults
    assert not journals(tmp_path / "e")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Flushing to the disk takes most of the time of these tests."""
    monkeypatch.setattr(os, "fsync", lambda file: None)
    return None
