"""Agents take exactly what people took, and what is said of both is right."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from omnimeter import results
from omnimeter.api.evaluation import agent_specs
from omnimeter.contract import InvalidInputError, Spec
from omnimeter.contract.errors import StoreError
from omnimeter.reports.people import BOTH, PEOPLE, Taker
from omnimeter.reports.people_page import comparison_json, sentences_of, tables_of
from omnimeter.web.comparison import Place, compare, exercise_names
from omnimeter.web.studies import Design, Question, Study
from played import BATTERY, a_study, answer, at_random, play

HUMANS = Taker(PEOPLE)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    """A study with four people who took it in different orders, and what each did."""
    path = tmp_path_factory.mktemp("played") / "study"
    design = Design(title="Small <study>", battery=BATTERY, order="balanced")
    study = Study.create(path, design)
    done = {each: play(study, each, at_random(each.number)) for each in study.invite(4)}
    return study, done


@pytest.fixture
def study(played, tmp_path):
    """A copy of it, for tests that change something."""
    path = tmp_path / "copy"
    shutil.copytree(played[0].path, path)
    return Study(path)


class Counting:
    """An agent that does in each exercise as its number says, as long as it is the same agent."""

    def __init__(self):
        self.number = -1

    def begin(self, briefing, rng):
        self.number, self.actions = self.number + 1, briefing.actions

    def act(self, reward, observation):
        return self.number % self.actions


def test_a_script_of_what_a_person_did_gets_the_same(played, study):
    scripts = {}
    for participant, actions in played[1].items():
        for exercise in (1, 2, 3):
            script = [action for number, action in actions if number == exercise]
            agent, _ = agent_specs(Spec("scripted-v1", {"actions": script}))
            scripts[participant, exercise] = agent[0]
    compare(study, list(scripts.values()))
    for (participant, exercise), agent in scripts.items():
        people = results.Record(study.folder(participant) / "evaluation")
        expected = people.outcomes().in_order()
        rewards = dict(people.traces())[expected[exercise - 1].exercise.key].rewards
        for memory in ("carried", "fresh"):
            record = results.Record(Place(study, agent, memory, participant).directory)
            done = record.outcomes().in_order()
            assert_array_equal(done.instances, expected.instances)
            assert_array_equal(done.complexities, expected.complexities)
            trace = dict(record.traces())[done[exercise - 1].exercise.key]
            assert_array_equal(trace.rewards, rewards)
            assert done.payoffs[exercise - 1] == expected.payoffs[exercise - 1]


def test_fresh_memory_is_all_that_differs(study):
    people = compare(study, ["random", Counting])
    payoffs = people.measured.payoffs
    random = [payoffs[Taker("random-v1", memory)] for memory in ("carried", "fresh")]
    assert_array_equal(*random)
    assert Taker("random-v1", BOTH) in people.taken.payoffs
    name = next(taker.agent for taker in people.agents if "Counting" in taker.agent)
    carried, fresh = (payoffs[Taker(name, memory)] for memory in ("carried", "fresh"))
    first = people.taken.positions == 1
    assert_array_equal(carried[first], fresh[first])
    assert np.any(carried != fresh)
    difference = next(each for each in people.memories if each.first.agent == name)
    assert difference.differing == np.sum(carried != fresh)
    assert difference.estimate.value == pytest.approx(np.mean(carried - fresh))
    said = " ".join(sentences_of(people))
    assert "random-v1 got the same with carried and with fresh memory" in said


def test_people_and_agents_meet_in_the_columns_of_the_battery(played, study):
    people = compare(study, "random")
    taken = people.taken
    assert taken.exercises == ("cells 3", "cells 4", "cells 5")
    assert taken.is_ordered
    for row, (participant, order) in enumerate(
        (each, study.design.places(study.seed, each.number)) for each in study.participants
    ):
        done = results.Record(study.folder(participant) / "evaluation").outcomes().in_order()
        for position, column in enumerate(order):
            cells = done[position].exercise.environment_class.parameters["cells"]
            assert taken.exercises[column] == f"cells {cells}"
            assert taken.payoffs[HUMANS][row, column] == done.payoffs[position]
            assert taken.complexities[row, column] == done.complexities[position]
            assert taken.positions[row, column] == position + 1
    assert {group.place for group in people.by_position} == {"1", "2", "3"}


def files_of(study):
    files = (path for path in study.path.rglob("*") if path.is_file())
    return {path: path.read_bytes() for path in files}


def test_a_second_call_only_computes(study):
    told = []
    first = compare(study, "random", tell=lambda *step: told.append(step))
    assert told[-1][1:] == (8, 8)
    told.clear()
    before = files_of(study)
    again = compare(study, "random", tell=lambda *step: told.append(step))
    assert told == []
    assert files_of(study) == before
    assert comparison_json(again) == comparison_json(first)
    late = study.invite(1)[0]
    play(study, late, at_random(9))
    compare(study, "random", tell=lambda *step: told.append(step))
    assert told[-1][1:] == (2, 2)


def test_workers_change_nothing(study, played, tmp_path):
    shutil.copytree(played[0].path, tmp_path / "other")
    several = compare(Study(tmp_path / "other"), "q-learning", workers=2)
    alone = compare(study, "q-learning")
    assert comparison_json(alone) == comparison_json(several)


def test_the_statistics_are_those_of_others_on_the_exported_data(study):
    people = compare(study, ["random", "q-learning"])
    data = json.loads(json.dumps(comparison_json(people)))
    values = {(each["agent"], each["memory"]): each["values"] for each in data["payoffs"]}
    humans, learner = (
        np.array(values[key]) for key in ((PEOPLE, None), ("q-learning-v1", "carried"))
    )
    table = data["tables"]["variance"]
    mine = [row for row in table if row["agent"] == "q-learning-v1"]
    expected = of_statsmodels(np.stack((humans, learner), axis=1))
    for row, theirs in zip(mine, expected, strict=True):
        got = [row[name] for name in ("f", "df_effect", "df_error", "p_value")]
        assert got == pytest.approx(theirs, rel=1e-6)
    complexities = np.array(data["complexities"])
    whole = next(
        row
        for row in data["tables"]["relations"]
        if (row["agent"], row["exercise"]) == ("q-learning-v1", "all")
    )
    pearson = stats.pearsonr(complexities.ravel(), learner.ravel()).statistic
    spearman = stats.spearmanr(complexities.ravel(), learner.ravel()).statistic
    assert (whole["pearson"], whole["spearman"]) == pytest.approx((pearson, spearman))
    assert whole["n"] == learner.size
    means = {row["agent"]: row for row in data["tables"]["means"]}
    assert means[PEOPLE]["mean"] == pytest.approx(humans.mean())
    assert means[PEOPLE]["deviation"] == pytest.approx(humans.std(ddof=1))
    differences = {row["agent"]: row for row in data["tables"]["differences"]}
    assert differences["q-learning-v1"]["difference"] == pytest.approx(np.mean(humans - learner))
    group = next(row for row in data["tables"]["quartiles"] if row["exercise"] == "cells 4")
    assert group["median"] == pytest.approx(np.median(humans[:, 1]))


def of_statsmodels(values):
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of imports
        import pandas as pd
        from statsmodels.stats.anova import AnovaRM

        subject, agent, exercise = np.indices(values.shape).reshape(3, -1)
        frame = pd.DataFrame({"s": subject, "a": agent, "e": exercise, "y": values.ravel()})
        return AnovaRM(frame, "y", "s", within=["a", "e"]).fit().anova_table.to_numpy()


def test_those_without_a_complete_test_are_counted_and_left_out(study):
    late, never, gone, blocked, damaged = study.invite(5)
    play(study, late, at_random(1), actions=5)
    for each in (gone, blocked, damaged):
        play(study, each, at_random(2), actions=None if each is not blocked else 5)
    study.withdraw(gone)
    with study.open_events(blocked) as log:
        log.add({"kind": "blocked", "time": 0.0})
    shard = next((study.folder(damaged) / "evaluation/outcomes").iterdir())
    shard.write_bytes(shard.read_bytes()[:-20] + b"x" * 20)
    people = compare(study, "random")
    taken = people.taken
    assert taken.participants == ("p0001", "p0002", "p0003", "p0004")
    assert taken.absent == {
        "did not finish the test": (late.name,),
        "did not begin the test": (never.name,),
        "away too long": (blocked.name,),
        "with damaged files": (damaged.name,),
    }
    assert taken.withdrawn == 1
    assert sentences_of(people)[0].startswith("4 of 9 participants took the whole test; left out:")
    agents = {path.name for path in study.path.glob("agents/*/*")}
    assert agents == {f"p000{n}-{memory}" for n in range(1, 5) for memory in ("carried", "fresh")}


def test_those_who_began_an_exercise_anew_are_counted(study):
    one, *_, other = study.participants
    for each, count in ((one, 2), (other, 1)):
        with study.open_events(each) as log:
            for _ in range(count):
                log.add({"kind": "restarted", "time": 0.0, "away": 9.0})
    people = compare(study, "random")
    assert people.taken.restarts == {one.name: 2, other.name: 1}


def test_a_study_without_complete_tests(tmp_path):
    study = Study.create(tmp_path / "s", Design(title="None", battery=BATTERY))
    study.invite(2)
    with pytest.raises(InvalidInputError, match="No participant"):
        compare(study, "random")
    with pytest.raises(InvalidInputError, match="no agent"):
        compare(study, [])
    with pytest.raises(InvalidInputError, match="person"):
        compare(study, "person")


def test_changed_files_are_noticed(study):
    compare(study, "random")
    one = next(study.path.glob("agents/*/p0001-carried"))
    other = next(study.path.glob("agents/*/p0002-carried"))
    shutil.rmtree(one)
    shutil.copytree(other, one)
    with pytest.raises(StoreError):
        compare(study, "random")


@pytest.mark.parametrize("people", [1, 2])
def test_few_participants(tmp_path, people):
    study, _ = a_study(tmp_path / "s", people)
    compared = compare(study, "random")
    tables = tables_of(compared)
    assert ("variance" in tables) == (people > 1)
    assert compared.differences[0].estimate.count == people
    assert str(compared.differences[0].verdict) == (
        "too few exercises in common" if people == 1 else "no difference shown"
    )
    assert "positions" not in tables  # all had one order


def test_a_single_exercise(tmp_path):
    battery = {**BATTERY, "exercises": BATTERY["exercises"][:1]}
    study, _ = a_study(tmp_path / "s", 3, battery=battery)
    compared = compare(study, "random")
    assert [each.exercise for each in compared.variances] == [None]
    assert [each.exercise for each in compared.relations] == ["", ""]
    assert len(tables_of(compared)["exercises"].rows) == 2


def test_constant_payoffs_and_equal_environments(tmp_path):
    buttons = [{"environment_class": "lambda-v1(cells=3)", "interactions": 4}] * 2
    battery = {"title": "same", "exercises": buttons}
    study, _ = a_study(tmp_path / "s", 3, battery=battery, environments="same")
    compared = compare(study, "constant(action=0)")
    constant = compared.taken.payoffs[Taker("constant-v1(action=0)", BOTH)]
    assert np.ptp(constant, axis=0).tolist() == [0.0, 0.0]
    data = comparison_json(compared)
    json.dumps(data, allow_nan=False)
    whole = [row for row in data["tables"]["relations"] if row["exercise"] != "all"]
    assert {row["pearson"] for row in whole} == {None}
    assert exercise_names([]) == []


def test_questions_and_reactions(study):
    first, second, *_ = study.participants
    answer(study, first, motivation=2, usability=5, strategy="At <b>random</b>")
    answer(study, second, motivation=4, usability=None, strategy="")
    compared = compare(study, "random")
    questions = {each.name: each for each in compared.taken.questions}
    assert questions["motivation"].counts == [0, 1, 0, 1, 0]
    assert (questions["usability"].answers, questions["usability"].asked) == ((5,), 2)
    row = tables_of(compared)["questions"].rows[0]
    assert [cell.text for cell in row[:3]] == ["motivation", "2 of 2", "3.00"]
    # Of an exercise in position e, answer s took 100 e + s milliseconds.
    for each, order in zip(
        compared.taken.reactions,
        (study.design.places(study.seed, one.number) for one in study.participants),
        strict=True,
    ):
        for position, column in enumerate(order, 1):
            count = BATTERY["exercises"][column]["interactions"]
            assert_allclose(each[column], 100 * position + np.arange(count))
    assert compared.reactions[-1].exercise == ""
    assert compared.reactions[-1].answers == 4 * 48


def test_a_scale_and_a_choice_of_ones_own(tmp_path):
    questions = (
        Question("happy", "Are you?", "choice", ("yes", "no")),
        Question("how", "How?", "scale", steps=3),
    )
    study, (one,) = a_study(tmp_path / "s", 1, questionnaire=questions)
    answer(study, one, happy="no", how=3)
    asked = compare(study, "random").taken.questions
    assert [(each.options, each.counts) for each in asked] == [
        (("yes", "no"), [0, 1]),
        ((1, 2, 3), [0, 0, 1]),
    ]


def test_an_anytime_test_compares_scores_and_levels(tmp_path):
    test = {"class": "lambda", "interactions": 300}
    study, _ = a_study(tmp_path / "s", 3, battery=None, test=test)
    compared = compare(study, "random")
    taken = compared.taken
    assert [taker.memory for taker in compared.agents] == ["fresh"]
    assert taken.exercises == ("test",)
    assert all(np.isfinite(levels).all() for levels in taken.levels.values())
    (difference,) = compared.differences
    levels = [taken.levels[taker] for taker in taken.takers]
    assert difference.level is not None
    assert difference.level.value == pytest.approx(np.mean(levels[0] - levels[1]))
    headings = tables_of(compared)["means"].headings
    assert {"Mean score", "Level"} <= {*headings}
    assert "relations" not in tables_of(compared)


@pytest.mark.parametrize(
    ("classes", "names"),
    [
        (["cups-v1", "lambda-v1(cells=3)"], ["cups", "lambda"]),
        (["cups-v1", "cups-v1"], ["1: cups", "2: cups"]),
        (["lambda-v1(cells=3)"], ["lambda"]),
    ],
)
def test_names_of_exercises(classes, names):
    from omnimeter.protocols.battery import find_battery

    exercises = [{"environment_class": each, "interactions": 5} for each in classes]
    plan = find_battery({"title": "t", "exercises": exercises})
    assert exercise_names(plan.exercises) == names
