"""The one form of all automata that behave alike: minimised, numbered, marked and named."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from omnimeter.environments.automata.automaton import Automaton, Transitions
from omnimeter.environments.automata.validity import classes


def normal_form(automaton: Automaton) -> Automaton:
    """The same environment with the shortest description.

    States that behave alike become one. States are numbered as they are met, breadth first from
    state 0 with actions in order, and symbols as they are met in that order: another name for an
    observation makes no other environment.
    """
    smaller = _minimised(automaton)
    order = met(smaller.transitions)
    number = {state: place for place, state in enumerate(order)}
    symbols = smaller.symbols
    return Automaton(
        tuple(tuple(number[to] for to in smaller.transitions[state]) for state in order),
        normal_marks([smaller.marks[state] for state in order]),
        None if symbols is None else normal_symbols([symbols[state] for state in order]),
    )


def met(transitions: Transitions) -> list[int]:
    """The states in the order in which they are met, breadth first from state 0."""
    order = [0]
    known = {0}
    for state in order:  # which grows while it is gone through
        for following in transitions[state]:
            if following not in known:
                known.add(following)
                order.append(following)
    return order


def normal_marks(marks: Sequence[int]) -> tuple[int, ...]:
    """The marks with the shortest code among those that make the same rewards.

    Only where there are just two kinds of states is there a choice: what counts is which of them
    are better. The more frequent kind gets 0; where both are as frequent, the worse one does.
    """
    kinds = sorted(set(marks))
    if len(kinds) != 2:
        return tuple(marks)
    worse, better = kinds
    if marks.count(worse) >= marks.count(better):
        return tuple(int(mark == better) for mark in marks)
    return tuple(-int(mark == worse) for mark in marks)


def normal_symbols(symbols: Sequence[int]) -> tuple[int, ...]:
    """Symbols renamed in the order in which they appear."""
    names: dict[int, int] = {}
    return tuple(names.setdefault(symbol, len(names)) for symbol in symbols)


def _minimised(automaton: Automaton) -> Automaton:
    if automaton.symbols is None:  # every state shows that it is another one
        return automaton
    kinds = classes(automaton.transitions, automaton.outputs)
    first = [kinds.index(kind) for kind in range(max(kinds) + 1)]
    return replace(
        automaton,
        transitions=tuple(
            tuple(kinds[to] for to in automaton.transitions[state]) for state in first
        ),
        marks=tuple(automaton.marks[state] for state in first),
        symbols=tuple(automaton.symbols[state] for state in first),
    )
