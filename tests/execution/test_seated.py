"""Evaluations of agents beside whom others are seated, which act and are not evaluated."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import omnimeter as om
from omnimeter.api.campaign_file import read_plan
from omnimeter.api.evaluation import seats_of
from omnimeter.cli.app import app
from omnimeter.contract import Ending, Exercise, FaultKind, InvalidInputError, Outcome, Spec
from omnimeter.contract.errors import StoreError
from omnimeter.contract.outcomes import Outcomes
from omnimeter.execution import Isolation, Options, check, evaluate
from omnimeter.execution.workers import ExerciseRunner, make_agent, make_environment_class
from omnimeter.interaction import dispatch
from omnimeter.interaction.loop import run_stepwise
from omnimeter.protocols import Evaluation, Result, summarise
from omnimeter.protocols.seating import Seating, code_length
from omnimeter.results import Record, open_writer

RING = "joint_parts:Ring"
WANDERER = Spec("joint_parts:Wanderer")
NARROW = Spec("joint_parts:Wanderer", {"view": "narrow"})
STOPPER = Spec("joint_parts:Reciter", {"actions": [1, 2, -1]})
NONE = Options(isolation=Isolation.NONE)


def evaluation(*agents: Spec, seated: Any, protocol: str = "sample-v1", **given: Any) -> Evaluation:
    parameters = {"environment_class": RING, "exercises": 6, "interactions": 30, "seed": 3, **given}
    chosen = [each.to_json() if isinstance(each, Spec) else each for each in seated]
    kept = {name: value for name, value in parameters.items() if value is not None}
    return Evaluation(Spec(protocol, {**kept, "seated": chosen}), agents, traces=True)


def run(directory: Path, what: Evaluation, options: Options = NONE) -> Result:
    with open_writer(directory, what.to_json()) as writer:
        return evaluate(what, writer, options)


def test_it_is_a_joint_run_in_which_only_the_first_is_evaluated(tmp_path: Path) -> None:
    result = run(tmp_path / "seated", evaluation(WANDERER, seated=[NARROW, STOPPER]))
    parameters = {"environment_class": RING, "exercises": 6, "interactions": 30, "seed": 3}
    joint = [each.to_json() for each in (WANDERER, NARROW, STOPPER)]
    spec = Spec("sample-v1", {**parameters, "joint": joint})
    by_hand = run(tmp_path / "joint", Evaluation(spec, (WANDERER, NARROW, STOPPER), traces=True))
    seated, joint_runs = (dict(Record(tmp_path / name).traces()) for name in ("seated", "joint"))
    assert len(seated) == 6
    for mine, same in zip(result.outcomes[WANDERER], by_hand.outcomes[WANDERER], strict=True):
        assert seated[mine.exercise.key].same_as(joint_runs[same.exercise.key])
    assert list(result.scores) == [WANDERER]
    for mine, theirs in zip(result.outcomes[WANDERER], by_hand.outcomes[NARROW], strict=True):
        assert mine.remarks["seated"][0] == theirs.total
        assert mine.exercise.beside == (NARROW, STOPPER)


def test_candidates_meet_the_same_environments_and_randomness() -> None:
    what = evaluation(WANDERER, STOPPER, NARROW, seated=["random", NARROW])
    protocol = what.make_protocol()
    for one, two, three in zip(*(protocol.propose(each, []) for each in what.agents), strict=True):
        assert (one.instance, one.number, one.beside) == (two.instance, two.number, two.beside)
        assert one.stream("environment") == two.stream("environment")
        for seated in one.beside:
            mine, yours = (each.for_agent(seated).stream("agent") for each in (one, two))
            assert mine == yours
        # One that is there twice is another one with a randomness of its own.
        assert [each.label for each in three.beside] == ["random-v1", f"{NARROW.label} in seat 3"]
        assert three.for_agent(three.beside[1]).stream("agent") != three.stream("agent")
        assert three.stream("agent") == replace(three, joint=(), seated=0).stream("agent")


LAMBDA: dict[str, Any] = {"environment_class": {"id": "lambda-v1", "parameters": {"cells": 4}}}


@pytest.mark.slow
def test_compiled_stepwise_and_in_processes_it_is_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = {**LAMBDA, "interactions": 200, "exercises": 4}
    agents = (Spec("q-learning-v1"), Spec("follower-v1"))
    what = evaluation(*agents, seated=["follower", "oracle"], **given)
    results = {
        name: run(tmp_path / name, what, options)
        for name, options in (
            ("two", Options(workers=2)),
            ("apart", Options(isolation=Isolation.PROCESS)),
        )
    }
    exercises = [each for agent in agents for each in what.make_protocol().propose(agent, [])]
    place = make_environment_class(exercises[0].environment_class)
    stepwise = {
        each.key: run_stepwise(place, [make_agent(who) for who in each.joint], each, record=True)[0]
        for each in exercises
    }
    monkeypatch.delattr(dispatch, "run_stepwise")  # so that nothing falls back on it
    results["one"] = run(tmp_path / "one", what)
    assert all(each.complete for each in results.values())
    assert results["one"].scores == results["two"].scores == results["apart"].scores
    assert results["one"].outcomes == results["two"].outcomes
    for name in results:
        stored = dict(Record(tmp_path / name).traces())
        assert stored.keys() == stepwise.keys()
        assert all(stored[key].same_as(stepwise[key]) for key in stored)
    assert all(each.fault is None for each in results["one"].outcomes[agents[0]])  # of the oracle


@pytest.mark.parametrize(
    ("protocol", "given"),
    [
        ("anytime-untimed-v1", {"interactions": 2000, "repetitions": 4, "exercises": None}),
        (
            "anytime-timed-v1",
            {
                "time": 1e-3,
                "clock": "virtual",
                "repetitions": 4,
                "exercises": None,
                "interactions": None,
            },
        ),
        ("universal-rewards-v1", {}),
        ("universal-adjusted-v1", {}),
        ("universal-timed-v1", {"seconds": 30.0, "clock": "virtual", "interactions": None}),
    ],
)
def test_a_resumed_test_is_the_uninterrupted_one(
    tmp_path: Path, protocol: str, given: dict[str, Any]
) -> None:
    pool = Seating(
        (Spec("random-v1"), Spec("follower-v1")),
        {Spec(f"{name}-v1").stream_key: k for k, name in enumerate(("random", "follower"))},
    )
    what = evaluation(
        Spec("follower-v1"),
        Spec("random-v1"),
        seated=["random", pool.to_json()],
        protocol=protocol,
        **{**LAMBDA, **given},
    )
    whole = run(tmp_path / "whole", what)
    assert whole.complete
    with open_writer(tmp_path / "half", what.to_json()) as writer:
        done = [each for outcomes in whole.outcomes.values() for each in outcomes]
        traces = dict(Record(tmp_path / "whole").traces())
        early = [each for each in done if each.exercise.number < 3]
        assert 0 < len(early) < len(done)
        writer.append(early, {each.exercise.key: traces[each.exercise.key] for each in early})
    again = run(tmp_path / "half", what)
    assert again.outcomes == whole.outcomes
    assert again.scores == whole.scores
    for outcomes in whole.outcomes.values():
        for each in outcomes:
            assert each.exercise.agent.id not in {own.id for own in each.exercise.beside[1:]}
            assert each.exercise.seated == 2
            assert each.fault is None
    assert summarise(what, Record(tmp_path / "half").outcomes()).scores == whole.scores


RAISES = """
from omnimeter import Agent
class Theirs(Agent):
    turns = 0
    def act(self, reward, observation):
        self.turns += 1
        if self.turns > 3 and reward >= 0:
            {what}
        return 1
"""


@pytest.mark.parametrize(
    ("what", "limits"),
    [
        ("raise RuntimeError('enough')", {}),
        ("import time; time.sleep(60)", {"action_timeout": 0.5}),
        ("import os; os._exit(1)", {}),
    ],
)
def test_a_seated_agent_that_fails_neither_helps_nor_harms(
    tmp_path: Path, what: str, limits: dict[str, Any]
) -> None:
    path = tmp_path / "their_agent.py"
    path.write_text(RAISES.format(what=what))
    result = om.evaluate(
        ["random", "follower"], "lambda(cells=4)", seated=f"{path}:Theirs", exercises=2,
        interactions=30, seed=1, traces=True, out=tmp_path / "e", **limits,
    )  # fmt: skip
    assert result.complete
    for outcomes in result.outcomes.values():
        for each in outcomes:
            assert each.fault is not None
            assert each.fault.kind is FaultKind.SEATED
            assert "Theirs, which is seated beside it" in each.fault.message
            assert (each.payoff, each.ending, each.attempts) == (None, Ending.FAULT, 1)
            assert 3 <= each.interactions < 30  # what was before the fault is kept
    row = result.scores["random-v1"]
    assert (row.value, dict(row.faults)) == (None, {"seated-agent": 2})
    for trace in dict(result.record.traces()).values():
        assert len(trace) < 30
    assert not any(Outcomes(each).own_faults.any() for each in result.outcomes.values())


def test_a_candidate_that_fails_first_is_at_fault(tmp_path: Path) -> None:
    path = tmp_path / "their_agent.py"
    path.write_text(RAISES.format(what="raise RuntimeError('enough')"))
    theirs = Spec(f"{path}:Theirs")
    (faulty, sound) = (
        run(tmp_path / name, evaluation(agent, seated=[seated]), Options())
        for name, agent, seated in (("a", theirs, WANDERER), ("b", STOPPER, theirs))
    )
    kinds = {each.fault.kind for each in faulty.outcomes[theirs] if each.fault}
    assert kinds == {FaultKind.AGENT_ERROR}
    # What comes after an agent has stopped is no concern of its own.
    assert {each.ending for each in sound.outcomes[STOPPER]} == {Ending.STOPPED}


def test_a_fault_that_may_hide_a_payoff_widens_the_interval(tmp_path: Path) -> None:
    what = evaluation(WANDERER, seated=[NARROW], exercises=12)
    result = run(tmp_path / "e", what)
    protocol = what.make_protocol()
    spoilt = [*result.outcomes[WANDERER]]
    fault = om.Fault(FaultKind.SEATED, "gone")
    spoilt[2:5] = [replace(each, payoff=None, fault=fault) for each in spoilt[2:5]]
    infrastructure = [
        replace(each, fault=om.Fault(FaultKind.INFRASTRUCTURE, "gone")) if each.fault else each
        for each in spoilt
    ]
    wide, narrow = (protocol.score(each).interval for each in (spoilt, infrastructure))
    assert wide is not None
    assert narrow is not None
    assert wide.low < narrow.low
    assert wide.high > narrow.high


def test_agents_are_drawn_by_similar_scores() -> None:
    agents = [Spec("random-v1", {"rate": rate}) for rate in range(1, 12)]
    scores = {agent.stream_key: place / 10 for place, agent in enumerate(agents)}
    seat = Seating(tuple(agents), scores)
    for own in (0, 5, 10):
        drawn = Counter(seat.draw(agents[own], 7, number, 0) for number in range(2000))
        assert own not in drawn  # others only
        share = drawn[own + 1 if own < 10 else 9] / 2000
        # Each step halves: of two sides 1/2 + 1/4 + ..., of which the nearest is a half.
        assert share == pytest.approx(0.25 if own == 5 else 0.5, abs=0.04)
    assert seat.draw(agents[0], 7, 4, 0) == seat.draw(agents[0], 7, 4, 0)
    with pytest.raises(InvalidInputError, match="has no score in the evaluation"):
        seat.draw(Spec("q-learning-v1"), 7, 4, 0)
    alone = Seating(tuple(agents[:1]), {agents[0].stream_key: 0.5})
    with pytest.raises(InvalidInputError, match="no agent but"):
        alone.draw(agents[0], 7, 4, 0)


def test_a_stored_evaluation_gives_agents_of_the_catalogue(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.py"
    path.write_text(RAISES.format(what="pass"))
    given: dict[str, Any] = {"environment_class": "lambda(cells=4)", "interactions": 50, "seed": 1}
    agents = ["random", "follower", f"{path}:Theirs", "q-learning"]
    stored = om.evaluate(agents, **given, exercises=4, out=tmp_path / "stored")
    with pytest.warns(UserWarning, match="Not drawn, since no agents of the catalogue: "):
        (seat,), _ = seats_of((), tmp_path / "stored")
    assert {each["id"] for each in seat["agents"]} == {"random-v1", "follower-v1", "q-learning-v1"}
    assert sorted(seat["scores"].values()) == sorted(
        each.value for each in stored.scores.values() if each.value is not None
    )
    with pytest.warns(UserWarning, match="Not drawn"):
        mine = om.evaluate(
            [f"{path}:Theirs", "random"], **given, exercises=6, similar=[stored, stored],
            count_seated=True,
        )  # fmt: skip
    assert mine.complete
    for outcomes in mine.outcomes.values():
        for each in outcomes:
            plain = make_environment_class(each.exercise.environment_class)
            bits = sum(map(code_length, (replace(e, name="") for e in each.exercise.beside)))
            complexity = plain.complexity(each.exercise.instance)
            assert each.exercise.complexity == complexity + bits
    assert mine.judged.design.seated == ("one of 3 agents with similar scores",) * 2


def test_the_length_of_code(tmp_path: Path) -> None:
    plain, tuned = (
        code_length(Spec("q-learning-v1")),
        code_length(Spec("q-learning-v1", {"alpha": 0.25})),
    )
    assert 4 <= plain <= 8  # one of the ids of the catalogue
    assert tuned > plain + 64
    path = tmp_path / "long.py"
    path.write_text("# one\nclass Theirs: pass\n")
    short = code_length(om.Spec(f"{path}:Theirs"))
    path.write_text("# " + "".join(map(str, range(500))) + "\nclass Theirs: pass\n")
    assert code_length(om.Spec(f"{path}:Theirs")) > short > 64


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"seated": ["random"], "environment_class": "cups-v1"}, "one seat, not 2"),
        ({"seated": ["random"], "seconds": 1.0}, "wall clock"),
        ({"seated": ["random"], "timeout": 1.0}, "time-out"),
        ({"seated": ["random"], "joint": ["random", "follower"]}, "beside those of a joint run"),
        ({"seated": [{"agents": ["random", "follower"]}]}, "is no seat"),
        ({"seated": [{"agents": ["random"], "scores": {"x": 1.0}}]}, "is no seat"),
        ({"seated": ["no-such-agent"]}, "no-such-agent"),
        (
            {
                "seated": [
                    Seating((Spec("random-v1"),), {Spec("random-v1").stream_key: 1.0}).to_json()
                ],
                "memory": "carried",
            },
            "no memory that is carried",
        ),
    ],
)
def test_what_cannot_be_is_an_error_at_once(given: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        check(evaluation(WANDERER, **given))


def test_balance_is_claimed_for_an_agent_alone() -> None:
    for seated, said in (
        ("random", "the class claims it, for an agent alone"),
        ((), "the class claims it"),
    ):
        for given in ({}, {"definition": 15}):
            test = om.test("random", "lambda", interactions=1000, seated=seated, **given)
            assert test.protocol.settings()["Balance"] == said


def test_levels_do_not_count_who_is_seated() -> None:
    with pytest.raises(InvalidInputError, match="cannot include the code of seated agents"):
        om.test("random", "lambda", interactions=1000, seated="random", count_seated=True).run()
    with pytest.raises(InvalidInputError, match="wall clock"):
        om.test("random", "lambda", time=1, seated="random").run()
    with pytest.raises(InvalidInputError, match="count_seated=True cannot be used"):
        om.evaluate("random", "lambda", count_seated=True)
    with pytest.raises(InvalidInputError, match="seated= cannot be given together with battery="):
        om.evaluate("random", battery="lambda-thesis", seated="random")
    with pytest.raises(InvalidInputError, match="seated= cannot be given together with prior="):
        om.evaluate("random", "gc", prior="gc", seated="random")


def test_a_number_of_seats_that_leaves_none() -> None:
    exercise: Exercise = (
        evaluation(WANDERER, seated=[NARROW]).make_protocol().propose(WANDERER, [])[0]
    )
    assert Exercise.from_json(exercise.to_json()) == exercise
    assert exercise.key != replace(exercise, seated=0).key
    with pytest.raises(InvalidInputError, match="Leave a seat"):
        replace(exercise, seated=2)


def test_others_with_whom_it_was_are_told_and_not_mixed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command = ["run", "-c", "lambda", "-n", "2", "-i", "50", "--seed", "0", "-a", "random"]
    printed = {}
    for name, more in (
        ("with", ["--with", "follower"]),
        ("alone", []),
        ("other", ["--with", "random"]),
    ):
        done = CliRunner().invoke(app, [*command, *more, "--out", name])
        assert done.exit_code == 0, done.output
        printed[name] = done.stdout
    assert "gent with follower-v1" in printed["with"]
    assert "with" not in printed["alone"].splitlines()[0]
    page = (tmp_path / "with" / "report.html").read_text()
    assert "random-v1 in lambda-v1 with follower-v1" in page
    assert "Seated beside each agent" in page
    data = json.loads(CliRunner().invoke(app, ["report", "with", "--json"]).stdout)
    assert data["seated"] == ["follower-v1"]
    with pytest.raises(InvalidInputError, match="they differ in seated"):
        om.merge("with", "alone")
    with pytest.raises(InvalidInputError, match="they differ in seated"):
        om.compare("with", "other")
    # Further candidates can be added, other company cannot.
    again = CliRunner().invoke(
        app, [*command, "-a", "follower", "--with", "follower", "--out", "with"]
    )
    assert again.exit_code == 0, again.output
    with pytest.raises(StoreError, match=r"parameters\.seated is"):
        CliRunner().invoke(app, [*command, "--out", "with"], catch_exceptions=False)


def test_processes_are_those_of_everybody(tmp_path: Path) -> None:
    path = tmp_path / "their_agent.py"
    path.write_text(RAISES.format(what="pass"))
    theirs = Spec(f"{path}:Theirs")
    what = evaluation(theirs, seated=[theirs, WANDERER])
    runner = ExerciseRunner(Isolation.AUTO)
    traces = list(runner.traces(what.make_protocol().propose(theirs, [])[:2]))
    assert len(runner._processes) == 3
    assert all(np.isfinite(trace.rewards).all() and len(trace) == 30 for trace in traces)
    runner.close()


def test_an_outcome_is_read_as_it_was_written() -> None:
    what = evaluation(WANDERER, seated=[NARROW])
    (outcome, *_) = evaluate(what, None, NONE).outcomes[WANDERER]
    assert Outcome.from_json(json.dumps(outcome.to_json())) == outcome


def test_a_campaign_seats_agents_too(tmp_path: Path) -> None:
    given: dict[str, Any] = {"interactions": 20, "exercises": 3}
    om.evaluate(["random", "follower"], "lambda", **given, seed=1, out=tmp_path / "stored")
    path = tmp_path / "campaign.toml"
    path.write_text(
        """
        seeds = [3]
        [[agents]]
        agent = "random"
        [[tests]]
        class = "lambda"
        interactions = 20
        exercises = 3
        seated = ["follower"]
        similar = "stored"
        count_seated = true
        [[tests]]
        name = "level"
        class = "lambda"
        definition = 19
        interactions = 1000
        seated = "follower"
        """
    )
    plan, _ = read_plan(path)
    same = om.evaluate(
        "random", "lambda", **given, seed=3, seated="follower", similar=tmp_path / "stored",
        count_seated=True,
    )  # fmt: skip
    sample, universal = (each.evaluation.protocol for each in plan.entries)
    assert sample == same.evaluation.protocol
    assert universal.parameters["seated"] == seats_of("follower", None)[0]
