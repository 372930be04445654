"""Choose(U, xi, H, used) of the anytime test, Definition 18, lines 10 to 17."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from ladder import Ladder
from omnimeter.catalogue import Kind, make
from omnimeter.contract import Spec
from omnimeter.protocols.anytime import choose

SOME = Ladder({"2": 2, "2.5": 4, "4": 3})


def chosen(level, used=frozenset(), ladder=SOME, seed=0):
    return choose(ladder, level, used, np.random.default_rng(seed))


@given(st.floats(0.1, 10), st.integers(0, 99))
def test_the_complexity_lies_in_the_band(level, seed):
    choice = chosen(level, seed=seed)
    assert choice.level - 1 <= SOME.complexity(choice.instance) <= choice.level
    assert 2 <= choice.level <= 4


@pytest.mark.parametrize(
    ("level", "chosen_level"),
    [(0.3, 2.3), (1, 2), (2.9, 2.9), (3.2, 3.2), (3.6, 4), (3.55, 4), (4, 4), (1000, 4)],
)
def test_the_level_grows_by_one_until_there_is_something_and_ends_with_the_class(
    level, chosen_level
):
    assert chosen(level).level == pytest.approx(chosen_level)


def test_inside_the_band_the_probability_is_two_to_the_minus_h():
    rng = np.random.default_rng(5)
    counts = Counter(choose(SOME, 2.9, frozenset(), rng).instance.key for _ in range(4000))
    members = SOME.all(1.9, 2.9)
    weights = np.array([2.0 ** -SOME.complexity(each) for each in members])
    expected = 4000 * weights / weights.sum()
    assert len(counts) == 6
    assert chisquare([counts[each.key] for each in members], expected).pvalue > 1e-4


@pytest.mark.parametrize("listed", [True, False])
def test_never_the_same_twice_then_the_next_level_then_nothing(listed):
    ladder = Ladder({"2": 2, "2.5": 4, "4": 30}, listed=listed)
    rng, used, levels = np.random.default_rng(1), set(), []
    while choice := choose(ladder, 2.5, used, rng):
        assert choice.instance.key not in used
        used.add(choice.instance.key)
        levels.append(choice.level)
    assert len(used) == 36
    assert levels == [2.5] * 6 + [4] * 30  # 3.5 has nothing, and 4.5 lies above the class


def test_what_is_left_of_a_band_keeps_its_weights():
    members = SOME.all(2, 2.5)
    used = {
        each.key for each in (members[0], *members[3:])
    }  # one of complexity 2, one of 2.5 are left
    rng = np.random.default_rng(2)
    counts = Counter(choose(SOME, 2.5, used, rng).instance.key for _ in range(2000))
    assert set(counts) == {members[1].key, members[2].key}
    assert counts[members[1].key] / 2000 == pytest.approx(2**0.5 / (1 + 2**0.5), abs=0.05)


def test_equal_randomness_at_equal_levels_gives_equal_environments():
    assert chosen(2.7, seed=3) == chosen(2.7, seed=3)
    assert {chosen(2.7, seed=seed).instance.key for seed in range(30)} > {chosen(2.7).instance.key}


@pytest.mark.parametrize("label", ["cups-v1", "lambda-v1", "automata-v1", "torus-v1"])
@pytest.mark.parametrize("above", [0.0, 0.7, 9.0])
def test_every_class_of_the_catalogue_can_be_chosen_from(label, above):
    environment_class = make(Kind.ENVIRONMENT, Spec(label))
    level = environment_class.complexity_range()[0] + above
    rng = np.random.default_rng(7)
    used = set()
    for _ in range(5):
        choice = choose(environment_class, level, used, rng)
        assert choice.instance.key not in used
        used.add(choice.instance.key)
        assert choice.level - 1 <= environment_class.complexity(choice.instance) <= choice.level
