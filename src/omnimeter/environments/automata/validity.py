"""Which automata are fit for a test: descriptions, rewards, sensitivity and the normal form."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any

from omnimeter.contract import InvalidInputError
from omnimeter.environments.automata.dynamics import Automaton
from omnimeter.environments.shared import Successors, reverse, unreachable


def stationary(transitions: Successors) -> list[Fraction]:
    """The fraction of its time that an endless uniform random walk spends in each state."""
    weights = visits(transitions)
    total = sum(weights)
    return [Fraction(weight, total) for weight in weights]


def visits(transitions: Successors) -> list[int]:
    """How often a random walk visits each state, as whole numbers in exact proportion.

    A state is left as often as it is entered: ``actions * x = sum of x over the ways into it``.
    These equations with ``x = 1`` for the last state are solved by elimination in whole numbers,
    in which every division is exact (Bareiss 1968). No rows are exchanged: the equations of a
    connected automaton are never singular, and all pivots are positive.
    """
    last = len(transitions) - 1
    actions = len(transitions[0])
    rows = [[0] * (last + 1) for _ in range(last)]
    for state, successors in enumerate(transitions):
        if state < last:
            rows[state][state] += actions
        for following in successors:
            if following < last:
                rows[following][state] += 1 if state == last else -1
    divisor = 1
    for pivot, top in enumerate(rows):
        head = top[pivot]
        for other, row in enumerate(rows):
            if other == pivot:
                continue
            factor = row[pivot]
            # Columns up to the pivot are not needed again, but for the pivots themselves.
            row[pivot + 1 :] = [
                (head * mine - factor * theirs) // divisor
                for mine, theirs in zip(row[pivot + 1 :], top[pivot + 1 :], strict=True)
            ]
        divisor = head
    return [row[last] for row in rows] + [divisor]


@lru_cache(maxsize=4096)
def rewards(automaton: Automaton) -> tuple[Fraction, ...]:
    """The raw reward of each state.

    Marks are shifted so that a random walk gets 0 in the long run, exactly (anytime test,
    Definition 13), and scaled so that the best or the worst state pays 1 or -1.
    """
    weights = visits(automaton.transitions)
    total = sum(weights)
    mean = sum(weight * mark for weight, mark in zip(weights, automaton.marks, strict=True))
    shifted = [mark * total - mean for mark in automaton.marks]
    largest = max(map(abs, shifted))
    return tuple(Fraction(value, largest) for value in shifted)


def is_sensitive(transitions: Successors, marks: Sequence[int]) -> bool:
    """Whether in some state two actions lead to states with different sequences of rewards.

    In a connected automaton that state can be reached from every other, so the automaton is
    n-actions reward-sensitive (anytime test, Definition 7), with n as in ``Automata.claims``.
    """

    def differ(values: Sequence[int]) -> bool:
        return any(len({values[state] for state in row}) > 1 for row in transitions)

    return differ(marks) or differ(equivalence_classes(transitions, marks))


def is_minimal(automaton: Automaton) -> bool:
    """Whether no two states behave alike."""
    return automaton.symbols is None or len(set(_behaviour(automaton))) == automaton.states


def equivalence_classes(transitions: Successors, outputs: Sequence[Hashable]) -> list[int]:
    """For each state the number of its class of equivalent states (Moore 1956)."""
    numbers = _numbered(outputs)
    count = 0
    while count < max(numbers) + 1:
        count = max(numbers) + 1
        pairs = zip(numbers, transitions, strict=True)
        numbers = _numbered([(own, *(numbers[to] for to in row)) for own, row in pairs])
    return numbers


def _behaviour(automaton: Automaton) -> list[int]:
    """The classes of states that neither rewards nor symbols tell apart, whatever the actions."""
    outputs = list(zip(automaton.marks, automaton.symbols or (), strict=True))
    return equivalence_classes(automaton.transitions, outputs)


def _numbered(values: Sequence[Hashable]) -> list[int]:
    """Equal values get equal numbers, in order of appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


def normal_form(automaton: Automaton) -> Automaton:
    """The same environment with the shortest description.

    States that behave alike become one. States are numbered breadth first from state 0 with
    actions in order, and symbols in the order in which they then appear: another name for an
    observation makes no other environment.
    """
    # With their own numbers as observations no two states behave alike.
    kinds = list(range(automaton.states)) if automaton.symbols is None else _behaviour(automaton)
    order = [0]  # one state of each kind
    number = {kinds[0]: 0}
    for state in order:  # grows in the loop
        for following in automaton.transitions[state]:
            if kinds[following] not in number:
                number[kinds[following]] = len(order)
                order.append(following)
    symbols = automaton.symbols
    return Automaton(
        tuple(tuple(number[kinds[to]] for to in automaton.transitions[state]) for state in order),
        normal_marks([automaton.marks[state] for state in order]),
        None if symbols is None else tuple(_numbered([symbols[state] for state in order])),
    )


def normal_marks(marks: Sequence[int]) -> tuple[int, ...]:
    """The marks with the shortest code among those with the same rewards.

    There is a choice only with two kinds of states, where it counts which of them are better. The
    more frequent kind gets 0; where both are as frequent, the worse one does.
    """
    kinds = sorted(set(marks))
    if len(kinds) != 2:
        return tuple(marks)
    worse, better = kinds
    if marks.count(worse) >= marks.count(better):
        return tuple(int(mark == better) for mark in marks)
    return tuple(-int(mark == worse) for mark in marks)


MAX_STATES = 100
"""Larger automata are not built: their random walk is solved in exact fractions."""


def read(data: Mapping[str, Any], actions: int, max_symbols: int) -> Automaton:
    """The valid automaton of a description in the class of so many actions and symbols.

    Raises:
        InvalidInputError: The description is malformed, or the automaton is not fit for a test.
    """

    def malformed(fault: str) -> InvalidInputError:
        return InvalidInputError(
            f"The description of the automaton is malformed: {fault}.",
            'A description looks like {"transitions": [[0, 1, 0], [0, 1, 0]], "marks": [0, 1]}: a '
            "row of next states and a mark (-1, 0 or 1) for each state, and its symbol where "
            "states have symbols.",
        )

    def numbers(place: str, given: Any, count: int, allowed: range) -> tuple[int, ...]:
        if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != count:
            raise malformed(f"{place} is {given!r}, not {count} numbers")
        for position, value in enumerate(given):
            if type(value) is not int or value not in allowed:
                bounds = f"{allowed[0]} to {allowed[-1]}"
                raise malformed(f"number {position} of {place} is {value!r}, not one from {bounds}")
        return tuple(given)

    keys = {"transitions", "marks", *(["symbols"] if max_symbols else [])}
    if set(data) != keys:
        given, wanted = (", ".join(sorted(map(repr, each))) or "nothing" for each in (data, keys))
        raise malformed(f"it has {given} instead of {wanted}")
    rows = data["transitions"]
    states = len(rows) if isinstance(rows, Sequence) else 0
    if not 2 <= states <= MAX_STATES:
        raise malformed(f"it has {states} states, not 2 to {MAX_STATES}")
    transitions = tuple(
        numbers(f"row {state} of its transitions", row, actions, range(states))
        for state, row in enumerate(rows)
    )
    marks = numbers("the list of its marks", data["marks"], states, range(-1, 2))
    symbols = None
    if max_symbols:
        symbols = numbers("the list of its symbols", data["symbols"], states, range(max_symbols))
    fault = None
    if away := unreachable(transitions):
        fault = f"State {away[0]} cannot be reached from state 0."
    elif lost := unreachable(reverse(transitions)):
        fault = f"From state {lost[0]} there is no way to state 0."
    elif len(set(marks)) == 1:
        fault = "All states have the same mark, so that all rewards are the same."
    elif not is_sensitive(transitions, marks):
        fault = "The rewards are the same whatever the actions."
    if fault:
        raise InvalidInputError(
            f"The automaton is not fit for a test. {fault}",
            "There must be a way from every state to every other, and actions that change rewards.",
        )
    return Automaton(transitions, marks, symbols)
