"""Which automata are fit for a test: one can go everywhere, and what one does matters.

The text asks that from each state another reward can be reached, and says that this makes an
environment reward-sensitive (anytime test, section 6.2). It does not where all actions lead to the
same state, as on a ring: there rewards come in turn whatever one does. So it is asked for itself.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from omnimeter.environments.automata.automaton import Automaton, Transitions


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
