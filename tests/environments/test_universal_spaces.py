"""Spaces written by Markov algorithms: the thesis' example, what is passed over and refused."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import markov_oracle
from omnimeter.contract import InvalidInputError
from omnimeter.environments.lambda_class.space import parse_space
from omnimeter.environments.universal.coding import code_length
from omnimeter.environments.universal.generator import key_of_paths
from omnimeter.environments.universal.language import EXAMPLES, parse
from omnimeter.environments.universal.spaces import (
    MAX_ACTIONS,
    MAX_CELLS,
    cells_of,
    size_bits,
    space_alphabet,
    space_of_paths,
    write_space,
)

FIGURE = EXAMPLES["figure-3.3-space"].text


def read(text: str, actions: int, cells: int) -> tuple[int, list[list[int]]]:
    """How many cells a text has, and where its actions lead; x is a symbol of no meaning."""
    names = {symbol: index for index, symbol in enumerate((*space_alphabet(actions), "x"))}
    count, paths = cells_of(np.array([names[s] for s in text], np.int64), actions, cells)
    return count, paths.tolist()


def test_the_space_of_figure_3_3() -> None:
    written = write_space(FIGURE, 3)
    # A corridor of six cells: from each one to the left and to the right, not beyond the ends.
    corridor = "12+|1-2+|1-2+|1-2+|1-2+|1-2"
    assert written.space == parse_space(corridor).canonical()
    assert written.steps == 7
    program = parse(FIGURE, space_alphabet(3))
    assert written.bits == code_length(program) + size_bits(6, 3) == code_length(program) + 5 + 3
    assert write_space(FIGURE, 3, 6) == written


def test_fewer_cells_than_are_written() -> None:
    written = write_space(FIGURE, 3, 3)
    # In the third cell r leads on, around the circle of three cells.
    assert written.space == parse_space("12+|1-2+|1-2+").canonical()
    with pytest.raises(InvalidInputError, match="writes 6 cells, not 7"):
        write_space(FIGURE, 3, 7)


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("l+r-", [0, 1, 4]),
        ("r-l+", [0, 1, 4]),
        ("l++++++", [0, 1, 0]),  # around the circle
        ("l+l++r", [0, 1, 0]),  # an action that the cell had
        ("l-l", [0, 4, 0]),
        ("+-l+", [0, 1, 0]),  # signs before the first action
        ("l+-+", [0, 2, 0]),  # signs against the first one
        ("l-+-", [0, 3, 0]),
        ("l+r", [0, 1, 0]),  # no sign
        ("", [0, 0, 0]),  # no action
        ("xlx+x+x", [0, 2, 0]),  # no symbols of a space
        ("x", [0, 0, 0]),
    ],
)
def test_what_does_not_belong_in_a_cell_is_passed_over(text: str, first: list[int]) -> None:
    assert read(f"{text}:l:l:l:l", 3, 5) == (5, [first, *([n, n, n] for n in range(1, 5))])
    assert read(f"l:l:l:l:{text}l", 3, 5)[1][4][0] == 4


@pytest.mark.parametrize(
    ("text", "count"),
    [("", 0), (":", 1), ("l", 1), ("l:", 1), ("l:r", 2), ("::", 2), (":x", 2), ("l:l:l:", 3)],
)
def test_cells_stand_between_separators(text: str, count: int) -> None:
    assert read(text, 3, 10)[0] == count


@given(st.integers(2, 5), st.integers(1, 9), st.text("lrud+-:x", max_size=40))
def test_texts_are_read_as_in_plain_python(actions: int, cells: int, text: str) -> None:
    letters = "lrud"[: actions - 1]
    text = "".join(symbol for symbol in text if symbol in f"{letters}+-:x")
    count, paths = read(text, actions, cells)
    expected, rows = markov_oracle.cells_of(text, letters, cells)
    assert (count >= cells) == (expected >= cells)
    if count < cells:
        assert count == expected
    assert paths[: len(rows)] == rows
    assert paths[len(rows) :] == [[cell] * actions for cell in range(len(rows), cells)]


@given(st.lists(st.tuples(*[st.integers(0, 6)] * 2), min_size=7, max_size=7))
def test_paths_make_a_space_that_leads_there(arrows: list[tuple[int, ...]]) -> None:
    paths = np.array([[cell, *arrow] for cell, arrow in enumerate(arrows)])
    successors = space_of_paths(paths).successors()
    np.testing.assert_array_equal(successors, paths)
    assert key_of_paths(successors) == key_of_paths(paths) > 0


def test_the_numbers_of_cells_and_actions_are_coded() -> None:
    assert size_bits(2, 2) == 2
    assert size_bits(3, 2) == size_bits(2, 3) == 4
    assert size_bits(9, 3) == 7 + 3


# What is refused


@pytest.mark.parametrize(
    ("text", "cells", "message"),
    [
        ("→· l+:l+:l", None, "writes 1+|1+|1. Cell 3"),
        ("→ l+:", None, "did not end: it met the bound of length"),
        ("l → l; → l+:l+", None, "did not end: it met the bound of steps"),
        ("→·", None, "writes 1 cells"),
        ("→· l", None, "writes 1 cells"),
        ("→· l+:l+", 1, "writes 1 cells"),
        ("→· l+:l+", MAX_CELLS + 1, f"writes {MAX_CELLS + 1} cells"),
        ("→· l+:l+", 3, "writes 2 cells, not 3"),
        ("→· x", None, "alphabet lacks 'x'"),
        ("→· l+:l", None, "writes 1+|1. Cell 2"),
    ],
)
def test_programs_that_write_no_space_are_refused(
    text: str, cells: int | None, message: str
) -> None:
    with pytest.raises(InvalidInputError) as raised:
        write_space(text, 2, cells)
    assert message in raised.value.message
    assert raised.value.advice


def test_the_first_cells_of_a_text_that_grows_for_ever() -> None:
    assert write_space("→ l+:", 2, 5).space == parse_space("1+|1+|1+|1+|1+").canonical()
    assert write_space("→· l+:l+:", 2).space.cells == 2


@pytest.mark.parametrize("actions", [1, MAX_ACTIONS + 1])
def test_so_many_actions_are_refused(actions: int) -> None:
    with pytest.raises(InvalidInputError, match=f"cannot have {actions} actions"):
        write_space("→· l+:l+", actions)
