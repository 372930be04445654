"""Predictors of series: against known answers, in all kinds of the C-test, and elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.agents.predictors import PPM, NGram, Solomonoff
from omnimeter.contract import Agent, InvalidInputError, stream
from omnimeter.environments.c_test import CTest, written
from omnimeter.environments.cups import Cups
from omnimeter.series.search import table
from omnimeter.testing import AgentSuite

PREDICTORS = [Solomonoff, NGram, PPM, lambda: NGram(of="steps"), lambda: PPM(of="steps")]


def total(environment_class: CTest, agent: Agent, interactions: int, seed: int = 0) -> float:
    rng = stream(seed).generator()
    environment = environment_class.build(environment_class.draw(rng))
    reward, observation = environment.start(rng)
    agent.begin(environment.briefing(), rng)
    rewards = []
    for _ in range(interactions):
        reward, observation = environment.step(int(agent.act(reward, observation)))
        rewards.append(reward)
    agent.finish(reward, observation)
    return sum(rewards)


@pytest.mark.parametrize("choices", [0, 2, 4])
@pytest.mark.parametrize("series", ["a,d,g,j", "a,a,z,c,y,e,x"])
def test_all_programs_answer_the_printed_series(series: str, choices: int) -> None:
    end = CTest("end", choices=choices, series=series)
    assert total(end, Solomonoff(), 1) == 1
    each = CTest("each", choices=choices, series=series)
    assert total(each, Solomonoff(), 100) > 90


def test_a_machine_that_is_not_known_far_enough_is_guessed_at() -> None:
    deep = CTest("each", series="a,a,z,c,y,e,x")  # of seven instructions
    assert total(deep, Solomonoff(depth=4), 60) < 40


@pytest.mark.parametrize("make", PREDICTORS)
@pytest.mark.parametrize("choices", [0, 4])
def test_what_repeats_is_predicted_by_all(make: type[Agent], choices: int) -> None:
    environment_class = CTest("each", choices=choices, series="a,b,a,b,a")
    assert total(environment_class, make(), 40) > 30


@pytest.mark.parametrize("make", [NGram, PPM])
def test_only_steps_tell_how_a_progression_goes_on(make: type) -> None:
    environment_class = CTest("end", choices=0, series="a,d,g,j")
    assert total(environment_class, make(of="steps"), 1) == 1
    assert total(environment_class, make(of="letters"), 1) < 1


def symbols(agent: Agent, letters: int, series: Sequence[int]) -> np.ndarray:
    agent.letters = letters  # type: ignore[attr-defined]
    return agent.predict(series)  # type: ignore[attr-defined,no-any-return]


def test_escapes_of_ppm_are_those_of_method_c() -> None:
    """After a b a b a: order 1, context a: b twice of 2 + 1; then order 0 without b: a 3 of 3 + 1;
    what is left is shared by the two letters that never came.
    """
    results = symbols(PPM(order=1), 4, [0, 1, 0, 1, 0])
    assert results.tolist() == pytest.approx([1 / 3 * 3 / 4, 2 / 3, 1 / 24, 1 / 24])


@given(st.lists(st.integers(0, 3), max_size=12), st.integers(0, 5))
def test_ppm_gives_probabilities(series: list[int], order: int) -> None:
    results = symbols(PPM(order=order), 4, series)
    assert results.sum() == pytest.approx(1)
    assert (results > 0).all()


def test_longer_contexts_of_n_grams_decide_and_shorter_ones_break_ties() -> None:
    series = [0, 1, 2, 0, 1, 3, 3, 3, 0, 1]
    results = symbols(NGram(order=2), 5, series)
    assert results.argsort()[::-1].tolist()[:2] == [3, 2]  # both once after 0 1; 3 is more frequent
    assert symbols(NGram(order=2), 5, []).tolist() == [0] * 5


@given(st.integers(0, 11), st.integers(0, 2**32))
def test_solomonoff_weighs_all_programs_that_write_what_was_seen(count: int, seed: int) -> None:
    whole = table(5, 26)
    rng = np.random.default_rng(seed)
    row = int(rng.integers(len(whole.keys)))
    series = [ord(each) - ord("a") for each in written(whole.program(row), count)]
    agent = Solomonoff(depth=5)
    agent.letters, agent.series = 26, series
    expected = np.zeros(26)
    for other in range(len(whole.keys)):
        text = [ord(each) - ord("a") for each in written(whole.program(other), count + 1)]
        if text[:count] == series:
            expected[text[count]] += whole.weights[other]
    assert np.array_equal(agent.plausibility(), expected)  # sums of powers of two are exact


@pytest.mark.parametrize("make", PREDICTORS)
def test_elsewhere_all_act_at_random(make: type[Agent]) -> None:
    agent, cups = make(), Cups(5, 5)
    environment = cups.build(cups.draw(stream(0).generator()))
    reward, observation = environment.start(stream(0).generator())
    agent.begin(environment.briefing(), stream(1).generator())
    actions = [agent.act(reward, observation) for _ in range(100)]
    assert set(actions) == set(range(5))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Solomonoff(12), "up to 12 instructions"),
        (lambda: NGram(-1), "The order is -1"),
        (lambda: PPM(13), "The order is 13"),
        (lambda: PPM(of="words"), "There are no 'words'"),
    ],
)
def test_bad_parameters_are_said_at_once(make: object, said: str) -> None:
    with pytest.raises(InvalidInputError, match=said):
        make()  # type: ignore[operator]


class _InTheCTest(AgentSuite):
    def environments(self):
        elsewhere = super().environments()
        own = [CTest(), CTest("end"), CTest("end", choices=0), CTest(letters=2, choices=2)]
        return [*own, *elsewhere]


class TestSolomonoff(_InTheCTest):
    agent_class = Solomonoff


class TestNGram(_InTheCTest):
    agent_class = NGram


class TestPPM(_InTheCTest):
    agent_class = PPM
