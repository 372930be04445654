"""Which series are fit for a test: those whose beginning leaves no question how they go on."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from omnimeter.complexity import kt_max
from omnimeter.contract import InvalidInputError
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.environments.shared import nearest, weighted_index
from omnimeter.series.machine import HORIZON, WIDTH, spell
from omnimeter.series.search import LETTER_BITS, MAX_DEPTH, Table, table

MIN_SHOWN, MAX_SHOWN = 4, HORIZON - 1
"""Letters that are shown of a series before the question how it goes on."""

TOLERANCE = 1e-3
"""A wanted complexity may be given to three places."""

EXACT = 1e-9  # complexities that differ by less are the same

NEVER = HORIZON  # more letters than can be shown


class Item(NamedTuple):
    """A series of letters: the simplest program that writes it, and how much of it is shown."""

    program: str
    shown: int


class Fitness(NamedTuple):
    """When each series of a table is fit for a test.

    Attributes:
        complexity: The Kt of each series.
        simplest: The number of shown letters from which on its program is the simplest that
            writes them; it stays so with each further letter.
        unquestionable: The numbers of shown letters at which no program that goes on with another
            letter comes near, as a sum of powers of two. These need not be all from some on.
    """

    complexity: FloatArray
    simplest: IntArray
    unquestionable: IntArray

    def shown(self, stability: int) -> IntArray:
        """The least number of letters that must be shown; ``NEVER`` if it is never fit.

        The simplest program has been the same for as many numbers of letters as ``stability``.
        """
        least = np.maximum(self.simplest + stability - 1, MIN_SHOWN)
        fit = self.unquestionable >> least
        more = np.log2(np.maximum(fit & -fit, 1)).astype(np.int64)
        shown: IntArray = np.where(fit > 0, least + more, NEVER)
        return shown


def limit(depth: int) -> float:
    """What the Kt of all programs with more instructions than this is at least.

    Below it a search of this depth has seen all there is: a program with one instruction more
    takes at least a step for each of the twelve letters.
    """
    return kt_max(WIDTH * (depth + 2), HORIZON)


def fitness(whole: Table, depth: int, margin: float) -> Fitness:
    """When each series of a table is fit for a test.

    Series with the same beginning are neighbours in the table: for each number of letters it is
    gone through once, in groups that share them.
    """
    rows = len(whole.keys)
    complexity = np.log2(whole.costs)
    rank = np.empty(rows, dtype=np.int64)
    rank[np.lexsort((whole.programs, whole.costs))] = np.arange(rows)
    simplest, unquestionable = np.full(rows, NEVER), np.zeros(rows, dtype=np.int64)
    for count in range(MAX_SHOWN, 0, -1):
        beginnings = whole.keys >> LETTER_BITS * (HORIZON - count)
        starts = np.flatnonzero(np.diff(beginnings, prepend=-1))
        group = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, rows)))
        is_simplest = rank == np.minimum.reduceat(rank, starts)[group]
        simplest[is_simplest] = count
        if count < MIN_SHOWN:
            continue
        following = whole.letters(count)
        answers = following[is_simplest]  # of each group, in order
        others = np.where(following == answers[group], np.inf, complexity)
        nearest_other = np.minimum(np.minimum.reduceat(others, starts), limit(depth))
        enough = nearest_other[group] >= complexity + margin - EXACT
        unquestionable[is_simplest & enough] |= 1 << count
    return Fitness(complexity, simplest, unquestionable)


class Population:
    """All series that are fit for a test, from the simplest on.

    Args:
        depth: The number of instructions up to which all programs were searched.
        letters: The size of the alphabet.
        margin: The bits by which any other explanation must be more complex.
        stability: For how many numbers of shown letters the explanation must be the same.
    """

    def __init__(self, depth: int, letters: int, margin: float, stability: int) -> None:
        whole = table(depth, letters)
        when = fitness(whole, depth, margin)
        shown = when.shown(stability)
        rows = np.flatnonzero(shown <= MAX_SHOWN)
        rows = rows[np.lexsort((whole.programs[rows], whole.costs[rows]))]
        self._table, self._rows, self._shown = whole, rows, shown
        self._complexities: list[float] = when.complexity[rows].tolist()
        self._masses = np.concatenate(([0.0], np.cumsum(1 / whole.costs[rows])))

    def __len__(self) -> int:
        return len(self._rows)

    def item(self, number: int) -> Item:
        """The series of a number, from 0 on."""
        row = int(self._rows[number])
        return Item(self._table.program(row), int(self._shown[row]))

    @property
    def complexities(self) -> list[float]:
        """The complexity of each series."""
        return self._complexities

    def nearest(self, wanted: float) -> list[float]:
        """The nearest complexities below and above a wanted one."""
        return nearest(self._complexities, wanted, lambda _: True)

    def draw(self, rng: np.random.Generator, low: float, high: float) -> Item | None:
        """Draw from a band in proportion to 2^-complexity; ``None`` if it is empty."""
        first, last = self._band(low, high)
        if first == last:
            return None
        masses = self._masses[first + 1 : last + 1] - self._masses[first]
        return self.item(first + weighted_index(rng, masses))

    def members(self, low: float, high: float, limit: int) -> list[Item] | None:
        """All series of a band, the simplest first; ``None`` if they are more."""
        first, last = self._band(low, high)
        if last - first > limit:
            return None
        return [self.item(number) for number in range(first, last)]

    def _band(self, low: float, high: float) -> tuple[int, int]:
        return (
            bisect_left(self._complexities, low - EXACT),
            bisect_right(self._complexities, high + EXACT),
        )


population = lru_cache(maxsize=8)(Population)


def given(series: str, depth: int, letters: int, margin: float) -> Item:
    """The item that shows exactly this series.

    Raises:
        InvalidInputError: No program is known that writes it, or it may go on in several ways.
    """
    whole = table(depth, letters, series)
    named = ", ".join(series)
    deeper = f", or a depth above {depth}" if depth < MAX_DEPTH else ""
    if not len(whole.keys):
        raise InvalidInputError(
            f"No program of up to {depth} instructions writes the series {named}.",
            f"Give another series{deeper}.",
        )
    first, *others = np.lexsort((whole.programs, whole.costs)).tolist()
    complexity = np.log2(whole.costs)
    following = whole.letters(len(series))
    other = next((each for each in others if following[each] != following[first]), None)
    if other is not None and complexity[other] < complexity[first] + margin - EXACT:
        ways = " or ".join(
            f"with {spell([following[each]])} ({whole.program(each)}, complexity "
            f"{complexity[each]:.2f})"
            for each in (first, other)
        )
        raise InvalidInputError(
            f"The series {named} does not say how it goes on: {ways}, which differ by less than "
            f"the margin of {margin:g} bits.",
            "Give more letters of it, or a smaller margin.",
        )
    if complexity[first] + margin > limit(depth) + EXACT:
        raise InvalidInputError(
            f"Whether the series {named} can go on in one way only is not known: its simplest "
            f"program of up to {depth} instructions has complexity {complexity[first]:.2f}, and "
            f"longer ones from {limit(depth):.2f} on were not searched.",
            f"Give a smaller margin{deeper}.",
        )
    return Item(whole.program(first), len(series))
