"""The complexity of Lambda environments: the compressed length of descriptions (5.4, 6.3)."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Literal

import numpy as np

from omnimeter.complexity import compressed_length
from omnimeter.environments.lambda_class.patterns import format_pattern, pattern_length
from omnimeter.environments.lambda_class.space import SEPARATOR, parse_space

ComplexityMeasure = Literal["environment", "pattern", "product", "length"]

TRIES, FEW_TRIES = 1000, 50
"""The largest number of spaces drawn until a pattern of the wanted complexity is found, and where
it only matters whether that is easy."""

MAX_PATTERN = 5000
"""The largest length of patterns of a wanted complexity."""


def complexity_of(measure: str, space: str, pattern: str) -> float:
    """The complexity of a description and a pattern.

    ``environment`` is the compressed length of both, ``product`` that times the length of the
    pattern (5.4, where the sign between them is lost), ``pattern`` the compressed length of the
    pattern alone (6.3), and ``length`` the length of both as they are.
    """
    text = space + pattern
    match measure:
        case "pattern":
            return float(compressed_length(pattern))
        case "product":
            actions = parse_space(space.partition(SEPARATOR)[0]).actions  # one cell has them all
            return float(compressed_length(text) * pattern_length(pattern, actions))
        case "length":
            return float(len(text))
        case _:
            return float(compressed_length(text))


def pattern_of_complexity(
    rng: np.random.Generator, actions: int, wanted: float, measure: Callable[[str], float]
) -> str | None:
    """The first actions of a random sequence, as many as have the wanted complexity.

    Now and then one action more makes a compressed text shorter, or longer by two. So the length
    is searched as if complexity only grew, and then among the next eight; ``None`` if that fails.
    """
    sequence = rng.integers(actions, size=MAX_PATTERN).tolist()

    def text(length: int) -> str:
        return format_pattern(sequence[:length], actions)

    def complexity(length: int) -> float:
        return measure(text(length))

    longest = 1
    while complexity(longest) < wanted:
        if longest == MAX_PATTERN:
            return None
        longest = min(2 * longest, MAX_PATTERN)
    first = 1 + bisect_left(range(1, longest + 1), wanted, key=complexity)
    for length in range(first, min(first + 8, MAX_PATTERN + 1)):
        if complexity(length) == wanted:
            return text(length)
    return None


def highest(measure: str) -> float:
    """A complexity that is still found, whatever the number of actions: that of long patterns."""
    pattern = format_pattern(np.random.default_rng(0).integers(2, size=MAX_PATTERN), 2)
    compressed = compressed_length(pattern)
    whole = {"length": MAX_PATTERN, "product": compressed * MAX_PATTERN}
    return 0.9 * whole.get(measure, compressed)
