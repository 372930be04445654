"""Spaces: how they are described, which are valid, and how they are drawn."""

from collections import Counter
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare

from omnimeter.contract import InvalidInputError, UnknownNameError
from omnimeter.environments.lambda_class.space import (
    CellSpace,
    check_space,
    draw_space,
    parse_space,
    read_space,
)
from omnimeter.environments.shared import is_strongly_connected

FOUR_CELLS = "1+2++3|1+23-|1+23|1+2--3-"
EIGHT_CELLS = (
    "12+3-----|12+++++3-----|1-2------3++|1-----2++++++3-|"
    "12+3++++++|1-----23-------|1++++++2-------3++|1----2+++3+"
)


@st.composite
def spaces(draw: st.DrawFn) -> CellSpace:
    """Well-formed spaces, valid or not; some with more than ten actions."""
    cells, arrows = draw(st.integers(1, 8)), draw(st.integers(1, 13))
    row = st.tuples(*[st.integers(-12, 12)] * arrows)
    return CellSpace(tuple(draw(st.lists(row, min_size=cells, max_size=cells))))


@given(spaces())
def test_descriptions_round_trip(space: CellSpace) -> None:
    text = str(space)
    assert parse_space(text) == space
    assert str(parse_space(text)) == text


@given(st.text(alphabet="123+-|", max_size=12))
def test_a_parsed_description_is_written_the_same(text: str) -> None:
    try:
        written = str(parse_space(text))
    except InvalidInputError as error:
        written = text if "at character" in error.message else "rejected without a position"
    assert written == text


@given(spaces())
def test_the_canonical_form_leads_to_the_same_cells(space: CellSpace) -> None:
    canonical = space.canonical()
    np.testing.assert_array_equal(canonical.successors(), space.successors())
    assert canonical.canonical() == canonical
    assert len(str(canonical)) <= len(str(space))


@given(spaces())
def test_two_ways_of_checking_validity_agree(space: CellSpace) -> None:
    """A plain closure of the graph is the oracle."""
    reachable = np.zeros((space.cells, space.cells), dtype=bool)
    for cell, successors in enumerate(space.successors()):
        reachable[cell, successors] = True
    for _ in range(space.cells):
        reachable = reachable @ reachable
    valid = bool(reachable.all()) and space.cells >= 2
    try:
        check_space(space)
    except InvalidInputError:
        assert not valid
    else:
        assert valid


def test_the_four_cells_lead_where_the_thesis_says() -> None:
    space = read_space(FOUR_CELLS)
    assert (space.cells, space.actions) == (4, 4)
    successors = space.successors() + 1
    assert successors[:, 0].tolist() == [1, 2, 3, 4]
    assert successors[0].tolist() == [1, 2, 3, 1]
    assert successors[3].tolist() == [4, 1, 2, 3]
    assert successors.dtype == np.int64


def test_the_eight_cells_of_the_thesis_are_valid() -> None:
    space = read_space(EIGHT_CELLS)
    assert (space.cells, space.actions) == (8, 4)
    assert space.displacements[0] == (0, 1, -5)
    assert str(space) == EIGHT_CELLS
    assert len(str(space)) + len("203210200") == 119


def test_the_tenth_action_is_not_ambiguous() -> None:
    cell = "1+2+3+4+5+6+7+8+9+10-11"
    assert parse_space(f"{cell}|{cell}").displacements[0] == (1,) * 9 + (-1, 0)


def test_displacements_that_tie_go_forward() -> None:
    assert str(parse_space("1--2---|1++2+++|12|1+++++2-").canonical()) == "1++2+|1++2-|12|1+2-"


@pytest.mark.parametrize(
    ("text", "place", "seen", "expected"),
    [
        ("", "1 (cell 1, where action 1 should stand)", "the end", "'1'"),
        ("|1+", "1 (cell 1, where action 1 should stand)", "'|'", "'1'"),
        ("1+|", "4 (cell 2, where action 1 should stand)", "the end", "'1'"),
        ("1+||1+", "4 (cell 2, where action 1 should stand)", "'|'", "'1'"),
        ("2+|1+", "1 (cell 1, where action 1 should stand)", "'2'", "'1'"),
        ("0+1|1+", "1 (cell 1, where action 1 should stand)", "'0'", "'1'"),
        ("13|13", "2 (cell 1, after action 1)", "'3'", "'+', '-', '2', '|' or the end"),
        ("1+-|1+", "3 (cell 1, after action 1)", "'-'", "'+', '2', '|' or the end"),
        ("1+|1-+", "6 (cell 2, after action 1)", "'+'", "'-', '|' or the end"),
        ("1+2|1+", "7 (cell 2, after action 1)", "the end", "'+' or '2'"),
        ("1+2|1|1", "6 (cell 2, after action 1)", "'|'", "'+', '-' or '2'"),
        ("1+|1+2", "6 (cell 2, after action 1)", "'2'", "'+', '|' or the end"),
        ("1+ +|1+", "3 (cell 1, after action 1)", "' '", "'+', '2', '|' or the end"),
        ("12345678911|1", "10 (cell 1, after action 9)", "'11'", "'+', '-', '10', '|' or the end"),
        ("x1+", "1 (cell 1, where action 1 should stand)", "'x'", "'1'"),
    ],
)
def test_a_malformed_description_names_the_position(
    text: str, place: str, seen: str, expected: str
) -> None:
    with pytest.raises(InvalidInputError) as raised:
        read_space(text)
    assert raised.value.message == (
        f"The description of the space is malformed at character {place}: "
        f"found {seen}, expected {expected}."
    )
    assert "looks like" in raised.value.advice


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1+", "at least 2 cells, but this one has 1"),
        ("1+2|12|1-2", r"Cell 2 \(character 5 of the description\) has only one successor"),
        ("1+|1|1+", r"Cell 2 \(character 4 of the description\) has only one successor"),
        ("1+|1-|1-", r"Cell 3 \(character 7 of the description\) cannot be reached from cell 1"),
        ("1+|1+|1-", r"Cell 2 \(character 4 of the description\) has no way to cell 1"),
    ],
)
def test_an_invalid_space_names_the_cell(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_space(text)


def test_a_space_needs_cells_with_the_same_actions() -> None:
    with pytest.raises(ValueError, match="same actions"):
        CellSpace(((1,), (1, 2)))
    with pytest.raises(ValueError, match="at least one"):
        CellSpace(())
    with pytest.raises(ValueError, match="at least one"):
        CellSpace(((), ()))


def test_topologies_by_name() -> None:
    assert str(read_space("ring-4")) == "1+2-|1+2-|1+2-|1+2-"
    grid = read_space("grid-2x3").successors()
    assert grid.tolist()[0] == [0, 1, 0, 3, 0]
    assert grid.tolist()[5] == [5, 5, 4, 5, 2]
    torus = read_space("torus-2x3").successors()
    assert torus.tolist()[0] == [0, 1, 2, 3, 3]
    assert torus.tolist()[5] == [5, 3, 4, 2, 2]


@given(st.integers(1, 6), st.integers(1, 6))
def test_every_move_on_a_torus_has_one_that_takes_it_back(rows: int, columns: int) -> None:
    if rows * columns < 2:
        return
    moves = read_space(f"torus-{rows}x{columns}").successors()
    cells = np.arange(rows * columns)
    for there, back in ((1, 2), (3, 4)):
        assert moves[moves[:, there], back].tolist() == cells.tolist()
    assert read_space(f"grid-{rows}x{columns}").cells == len(cells)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ring", "character 5: found '', expected a dash and the number of cells. .*ring-8"),
        ("ring-3x4", "character 6: found '3x4', expected the number of cells"),
        ("grid-3", "character 6: found '3', expected rows x columns. .*grid-3x4"),
        ("torus-3x-4", "character 7: found '3x-4', expected rows x columns"),
        ("ring-1", "at least 2 cells, but this one has 1"),
        ("grid-0x4", "at least 2 cells, but this one has 0"),
        ("grid-9999x9999", "at most 10,000 cells"),
    ],
)
def test_a_topology_with_wrong_sizes_is_rejected(name: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_space(name)


def test_an_unknown_topology_is_answered_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'torus'"):
        read_space("tours-3x4")


@given(
    st.integers(0, 2**32),
    st.none() | st.integers(2, 30),
    st.integers(2, 12),
    st.none() | st.integers(2, 12),
)
def test_every_drawn_space_is_valid(
    seed: int, cells: int | None, max_cells: int, actions: int | None
) -> None:
    space = draw_space(np.random.default_rng(seed), cells, max_cells, actions)
    check_space(space)
    assert parse_space(str(space)) == space
    assert space.cells == cells if cells else 2 <= space.cells <= max_cells
    assert space.actions == actions if actions else 2 <= space.actions <= space.cells
    assert all(abs(step) < space.cells for row in space.displacements for step in row)


def test_the_same_stream_draws_the_same_space() -> None:
    first, second = (draw_space(np.random.default_rng(7), cells=9) for _ in range(2))
    assert first == second


def test_the_sparsest_spaces_can_be_drawn() -> None:
    """With one arrow per cell only single circles are valid: one function in a thousand million."""
    space = draw_space(np.random.default_rng(3), cells=20, actions=2)
    check_space(space)
    assert sorted(space.successors()[:, 1]) == list(range(20))


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"cells": 1}, "at least 2 cells"),
        ({"cells": -3}, "at least 2 cells"),
        ({"max_cells": 1}, "at least 2 cells"),
        ({"cells": 10**9}, "at most 10,000 cells"),
        ({"actions": 1}, "at least 2 actions"),
    ],
)
def test_impossible_sizes_are_rejected(sizes: dict[str, int], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        draw_space(np.random.default_rng(1), **sizes)


def test_a_vain_search_ends_with_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("omnimeter.environments.lambda_class.space.TRIES", 0)
    with pytest.raises(InvalidInputError, match=r"No valid space .* fewer cells or more actions"):
        draw_space(np.random.default_rng(1))


def valid_targets(cells: int, actions: int) -> list[tuple[int, ...]]:
    """All choices of targets that make a valid space, one after the other."""
    arrows = actions - 1
    return [
        targets
        for targets in product(range(cells), repeat=cells * arrows)
        if is_strongly_connected(np.reshape(targets, (cells, arrows)).tolist())
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "actions"), [(4, 2), (5, 2), (3, 3), (2, 4)])
def test_all_valid_spaces_of_given_sizes_are_alike(cells: int, actions: int) -> None:
    known = valid_targets(cells, actions)
    rng = np.random.default_rng(11)
    drawn = Counter(
        tuple(draw_space(rng, cells, actions=actions).successors()[:, 1:].ravel().tolist())
        for _ in range(50 * len(known))
    )
    assert set(drawn) <= set(known)
    assert chisquare([drawn[targets] for targets in known]).pvalue > 0.001


@pytest.mark.slow
@pytest.mark.parametrize(("cells", "actions"), [(None, None), (3, None), (None, 2), (None, 3)])
def test_sizes_are_geometric_among_valid_spaces(cells: int | None, actions: int | None) -> None:
    """Sizes are drawn again with the rest, so each weighs as often as it gives valid spaces."""
    max_cells = 3
    weights: dict[tuple[int, int], float] = {}
    for number, probability in ({2: 0.5, 3: 0.5} if cells is None else {cells: 1.0}).items():
        kinds = {2: {2: 1.0}, 3: {2: 0.5, 3: 0.5}}[number] if actions is None else {actions: 1.0}
        for kind, share in kinds.items():
            valid = len(valid_targets(number, kind)) / number ** (number * (kind - 1))
            weights[number, kind] = probability * share * valid
    rng = np.random.default_rng(12)
    spaces = [draw_space(rng, cells, max_cells, actions) for _ in range(5000)]
    drawn = Counter((space.cells, space.actions) for space in spaces)
    assert set(drawn) == set(weights)
    expected = np.array(list(weights.values()))
    expected *= len(spaces) / expected.sum()
    assert chisquare([drawn[size] for size in weights], expected).pvalue > 0.001


@pytest.mark.slow
def test_signs_are_alike_and_ways_round_too() -> None:
    rng = np.random.default_rng(13)
    steps = Counter(
        step
        for _ in range(400)
        for row in draw_space(rng, cells=8, actions=8).displacements
        for step in row
    )
    # Dense spaces are nearly always valid, so sizes are nearly uniform; zero has two signs.
    assert set(steps) == set(range(-7, 8))
    observed = [steps[step] for step in range(-7, 8) if step]
    assert chisquare(observed).pvalue > 0.001
    assert steps[0] / sum(steps.values()) == pytest.approx(1 / 8, abs=0.015)
