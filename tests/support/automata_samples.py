"""Finite state machines for tests: drawn ones, and all labelled ones of a small size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

import numpy as np
from hypothesis import strategies as st

from omnimeter.contract import Instance
from omnimeter.environments.automata import Automata, Automaton

Labelled = tuple[tuple[tuple[int, ...], ...], tuple[int, ...]]
"""Transitions and marks."""

CLASSES = (Automata(), Automata(2, 12), Automata(4, 6), Automata(3, 8, 1), Automata(2, 9, 3))
"""With and without symbols."""


def automaton_of(instance: Instance) -> Automaton:
    data = instance.data
    symbols = data.get("symbols")
    return Automaton(
        tuple(map(tuple, data["transitions"])),
        tuple(data["marks"]),
        None if symbols is None else tuple(symbols),
    )


@st.composite
def drawn(draw: st.DrawFn, classes: tuple[Automata, ...] = CLASSES) -> tuple[Automata, Automaton]:
    """A class and an automaton of it, of any complexity."""
    environment_class = draw(st.sampled_from(classes))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    low, high = environment_class.complexity_range()
    # by 2^-complexity, so hardly ever far above what is asked for
    instance = environment_class.draw_between(rng, draw(st.floats(low, high)), high)
    assert instance is not None
    return environment_class, automaton_of(instance)


def labelled(states: int, actions: int) -> Iterator[Labelled]:
    """All connected tables with all marks, whether they are fit for more or not."""
    rows = list(product(range(states), repeat=actions))
    for transitions in product(rows, repeat=states):
        if reachable(transitions).all():
            for marks in product((-1, 0, 1), repeat=states):
                yield transitions, marks


def reachable(transitions: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """Whether each state can be reached from each, by squaring the matrix of neighbours."""
    count = len(transitions)
    matrix = np.eye(count, dtype=bool)
    for state, row in enumerate(transitions):
        matrix[state, list(row)] = True
    for _ in range(count):
        matrix = matrix @ matrix
    return matrix


def differs(
    transitions: tuple[tuple[int, ...], ...], paid: Sequence[int | Fraction], most: int
) -> bool:
    """Whether from every state two sequences of at most so many actions bring different sums."""
    states = range(len(transitions))
    best: list[int | Fraction] = [0] * len(transitions)
    worst = best
    seen = [False] * len(transitions)
    for _ in range(most):
        best = [max(paid[to] + best[to] for to in transitions[state]) for state in states]
        worst = [min(paid[to] + worst[to] for to in transitions[state]) for state in states]
        seen = [seen[state] or best[state] != worst[state] for state in states]
    return all(seen)
