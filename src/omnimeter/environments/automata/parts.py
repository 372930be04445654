"""What the parts of an automaton's code have in common: how many there are of each length."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator

import numpy as np

from omnimeter.contract import FloatArray

Part = tuple[int, ...]
"""Marks, symbols, or the transitions of all states one after the other."""


class CodePart(ABC):
    """All that one part of the code can say.

    Attributes:
        masses: How many ways to say something have so many bits, each way weighing 2 to the power
            of minus its bits. So their sum is at most 1, however many there are.
    """

    masses: FloatArray

    @abstractmethod
    def draw(self, rng: np.random.Generator, bits: int) -> Part:
        """One of those with so many bits, each as likely."""

    @abstractmethod
    def listed(self, bits: int) -> Iterator[Part]:
        """All with so many bits, always in the same order."""


def pick(rng: np.random.Generator, weights: FloatArray) -> int:
    """A place drawn with probability in proportion to its weight."""
    bounds = weights.cumsum()
    return int(np.searchsorted(bounds, rng.random() * bounds[-1], side="right"))
