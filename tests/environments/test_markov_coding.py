"""The prefix code of Markov algorithms: decoded back, complete lists, fair coins, sets."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from markov_samples import programs
from omnimeter.contract import InvalidInputError
from omnimeter.environments.universal.coding import (
    code_length,
    decode,
    decode_set,
    draw,
    encode,
    encode_set,
    programs_of_length,
    rules_of_length,
    set_length,
)
from omnimeter.environments.universal.language import (
    EXAMPLES,
    MAX_AUXILIARIES,
    MAX_DEPTH,
    Alternatives,
    Item,
    Program,
    Rule,
    Wildcard,
    expand,
    parse,
)

SHORT = 13
ALPHABETS = (("a",), ("a", "b"), ("a", "b", "c", "d", "X1"))


@cache
def decoded(alphabet: tuple[str, ...]) -> dict[str, Program]:
    """The programs of all short code words, found by trying all bit strings."""
    programs = {}
    for length in range(SHORT + 1):
        for bits in map("".join, product("01", repeat=length)):
            try:
                programs[bits] = decode(bits, alphabet)
            except InvalidInputError:
                continue
    return programs


# One program


def test_the_code_of_a_rule_by_hand() -> None:
    # Over a and b, so among 2 + 4 items of the left: a is 00, b 01, alternatives 100, option 101,
    # wildcard 110, marked 111; among 2 + 3 of the right: a 00, b 01, store 10, recall 110, marked
    # 111. The marked one on the left is among 2 + 3, that on the right among 2.
    assert encode(parse("ab → ", "ab")) == "1" + "1" + "0" + "011" + "00" + "01" + "1" + "0"
    assert encode(parse("→· Δ∇a^", "ab")) == "1" + "1" + "1" + "1" + "00100" + "101101110" + "0"
    assert encode(parse("b^[a] → ", "ab")) == "1" + "10" + "01111101101100" + "10"
    # A wildcard; then references are among 2 + 5 on the left and 2 + 4 on the right.
    wildcard = "110" + "010" + "1"
    left = "011" + wildcard + "111"
    right = "010" + "111"
    assert encode(parse("(χ_1 ∉ {b})χ_1 → χ_1", "ab")) == "1" + "10" + left + right + "0"
    choices = "100" + "1" + "1" + "010" + "01"
    assert encode(parse("(|b) →", "ab")) == "1" + "10" + "010" + choices + "1" + "0"
    # Two auxiliary symbols: 3 before the rules; b is then among 4 + 4.
    assert encode(parse("symbols c d\nb →", "ab")) == "011" + "10" + "010" + "001" + "1" + "0"


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_decoded_back(name: str) -> None:
    program = EXAMPLES[name].program()
    again = decode(encode(program), program.alphabet)
    assert again.rules == program.rules
    names = tuple(f"X{number + 1}" for number in range(len(program.auxiliaries)))
    assert again == replace(program, auxiliaries=names)
    assert expand(again) == expand(program)


@given(programs(canonical=True))
def test_programs_are_decoded_back(program: Program) -> None:
    assert decode(encode(program), program.alphabet) == program
    assert code_length(program) == len(encode(program))


@given(programs(), st.data())
def test_no_code_word_begins_another(program: Program, data: st.DataObject) -> None:
    word = encode(program)
    for bits in (word + "0", word + "1", word[: data.draw(st.integers(0, len(word) - 1))]):
        with pytest.raises(InvalidInputError, match=f"These {len(bits)} bits are not a code word"):
            decode(bits, program.alphabet)


@given(st.text("01", max_size=200))
def test_bits_are_exactly_one_code_word_or_none(bits: str) -> None:
    try:
        program = decode(bits, ("a", "b"))
    except InvalidInputError:
        return
    assert encode(program) == bits
    assert parse(str(program), ("a", "b")) == program


def test_decoded_symbols_have_names_of_their_own() -> None:
    program = parse("symbols Φ Y\nΦ → Y", ("X1", "X3"))
    assert decode(encode(program), ("X1", "X3")).auxiliaries == ("X2", "X4")


def test_an_error_names_the_bit() -> None:
    with pytest.raises(InvalidInputError, match=r"These 7 bits .* cannot be read from bit 7 on"):
        decode("1" + "10" + "1" + "1" + "0" + "1", "ab")
    for bits in ("", "01", "2", "1" + "0" + "0"):
        with pytest.raises(InvalidInputError, match="bits are not a code word"):
            decode(bits, "ab")


def test_vast_numbers_are_refused_at_once() -> None:
    vast = "0" * 60 + "1" * 61
    few_symbols = "0" * 8 + f"{MAX_AUXILIARIES + 2:b}".zfill(9)
    wildcard = "1" + "10" + "010" + "10" + vast  # over one symbol, whose choice has no bits
    for bits in (vast + "0", few_symbols + "0", wildcard, "1" + "10" + vast):
        with pytest.raises(InvalidInputError):
            decode(bits, "a")


def test_depth_is_bounded_as_in_texts() -> None:
    def nested(depth: int) -> Program:
        item: Item = 0
        for _ in range(depth):
            item = Alternatives(((item,), ()))
        return Program(("a",), (), (Rule((item,), ()),))

    program = nested(MAX_DEPTH)
    assert decode(encode(program), "a") == parse(str(program), "a") == program
    with pytest.raises(InvalidInputError):
        decode(encode(nested(MAX_DEPTH + 1)), "a")
    with pytest.raises(InvalidInputError):
        parse(str(nested(MAX_DEPTH + 1)), "a")


# All programs


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=len)
def test_programs_of_a_length_are_those_that_bit_strings_decode_to(alphabet: tuple[str]) -> None:
    words = decoded(alphabet)
    for length in range(SHORT + 1):
        listed = list(programs_of_length(length, alphabet))
        expected = {program for bits, program in words.items() if len(bits) == length}
        assert len(listed) == len(expected)
        assert set(listed) == expected
        assert all(code_length(program) == length for program in listed)


def test_rules_of_a_length() -> None:
    # Over one symbol, which is 00 on either side, with or without being last.
    assert rules_of_length(3, 1, 0) == (Rule((), ()), Rule((), (), True))
    assert len(rules_of_length(3, 5, 4)) == 2
    for bits in range(16):
        rules = rules_of_length(bits, 2, 1)
        assert len(set(rules)) == len(rules)
        # Beside the rule: 010 of one auxiliary symbol, 1 before the rule and 0 after it.
        one = [Program(("a", "b"), ("X1",), (rule,)) for rule in rules]
        assert all(code_length(program) == bits + 5 for program in one)


@pytest.mark.parametrize("alphabet", ALPHABETS, ids=len)
def test_code_words_fit_into_one(alphabet: tuple[str, ...]) -> None:
    words = sorted(decoded(alphabet))
    assert sum(Fraction(1, 2 ** len(word)) for word in words) <= 1
    assert not any(second.startswith(first) for first, second in pairwise(words))


def test_fair_coins_draw_each_program_by_its_length() -> None:
    rng = np.random.default_rng(1)
    number, longest = 20_000, 10
    drawn = Counter(draw(rng, ("a", "b"), longest) for _ in range(number))
    words = {bits: each for bits, each in decoded(("a", "b")).items() if len(bits) <= longest}
    assert set(drawn) <= {*words.values(), None}
    for bits, program in words.items():
        expected = number / 2 ** len(bits)
        assert abs(drawn[program] - expected) < 5 * expected**0.5
    other = 1 - sum(2.0 ** -len(bits) for bits in words)
    assert abs(drawn[None] / number - other) < 0.02


def test_drawing_takes_the_same_coins_whatever_it_draws() -> None:
    rng, same = np.random.default_rng(2), np.random.default_rng(2)
    for _ in range(20):
        draw(rng, ("a", "b"), 30)
        same.integers(2, size=30)
    assert rng.integers(1 << 60) == same.integers(1 << 60)
    assert draw(rng, "a", 0) is None


# Sets


def test_a_shared_rule_is_written_once() -> None:
    first, second = parse("ab → a; a → b", "ab"), parse("→· a; ab → a", "ab")
    word = "011" + "1" + "11" + "0" + "0110001" + "01000" + "11" + "0" + "01000" + "01001" + "0"
    word += "11" + "1" + "1" + "01000" + "10" + "0" + "0"  # the first of two rules: but then three
    # When it is named there are three rules, so that the first of them has one bit.
    assert encode_set([first, second]) == word
    assert set_length([first, second]) == len(word)
    assert decode_set(word, "ab") == (first, second)
    assert set_length([first] * 100) < 100 * code_length(first)


def test_symbols_of_the_same_name_are_the_same() -> None:
    one = parse("symbols X Y\nX → Y", "a")
    other = parse("symbols Y X\nX → Y", "a")
    another = parse("symbols Z X\nX → Z", "a")
    assert set_length([one, other]) < set_length([one, another])
    both = decode_set(encode_set([one, other]), "a")
    assert both[0] == both[1] == decode(encode(one), "a")


def test_the_objects_of_figure_3_3_as_a_set() -> None:
    behaviours = [EXAMPLES["figure-3.3-object"].program()]
    behaviours += [EXAMPLES["figure-3.3-good-and-evil"].program()] * 2
    apart = sum(map(code_length, behaviours))
    assert set_length(behaviours) < apart - 350  # Good's and Evil's rules are the same
    assert encode_set(decode_set(encode_set(behaviours), behaviours[0].alphabet)) == encode_set(
        behaviours
    )


@given(st.data())
def test_sets_are_decoded_back(data: st.DataObject) -> None:
    program = data.draw(programs(canonical=True))
    rules = st.lists(st.sampled_from(program.rules)) if program.rules else st.just([])
    members = [
        replace(program, rules=tuple(data.draw(rules))) for _ in range(data.draw(st.integers(1, 4)))
    ]
    word = encode_set(members)
    assert list(decode_set(word, program.alphabet)) == members
    for bits in (word[:-1], word + "0"):
        with pytest.raises(InvalidInputError):
            decode_set(bits, program.alphabet)


def test_the_empty_set_and_what_is_no_set() -> None:
    assert encode_set([]) == "11"
    assert decode_set("11", "a") == ()
    with pytest.raises(ValueError, match="same base alphabet"):
        encode_set([parse("", "a"), parse("", "b")])
    with pytest.raises(InvalidInputError):  # a rule is named before there is one
        decode_set("010" + "1" + "10" + "0", "a")
    twice = "010" + "1" + ("11" + "0" + "1" + "1") * 2 + "0"
    with pytest.raises(InvalidInputError):  # the same rule is written as a new one again
        decode_set(twice, "a")


def test_wildcards_of_a_set_exclude_the_same_symbols() -> None:
    one, other = parse("symbols X\n(χ ∉ {X, a}) →", "ab"), parse("symbols Y X\n(χ ∉ {Y}) →", "ab")
    first, second = decode_set(encode_set([one, other]), "ab")
    assert first.rules[0].left == (Wildcard((2, 0)),)
    assert second.rules[0].left == (Wildcard((3,)),)
