"""Draws of automata follow their distributions, and lists of them are complete."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import permutations, product
from math import inf, log2

import numpy as np
import pytest
from scipy import stats

from automata_samples import automaton_of, differs, labelled
from omnimeter.contract import Instance, InvalidInputError
from omnimeter.environments.automata import FIGURE_6, Automata, Automaton, normal_form, rewards
from omnimeter.environments.automata.population import Family

TINY = 1e-6
"""A test with fixed seeds that fails at this p-value hardly does so at random."""


def listed(environment_class: Automata, low: float = 0.0, high: float = inf) -> list[Instance]:
    members = environment_class.members(low, high, 10**6)
    assert members is not None
    return list(members)


# Distributions


def check_distribution(
    draw: Callable[[], Instance | None], weights: dict[str, float], draws: int
) -> None:
    """Nothing but the keys is drawn, in proportion to their weights; rare ones count together."""
    counts = Counter(_key(draw()) for _ in range(draws))
    assert counts.keys() <= weights.keys()
    total = sum(weights.values())
    expected = {key: draws * weight / total for key, weight in weights.items()}
    often = [key for key in weights if expected[key] >= 5]
    rest = [key for key in weights if expected[key] < 5]
    observed = [counts[key] for key in often] + [sum(counts[key] for key in rest)] * bool(rest)
    wanted = [expected[key] for key in often] + [sum(expected[key] for key in rest)] * bool(rest)
    assert stats.chisquare(observed, wanted).pvalue > TINY


def _key(instance: Instance | None) -> str:
    assert instance is not None
    return instance.key


@pytest.mark.parametrize(
    ("environment_class", "wanted"),
    [
        (Automata(), 17.0),
        (Automata(), 19.0),
        (Automata(), 23 + log2(12)),
        (Automata(2, 4), 25 + log2(12)),
        (Automata(2, 6, 2), 21 + log2(9)),
    ],
)
def test_a_wanted_complexity_is_drawn_uniformly(environment_class: Automata, wanted: float) -> None:
    members = listed(environment_class, wanted, wanted)
    assert members
    rng = np.random.default_rng(0)
    check_distribution(
        lambda: environment_class.draw(rng, wanted), dict.fromkeys(map(_key, members), 1.0), 3000
    )


@pytest.mark.parametrize(
    ("environment_class", "low", "high"),
    [(Automata(), 17.0, 27.0), (Automata(), 20.0, 25.6), (Automata(2, 9, 2), 14.0, 24.0)],
)
def test_a_band_is_drawn_by_two_to_the_minus_complexity(
    environment_class: Automata, low: float, high: float
) -> None:
    rng = np.random.default_rng(1)
    check_distribution(
        lambda: environment_class.draw_between(rng, low, high),
        weighed(environment_class, listed(environment_class, low, high)),
        5000,
    )


@pytest.mark.parametrize(
    "environment_class",
    [Automata(max_states=2), Automata(2, 3), Automata(2, 3, 1), Automata(2, 3, 2)],
)
def test_the_whole_class_is_drawn_by_two_to_the_minus_complexity(
    environment_class: Automata,
) -> None:
    rng = np.random.default_rng(2)
    check_distribution(
        lambda: environment_class.draw(rng),
        weighed(environment_class, listed(environment_class)),
        5000,
    )


def test_automata_of_any_size_are_drawn_and_the_small_ones_as_they_should_be() -> None:
    environment_class = Automata()
    rng = np.random.default_rng(3)
    sample = [environment_class.draw(rng) for _ in range(6000)]
    assert {len(each.data["marks"]) for each in sample} >= {2, 3, 4, 5}
    simple = [each for each in sample if environment_class.complexity(each) <= 27]
    assert len(simple) > 4000
    weights = weighed(environment_class, listed(environment_class, 0, 27))
    check_distribution(iter(simple).__next__, weights, len(simple))


def weighed(environment_class: Automata, members: list[Instance]) -> dict[str, float]:
    return {each.key: 2.0 ** -environment_class.complexity(each) for each in members}


def test_bands_without_automata_give_nothing() -> None:
    rng = np.random.default_rng(0)
    for low, high in ((0, 16.9), (17.1, 18.9), (23.1, 25.5), (500, inf), (20, 19)):
        assert Automata().draw_between(rng, low, high) is None
        assert Automata().members(low, high, 10) == []
    # All candidates of the largest code of two states go to the other state, whatever is done.
    assert Automata(max_states=2).draw_between(rng, 24, inf) is None


def test_the_range_is_that_of_what_is_drawn() -> None:
    for environment_class in (Automata(max_states=2), Automata(2, 3), Automata(2, 3, 2)):
        complexities = [environment_class.complexity(each) for each in listed(environment_class)]
        assert environment_class.complexity_range() == (min(complexities), max(complexities))
        assert complexities == sorted(complexities)
    rng = np.random.default_rng(0)
    for complexity in Automata().complexity_range():
        assert Automata().complexity(Automata().draw(rng, complexity)) == complexity


def test_lists_that_would_be_too_long_are_not_made() -> None:
    assert Automata().members(17, 17, 18) is not None
    assert Automata().members(17, 17, 17) is None
    assert Automata().members(0, 200, 10**9) is None


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [(1.0, "are: 17."), (20.0, "are: 19 and 21."), (24.9, "23 and 25.5849625007."), (1e6, "465.3")],
)
def test_a_complexity_that_is_not_there_names_its_neighbours(wanted: float, nearest: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        Automata().draw(np.random.default_rng(0), wanted)
    assert nearest in str(raised.value)


@pytest.mark.parametrize("parameters", [(20, 3, 0), (13, 2, 0), (16, 3, 1), (8, 3, 2)])
def test_most_candidates_of_every_length_are_valid(parameters: tuple[int, int, int]) -> None:
    """Drawing until one is valid takes a few tries only, from the shortest code to the longest."""
    family = Family(*parameters)
    rng = np.random.default_rng(0)
    lengths = np.flatnonzero(family.masses)
    for bits in lengths[np.linspace(0, len(lengths) - 1, 15).astype(int)].tolist():
        valid = sum(family.draw(rng, bits) is not None for _ in range(40))
        assert valid >= 3, f"{valid} of 40 candidates with {bits} bits"


# Lists


def fit(states: int, actions: int) -> list[Automaton]:
    """All labelled automata that keep the constraints, made without the code under test."""
    automata = []
    for transitions, marks in labelled(states, actions):
        if differs(transitions, list(marks), 2 * states):
            automata.append(Automaton(transitions, marks))
    return automata


def isomorphism_class(automaton: Automaton) -> object:
    """The same for all that differ in the numbers of states only: what is paid where."""
    paid = rewards(automaton)
    others = range(1, automaton.states)
    return min(_relabelled(automaton, paid, (0, *order)) for order in permutations(others))


def _relabelled(automaton: Automaton, paid: tuple[Fraction, ...], order: tuple[int, ...]) -> object:
    number = {state: place for place, state in enumerate(order)}
    rows = [[number[to] for to in automaton.transitions[state]] for state in order]
    return rows, [paid[state] for state in order]


@pytest.mark.parametrize(("states", "actions", "count"), [(2, 2, 16), (2, 3, 96), (3, 2, 1758)])
def test_lists_are_complete_and_without_copies(states: int, actions: int, count: int) -> None:
    members = [automaton_of(each) for each in listed(Automata(actions, states))]
    results = [str(isomorphism_class(each)) for each in members if each.states == states]
    assert len(results) == len(set(results)) == count
    assert set(results) == {str(isomorphism_class(each)) for each in fit(states, actions)}


@pytest.mark.parametrize("symbols", [1, 2])
def test_lists_with_symbols_are_complete_and_without_copies(symbols: int) -> None:
    members = [automaton_of(each) for each in listed(Automata(2, 3, symbols))]
    results = [behaviour(each) for each in members]
    assert len(set(results)) == len(results)
    every = {
        behaviour(Automaton(each.transitions, each.marks, shown))
        for states in (2, 3)
        for each in fit(states, 2)[:: 1 if states == 2 else 17]
        for shown in product(range(symbols), repeat=states)
    }
    assert every <= set(results)
    assert all(normal_form(each) == each for each in members)


def behaviour(automaton: Automaton) -> tuple[object, ...]:
    """What is paid and seen after every sequence of up to five actions, symbols by appearance.

    Automata of three states that behave differently at all do so within as many actions.
    """
    assert automaton.symbols is not None
    paid = [float(reward) for reward in rewards(automaton)]
    names: dict[int, int] = {}
    seen: list[object] = []
    ends = [0]
    for _ in range(6):
        for state in ends:
            symbol = automaton.symbols[state]
            seen.append((paid[state], names.setdefault(symbol, len(names))))
        ends = [following for state in ends for following in automaton.transitions[state]]
    return tuple(seen)


# The automaton of figure 6


def best_actions(automaton: Automaton, horizon: int) -> list[set[int]]:
    """For each state the actions that begin a best sequence of so many actions."""
    paid = rewards(automaton)
    worth = [Fraction(0)] * automaton.states
    best: list[set[int]] = []
    for _ in range(horizon):
        values = [[paid[to] + worth[to] for to in row] for row in automaton.transitions]
        worth = [max(row) for row in values]
        best = [{a for a, value in enumerate(row) if value == max(row)} for row in values]
    return best


def test_figure_6_is_a_smallest_automaton_in_which_only_the_second_action_is_best() -> None:
    members = listed(Automata(), 0, 19)
    results = [
        automaton_of(each)
        for each in members
        if all(best_actions(automaton_of(each), length) == [{1}, {1}] for length in (10, 11))
    ]
    twin = Automaton(((1, 0, 1), (1, 0, 1)), (1, 0))
    assert {str(each) for each in results} == {str(FIGURE_6), str(twin)}
    assert {Automata().complexity(each.instance()) for each in results} == {19.0}
    assert rewards(FIGURE_6) == (Fraction(-1, 2), 1)


@pytest.mark.parametrize("environment_class", [Automata(max_states=2), Automata(2, 3)])
def test_for_each_automaton_there_is_one_with_the_opposite_rewards(
    environment_class: Automata,
) -> None:
    members = [automaton_of(each) for each in listed(environment_class)]
    for automaton in members:
        marks = tuple(-mark for mark in automaton.marks)
        other = normal_form(Automaton(automaton.transitions, marks))
        assert rewards(other) == tuple(-reward for reward in rewards(automaton))
        assert other in members
        complexities = {
            environment_class.complexity(each.instance()) for each in (automaton, other)
        }
        assert len(complexities) == 1
