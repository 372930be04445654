"""Convergence: that widths, spreads and laws are what they say, and that it can disagree."""

import json
from dataclasses import replace

import numpy as np
import pytest

from omnimeter.contract import Spec
from omnimeter.protocols.repetitions import Repetitions
from omnimeter.reproductions.anytime import convergence, remainder
from omnimeter.reproductions.anytime.convergence import SUBJECTS, Series
from omnimeter.reproductions.anytime.shared import run_test

RANDOM, LEARNER, *_ = SUBJECTS
SMALL = {"seeds": 3, "repetitions": 4, "rounds": 10}
LENGTHS = np.cumsum(np.ceil(1.5 ** np.arange(20)))


def made_up(rng, spreads, means=0.0, subject=RANDOM, tests=20):
    """Series whose rewards have such means and standard deviations in each round."""
    rewards = rng.normal(size=(tests, 20, 20)) * np.resize(spreads, 20)[:, np.newaxis]
    shifted = rewards + np.resize(means, 20)[:, np.newaxis]
    return Series(subject, LENGTHS, np.clip(shifted, -1, 1))


def verdict(results, word):
    (statement,) = [each for each in convergence.statements(results) if word in each.claim]
    return statement


def test_scores_and_widths_are_those_of_the_test():
    protocol = LEARNER.test(seed=3, repetitions=5, rounds=9)
    test = run_test(protocol, Spec(LEARNER.agent))
    table = Repetitions(5, test.outcomes).table()
    tests = Series(LEARNER, LENGTHS[:9], table[np.newaxis])
    assert len(test.course) == 9
    for place, moment in enumerate(test.course):
        assert tests.scores[0, place].mean() == pytest.approx(moment.value)
        width = moment.interval.high - moment.interval.low
        assert tests.widths[0, place] == pytest.approx(width)
    assert tests.stabilities[0, -1] == pytest.approx(
        test.test.score(test.outcomes).parts["stability"]
    )


def test_a_longer_test_begins_as_a_shorter_one():
    short, long = (
        Repetitions(3, run_test(LEARNER.test(1, 3, rounds), Spec(LEARNER.agent)).outcomes).table()
        for rounds in (6, 8)
    )
    assert np.array_equal(short, long[:6])


def test_the_law_of_rewards_that_vary_alike_is_a_root():
    tests = made_up(np.random.default_rng(0), 0.2, tests=100)
    power = convergence.exponent(tests)
    assert power.low < -0.5 < power.high
    assert convergence.variance_per_exercise(tests).value == pytest.approx(0.04, abs=0.01)


def test_the_law_of_noise_at_first_only_is_a_reciprocal():
    tests = made_up(np.random.default_rng(0), [0.3] * 4 + [0.0] * 16)
    assert convergence.exponent(tests).value == pytest.approx(-1, abs=1e-9)
    assert convergence.variance_per_exercise(tests).value == pytest.approx(0, abs=1e-9)


def test_more_repetitions_narrow_like_a_root():
    tests = made_up(np.random.default_rng(0), 0.2, tests=200)
    spreads = convergence.by_repetitions(tests)
    assert list(spreads) == list(convergence.GROUPS)
    assert convergence.power_of_repetitions(tests) == pytest.approx(-0.5, abs=0.1)


def test_a_tenth_of_the_length():
    tests = made_up(np.random.default_rng(0), 0.2)
    ratio = LENGTHS[-1] / LENGTHS[tests.tenth()]
    assert 8 < ratio < 12.5


def test_what_shrinks_agrees_and_what_does_not_differs():
    rng = np.random.default_rng(0)
    good = {"random": made_up(rng, 0.2)}
    assert verdict(good, "better").holds
    growing = made_up(rng, [0.01] * 10 + [0.6] * 10)
    assert verdict({"random": growing}, "better").holds is False


def test_a_random_agent_away_from_0_differs_and_learners_do_not_matter():
    rng = np.random.default_rng(0)
    fine = made_up(rng, 0.2)
    away = made_up(rng, 0.1, means=0.1)
    learner = made_up(rng, 0.1, means=0.3, subject=LEARNER)
    assert verdict({"random": fine, "q-learning": learner}, "expectation").holds
    assert verdict({"random": away, "q-learning": learner}, "expectation").holds is False


def test_only_a_share_makes_the_curve_of_scores_continuous():
    rng = np.random.default_rng(0)
    lengths = np.array([10.0, 11.0, 20.0, 21.0])
    steady, jumping = rng.normal(0.4, 0.01, size=8), np.array([[0.0], [-0.1], [0.0], [0.05]])
    smooth = steady + np.array([[0.0], [0.001], [0.05], [0.051]])
    scores = {"share": smooth, **dict.fromkeys(("whole", "omitted", "merged"), steady + jumping)}
    curve = remainder.Curve(19, lengths, scores)
    assert curve.steps("whole") == pytest.approx([-0.1, 0.05])
    assert remainder.statement([curve]).holds
    assert not remainder.statement(
        [replace(curve, scores={**scores, "share": steady + jumping})]
    ).holds


def test_the_rules_for_the_last_exercise_agree_where_none_is_cut_off():
    (untimed, timed) = remainder.curves(6, 12, lambda doing, done: None)
    for curve in (untimed, timed):
        assert all(
            np.allclose(curve.scores["share"][-1], each[-1]) for each in curve.scores.values()
        )
        assert not np.allclose(curve.scores["share"][-2], curve.scores["omitted"][-2])
    whole = run_test(LEARNER.test(0, 6, 12), Spec(LEARNER.agent))
    assert untimed.lengths[-1] == whole.course[-1].length
    assert untimed.scores["share"][-1] == pytest.approx(list(whole.values.values()))
    cut = {"environment_class": "automata-v1", "interactions": 6 * 181, "repetitions": 6}
    shorter = run_test(Spec("anytime-untimed-v1", cut), Spec(LEARNER.agent))
    (place,) = np.flatnonzero(untimed.lengths == 181)
    assert untimed.scores["share"][place] == pytest.approx(list(shorter.values.values()))


def test_it_runs_and_writes_and_is_the_same_again(tmp_path):
    reports = []
    first, second = (
        convergence.reproduce(
            tmp_path / name, lambda doing, done: reports.append((doing, done)), **SMALL
        )
        for name in ("one", "two")
    )
    assert first.figures == second.figures
    assert first.rows == second.rows
    for name, path in first.files.items():
        assert path.read_bytes() == second.files[name].read_bytes()
    assert [row["exercises"] for row in first.rows] == [4, 8, 10] * len(SUBJECTS)
    assert json.loads(json.dumps(first.to_json()))["name"] == "anytime-convergence"
    assert all(0 <= done <= 1 for _, done in reports)
    assert reports[-1][1] == 1.0
