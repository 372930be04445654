"""Prefix codes of whole numbers, and Kt-max."""

from __future__ import annotations

from itertools import pairwise
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.complexity import (
    elias_gamma,
    elias_gamma_length,
    kt_max,
    read_elias_gamma,
    read_truncated_binary,
    truncated_binary,
    truncated_binary_length,
)

NUMBERS = st.integers(1, 10**9)
BITS = st.text("01", max_size=20)


def check_prefix_free(codes: list[str]) -> None:
    ordered = sorted(codes)
    assert len(set(codes)) == len(codes)
    assert not any(later.startswith(word) for word, later in pairwise(ordered))


def test_elias_gamma_is_as_published() -> None:
    codes = {1: "1", 2: "010", 3: "011", 4: "00100", 7: "00111", 8: "0001000", 17: "000010001"}
    assert {number: elias_gamma(number) for number in codes} == codes


@given(NUMBERS, BITS, BITS)
def test_elias_gamma_is_read_back_from_within_a_text(number: int, before: str, after: str) -> None:
    word = elias_gamma(number)
    assert len(word) == elias_gamma_length(number) == 2 * int(log2(number)) + 1
    end = len(before + word)
    assert read_elias_gamma(before + word + after, len(before)) == (number, end)


def test_truncated_binary_of_five_is_as_published() -> None:
    assert [truncated_binary(number, 5) for number in range(5)] == ["00", "01", "10", "110", "111"]
    assert truncated_binary(0, 1) == ""


@given(st.integers(1, 10**6), st.data(), BITS, BITS)
def test_truncated_binary_is_read_back(
    count: int, data: st.DataObject, before: str, after: str
) -> None:
    number = data.draw(st.integers(0, count - 1))
    word = truncated_binary(number, count)
    assert len(word) == truncated_binary_length(number, count)
    end = len(before + word)
    assert read_truncated_binary(before + word + after, len(before), count) == (number, end)


@pytest.mark.parametrize("count", range(1, 40))
def test_truncated_binary_uses_all_codes(count: int) -> None:
    codes = [truncated_binary(number, count) for number in range(count)]
    check_prefix_free(codes)
    assert sum(2.0 ** -len(word) for word in codes) == 1.0


def test_elias_gamma_is_prefix_free() -> None:
    codes = [elias_gamma(number) for number in range(1, 1024)]
    check_prefix_free(codes)
    assert sum(2.0 ** -len(word) for word in codes) == 1 - 2.0**-10


@pytest.mark.parametrize("number", [0, -1])
def test_elias_gamma_has_no_word_below_one(number: int) -> None:
    for code in (elias_gamma, elias_gamma_length):
        with pytest.raises(ValueError, match="from 1 up"):
            code(number)


@pytest.mark.parametrize(("number", "count"), [(-1, 3), (3, 3), (0, 0)])
def test_truncated_binary_rejects_other_numbers(number: int, count: int) -> None:
    for code in (truncated_binary, truncated_binary_length):
        with pytest.raises(ValueError, match="not one of"):
            code(number, count)


def test_a_text_that_ends_too_early_is_rejected() -> None:
    for bits in ("", "0", "000", "001", "0010"):
        with pytest.raises(ValueError, match="ends"):
            read_elias_gamma(bits)
    for bits in ("", "0", "11"):
        with pytest.raises(ValueError, match="ends"):
            read_truncated_binary(bits, 0, 5)
    with pytest.raises(ValueError, match="no code"):
        read_truncated_binary("0", 0, 0)


@given(st.integers(0, 5000), st.integers(1, 10**6))
def test_kt_max_is_bits_plus_the_logarithm_of_steps(bits: int, steps: int) -> None:
    assert kt_max(bits, steps) == pytest.approx(bits + log2(steps), abs=1e-9)
    assert kt_max(bits + 1, steps) == kt_max(bits, 2 * steps)


@pytest.mark.parametrize(("bits", "steps"), [(-1, 1), (0, 0)])
def test_kt_max_rejects_invalid_arguments(bits: int, steps: int) -> None:
    with pytest.raises(ValueError, match="no description"):
        kt_max(bits, steps)
