"""The battery: what it proposes, how it is scored, and which files it refuses."""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnimeter.catalogue import Kind, describe
from omnimeter.cli import main
from omnimeter.contract import (
    Ending,
    Fault,
    FaultKind,
    InvalidInputError,
    OmnimeterError,
    Outcome,
    Spec,
    UnknownNameError,
    fingerprint,
)
from omnimeter.execution import Isolation, Options, evaluate
from omnimeter.execution.running import _jobs
from omnimeter.protocols import Evaluation, summarise
from omnimeter.protocols.battery import Battery
from omnimeter.protocols.battery_files import battery_names, find_battery, lasting
from omnimeter.reports import comparisons
from omnimeter.results import Record, writing
from omnimeter.testing import ProtocolSuite

AGENT = Spec("random-v1")
PRESSER = Spec("cup-presser-v1")

MIXED = {
    "title": "Cups and buttons",
    "exercises": [
        {"environments": "cups(rule=rest)", "interactions": 30},
        {"environments": {"id": "buttons"}, "interactions": 50},
        {"environments": "cups", "interactions": 40, "complexity": 5},
        {"environments": "cups(rule=rest)", "interactions": 10},
    ],
}
FOUND = 4
"""How many exercises are in it."""

PUBLISHED = {"thesis-table-6-1": "68e377244d952e22"}
"""What the batteries of the package are. A changed battery needs another name."""


def outcome(exercise, payoff, fault=None):
    ending = Ending.FAULT if fault else Ending.BUDGET
    return Outcome(exercise, payoff, 10, 0.0, 10, 10, ending, fault=fault)


class TestTaken(ProtocolSuite):
    def make(self):
        return Battery(MIXED, tests=3)


class TestTakenOnce(ProtocolSuite):
    def make(self):
        return Battery(MIXED)


# What is proposed


def test_each_test_takes_the_whole_sequence_in_order():
    exercises = Battery(MIXED, tests=2).propose(AGENT, [])
    assert [each.number for each in exercises] == list(range(2 * FOUND))
    assert [each.budget.interactions for each in exercises] == [30, 50, 40, 10] * 2
    rest = Spec("cups-v1", {"rule": "rest"})
    classes = [each.environment_class for each in exercises]
    assert classes == [rest, Spec("buttons-v1"), Spec("cups-v1"), rest] * 2
    assert [each.complexity for each in exercises][2::FOUND] == [5, 5]


def test_every_agent_meets_the_same_environments_with_the_same_chances():
    battery = Battery(MIXED, tests=3, seed=7)
    pairs = zip(battery.propose(AGENT, []), battery.propose(PRESSER, []), strict=True)
    for ours, theirs in pairs:
        assert ours.instance == theirs.instance
        assert ours.stream("environment") == theirs.stream("environment")
        assert ours.stream("agent") != theirs.stream("agent")


def test_each_test_draws_anew_and_more_tests_change_nothing_before():
    few, many = (Battery(MIXED, tests=tests).propose(AGENT, []) for tests in (2, 6))
    assert many[: 2 * FOUND] == few
    assert len({each.instance.key for each in many[::FOUND]}) > 1


def test_what_is_finished_is_not_proposed_again():
    battery = Battery(MIXED, tests=2)
    exercises = battery.propose(AGENT, [])
    done = [outcome(exercises[number], 0.5) for number in (1, 6)]
    assert [each.number for each in battery.propose(AGENT, done)] == [0, 2, 3, 4, 5, 7]


# The score


def values(battery, payoffs):
    """Outcomes of the first exercises."""
    return [outcome(*each) for each in zip(battery.propose(AGENT, []), payoffs, strict=False)]


def test_exercises_of_the_sequence_are_strata():
    """Four exercises far apart, each known well: their mean is known well."""
    battery = Battery(MIXED, tests=10)
    spread = np.random.default_rng(5).uniform(-0.01, 0.01, size=10 * FOUND)
    done = values(battery, np.tile([0.8, -0.6, 0.1, 0.3], 10) + spread)
    low, high, _ = battery.score(done).interval
    assert low < 0.15 < high
    assert high - low < 0.01
    assert {battery.stratum(each.exercise) for each in done} == set(range(FOUND))


def test_one_test_alone_is_one_sample_of_unequal_exercises():
    from omnimeter.statistics import mean

    battery = Battery(MIXED)
    payoffs = [0.8, -0.6, 0.1, 0.3]
    score, expected = battery.score(values(battery, payoffs)), mean(payoffs, support=(-1, 1))
    assert score.value == pytest.approx(0.15)
    assert score.interval[:2] == pytest.approx((expected.low, expected.high))
    assert {battery.stratum(each) for each in battery.propose(AGENT, [])} == {0}


def test_a_test_that_is_broken_off_knows_nothing_of_what_was_to_come():
    battery = Battery(MIXED)
    easy = values(battery, [0.8, 0.79, 0.81])
    low, high, _ = battery.score(easy).interval
    assert low < (0.8 * 3 - 1) / 4 < 0.8 < high
    assert high >= (0.8 * 3 + 1) / 4


@pytest.mark.slow
@pytest.mark.parametrize(("tests", "fewest", "most"), [(1, 0.95, 1.0), (8, 0.93, 0.97)])
def test_intervals_cover_the_mean(tests, fewest, most):
    """Unequal exercises with unequal spreads: one test alone is rather too careful."""
    battery = Battery(MIXED, tests=tests)
    exercises = battery.propose(AGENT, [])
    centres, spreads = np.array([0.5, -0.4, 0.0, 0.2]), np.array([0.1, 0.3, 0.2, 0.1])
    rng = np.random.default_rng(1)
    covered = 0
    for _ in range(2000):
        drawn = centres + spreads * rng.uniform(-1, 1, size=(tests, FOUND))
        done = [outcome(*each) for each in zip(exercises, drawn.ravel().tolist(), strict=True)]
        low, high, _ = battery.score(done).interval
        covered += low <= centres.mean() <= high
    assert fewest <= covered / 2000 <= most


def test_a_fault_is_counted_beside_the_score():
    battery = Battery(MIXED)
    exercises = battery.propose(AGENT, [])
    fault = Fault(FaultKind.TIME_OUT, "slept")
    done = values(battery, [0.5, 0.5, 0.2])
    score = battery.score([*done, outcome(exercises[3], None, fault)])
    assert (score.value, score.count, score.faults) == (pytest.approx(0.4), 3, {"time-out": 1})


@given(
    payoffs=st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=8),
    faults=st.integers(1, 4),
    tests=st.integers(1, 3),
)
@settings(deadline=None, max_examples=60)
def test_faults_only_ever_widen_the_interval(payoffs, faults, tests):
    battery = Battery(MIXED, tests=tests)
    done = values(battery, payoffs)
    fault = Fault(FaultKind.AGENT_ERROR, "gave up")
    left = battery.propose(AGENT, done)[:faults]
    beside = battery.score(done + [outcome(each, None, fault) for each in left]).interval
    alone = battery.score(done).interval
    assert beside.low <= alone.low <= alone.high <= beside.high


# Running


def evaluation(battery=None, traces=False, **parameters):
    spec = Spec("battery-v1", {"battery": lasting(battery or MIXED), "tests": 4, **parameters})
    return Evaluation(spec, (AGENT, Spec("constant-v1")), traces)


def run(directory, what, options=None):
    with writing(directory, what.to_json()) as writer:
        return evaluate(what, writer, options or Options())


def test_several_processes_give_the_same(tmp_path):
    what = evaluation(traces=True)
    alone, together = run(tmp_path / "1", what), run(tmp_path / "2", what, Options(workers=2))
    assert alone.scores == together.scores
    assert alone.outcomes == together.outcomes
    ours, theirs = (dict(Record(tmp_path / name).traces()) for name in ("1", "2"))
    assert all(ours[key].same_as(theirs[key]) for key in ours.keys() | theirs.keys())


def test_it_goes_on_where_it_was_interrupted(tmp_path):
    what = evaluation()
    whole = run(tmp_path / "whole", what)
    with writing(tmp_path / "half", what.to_json()) as writer:
        writer.append([each for done in whole.outcomes.values() for each in done[::3]], {})
    before = Record(tmp_path / "half").keys()
    half = summarise(what, Record(tmp_path / "half").outcomes())
    again = run(tmp_path / "half", what)
    assert not half.complete
    assert again.complete
    assert again.scores == whole.scores
    assert before < Record(tmp_path / "half").keys()


def test_a_job_has_one_agent_and_one_class():
    battery = Battery(MIXED, tests=5)
    proposed = {agent: battery.propose(agent, []) for agent in (AGENT, PRESSER)}
    jobs = list(_jobs(proposed, battery.payoff(), False, Options(isolation=Isolation.NONE)))
    for job in jobs:
        assert len({(each.agent, each.environment_class) for each in job.exercises}) == 1
    taken = [each.key for job in jobs for each in job.exercises]
    wanted = [each.key for exercises in proposed.values() for each in exercises]
    assert sorted(taken) == sorted(wanted)


@pytest.mark.parametrize("tests", [1, 6])
def test_agents_are_compared_over_the_strata_of_the_score(tests):
    what = evaluation(tests=tests)
    battery = what.make_protocol()
    rng = np.random.default_rng(2)
    done = [
        outcome(exercise, 0.1 * place + 0.1 * (exercise.number % FOUND) + rng.uniform(0, 0.01))
        for place, agent in enumerate(what.agents)
        for exercise in battery.propose(agent, [])
    ]
    [compared] = comparisons(summarise(what, done))
    assert compared.difference == pytest.approx(-0.1, abs=0.02)
    assert -0.2 < compared.low < compared.high < 0


# Names, files and data


def test_batteries_of_the_package_are_what_they_were():
    assert {name: fingerprint(find_battery(name).to_json()) for name in battery_names()} == (
        PUBLISHED
    )


def test_the_battery_of_the_thesis():
    plan = find_battery("thesis-table-6-1")
    cells = range(3, 10)
    assert [item.interactions for item in plan.items] == [20, 30, 40, 50, 60, 70, 80]
    assert sum(item.interactions for item in plan.items) == 350
    assert [item.environments for item in plan.items] == [
        Spec("lambda-v1", {"cells": count, "stop": 1 / count}) for count in cells
    ]
    exercises = Battery("thesis-table-6-1").propose(AGENT, [])
    assert len({each.instance.key for each in exercises}) == len(cells)


def test_the_description_names_the_batteries_of_the_package():
    said = describe(Kind.PROTOCOL, "battery").parameters[0]
    named = re.findall(r"``([^`]+)``", said.doc)
    assert named == battery_names()


def test_a_file_is_written_down_with_its_content(tmp_path):
    path = tmp_path / "mine.json"
    path.write_text(json.dumps(MIXED))
    kept = lasting(str(path))
    ours, theirs = (Battery(each, tests=2).propose(AGENT, []) for each in (str(path), kept))
    assert [each.key for each in ours] == [each.key for each in theirs]
    assert find_battery(kept) == find_battery(str(path))
    assert lasting(kept) == kept
    assert lasting("thesis-table-6-1") == "thesis-table-6-1"


def test_a_class_from_a_file_is_kept_with_its_digest(tmp_path):
    file = tmp_path / "theirs.py"
    file.write_text("from omnimeter.environments.cups import Cups as Theirs\n")
    wanted = {"id": f"{file}:Theirs", "parameters": {"rule": "rest"}}
    data = {"title": "theirs", "exercises": [{"environments": wanted, "interactions": 5}]}
    [item] = find_battery(lasting(data)).items
    assert item.environments.digest
    assert item.environments.parameters == {"rule": "rest"}
    file.write_text("from omnimeter.environments.buttons import Buttons as Theirs\n")
    with pytest.raises(InvalidInputError, match=r"exercise 1, environments: .*has changed"):
        find_battery({**data, "exercises": [item.to_json()]})


def changed(number, **fields):
    """A battery in which one exercise is another."""
    exercises = [dict(each) for each in MIXED["exercises"]]
    exercises[number - 1] |= fields
    kept = [{k: v for k, v in each.items() if v != "gone"} for each in exercises]
    return {**MIXED, "exercises": kept}


WRONG = {
    "a list": ([], "fields"),
    "no title": ({"exercises": MIXED["exercises"]}, ", title: "),
    "an odd title": ({**MIXED, "title": 7}, ", title: it cannot be 7"),
    "no exercises": ({"title": "nothing"}, ", exercises: "),
    "empty": ({"title": "nothing", "exercises": []}, ", exercises: "),
    "a misspelt field": ({**MIXED, "excercises": []}, "'exercises'"),
    "an exercise that is none": ({"title": "x", "exercises": ["cups"]}, ", exercise 1: "),
    "a misspelt field of one": (changed(2, interaction=5), ", exercise 2 called 'interaction'"),
    "no class": (changed(1, environments="gone"), ", exercise 1, environments: "),
    "a misspelt class": (changed(3, environments="cuqs"), ", exercise 3, environments: "),
    "an odd class": (changed(3, environments=5), ", exercise 3, environments: "),
    "a class without id": (changed(3, environments={}), ", exercise 3, environments, id: "),
    "an odd id": (changed(3, environments={"id": 5}), ", exercise 3, environments, id: "),
    "a wrong parameter": (changed(2, environments="cups(rul=1)"), ", exercise 2, environments: "),
    "a wrong value": (changed(2, environments="cups(most=1)"), ", exercise 2, environments: "),
    "no length": (changed(4, interactions="gone"), ", exercise 4, interactions: "),
    "a length of 0": (changed(4, interactions=0), ", exercise 4, interactions: "),
    "half an interaction": (changed(4, interactions=0.5), ", exercise 4, interactions: "),
    "true interactions": (changed(4, interactions=True), ", exercise 4, interactions: "),
    "odd complexity": (changed(1, complexity="hard"), ", exercise 1, complexity: "),
    "impossible complexity": (changed(1, complexity=2), ", exercise 1, complexity: "),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_file_is_refused_with_the_place_of_the_fault(tmp_path, case):
    data, hint = WRONG[case]
    path = tmp_path / "wrong.json"
    path.write_text(json.dumps(data))
    with pytest.raises(OmnimeterError) as caught:
        Battery(str(path))
    assert str(path) in caught.value.message
    assert hint in str(caught.value)
    assert caught.value.advice


@pytest.mark.parametrize(
    ("content", "hint"),
    [
        (b'{"title": "x",\n oh}', "line 2, column 2"),
        (b'{"title": NaN}', "not JSON"),
        (b"\xff\xfe", "not JSON"),
        (None, "cannot be read"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused(tmp_path, content, hint):
    path = tmp_path / "wrong.json"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(InvalidInputError, match=hint):
        Battery(str(path))


def test_a_misspelt_name_gets_a_hint():
    with pytest.raises(UnknownNameError, match="thesis-table-6-1"):
        Battery("thesis-table-61")
    with pytest.raises(UnknownNameError, match=r"Known: .*thesis-table-6-1"):
        Battery("zzz")


def test_there_is_at_least_one_test():
    with pytest.raises(InvalidInputError, match="0 tests"):
        Battery(MIXED, tests=0)


# The command line


@pytest.fixture
def omnimeter(monkeypatch, capsys, tmp_path):
    """Types ``omnimeter run`` beside ``mine.json``; gives the exit code and all that is said."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("mine.json").write_text(json.dumps(MIXED))

    def type_in(*words):
        monkeypatch.setattr(sys, "argv", ["omnimeter", *words])
        try:
            main()
            code = 0
        except SystemExit as leaving:
            code = leaving.code or 0
        out, err = capsys.readouterr()
        return code, out, err

    return type_in


def test_a_battery_is_taken_and_reported(omnimeter):
    words = ("run", "--battery", "mine.json", "--tests", "3", "-a", "random", "-a", "constant")
    code, out, _ = omnimeter(*words, "--traces", "--json")
    data = json.loads(out)
    assert code == 0
    assert [score["count"] for score in data["scores"]] == [12, 12]
    assert data["directory"].startswith("evaluations/cups-and-buttons-")
    page = Path(data["report"]).read_text(encoding="utf-8")
    assert "<h1>2 agents in cups-v1 and buttons-v1</h1>" in page
    assert "Cups and buttons, 3 tests" in page
    code, out, _ = omnimeter("report", data["directory"], "--payoff", "total")
    assert code == 0
    assert "random-v1" in out


def test_a_battery_is_taken_again_elsewhere_without_its_file(omnimeter):
    words = ("--json", "--out")
    _, first, _ = omnimeter("run", "-b", "mine.json", "-a", "random", *words, "here")
    Path("mine.json").unlink()
    _, again, _ = omnimeter("run", "--spec", "here/spec.json", *words, "there")
    assert json.loads(first)["scores"] == json.loads(again)["scores"]


def test_a_spec_that_names_a_file_is_written_down_with_its_content(omnimeter):
    spec = {
        "protocol": {"id": "battery-v1", "parameters": {"battery": "mine.json"}},
        "agents": [{"id": "random-v1"}],
        "traces": False,
    }
    Path("it.json").write_text(json.dumps(spec))
    code, _, _ = omnimeter("run", "--spec", "it.json", "--out", "here")
    stored = json.loads(Path("here/spec.json").read_text())["spec"]
    assert code == 0
    assert stored["protocol"]["parameters"]["battery"] == lasting("mine.json")


REFUSED = {
    "class": (("-b", "mine.json", "-a", "random", "-c", "cups"), "--class"),
    "parameter": (("-b", "mine.json", "-a", "random", "--set", "rule=rest"), "--set"),
    "number": (("-b", "mine.json", "-a", "random", "-n", "20"), "--exercises"),
    "length": (("-b", "mine.json", "-a", "random", "-i", "5"), "--interactions"),
    "seconds": (("-b", "mine.json", "-a", "random", "-s", "5"), "--seconds"),
    "level": (("-b", "mine.json", "-a", "random", "--complexity", "5"), "--complexity"),
    "clock": (("-b", "mine.json", "-a", "random", "--clock", "wall"), "--clock"),
    "tick": (("-b", "mine.json", "-a", "random", "--tick", "2"), "--tick"),
    "time-out": (("-b", "mine.json", "-a", "random", "--timeout", "2"), "--timeout"),
    "spec": (("-b", "mine.json", "--spec", "it.json"), "--spec"),
    "tests of a class": (("-c", "cups", "-a", "random", "--tests", "2"), "--tests"),
    "no agent": (("-b", "mine.json"), "--agent"),
    "no tests": (("-b", "mine.json", "-a", "random", "--tests", "0"), "0 tests"),
    "no such file": (("-b", "his.json", "-a", "random"), "his.json"),
    "no such name": (("-b", "thesis-tabl", "-a", "random"), "thesis-table-6-1"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_options_get_one_clear_message(omnimeter, case):
    words, hint = REFUSED[case]
    code, out, err = omnimeter("run", *words)
    assert (code, out) == (2, "")
    assert err.startswith("Error: ")
    assert hint in err
    assert not Path("evaluations").exists()
