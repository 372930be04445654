"""Workers: whose fault it is when one ends, what is attempted again, and what is not."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import faulty_parts
import omnimeter as om
from omnimeter.api.result import MemoryRecord
from omnimeter.contract import FaultKind, InvalidInputError, OmnimeterError, Outcome, Spec
from omnimeter.execution import Isolation, Options, Sandboxing, evaluate, pool, workers
from omnimeter.interaction.process import Limits
from omnimeter.protocols import Evaluation, Result, summarise
from omnimeter.reports.summary import attempts_sentence, fault_limit_sentence
from omnimeter.results import Record, open_writer

RANDOM = Spec("random-v1")
SMALL = {"environment_class": "cups-v1", "exercises": 4, "interactions": 12}


def evaluation(*agents: Spec, **parameters: object) -> Evaluation:
    return Evaluation(Spec("sample-v1", {**SMALL, **parameters}), agents or (RANDOM,))


def class_at(name: str, log: Path | None = None) -> dict[str, object]:
    parameters = {} if log is None else {"log": str(log)}
    return Spec(f"faulty_parts:{name}", parameters).to_json()


def agent_file(tmp_path: Path, body: str, name: str = "theirs") -> Spec:
    path = tmp_path / f"{name}.py"
    path.write_text(
        "import os, signal, time\nfrom omnimeter import Agent\nclass A(Agent):\n" + body
    )
    return Spec(f"{path}:A")


def messages(result: Result, agent: Spec) -> set[str]:
    return {done.fault.message for done in result.outcomes[agent] if done.fault}


KILLS_PARENT = """
    def begin(self, briefing, rng):
        open({log!r}, "a").write("x")
        self.turns = 0
    def act(self, reward, observation):
        self.turns += 1
        if self.turns == 3:
            with open("/proc/%d/stat" % os.getppid()) as launcher:  # between it and the worker
                os.kill(int(launcher.read().rpartition(")")[2].split()[1]), signal.SIGKILL)
            time.sleep(5)
        return 0
"""


@pytest.mark.parametrize("number", [1, 2])
def test_an_agent_that_kills_its_worker_pays_for_it_and_gets_no_retry(tmp_path, number):
    """Neither the evaluation nor another agent's exercise is lost."""
    log = tmp_path / "log"
    theirs = agent_file(tmp_path, KILLS_PARENT.format(log=str(log)))
    what = evaluation(theirs, RANDOM, exercises=2)
    result = evaluate(what, options=Options(workers=number, sandboxing=Sandboxing.NONE))
    assert result.complete
    assert result.scores[theirs].faults == {"agent-error": 2}
    assert {done.attempts for done in result.outcomes[theirs]} == {1}
    assert log.read_text() == "xx"
    assert result.scores[RANDOM] == evaluate(evaluation(exercises=2)).scores[RANDOM]
    (message,) = messages(result, theirs)
    assert message.startswith("The process that carried it out ended (signal SIGKILL).")
    assert "Without a sandbox" in message


def test_inside_a_sandbox_the_death_of_a_worker_is_no_fault_of_the_agent(tmp_path, monkeypatch):
    monkeypatch.setattr(workers, "contains", lambda _: True)  # as if it could not have done it
    log = tmp_path / "log"
    theirs = agent_file(tmp_path, KILLS_PARENT.format(log=str(log)))
    options = Options(workers=2, sandboxing=Sandboxing.NONE)
    result = evaluate(evaluation(theirs, exercises=1), options=options)
    (done,) = result.outcomes[theirs]
    assert done.fault is not None
    assert done.fault.kind is FaultKind.INFRASTRUCTURE
    assert done.attempts == workers.TRIES
    assert log.read_text() == "x" * workers.TRIES


def test_an_agent_that_refuses_later_ends_in_faults_of_its_own(tmp_path):
    body = """
    made = 0
    def __init__(self):
        A.made += 1
        if A.made > 3:
            from omnimeter.contract import InvalidInputError
            raise InvalidInputError("There is no such agent.", "Buy another one.")
    def act(self, reward, observation):
        return 0
"""
    theirs = agent_file(tmp_path, body)
    result = evaluate(evaluation(theirs, RANDOM, exercises=6))
    assert result.complete
    assert result.scores[theirs].faults["agent-error"] > 1
    assert result.scores[RANDOM].faults == {}
    assert any("Buy another one" in message for message in messages(result, theirs))


def test_an_agent_cannot_make_its_slowness_a_fault_of_ours(tmp_path):
    body = """
    def act(self, reward, observation):
        return 0
    def finish(self, reward, observation):
        time.sleep(30)
"""
    theirs = agent_file(tmp_path, body)
    limits = Limits(seconds_per_action=100, seconds_per_exercise=1)
    result = evaluate(evaluation(theirs, exercises=1), options=Options(limits=limits))
    assert result.scores[theirs].faults == {"time-out": 1}


@pytest.mark.parametrize("where", ["draw", "__init__"])
def test_a_class_that_leaves_the_program_is_an_error(tmp_path, where):
    (tmp_path / "leaving.py").write_text(
        "import sys\nfrom omnimeter.environments.cups import Cups\n"
        f"class Leaving(Cups):\n    def {where}(self, *_):\n        sys.exit(0)\n"
    )
    with pytest.raises(OmnimeterError, match="SystemExit"):
        om.evaluate("random", f"{tmp_path / 'leaving.py'}:Leaving", exercises=1, seed=0)


def test_of_a_carried_sequence_what_was_finished_counts(tmp_path):
    body = """
    exercises = 0
    def begin(self, briefing, rng):
        self.exercises += 1
    def act(self, reward, observation):
        if self.exercises == 3:
            with open(f"/proc/{os.getppid()}/stat") as launcher:  # between it and the worker
                os.kill(int(launcher.read().rpartition(")")[2].split()[1]), signal.SIGKILL)
            time.sleep(5)
        return 0
"""
    theirs = agent_file(tmp_path, body)
    options = Options(sandboxing=Sandboxing.NONE)
    done = evaluate(evaluation(theirs, memory="carried"), options=options).outcomes[theirs]
    assert [outcome.fault is None for outcome in done] == [True, True, False, False]
    assert {each.fault.kind for each in done if each.fault} == {FaultKind.AGENT_ERROR}


def test_an_environment_that_exits_is_a_recorded_fault():
    result = evaluate(evaluation(environment_class=class_at("Exiting"), exercises=1))
    assert result.complete
    (done,) = result.outcomes[RANDOM]
    assert done.fault is not None
    assert done.fault.kind is FaultKind.INFRASTRUCTURE
    assert done.fault.message == "The process that carried it out ended (exit code 0)."
    assert done.attempts == workers.TRIES


def test_an_environment_that_leaves_by_an_exception_is_a_recorded_fault():
    result = evaluate(evaluation(environment_class=class_at("Leaving"), exercises=2))
    assert messages(result, RANDOM) == {"The environment raised SystemExit: I am off"}


@pytest.mark.parametrize("number", [1, 2])
def test_what_a_worker_loses_is_done_by_another_one(tmp_path, number):
    """Only the exercise that was under way is attempted again, and the results are the same."""
    what = evaluation(environment_class=class_at("ExitingOnce", tmp_path / "log"))
    result = evaluate(what, options=Options(workers=number))
    done = result.outcomes[RANDOM]
    assert sorted(each.attempts for each in done) == [1, 1, 1, 2]
    clean = evaluate(evaluation()).outcomes[RANDOM]
    assert [each.payoff for each in done] == [each.payoff for each in clean]
    assert attempts_sentence(result).startswith("1 exercise was attempted again (random-v1)")


@pytest.mark.parametrize("name", ["Hanging", "Deaf"])
def test_a_worker_whose_environment_hangs_is_ended(name, monkeypatch):
    monkeypatch.setattr(workers, "MARGIN", 2.0)
    limits = Limits(seconds_per_exercise=0.5)
    what = evaluation(environment_class=class_at(name), exercises=1)
    (done,) = evaluate(what, options=Options(limits=limits)).outcomes[RANDOM]
    assert done.fault is not None
    assert done.fault.kind is FaultKind.INFRASTRUCTURE
    assert done.fault.message == "It took too long, and its process was ended."
    assert done.attempts == 1


def test_an_environment_that_hangs_in_this_process_is_ended_too(monkeypatch):
    monkeypatch.setattr(workers, "MARGIN", 0.2)
    result = om.evaluate("random", faulty_parts.Hanging, exercises=2, exercise_timeout=0.1)
    (message,) = messages(result.judged, RANDOM)
    assert message.startswith("The environment raised")
    assert message.endswith("The exercise took longer than 0.1 s of real time.")


def test_payoffs_from_files_are_known_to_workers(tmp_path):
    path = tmp_path / "pay.py"
    path.write_text(Path(faulty_parts.__file__).read_text())
    for number in (1, 2):
        result = evaluate(
            evaluation(payoff=f"{path}:Half", exercises=3), options=Options(workers=number)
        )
        assert [done.payoff for done in result.outcomes[RANDOM]] == [0.5] * 3


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("    raise RuntimeError('not today')\n", "not today"),
        (
            "    def __init__(self):\n        raise ValueError('no weights')\n    act = None\n",
            "no wei",
        ),
        ("    import no_such_module\n", "no_such_module"),
    ],
)
@pytest.mark.parametrize("isolation", [Isolation.AUTO, Isolation.NONE])
def test_an_agent_that_cannot_be_loaded_has_faults_and_the_others_results(
    tmp_path, body, reason, isolation
):
    theirs = agent_file(tmp_path, body)
    what = evaluation(theirs, RANDOM, exercises=2)
    result = evaluate(what, options=Options(isolation=isolation))
    assert result.complete
    assert result.scores[theirs].faults == {"agent-error": 2}
    assert reason in messages(result, theirs).pop()
    assert result.scores[RANDOM].count == 2


def test_an_object_that_cannot_be_made_has_faults_too():
    class Broken(om.Agent):
        def __init__(self):
            raise RuntimeError("not today")

    result = om.evaluate([Broken, "random"], "cups", exercises=2, interactions=5)
    assert result.scores["python:Broken"].faults == {"agent-error": 2}
    assert result.scores["random-v1"].count == 2


def test_wrong_parameters_are_an_error_before_anything_is_run(tmp_path):
    theirs = agent_file(tmp_path, "    def act(self, reward, observation):\n        return 0\n")
    wrong = Spec(theirs.id, {"depth": 3})
    record = MemoryRecord({})
    with pytest.raises(InvalidInputError, match="depth"):
        evaluate(evaluation(RANDOM, wrong), record)
    assert record.outcomes() == []


@pytest.mark.parametrize("number", [1, 2])
def test_an_agent_with_many_faults_in_a_row_is_stopped_and_stays_so(tmp_path, number):
    body = "    def act(self, reward, observation):\n        raise RuntimeError('enough')\n"
    theirs = agent_file(tmp_path, body)
    what = evaluation(theirs, RANDOM, exercises=20)
    options = Options(workers=number, fault_limit=4)
    with open_writer(tmp_path / "e", what.to_json()) as writer:
        result = evaluate(what, writer, options)
    assert result.complete
    assert 4 <= len(result.outcomes[theirs]) <= 4 + 2 * number
    assert len(result.outcomes[RANDOM]) == 20
    assert result.stopped == {theirs: 4}
    assert "stopped after 4 faults in a row" in fault_limit_sentence(result)
    again = summarise(what, Record(tmp_path / "e").outcomes())
    assert again.complete
    assert again.stopped == {theirs: 4}
    with open_writer(tmp_path / "e", what.to_json()) as writer:
        resumed = evaluate(what, writer, options)
    assert resumed.outcomes == result.outcomes
    assert om.load(tmp_path / "e").complete


def test_nothing_of_a_stopped_agent_is_attempted_again(tmp_path):
    body = "    def act(self, reward, observation):\n        raise RuntimeError('enough')\n"
    theirs = agent_file(tmp_path, body)
    what = evaluation(theirs, environment_class=class_at("FailingOnce", tmp_path / "log"))
    record, options = MemoryRecord(what.to_json()), Options(fault_limit=2)
    first = evaluate(what, record, options)
    assert kinds(first.outcomes[theirs]) == [("infrastructure", 1)] + [("agent-error", 1)] * 2
    second = evaluate(what, record, options)
    assert second.complete
    assert second.outcomes == first.outcomes
    further = evaluate(what, record, Options(fault_limit=10))  # which lets it go on
    assert kinds(further.outcomes[theirs]) == [("agent-error", 2)] + [("agent-error", 1)] * 3
    assert further.stopped == {}


def test_faults_that_are_not_in_a_row_stop_no_agent(tmp_path):
    body = """
    def begin(self, briefing, rng):
        path = os.path.join(os.path.dirname(__file__), "count")
        open(path, "a").write("x")
        self.number = os.path.getsize(path)
    def act(self, reward, observation):
        if self.number % 2:
            raise RuntimeError("every other time")
        return 0
"""
    theirs = agent_file(tmp_path, body)
    options = Options(fault_limit=3, sandboxing=Sandboxing.NONE)  # it writes beside its file
    result = evaluate(evaluation(theirs, exercises=10), options=options)
    assert len(result.outcomes[theirs]) == 10
    assert result.stopped == {}


def kinds(outcomes: list[Outcome]) -> list[tuple[str | None, int]]:
    return [(str(each.fault.kind) if each.fault else None, each.attempts) for each in outcomes]


def test_faults_of_the_infrastructure_are_run_again_on_resuming(tmp_path):
    log = tmp_path / "log"
    what = evaluation(environment_class=class_at("FailingOnce", log))
    record = MemoryRecord(what.to_json())
    first = evaluate(what, record)
    assert kinds(first.outcomes[RANDOM])[0] == ("infrastructure", 1)
    second = evaluate(what, record)
    assert kinds(second.outcomes[RANDOM]) == [(None, 2)] + [(None, 1)] * 3
    assert log.read_text() == "x" * 5  # nothing else
    assert len(record.outcomes()) == 4
    assert evaluate(what, record).outcomes == second.outcomes
    assert log.read_text() == "x" * 5


def test_that_is_bounded_and_the_faults_of_agents_are_never_run_again(tmp_path):
    body = "    def act(self, reward, observation):\n        raise RuntimeError('enough')\n"
    what = evaluation(agent_file(tmp_path, body), exercises=2)
    record = MemoryRecord(what.to_json())
    once = evaluate(what, record)
    assert evaluate(what, record).outcomes == once.outcomes
    what = evaluation(environment_class=class_at("Leaving"), exercises=1)
    record = MemoryRecord(what.to_json())
    for attempt in (1, 2, 3, 3):
        (done,) = evaluate(what, record).outcomes[RANDOM]
        assert done.attempts == attempt


def test_attempts_that_ended_with_the_main_process_are_counted(tmp_path):
    body = "    def act(self, reward, observation):\n        return 0\n"
    theirs = agent_file(tmp_path, body)
    what = evaluation(theirs, RANDOM)
    first, *_ = what.make_protocol().propose(theirs, [])
    with open_writer(tmp_path / "e", what.to_json()) as writer:
        writer.begin([first.key])
        writer.begin([first.key, "another"])
        with (tmp_path / "e" / "begun").open("a") as file:
            file.write(f"\n{first.key[:5]}")  # cut off by a kill
    with open_writer(tmp_path / "e", what.to_json()) as writer:
        assert writer.begun()[first.key] == 2
        result = evaluate(what, writer)
        assert [each.attempts for each in result.outcomes[theirs]] == [3, 1, 1, 1]
        assert {each.attempts for each in result.outcomes[RANDOM]} == {1}
        assert writer.begun()[first.key] == 3
        assert len(writer.keys().intersection(writer.begun())) == 4  # those of theirs only


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ([sys.executable, "-c", "raise SystemExit(7)"], "exit code 7"),
        (["/no/such/program"], "No such file"),
    ],
)
def test_a_pool_that_cannot_start_says_why(monkeypatch, command, reason):
    monkeypatch.setattr(pool, "COMMAND", command)
    with pytest.raises(OmnimeterError, match=reason):
        evaluate(evaluation(), options=Options(workers=2))


@pytest.mark.parametrize("method", ["begin", "finish"])
def test_the_time_to_begin_and_to_finish_is_limited(tmp_path, method):
    body = f"    def {method}(self, *given):\n        time.sleep(60)\n"
    body += "    def act(self, reward, observation):\n        return 0\n"
    limits = Limits(seconds_to_begin=3.0, seconds_per_action=3.0)
    theirs = agent_file(tmp_path, body)
    result = evaluate(evaluation(theirs, exercises=1), options=Options(limits=limits))
    assert result.scores[theirs].faults == {"time-out": 1}
    assert messages(result, theirs) == {f"The agent took longer than 3 s to {method}."}
