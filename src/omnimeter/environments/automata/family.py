"""The automata of one size: how many there are of each complexity, drawn and listed."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from omnimeter.complexity import elias_gamma_length, kt_max
from omnimeter.contract import FloatArray
from omnimeter.environments.automata.automaton import Automaton
from omnimeter.environments.automata.complexity import response_steps
from omnimeter.environments.automata.marks import Marks
from omnimeter.environments.automata.parts import CodePart, Part, pick
from omnimeter.environments.automata.symbols import Symbols
from omnimeter.environments.automata.transitions import Transitions
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
