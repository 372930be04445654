"""Agents that are not reproducible are found out, and those that only seem so are made so."""

import os
import random

import pytest

from omnimeter.catalogue import Kind, objects, parse
from omnimeter.contract import Agent, Spec
from omnimeter.execution import Isolation, Options, evaluate
from omnimeter.protocols import Evaluation, summarise
from omnimeter.reports import result_json
from omnimeter.reports.page import gather
from omnimeter.reports.summary import reproducibility_sentence
from omnimeter.results import Record, open_writer

FILE = """
import os, random, time
import numpy as np
from omnimeter import Agent

class Theirs(Agent):
    def __init__(self):
        self.begun = {draw}

    def begin(self, briefing, rng):
        self.actions, self.turn = briefing.actions, 0

    def act(self, reward, observation):
        self.turn += 1
        return int({draw} + self.begun) % self.actions
"""

DRAWS = {
    "urandom": ("os.urandom(1)[0]", False),
    "time": ("time.perf_counter_ns() // 100", False),
    "address": ("hash((id(os), getattr(self, 'turn', 0)))", False),
    "random": ("random.randrange(1000)", True),
    "numpy": ("np.random.randint(1000)", True),
    "hash": ("hash(str(getattr(self, 'turn', 0)))", True),  # the same in each of our processes
}


def theirs(tmp_path, name):
    path = tmp_path / name / f"{name}_agent.py"  # siblings are parts of each other
    path.parent.mkdir(exist_ok=True)
    path.write_text(FILE.format(draw=DRAWS[name][0]))
    return parse(Kind.AGENT, f"{path}:Theirs")


def evaluation(*agents, **given):
    parameters = {"environment_class": "cups-v1", "exercises": 2, "interactions": 60, **given}
    return Evaluation(Spec("sample-v1", parameters), agents)


def remarks(result):
    """What is remarked on each exercise, but for what contained its agent."""
    every = [dict(each.remarks) for done in result.outcomes.values() for each in done]
    return [{name: each[name] for name in each if name != "sandbox"} for each in every]


@pytest.mark.parametrize("name", DRAWS)
def test_a_file_is_found_out_and_global_generators_are_seeded(tmp_path, name):
    result = evaluate(evaluation(theirs(tmp_path, name)))
    assert result.complete
    assert len(remarks(result)) == 2  # what was run again does not count
    reproducible = DRAWS[name][1]
    assert remarks(result) == [{} if reproducible else {"reproducible": False}, {}]
    assert bool(reproducibility_sentence(result)) is not reproducible
    if reproducible:
        again = evaluate(evaluation(theirs(tmp_path, name)))
        assert again.outcomes == result.outcomes


def test_it_is_said_and_stored_once(tmp_path):
    what = evaluation(theirs(tmp_path, "urandom"), Spec("random-v1"))
    with open_writer(tmp_path / "e", what.to_json()) as writer:
        result = evaluate(what, writer, Options(workers=2))
    stored = summarise(what, Record(tmp_path / "e").outcomes())
    assert sum(each == {"reproducible": False} for each in remarks(stored)) == 1
    assert "Not reproducible: an exercise of" in reproducibility_sentence(result)
    assert "Not reproducible" in " ".join(gather(Record(tmp_path / "e")).notes)
    ours, others = result_json(stored)["scores"]
    assert ours["reproducible"] is False
    assert "reproducible" not in others


def test_of_carried_memory_the_first_exercise_is_run_again(tmp_path):
    agents = theirs(tmp_path, "time"), theirs(tmp_path, "random")
    result = evaluate(evaluation(*agents, memory="carried"))
    assert remarks(result) == [{"reproducible": False}, {}, {}, {}]


def test_in_an_anytime_test_a_longer_exercise_is_run_again(tmp_path):
    given = {"environment_class": "cups-v1", "interactions": 120, "repetitions": 2}
    agents = theirs(tmp_path, "urandom"), theirs(tmp_path, "numpy")
    result = evaluate(Evaluation(Spec("anytime-untimed-v1", given), agents))
    every = [each for done in result.outcomes.values() for each in done]
    odd = [each for each in every if "reproducible" in each.remarks]
    assert [each.exercise.agent for each in odd] == [agents[0]]
    assert odd[0].exercise.budget.interactions >= 10


def test_wall_clocks_are_not_repeatable_by_nature(tmp_path):
    timed = evaluation(theirs(tmp_path, "urandom"), seconds=0.01, interactions=None)
    assert remarks(evaluate(timed)) == [{}, {}]


class Restless(Agent):
    calls = 0

    def begin(self, briefing, rng):
        self.actions, self.rng = briefing.actions, rng

    def act(self, reward, observation):
        Restless.calls += 1
        return os.urandom(1)[0] % self.actions


class Calm(Restless):
    def act(self, reward, observation):
        return int(self.rng.integers(self.actions))


def test_a_python_object_is_run_again_in_this_process():
    state = random.getstate()
    objects.use({"python:Restless": Restless, "python:Calm": Calm})
    agents = Spec("python:Restless"), Spec("python:Calm")
    result = evaluate(evaluation(*agents))
    assert remarks(result) == [{"reproducible": False}, {}, {}, {}]
    assert Restless.calls == 3 * 60
    assert random.getstate() == state  # this program's own generator is its own


def test_an_agent_of_the_catalogue_is_not_run_again(monkeypatch):
    def fail(*_):
        raise AssertionError

    monkeypatch.setattr("omnimeter.execution.workers.ExerciseRunner._compared", fail)
    for isolation in Isolation:
        assert evaluate(evaluation(Spec("random-v1")), options=Options(1, isolation)).complete
