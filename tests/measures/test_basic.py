"""The basic measures against their definitions, and the 8 x 8 example."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnimeter.contract import InvalidInputError, UnknownNameError
from omnimeter.contract.overlay import Graph, Lattice, Overlay
from omnimeter.measures import (
    Belief,
    complexity,
    inconsistency,
    information_density,
    measure,
    overlay_difference,
    volatility,
)

NAMES = ("p", "q", "r")


@st.composite
def moments(draw):
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 4)), len(NAMES)  # time, square, column
    values = st.sampled_from([False, True, 3, 4.5, "red"])
    return [
        [{name: draw(values) for name in NAMES} for _ in range(shape[1])] for _ in range(shape[0])
    ]


def overlay_of(given):
    return Overlay.of(Lattice((len(given[0]),)), given[0], given[1:])


@settings(max_examples=80, deadline=None)
@given(moments())
def test_volatility_is_the_weighted_sum_of_differences_from_time_1(given):
    expected = sum(
        (now[name] != first[name]) / time
        for time, moment in enumerate(given, 1)
        for first, now in zip(given[0], moment, strict=True)
        for name in NAMES
    )
    result = volatility(overlay_of(given))
    assert result.total == pytest.approx(expected)
    times = sum(1 / j for j in range(2, len(given) + 1))
    assert result.mean == pytest.approx(expected / (len(given[0]) * times) if times else 0)


@settings(max_examples=80, deadline=None)
@given(moments(), st.data())
def test_inconsistency_counts_direct_contradictions(given, data):
    cells = [(square, name) for square in range(len(given[0])) for name in (*NAMES, "unknown")]
    about = data.draw(st.lists(st.sampled_from(cells), unique=True))
    values = st.sampled_from([False, True, 3, "blue"])
    beliefs = [Belief(*cell, data.draw(values)) for cell in about]
    result = inconsistency(overlay_of(given), beliefs)
    shares = []
    for moment in given:
        wrong = [b for b in beliefs if moment[b.square].get(b.name, False) != b.value]
        holding = sum(value is not False for square in moment for value in square.values())
        clashing = [b for b in wrong if moment[b.square].get(b.name, False) is not False]
        shares.append((len(wrong) / max(1, len(beliefs)), len(clashing) / max(1, holding)))
    assert (result.of_beliefs, result.of_propositions) == pytest.approx(shares[0])
    means = (result.mean_of_beliefs, result.mean_of_propositions)
    assert means == pytest.approx(np.mean(shares, axis=0))


@settings(max_examples=60, deadline=None)
@given(moments(), moments())
def test_the_overlay_difference_counts_what_differs(one, two):
    count = min(len(one[0]), len(two[0]))
    first, second = one[0][:count], two[0][:count]
    result = overlay_difference(overlay_of([first]), overlay_of([second]))
    expected = sum(a[name] != b[name] for a, b in zip(first, second, strict=True) for name in NAMES)
    assert result.total == expected
    assert result.only_first == result.only_second == ()


def test_propositions_of_one_overlay_only_do_not_hold_in_the_other():
    one = Overlay.of(Lattice((2,)), [{"tree": True}, {"tree": True, "height": 3}])
    two = Overlay.of(Lattice((2,)), [{"tree": True}, {"lake": True}])
    result = overlay_difference(one, two)
    assert (result.total, result.only_first, result.only_second) == (3, ("height",), ("lake",))


def test_overlays_of_different_sizes_cannot_be_compared():
    one, two = (Overlay.of(Lattice((n,)), [{"p": True}] * n) for n in (2, 3))
    with pytest.raises(InvalidInputError, match="2 and 3 squares"):
        overlay_difference(one, two)
    flat, square = (Overlay.of(Lattice(each), [{"p": True}] * 12) for each in ((2, 6), (3, 4)))
    with pytest.raises(InvalidInputError, match=r"shapes \(2, 6\) and \(3, 4\)"):
        overlay_difference(flat, square)


def test_squares_correspond_by_name():
    graph, squares = Graph([[1], [2], [0]]), [{"p": 1}, {"p": 2}, {"p": 3}]
    one = Overlay.of(graph, squares, names=["a", "b", "c"])
    moved = Overlay.of(graph, [squares[2], squares[0], squares[1]], names=["c", "a", "b"])
    assert overlay_difference(one, moved).total == overlay_difference(moved, one).total == 0
    assert overlay_difference(one, Overlay.of(graph, squares)).total == 0
    with pytest.raises(InvalidInputError, match="Only one of the overlays has the square c"):
        overlay_difference(one, Overlay.of(graph, squares, names=["a", "b", "d"]))


def test_values_of_numpy_and_none_at_all():
    def density(values):
        return information_density(Overlay.of(Lattice((4,)), [{"tree": each} for each in values]))

    assert density(np.array([True, False, False, False])) == 0.25
    assert density([None, np.nan, np.float32("nan"), np.int64(0)]) == 0.25
    overlay = Overlay.of(Lattice((1,)), [{"tree": np.True_}])
    assert overlay.columns == {"tree": [True]}
    assert inconsistency(overlay, [Belief(0, "tree", np.False_)]).of_beliefs == 1
    for value in ([1], np.zeros(2)):
        with pytest.raises(InvalidInputError, match="which cannot be a value"):
            density([value] * 4)


def test_impossible_squares_are_refused():
    for shape in ((-2, -3), (2.5,), ("a",)):
        with pytest.raises(InvalidInputError, match="A lattice cannot have the shape"):
            Lattice(shape)
    for successor in ("a", 0.5, 3, -1):
        with pytest.raises(InvalidInputError, match=f"The square {successor!r} is a successor"):
            Graph([[1], [0], [successor]])


@pytest.mark.parametrize("second", [False, 4])
def test_beliefs_that_contradict_each_other_are_refused(second):
    overlay = Overlay.of(Lattice((2, 2)), [{"height": 3}] * 4)
    knowledge = [Belief(3, "height", 3), Belief(3, "height", 3), Belief(3, "height", second)]
    with pytest.raises(InvalidInputError, match=r"square \(2, 2\): height is 3 and height"):
        inconsistency(overlay, knowledge)
    with pytest.raises(InvalidInputError, match="square 4 of 4"):
        inconsistency(overlay, [Belief(4, "height", 3)])


def eight_by_eight(first, second):
    """X, Y and the reward R of each square."""
    rewards = {(1, 1): first, (8, 8): second}
    squares = [
        {"X": x, "Y": y, "R": rewards.get((x, y), 0)} for x in range(1, 9) for y in range(1, 9)
    ]
    return Overlay.of(Lattice((8, 8)), squares)


def test_the_8_x_8_example():
    knowledge = [Belief(n, "R", {0: 10, 63: -10}.get(n, 0)) for n in range(64)]
    result = measure(eight_by_eight(25, 5), knowledge, eight_by_eight(10, -10))
    assert (result.size, result.density) == (64, 3)
    # Pairs of the same row or column differ in one of X and Y, all others in both; the two
    # rewards differ from the 62 others and from each other.
    difference = (2 * 64 * 63 - 2 * 8 * 8 * 7 + 2 * (2 * 62 + 1)) / (64 * 63)
    assert result.variability.difference == pytest.approx(difference)
    assert result.variability.distance == pytest.approx(16 / 3)
    assert result.variability.ratio == pytest.approx(0.345, abs=5e-4)
    assert result.volatility.total == result.volatility.mean == 0
    assert result.inconsistency.of_beliefs == 2 / 64
    assert result.inconsistency.of_propositions == 2 / 192
    assert result.difference.total == 2
    ratio = result.variability.ratio
    assert result.complexity == pytest.approx(64 * 3 * ratio * (1 + 2 / 64))
    sums = measure(eight_by_eight(25, 5), form="sum", combine="sum")
    assert sums.complexity == pytest.approx(64 + 3 + result.variability.total)
    assert sums.values()["variability"] == result.variability.total


def test_complexity_leaves_zeros_out_and_takes_weights():
    values = {"size": 4, "density": 2, "variability": 0, "volatility": 3, "inconsistency": 0.5}
    assert complexity(values) == 4 * 2 * 3 * 1.5
    assert complexity(values, weights={"size": 0.5, "volatility": 2}) == 2 * 2 * 9 * 1.5
    assert complexity(values, "sum") == 9.5
    assert complexity(values, "sum", {"size": 10}) == 45.5
    with pytest.raises(UnknownNameError, match="sise"):
        complexity(values, weights={"sise": 1})
    with pytest.raises(InvalidInputError, match="mean"):
        complexity(values, "mean")
    with pytest.raises(InvalidInputError, match="The weight of size is nan"):
        complexity(values, weights={"size": np.nan})
    for combine, weights in (
        ("product", {"size": 400_000}),
        ("product", {"size": 500, "volatility": 500}),
        ("sum", {"size": 1e308, "volatility": -1e308}),
    ):
        with pytest.raises(InvalidInputError, match="is too large"):
            complexity(values, combine, weights)


def test_what_is_undefined_has_its_reason():
    result = measure(Overlay.of(Graph([[1], []]), [{"p": True}, {}]))
    assert result.variability is result.complexity is result.inconsistency is None
    assert "square 0 cannot be reached from 1" in result.reasons["variability"]
    assert set(result.reasons) == {"variability", "complexity", "inconsistency", "difference"}
    assert result.values()["variability"] is None
    assert information_density(Overlay.of(Lattice((2,)), [{"p": True}, {}])) == 0.5
