"""How the description of an automaton is read. It may come from anywhere, so it is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnimeter.contract import InvalidInputError
from omnimeter.environments.automata.automaton import Automaton
from omnimeter.environments.automata.validity import dead_ends, is_sensitive, missed

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
