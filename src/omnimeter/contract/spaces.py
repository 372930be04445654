"""Which observations there can be: vectors of small whole numbers."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Space:
    """Observations as vectors, component ``k`` lying in ``0 .. sizes[k] - 1``.

    A space with one component is *single*: its observations are plain integers to a Python agent.
    Kernels always see the vector.

    Attributes:
        sizes: How many values each component can take.
        single: Whether an observation is one integer instead of a vector.
    """

    sizes: tuple[int, ...]
    single: bool = False

    def __post_init__(self) -> None:
        if not self.sizes or any(size < 1 for size in self.sizes):
            raise ValueError(f"every component of a space needs at least one value: {self.sizes}")
        if self.single and len(self.sizes) != 1:
            raise ValueError(f"a single space has exactly one component, not {len(self.sizes)}")

    @property
    def count(self) -> int:
        """How many different observations there are."""
        return prod(self.sizes)

    def shown(self, vector: IntArray) -> int | IntArray:
        """The observation as a Python agent gets it, safe to keep."""
        return int(vector[0]) if self.single else vector.copy()

    def vector(self, observation: int | IntArray) -> IntArray:
        """The observation as kernels get it."""
        return np.atleast_1d(np.asarray(observation, dtype=np.int64))

    def contains(self, observation: object) -> bool:
        """Whether this is an observation of the space, in the form that Python agents get."""
        if self.single:
            integer = isinstance(observation, (int, np.integer))
            return integer and 0 <= int(observation) < self.sizes[0]  # type: ignore[call-overload]
        if not isinstance(observation, np.ndarray) or observation.shape != (len(self.sizes),):
            return False
        return bool(np.all(observation >= 0) and np.all(observation < np.asarray(self.sizes)))


def single(size: int) -> Space:
    """A space of the integers ``0 .. size - 1``."""
    return Space((size,), single=True)


Observation = int | IntArray
