"""The shortest expression of a path, and the rules of every prefix code."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.complexity import (
    expand,
    primitive_period,
    read_elias_gamma,
    read_expression,
    read_truncated_binary,
    shortest_expression,
)

LETTERS = "LRUDS"
paths = st.text(LETTERS, min_size=1, max_size=20)


class Read(NamedTuple):
    """An expression, read by a reader that shares nothing with ours but the two number codes."""

    path: str
    letters: int
    end: int


def read(code: str, at: int, alphabet: str) -> Read:
    count, at = read_elias_gamma(code, at)
    path, letters = "", 0
    for _ in range(count):
        if code[at] == "0":
            letter, at = read_truncated_binary(code, at + 1, len(alphabet))
            path, letters = path + alphabet[letter], letters + 1
        else:
            times, at = read_elias_gamma(code, at + 1)
            body = read(code, at, alphabet)
            path, letters, at = path + body.path * (times + 1), letters + body.letters, body.end
    return Read(path, letters, at)


@cache
def every_expression(alphabet: str, max_bits: int) -> dict[str, Read]:
    """All expressions with up to so many bits."""
    expressions = {}
    for bits in range(1, max_bits + 1):
        for number in range(2**bits):
            code = f"{number:0{bits}b}"
            try:
                result = read(code, 0, alphabet)
            except (ValueError, IndexError):
                continue
            if result.end == bits:
                expressions[code] = result
    return expressions


@pytest.mark.parametrize(
    ("alphabet", "max_bits"), [("a", 13), ("ab", 14), ("abc", 14), (LETTERS, 16)]
)
def test_the_shortest_of_all_expressions(alphabet: str, max_bits: int) -> None:
    best: dict[str, tuple[int, int, str]] = {}
    for code, result in every_expression(alphabet, max_bits).items():
        if len(result.path) <= 12:
            key = (len(code), result.letters, code)
            best[result.path] = min(key, best.get(result.path, key))
    assert len(best) > 10
    for path, (_, _, code) in best.items():
        assert shortest_expression(path, alphabet) == code, path


def test_no_expression_begins_another_and_kraft_holds() -> None:
    codes = sorted(every_expression(LETTERS, 16))
    assert not any(after.startswith(code) for code, after in pairwise(codes))
    assert 0.3 < sum(2.0 ** -len(code) for code in codes) <= 1


@given(paths)
def test_expressions_are_read_back(path: str) -> None:
    code = shortest_expression(path, LETTERS)
    assert expand(code, LETTERS) == path
    assert read_expression("10" + code + "01", 2, LETTERS) == (path, 2 + len(code))


@given(paths, st.integers(2, 4))
def test_repeating_costs_no_more_than_the_repetition(path: str, times: int) -> None:
    once = len(shortest_expression(path, LETTERS))
    again = len(shortest_expression(path * times, LETTERS))
    assert again <= 1 + 1 + 2 * (times - 1).bit_length() - 1 + once


@given(paths, paths)
def test_one_after_the_other_costs_no_more_than_both(first: str, second: str) -> None:
    both = len(shortest_expression(first + second, LETTERS))
    parts = [len(shortest_expression(path, LETTERS)) for path in (first, second)]
    assert both <= sum(parts) + 2  # the number of items grows


@given(paths, st.integers(1, 4))
def test_a_path_is_reduced_to_its_primitive_period(path: str, times: int) -> None:
    period = primitive_period(path * times)
    assert period == primitive_period(path)
    assert period * (len(path) // len(period)) == path
    shorter = [path[:size] for size in range(1, len(period)) if len(path) % size == 0]
    assert all(each * (len(path) // len(each)) != path for each in shorter)


def test_codes_as_they_are_documented() -> None:
    assert shortest_expression("L", LETTERS) == "1" + "000"
    assert shortest_expression("S", LETTERS) == "1" + "0111"
    assert shortest_expression("LR", LETTERS) == "010" + "000" + "001"
    assert shortest_expression("L" * 8, LETTERS) == "1" + "1" + "00111" + "1" + "000"
    twice_up, twice_down = "1" + "1" + "1" + "010", "1" + "1" + "1" + "0110"
    parts = ["00100", twice_up, "000", "001", twice_down]
    assert shortest_expression("UULRDD", LETTERS) == "".join(parts)


@pytest.mark.parametrize("path", ["", "LX", "l"])
def test_invalid_paths_are_rejected(path: str) -> None:
    with pytest.raises(ValueError, match="is not a path over the letters LRUDS"):
        shortest_expression(path, LETTERS)


@pytest.mark.parametrize("code", ["", "0", "1", "10", "0100", "11"])
def test_codes_that_end_too_early_are_rejected(code: str) -> None:
    with pytest.raises(ValueError, match="ends after"):
        expand(code, LETTERS)


def test_a_code_that_goes_on_is_rejected() -> None:
    with pytest.raises(ValueError, match="ends after 4 of 5 bits"):
        expand("10001", LETTERS)
