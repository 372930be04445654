"""The Python API: agents of all kinds, results, tests that can be left, and errors."""

import json
import sys
import threading
from contextlib import suppress

import numpy as np
import pytest

import omnimeter as om
from omnimeter.agents.temporal_difference import QLearning
from omnimeter.cli import main
from omnimeter.environments.cups import Cups
from omnimeter.results import Record

SMALL = {"exercises": 6, "interactions": 40, "seed": 0}


class Guesser(om.Agent):
    """Acts at random, and counts what it has done: a state that must not leak."""

    def __init__(self, shift=0):
        self.shift = shift
        self.acted = 0

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        self.acted += 1
        return int(self.rng.integers(self.actions) + self.acted + self.shift) % self.actions


class Acting:
    def act(self, reward, observation):
        return 1


class Predicting:
    def predict(self, observation):
        return np.array([2]), None


def first(observation):
    return 0


def values(result):
    return {label: score.value for label, score in result.scores.items()}


def test_agents_are_given_in_every_way():
    agents = [
        "random(rate=10)",
        om.Spec("constant-v1", {"action": 1}),
        Guesser,
        Acting(),
        Predicting,
        first,
    ]
    result = om.evaluate(agents, "cups", **SMALL)
    assert result.complete
    assert result.agents == [
        "random-v1(rate=10)",
        "constant-v1(action=1)",
        "python:Guesser",
        "python:Acting",
        "python:Predicting",
        "python:first",
    ]
    scores = values(result)
    assert scores["constant-v1(action=1)"] == scores["python:Acting"]
    assert {score.count for score in result.scores.values()} == {6}


def test_one_agent_needs_no_list():
    assert om.evaluate(Guesser(), "cups", **SMALL).agents == ["python:Guesser"]


@pytest.mark.parametrize("given", [Guesser, Guesser()])
def test_neither_workers_nor_other_agents_change_a_result(given):
    alone = om.evaluate(given, "cups", **SMALL)
    spread = om.evaluate([given, "random"], "cups", **SMALL, workers=2)
    assert values(alone)["python:Guesser"] == values(spread)["python:Guesser"]
    again = om.evaluate(given, "cups", **SMALL)  # the object itself was not used up
    assert values(again) == values(alone)


def test_a_longer_evaluation_begins_with_the_same_outcomes():
    short = om.evaluate(Guesser(), "cups", exercises=3, interactions=40, seed=0)
    long = om.evaluate(Guesser(), "cups", exercises=6, interactions=40, seed=0)
    (few,), (many,) = short.judged.outcomes.values(), long.judged.outcomes.values()
    assert [each.payoff for each in few] == [each.payoff for each in many][:3]


def command(monkeypatch, capsys, *arguments):
    monkeypatch.setattr(sys, "argv", ["omnimeter", *arguments, "--json"])
    with suppress(SystemExit):
        main()
    return json.loads(capsys.readouterr().out)


def test_evaluate_gives_what_the_command_line_gives(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = command(monkeypatch, capsys, "run", "-a", "random", "-a", "cup-presser", "-c", "cups",
                   "-n", "6", "-i", "40", "--complexity", "3", "--complexity", "5",
                   "--seed", "3", "--out", "e")  # fmt: skip
    result = om.evaluate(
        ["random", "cup-presser"], "cups", **{**SMALL, "seed": 3}, complexity=[3, 5], out="mine"
    )
    assert {each["label"]: each["value"] for each in data["scores"]} == values(result)
    assert Record("e").spec == Record("mine").spec
    loaded = om.load("e")
    assert values(loaded) == values(result)
    assert loaded.differences == result.differences


def test_test_gives_what_the_command_line_gives(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    data = command(
        monkeypatch,
        capsys,
        "test",
        "-a",
        "random",
        "-c",
        "cups",
        "-i",
        "400",
        "--seed",
        "0",
        "--out",
        "e",
    )
    test = om.test("random", "cups", interactions=400, seed=0)
    assert data["scores"][0]["value"] == values(test.result)["random-v1"]
    assert test.evaluation.to_json() == Record("e").spec
    assert test.balance.passed


def test_a_battery_is_taken():
    result = om.evaluate("random", battery="thesis-table-6-1", seed=0)
    assert result.evaluation.protocol.id == "battery-v1"
    assert result.scores["random-v1"].count == 7


def test_nothing_is_stored_without_out(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = om.evaluate([Guesser, "random"], "cups", **SMALL, traces=True)
    test = om.test("random", "cups", interactions=100, repetitions=2, seed=0)
    assert test.run().complete
    assert result.directory is None
    assert not list(tmp_path.iterdir())
    assert result.report("page.html").read_text().lstrip().startswith("<!DOCTYPE html>")
    saved = result.save("kept")
    assert values(om.load("kept")) == values(saved) == values(result)
    assert len(list(Record("kept").traces())) == 12
    with pytest.raises(om.InvalidInputError, match="needs a file name"):
        result.report()


def test_a_result_shows_itself():
    result = om.evaluate(["random", Guesser], "cups", **SMALL)
    lines = repr(result).splitlines()
    assert lines[0].split() == ["Agent", "Score", "95", "%", "interval", "Exercises", "Faults"]
    assert len(lines) == 3
    assert "<td>python:Guesser</td>" in result._repr_html_()
    (difference,) = result.differences
    assert difference.count == 6
    (other,) = result.compare("random")
    assert other.reference.label == "random-v1"
    with pytest.raises(om.InvalidInputError, match="takes no part"):
        result.compare("q-learning")


def test_a_result_becomes_a_data_frame_and_a_figure(tmp_path):
    result = om.evaluate(["random", Guesser], "cups", **SMALL)
    frame = result.to_pandas()
    assert len(frame) == 12
    assert frame.groupby("agent").payoff.mean()["random-v1"] == pytest.approx(
        result.scores["random-v1"].value
    )
    figure = result.plot()
    figure.savefig(tmp_path / "scores.png")
    assert (tmp_path / "scores.png").stat().st_size > 1000
    assert result.plot("differences") is not figure
    with pytest.raises(om.InvalidInputError, match="no figure 'nothing'"):
        result.plot("nothing")


def test_a_data_frame_needs_pandas(monkeypatch):
    result = om.evaluate("random", "cups", **SMALL)
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(om.InvalidInputError, match="pandas"):
        result.to_pandas()


def test_a_test_can_be_left_and_continued(tmp_path):
    whole = om.test("random", "cups", interactions=600, repetitions=3, seed=0).run()
    for out in (None, tmp_path / "e"):
        test = om.test("random", "cups", interactions=600, repetitions=3, out=out, seed=0)
        counts = []
        for snapshot in test:
            counts.append(snapshot.scores["random-v1"].count)
            if len(counts) == 3:
                break
        assert counts == [3, 6, 9]
        assert not test.result.complete
        assert test.result.scores["random-v1"].count == 9
        assert test.result.scores["random-v1"].interval is not None
        assert test.run().complete
        assert values(test.result) == values(whole)


def test_two_tests_take_turns():
    def one(thing):
        return om.test(thing, "cups", interactions=300, repetitions=2, seed=0)

    def other(observation):
        return 1

    other.__name__ = "first"  # another object of the same name
    apart = values(one(first).run()), values(one(other).run())
    tests = one(first), one(other)
    for _ in zip(*tests, strict=True):
        pass
    assert (values(tests[0].result), values(tests[1].result)) == apart


def test_interrupting_leaves_a_valid_result(monkeypatch):
    class Stopping(om.Agent):
        def act(self, reward, observation):
            if threading.current_thread().name == "stop":
                raise KeyboardInterrupt
            return 0

    name = threading.current_thread().name
    seen = []
    from omnimeter.execution import Observer

    class Watching(Observer):
        def finished(self, agent, outcomes):
            seen.extend(outcomes)
            if len(seen) >= 3:
                threading.current_thread().name = "stop"

    monkeypatch.setattr("omnimeter.execution.evaluation.SHARD", 1)
    try:
        result = om.evaluate(Stopping, "cups", **SMALL, progress=Watching())
    finally:
        threading.current_thread().name = name
    assert not result.complete
    assert result.scores["python:Stopping"].count == 3


def test_a_python_environment_class_is_taken_and_can_be_redefined(tmp_path):
    class Narrow(Cups):
        def __init__(self):
            super().__init__()

    three = om.evaluate("random", Narrow, **SMALL, complexity=3)
    assert three.evaluation.protocol.parameters["environment_class"] == {"id": "python:Narrow"}
    assert values(three) == values(om.evaluate("random", "cups", **SMALL, complexity=3))
    before = values(om.evaluate("random", Narrow, **SMALL))

    class Narrow(Narrow):  # as a cell of a notebook that is run again
        def draw(self, rng, complexity=None):
            return super().draw(rng, 3)

    after = om.evaluate("random", Narrow(), **SMALL, out=tmp_path / "e")
    assert values(after) != before
    assert {each.exercise.complexity for each in after.outcomes[om.Spec("random-v1")]} == {3}
    assert values(om.load(tmp_path / "e", environment_class=Narrow)) == values(after)
    with pytest.raises(om.InvalidInputError, match="cannot rebuild it"):
        om.load(tmp_path / "e")


def test_the_record_of_an_object_says_that_it_cannot_be_rebuilt(tmp_path):
    result = om.evaluate([Guesser(3), "random"], "cups", **SMALL, out=tmp_path / "e")
    loaded = om.load(tmp_path / "e")
    assert values(loaded) == values(result)
    assert loaded.report().exists()
    assert Record(tmp_path / "e").spec["agents"][0] == {"id": "python:Guesser"}
    with pytest.raises(om.InvalidInputError, match="cannot rebuild it"):
        om.evaluate(om.Spec("python:Guesser"), "cups", **SMALL)


class Uncopied(Guesser):
    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


def unnamed_pair():
    def first(observation):
        return 1

    return first


@pytest.mark.parametrize(
    ("call", "hint"),
    [
        (lambda: om.evaluate([first, unnamed_pair()], "cups"), "python:first"),
        (lambda: om.evaluate(Uncopied(), "cups"), "cannot be copied"),
        (lambda: om.evaluate(7, "cups"), "agent cannot be made of 7"),
        (lambda: om.evaluate([], "cups"), "no agent"),
        (lambda: om.evaluate("random"), "environment_class="),
        (lambda: om.evaluate("random", "cups", battery="thesis-table-6-1"), "battery="),
        (lambda: om.evaluate("random", Guesser), "no environment class"),
        (lambda: om.evaluate("random", "cups", interactions=10, memory="some"), "memory"),
        (lambda: om.evaluate("random", "cups", seconds=float("inf")), "finite"),
        (lambda: om.evaluate(first, "cups", isolation="process"), "process of its own"),
        (lambda: om.evaluate("random", "cups", precision="0.1"), "precision='0.1'"),
        (lambda: om.evaluate("random", "cups", precision=True), "precision=True"),
        (lambda: om.test("random", "cups", length=9, precision=True), "precision=True"),
        (lambda: om.test("random", "cups", length="9"), "length='9'"),
        (lambda: om.test("random", "cups"), "time=SECONDS"),
        (lambda: om.test("random", "cups", interactions=9, clock="wall"), "clock="),
        (lambda: om.test("random", "cups", time=1, workers=2).run(), "workers="),
        (om.compare, "nothing to compare"),
        (lambda: om.audit("cuqs"), "cups"),
    ],
)
def test_bad_input_gets_one_clear_message(call, hint):
    with pytest.raises(om.OmnimeterError) as caught:
        call()
    assert hint in f"{caught.value.message} {caught.value.advice}"


def test_what_cannot_be_pickled_needs_one_worker():
    class Locked:
        def __init__(self):
            self.lock = threading.Lock()

        def __deepcopy__(self, memo):
            return type(self)()

        def act(self, observation):
            with self.lock:
                return 0

    assert om.evaluate(Locked(), "cups", **SMALL).complete
    with pytest.raises(om.InvalidInputError, match="cannot be sent to other processes"):
        om.evaluate(Locked(), "cups", **SMALL, workers=2)


def test_results_are_compared():
    one = om.evaluate("random", "cups", **SMALL)
    two = om.evaluate("cup-presser", "cups", **SMALL)
    both = om.compare(one, two)
    assert both.agents == ["random-v1", "cup-presser-v1"]
    assert both.differences == om.evaluate(["random", "cup-presser"], "cups", **SMALL).differences
    with pytest.raises(om.InvalidInputError, match="differ in seed"):
        om.compare(one, om.evaluate("cup-presser", "cups", **{**SMALL, "seed": 1}))


def test_audit_reproduce_and_lists(tmp_path):
    assert om.audit("buttons", instances=2, interactions=100).findings
    assert om.audit(Cups, instances=2, interactions=100, complexity=3).findings
    students = om.reproduce("students")
    assert students.agrees
    assert not students.files
    assert all(path.exists() for path in om.reproduce("students", out=tmp_path).files.values())
    assert "cups-v1" in {entry.id for entry in om.list_environments()}
    assert "random-v1" in {entry.id for entry in om.list_agents()}
    assert "sample-v1" in {entry.id for entry in om.list_protocols()}
    assert "average-v1" in {entry.id for entry in om.list_payoffs()}
    assert "students-v1" in {entry.id for entry in om.list_reproductions()}


def test_progress_is_printed(capsys):
    om.evaluate("random", "cups", **SMALL, progress=True)
    assert "random-v1: 6 of 6 exercises" in capsys.readouterr().err


def test_the_public_names_are_there():
    for name in ("evaluate", "test", "compare", "audit", "reproduce", "load", "Result", "Agent"):
        assert name in dir(om)
        assert getattr(om, name)
    with pytest.raises(AttributeError, match="no attribute 'evalute'"):
        _ = om.evalute


def test_a_closure_is_a_new_one_in_every_exercise():
    def counter():
        count = 0

        def act(observation):
            nonlocal count
            count += 1
            return count % 2

        return act

    long, short = (
        om.evaluate(counter(), "cups", exercises=2, interactions=n, traces=True, seed=0)
        for n in (5, 4)
    )
    for result in (long, short):
        for _, trace in result.record.traces():
            assert trace.actions[0] == 1


def test_a_python_override_of_an_agent_with_kernels_is_heard():
    class Stubborn(QLearning):
        def act(self, reward, observation):
            return 1

    result = om.evaluate(Stubborn, "cups", exercises=2, interactions=20, traces=True, seed=0)
    for _, trace in result.record.traces():
        assert set(trace.actions.tolist()) == {1}


def test_numbers_of_numpy_are_numbers():
    numbers = {"exercises": np.int64(2), "interactions": np.int64(10), "seed": np.int64(3)}
    plain = om.evaluate("random", "cups", exercises=2, interactions=10, seed=3)
    assert values(om.evaluate("random", "cups", **numbers)) == values(plain)


@pytest.mark.parametrize("given", [{"exercises": 3}, {"joint": True}, {"complexity": 5}])
def test_a_battery_takes_nothing_that_says_what_exercises_are(given):
    with pytest.raises(om.InvalidInputError, match="together with battery"):
        om.evaluate("random", battery="thesis-table-6-1", **given)


def test_there_is_at_least_one_worker():
    with pytest.raises(om.InvalidInputError, match="0 workers"):
        om.evaluate("random", "cups", workers=0)


def test_default_payoffs_count_what_was_left_undone():
    def payoff_of(session):
        return session.evaluation.protocol.parameters["payoff"]["id"]

    short = {"exercises": 2, "clock": "virtual", "seed": 0}
    by_number = om.evaluate("random", "cups", interactions=9, **short)
    by_time = om.evaluate("random", "cups", seconds=9, **short)
    by_both = om.evaluate("random", "cups", interactions=9, seconds=9, **short)
    assert payoff_of(by_number) == "planned-average-v1"
    assert payoff_of(by_time) == payoff_of(by_both) == "diminishing-v1"
    assert payoff_of(om.test("random", "cups", interactions=99, seed=0)) == "planned-average-v1"
    assert payoff_of(om.test("random", "cups", time=9, seed=0)) == "diminishing-v1"
    timed = om.test("random", "cups", time=9, definition=17, seed=0)
    assert payoff_of(timed) == "diminishing-v1"
    battery = om.evaluate("random", battery="thesis-table-6-1", seed=0)
    assert payoff_of(battery) == "planned-average-v1"


def test_stopping_when_lucky_is_worth_less_than_learning():
    result = om.evaluate(["stopper", "q-learning"], "lambda", exercises=30, seed=0)
    lucky, learnt = result.scores.values()
    assert lucky.interval.high < learnt.interval.low


def test_a_payoff_that_can_be_exploited_is_remarked_on():
    small = {"exercises": 2, "interactions": 9, "seed": 0}
    assert "keeps that average" in repr(om.evaluate("random", "cups", payoff="average", **small))
    assert "keeps" not in repr(om.evaluate("random", "cups", **small))
    own = om.test("random", "cups", definition=10, interactions=9, exercises=2, seed=0).run()
    assert "keeps" not in repr(own)


@pytest.mark.parametrize(
    "call",
    [
        lambda: om.evaluate("random", "cups", seconds=1, payoff="planned-average"),
        lambda: om.test("random", "cups", time=1, payoff="planned-average").run(),
    ],
)
def test_a_planned_average_needs_planned_interactions(call):
    with pytest.raises(om.OmnimeterError, match="diminishing"):
        call()
