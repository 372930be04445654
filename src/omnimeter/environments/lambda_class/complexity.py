"""How Lambda environments are graded: by how short they can be described (Lambda thesis, 5.4, 6.3).

Compression stands in for Kolmogorov complexity, as in the thesis.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from typing import Literal

import numpy as np

from omnimeter.complexity import compressed_length
from omnimeter.contract import InvalidInputError
from omnimeter.environments.lambda_class.drawing import format_pattern, pattern_length
from omnimeter.environments.lambda_class.space import SEPARATOR, parse_space

Grade = Literal["environment", "pattern", "product", "length"]

TRIES = 1000
"""How often a space is drawn for which no pattern of the wanted complexity is found."""

SOME_TRIES = 50
"""How often when it is only asked whether there are many of a complexity."""

LONGEST_PATTERN = 5000
"""Patterns of a wanted complexity are not longer."""

NEARBY = 8
"""Lengths of a pattern at which its complexity is looked for, from where it should be on."""


def graded(grade: str, space: str, pattern: str) -> float:
    """The complexity of a description and a pattern.

    ``environment`` is the compressed length of both, ``product`` that times the length of the
    pattern (5.4, where the sign between them is lost), ``pattern`` the compressed length of the
    pattern alone (6.3), and ``length`` the length of both as they are.
    """
    text = space + pattern
    match grade:
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
    rng: np.random.Generator, actions: int, wanted: float, grade: Callable[[str], float]
) -> str | None:
    """The first actions of a random sequence, as many as have the wanted complexity.

    Now and then one action more makes a compressed text shorter, or longer by two. So the place is
    found as if complexity only grew, and then searched nearby.

    Args:
        rng: Where chance comes from.
        actions: The number of actions.
        wanted: The complexity.
        grade: What a pattern's complexity is.

    Returns:
        The pattern, or nothing if no part of this sequence has that complexity.
    """
    sequence = rng.integers(actions, size=LONGEST_PATTERN).tolist()

    def text(length: int) -> str:
        return format_pattern(sequence[:length], actions)

    def complexity(length: int) -> float:
        return grade(text(length))

    longest = 1
    while complexity(longest) < wanted:
        if longest == LONGEST_PATTERN:
            return None
        longest = min(2 * longest, LONGEST_PATTERN)
    first = 1 + bisect_left(range(1, longest + 1), wanted, key=complexity)
    for length in range(first, min(first + NEARBY, LONGEST_PATTERN + 1)):
        if complexity(length) == wanted:
            return text(length)
    return None


def highest(grade: str) -> float:
    """A complexity that is still found, whatever the number of actions: that of long patterns."""
    pattern = format_pattern(np.random.default_rng(0).integers(2, size=LONGEST_PATTERN), 2)
    compressed = compressed_length(pattern)
    whole = {"length": LONGEST_PATTERN, "product": compressed * LONGEST_PATTERN}
    return 0.9 * whole.get(grade, compressed)


def not_found(wanted: float, grade: str) -> InvalidInputError:
    """What is said when no environment of a complexity was found."""
    return InvalidInputError(
        f"No Lambda environment of complexity {wanted:g} was found (graded by {grade}).",
        "Give a whole number. Fewer cells are simpler, longer patterns more complex; patterns have "
        f"at most {LONGEST_PATTERN:,} actions.",
    )
