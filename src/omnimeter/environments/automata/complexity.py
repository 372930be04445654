"""The code of automata, and their complexity Kt-max (anytime test, Definition 9).

An automaton of n states is written in this order:

1. n - 1 in Elias gamma.
2. For each state its mark: ``0`` for 0, ``10`` for 1, ``11`` for -1; and where states are shown as
   symbols, its symbol in truncated binary: one of those met before, or the next one if there is.
3. For each state and action the state that it leads to. Of the k states met so far and the next new
   one (if there is one) it is the r-th, counted from the state itself, r = 0, and around; r + 1
   is written in Elias gamma.

No code word begins another. Only automata in their normal form have one: none with states that
cannot be told apart, nor with states numbered otherwise than they are met. To answer, the machine
looks for the entry of the state and action, one entry per step over marks and transitions, at most
all ``n * (actions + 1)`` of them.
"""

from __future__ import annotations

from collections.abc import Iterator

from omnimeter.complexity import (
    elias_gamma,
    kt_max,
    read_elias_gamma,
    read_truncated_binary,
    truncated_binary,
)
from omnimeter.contract import InvalidInputError
from omnimeter.environments.automata.automaton import Automaton
from omnimeter.environments.automata.normal_form import normal_form

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
