"""The code of an automaton and its complexity Kt-max (Definition 9)."""

from __future__ import annotations

from omnimeter.complexity import (
    elias_gamma,
    kt_max,
    read_elias_gamma,
    read_truncated_binary,
    truncated_binary,
)
from omnimeter.contract import InvalidInputError
from omnimeter.environments.automata.dynamics import Automaton
from omnimeter.environments.automata.validity import normal_form

MARKS = {0: "0", 1: "10", -1: "11"}
"""The code of the mark of a state."""


def complexity(automaton: Automaton, max_symbols: int = 0) -> float:
    """Kt-max: the length of the shortest description, plus the logarithm of the response time."""
    normal = normal_form(automaton)
    bits = len(encode(normal, max_symbols))
    return kt_max(bits, response_steps(normal.states, normal.actions))


def response_steps(states: int, actions: int) -> int:
    """The longest response time, in steps of the machine."""
    return states * (actions + 1)


def encode(automaton: Automaton, max_symbols: int = 0) -> str:
    """The code word of an automaton in its normal form.

    Args:
        automaton: The automaton.
        max_symbols: The number of symbols; 0 if states are observed by their own numbers.
    """
    code = elias_gamma(automaton.states - 1)
    known = 0
    for state, mark in enumerate(automaton.marks):
        code += MARKS[mark]
        if automaton.symbols is not None:
            symbol = automaton.symbols[state]
            code += truncated_binary(symbol, number_of_choices(known, max_symbols))
            known = max(known, symbol + 1)
    known = 1
    for state, row in enumerate(automaton.transitions):
        for following in row:
            choices = number_of_choices(known, automaton.states)
            code += elias_gamma((following - state) % choices + 1)
            known = max(known, following + 1)
    return code


def number_of_choices(known: int, total: int) -> int:
    """How many states or symbols may come next: those that came before, and one new one."""
    return min(known + 1, total)


def decode(bits: str, actions: int = 3, max_symbols: int = 0) -> Automaton:
    """The automaton of a code word, in the class of so many actions and symbols.

    Raises:
        InvalidInputError: This is not exactly one code word.
    """
    at = 0
    marks: list[int] = []
    symbols: list[int] = []
    transitions: list[tuple[int, ...]] = []
    try:
        _require(not bits.strip("01"))
        number, at = read_elias_gamma(bits, at)
        states = number + 1
        _require(states * actions <= len(bits))  # each entry has a bit; spares vast numbers
        for _ in range(states):
            mark = next(each for each, code in MARKS.items() if bits.startswith(code, at))
            marks.append(mark)
            at += len(MARKS[mark])
            if max_symbols:
                choices = number_of_choices(len(set(symbols)), max_symbols)
                symbol, at = read_truncated_binary(bits, at, choices)
                symbols.append(symbol)
        known = 1
        for state in range(states):
            _require(state < known)
            row: list[int] = []
            for _ in range(actions):
                choices = number_of_choices(known, states)
                rank, end = read_elias_gamma(bits, at)
                _require(rank <= choices)
                at = end
                row.append((state + rank - 1) % choices)
                known = max(known, row[-1] + 1)
            transitions.append(tuple(row))
        _require(at == len(bits) and known == states)
        automaton = Automaton(
            tuple(transitions), tuple(marks), tuple(symbols) if max_symbols else None
        )
        _require(normal_form(automaton) == automaton)
    except (StopIteration, ValueError):
        raise InvalidInputError(
            f"These {len(bits)} bits are not the code of an automaton: they cannot be read from "
            f"bit {at + 1} on.",
            "Give exactly what encode wrote, with the same numbers of actions and symbols.",
        ) from None
    return automaton


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError
