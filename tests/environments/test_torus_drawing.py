"""Tori by complexity: each has its complexity, its code and its share of the draws."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import log2

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.complexity import primitive_period, shortest_expression
from omnimeter.contract import Instance, InvalidInputError, stream
from omnimeter.environments.torus import Torus
from omnimeter.environments.torus.complexity import LETTERS, decode, encode
from omnimeter.environments.torus.population import Expressions

paths = st.text(LETTERS, min_size=1, max_size=12)


def instance(good: str, evil: str) -> Instance:
    return Instance({"good": good, "evil": evil})


def primitive_paths(longest: int) -> list[str]:
    texts = (
        "".join(each) for size in range(1, longest + 1) for each in product(LETTERS, repeat=size)
    )
    return [text for text in texts if primitive_period(text) == text]


# Complexity


def test_the_simplest_environment_of_the_text_has_the_lowest_complexity() -> None:
    """Four bits for each path, and four steps: a letter and a move for each of the two."""
    assert Torus().complexity(instance("L", "R")) == 4 + 4 + 2
    assert Torus().complexity_range()[0] == 10


@given(paths, paths)
def test_the_complexity_is_the_code_and_the_time(good: str, evil: str) -> None:
    given_paths = instance(good, evil)
    said = encode(given_paths)
    read = decode(said)
    periods = primitive_period(good), primitive_period(evil)
    assert (read.data["good"], read.data["evil"]) == periods
    steps = len(periods[0]) + len(periods[1]) + 2
    assert Torus().complexity(given_paths) == pytest.approx(len(said) + log2(steps))


@given(paths, paths, st.integers(1, 3), st.integers(1, 3))
def test_equal_behaviour_has_equal_complexity(good: str, evil: str, one: int, two: int) -> None:
    longer = instance(good * one, evil * two)
    assert Torus().complexity(longer) == Torus().complexity(instance(good, evil))


def test_a_description_ends_where_it_ends() -> None:
    with pytest.raises(ValueError, match="ends after 8 of 9 bits"):
        decode(encode(instance("L", "R")) + "0")


# All there are


def test_every_shortest_expression_is_counted_and_listed() -> None:
    by_kind: dict[tuple[int, int], list[str]] = {}
    for path in primitive_paths(5):
        kind = len(path), len(shortest_expression(path, LETTERS))
        by_kind.setdefault(kind, []).append(path)
    expressions = Expressions(5)
    lengths, sizes = expressions.count.shape
    for kind in product(range(lengths), range(sizes)):
        assert expressions.paths(*kind) == sorted(by_kind.get(kind, []))
        assert expressions.count[kind] >= len(by_kind.get(kind, []))


def test_members_are_all_there_are() -> None:
    tori = Torus(max_path_length=3)
    lowest, highest = tori.complexity_range()
    every = [instance(*pair) for pair in product(primitive_paths(3), repeat=2)]
    complexities = {each.key: tori.complexity(each) for each in every}
    for low, high in [(0, 12), (12.5, 17), (15, 16), (lowest, highest), (highest, highest)]:
        members = tori.members(low, high, 30_000)
        assert members is not None
        wanted = {
            key
            for key, complexity in complexities.items()
            if low <= complexity <= min(high, highest)
        }
        assert {each.key for each in members} == wanted
        assert len(members) == len(wanted)
        listed = [complexities[each.key] for each in members]
        assert listed == sorted(listed)


def test_members_are_listed_only_up_to_a_number() -> None:
    members = Torus().members(10, 11, 21)
    assert members is not None
    assert len(members) == 21
    assert Torus().members(10, 11, 20) is None
    assert Torus().members(80, 81, 10_000) is None
    assert Torus().members(13, 15, 0) == []


@pytest.mark.parametrize("level", range(10, 25))
def test_low_levels_can_be_listed(level: int) -> None:
    members = Torus().members(level - 1, level, 20_000)
    drawn = Torus().draw_between(stream(0).generator(), level - 1, level)
    assert members is not None
    assert (drawn is None) == (members == [])


# Draws


def test_draws_in_a_band_have_their_shares() -> None:
    tori = Torus()
    members = tori.members(10, 17.2, 1000)
    assert members is not None
    weights = np.array([2.0 ** -tori.complexity(each) for each in members])
    rng = stream(2).generator()
    draws = 12_000
    counts: Counter[str] = Counter()
    for _ in range(draws):
        drawn = tori.draw_between(rng, 10, 17.2)
        assert drawn is not None
        counts[drawn.key] += 1
    observed = np.array([counts[each.key] for each in members])
    expected = draws * weights / weights.sum()
    assert observed.sum() == draws
    statistic = float(((observed - expected) ** 2 / expected).sum())
    freedom = len(members) - 1
    assert expected.min() > 5
    assert abs(statistic - freedom) < 4 * (2 * freedom) ** 0.5


def test_draws_of_a_complexity_are_even() -> None:
    tori = Torus(max_path_length=4)
    complexity = tori.complexity(instance("LRU", "SS"))
    members = tori.members(complexity, complexity, 1000)
    assert members is not None
    rng = stream(4).generator()
    counts = Counter(tori.draw(rng, complexity).key for _ in range(40 * len(members)))
    assert set(counts) == {each.key for each in members}
    statistic = sum((count - 40) ** 2 / 40 for count in counts.values())
    assert abs(statistic - len(members)) < 4 * (2 * len(members)) ** 0.5


def test_without_a_wish_draws_are_universal() -> None:
    """The simplest nine are drawn as often as their share in all that there is."""
    tori = Torus(max_path_length=3)
    members = tori.members(*tori.complexity_range(), 30_000)
    assert members is not None
    weights = np.array([2.0 ** -tori.complexity(each) for each in members])
    share = weights[:9].sum() / weights.sum()
    simplest = {each.key for each in members[:9]}
    rng = stream(5).generator()
    drawn = [tori.draw(rng).key in simplest for _ in range(3000)]
    assert np.mean(drawn) == pytest.approx(share, abs=4 * (share * (1 - share) / 3000) ** 0.5)


@given(st.floats(15.4, 123.0), st.integers(0, 1000))
def test_draws_lie_in_their_band(level: float, seed: int) -> None:
    tori = Torus()
    drawn = tori.draw_between(stream(seed).generator(), level - 1, level)
    assert drawn is not None
    complexity = tori.complexity(drawn)
    assert level - 1 - 1e-9 <= complexity <= level + 1e-9
    assert decode(encode(drawn)) == drawn
    assert drawn == tori.draw_between(stream(seed).generator(), level - 1, level)
    assert tori.complexity(tori.draw(stream(seed).generator(), complexity)) == complexity


@pytest.mark.parametrize(("low", "high"), [(0, 9.9), (12.5, 14.9), (124, 200), (20, 19)])
def test_empty_bands_give_none(low: float, high: float) -> None:
    assert Torus().draw_between(stream(0).generator(), low, high) is None
    assert Torus().members(low, high, 10) == []


@pytest.mark.parametrize(
    ("wanted", "near"),
    [(3, "10.000"), (20, "19.585 or 20.585"), (14, "12.000 or 15.322"), (1e6, "123.087")],
)
def test_an_impossible_complexity_names_the_nearest(wanted: float, near: str) -> None:
    with pytest.raises(InvalidInputError, match=f"The nearest that there is: {near}"):
        Torus().draw(stream(0).generator(), wanted)


def test_what_is_named_can_be_asked_for() -> None:
    tori = Torus()
    drawn = tori.draw(stream(0).generator(), 19.585)
    assert tori.complexity(drawn) == pytest.approx(19.585, abs=1e-3)


def test_single_letters_only() -> None:
    tori = Torus(max_path_length=1)
    assert tori.complexity_range() == (10, 10)
    drawn = {tori.draw(stream(number).generator()).key for number in range(200)}
    members = tori.members(0, 100, 25)
    assert members is not None
    assert drawn == {each.key for each in members}
