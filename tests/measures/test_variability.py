"""Variability (1) against its plain definition over all pairs of squares."""

from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from omnimeter.contract import InvalidInputError
from omnimeter.contract.overlay import Graph, Lattice, Overlay
from omnimeter.measures import UndefinedError, variability


def successors(adjacency):
    """The adjacent squares of each square, from coordinates."""
    if isinstance(adjacency, Graph):
        return adjacency.successors
    shape = adjacency.shape
    rows = []
    for place in np.ndindex(shape):
        row = []
        for axis, step in ((axis, step) for axis in range(len(shape)) for step in (-1, 1)):
            to = list(place)
            to[axis] += step
            if adjacency.torus:
                to[axis] %= shape[axis]
            if 0 <= to[axis] < shape[axis]:
                row.append(int(np.ravel_multi_index(to, shape)))
        rows.append(row)
    return rows


def by_definition(overlay):
    """The sums of D_p / G, D_p and G over all ordered pairs, with distances by breadth first."""
    rows, sums = successors(overlay.adjacency), np.zeros(3)
    for first in range(len(rows)):
        distance, border = {first: 0}, [first]
        while border:
            border = [to for at in border for to in rows[at] if to not in distance]
            border = list(dict.fromkeys(border))
            distance |= dict.fromkeys(border, max(distance.values()) + 1)
        assert len(distance) == len(rows)
        for second, apart in distance.items():
            if apart:
                differ = (overlay.codes[first] != overlay.codes[second]).sum()
                sums += differ / apart, differ, apart
    return sums


@st.composite
def overlays(draw):
    kind = draw(st.sampled_from(["grid", "torus", "graph"]))
    if kind == "graph":
        n = draw(st.integers(2, 12))
        extra = st.lists(st.integers(0, n - 1), max_size=3)
        adjacency = Graph([[(i + 1) % n, *draw(extra)] for i in range(n)])  # a cycle and more
    else:
        shape = draw(
            st.lists(st.integers(1, 5), min_size=1, max_size=3).filter(lambda s: max(s) > 1)
        )
        adjacency = Lattice(tuple(shape), torus=kind == "torus")
    seed, labels = draw(st.integers(0, 2**32)), draw(st.sampled_from([1, 2, 5, 200]))
    columns = draw(st.integers(1, 3))
    codes = np.random.default_rng(seed).integers(0, labels + 1, (adjacency.size, columns))
    names = {str(column): range(1, labels + 1) for column in range(columns)}
    return Overlay(adjacency, names, codes.astype(np.int32))


@settings(max_examples=150, deadline=None)
@given(overlays())
def test_it_is_the_sum_over_all_ordered_pairs(overlay):
    result = variability(overlay)
    total, difference, distance = by_definition(overlay)
    pairs = overlay.adjacency.size * (overlay.adjacency.size - 1)
    assert result.total == pytest.approx(total, rel=1e-12)
    assert result.difference == pytest.approx(difference / pairs, rel=1e-12)
    assert result.distance == pytest.approx(distance / pairs, rel=1e-12)
    assert result.ratio == pytest.approx(difference / distance, rel=1e-12)
    assert result.total_interval is None
    assert variability(overlay, sample=overlay.adjacency.size) == result


def test_large_and_small_classes_of_values_are_counted_alike():
    """A 30 x 20 grid has columns counted by transforms and by pairs; as a graph by squares."""
    rng = np.random.default_rng(1)
    codes = np.stack([rng.integers(0, k, 600) for k in (2, 5, 40, 600)], axis=1).astype(np.int32)
    for torus in (False, True):
        overlay = Overlay(Lattice((30, 20), torus), dict.fromkeys("abcd", range(600)), codes)
        graph = Overlay(Graph(successors(overlay.adjacency)), overlay.columns, codes)
        exact, rows = variability(overlay), variability(graph)
        assert exact.total == pytest.approx(rows.total, rel=1e-12)
        assert exact.difference == rows.difference
        assert exact.distance == rows.distance


def test_256_x_256_squares_with_64_propositions_take_less_than_5_seconds():
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, (256 * 256, 64), dtype=np.int32)
    overlay = Overlay(Lattice((256, 256)), {str(k): (True,) for k in range(64)}, codes)
    before = process_time()
    result = variability(overlay)
    assert process_time() - before < 5
    assert result.distance == pytest.approx(2 * 256 / 3)  # (a + b) / 3 on a grid of a x b
    assert result.difference == pytest.approx(32, rel=1e-3)


def test_squares_without_edges_are_unconnected():
    with pytest.raises(UndefinedError, match="2 of 2 pairs"):
        variability(Overlay.of(Graph([[], []]), [{"p": True}, {}]))


def test_large_graphs_are_sampled():
    rng = np.random.default_rng(5)
    n = 5000
    graph = Graph([[(i + 1) % n, (i - 1) % n] for i in range(n)])
    overlay = Overlay(graph, {"p": (True,)}, rng.integers(0, 2, (n, 1), dtype=np.int32))
    ring = Overlay(Lattice((n,), torus=True), overlay.columns, overlay.codes)
    sampled, exact = variability(overlay), variability(ring)
    assert sampled.sources == 400
    assert sampled.distance == exact.distance
    low, high = sampled.total_interval
    assert low < exact.total < high
    assert high - low < 0.1 * exact.total


def test_unconnected_squares_are_named_and_counted():
    graph = Graph([[1], [0], [0, 3], [2]])
    overlay = Overlay.of(graph, [{"p": True}, {}, {}, {}], names=["a", "b", "c", "d"])
    with pytest.raises(UndefinedError, match=r"square c cannot be reached from a.* 4 of 12 pairs"):
        variability(overlay)


def test_one_square_differs_from_no_other():
    result = variability(Overlay.of(Lattice((1,)), [{"p": True}]))
    assert result.total == result.ratio == 0


def test_a_sample_of_one_is_refused():
    with pytest.raises(InvalidInputError, match="no interval"):
        variability(Overlay.of(Lattice((2,)), [{"p": True}, {}]), sample=1)


@pytest.mark.parametrize(
    ("kind", "sample", "least"), [("grid", 30, 0.925), ("graph", 30, 0.925), ("sparse", 100, 0.87)]
)
def test_intervals_of_samples_cover(kind, sample, least):
    """Of 400 samples, so many 95 % intervals cover the exact values.

    In the sparse graph all that there is lies in two squares, near which few squares lie.
    """
    rng = np.random.default_rng(2)
    n = 300
    adjacency = Graph([[(i + 1) % n, *rng.integers(0, n, 2).tolist()] for i in range(n)])
    if kind == "grid":
        adjacency = Lattice((15, 20))
    codes = (rng.random((n, 6)) < np.linspace(0.02, 0.5, 6)).astype(np.int32)
    if kind == "sparse":
        codes[2:] = 0
        codes[0] = 1
    overlay = Overlay(adjacency, dict.fromkeys("abcdef", (True,)), codes)
    exact, covered, repetitions = variability(overlay), np.zeros(2), 400
    for _ in range(repetitions):
        result = variability(overlay, sample=sample, rng=rng)
        covered[0] += result.total_interval[0] <= exact.total <= result.total_interval[1]
        if kind == "grid":  # its mean distance is known
            assert result.ratio == exact.ratio
            covered[1] += 1
        else:
            covered[1] += result.ratio_interval[0] <= exact.ratio <= result.ratio_interval[1]
    assert (covered / repetitions > least).all(), covered / repetitions
