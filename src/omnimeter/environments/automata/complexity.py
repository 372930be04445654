"""The code of automata, its parts counted by length, and the complexity Kt-max (Definition 9)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from itertools import combinations, product
from math import comb
from typing import NamedTuple

import numpy as np

from omnimeter.complexity import (
    elias_gamma,
    kt_max,
    read_elias_gamma,
    read_truncated_binary,
    truncated_binary,
    truncated_binary_length,
)
from omnimeter.contract import InvalidInputError
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.automata.dynamics import Automaton
from omnimeter.environments.automata.validity import normal_form, normal_marks

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


class Marks(CodePart):
    """The marks of so many states, not all the same, in their normal form.

    A state with mark 0 takes one bit, any other two.
    """

    def __init__(self, states: int) -> None:
        self.states = states
        self.masses = np.zeros(2 * states + 1)
        for others in range(1, states):
            count = comb(states, others) * _signs(states - others, others)
            self.masses[states + others] = count * 2.0 ** -(states + others)

    def draw(self, rng: np.random.Generator, bits: int) -> Part:
        """Marks drawn anew until they are in their normal form, as at least every third is."""
        while True:
            marks = np.zeros(self.states, dtype=np.int64)
            places = rng.permutation(self.states)[: bits - self.states]
            marks[places] = 1 - 2 * rng.integers(2, size=len(places))
            found = marks.tolist()
            if _is_normal(found):
                return tuple(found)

    def listed(self, bits: int) -> Iterator[Part]:
        """By the places of the marks that are not 0, then by their signs."""
        for places in combinations(range(self.states), bits - self.states):
            for signs in product((1, -1), repeat=len(places)):
                marks = [0] * self.states
                for place, sign in zip(places, signs, strict=True):
                    marks[place] = sign
                if _is_normal(marks):
                    yield tuple(marks)


def _is_normal(marks: list[int]) -> bool:
    return len(set(marks)) > 1 and normal_marks(marks) == tuple(marks)


def _signs(zeros: int, others: int) -> int:
    """In how many ways marks other than 0 can be positive or negative, with so many zeros beside.

    All ways with both signs; all positive where zeros are as frequent; all negative where they
    are more frequent (see ``normal_marks``).
    """
    return (1 << others) - 2 + (zeros >= others) + (zeros > others)


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


MARKS = {0: "0", 1: "10", -1: "11"}
"""How the mark of a state is written."""


def response_steps(states: int, actions: int) -> int:
    """The longest response time, in steps of the machine."""
    return states * (actions + 1)


def complexity(automaton: Automaton, most_symbols: int = 0) -> float:
    """Kt-max: the length of the shortest description, plus the logarithm of the response time."""
    normal = normal_form(automaton)
    bits = len(encode(normal, most_symbols))
    return kt_max(bits, response_steps(normal.states, normal.actions))


def encode(automaton: Automaton, most_symbols: int = 0) -> str:
    """The code word of an automaton in its normal form.

    Args:
        automaton: The automaton.
        most_symbols: How many symbols there are to show states as; 0 for their own numbers.
    """
    return elias_gamma(automaton.states - 1) + "".join(_words(automaton, most_symbols))


def _words(automaton: Automaton, most_symbols: int) -> Iterator[str]:
    met = 0
    for state, mark in enumerate(automaton.marks):
        yield MARKS[mark]
        if automaton.symbols is not None:
            symbol = automaton.symbols[state]
            yield truncated_binary(symbol, min(met + 1, most_symbols))
            met = max(met, symbol + 1)
    known = 1
    for state, row in enumerate(automaton.transitions):
        for following in row:
            yield elias_gamma((following - state) % choices(known, automaton.states) + 1)
            known = max(known, following + 1)


def choices(known: int, states: int) -> int:
    """To how many states an action may lead when so many have been met."""
    return min(known + 1, states)


def decode(bits: str, actions: int = 3, most_symbols: int = 0) -> Automaton:
    """The automaton of a code word, in the class of so many actions and symbols.

    Whether it is balanced by its marks, connected and sensitive is another question.

    Raises:
        InvalidInputError: This is no code word, or more than one.
    """
    reader = _Reader(bits)
    states = reader.gamma() + 1
    if states * actions > len(bits):  # an entry has at least one bit: spares reading vast numbers
        raise reader.fault()
    marks: list[int] = []
    symbols: list[int] = []
    for _ in range(states):
        marks.append(reader.mark())
        if most_symbols:
            symbols.append(reader.symbol(min(len(set(symbols)) + 1, most_symbols)))
    known = 1
    transitions: list[tuple[int, ...]] = []
    for state in range(states):
        if state >= known:
            raise reader.fault()
        row: list[int] = []
        for _ in range(actions):
            row.append(reader.following(state, choices(known, states)))
            known = max(known, row[-1] + 1)
        transitions.append(tuple(row))
    if reader.at != len(bits) or known < states:
        raise reader.fault()
    found = Automaton(tuple(transitions), tuple(marks), tuple(symbols) if most_symbols else None)
    if normal_form(found) != found:
        raise reader.fault()
    return found


class _Reader:
    """Reads a code from left to right.

    Attributes:
        bits: The code.
        at: How far it has been read.
    """

    def __init__(self, bits: str) -> None:
        self.bits = bits
        self.at = 0
        if bits.strip("01"):
            raise self.fault()

    def gamma(self) -> int:
        try:
            number, self.at = read_elias_gamma(self.bits, self.at)
        except ValueError:
            raise self.fault() from None
        return number

    def mark(self) -> int:
        for mark, word in MARKS.items():
            if self.bits.startswith(word, self.at):
                self.at += len(word)
                return mark
        raise self.fault()

    def symbol(self, count: int) -> int:
        try:
            symbol, self.at = read_truncated_binary(self.bits, self.at, count)
        except ValueError:
            raise self.fault() from None
        return symbol

    def following(self, state: int, count: int) -> int:
        begin = self.at
        rank = self.gamma() - 1
        if rank >= count:
            self.at = begin
            raise self.fault()
        return (state + rank) % count

    def fault(self) -> InvalidInputError:
        return InvalidInputError(
            f"These {len(self.bits)} bits are not the code of an automaton: they cannot be read "
            f"from bit {self.at + 1} on.",
            "Give exactly what encode wrote, with the same numbers of actions and symbols.",
        )


PAIR = 0.25
"""What a pair of bits weighs."""


class Situation(NamedTuple):
    """What is known before an entry.

    Attributes:
        entry: Its number.
        known: How many states have been met.
        left: Whether another action of the state leads away from it.
    """

    entry: int
    known: int
    left: bool


class Step(NamedTuple):
    """Ways to write an entry that take equally many bits and lead to the same situation.

    Attributes:
        pairs: The pairs of bits that each takes.
        following: The states that the action leads to.
        masses: By pairs, the mass of all that can follow.
        then: The situation after it.
    """

    pairs: int
    following: list[int]
    masses: FloatArray
    then: Situation


class Transitions(CodePart):
    """The transitions between so many states: all are met, and none is only led to itself."""

    def __init__(self, states: int, actions: int) -> None:
        self.states = states
        self.actions = actions
        self.entries = states * actions
        self._longest = self.entries * (states.bit_length() - 1)
        self._steps: dict[Situation, list[Step]] = {}
        counted = self._counted()
        self.masses = np.zeros(self.entries + 2 * self._longest + 1)
        self.masses[self.entries :: 2] = counted * 2.0**-self.entries

    def _counted(self) -> FloatArray:
        """Go through all situations from the last entry to the first."""
        ended = np.zeros(self._longest + 1)
        ended[0] = 1.0
        after = {Situation(self.entries, self.states, False): ended}
        for entry in reversed(range(self.entries)):
            state, action = divmod(entry, self.actions)
            before = {}
            for known in range(state + 1, min(self.states, entry + 1) + 1):
                for left in (False, True) if action else (False,):
                    here = Situation(entry, known, left)
                    steps = self._steps_from(here, after)
                    if steps:
                        self._steps[here] = steps
                        before[here] = self._sum(steps)
            after = before
        return after[Situation(0, 1, False)]

    def _sum(self, steps: list[Step]) -> FloatArray:
        masses = np.zeros(self._longest + 1)
        for step in steps:
            weight = len(step.following) * PAIR**step.pairs
            masses[step.pairs :] += weight * step.masses[: len(masses) - step.pairs]
        return masses

    def _steps_from(self, here: Situation, after: dict[Situation, FloatArray]) -> list[Step]:
        """The ways to go on that can come to a good end, by their length."""
        state, action = divmod(here.entry, self.actions)
        count = choices(here.known, self.states)
        ways: dict[tuple[int, Situation], list[int]] = {}
        for rank in range(count):
            following = (state + rank) % count
            known = max(here.known, following + 1)
            left = here.left or rank > 0
            last = action == self.actions - 1
            if left or not last:
                then = Situation(here.entry + 1, known, left and not last)
                ways.setdefault(((rank + 1).bit_length() - 1, then), []).append(following)
        return [
            Step(pairs, following, after[then], then)
            for (pairs, then), following in ways.items()
            if then in after
        ]

    def draw(self, rng: np.random.Generator, bits: int) -> Part:
        """Entry by entry, each in proportion to how many ends it has."""
        pairs = (bits - self.entries) // 2
        here = Situation(0, 1, False)
        found: list[int] = []
        for chance in rng.random(self.entries).tolist():
            step, place = self._chosen(self._steps[here], pairs, chance)
            found.append(step.following[place])
            pairs -= step.pairs
            here = step.then
        return tuple(found)

    @staticmethod
    def _chosen(steps: list[Step], pairs: int, chance: float) -> tuple[Step, int]:
        """The step and which of its ways, for a number drawn uniformly from [0, 1)."""
        weights = [
            len(step.following) * PAIR**step.pairs * step.masses.item(pairs - step.pairs)
            if step.pairs <= pairs
            else 0.0
            for step in steps
        ]
        rest = chance * sum(weights)
        number = 0
        while rest >= weights[number] and number + 1 < len(weights):
            rest -= weights[number]
            number += 1
        if rest >= weights[number]:  # left over by rounding: it belongs to the largest
            number, rest = weights.index(max(weights)), 0.0
        following = steps[number].following
        return steps[number], int(rest / weights[number] * len(following))

    def listed(self, bits: int) -> Iterator[Part]:
        """By the lengths of the entries, then by the states that they lead to."""
        yield from self._from(Situation(0, 1, False), (bits - self.entries) // 2)

    def _from(self, here: Situation, pairs: int) -> Iterator[Part]:
        if here.entry == self.entries:
            yield ()
            return
        for step in self._steps[here]:
            if step.pairs <= pairs and step.masses[pairs - step.pairs]:
                for rest in self._from(step.then, pairs - step.pairs):
                    for following in step.following:
                        yield (following, *rest)
