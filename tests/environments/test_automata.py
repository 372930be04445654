"""Automata: what is drawn is fit for a test, pays what it should, and moves as it says."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from automata_samples import CLASSES, automaton_of, differs, drawn, reachable
from omnimeter.audits import audit
from omnimeter.contract import Instance, InvalidInputError
from omnimeter.contract.spec import canonical_json
from omnimeter.environments.automata import FIGURE_6, Automata, Automaton, rewards, stationary

SIMPLE: dict[str, Any] = {"transitions": [[0, 1, 0], [0, 1, 0]], "marks": [0, 1]}


# What is proved of every drawn instance


@given(drawn())
def test_every_state_can_be_reached_from_every_other(sample: tuple[Automata, Automaton]) -> None:
    assert reachable(sample[1].transitions).all()


@given(drawn())
def test_the_random_walk_is_solved_exactly(sample: tuple[Automata, Automaton]) -> None:
    _, automaton = sample
    shares = stationary(automaton.transitions)
    entered = [Fraction(0)] * automaton.states
    for state, row in enumerate(automaton.transitions):
        for following in row:
            entered[following] += shares[state] / automaton.actions
    assert entered == shares
    assert sum(shares) == 1
    assert min(shares) > 0


@given(drawn())
def test_a_random_agent_gets_exactly_nothing(sample: tuple[Automata, Automaton]) -> None:
    _, automaton = sample
    paid = rewards(automaton)
    shares = stationary(automaton.transitions)
    assert sum(share * reward for share, reward in zip(shares, paid, strict=True)) == 0
    assert max(map(abs, paid)) == 1
    order = sorted(zip(automaton.marks, paid, strict=True))
    assert [reward for _, reward in order] == sorted(paid), "better marks pay more"


@settings(max_examples=50)
@given(drawn())
def test_what_is_done_matters_within_the_horizon_that_is_claimed(
    sample: tuple[Automata, Automaton],
) -> None:
    environment_class, automaton = sample
    claimed = environment_class.claims().sensitive
    assert claimed is not None
    own = 2 * (automaton.states - 1)
    assert own <= claimed
    assert differs(automaton.transitions, list(rewards(automaton)), own)


def test_stationary_distribution_by_hand() -> None:
    # From state 1 two of three actions go back, from state 2 all: 9x = 3(a + 2b/3 + c) and so on.
    assert stationary([[1, 0, 0], [0, 2, 0], [0, 0, 0]]) == [
        Fraction(9, 13),
        Fraction(3, 13),
        Fraction(1, 13),
    ]


# How it moves


@given(drawn(), st.lists(st.integers(0, 1), max_size=30))
def test_the_environment_walks_along_the_table(
    sample: tuple[Automata, Automaton], actions: list[int]
) -> None:
    environment_class, automaton = sample
    environment = environment_class.build(automaton.instance())
    shown = range(automaton.states) if automaton.symbols is None else automaton.symbols
    assert environment.start(np.random.default_rng(0)) == (0.0, shown[0])
    paid = rewards(automaton)
    state = 0
    for action in actions:
        state = automaton.transitions[state][action]
        assert environment.step(action) == (float(paid[state]), shown[state])


def test_the_space_is_as_large_as_there_are_states_or_symbols() -> None:
    assert Automata().build(Instance(SIMPLE)).space.sizes == (2,)
    merged = Instance({**SIMPLE, "symbols": [0, 0]})
    assert Automata(symbols=5).build(merged).space.sizes == (5,)


def test_the_automaton_of_figure_6_pays_for_the_second_action() -> None:
    environment = Automata().build(FIGURE_6.instance())
    environment.start(np.random.default_rng(0))
    assert [environment.step(action).reward for action in (1, 1, 0, 1, 2)] == [1, 1, -0.5, 1, -0.5]


@pytest.mark.parametrize("environment_class", CLASSES, ids=lambda each: canonical_json(vars(each)))
def test_audits_are_green_from_the_lowest_to_the_highest_complexity(
    environment_class: Automata,
) -> None:
    class AtLevel(Automata):
        least = 0.0

        def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
            if complexity is not None:
                return super().draw(rng, complexity)
            drawn = self.draw_between(rng, self.least, self.least + 4)
            assert drawn is not None
            return drawn

    examined = AtLevel(**vars(environment_class))
    low, high = examined.complexity_range()
    for share in (0.0, 0.1, 0.5, 1.0):
        examined.least = low + share * (high - low)
        result = audit(examined, instances=4, interactions=504, confidence=0.9999)
        assert result.ok, result.to_json()


def test_a_person_sees_circles_and_buttons() -> None:
    shown = Automata().scene(Instance(SIMPLE), 1, -0.5)
    assert shown == {
        "kind": "automata",
        "circles": [{"name": "o1", "here": False}, {"name": "o2", "here": True}],
        "buttons": ["a1", "a2", "a3"],
        "reward": "down",
    }
    merged = Automata(symbols=3).scene(Instance({**SIMPLE, "symbols": [0, 0]}), 0, 1.0)
    assert [circle["here"] for circle in merged["circles"]] == [True, False, False]


# Invalid parameters and descriptions


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"actions": 1}, "1 actions"),
        ({"actions": -3}, "-3 actions"),
        ({"actions": 70}, "at most 64 actions"),
        ({"actions": 10}, "12 here"),
        ({"max_states": 1}, "up to 1 states"),
        ({"max_states": 33}, "from 2 to 32"),
        ({"symbols": -1}, "-1 symbols"),
        ({"symbols": 21}, "from 1 to 20"),
        ({"example": "figure-7"}, "figure-6"),
        ({"example": "figure-6", "actions": 2}, "3 actions"),
    ],
    ids=str,
)
def test_impossible_parameters_are_rejected(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Automata(**parameters)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"marks": [0, 1, 1]}, "not 2 numbers"),
        ({"marks": [0, 2]}, "number 1 of the list of its marks is 2, not one from -1 to 1"),
        ({"marks": [True, 0]}, "number 0 of the list of its marks is True"),
        ({"marks": [1, 1]}, "same mark"),
        ({"transitions": [[0, 1, 0]]}, "1 states"),
        ({"transitions": 7}, "0 states"),
        ({"transitions": [[0, 1], [0, 1, 0]]}, "row 0 of its transitions is .*, not 3 numbers"),
        ({"transitions": [[0, 1, 0], [0, 2, 0]]}, "number 1 of row 1 .* from 0 to 1"),
        ({"transitions": [[0, 1, 0], "012"]}, "row 1"),
        ({"transitions": [[0, 0, 0], [0, 1, 0]]}, "State 1 cannot be reached"),
        ({"transitions": [[0, 1, 0], [1, 1, 1]]}, "From state 1 there is no way"),
        ({"transitions": [[1, 1, 1], [0, 0, 0]]}, "whatever the actions"),
        ({"symbols": [0, 1]}, "'marks', 'symbols', 'transitions' instead of"),
    ],
    ids=str,
)
def test_descriptions_that_are_not_fit_are_rejected(change: dict[str, Any], message: str) -> None:
    instance = Instance({**SIMPLE, **change})
    for use in (Automata().build, Automata().complexity):
        with pytest.raises(InvalidInputError, match=message):
            use(instance)


def test_symbols_are_asked_for_and_checked_where_there_are_some() -> None:
    with pytest.raises(InvalidInputError, match="instead of 'marks', 'symbols'"):
        Automata(symbols=2).build(Instance(SIMPLE))
    with pytest.raises(InvalidInputError, match="symbols is 2, not one from 0 to 1"):
        Automata(symbols=2).build(Instance({**SIMPLE, "symbols": [0, 2]}))


def test_the_example_is_all_that_its_class_draws() -> None:
    rng = np.random.default_rng(0)
    only = Automata(example="figure-6")
    assert only.complexity_range() == (19.0, 19.0)
    assert automaton_of(only.draw(rng)) == automaton_of(only.draw(rng, 19.0)) == FIGURE_6
    assert only.members(18, 19, 1) == [FIGURE_6.instance()]
    assert only.members(18, 19, 0) is None
    assert only.members(20, 21, 5) == []
    assert only.draw_between(rng, 20, 21) is None
    with pytest.raises(InvalidInputError, match=r"complexity 20\..*: 19"):
        only.draw(rng, 20.0)
