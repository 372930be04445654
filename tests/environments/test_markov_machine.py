"""The machine of Markov algorithms: against plain Python, step by step, and within its bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import markov_oracle
from markov_samples import programs
from omnimeter.contract import InvalidInputError
from omnimeter.environments.universal.language import EXAMPLES, Program, expand, parse
from omnimeter.environments.universal.machine import (
    AT,
    KEPT,
    LENGTH,
    OUTCOMES,
    STEPS,
    Machine,
    Run,
    compiled_rules,
    rewrite,
    used_rules,
)

PLAIN_OUTCOMES = dict(zip(("final", "none", "steps", "length"), OUTCOMES, strict=True))


def oracle(
    machine: Machine, text: list[int], memory: list[int], max_steps: int, max_length: int
) -> Run:
    """The same run in plain Python."""
    result = markov_oracle.run(
        machine.plain, text, memory, rightmost=machine.rightmost, max_steps=max_steps,
        max_length=max_length,
    )  # fmt: skip
    return Run(tuple(result[0]), tuple(result[1]), result[2], PLAIN_OUTCOMES[result[3]])


@st.composite
def short_programs(draw: st.DrawFn) -> Program:
    """Plain rules over two symbols, of which many steps come."""
    side = st.text("ab", max_size=3)
    right = st.text("ab", max_size=4) | st.sampled_from(["∇", "a∇", "Δ", "bΔ", "a^ b"])
    rule = st.builds("{} {} {}".format, side, st.sampled_from(["→", "→", "→", "→·"]), right)
    return parse("\n".join(draw(st.lists(rule, min_size=1, max_size=4))), "ab")


def inputs(program: Program) -> st.SearchStrategy[list[int]]:
    return st.lists(st.integers(0, len(program.symbols) - 1), max_size=10)


@given(st.data(), st.booleans(), st.integers(1, 40), st.integers(10, 25))
def test_runs_equal_those_in_plain_python(
    data: st.DataObject, rightmost: bool, max_steps: int, max_length: int
) -> None:
    program = data.draw(programs() | short_programs())
    machine = Machine(program, max_steps, max_length, rightmost=rightmost)
    for text, memory in data.draw(
        st.lists(st.tuples(inputs(program), inputs(program)), max_size=6)
    ):
        expected = oracle(machine, text, memory, max_steps, max_length)
        assert machine.run(text, memory) == expected


@given(st.data(), st.booleans())
def test_traces_equal_those_in_plain_python(data: st.DataObject, rightmost: bool) -> None:
    program = data.draw(programs() | short_programs())
    text, memory = data.draw(inputs(program)), data.draw(inputs(program))
    machine = Machine(program, 20, 40, rightmost=rightmost)
    run = machine.run(text, memory)
    steps = list(machine.trace(text, memory))
    assert len(steps) == run.steps
    plain = markov_oracle.steps(machine.plain, text, memory, rightmost)
    before = text
    for (rule, at, after), step in zip(steps, plain, strict=False):
        assert rule == step.rule
        assert at == markov_oracle.occurrence(machine.plain[rule].left, before, rightmost)
        assert (list(after.text), list(after.memory)) == (step.text, step.memory)
        before = step.text
    if steps:
        assert steps[-1][2][:3] == run[:3]


def test_programs_lie_side_by_side() -> None:
    one, other = expand(parse("a → b", "ab")), expand(parse("b → aa; aaa →·", "ab"))
    rules = compiled_rules((*one, *other))
    text, memory, counts = (np.zeros(size, np.int64) for size in (8, 8, AT + 1))
    text[:2], counts[LENGTH], counts[KEPT] = (1, 1), 2, 0
    rewrite(*rules, 1, 3, text, memory, counts, 100, True)
    assert text[: counts[LENGTH]].tolist() == [0]
    assert counts[STEPS] == 3
    rewrite(*rules, 0, 1, text, memory, counts, 100, True)
    assert text[: counts[LENGTH]].tolist() == [1]


# The examples of the thesis


def test_binary_to_unary_as_printed() -> None:
    # In 2.1.6; the number of the rule of the last step but one is misprinted there.
    example = EXAMPLES["binary-to-unary"]
    machine = Machine(example.program(), rightmost=False)
    names = machine.program.symbols
    given_text = [names.index(symbol) for symbol in "101"]
    trace = list(machine.trace(given_text))
    assert [rule + 1 for rule, _, _ in trace] == [2, 1, 2, 1, 1, 3, 3, 3]
    assert ["".join(names[s] for s in each.text) for _, _, each in trace] == [
        "0|01",
        "00||1",
        "00||0|",
        "00|0|||",
        "000|||||",
        "00|||||",
        "0|||||",
        "|||||",
    ]


def test_the_space_of_figure_3_3_by_its_rules() -> None:
    machine = Machine(EXAMPLES["figure-3.3-space"].program())
    trace = list(machine.trace())
    assert [rule + 1 for rule, _, _ in trace] == [4, 1, 2, 2, 2, 2, 3]
    run = trace[-1][2]
    text = "".join(machine.program.symbols[symbol] for symbol in run.text)
    assert text == "lr+:l-r+:l-r+:l-r+:l-r+:l-r"
    assert machine.run() == (run.text, (), 7, "a terminating rule")


def said(name: str, text: str, memory: str = "") -> tuple[str, str]:
    """What a program of the thesis makes of an observation, and what it keeps in memory."""
    machine = Machine(EXAMPLES[name].program())
    names = machine.program.symbols
    words = [[names.index(symbol) for symbol in each.split()] for each in (text, memory)]
    run = machine.run(*words)
    assert run.answered
    return " ".join(names[s] for s in run.text), " ".join(names[s] for s in run.memory)


def test_the_object_of_figure_3_3_stays_and_flees() -> None:
    # The agent is seen to the left, which goes into memory; then it is here.
    assert said("figure-3.3-object", ": π L : ω1 S : R") == (": : ω1 S : R s", "L")
    assert said("figure-3.3-object", ": L : π ω1 S : R", "L") == (": L : r S : R", "L")
    assert said("figure-3.3-object", ": L : π ω1 S : R", "R") == (": L : l S : R", "R")


# Rules that are applied


def test_rules_and_symbols_that_are_never_used_are_left_out() -> None:
    text = r"symbols X \^ Z Y1 Y10; \^a → Y10; (χ ∉ {Z, a})Y10 → X; Zb →; Y10 →· \^"
    program = parse(text, "ab")
    a, b = 0, 1
    assert used_rules(program, [((3, a), ())]) == parse(
        r"symbols \^ Y10; \^a → Y10; Y10 →· \^", "ab"
    )
    every = used_rules(program, [((3, a), ()), ((b, 6), ()), ((4, b), ())])
    assert every == parse(text.replace(" Y1 ", " "), "ab")
    assert used_rules(program, [((a,), (3, a))]) == parse("", "ab")


@given(st.data())
def test_without_unused_rules_the_runs_are_the_same(data: st.DataObject) -> None:
    program = data.draw(programs() | short_programs())
    words = st.lists(st.integers(0, len(program.alphabet) - 1), max_size=10)
    pairs = data.draw(st.lists(st.tuples(words, words), max_size=3))
    fewer = used_rules(program, pairs, 30)
    assert set(fewer.symbols) <= set(program.symbols)
    for pair in pairs:
        before, after = Machine(program, 30).run(*pair), Machine(fewer, 30).run(*pair)
        assert (after.steps, after.outcome) == (before.steps, before.outcome)
        assert [fewer.symbols[s] for s in after.text] == [program.symbols[s] for s in before.text]


# Bounds


def test_a_program_that_never_ends_costs_its_bound_and_no_more() -> None:
    machine = Machine(parse("a → a", "a"), max_steps=1_000)
    assert machine.run([0]) == ((0,), (), 1_000, "the bound of steps")
    assert len(list(machine.trace([0]))) == 1_000
    assert not machine.run([0]).answered


def test_the_bound_of_steps_is_not_met_by_a_run_that_ends_within_it() -> None:
    assert Machine(parse("a →", "a"), max_steps=3).run([0] * 3).outcome == "no rule applies"
    assert Machine(parse("a →", "a"), max_steps=2).run([0] * 3).outcome == "the bound of steps"
    assert Machine(parse("a →·", "a"), max_steps=1).run([0]).outcome == "a terminating rule"
    assert Machine(parse("", "a"), max_steps=1).run([0]) == ((0,), (), 0, "no rule applies")


def test_a_text_grows_up_to_its_bound() -> None:
    assert Machine(parse("→ a", "a"), max_length=5).run() == ((0,) * 5, (), 5, OUTCOMES[3])
    doubling = Machine(parse("→ ∇aΔ", "a"), max_length=20)
    run = doubling.run()
    assert (len(run.text), len(run.memory), run.outcome) == (15, 15, "the bound of length")


def test_a_step_that_is_too_long_leaves_text_and_memory_as_they_were() -> None:
    run = Machine(parse("a → bbb^b", "ab"), max_length=4).run([0, 1], [0])
    assert run == ((0, 1), (0,), 0, "the bound of length")


@pytest.mark.parametrize(("bounds", "name"), [((0, 5), "steps"), ((5, 0), "length")])
def test_a_bound_of_0_is_refused(bounds: tuple[int, int], name: str) -> None:
    with pytest.raises(InvalidInputError) as raised:
        Machine(parse("a →", "a"), *bounds)
    expected = f"The bound of {name} of a program is 0: it could not do anything."
    assert raised.value.message == expected
    assert raised.value.advice == "Give a bound of at least 1, such as 256."


def test_what_is_longer_than_the_room_is_refused() -> None:
    machine = Machine(parse("a →", "a"), max_length=4)
    for text, memory in (([0] * 5, []), ([], [0] * 5)):
        with pytest.raises(InvalidInputError, match="room for 4 symbols"):
            machine.run(text, memory)
    assert machine.run([0] * 4, [0] * 4).steps == 4
