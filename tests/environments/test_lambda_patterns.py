"""The patterns that Good and Evil follow."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.contract import InvalidInputError
from omnimeter.environments.lambda_class.patterns import (
    draw_pattern,
    format_pattern,
    parse_pattern,
    pattern_length,
)


@st.composite
def patterns(draw: st.DrawFn) -> tuple[list[int], int]:
    actions = draw(st.integers(2, 30))
    return draw(st.lists(st.integers(0, actions - 1), min_size=1, max_size=40)), actions


@given(patterns())
def test_patterns_round_trip(case: tuple[list[int], int]) -> None:
    pattern, actions = case
    text = format_pattern(pattern, actions)
    assert parse_pattern(text, actions).tolist() == pattern
    assert format_pattern(parse_pattern(text, actions), actions) == text
    assert pattern_length(text, actions) == len(pattern)


def test_the_pattern_of_the_thesis_is_read() -> None:
    assert parse_pattern("203210200", 4).tolist() == [2, 0, 3, 2, 1, 0, 2, 0, 0]


def test_beyond_ten_actions_numbers_are_separated() -> None:
    assert parse_pattern("2,0,10", 11).tolist() == [2, 0, 10]
    assert format_pattern([2, 0, 10], 11) == "2,0,10"
    assert format_pattern([2, 0, 9], 10) == "209"


@pytest.mark.parametrize(
    ("text", "actions", "message"),
    [
        ("", 4, "at character 1: found nothing, expected an action from 0 to 3"),
        ("2042", 4, "at character 3: found '4', expected an action from 0 to 3"),
        ("20x", 4, "at character 3: found 'x'"),
        ("2,0", 4, "at character 2: found ','"),
        ("20 1", 4, "at character 3: found ' '"),
        ("٢", 4, "at character 1: found '٢'"),
        ("", 12, "at character 1: found nothing, expected an action from 0 to 11"),
        ("2,10,12", 12, "at character 6: found '12', expected an action from 0 to 11"),
        ("2,,1", 12, "at character 3: found nothing"),
        ("2,", 12, "at character 3: found nothing"),
        ("2,01", 12, "at character 3: found '01'"),
        ("203210200", 12, "at character 1: found '203210200'"),
    ],
)
def test_a_wrong_pattern_names_the_position(text: str, actions: int, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        parse_pattern(text, actions)


@given(st.integers(0, 2**32), st.integers(2, 20), st.floats(0.01, 1))
def test_drawn_patterns_have_actions_that_exist(seed: int, actions: int, stop: float) -> None:
    pattern = draw_pattern(np.random.default_rng(seed), actions, stop)
    assert len(pattern) >= 1
    assert pattern.min() >= 0
    assert pattern.max() < actions


def test_certain_stopping_draws_one_action() -> None:
    rng = np.random.default_rng(1)
    assert [len(draw_pattern(rng, 3, 1.0)) for _ in range(20)] == [1] * 20


def test_length_and_actions_have_their_distributions() -> None:
    rng = np.random.default_rng(2)
    drawn = [draw_pattern(rng, 4, 0.1) for _ in range(4000)]
    # Lengths have mean 10 and standard deviation 9.5; bounds at five standard errors.
    assert np.mean([len(pattern) for pattern in drawn]) == pytest.approx(10, abs=0.75)
    shares = np.bincount(np.concatenate(drawn), minlength=4) / sum(map(len, drawn))
    assert shares == pytest.approx([0.25] * 4, abs=0.011)


@pytest.mark.parametrize("stop", [0.0, -0.5, 1.5, float("nan"), float("inf")])
def test_stopping_needs_a_probability_above_zero(stop: float) -> None:
    with pytest.raises(InvalidInputError, match=r"not in \(0, 1\]"):
        draw_pattern(np.random.default_rng(1), 3, stop)


def test_patterns_beyond_memory_are_rejected() -> None:
    with pytest.raises(InvalidInputError, match="greater probability"):
        draw_pattern(np.random.default_rng(1), 3, 1e-15)
