"""Units give the same results whoever carries them out, however often they are killed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from math import inf
from pathlib import Path

import pytest

import omnimeter as om
from omnimeter.api.evaluation import plan
from omnimeter.api.result import opened
from omnimeter.contract import Ending, Fault, FaultKind, Outcome, Outcomes, Spec
from omnimeter.contract.outcomes import FAULT_LIMIT, stopped_at
from omnimeter.execution import Options
from omnimeter.execution.units import (
    Executor,
    Receipt,
    Unit,
    Wanted,
    _Task,
    carry_out,
    evaluation_of,
    processes,
    this_process,
    unfinished,
    units_of,
)
from omnimeter.interaction.process import Limits
from omnimeter.results import Record, Writer

DEADLY = Path(__file__).parents[1] / "support" / "deadly_parts.py"
AGENTS = ["q-learning", "random"]


def made(path: Path, agents: object = AGENTS, cls: object = "cups", **given: object) -> Path:
    """A new evaluation that nobody has begun."""
    settings = {"exercises": 6, "interactions": 100, "seed": 0, **given}
    evaluation, _ = plan(agents, cls, None, settings)
    with opened(evaluation, path):
        return path


def contents(path: Path) -> list[str]:
    """All that is stored of the outcomes, in order."""
    return [json.dumps(each.to_json(), sort_keys=True) for each in Record(path).outcomes()]


def done(path: Path) -> list[str]:
    """The same of a new evaluation that is carried out at once."""
    this_process(units_of(path), lambda receipt: None)
    return contents(path)


def test_units_are_slices_of_each_agent_in_turn(tmp_path: Path) -> None:
    path = made(tmp_path / "e", exercises=9, interactions=1_000_000)
    units = units_of(path)
    assert [(unit.agents[0].id, unit.first, unit.last) for unit in units] == [
        ("q-learning-v1", 0, 4),
        ("random-v1", 0, 4),
        ("q-learning-v1", 4, 8),
        ("random-v1", 4, 8),
        ("q-learning-v1", 8, 9),
        ("random-v1", 8, 9),
    ]
    assert len({unit.key for unit in units}) == len(units)


def test_an_adaptive_test_is_one_unit_of_each_agent(tmp_path: Path) -> None:
    path = made(tmp_path / "e", precision=0.3, exercises=40)
    assert [(unit.first, unit.last) for unit in units_of(path)] == [(0, None), (0, None)]
    assert done(path) == contents(path)
    assert om.load(path).complete


def test_whoever_carries_them_out(tmp_path: Path) -> None:
    """In this process, in workers, or as an evaluation: the same outcomes, bit for bit."""
    settings = {"exercises": 10, "interactions": 500_000, "seed": 0}
    om.evaluate(AGENTS, "cups", out=tmp_path / "run", **settings)
    one, two = (made(tmp_path / name, **settings) for name in ("one", "two"))
    this_process(units_of(one), lambda receipt: None)
    receipts: list[Receipt] = []
    processes(2)(units_of(two), receipts.append)
    assert contents(one) == contents(two) == contents(tmp_path / "run")
    assert {each.outcome for each in receipts} == {"done"}
    assert sum(each.finished for each in receipts) == 20
    assert om.load(two).scores == om.load(tmp_path / "run").scores


def test_what_is_finished_is_not_run_again(tmp_path: Path) -> None:
    path = made(tmp_path / "e")
    (first, second) = units_of(path)
    assert carry_out(first).finished == 6
    assert unfinished([first, second]) == [second]
    # Done twice by a process that did not know of it, nothing is there twice.
    assert carry_out(first).finished == 6
    assert len(list((path / "outcomes").iterdir())) == 1
    assert carry_out(second).finished == 6
    assert unfinished(units_of(path)) == []
    assert om.load(path).complete


def test_a_unit_that_was_begun_goes_on(tmp_path: Path) -> None:
    path, whole = made(tmp_path / "e"), made(tmp_path / "w")
    unit = units_of(path)[0]
    carry_out(replace(unit, last=4))
    (left,) = unfinished([unit])
    assert len(left.shards) == 1
    assert carry_out(left).finished == 2
    assert set(contents(path)) < set(done(whole))


def test_joint_exercises_are_units_of_all_agents(tmp_path: Path) -> None:
    evaluation, _ = plan(
        ["random", "q-learning"], "lambda", None,
        {"exercises": 3, "interactions": 50, "seed": 0}, joint=True,
    )  # fmt: skip
    for name in ("one", "two"):
        with opened(evaluation, tmp_path / name):
            pass
    units = units_of(tmp_path / "one")
    assert [len(unit.agents) for unit in units] == [2]
    this_process(units, lambda receipt: None)
    processes(2)(units_of(tmp_path / "two"), lambda receipt: None)
    assert contents(tmp_path / "one") == contents(tmp_path / "two")
    assert om.load(tmp_path / "one").complete


FAILING = """
from omnimeter import Agent

class Failing(Agent):
    def begin(self, briefing, rng):
        raise RuntimeError("never")
    def act(self, reward, observation):
        return 0
"""


def test_an_agent_that_always_fails_is_stopped_at_the_same_place_everywhere(tmp_path: Path) -> None:
    agent = tmp_path / "failing.py"
    agent.write_text(FAILING)
    settings = {"exercises": 30, "interactions": 20_000}
    one, two = (made(tmp_path / n, [f"{agent}:Failing"], **settings) for n in ("one", "two"))
    told: list[Receipt] = []
    this_process(units_of(one), told.append)
    assert {each.unit for each in told} == {unit.key for unit in units_of(one)}
    assert sum(each.finished for each in told) < 30
    processes(2)(units_of(two), lambda receipt: None)
    first, second = om.load(one), om.load(two)
    # Others than those that count may have been taken at the same time.
    (outcomes,), (others,) = first.outcomes.values(), second.outcomes.values()
    assert list(outcomes) == list(others)
    assert [each.exercise.number for each in outcomes] == list(range(10))
    assert first.scores == second.scores
    assert first.complete
    assert second.complete
    assert unfinished(units_of(one)) == unfinished(units_of(two)) == []


@pytest.mark.parametrize("seed", range(12))
def test_units_after_a_row_of_faults_are_left_out(tmp_path: Path, seed: int) -> None:
    """In whatever order units end, and whatever faults there are that are in no row."""
    rng = random.Random(seed)
    path = made(tmp_path / "e", ["random"], exercises=48, interactions=1_000_000)
    units, told = units_of(path), list[Receipt]()
    units = [replace(units[0], first=first, last=first + 4) for first in range(0, 48, 4)]
    wanted, everything = Wanted(units, told.append), list[Outcome]()
    own, ours = Fault(FaultKind.AGENT_ERROR, "Oops."), Fault(FaultKind.INFRASTRUCTURE, "Full.")
    for unit in rng.sample(units, 8):
        exercises = om.load(path).protocol.propose(unit.agents[0], [])[unit.first : unit.last]
        faults = rng.choices([own, ours, None], [0.85, 0.05, 0.1], k=4)
        outcomes = [
            Outcome(each, None, 0, 0.0, 0, 0, Ending.FAULT, fault=fault, remarks={FAULT_LIMIT: 10})
            if fault
            else Outcome(each, 0.5, 1, 0.5, 1, 1, Ending.BUDGET)
            for each, fault in zip(exercises, faults, strict=True)
        ]
        writer = Writer(str(path), ())
        writer.append(outcomes)
        everything += outcomes
        count = sum(each.fault is not None for each in outcomes)
        wanted.tell(Receipt(unit.key, 4, 0.0, shards=tuple(writer.written), faults=count))
    stop = stopped_at(Outcomes(everything))
    left = [unit for unit in units if stop is None or unit.first <= stop.number]
    assert list(wanted) == left
    assert [each.unit for each in told] == [each.key for each in units[len(left) :]]


def test_a_unit_may_take_as_long_as_its_exercises(tmp_path: Path) -> None:
    options = Options(limits=Limits(seconds_per_exercise=20.0, seconds_to_begin=5.0))
    (unit,) = units_of(made(tmp_path / "e", ["random"]))
    task = _Task(replace(unit, options=options))
    assert 6 * 20.0 < task.seconds(options, 0) < 6 * 100.0
    assert _Task(replace(unit, last=None)).seconds(options, 0) == inf


def deadly(path: Path, times: int) -> Path:
    cls = Spec(f"{DEADLY}:Deadly", {"counter": f"at:{path}.counter", "times": times})
    return made(path, ["random"], cls, exercises=4, interactions=10)


def test_a_worker_that_is_killed_costs_only_its_unit(tmp_path: Path) -> None:
    path = deadly(tmp_path / "e", times=2)
    receipts: list[Receipt] = []
    processes(2)(units_of(path), receipts.append)
    assert {each.outcome for each in receipts} == {"done"}
    assert sum(each.finished for each in receipts) == 4
    assert [each.payoff for each in Record(path).outcomes()] == [0.0] * 4


def test_a_unit_whose_worker_always_dies_is_quarantined(tmp_path: Path) -> None:
    path, other = deadly(tmp_path / "e", times=1000), made(tmp_path / "o")
    receipts: list[Receipt] = []
    processes(2)([*units_of(path), *units_of(other)], receipts.append)
    lost = [each for each in receipts if each.outcome == "quarantined"]
    assert {each.unit for each in lost} == {unit.key for unit in units_of(path)}
    assert "signal SIGKILL" in lost[0].reason
    assert "3 workers" in lost[0].reason
    assert "The end is near." in lost[0].tail
    assert sum(each.finished for each in receipts) == 12


LOOP = """
import sys
from pathlib import Path
from omnimeter.execution.units import processes, this_process, unfinished, units_of
left = unfinished(units_of(Path(sys.argv[1])))
execute = processes(2) if sys.argv[2] == "2" else this_process
execute(left, lambda receipt: None)
print("over", len(left))
"""


def killed(path: Path, workers: int, seconds: float) -> None:
    """Carry it out for some seconds; then the main process is killed."""
    command = [sys.executable, "-c", LOOP, str(path), str(workers)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()


def test_it_goes_on_after_kills(tmp_path: Path) -> None:
    whole, cut = (made(tmp_path / n, exercises=200, interactions=200_000) for n in ("w", "c"))
    expected = done(whole)
    for seconds in (1.2, 1.8):
        killed(cut, 2, seconds)
    this_process(unfinished(units_of(cut)), lambda receipt: None)
    assert contents(cut) == expected


@pytest.mark.slow
def test_ten_thousand_exercises_and_twenty_kills(tmp_path: Path) -> None:
    """At whatever instants it is killed, the end is exactly the uninterrupted result."""
    whole, cut = (made(tmp_path / n, exercises=5_000, interactions=20_000) for n in ("w", "c"))
    begun = time.monotonic()
    expected = done(whole)
    took, rng = time.monotonic() - begun, random.Random(0)
    for number in range(20):
        killed(cut, 1 + number % 2, 1.0 + rng.uniform(0, min(took, 20.0) / 10))
    counted = len(Record(cut).outcomes())
    this_process(unfinished(units_of(cut)), lambda receipt: None)
    assert contents(cut) == expected
    assert len(expected) == 10_000 > counted > 0
    assert om.load(cut).scores == om.load(whole).scores


def test_no_worker_outlives_the_main_process(tmp_path: Path) -> None:
    path = made(tmp_path / "e", exercises=2_000, interactions=1_000_000)
    command = [sys.executable, "-c", LOOP, str(path), "2"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    deadline, children = time.monotonic() + 60, list[int]()
    while len(children) < 2 and time.monotonic() < deadline:
        time.sleep(0.1)
        tasks = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        children = [int(pid) for pid in tasks.read_text(encoding="ascii").split()]
    assert len(children) == 2
    process.kill()
    process.wait()
    while any(map(_is_alive, children)) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(map(_is_alive, children))


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return "Z" not in Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2][:3]


@pytest.mark.parametrize("executor", [this_process, processes(2)])
def test_a_damaged_unit_ends_no_other(tmp_path: Path, executor: Executor) -> None:
    paths = [made(tmp_path / name) for name in ("begun", "journal", "seed", "intact")]
    units = {path.name: units_of(path) for path in paths}
    (tmp_path / "begun" / "begun").write_bytes(b"\xff")
    protocol = evaluation_of(Record(paths[1])).make_protocol()
    key = protocol.propose(units["journal"][0].agents[0], [])[2].key
    (tmp_path / "journal" / "journal").mkdir()
    (tmp_path / "journal" / "journal" / f"{key}.journal").write_text("{}\n")
    (tmp_path / "seed" / "seed.json").write_text("{")
    receipts: dict[str, Receipt] = {}
    every = [unit for own in units.values() for unit in own]
    executor(every, lambda receipt: receipts.update({receipt.unit: receipt}))
    outcomes = {name: [receipts[u.key].outcome for u in own] for name, own in units.items()}
    assert set(outcomes["begun"]) == set(outcomes["seed"]) == {"damaged"}
    assert outcomes["journal"] == ["damaged"] + ["done"] * (len(outcomes["journal"]) - 1)
    assert set(outcomes["intact"]) == {"done"}
    for name, file in (("begun", "begun"), ("journal", f"{key}.journal"), ("seed", "seed.json")):
        damage = receipts[units[name][0].key].damage
        assert damage is not None
        assert str(tmp_path / name) in damage.message
        assert file in damage.message
        assert damage.advice


def test_options_are_those_of_the_unit(tmp_path: Path) -> None:
    path = made(tmp_path / "e")
    unit = replace(units_of(path)[0], options=Options(fault_limit=3))
    assert isinstance(unit, Unit)
    assert unit.key == units_of(path)[0].key
    assert carry_out(unit).finished == 6
