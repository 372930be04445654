"""How Lambda environments are graded: by how short they can be described (Lambda thesis, 5.4, 6.3).

Compression stands in for Kolmogorov complexity, as in the thesis.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from omnimeter.complexity import compressed_length
from omnimeter.contract import InvalidInputError
from omnimeter.environments.lambda_class.patterns import format_pattern

Grade = Literal["environment", "pattern", "length"]

TRIES = 200
"""How often a space is drawn for which no pattern of the wanted complexity is found."""

LONGEST_PATTERN = 10_000
"""Patterns that have not reached the wanted complexity by then are given up."""


def graded(grade: str, space: str, pattern: str) -> float:
    """The complexity of a description and a pattern.

    ``environment`` is the compressed length of both (5.4), ``pattern`` that of the pattern alone
    (6.3), and ``length`` the length of both as they are.
    """
    if grade == "pattern":
        return float(compressed_length(pattern))
    text = space + pattern
    return float(len(text) if grade == "length" else compressed_length(text))


def pattern_of_complexity(
    rng: np.random.Generator, actions: int, wanted: float, grade: Callable[[str], float]
) -> str | None:
    """The first pattern of the wanted complexity on a way of random actions, if there is one.

    Args:
        rng: Where chance comes from.
        actions: The number of actions.
        wanted: The complexity.
        grade: What a pattern's complexity is.
    """
    pattern: list[int] = []
    block: list[int] = []
    while len(pattern) < LONGEST_PATTERN:
        block = block or rng.integers(actions, size=64).tolist()
        pattern.append(block.pop())
        text = format_pattern(pattern, actions)
        found = grade(text)
        if found == wanted:
            return text
        if found > wanted + 8:  # one more action may make a text shorter, but not by so much
            return None
    return None


def not_found(wanted: float, grade: str) -> InvalidInputError:
    """What is said when no environment of a complexity was found."""
    return InvalidInputError(
        f"No Lambda environment of complexity {wanted:g} was found (graded by {grade}).",
        "Give a whole number within reach of these spaces: omnimeter audit shows which ones come "
        "up. Fewer cells are simpler, longer patterns more complex.",
    )
