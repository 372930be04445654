"""Adjustments: by how much a result counts, given the length of its exercise and its complexity.

They are the functions Φ(x, y) of Definition 11 (anytime test), where the length x is a number of
interactions, and Φ' of Definition 17, where it is a time in seconds. A longer exercise makes good
results easier, so Φ falls with x. A more complex environment makes them harder, so Φ rises with y.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite, log2
from typing import Protocol as StructuralType

from omnimeter.contract import InvalidInputError


class Adjustment(StructuralType):
    """A positive, pure function that never rises with the length nor falls with the complexity."""

    def __call__(self, length: float, complexity: float) -> float:
        """By how much a result counts.

        Args:
            length: How long the exercise is, in interactions or in seconds; 0 or more.
            complexity: The complexity of its environment; 0 or more.
        """
        ...

    def bounds(self) -> tuple[float, float]:
        """Between which numbers it always lies."""
        ...


@dataclass(frozen=True)
class Flat:
    """No adjustment: Φ = 1 for every length and every complexity."""

    def __call__(self, length: float, complexity: float) -> float:  # noqa: ARG002 - on purpose
        """Always 1."""
        return 1.0

    def bounds(self) -> tuple[float, float]:
        """1 and nothing else."""
        return 1.0, 1.0


@dataclass(frozen=True)
class _Scaled:
    """What adjustments have in common that weigh length against complexity."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        if not (isfinite(self.scale) and self.scale > 0):
            raise InvalidInputError(
                f"The scale of an adjustment is {self.scale}.", "Give a positive, finite number."
            )

    def bounds(self) -> tuple[float, float]:
        """0, which it comes near in very long exercises, to 1."""
        return 0.0, 1.0


@dataclass(frozen=True)
class Share(_Scaled):
    """The share of the complexity in complexity and length: Φ = (1 + y) / (1 + y + x / scale).

    A result in an exercise of no length counts in full. One in an exercise of length
    scale (1 + y) counts half.

    Attributes:
        scale: The length that weighs as much as one bit of complexity, in interactions or seconds.

    Raises:
        InvalidInputError: The scale is not a positive, finite number.
    """

    def __call__(self, length: float, complexity: float) -> float:
        """Φ, above 0 and at most 1."""
        return (1 + complexity) / (1 + complexity + length / self.scale)


@dataclass(frozen=True)
class Logarithmic(_Scaled):
    """A share of logarithms: Φ = log2(2 + y) / log2(2 + y + x / scale).

    It falls slowly: in a long exercise, twice the length adds no more than 1 to the denominator.

    Attributes:
        scale: The length that weighs as much as one bit of complexity, in interactions or seconds.

    Raises:
        InvalidInputError: The scale is not a positive, finite number.
    """

    def __call__(self, length: float, complexity: float) -> float:
        """Φ, above 0 and at most 1."""
        return log2(2 + complexity) / log2(2 + complexity + length / self.scale)
