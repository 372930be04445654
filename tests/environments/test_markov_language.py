"""Markov algorithms: the examples of the thesis, the notation, and what its rules stand for."""

from __future__ import annotations

from itertools import islice

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from markov_oracle import run, steps
from markov_samples import programs
from omnimeter.contract import InvalidInputError
from omnimeter.environments.universal.language import (
    EXAMPLES,
    MAX_AUXILIARIES,
    MAX_DEPTH,
    MAX_PLAIN_RULES,
    STORE,
    PlainRule,
    Program,
    Rule,
    expand,
    format_plain,
    format_program,
    number_of_plain_rules,
    parse,
)

SIX = "[(χ_1 ∉ {A1, π})]A1(π|⊙)_2 → (π|⊙)_2[χ_1]"
OBSERVED = ("A1", "A2", "π", "⊙")


def plain_text(text: str, *alphabet: str) -> list[str]:
    """The plain rules of a program as texts."""
    program = parse(text, alphabet)
    return format_plain(expand(program), program.symbols).split("\n")


def indices(program: Program, text: str) -> list[int]:
    """The symbols of a string that is written as a rule's left side."""
    (rule,) = parse(f"{text} →", program.symbols).rules
    return [item for item in rule.left if isinstance(item, int)]


def shown(program: Program, symbols: list[int]) -> str:
    return "".join(program.symbols[symbol] for symbol in symbols)


# The examples of the thesis


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_are_printed_as_they_are_written(name: str) -> None:
    program = EXAMPLES[name].program()
    assert str(program) == format_program(program) == EXAMPLES[name].text


def test_the_six_rules() -> None:
    program = parse(SIX, OBSERVED)
    assert str(program) == SIX
    assert plain_text(SIX, *OBSERVED) == [
        "A2A1π → πA2",
        "A2A1⊙ → ⊙A2",
        "⊙A1π → π⊙",
        "⊙A1⊙ → ⊙⊙",
        "A1π → π",
        "A1⊙ → ⊙",
    ]


def test_binary_to_unary_step_by_step() -> None:
    program = EXAMPLES["binary-to-unary"].program()
    rules = expand(program)
    trace = list(steps(rules, indices(program, "101"), [], rightmost=False))
    assert [(shown(program, step.text), step.rule + 1) for step in trace] == [
        ("0|01", 2),
        ("00||1", 1),
        ("00||0|", 2),
        ("00|0|||", 1),
        ("000|||||", 1),
        ("00|||||", 3),
        ("0|||||", 3),
        ("|||||", 3),
    ]
    text, memory, number, outcome = run(
        rules, indices(program, "101"), [], rightmost=False, max_steps=8, max_length=8
    )
    assert (shown(program, text), memory, number, outcome) == ("|||||", [], 8, "none")


def test_the_space_of_figure_3_3() -> None:
    program = EXAMPLES["figure-3.3-space"].program()
    rules = expand(program)
    assert [step.rule + 1 for step in steps(rules, [], [])] == [4, 1, 2, 2, 2, 2, 3]
    text, _, number, outcome = run(rules, [], [], max_steps=7, max_length=100)
    assert shown(program, text) == "lr+:l-r+:l-r+:l-r+:l-r+:l-r"
    assert (number, outcome) == (7, "final")


def test_the_object_of_figure_3_3_keeps_away_from_the_agent() -> None:
    program = EXAMPLES["figure-3.3-object"].program()
    rules = expand(program)
    symbol = program.symbols.index

    def act(observation: str, memory: list[int]) -> tuple[str, list[int]]:
        text, memory, _, outcome = run(
            rules, indices(program, observation), memory, max_steps=99, max_length=99
        )
        assert outcome == "final"
        return [name for name in shown(program, text) if name in "slr"][-1], memory

    # The agent is in the cell that R leads to, with Good: it is seen, and the object stays.
    action, memory = act(":L:ω1S:π⊙R::", [])
    assert (action, memory) == ("s", [symbol("R")])
    # Now it is in the same cell. It came over R, so the object leaves by l.
    assert act(":L:πω1S:R::", memory)[0] == "l"
    assert act(":L:π⊙ω1S:R::", [symbol("L")])[0] == "r"
    # At the left end l would stay, so that it must be r, wherever the agent came from.
    action, memory = act("πω1S L:R:::", [symbol("R")])
    assert (action, memory) == ("r", [symbol("L")])


def test_good_and_evil_of_figure_3_3_go_three_cells_left_and_three_right() -> None:
    program = EXAMPLES["figure-3.3-good-and-evil"].program()
    rules = expand(program)
    memory: list[int] = []
    actions = []
    for observation in [":L:⊙S:R::⊙ω1"] * 12:
        text, memory, _, outcome = run(
            rules, indices(program, observation), memory, max_steps=999, max_length=999
        )
        assert outcome == "final"
        actions.append([name for name in shown(program, text) if name in "slr"][-1])
    assert "".join(actions) == "lllrrrlllrrr"
    # Where the object is in the cell that the pattern leads to, they stay instead.
    for observation, expected in ((":ω1L:⊙S:⊙R:", "s"), (":L:⊙S:⊙ω1R:", "l")):
        text, _, _, _ = run(rules, indices(program, observation), [], max_steps=999, max_length=999)
        assert [name for name in shown(program, text) if name in "slr"][-1] == expected


def test_marks_and_wildcards_of_the_object_expand_in_the_order_of_the_alphabet() -> None:
    program = EXAMPLES["figure-3.3-object"].program()
    rules = expand(program)
    names = program.symbols
    assert [names[rule.saved] for rule in rules if rule.saved >= 0] == ["L", "R", "L", "R"]
    third = [names[rule.left[1]] for rule in rules if rule.right == (names.index("π"),)]
    assert third == ["s", "l", "r", "S", "π", "⊙", "ω1", "Φ"]


# The notation


@given(programs())
def test_printed_programs_are_read_again(program: Program) -> None:
    assert parse(str(program), program.alphabet) == program


@given(programs())
def test_printed_plain_rules_are_read_again(program: Program) -> None:
    assume(number_of_plain_rules(program) <= MAX_PLAIN_RULES)
    rules = expand(program)
    assert len(rules) == number_of_plain_rules(program)
    assert expand(parse(format_plain(rules, program.symbols), program.symbols)) == rules


@given(st.text("ab1_ χ∉{},()[]|^Δ∇→·.->\\#;\n…2symbols", max_size=30))
def test_any_text_is_a_program_or_a_clear_error(text: str) -> None:
    try:
        program = parse(text, ("a", "b", "s"))
    except InvalidInputError as error:
        assert "line" in str(error) or "symbol" in str(error)  # noqa: PT017 - most texts are none
    else:
        assert parse(str(program), program.alphabet) == program


def test_ascii_comments_and_separators() -> None:
    text = "  # nothing\n symbols  Φ; a ->.  Φ a^ # the end\n\n;(a|Φ)_07^->(a|Φ)_7 ^ \r\n → Δ∆"
    assert str(parse(text, ("a",))) == "\n".join(
        ["symbols Φ", "a →· Φa^Δ", "(a|Φ)_1^Δ → (a|Φ)_1^Δ", "→ ΔΔ"]
    )
    assert parse("", ("a",)) == parse(" # \n;", ("a",)) == Program(("a",))


def test_a_first_rule_may_begin_like_a_declaration() -> None:
    program = Program(tuple("symbol"), (), (Rule((0, 1, 2, 3, 4, 5, 0), ()),))
    assert str(program) == "symbols →"
    assert parse("symbols →", tuple("symbol")) == program


def test_symbols_are_separated_where_they_would_be_read_as_one() -> None:
    alphabet = ("A", "1", "A1", "E_I", "I", "-", ">")
    text = "A 1A1 1E_I I-\\>χ_1 1χ → χ_1"
    program = parse(text, alphabet)
    assert program.rules[0].left[:7] == (0, 1, 2, 1, 3, 4, 5)
    assert str(program) == text


def test_one_subscript_stands_for_the_same_on_the_left_and_on_the_right() -> None:
    assert plain_text("χ_1bχ1 → χ_1", "a", "b") == ["aba → a", "bbb → b"]
    assert plain_text("(a|bb)_1(a|bb)_1 → c(a|bb)_1", *"abc") == ["aa → ca", "bbbb → cbb"]
    assert plain_text("[a|b(b|)_1]c → [(b|)_1]", *"abc") == ["ac →", "bbc → b", "bc →", "c →"]
    nested = "((a|b)_1c|(a|b)_1)_2(…)_2 → [(a|b)_1]"
    assert str(parse(nested, "abc")) == nested
    assert plain_text(nested, *"abc") == ["acac → a", "bcbc → b", "→"]


def test_the_last_symbol_that_is_marked_is_saved() -> None:
    def saved(text: str) -> list[int]:
        return [rule.saved for rule in expand(parse(text, "abc"))]

    assert saved("a^Δb^Δ → c") == [1]
    assert saved("a^Δ → c^") == [2]
    assert saved("(a|bc|)^Δ →") == [0, 2, -1]
    assert saved("a^Δ(b^Δ|c) →") == [1, 0]
    assert saved("[a]^Δχ_1 → χ_1^Δ[χ_1]") == [0, 1, 2] * 2


def test_what_may_be_absent_is_first_present() -> None:
    assert plain_text("[a[b]]c → Δ", *"abc") == ["abc → Δ", "ac → Δ", "c → Δ"]
    assert plain_text("[a|b] →∇", *"ab") == ["a → ∇", "b → ∇", "→ ∇"]
    assert expand(parse("a → b^ΔΔ", "ab")) == (PlainRule((0,), (1, STORE), False, 1),)


def test_a_wildcard_that_excludes_everything_stands_for_nothing() -> None:
    assert expand(parse("χχχχχχχχχχχχχχχχ(χ ∉ {a, b}) → a", "ab")) == ()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a → b\n c → X", "lacks 'X' (line 2, column 6); its symbols are a b c"),
        ("a12 →", "lacks 'a12' (line 1, column 1)"),
        ("\\| →", r"lacks '\\|'"),
        ("a", "line 1, column 2: found the end of the rule, expected a symbol"),
        ("a → b → c", "column 7: found '→', expected a symbol, 'Δ'"),
        ("1. a → b", "line 1, column 2: found '.'"),
        ("a → (a|b)", "column 5: found '(', expected a symbol, 'Δ', '∇', or a group of the left"),
        ("(a|b)_1 → (a|c)_1", "column 11: found '(', expected a group with the subscript 1 as be"),
        ("χ_1(a|b)_1 →", "column 4: found '('"),
        ("(…)_1 →", "expected a group that was bound before"),
        ("(a(…)_1|b)_1 →", "column 3: found '('"),
        ("(a) → b", "column 3: found ')'"),
        ("(a|b → b", "column 6: found '→', expected a symbol, 'χ', '(', '[', '|' or ')'"),
        ("[] → b", "column 2: found ']'"),
        ("Δ → b", "found 'Δ', expected a symbol, 'χ', '(', '[' or an arrow"),
        ("a → Δ^", "found '^'"),
        ("(χ ∉ a) →", "column 6: found 'a', expected '{'"),
        ("(χ ∉ {a, a}) →", "column 10: found 'a', expected each symbol once"),
        ("(χ ∉ {a b}) →", "column 9: found 'b', expected '}' or ','"),
        ("symbols X →\n", "lacks 's'"),
        ("symbols (\n", "column 9: found '(', expected a symbol"),
        ("symbols X X\n", "has the symbol 'X' twice"),
        ("symbols a\n", "has the symbol 'a' twice"),
        ("a → b \\", "column 7"),
        ("(" * (MAX_DEPTH + 1) + " →", f"more than {MAX_DEPTH} deep"),
        ("symbols " + " ".join(f"X{i}" for i in range(MAX_AUXILIARIES + 1)), "at most 255"),
    ],
)
def test_errors_say_where_and_what(text: str, message: str) -> None:
    with pytest.raises(InvalidInputError) as error:
        parse(text, ("a", "b", "c"))
    assert message in str(error.value)


@pytest.mark.parametrize("names", [(), ("",), ("ab",), (" ",), ("\n",), ("a", "a"), ("a__",)])
def test_alphabets_that_cannot_be(names: tuple[str, ...]) -> None:
    with pytest.raises(InvalidInputError):
        Program(names)


def test_programs_that_stand_for_too_much() -> None:
    wildcards = parse(f"a → a\n{'χ' * 50} → a", "ab")
    assert number_of_plain_rules(wildcards) == 2**50 + 1
    with pytest.raises(InvalidInputError, match=r"more than 4,096 plain rules, most of .* χχχ"):
        expand(wildcards)
    assert len(expand(parse("χ" * 12 + " → a", "ab"))) == MAX_PLAIN_RULES
    doubled = "(a|)_1"
    for subscript in range(2, 16):
        doubled = f"({doubled}(…)_{subscript - 1}|)_{subscript}"
    with pytest.raises(InvalidInputError, match="more than 4,096 symbols"):
        expand(parse(f"{doubled} →", "a"))
    assert len(str(parse(f"{doubled} →", "a"))) < 500


# The oracle


def test_runs_end_where_they_must() -> None:
    def outcome(text: str, start: str, max_steps: int, max_length: int) -> tuple[str, int, str]:
        program = parse(text, "abc")
        string, _, number, end = run(
            expand(program),
            indices(program, start),
            [],
            max_steps=max_steps,
            max_length=max_length,
        )
        return shown(program, string), number, end

    assert outcome("a → b", "aa", 2, 2) == ("bb", 2, "none")
    assert outcome("a → b", "aa", 1, 2) == ("ab", 1, "steps")
    assert outcome("a →· b", "aa", 1, 2) == ("ab", 1, "final")
    assert outcome("→ c", "a", 99, 3) == ("acc", 2, "length")
    assert outcome("a → a", "a", 0, 0) == ("a", 0, "steps")


def test_memory_is_one_string() -> None:
    program = parse("a^Δ → ∇∇; b → Δb∇; c →· ∇", "abc")
    rules = expand(program)
    trace = list(islice(steps(rules, indices(program, "ba"), indices(program, "c")), 3))
    # The mark is saved before the memory is recalled, and recalling does not empty it.
    assert [(shown(program, each.text), shown(program, each.memory)) for each in trace] == [
        ("baa", "a"),
        ("baaa", "a"),
        ("baaaa", "a"),
    ]
    trace = list(islice(steps(rules[1:], indices(program, "cb"), indices(program, "c")), 2))
    # The string is saved as it is after the step.
    assert [(shown(program, each.text), shown(program, each.memory)) for each in trace] == [
        ("cbc", "cbc"),
        ("cbcbcc", "cbcbcc"),
    ]
