"""All automata of a class by complexity: counted, drawn and listed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import islice

import numpy as np

from omnimeter.complexity import elias_gamma_length, kt_max
from omnimeter.contract import InvalidInputError
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.automata.complexity import (
    CodePart,
    Marks,
    Part,
    Symbols,
    Transitions,
    pick,
    response_steps,
)
from omnimeter.environments.automata.dynamics import Automaton
from omnimeter.environments.automata.validity import is_connected, is_minimal, is_sensitive

FAR = 4.0
"""Automata whose code is longer than the mean by more standard deviations are left out.

They are fewer than one in ten thousand, and odd: nearly every action goes back to the state met
just before, so that hardly any is connected.
"""


class Family:
    """All candidates of one size. Most of them are valid; the others have to be told apart.

    Attributes:
        states: The number of states.
        actions: The number of actions.
        steps: The response time.
        masses: By bits, the mass of all candidates with a code of that length, each weighing 2 to
            the power of minus its bits.
    """

    def __init__(self, states: int, actions: int, most_symbols: int) -> None:
        self.states = states
        self.actions = actions
        self.steps = response_steps(states, actions)
        self._head = elias_gamma_length(states - 1)
        self._parts: list[CodePart] = [Marks(states), Transitions(states, actions)]
        if most_symbols:
            self._parts.append(Symbols(states, most_symbols))
        self._tails = [np.ones(1)]  # by part, the masses of all parts after it
        for part in reversed(self._parts):
            self._tails.insert(0, np.convolve(part.masses, self._tails[0]))
        self._lists: dict[int, list[Automaton]] = {}
        masses = self._tails.pop(0)
        masses[_longest(masses) + 1 :] = 0.0
        self.masses = np.concatenate([np.zeros(self._head), masses * 2.0**-self._head])

    def complexity(self, bits: int) -> float:
        """The complexity of an automaton with a code of so many bits."""
        return kt_max(bits, self.steps)

    def count(self, bits: int) -> float:
        """How many candidates have a code of so many bits."""
        return float(np.exp2(np.log2(self.masses[bits]) + bits)) if self.masses[bits] else 0.0

    def draw(self, rng: np.random.Generator, bits: int) -> Automaton | None:
        """A candidate with a code of so many bits, each as likely; ``None`` if it is not valid."""
        left = bits - self._head
        found: list[Part] = []
        for part, tail in zip(self._parts, self._tails, strict=True):
            taken = pick(rng, _products(part.masses, tail, left))
            found.append(part.draw(rng, taken))
            left -= taken
        return self._valid(found)

    def listed(self, bits: int) -> list[Automaton]:
        """All valid automata with a code of so many bits, always in the same order."""
        if bits not in self._lists:
            candidates = self._from(0, bits - self._head)
            found = (self._valid(parts) for parts in candidates)
            self._lists[bits] = [automaton for automaton in found if automaton is not None]
        return self._lists[bits]

    def _from(self, number: int, left: int) -> Iterator[list[Part]]:
        if number == len(self._parts):
            yield []
            return
        part, tail = self._parts[number], self._tails[number]
        for taken in np.flatnonzero(_products(part.masses, tail, left)).tolist():
            for first in part.listed(taken):
                for rest in self._from(number + 1, left - taken):
                    yield [first, *rest]

    def _valid(self, parts: list[Part]) -> Automaton | None:
        marks, entries, *symbols = parts
        rows = tuple(
            entries[first : first + self.actions] for first in range(0, len(entries), self.actions)
        )
        if not is_connected(rows) or not is_sensitive(rows, marks):
            return None
        automaton = Automaton(rows, marks, symbols[0] if symbols else None)
        return automaton if is_minimal(automaton) else None


@lru_cache(maxsize=256)
def family(states: int, actions: int, most_symbols: int) -> Family:
    """The family of one size, counted once."""
    return Family(states, actions, most_symbols)


def _products(masses: FloatArray, tail: FloatArray, left: int) -> FloatArray:
    """By the bits that a part takes: its mass times that of what takes the bits left then."""
    products = np.zeros(left + 1)
    first = max(0, left - len(tail) + 1)
    last = min(left, len(masses) - 1)
    if first <= last:
        products[first : last + 1] = (
            masses[first : last + 1] * tail[left - last : left - first + 1][::-1]
        )
    return products


def _longest(masses: FloatArray) -> int:
    """The largest length that is not far beyond the mean, each candidate counted once."""
    lengths = np.flatnonzero(masses)
    logarithms = np.log2(masses[lengths]) + lengths
    counts = np.exp2(logarithms - logarithms.max())
    mean = np.average(lengths, weights=counts)
    spread = np.sqrt(np.average((lengths - mean) ** 2, weights=counts))
    return int(lengths[lengths <= mean + FAR * spread].max())


TOLERANCE = 1e-9
"""Complexities that differ by less are the same."""

FEW = 20
"""Candidates that are drawn before a band is listed instead, where that can be done."""

TRIES = 1000
"""Candidates that are drawn before a band counts as empty. Of each level that has valid ones, at
least about one in ten is."""

LISTABLE = 10_000
"""The most candidates among which the valid ones are looked for one by one."""


@dataclass(frozen=True)
class Level:
    """The candidates of one size and one length of code.

    Attributes:
        complexity: Their complexity.
        family: Those of their size.
        bits: The length of their code.
        weight: Their mass, each weighing 2 to the power of minus its complexity.
    """

    complexity: float
    family: Family
    bits: int
    weight: float


class Population:
    """All automata with so many actions, states at most, and symbols (0: own numbers)."""

    def __init__(self, actions: int, most_states: int, most_symbols: int) -> None:
        self.actions = actions
        self.most_states = most_states
        self.most_symbols = most_symbols

    @cached_property
    def levels(self) -> list[Level]:
        """All levels by their complexity; equal ones of different sizes stand side by side."""
        found = [
            Level(each.complexity(bits), each, bits, float(each.masses[bits]) / each.steps)
            for each in self._families()
            for bits in np.flatnonzero(each.masses).tolist()
        ]
        return sorted(found, key=lambda level: level.complexity)

    def _families(self) -> Iterator[Family]:
        for states in range(2, self.most_states + 1):
            yield family(states, self.actions, self.most_symbols)

    @cached_property
    def _complexities(self) -> list[float]:
        return [level.complexity for level in self.levels]

    @cached_property
    def _weights(self) -> FloatArray:
        return np.array([level.weight for level in self.levels])

    def range(self) -> tuple[float, float]:
        """The lowest and the highest complexity that there is."""
        return self._range

    @cached_property
    def _range(self) -> tuple[float, float]:
        (low,) = self._first_there(self._complexities)
        (high,) = self._first_there(self._complexities[::-1])
        return low, high

    def draw(self, rng: np.random.Generator) -> Automaton:
        """An automaton drawn with probability in proportion to 2^-complexity."""
        while True:
            automaton = self._candidate(rng, 0, self._weights)
            if automaton is not None:
                return automaton

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Automaton | None:
        """One of a band, in proportion to 2^-complexity; ``None`` if there is none."""
        first, weights = self._band(low, high)
        if not len(weights):
            return None
        for tries in range(TRIES):
            if tries == FEW and self._can_be_listed(self._within(low, high)):
                return self._drawn_from_list(rng, low, high)
            automaton = self._candidate(rng, first, weights)
            if automaton is not None:
                return automaton
        return None

    def draw_of(self, rng: np.random.Generator, wanted: float) -> Automaton:
        """One of a complexity, each as likely.

        Raises:
            InvalidInputError: There is none; the nearest complexities are named.
        """
        found = self.draw_between(rng, wanted, wanted)
        if found is None:
            raise no_such(wanted, self._nearest(wanted))
        return found

    def listed(self, low: float, high: float, most: int) -> list[Automaton] | None:
        """All of a band, ordered by complexity; ``None`` if they are more or cannot be listed."""
        levels = self._within(low, high)
        if not self._can_be_listed(levels):
            return None
        found = [automaton for level in levels for automaton in level.family.listed(level.bits)]
        return found if len(found) <= most else None

    def _band(self, low: float, high: float) -> tuple[int, FloatArray]:
        """The first level of a band, and the weights of all its levels."""
        first = bisect_left(self._complexities, low - TOLERANCE)
        last = bisect_left(self._complexities, high + TOLERANCE)
        return first, self._weights[first:last]

    def _within(self, low: float, high: float) -> list[Level]:
        """The levels of a band."""
        first, weights = self._band(low, high)
        return self.levels[first : first + len(weights)]

    def _can_be_listed(self, levels: Sequence[Level]) -> bool:
        return sum(level.family.count(level.bits) for level in levels) <= LISTABLE

    def _candidate(
        self, rng: np.random.Generator, first: int, weights: FloatArray
    ) -> Automaton | None:
        level = self.levels[first + pick(rng, weights)]
        return level.family.draw(rng, level.bits)

    def _drawn_from_list(
        self, rng: np.random.Generator, low: float, high: float
    ) -> Automaton | None:
        """For a band in which hardly any candidate is valid, or none."""
        levels = self._within(low, high)
        lists = [level.family.listed(level.bits) for level in levels]
        weights = [
            len(listed) * 2.0 ** (low - level.complexity)
            for level, listed in zip(levels, lists, strict=True)
        ]
        if not any(weights):
            return None
        chosen = lists[pick(rng, np.array(weights))]
        return chosen[int(rng.integers(len(chosen)))]

    def _nearest(self, wanted: float) -> list[float]:
        """The complexities there are next to a wanted one: below and above."""
        place = bisect_left(self._complexities, wanted)
        below, above = self._complexities[:place][::-1], self._complexities[place:]
        return self._first_there(below) + self._first_there(above)

    def _first_there(self, grades: Sequence[float]) -> list[float]:
        """The first of some complexities that an automaton has, if one does.

        Where no candidate is valid they are few, so that the answer is no matter of chance.
        """
        rng = np.random.default_rng(0)
        there = (each for each in grades if self.draw_between(rng, each, each) is not None)
        return list(islice(there, 1))


@lru_cache(maxsize=64)
def population(actions: int, most_states: int, most_symbols: int) -> Population:
    """The population of a class, counted once."""
    return Population(actions, most_states, most_symbols)


def no_such(wanted: float, there_are: list[float]) -> InvalidInputError:
    """What is said when there is no automaton of a wanted complexity."""
    nearest = " and ".join(f"{each:.12g}" for each in there_are)
    return InvalidInputError(
        f"No automaton has complexity {wanted:.12g}.",
        f"The nearest complexities that there are: {nearest}.",
    )
