"""Where a random agent is in the long run, in exact fractions, and the rewards that follow."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

from omnimeter.environments.automata.automaton import Automaton, Transitions


def stationary(transitions: Transitions) -> list[Fraction]:
    """The part of its time that an endless uniform random walk spends in each state.

    The automaton must be connected; then there is exactly one such distribution.
    """
    weights = visits(transitions)
    total = sum(weights)
    return [Fraction(weight, total) for weight in weights]


def visits(transitions: Transitions) -> list[int]:
    """How often a random walk visits each state, as whole numbers in exact proportion.

    As often as a state is left it is entered: ``actions * x = sum of x over the ways into it``.
    These equations with ``x = 1`` for the last state are solved by elimination in whole numbers,
    in which every division leaves no rest (Bareiss 1968).
    """
    last = len(transitions) - 1
    actions = len(transitions[0])
    rows = [[0] * (last + 1) for _ in range(last)]
    for state, row in enumerate(transitions):
        if state < last:
            rows[state][state] += actions
        for following in row:
            if following < last:
                rows[following][state] -= 1
    for row in rows:
        row[last] = -row[last]
    return _solved(rows)


def _solved(rows: list[list[int]]) -> list[int]:
    """The unknowns of as many equations, times the determinant, which stands at the end.

    Without rows to be exchanged: what is left of a connected automaton is never singular, and all
    its pivots are positive.
    """
    count = len(rows)
    divisor = 1
    for pivot in range(count):
        top = rows[pivot]
        head = top[pivot]
        for other in range(count):
            if other == pivot:
                continue
            row = rows[other]
            factor = row[pivot]
            # Columns up to the pivot are not looked at again, but for the pivots themselves.
            row[pivot + 1 :] = [
                (head * mine - factor * theirs) // divisor
                for mine, theirs in zip(row[pivot + 1 :], top[pivot + 1 :], strict=True)
            ]
        divisor = head
    return [row[count] for row in rows] + [divisor]


@lru_cache(maxsize=4096)
def rewards(automaton: Automaton) -> tuple[Fraction, ...]:
    """The raw reward of each state.

    Marks are shifted so that a random walk gets 0 in the long run, exactly (anytime test,
    Definition 13), and stretched so that the best or the worst state pays 1 or -1.
    """
    weights = visits(automaton.transitions)
    total = sum(weights)
    worth = sum(weight * mark for weight, mark in zip(weights, automaton.marks, strict=True))
    shifted = [mark * total - worth for mark in automaton.marks]
    largest = max(map(abs, shifted))
    return tuple(Fraction(value, largest) for value in shifted)
