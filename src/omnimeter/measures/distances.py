"""Variability (1): how much squares differ, by how far they are from each other.

On a lattice the distance depends on the displacement alone. The pairs of squares with the same
displacement that agree in a column are counted for all displacements at once, as the
autocorrelation of the indicator of each value, by Fourier transforms. So all pairs are counted
without visiting them, and the counts are exact integers. In a graph, distances are computed from
each square in turn, or from a sample of them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import fsum, sqrt

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract.errors import InvalidInputError
from omnimeter.contract.overlay import Codes, Graph, Lattice, Overlay
from omnimeter.estimation import mean

EXACT = 4000
"""Up to so many squares a graph is measured exactly unless a sample is asked for."""

SAMPLE = 400
"""How many source squares are sampled in larger graphs."""

BLOCK = 4_000_000
"""How many pairs of squares are held in memory at once."""

Counts = NDArray[np.int64]


class UndefinedError(InvalidInputError):
    """A measure that an overlay does not have."""


@dataclass(frozen=True, slots=True)
class Variability:
    """The variability of an overlay (1), over all ordered pairs of different squares.

    Attributes:
        total: The sum of D_p / G, as equation (1) has it; each pair counts in both directions.
        difference: The mean propositional difference D_p of two squares.
        distance: The mean minimum graph distance G of two squares.
        ratio: The mean form, ``difference / distance``.
        total_interval: The 95 % interval of ``total``; ``None`` where it is exact.
        ratio_interval: The 95 % interval of ``ratio``; ``None`` where it is exact.
        sources: From how many squares distances were computed.
    """

    total: float
    difference: float
    distance: float
    ratio: float
    total_interval: tuple[float, float] | None
    ratio_interval: tuple[float, float] | None
    sources: int


def variability(
    overlay: Overlay, sample: int | None = None, rng: np.random.Generator | None = None
) -> Variability:
    """The variability of an overlay at time 1 (1).

    Exact on lattices of any size and graphs of up to 4,000 squares. In larger graphs, or where a
    sample is asked for, distances are computed from drawn squares only, and what depends on them
    has an interval: the sum, and in graphs the mean distance. The mean difference is always exact,
    and so is the mean distance on a lattice. In simulations of graphs the intervals of confidence
    0.95 cover 95 to 97 %; where all propositions lie in two squares, that of the sum covers only
    about 90 % with 100 drawn squares (``pytest tests/measures/test_variability.py``).

    Args:
        overlay: The overlay.
        sample: How many source squares to draw; by default all, and 400 in large graphs.
        rng: What draws them; by default always the same.

    Raises:
        UndefinedError: There is no path from one square to another.
        InvalidInputError: The sample is too small.
    """
    adjacency, squares = overlay.adjacency, overlay.adjacency.size
    if sample is not None and sample < 2:
        message = f"A sample of {sample} squares has no interval."
        raise InvalidInputError(message, "Sample 2 or more.")
    _check_connected(overlay)
    if squares == 1:
        return Variability(0.0, 0.0, 0.0, 0.0, None, None, 1)
    if sample is None and isinstance(adjacency, Graph) and squares > EXACT:
        sample = SAMPLE
    differing = _differing(overlay.codes)
    every = int(differing.sum())
    difference = every / (squares * (squares - 1))
    if sample is None or sample >= squares:
        total, distance = _exact(overlay)
        return Variability(total, difference, distance, difference / distance, None, None, squares)
    rng = rng or np.random.default_rng(0)
    distance, ends = _sampled_distance(overlay, sample, rng)
    ratios = None if ends is None else (difference / ends[1], difference / ends[0])
    result = Variability(0.0, difference, distance, difference / distance, None, ratios, sample)
    if every == 0:
        return result
    # Squares are drawn in proportion to how much they differ from others, which is known of all:
    # what is left to estimate is the mean of 1 / G over the squares that a square differs from.
    drawn = rng.choice(squares, sample, p=differing / every)
    sources, position = np.unique(drawn, return_inverse=True)
    nearness = (_sums(overlay, sources)[:, 0] / differing[sources])[position]
    estimate = mean(nearness.clip(0, 1), support=(0.0, 1.0))
    totals = (estimate.low * every, estimate.high * every)
    return replace(result, total=estimate.value * every, total_interval=totals)


def _differing(codes: Codes) -> Counts:
    """The sum of D_p between each square and all others."""
    sums = np.zeros(len(codes), dtype=np.int64)
    for column in codes.T:
        sums += len(codes) - np.bincount(column)[column]
    return sums


def _exact(overlay: Overlay) -> tuple[float, float]:
    """The sum of D_p / G, and the mean distance of two squares."""
    adjacency, squares = overlay.adjacency, overlay.adjacency.size
    if isinstance(adjacency, Lattice):
        differences = _differences_by_distance(adjacency, overlay.codes)
        total = fsum(differences[1:] / np.arange(1, len(differences)))
        return total, _lattice_distance(adjacency)
    sums = _sums(overlay, np.arange(squares))
    return fsum(sums[:, 0]), fsum(sums[:, 1]) / (squares * (squares - 1))


def _lattice_distance(lattice: Lattice) -> float:
    """The mean distance of two squares of a lattice."""
    pairs = _pairs(lattice)
    return int((np.arange(len(pairs)) * pairs).sum()) / (lattice.size * (lattice.size - 1))


def _sampled_distance(
    overlay: Overlay, sample: int, rng: np.random.Generator
) -> tuple[float, tuple[float, float] | None]:
    """The mean distance of two squares from some of them, with its interval; exact on a lattice."""
    squares = overlay.adjacency.size
    if isinstance(overlay.adjacency, Lattice):
        return _lattice_distance(overlay.adjacency), None
    sources = rng.choice(squares, sample, replace=False)
    means = _sums(overlay, sources)[:, 1] / (squares - 1)
    estimate = mean(means, support=(1.0, squares - 1.0))
    # Without replacement, the variance is smaller by the share of squares that are not drawn.
    shrinkage = sqrt(1 - sample / squares)
    low, high = (
        estimate.value + shrinkage * (end - estimate.value) for end in (estimate.low, estimate.high)
    )
    return estimate.value, (low, high)


def _pairs(lattice: Lattice) -> Counts:
    """The number of ordered pairs of squares at each distance 0, 1, ... of a lattice."""
    pairs = np.ones(1, dtype=np.int64)
    for length in lattice.shape:
        steps = np.arange(length)
        if lattice.torus:
            along = length * np.bincount(np.minimum(steps, length - steps))
        else:
            along = np.where(steps == 0, length, 2 * (length - steps))
        pairs = np.convolve(pairs, along)
    return pairs


def _differences_by_distance(lattice: Lattice, codes: Codes) -> Counts:
    """The sum of D_p over all ordered pairs of squares at each distance 0, 1, ... of a lattice."""
    pairs = _pairs(lattice)
    every: Counts = codes.shape[1] * pairs
    return every - _agreements(lattice, codes, len(pairs))


def _agreements(lattice: Lattice, codes: Codes, distances: int) -> Counts:
    """In how many columns the ordered pairs at each distance agree, summed over the pairs.

    The squares with the same code in a column are a class. Large classes are counted by Fourier
    transforms, whose powers add up over classes and columns before the one transform back. Small
    ones, of which a column may have many, are counted pair by pair.
    """
    from scipy import fft

    shape = lattice.shape
    padded = shape if lattice.torus else tuple(fft.next_fast_len(2 * k - 1, True) for k in shape)
    axes = tuple(range(len(shape)))
    small = int(sqrt(np.prod(padded)))
    power: NDArray[np.float64] | float = 0.0
    counted = np.zeros(distances, dtype=np.int64)
    for column in codes.T:
        sizes = np.bincount(column)
        for code in np.flatnonzero(sizes > small):
            indicator = (column == code).reshape(shape).astype(np.float64)
            spectrum = fft.rfftn(indicator, padded, axes)
            power = power + (spectrum.real**2 + spectrum.imag**2)
        order = np.argsort(column, kind="stable")
        starts = np.cumsum(sizes) - sizes
        for size in np.unique(sizes[(sizes > 0) & (sizes <= small)]):
            members = order[starts[sizes == size][:, np.newaxis] + np.arange(size)]
            for some in np.array_split(members, -(-members.size * int(size) // BLOCK)):
                between = _lattice_distances(lattice, some[:, :, np.newaxis], some[:, np.newaxis])
                counted += np.bincount(between.ravel(), minlength=distances)
    if not np.isscalar(power):
        at = np.zeros(padded, dtype=np.int64)
        for axis, length in enumerate(padded):
            steps = np.arange(length)
            along = np.minimum(steps, length - steps)
            at += along.reshape([-1 if each == axis else 1 for each in axes])
        pairs = np.rint(fft.irfftn(power, padded, axes))
        kept = at < distances  # padding holds no pairs
        counted += np.bincount(at[kept], pairs[kept], distances).astype(np.int64)
    return counted


def _lattice_distances(
    lattice: Lattice, first: NDArray[np.int64], second: NDArray[np.int64]
) -> NDArray[np.int64]:
    """The distances of squares of a lattice, by their numbers."""
    between = np.zeros(np.broadcast_shapes(first.shape, second.shape), dtype=np.int64)
    stride = 1
    for length in reversed(lattice.shape):
        along = np.abs(first // stride % length - second // stride % length)
        between += np.minimum(along, length - along) if lattice.torus else along
        stride *= length
    return between


def _matrix(graph: Graph) -> object:
    from scipy.sparse import csr_array

    lengths = [len(row) for row in graph.successors]
    starts = np.concatenate([[0], np.cumsum(lengths)])
    targets = np.array([each for row in graph.successors for each in row], dtype=np.int64)
    ones = np.ones(len(targets), dtype=np.int8)
    return csr_array((ones, targets, starts), shape=(graph.size, graph.size))


def _sums(overlay: Overlay, sources: Counts) -> NDArray[np.float64]:
    """For each source square the sums of D_p / G and of G over all others."""
    from scipy.sparse.csgraph import dijkstra

    adjacency, codes = overlay.adjacency, overlay.codes
    matrix = _matrix(adjacency) if isinstance(adjacency, Graph) else None
    every = np.arange(adjacency.size)
    sums = []
    for some in np.array_split(sources, -(-len(sources) * len(codes) // BLOCK)):
        if isinstance(adjacency, Lattice):
            distances = _lattice_distances(adjacency, some[:, np.newaxis], every).astype(float)
        else:
            distances = dijkstra(matrix, unweighted=True, indices=some)
        differences = np.zeros(distances.shape)
        for column in codes.T:
            differences += column[some][:, np.newaxis] != column
        apart = np.where(distances > 0, distances, 1.0)  # D_p of a square and itself is 0
        sums.append(np.stack([(differences / apart).sum(1), distances.sum(1)], axis=1))
    return np.concatenate(sums)


def _check_connected(overlay: Overlay) -> None:
    """Refuse a graph in which some square cannot be reached from another."""
    graph = overlay.adjacency
    if isinstance(graph, Lattice):
        return
    from scipy.sparse.csgraph import connected_components, dijkstra

    matrix = _matrix(graph)
    parts, labels = connected_components(matrix, connection="strong")
    if parts == 1:
        return
    one, other = 0, int(np.flatnonzero(labels != labels[0])[0])
    if np.isfinite(dijkstra(matrix, unweighted=True, indices=one)[other]):
        one, other = other, one
    number = ""
    if graph.size <= EXACT:
        blocks = np.array_split(np.arange(graph.size), -(-(graph.size**2) // BLOCK))
        infinite = sum(
            int(np.isinf(dijkstra(matrix, unweighted=True, indices=some)).sum()) for some in blocks
        )
        number = f" This holds for {infinite:,} of {graph.size * (graph.size - 1):,} pairs."
    message = f"The square {overlay.name(other)} cannot be reached from {overlay.name(one)}, so "
    message += f"their distance, and with it the variability, is undefined.{number}"
    raise UndefinedError(message, "Leave out squares that are not connected with all others.")
