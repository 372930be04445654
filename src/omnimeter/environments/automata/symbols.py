"""How the symbols of states are counted, drawn and listed by the length of their code."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from omnimeter.complexity import truncated_binary_length
from omnimeter.contract import FloatArray
from omnimeter.environments.automata.parts import CodePart, Part, pick


class Symbols(CodePart):
    """What so many states are shown as, named in the order of appearance."""

    def __init__(self, states: int, most_symbols: int) -> None:
        self.states = states
        self.most_symbols = most_symbols
        self._longest = states * most_symbols.bit_length()
        self._ends = self._counted()
        self.masses = self._ends[0][0]

    def _counted(self) -> list[list[FloatArray]]:
        """The masses of all ends, by the state where they begin and the symbols met before."""
        nothing = np.zeros(self._longest + 1)
        nothing[0] = 1.0
        ends = [[nothing] * (self.most_symbols + 1)]
        for _ in range(self.states):
            ends.append([self._added(ends[-1], met) for met in range(self.most_symbols + 1)])
        return ends[::-1]

    def _added(self, ends: list[FloatArray], met: int) -> FloatArray:
        """The masses with one state more before."""
        masses = np.zeros(self._longest + 1)
        for bits, after in self._choices(met):
            masses[bits:] += ends[after][: len(masses) - bits] * 2.0**-bits
        return masses

    def _choices(self, met: int) -> list[tuple[int, int]]:
        """For each symbol that may come: its bits, and how many have been met then."""
        count = min(met + 1, self.most_symbols)
        return [
            (truncated_binary_length(symbol, count), max(met, symbol + 1))
            for symbol in range(count)
        ]

    def draw(self, rng: np.random.Generator, bits: int) -> Part:
        """Symbol by symbol, each in proportion to how many ends it has."""
        found: list[int] = []
        met = 0
        for state in range(self.states):
            choices = self._choices(met)
            weights = [self._mass(state + 1, after, bits, taken) for taken, after in choices]
            symbol = pick(rng, np.array(weights))
            taken, met = choices[symbol]
            bits -= taken
            found.append(symbol)
        return tuple(found)

    def _mass(self, state: int, met: int, bits: int, taken: int) -> float:
        return self._ends[state][met].item(bits - taken) * 2.0**-taken if taken <= bits else 0.0

    def listed(self, bits: int) -> Iterator[Part]:
        """In the order of their symbols."""
        yield from self._from(0, 0, bits)

    def _from(self, state: int, met: int, bits: int) -> Iterator[Part]:
        if state == self.states:
            yield ()
            return
        for symbol, (taken, after) in enumerate(self._choices(met)):
            if self._mass(state + 1, after, bits, taken):
                for rest in self._from(state + 1, after, bits - taken):
                    yield (symbol, *rest)
