"""Which pairs of paths there are at each complexity, and how one is drawn among them.

Candidates are pairs of expressions, counted by their letters and bits together. A pair is drawn
among the candidates and drawn again, from the beginning, unless both expressions are shortest. So
every environment has exactly its share, without all of them being known.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product

import numpy as np

from omnimeter.contract import FloatArray, Instance, IntArray
from omnimeter.environments.torus.complexity import grade
from omnimeter.environments.torus.expressions import Expressions

ROUNDING = 1e-9
"""Complexities that differ by less are the same."""

TRIES = 3000
"""Candidates drawn from a band before it counts as empty. In any band one bit wide about every
second is accepted; only with nearly all letters of the longer codes is there hardly a pair."""

REFUSED_AT_MOST = 4
"""Candidates looked at for each one that is listed; more and they cannot be listed in good time."""


@dataclass(frozen=True)
class Candidates:
    """Candidates in ascending order of complexity, one entry for all that are alike.

    Attributes:
        complexity: Their complexity.
        letters: The length of both paths together.
        bits: The length of their description.
        count: How many they are.
    """

    complexity: FloatArray
    letters: IntArray
    bits: IntArray
    count: FloatArray

    def between(self, low: float, high: float) -> Candidates:
        """Those of a band."""
        first = int(np.searchsorted(self.complexity, low - ROUNDING))
        last = int(np.searchsorted(self.complexity, high + ROUNDING))
        band = slice(first, last)
        return Candidates(
            self.complexity[band], self.letters[band], self.bits[band], self.count[band]
        )


class Pairs:
    """The pairs of paths up to a length, by complexity.

    Args:
        longest: The length of the longest path.

    Attributes:
        lowest: The complexity of the simplest pair.
        highest: The complexity of two paths of that length as they mostly are. More complex ones
            get rare and odd; they are not drawn.
    """

    def __init__(self, longest: int) -> None:
        self._expressions = Expressions(longest)
        count = self._expressions.count
        usual = int(count[longest].argmax())
        self.highest = grade(2 * usual, 2 * longest)
        self._candidates = _candidates(count).between(-np.inf, self.highest)
        self.lowest = float(self._candidates.complexity[0])

    def draw(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw a pair with ``low <= complexity <= high``, each with probability 2^-complexity.

        Returns:
            The pair; ``None`` when there is none.
        """
        band = self._candidates.between(low, high)
        if not len(band.count):
            return None
        least = band.complexity[0]  # keeps the weights from vanishing
        weights = np.cumsum(band.count * np.exp2(least - band.complexity))
        for _ in range(TRIES):
            entry = _choose(rng, weights)
            found = self._draw_alike(rng, int(band.letters[entry]), int(band.bits[entry]))
            if found is not None:
                return found
        return None

    def _draw_alike(self, rng: np.random.Generator, letters: int, bits: int) -> Instance | None:
        """A candidate with so many letters and bits, if both of its expressions are shortest."""
        count = self._expressions.count
        first, last = _lengths(letters, self._expressions.longest)
        most = min(bits, count.shape[1] - 1)
        good = count[first : last + 1, bits - most : most + 1]
        # Evil's path has the letters and bits that Good's leaves: the same table, read backwards.
        weights = np.cumsum(good * good[::-1, ::-1])
        place = _choose(rng, weights)
        row, column = divmod(place, good.shape[1])
        length, size = first + row, bits - most + column
        good_path = self._expressions.draw(rng, length, size)
        if good_path is None:
            return None
        evil_path = self._expressions.draw(rng, letters - length, bits - size)
        return None if evil_path is None else _instance(good_path, evil_path)

    def listed(self, low: float, high: float, most: int) -> list[Instance] | None:
        """All pairs of a band, by complexity, Good's path and Evil's.

        Returns:
            The pairs; ``None`` when they are more than ``most``, or too many to be looked through.
        """
        band = self._candidates.between(low, high)
        if band.count.sum() > REFUSED_AT_MOST * most:
            return None
        found: list[Instance] = []
        for letters, bits in zip(band.letters.tolist(), band.bits.tolist(), strict=True):
            found += self._alike(letters, bits)
            if len(found) > most:
                return None
        return found

    def _alike(self, letters: int, bits: int) -> list[Instance]:
        """All pairs with so many letters and bits."""
        expressions = self._expressions
        first, last = _lengths(letters, expressions.longest)
        found: list[Instance] = []
        for length in range(first, last + 1):
            for size in np.flatnonzero(expressions.count[length, : bits + 1]).tolist():
                evil_paths = expressions.paths(letters - length, bits - size)
                if evil_paths:  # else Good's paths may be very many, for nothing
                    good_paths = expressions.paths(length, size)
                    found += [_instance(*pair) for pair in product(good_paths, evil_paths)]
        return found

    def nearest(self, wanted: float) -> list[float]:
        """The nearest complexities below and above for which there is a pair."""
        known = np.unique(self._candidates.complexity)
        rng = np.random.default_rng(0)  # what is drawn is only asked whether it is there
        place = int(np.searchsorted(known, wanted))
        found = []
        for side in (known[:place][::-1], known[place:]):
            there = (each for each in side.tolist() if self.draw(rng, each, each) is not None)
            found += list(islice(there, 1))
        return found


@lru_cache(maxsize=8)
def pairs(longest: int) -> Pairs:
    """The pairs of paths up to a length, counted once."""
    return Pairs(longest)


def _candidates(count: FloatArray) -> Candidates:
    """All pairs of expressions, given how many expressions there are of each kind."""
    longest = len(count) - 1
    table = np.zeros((2 * longest + 1, 2 * count.shape[1] - 1))
    for good in range(1, longest + 1):
        for evil in range(1, longest + 1):
            table[good + evil] += np.convolve(count[good], count[evil])
    letters, bits = np.nonzero(table)
    complexity = np.array(
        [grade(size, length) for length, size in zip(letters.tolist(), bits.tolist(), strict=True)]
    )
    order = np.argsort(complexity, kind="stable")
    return Candidates(
        complexity[order], letters[order], bits[order], table[letters[order], bits[order]]
    )


def _lengths(letters: int, longest: int) -> tuple[int, int]:
    """The shortest and the longest that one path can be, given the letters of both."""
    return max(1, letters - longest), min(longest, letters - 1)


def _choose(rng: np.random.Generator, cumulative: FloatArray) -> int:
    """A place with probability in proportion to its weight, given the sums of weights up to it."""
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


def _instance(good: str, evil: str) -> Instance:
    return Instance({"good": good, "evil": evil})
