"""What several environment classes share: reachability, random runs, weighted draws."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np

from omnimeter.contract.agent import FloatArray
from omnimeter.kernels import KernelEnvironment

Successors = Sequence[Sequence[int]]
"""For each node of a directed graph the nodes that it leads to."""


def unreachable(successors: Successors) -> list[int]:
    """The nodes to which no path leads from node 0."""
    reached = bytearray(len(successors))
    reached[0] = 1
    stack = [0]
    while stack:
        for node in successors[stack.pop()]:
            if not reached[node]:
                reached[node] = 1
                stack.append(node)
    return [node for node, seen in enumerate(reached) if not seen]


def reverse(successors: Successors) -> list[list[int]]:
    """The graph with every edge turned round."""
    sources: list[list[int]] = [[] for _ in successors]
    for node, row in enumerate(successors):
        for successor in row:
            sources[successor].append(node)
    return sources


def is_strongly_connected(successors: Successors) -> bool:
    """Whether a path leads from every node to every other."""
    return not unreachable(successors) and not unreachable(reverse(successors))


def random_run(
    environment: KernelEnvironment, rng: np.random.Generator, steps: int
) -> Iterator[Any]:
    """The state of an environment at the times 1 to ``steps``, in which a random agent acts."""
    environment.start(rng)
    yield environment.state
    for _ in range(steps - 1):
        environment.step(int(rng.integers(environment.actions)))
        yield environment.state


def weighted_index(rng: np.random.Generator, cumulative: FloatArray) -> int:
    """Draw an index in proportion to its weight, given the cumulative sums of the weights."""
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


def nearest(
    complexities: Sequence[float], wanted: float, exists: Callable[[float], bool]
) -> list[float]:
    """The nearest of ascending complexities below and above a wanted one that exist."""
    place = bisect_left(complexities, wanted)
    sides = complexities[:place][::-1], complexities[place:]
    return [each for side in sides for each in islice(filter(exists, side), 1)]
