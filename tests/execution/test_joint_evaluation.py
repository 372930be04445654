"""Evaluations of agents that are in the environments jointly, from the command to the store."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from agreement import digest
from omnimeter.catalogue import Kind, make
from omnimeter.cli.app import app
from omnimeter.contract import Budget, Ending, Exercise, FaultKind, InvalidInputError, Spec, stream
from omnimeter.execution import Isolation, Options, check, evaluate, workers
from omnimeter.execution.evaluation import jobs
from omnimeter.execution.workers import ExerciseRunner, agents_of, batch_size, make_agent
from omnimeter.interaction import dispatch
from omnimeter.interaction.loop import run_stepwise
from omnimeter.protocols import Evaluation, Result, summarise
from omnimeter.results import Record, open_writer

RING = "joint_parts:Ring"
WANDERER = Spec("joint_parts:Wanderer")
NARROW = Spec("joint_parts:Wanderer", {"view": "narrow"})
STOPPER = Spec("joint_parts:Reciter", {"actions": [1, 2, -1]})
NONE = Options(isolation=Isolation.NONE)


def evaluation(*agents: Spec, joint: tuple[Spec, ...] | None = None, **given: Any) -> Evaluation:
    parameters = {"environment_class": RING, "exercises": 6, "interactions": 30, **given}
    members = agents if joint is None else joint
    parameters["joint"] = [member.to_json() for member in members]
    return Evaluation(Spec("sample-v1", parameters), agents, traces=True)


def run(directory: Path, what: Evaluation, options: Options = NONE) -> Result:
    with open_writer(directory, what.to_json()) as writer:
        return evaluate(what, writer, options)


def test_several_processes_give_the_same_and_all_of_it_is_stored(tmp_path: Path) -> None:
    what = evaluation(WANDERER, NARROW, STOPPER)
    one = run(tmp_path / "one", what)
    two = run(tmp_path / "two", what, Options(workers=2, isolation=Isolation.NONE))
    apart = run(tmp_path / "apart", what, Options(isolation=Isolation.PROCESS))
    assert one.complete
    assert one.scores == two.scores == apart.scores
    assert one.outcomes == two.outcomes
    for agent, done in apart.outcomes.items():  # which say what contained their agent
        assert [replace(each, remarks={}) for each in done] == one.outcomes[agent]
    stored, again, distant = (
        dict(Record(tmp_path / name).traces()) for name in ("one", "two", "apart")
    )
    assert len(stored) == 18
    assert all(stored[key].same_as(again[key]) for key in stored)
    assert all(stored[key].same_as(distant[key]) for key in stored)
    assert summarise(what, Record(tmp_path / "one").outcomes()).scores == one.scores
    for outcome in Record(tmp_path / "one").outcomes():
        assert outcome.exercise.joint == what.agents
    assert {outcome.ending for outcome in one.outcomes[STOPPER]} == {Ending.STOPPED}


def test_one_joint_agent_can_be_evaluated_alone(tmp_path: Path) -> None:
    joint = (WANDERER, STOPPER)
    both = run(tmp_path / "both", evaluation(*joint))
    alone = run(tmp_path / "alone", evaluation(WANDERER, joint=joint))
    assert alone.outcomes[WANDERER] == both.outcomes[WANDERER]
    with pytest.raises(InvalidInputError, match="is not one of the joint agents"):
        check(evaluation(NARROW, joint=joint))


COUNTS = """
import itertools
from omnimeter import Agent
begun = itertools.count()
class Theirs(Agent):
    def begin(self, briefing, rng):
        self.action = next(begun) % 3  # not repeatable: it depends on how often it was there
    def act(self, reward, observation):
        return self.action
"""


def test_every_joint_run_is_run_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "their_agent.py"
    path.write_text(COUNTS)
    joint = (Spec(f"{path}:Theirs"), WANDERER, NARROW)
    taken: list[Exercise] = []

    def watched(*given: Any, **conditions: Any) -> Any:
        taken.append(given[2])
        return run_stepwise(*given, **conditions)

    monkeypatch.setattr(dispatch, "run_stepwise", watched)
    monkeypatch.setattr(workers.Job, "needs_worker", lambda *_: False)  # so that it is seen here
    result = run(tmp_path / "e", evaluation(*joint))
    assert result.complete
    assert [exercise.number for exercise in taken] == list(range(6))
    traces = dict(Record(tmp_path / "e").traces())
    for outcomes in zip(*result.outcomes.values(), strict=True):
        own, *others = (traces[outcome.exercise.key] for outcome in outcomes)
        assert own.observations is not None
        (seen,) = (each for each in others if each.observations.shape[1] > 1)  # type: ignore[union-attr]
        assert seen.observations is not None
        assert np.array_equal(seen.observations[:, 2], own.observations[:, 0])  # where it was


def test_a_joint_run_goes_on_with_missing_agents(tmp_path: Path) -> None:
    what = evaluation(WANDERER, NARROW, STOPPER)
    whole = run(tmp_path / "whole", what)
    with open_writer(tmp_path / "half", what.to_json()) as writer:
        stored = [done for outcomes in whole.outcomes.values() for done in outcomes]
        traces = dict(Record(tmp_path / "whole").traces())
        kept = stored[:3] + stored[8:14]
        writer.append(kept, {done.exercise.key: traces[done.exercise.key] for done in kept})
    again = run(tmp_path / "half", what)
    assert again.complete
    assert again.outcomes == whole.outcomes
    again_traces = dict(Record(tmp_path / "half").traces())
    assert all(again_traces[key].same_as(traces[key]) for key in traces)


def proposed(what: Evaluation) -> dict[Spec, list[Exercise]]:
    return {agent: what.make_protocol().propose(agent, []) for agent in what.agents}


def test_a_job_has_whole_joint_runs_of_the_same_agents_in_one_class() -> None:
    what = evaluation(WANDERER, NARROW, exercises=12)
    everything = {agent: [*taken] for agent, taken in proposed(what).items()}
    for agent, taken in everything.items():  # some of each alone
        taken += [replace(each, joint=()) for each in proposed(what)[agent][:5]]
    given = list(jobs(everything, what.make_protocol().payoff(), False, NONE))
    for job in given:
        assert len({(agents_of(each), each.environment_class) for each in job.exercises}) == 1
        for single in job.singly():
            assert [each.agent for each in single.exercises] == list(agents_of(single.exercises[0]))
    keys = [each.key for job in given for each in job.exercises]
    assert sorted(keys) == sorted(each.key for taken in everything.values() for each in taken)


RAISES = """
from omnimeter import Agent
class Theirs(Agent):
    def act(self, reward, observation):
        if reward > 0.5:
            raise RuntimeError("enough")
        return 1
"""

DIES = """
import os
from omnimeter import Agent
class Theirs(Agent):
    turns = 0
    def act(self, reward, observation):
        self.turns += 1
        if self.turns > 3:
            os._exit(1)
        return 1
"""


@pytest.mark.parametrize("body", [RAISES, DIES])
def test_a_fault_of_an_isolated_agent_does_not_affect_others(tmp_path: Path, body: str) -> None:
    path = tmp_path / "their_agent.py"
    path.write_text(body)
    theirs = Spec(f"{path}:Theirs")
    result = run(tmp_path / "e", evaluation(theirs, WANDERER), Options())
    kinds = {outcome.fault.kind for outcome in result.outcomes[theirs] if outcome.fault}
    assert kinds == {FaultKind.AGENT_ERROR}
    assert all(outcome.interactions == 30 for outcome in result.outcomes[WANDERER])
    assert all(outcome.fault is None for outcome in result.outcomes[WANDERER])


def test_processes_are_kept_for_joint_agents(tmp_path: Path) -> None:
    path = tmp_path / "their_agent.py"
    path.write_text(RAISES)
    path.with_name("others.py").write_text(RAISES)
    members = (Spec(f"{path}:Theirs"), Spec(f"{path.with_name('others.py')}:Theirs"), WANDERER)
    runner = ExerciseRunner(Isolation.AUTO)
    what = evaluation(*members)
    for agent in members:
        list(runner.traces(what.make_protocol().propose(agent, [])[:2]))
        assert set(runner._processes) == set(members)
    runner.close()
    assert runner._processes == {}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seconds": 3.0}, "wall clock"),
        ({"timeout": 1.0}, "time-out"),
        ({"environment_class": "cups-v1"}, "one seat, not 2"),
        ({"joint": ()}, "joint run of 0"),
        ({"joint": (WANDERER, WANDERER)}, "twice"),
    ],
)
def test_invalid_joint_runs_are_errors_at_once(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        check(evaluation(WANDERER, NARROW, **given))


def test_a_member_without_its_parameters_is_an_error_beforehand(tmp_path: Path) -> None:
    joint = (WANDERER, Spec("joint_parts:Reciter"))
    with pytest.raises(InvalidInputError, match="actions"):
        run(tmp_path / "e", evaluation(WANDERER, joint=joint))
    assert Record(tmp_path / "e").outcomes() == []


LEARNERS = [Spec("q-learning-v1"), Spec("follower-v1")]


def lambda_exercises() -> Iterator[Exercise]:
    place = Spec("lambda-v1", {"sharing": True, "cells": 4})
    rng = stream(3).generator()
    for number in range(3):
        instance = make(Kind.ENVIRONMENT, place).draw(rng)
        yield Exercise(
            LEARNERS[0], place, instance, Budget(interactions=200), seed=2, number=number,
            joint=tuple(LEARNERS),
        )  # fmt: skip


def test_quick_exercises_are_done_in_portions() -> None:
    first, *_ = lambda_exercises()
    assert batch_size(first, Options(isolation=Isolation.AUTO)) == 64
    assert batch_size(first, Options(isolation=Isolation.PROCESS)) == 1
    long = replace(first, budget=Budget(interactions=10**7))
    assert batch_size(long, Options(isolation=Isolation.AUTO)) == 1
    (untrusted, *_) = evaluation(WANDERER, NARROW).make_protocol().propose(WANDERER, [])
    # One at a time: whose fault is it?
    assert batch_size(untrusted, Options(isolation=Isolation.NONE)) == 1


def test_lambda_compiled_and_stepwise(monkeypatch: pytest.MonkeyPatch) -> None:
    exercises = list(lambda_exercises())
    place = workers.make_environment_class(exercises[0].environment_class)
    agents = [make_agent(member) for member in LEARNERS]
    stepwise = [run_stepwise(place, agents, each, record=True) for each in exercises]
    monkeypatch.delattr(dispatch, "run_stepwise")  # so that nothing falls back on it
    compiled = list(dispatch.run(place, agents, exercises, record=True))
    for mine, theirs in zip(compiled, stepwise, strict=True):
        assert digest(mine) == digest(theirs)
        widths = {trace.observations.shape[1] for trace in mine if trace.observations is not None}
        assert len(widths) > 1  # each has the view that suits it


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["run", "-c", "lambda", "--joint", "-n", "2", "-i", "50", "--seed", "0", "--json"]
    done = CliRunner().invoke(app, [*command, "-a", "random", "-a", "follower"])
    assert done.exit_code == 0, done.output
    printed = json.loads(done.stdout)
    spec = json.loads((tmp_path / printed["directory"] / "spec.json").read_text())["spec"]
    assert spec["protocol"]["parameters"]["joint"] == spec["agents"]
    with pytest.raises(InvalidInputError, match="joint run of 1"):
        CliRunner().invoke(app, [*command, "-a", "random"], catch_exceptions=False)
