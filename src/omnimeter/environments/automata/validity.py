"""Which automata are fit for a test: description, normal form, connectivity and balance."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from typing import Any

from omnimeter.contract import InvalidInputError
from omnimeter.environments.automata.dynamics import Automaton, Transitions


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


def is_connected(transitions: Transitions) -> bool:
    """Whether there is a way from every state to every other."""
    return not missed(transitions) and not missed(_reversed(transitions))


def missed(transitions: Transitions) -> list[int]:
    """The states to which no way leads from state 0."""
    reached = {0}
    waiting = [0]
    while waiting:
        for state in transitions[waiting.pop()]:
            if state not in reached:
                reached.add(state)
                waiting.append(state)
    return [state for state in range(len(transitions)) if state not in reached]


def dead_ends(transitions: Transitions) -> list[int]:
    """The states from which no way leads to state 0."""
    return missed(_reversed(transitions))


def is_sensitive(transitions: Transitions, marks: Sequence[int]) -> bool:
    """Whether somewhere two actions lead to states whose rewards to come are not the same.

    In a connected automaton one can go there from everywhere, so it is n-actions reward-sensitive
    (anytime test, Definition 7), with n as in ``horizon``.
    """
    if _differ(transitions, marks):
        return True
    return _differ(transitions, classes(transitions, marks))


def horizon(states: int) -> int:
    """Within how many actions the sums of rewards can differ, wherever one is.

    At most ``states - 1`` actions lead to the state where two actions make a difference. One of
    them is done, and then at most ``states - 2`` more until what is paid is not the same for the
    first time: states that pay differently are two classes at least, and every further action
    that is needed to tell some states apart makes one class more of them.
    """
    return 2 * (states - 1)


def is_minimal(automaton: Automaton) -> bool:
    """Whether no two states behave alike."""
    if automaton.symbols is None:
        return True
    found = classes(automaton.transitions, automaton.outputs)
    return len(set(found)) == automaton.states


def classes(transitions: Transitions, outputs: Sequence[Hashable]) -> list[int]:
    """For each state the number of those that behave as it does, whatever is done (Moore 1956)."""
    numbers = _numbered(outputs)
    count = 0
    while count < max(numbers) + 1:
        count = max(numbers) + 1
        numbers = _numbered(
            [
                (numbers[state], *(numbers[following] for following in row))
                for state, row in enumerate(transitions)
            ]
        )
    return numbers


def _numbered(values: Sequence[Hashable]) -> list[int]:
    """Equal values get equal numbers, in order of appearance."""
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(value, len(numbers)) for value in values]


def _differ(transitions: Transitions, values: Sequence[int]) -> bool:
    """Whether two actions lead from one state to different values."""
    return any(len({values[state] for state in row}) > 1 for row in transitions)


def _reversed(transitions: Transitions) -> list[list[int]]:
    sources: list[list[int]] = [[] for _ in transitions]
    for state, row in enumerate(transitions):
        for following in row:
            sources[following].append(state)
    return sources


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


MOST_STATES = 100
"""Larger automata are not built: their random walk is solved in exact fractions."""

ADVICE = (
    'A description looks like {"transitions": [[0, 1, 0], [0, 1, 0]], "marks": [0, 1]}: a row of '
    "next states and a mark (-1, 0 or 1) for each state, and its symbol where states have symbols."
)


def read(data: Mapping[str, Any], actions: int, most_symbols: int) -> Automaton:
    """The valid automaton of a description.

    Args:
        data: The description.
        actions: The number of actions that it must have.
        most_symbols: How many symbols there are; 0 if states are shown by their own numbers.

    Raises:
        InvalidInputError: The description is malformed, or the automaton is not fit for a test.
    """
    keys = {"transitions", "marks", *(["symbols"] if most_symbols else [])}
    if set(data) != keys:
        raise _fault(f"it has {_named(data)} instead of {_named(keys)}")
    rows = data["transitions"]
    states = len(rows) if isinstance(rows, Sequence) else 0
    if not 2 <= states <= MOST_STATES:
        raise _fault(f"it has {states} states, not 2 to {MOST_STATES}")
    transitions = tuple(
        _numbers(f"row {state} of its transitions", row, actions, range(states))
        for state, row in enumerate(rows)
    )
    marks = _numbers("the list of its marks", data["marks"], states, range(-1, 2))
    symbols = None
    if most_symbols:
        symbols = _numbers("the list of its symbols", data["symbols"], states, range(most_symbols))
    automaton = Automaton(transitions, marks, symbols)
    _check_fitness(automaton)
    return automaton


def _numbers(place: str, given: Any, count: int, allowed: range) -> tuple[int, ...]:
    if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != count:
        raise _fault(f"{place} is {given!r}, not {count} numbers")
    for position, value in enumerate(given):
        if type(value) is not int or value not in allowed:
            raise _fault(
                f"number {position} of {place} is {value!r}, not one from {allowed[0]} to "
                f"{allowed[-1]}"
            )
    return tuple(given)


def _check_fitness(automaton: Automaton) -> None:
    away = missed(automaton.transitions)
    if away:
        raise _unfit(f"State {away[0]} cannot be reached from state 0.")
    lost = dead_ends(automaton.transitions)
    if lost:
        raise _unfit(f"From state {lost[0]} there is no way to state 0.")
    if len(set(automaton.marks)) == 1:
        raise _unfit("All states have the same mark, so that all rewards are the same.")
    if not is_sensitive(automaton.transitions, automaton.marks):
        raise _unfit("Rewards come in turn, whatever is done.")


def _named(keys: Any) -> str:
    return ", ".join(sorted(map(repr, keys))) or "nothing"


def _fault(fault: str) -> InvalidInputError:
    return InvalidInputError(f"The description of the automaton is malformed: {fault}.", ADVICE)


def _unfit(fault: str) -> InvalidInputError:
    return InvalidInputError(
        f"The automaton is not fit for a test. {fault}",
        "There must be a way from every state to every other, and actions that change rewards.",
    )
