"""The complexity of automata: the code is decoded back, and what behaves alike has the same
complexity.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import inf, log2

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from automata_samples import CLASSES, automaton_of, drawn, reachable
from omnimeter.complexity import elias_gamma
from omnimeter.contract import InvalidInputError
from omnimeter.environments.automata import (
    FIGURE_6,
    Automata,
    Automaton,
    decode,
    encode,
    normal_form,
    rewards,
)

MERGED = tuple(each for each in CLASSES if each.symbols)
SMALL = (Automata(max_states=2), Automata(2, 3), Automata(2, 3, 1), Automata(2, 3, 2))


def complexity(environment_class: Automata, automaton: Automaton) -> float:
    return environment_class.complexity(automaton.instance())


def renumbered(automaton: Automaton, order: list[int]) -> Automaton:
    """The same automaton with its states in another order."""
    number = {state: place for place, state in enumerate(order)}
    return Automaton(
        tuple(tuple(number[to] for to in automaton.transitions[state]) for state in order),
        tuple(automaton.marks[state] for state in order),
        None if automaton.symbols is None else tuple(automaton.symbols[state] for state in order),
    )


# The code


def test_the_code_of_the_simple_automaton_by_hand() -> None:
    # Two states; marks 0 and 1; stay, next, stay; then from state 1: back, stay, back.
    word = "1" + "0" + "10" + "1" + "010" + "1" + "010" + "1" + "010"
    assert encode(FIGURE_6) == word
    assert complexity(Automata(), FIGURE_6) == len(word) + log2(8) == 19.0


def test_the_code_with_symbols_by_hand() -> None:
    automaton = Automaton(((0, 1), (2, 1), (0, 2)), (0, 1, 0), (0, 1, 0))
    word = "010" + "0" + "10" + "1" + "0" + "0" + "1010" + "0101" + "0101"
    assert encode(automaton, 3) == word
    assert decode(word, actions=2, max_symbols=3) == automaton


@given(drawn())
def test_the_code_is_decoded_back(sample: tuple[Automata, Automaton]) -> None:
    environment_class, automaton = sample
    symbols = environment_class.symbols
    word = encode(automaton, symbols)
    assert decode(word, automaton.actions, symbols) == automaton
    steps = automaton.states * (automaton.actions + 1)
    assert complexity(environment_class, automaton) == pytest.approx(
        len(word) + log2(steps), abs=1e-9
    )


@given(drawn(), st.data())
def test_less_or_more_than_a_code_word_is_rejected(
    sample: tuple[Automata, Automaton], data: st.DataObject
) -> None:
    environment_class, automaton = sample
    word = encode(automaton, environment_class.symbols)
    shorter = word[: data.draw(st.integers(0, len(word) - 1))]
    for wrong in (shorter, word + "0", word + word):
        with pytest.raises(InvalidInputError, match=f"{len(wrong)} bits"):
            decode(wrong, automaton.actions, environment_class.symbols)


@pytest.mark.parametrize(
    ("word", "place"),
    [
        ("1010x", 1),
        ("", 1),
        (elias_gamma(10**30), 200),
        ("1" + "010" + "00100" + "1" * 5, 5),  # the first action of two states has two choices
        ("1" + "010" + "111" + "111", 8),  # the second state is never met
    ],
)
def test_an_invalid_code_is_rejected_at_its_first_fault(word: str, place: int) -> None:
    with pytest.raises(InvalidInputError, match=f"from bit {place} on"):
        decode(word)


@pytest.mark.parametrize("environment_class", SMALL)
def test_the_code_is_prefix_free(environment_class: Automata) -> None:
    members = environment_class.members(0, inf, 10**6)
    assert members is not None
    codes = sorted(encode(automaton_of(each), environment_class.symbols) for each in members)
    assert not any(later.startswith(word) for word, later in pairwise(codes))
    assert sum(2.0 ** -len(word) for word in codes) <= 1


# What behaves alike


@given(drawn())
def test_what_is_drawn_is_in_its_normal_form(sample: tuple[Automata, Automaton]) -> None:
    assert normal_form(sample[1]) == sample[1]


@given(drawn(), st.data())
def test_the_numbers_of_states_make_no_difference(
    sample: tuple[Automata, Automaton], data: st.DataObject
) -> None:
    environment_class, automaton = sample
    others = data.draw(st.permutations(range(1, automaton.states)))
    other = renumbered(automaton, [0, *others])
    assert normal_form(other) == automaton
    assert complexity(environment_class, other) == complexity(environment_class, automaton)


@given(drawn(), st.sampled_from([(-1, 0), (0, 1), (-1, 1)]))
def test_marks_that_pay_the_same_make_no_difference(
    sample: tuple[Automata, Automaton], kinds: tuple[int, int]
) -> None:
    environment_class, automaton = sample
    top = max(automaton.marks)
    automaton = normal_form(
        replace(automaton, marks=tuple(int(mark == top) for mark in automaton.marks))
    )
    assume(reachable(automaton.transitions).all())
    better = max(automaton.marks)
    other = replace(automaton, marks=tuple(kinds[mark == better] for mark in automaton.marks))
    try:
        same = complexity(environment_class, automaton)
    except InvalidInputError:  # with two kinds of states only, actions may not matter
        return
    assert rewards(other) == rewards(automaton)
    assert complexity(environment_class, other) == same
    symbols = environment_class.symbols
    assert len(encode(automaton, symbols)) <= len(encode(other, symbols))


@given(drawn(MERGED), st.data())
def test_states_that_behave_alike_count_once(
    sample: tuple[Automata, Automaton], data: st.DataObject
) -> None:
    environment_class, automaton = sample
    twin, copy = data.draw(st.integers(0, automaton.states - 1)), automaton.states

    def either(row: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(data.draw(st.sampled_from((to, copy))) if to == twin else to for to in row)

    rows = (*automaton.transitions, automaton.transitions[twin])
    assert automaton.symbols is not None
    larger = Automaton(
        tuple(map(either, rows)),
        (*automaton.marks, automaton.marks[twin]),
        (*automaton.symbols, automaton.symbols[twin]),
    )
    assume(reachable(larger.transitions).all())
    assert normal_form(larger) == automaton
    assert complexity(environment_class, larger) == complexity(environment_class, automaton)
    paid = rewards(automaton)
    assert rewards(larger) == (*paid, paid[twin])


@given(drawn(MERGED), st.data())
def test_the_names_of_symbols_make_no_difference(
    sample: tuple[Automata, Automaton], data: st.DataObject
) -> None:
    environment_class, automaton = sample
    names = data.draw(st.permutations(range(environment_class.symbols)))
    assert automaton.symbols is not None
    other = replace(automaton, symbols=tuple(names[symbol] for symbol in automaton.symbols))
    assert normal_form(other) == automaton
    assert complexity(environment_class, other) == complexity(environment_class, automaton)
