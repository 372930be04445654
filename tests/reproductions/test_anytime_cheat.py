"""The cheat: that its rules are what they say, that it runs, and that it can disagree."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.contract import Spec
from omnimeter.reproductions.anytime import cheat
from omnimeter.reproductions.anytime.cheat import Results, Run, gain, run_of
from omnimeter.reproductions.anytime.shared import run_test

SMALL = {"repetitions": 6, "rounds": 12}


@pytest.fixture(scope="module")
def both():
    return cheat.run(SMALL["repetitions"], SMALL["rounds"], lambda *_: None)


def made_up(rng, reward, level, states, rounds=12, repetitions=30):
    """A run with about such rewards, levels and states in each round."""
    shape = (rounds, repetitions)
    return Run(
        np.cumsum(1.5 ** np.arange(rounds)),
        np.clip(rng.normal(reward, 0.05, size=shape), -1, 1),
        level + rng.uniform(-1, 1, size=shape),
        np.broadcast_to(np.resize(states, rounds)[:, np.newaxis], shape),
    )


def results_with(
    rng, honest=0.5, cheating=0.2, limited=0.1, level=30.0, states=(2, 20), failing=None
):
    """Results as the text expects them, unless reports otherwise."""
    run = made_up(rng, cheating, level, states)
    if failing is not None:
        hard = run.states > 10
        run = replace(run, rewards=np.where(hard, failing, run.rewards))
    return Results(
        cheat.UNTIMED,
        made_up(rng, honest, 300.0, 20),
        dict.fromkeys(cheat.EASY, run),
        dict.fromkeys(cheat.EASY, made_up(rng, limited, 60.0, 10)),
    )


def verdict(results, word):
    (statement,) = [each for each in cheat.statements([results]) if word in each.claim]
    return statement


def test_both_tests_have_as_many_whole_exercises_as_wanted(both):
    for each in both:
        assert each.honest.rewards.shape == (SMALL["rounds"], SMALL["repetitions"])
    untimed, timed = both
    assert untimed.honest.lengths[:5].tolist() == [1, 3, 6, 11, 19]
    assert timed.honest.lengths[:3].tolist() == pytest.approx([1, 2.5, 4.75])
    assert timed.honest.lengths[-1] == pytest.approx(2 * (1.5 ** SMALL["rounds"] - 1))


def test_a_run_is_what_the_test_scores():
    protocol = cheat.UNTIMED.spec(4, 8)
    test = run_test(protocol, cheat.cheat(3))
    assert run_of(test, 4).rewards.mean() == pytest.approx(test.test.score(test.outcomes).value)
    assert run_of(test, 4).levels[-1].mean() == pytest.approx(
        test.test.score(test.outcomes).parts["level"]
    )


def test_cheats_and_limited_do_as_the_honest_until_they_meet_what_is_hard(both):
    for each in both:
        for easy in cheat.EASY:
            for other in (each.cheats[easy], each.limited[easy]):
                met = np.cumsum(other.states > easy, axis=0) > 0
                assert np.all((other.rewards == each.honest.rewards) | met)


def test_no_cheat_gets_more_than_its_level_allows(both):
    for each in both:
        for run in (*each.cheats.values(), *each.limited.values()):
            exercises = np.arange(1, run.rounds + 1)[:, np.newaxis]
            scores = np.cumsum(run.rewards, axis=0) / exercises
            level = (run.levels + 1) * (1 + run.rewards / 2)  # it lay at most 1 above
            assert np.all(scores <= cheat.score_bound(exercises, level / run.levels[0]) + 1e-9)


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=30))
def test_the_bound_of_the_score_holds_for_all_rewards(rewards):
    level = 1.0
    for reward in rewards:
        level = cheat.published(level, reward)
    bound = cheat.score_bound(np.array(float(len(rewards))), np.array(level))
    assert np.mean(rewards) <= bound + 1e-9


def test_the_rules_do_what_the_text_says_of_them():
    little = cheat.A_LITTLE
    assert cheat.model_rewards(cheat.same_step, little, 10_000).mean() == pytest.approx(
        0.495, abs=0.001
    )
    assert abs(cheat.model_rewards(cheat.published, little, 10_000).mean()) < 0.005
    assert abs(cheat.model_rewards(cheat.even, 1.0, 10_000).mean()) < 0.001
    assert pytest.approx(0.2619, abs=1e-4) == cheat.MAX_SCORE
    assert cheat.same_step(30.0, 0.0) == 30.0


@pytest.mark.parametrize("failing", [0.01, 0.3, 1.0])
def test_the_model_tends_to_its_long_run(failing):
    assert cheat.model_rewards(cheat.published, failing, 20_000).mean() == pytest.approx(
        cheat.long_run(failing), abs=0.002
    )


def test_it_runs_and_writes_and_is_the_same_again(tmp_path):
    reports = []
    first, second = (
        cheat.reproduce(tmp_path / name, lambda doing, done: reports.append((doing, done)), **SMALL)
        for name in ("one", "two")
    )
    assert first.figures == second.figures
    assert first.rows == second.rows
    for name, path in first.files.items():
        assert path.read_bytes() == second.files[name].read_bytes()
    assert len(first.rows) == 2 * len(cheat.EASY) * 3
    assert json.loads(json.dumps(first.to_json()))["name"] == "anytime-cheat"
    assert all(0 <= done <= 1 for _, done in reports)
    assert reports[-1][1] == 1.0


def test_what_is_expected_agrees():
    rng = np.random.default_rng(0)
    results = results_with(rng, failing=-0.8)
    assert verdict(results, "does not gain").holds
    assert verdict(results, "simple levels").holds
    assert verdict(results, "negative rewards").holds
    assert verdict(results, "around 0.5").holds
    assert verdict(results, "With line 20").holds


def test_each_statement_of_the_runs_can_differ():
    rng = np.random.default_rng(0)
    assert verdict(results_with(rng, honest=0.1), "does not gain").holds is False
    assert verdict(results_with(rng, level=400.0), "simple levels").holds is False
    assert verdict(results_with(rng, states=(20,)), "simple levels").holds is False
    assert verdict(results_with(rng, failing=0.1), "negative rewards").holds is False
    assert verdict(results_with(rng, states=(2,)), "negative rewards").holds is False


def test_a_gain_over_the_limited_has_its_reason():
    rng = np.random.default_rng(0)
    gains = verdict(results_with(rng, cheating=0.2, limited=0.1), "no agent gains")
    assert gains.holds is False
    assert "0.262" in gains.reason
    loses = verdict(results_with(rng, cheating=0.2, limited=0.4), "no agent gains")
    assert loses.holds is True
    assert not loses.reason


def test_differences_are_paired_by_repetition():
    rng = np.random.default_rng(0)
    one = made_up(rng, 0.2, 30.0, 2)
    repetitions = np.linspace(-0.5, 0.5, 30)
    one = replace(one, rewards=one.rewards + repetitions)
    other = replace(one, rewards=one.rewards - rng.normal(0.1, 0.01, size=one.rewards.shape))
    difference = gain(one, other, 12)
    assert difference.value == pytest.approx(0.1, abs=0.01)
    assert difference.high - difference.low < 0.01


def test_the_limited_is_made_from_its_module():
    test = run_test(cheat.TIMED.spec(2, 4), cheat.limited(3), stream_of=Spec("model-learner-v1"))
    assert len(test.outcomes) == 8
