"""All automata of a class by complexity: the parts of their code, counted, drawn and listed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from itertools import combinations, product
from math import comb
from typing import NamedTuple

import numpy as np

from omnimeter.complexity import elias_gamma_length, kt_max, truncated_binary_length
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.automata.complexity import (
    complexity,
    number_of_choices,
    response_steps,
)
from omnimeter.environments.automata.dynamics import Automaton
from omnimeter.environments.automata.validity import is_minimal, is_sensitive, normal_marks
from omnimeter.environments.shared import is_strongly_connected, nearest, weighted_index

# Parts of the code

Part = tuple[int, ...]
"""Marks, symbols, or the transitions of all states one after the other."""


# Every part has masses: by bits, the number of values with a code of that length, each weighing
# 2^-bits. So their sum is at most 1, however many there are.


class Marks:
    """The marks of so many states, not all the same, in their normal form.

    A state with mark 0 takes one bit, any other two.
    """

    def __init__(self, states: int) -> None:
        self.states = states
        self.masses = np.zeros(2 * states + 1)
        for others in range(1, states):
            zeros = states - others
            # All ways with both signs; all positive where zeros are as frequent; all negative
            # where they are more frequent (see ``normal_marks``).
            signs = (1 << others) - 2 + (zeros >= others) + (zeros > others)
            self.masses[states + others] = comb(states, others) * signs * 2.0 ** -(states + others)

    def draw(self, rng: np.random.Generator, bits: int) -> Part:
        """Draw uniformly among the marks with so many bits; at least every third try is normal."""
        while True:
            marks = np.zeros(self.states, dtype=np.int64)
            places = rng.permutation(self.states)[: bits - self.states]
            marks[places] = 1 - 2 * rng.integers(2, size=len(places))
            drawn = tuple(marks.tolist())
            if self._is_normal(drawn):
                return drawn

    def members(self, bits: int) -> Iterator[Part]:
        """All with so many bits, by the places of marks that are not 0, then by their signs."""
        for places in combinations(range(self.states), bits - self.states):
            for signs in product((1, -1), repeat=len(places)):
                sign = dict(zip(places, signs, strict=True))
                marks = tuple(sign.get(state, 0) for state in range(self.states))
                if self._is_normal(marks):
                    yield marks

    @staticmethod
    def _is_normal(marks: Part) -> bool:
        return len(set(marks)) > 1 and normal_marks(marks) == marks


Situation = tuple[int, ...]
"""What is known before an entry of a sequence; its number comes first."""


Option = tuple[int, list[int], Situation, FloatArray]
"""Entries after which the same may follow: the length of each one's code in units, the entries, the
situation after them, and by units the mass of all that can follow."""


class Sequences:
    """Sequences in which the code of an entry depends on what came before it.

    Counted from the end to the beginning, they are drawn from the beginning to the end.

    Args:
        entries: What may come in a situation: costs, values, and the situation after them.
        length: The number of entries.
        start: The situation before the first entry.
        units: The largest length of a code in units, beyond the shortest one.
        base: The bits of the shortest code.
        unit: The bits of a unit.
    """

    def __init__(
        self,
        entries: Callable[[Situation], Iterable[tuple[int, list[int], Situation]]],
        length: int,
        start: Situation,
        units: int,
        *,
        base: int = 0,
        unit: int = 1,
    ) -> None:
        self._entries = entries
        self._length, self._start, self._units = length, start, units
        self._base, self._unit = base, unit
        self._options: dict[Situation, list[Option]] = {}
        self.masses = np.zeros(base + unit * units + 1)
        self.masses[base::unit] = self._count(start, {}) * 2.0**-base

    def _count(self, here: Situation, counted: dict[Situation, FloatArray]) -> FloatArray:
        """By units, the mass of all that can follow a situation."""
        if here not in counted:
            masses = np.zeros(self._units + 1)
            if here[0] == self._length:
                masses[0] = 1.0
            else:
                options = [
                    (cost, values, then, following)
                    for cost, values, then in self._entries(here)
                    if (following := self._count(then, counted)).any()
                ]
                self._options[here] = options
                for cost, values, _, following in options:
                    weight = len(values) * 2.0 ** (-self._unit * cost)
                    masses[cost:] += weight * following[: len(masses) - cost]
            counted[here] = masses
        return counted[here]

    def draw(self, rng: np.random.Generator, bits: int) -> Part:
        """Draw uniformly: each entry in proportion to the mass of what can follow."""
        left = (bits - self._base) // self._unit
        here = self._start
        drawn: list[int] = []
        for number in rng.random(self._length).tolist():
            options = self._options[here]
            weights = [
                len(values) * 2.0 ** (-self._unit * cost) * masses.item(left - cost)
                if cost <= left
                else 0.0
                for cost, values, _, masses in options
            ]
            rest = number * sum(weights)
            place = 0
            while rest >= weights[place] and place + 1 < len(weights):
                rest -= weights[place]
                place += 1
            if rest >= weights[place]:  # left over by rounding: it belongs to the largest
                place, rest = weights.index(max(weights)), 0.0
            cost, values, here, _ = options[place]
            drawn.append(values[int(rest / weights[place] * len(values))])
            left -= cost
        return tuple(drawn)

    def members(self, bits: int) -> Iterator[Part]:
        """All with so many bits, by the options of the entries, then by their values."""
        yield from self._members_from(self._start, (bits - self._base) // self._unit)

    def _members_from(self, here: Situation, left: int) -> Iterator[Part]:
        if here[0] == self._length:
            yield ()
            return
        for cost, values, then, masses in self._options[here]:
            if cost <= left and masses[left - cost]:
                for rest in self._members_from(then, left - cost):
                    for value in values:
                        yield (value, *rest)


def symbols_part(states: int, max_symbols: int) -> Sequences:
    """The symbols of so many states, named in the order of appearance.

    A situation is the number of the state and how many symbols have appeared.
    """

    def entries(here: Situation) -> Iterable[tuple[int, list[int], Situation]]:
        state, known = here
        choices = number_of_choices(known, max_symbols)
        for symbol in range(choices):
            cost = truncated_binary_length(symbol, choices)
            yield cost, [symbol], (state + 1, max(known, symbol + 1))

    return Sequences(entries, states, (0, 0), states * max_symbols.bit_length())


def transitions_part(states: int, actions: int) -> Sequences:
    """The transitions between so many states: all are reached, and none leads only to itself.

    A situation is the number of the entry, how many states have been reached, and whether another
    action of the state leads away from it.
    """
    length = states * actions

    def entries(here: Situation) -> Iterable[tuple[int, list[int], Situation]]:
        entry, known, left = here
        state, action = divmod(entry, actions)
        if state >= known:  # never reached
            return
        is_last = action == actions - 1
        choices = number_of_choices(known, states)
        alike: dict[tuple[int, Situation], list[int]] = {}
        for rank in range(choices):
            following = (state + rank) % choices
            leaves = bool(left) or rank > 0
            reached = max(known, following + 1)
            if (leaves or not is_last) and (reached == states or entry + 1 < length):
                then: Situation = (entry + 1, reached, leaves and not is_last)
                alike.setdefault(((rank + 1).bit_length() - 1, then), []).append(following)
        for (cost, then), values in alike.items():
            yield cost, values, then

    units = length * (states.bit_length() - 1)
    return Sequences(entries, length, (0, 1, False), units, base=length, unit=2)


# Families and the whole population

MAX_DEVIATIONS = 4.0
"""Automata whose code is longer than the mean by more standard deviations are left out: fewer than
one in ten thousand. Nearly all their actions go back to the state met just before, so that hardly
any is connected."""


class Family:
    """All candidates of one size, with masses by bits. Most are valid; the others are rejected."""

    def __init__(self, states: int, actions: int, max_symbols: int) -> None:
        self.actions = actions
        self.steps = response_steps(states, actions)
        self._head = elias_gamma_length(states - 1)
        self._parts: list[Marks | Sequences] = [Marks(states), transitions_part(states, actions)]
        if max_symbols:
            self._parts.append(symbols_part(states, max_symbols))
        self._tails = [np.ones(1)]  # by part, the masses of all parts after it
        for part in reversed(self._parts):
            self._tails.insert(0, np.convolve(part.masses, self._tails[0]))
        self._members: dict[int, list[Automaton]] = {}
        masses = self._tails.pop(0)
        # The largest length is not far beyond the mean, each candidate counted once.
        lengths = np.flatnonzero(masses)
        logarithms = np.log2(masses[lengths]) + lengths
        counts = np.exp2(logarithms - logarithms.max())
        mean = np.average(lengths, weights=counts)
        deviation = np.sqrt(np.average((lengths - mean) ** 2, weights=counts))
        masses[lengths[lengths > mean + MAX_DEVIATIONS * deviation]] = 0.0
        self.masses = np.concatenate([np.zeros(self._head), masses * 2.0**-self._head])

    def draw(self, rng: np.random.Generator, bits: int) -> Automaton | None:
        """Draw a candidate with a code of so many bits uniformly; ``None`` if it is not valid."""
        left = bits - self._head
        parts: list[Part] = []
        for part, tail in zip(self._parts, self._tails, strict=True):
            taken = weighted_index(rng, _products(part.masses, tail, left).cumsum())
            parts.append(part.draw(rng, taken))
            left -= taken
        return self._valid(parts)

    def members(self, bits: int) -> list[Automaton]:
        """All valid automata with a code of so many bits, always in the same order."""
        if bits not in self._members:
            candidates = map(self._valid, self._candidates(0, bits - self._head))
            self._members[bits] = [each for each in candidates if each is not None]
        return self._members[bits]

    def _candidates(self, number: int, left: int) -> Iterator[list[Part]]:
        if number == len(self._parts):
            yield []
            return
        part, tail = self._parts[number], self._tails[number]
        for taken in np.flatnonzero(_products(part.masses, tail, left)).tolist():
            for first in part.members(taken):
                for rest in self._candidates(number + 1, left - taken):
                    yield [first, *rest]

    def _valid(self, parts: list[Part]) -> Automaton | None:
        marks, entries, *symbols = parts
        rows = tuple(
            entries[first : first + self.actions] for first in range(0, len(entries), self.actions)
        )
        if not is_strongly_connected(rows) or not is_sensitive(rows, marks):
            return None
        automaton = Automaton(rows, marks, symbols[0] if symbols else None)
        return automaton if is_minimal(automaton) else None


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


TOLERANCE = 1e-9  # complexities that differ by less are the same

FEW_TRIES, TRIES = 20, 1000
"""Candidates that are drawn before a band is listed instead, where that can be done, and before it
counts as empty. Of each stratum that has valid ones, at least about one in ten is."""

MAX_LISTED = 10_000  # candidates that are examined one by one

_family = lru_cache(maxsize=256)(Family)


class Stratum(NamedTuple):
    """The candidates of one size and one length of code."""

    complexity: float
    family: Family
    bits: int
    weight: float  # their mass, each weighing 2 to the power of minus its complexity


class Population:
    """All automata with so many actions, states at most, and symbols (0: own numbers)."""

    def __init__(self, actions: int, max_states: int, max_symbols: int) -> None:
        families = (_family(each, actions, max_symbols) for each in range(2, max_states + 1))
        strata = [
            Stratum(kt_max(bits, each.steps), each, bits, float(each.masses[bits]) / each.steps)
            for each in families
            for bits in np.flatnonzero(each.masses).tolist()
        ]
        # Equal complexities of different sizes are neighbours.
        self._strata = sorted(strata, key=lambda stratum: stratum.complexity)
        self._complexities = [stratum.complexity for stratum in self._strata]
        self._weights = np.array([stratum.weight for stratum in self._strata])

    @cached_property
    def complexity_range(self) -> tuple[float, float]:
        """The lowest and the highest complexity that there is."""
        (low,), (high,) = self.nearest(-np.inf), self.nearest(np.inf)
        return low, high

    def nearest(self, wanted: float) -> list[float]:
        """The nearest complexities below and above a wanted one that automata have.

        Where no candidate is valid they are few, so that the answer does not depend on draws.
        """
        rng = np.random.default_rng(0)
        return nearest(
            self._complexities, wanted, lambda each: self.draw_between(rng, each, each) is not None
        )

    def draw(self, rng: np.random.Generator) -> Automaton:
        """Draw an automaton in proportion to 2^-complexity."""
        while True:
            automaton = self._draw_candidate(rng, slice(None))
            if automaton is not None:
                return automaton

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Automaton | None:
        """Draw from a band in proportion to 2^-complexity; ``None`` if it is empty."""
        band = self._band(low, high)
        strata = self._strata[band]
        for tries in range(TRIES if strata else 0):
            if tries == FEW_TRIES and _can_be_listed(strata):
                break
            automaton = self._draw_candidate(rng, band)
            if automaton is not None:
                return automaton
        else:
            return None
        # Hardly any candidate is valid, or none.
        lists = [stratum.family.members(stratum.bits) for stratum in strata]
        weights = [
            len(members) * 2.0 ** (low - stratum.complexity)
            for stratum, members in zip(strata, lists, strict=True)
        ]
        if not any(weights):
            return None
        members = lists[weighted_index(rng, np.cumsum(weights))]
        return members[int(rng.integers(len(members)))]

    def _draw_candidate(self, rng: np.random.Generator, band: slice) -> Automaton | None:
        place = weighted_index(rng, self._weights[band].cumsum())
        stratum = self._strata[(band.start or 0) + place]
        return stratum.family.draw(rng, stratum.bits)

    def members(self, low: float, high: float, limit: int) -> list[Automaton] | None:
        """All of a band by complexity; ``None`` if they are more or cannot be listed."""
        strata = self._strata[self._band(low, high)]
        if not _can_be_listed(strata):
            return None
        members = [each for stratum in strata for each in stratum.family.members(stratum.bits)]
        return members if len(members) <= limit else None

    def _band(self, low: float, high: float) -> slice:
        first = bisect_left(self._complexities, low - TOLERANCE)
        return slice(first, bisect_left(self._complexities, high + TOLERANCE))


def _can_be_listed(strata: list[Stratum]) -> bool:
    counts = (np.exp2(np.log2(each.family.masses[each.bits]) + each.bits) for each in strata)
    return sum(map(float, counts)) <= MAX_LISTED


class Example(Population):
    """A population of one automaton, which shows states by their own numbers."""

    def __init__(self, automaton: Automaton) -> None:
        self.automaton = automaton
        self._complexities = [complexity(automaton)]

    def draw(self, rng: np.random.Generator) -> Automaton:  # noqa: ARG002
        """The automaton."""
        return self.automaton

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Automaton | None:  # noqa: ARG002
        """The automaton, if it is in the band."""
        band = self._band(low, high)
        return self.automaton if self._complexities[band] else None

    def members(self, low: float, high: float, limit: int) -> list[Automaton] | None:
        """The automaton, if it is in the band and may be listed."""
        members = [self.automaton] if self._complexities[self._band(low, high)] else []
        return members if len(members) <= limit else None


population = lru_cache(maxsize=64)(Population)
