"""Agents in the anytime test, alone and in company: pairing, sharing and what is written."""

import json
from dataclasses import replace

import numpy as np
import pytest

from omnimeter.contract import Budget, Spec
from omnimeter.environments.lambda_class import Lambda
from omnimeter.reproductions.anytime import social
from omnimeter.reproductions.anytime.shared import run_test
from omnimeter.reproductions.anytime.social import ALONE, OPEN, SHARED, Scores
from omnimeter.reproductions.lambda_thesis.shared import FOLLOWER, RANDOM
from omnimeter.reproductions.shared import Verdict, draw_exercises


def test_the_environments_of_a_test_give_its_score_again():
    protocol = {"environment_class": "lambda-v1", "repetitions": 3, "length": 30}
    taken = run_test(Spec("anytime-untimed-v1", protocol), FOLLOWER.spec)
    again, gains = social.again_in(Lambda(), taken.test, taken.outcomes, FOLLOWER, (), {})
    assert (gains >= again).all()
    assert again.tolist() == pytest.approx([taken.values[each] for each in range(3)])


def test_who_shares_a_cell_gets_its_part():
    """With one cell to go to for everybody, rewards are divided by the number of agents there."""
    exercises = draw_exercises(social.EXAMPLE, Budget(interactions=40), 4)
    split = [social._changed(each, {"sharing": True}) for each in exercises]
    company = (FOLLOWER, FOLLOWER)
    free, parts = (
        np.concatenate([
            trace.rewards
            for trace in social.traces_of(social.EXAMPLE, FOLLOWER, company, each)
        ])
        for each in (exercises, split)
    )  # fmt: skip
    different = free != 0
    assert set(np.round(free[different] / parts[different]).astype(int)) <= {1, 2, 3}
    assert (np.abs(parts) < np.abs(free)).any()


def test_a_chasing_inhabitant_is_added_to_the_same_environment():
    exercise = draw_exercises(Lambda(), Budget(interactions=1), 1)[0]
    data = exercise.instance.data
    given = replace(exercise, instance=type(exercise.instance)({**data, "actions": 3}))
    (added,) = social._changed(given, {"chased": True}).instance.data["objects"]
    assert added["perception"] == "adjacent"


def scores(among, opened):
    """Scores that company changes by this much, and this much where nothing is taken."""
    rng = np.random.default_rng(0)
    values = {ALONE: 0.3, ALONE + OPEN: 0.4}
    for who in social.COMPANIES:
        values |= {who: 0.3 + among, who + SHARED: 0.1, who + OPEN: 0.4 + opened}
    noisy = {key: value + rng.normal(0, 0.002, 20) for key, value in values.items()}
    return Scores(noisy, noisy, noisy)


@pytest.mark.parametrize(
    ("among", "opened", "verdict"),
    [
        (0.0, 0.0, Verdict.AGREES),
        (-0.2, 0.0, Verdict.EXPLAINED),
        (-0.2, -0.2, Verdict.DIFFERS),
    ],
)
def test_company_that_matters_needs_a_tested_reason(among, opened, verdict):
    given = {each.name: scores(among, opened) for each in social.CANDIDATES}
    first, *_ = social._company_statements("lambda-universal-v1", given)
    assert RANDOM.title.lower() in first.claim
    assert first.verdict is verdict


@pytest.mark.slow
def test_a_small_version_writes_what_it_found_and_is_the_same_again(tmp_path):
    small = {"repetitions": 4, "length": 30, "environments": 4, "interactions": 30}
    result, again = (social.reproduce(tmp_path / each, **small, table_bits=20) for each in "ab")
    assert repr(result.to_json()).replace("/a/", "/b/") == repr(again.to_json())
    assert json.loads(json.dumps(result.to_json()))["name"] == "social-anytime"
    for path in result.files.values():
        assert path.stat().st_size > 0
    alone = [each for each in result.rows if each["condition"] == ALONE]
    assert len(alone) == 2 * 2 * 3
    assert all(each["change"] == 0 for each in alone)
