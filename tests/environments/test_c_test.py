"""The C-test: its machine, which series are fit, what is drawn, paid and observed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice, pairwise
from math import log2
from string import ascii_lowercase

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from omnimeter.audits import audit
from omnimeter.contract import Budget, Exercise, Instance, InvalidInputError, Spec, stream
from omnimeter.environments.c_test import CTest, complexity, decode, encode, written
from omnimeter.environments.c_test.dynamics import ANSWER, COUNT
from omnimeter.environments.c_test.population import (
    MAX_SHOWN,
    MIN_SHOWN,
    fitness,
    limit,
    population,
)
from omnimeter.interaction import run_single
from omnimeter.payoffs import PlannedAverage
from omnimeter.series.machine import INSTRUCTIONS, read, run
from omnimeter.series.search import table
from omnimeter.testing import EnvironmentClassSuite


def is_program(text: str) -> bool:
    try:
        read(text)
    except InvalidInputError:
        return False
    return True


programs = st.text(INSTRUCTIONS, min_size=1, max_size=9).filter(is_program)


def item(**parameters):
    """An environment that was started, of a series by hand."""
    environment_class = CTest(**parameters)
    environment = environment_class.build(environment_class.draw(stream(0).generator()))
    return environment, environment.start(stream(1).generator())


# The machine


@pytest.mark.parametrize(
    ("program", "series"),
    [
        ("w", "aaaaaaaa"),
        ("w+", "abcdefgh"),
        ("w+++", "adgjmpsv"),
        ("wxw++x-", "aazcyexg"),
        ("++wxw+(w)c", "cabdbccecddd"),
        ("+w(+)", "bcegkswt"),  # blocks double: b, then b + 1 = c, c doubled and 1 more, ...
    ],
)
def test_programs_write_what_they_are_known_to(program: str, series: str) -> None:
    if program == "+w(+)":
        value, expected = 0, ""
        for _ in series:
            value = (value + 1) % 26
            expected += ascii_lowercase[value]
            value = 2 * value % 26
        series = expected
    assert written(program, len(series)) == series


def plain(program: str, count: int, letters: int) -> list[tuple[int, int]]:
    """The machine again, written independently: blocks are unrolled, not jumped."""
    out: list[tuple[int, int]] = []
    a = b = steps = 0

    def do(part: str) -> None:
        nonlocal a, b, steps
        for each in part:
            steps += 1
            if each == "w":
                out.append((a, steps))
            elif each in "+-":
                a = (a + (1 if each == "+" else -1)) % letters
            elif each == "x":
                a, b = b, a
            elif each == "c":
                b = a

    while len(out) < count:
        rest = program
        while "(" in rest:
            before, _, rest = rest.partition("(")
            block, _, rest = rest.partition(")")
            do(before)
            times = a or letters
            steps += 1
            for _ in range(times):
                do(block)
                steps += 1
        do(rest)
    return out[:count]


@given(programs, st.integers(2, 26))
def test_the_machine_does_what_an_independent_one_does(program: str, letters: int) -> None:
    assert list(islice(run(program, letters), 30)) == plain(program, 30, letters)


@given(programs)
def test_codes_are_read_as_they_were_written(program: str) -> None:
    bits = encode(program)
    assert len(bits) == 3 * (len(program) + 1)
    assert decode(bits) == program
    with pytest.raises(InvalidInputError):
        decode(bits + "000")
    with pytest.raises(InvalidInputError):
        decode(bits[:-1])


@given(programs, programs)
def test_no_code_begins_another(one: str, other: str) -> None:
    assert one == other or not encode(other).startswith(encode(one))


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("+x", "writes nothing"),
        ("w(", "does not end"),
        ("w)", "did not begin"),
        ("((w))", "within another"),
        ("wq", "no instruction 'q'"),
    ],
)
def test_what_is_no_program_is_said(text: str, fault: str) -> None:
    with pytest.raises(InvalidInputError, match=fault):
        read(text)


def test_complexity_is_bits_and_steps_to_the_twelfth_letter() -> None:
    assert complexity("w") == pytest.approx(6 + log2(12))
    assert complexity("w+++") == pytest.approx(15 + log2(45))
    assert complexity("wxw++x-") == pytest.approx(24 + log2(5 * 7 + 3))


# Which series are fit


def by_hand(depth: int, letters: int, margin: float, stability: int) -> dict[str, int]:
    """How many letters of each series must be shown, by comparing all pairs for each number."""
    whole = table(depth, letters)
    results = {}
    ranks, texts = [], []
    for row in range(len(whole.keys)):
        program = whole.program(row)
        ranks.append((complexity(program, letters), int(whole.programs[row])))
        texts.append(written(program, 12, letters))
    for mine, text in enumerate(texts):

        def simplest(count: int, text: str = text) -> int:
            rivals = (row for row, each in enumerate(texts) if each[:count] == text[:count])
            return min(rivals, key=lambda row: ranks[row])

        def is_fit(count: int, mine: int = mine, text: str = text) -> bool:
            earlier = range(count - stability + 1, count + 1)
            others = [
                ranks[row][0]
                for row, each in enumerate(texts)
                if each[:count] == text[:count] and each[count] != text[count]
            ]
            nearest = min([*others, limit(depth)])
            stable = earlier[0] > 0 and all(simplest(each) == mine for each in earlier)
            return stable and nearest >= ranks[mine][0] + margin - 1e-9

        results[text] = next((count for count in range(MIN_SHOWN, 12) if is_fit(count)), 12)
    return results


@pytest.mark.parametrize(
    ("depth", "letters", "margin", "stability"), [(4, 26, 3.0, 3), (5, 3, 1.0, 2), (5, 26, 0.1, 1)]
)
def test_what_is_shown_is_what_all_pairs_of_series_say(
    depth: int, letters: int, margin: float, stability: int
) -> None:
    when = fitness(table(depth, letters), depth, margin)
    expected = list(by_hand(depth, letters, margin, stability).values())
    assert when.shown(stability).tolist() == expected
    assert len(set(expected)) >= 3


def test_no_program_beyond_the_search_can_be_simpler_than_its_limit() -> None:
    assert limit(9) == pytest.approx(33 + log2(12))
    # The cheapest of all programs with one instruction more, each step of which writes.
    assert complexity("w" * 10) >= limit(9) - 1e-9


def test_every_drawn_answer_is_the_continuation_of_the_simplest_program() -> None:
    environment_class = CTest("end")
    whole = table(environment_class.depth, 26)
    for number in range(300):
        low = 10 + number % 22
        rng = stream(0, "drawn", number).generator()
        instance = environment_class.draw_between(rng, low, low + 2)
        if instance is None:
            continue
        program, shown = instance.data["program"], instance.data["shown"]
        environment = environment_class.build(instance)
        _, observation = environment.start(stream(1, number).generator())
        series = written(program, shown + 1)
        letters = [ascii_lowercase.index(each) for each in series]
        assert [each - 1 for each in observation[:MAX_SHOWN] if each] == letters[:-1]
        assert environment.state.now[ANSWER] == letters[-1]
        options = observation[MAX_SHOWN : MAX_SHOWN + 4].tolist()
        assert len(set(options)) == 4
        assert letters[-1] in options
        rows = whole.begins(letters[:-1])
        costs = whole.costs[rows]
        simplest = np.lexsort((whole.programs[rows], costs))[0]
        assert whole.program(rows.start + int(simplest)) == program
        others = costs[whole.letters(shown, rows) != letters[-1]]
        assert not len(others) or np.log2(others.min()) >= complexity(program) + 3 - 1e-9


def test_what_people_see_at_once_may_not_be_the_simplest() -> None:
    """``docs/findings.md`` says so."""
    for series, program, following in (("abej", "w+(+x+)", "u"), ("abdgk", "w+c(+x)", "q")):
        environment, _ = item(series=series, feedback="end", depth=10)
        assert written(program, len(series)) == series
        assert ascii_lowercase[environment.state.now[ANSWER]] == following


def test_the_printed_series_have_the_printed_answers() -> None:
    for series, answer, depth in (("a,d,g,j", "m", 9), ("a,a,z,c,y,e,x", "g", 9)):
        environment, _ = item(series=series, feedback="end", depth=depth)
        assert ascii_lowercase[environment.state.now[ANSWER]] == answer
    assert written("++wxw+(w)c", 11) == "cabdbccecdd"


def test_a_series_with_two_simplest_continuations_is_refused_by_name() -> None:
    with pytest.raises(InvalidInputError) as caught:
        item(series="a,a,b,a,a,b", depth=7)  # for people there is only one
    assert str(caught.value) == (
        "The series a, a, b, a, a, b does not say how it goes on: with a (ww+w-, complexity 22.25) "
        "or with b (ww+wx, complexity 22.25), which differ by less than the margin of 3 bits. Give "
        "more letters of it, or a smaller margin."
    )


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"letters": 1}, "An alphabet cannot have 1 letters."),
        ({"letters": 27}, "An alphabet cannot have 27 letters."),
        ({"letters": 3}, "There cannot be 4 options among 3 letters."),
        ({"choices": 1}, "There cannot be 1 options"),
        ({"series": "a,b,ä"}, "has 'ä', which is no letter of this alphabet"),
        ({"series": "a,b,e", "letters": 4}, "has 'e', which is no letter"),
        ({"series": "abcdefghijkl"}, "has 12 letters"),
        ({"series": " , "}, "has 0 letters"),
        ({"depth": 12}, "up to 12 instructions are not searched"),
        ({"feedback": "never"}, "There is no feedback 'never'"),
        ({"margin": 0.0}, "The margin is 0.0 bits"),
        ({"stability": 0}, "The stability is 0"),
    ],
)
def test_bad_parameters_are_said_at_once(parameters: dict[str, object], said: str) -> None:
    with pytest.raises(InvalidInputError) as caught:
        CTest(**parameters)  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_a_series_that_no_program_writes_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="No program of up to 5 instructions"):
        item(series="q,w,e,r,t,y", depth=5)
    with pytest.raises(InvalidInputError, match="is not known: its simplest"):
        item(series="a,d,g,j", depth=4)


def test_a_complexity_that_does_not_exist_names_the_nearest() -> None:
    with pytest.raises(InvalidInputError, match=r"complexity 20\.6.*20\.585 and 22\.170"):
        CTest().draw(stream(0).generator(), 20.6)
    with pytest.raises(InvalidInputError, match=r"9\.585"):
        CTest().draw(stream(0).generator(), 2)
    with pytest.raises(InvalidInputError, match=r"20\.492"):
        CTest(series="a,d,g,j").draw(stream(0).generator(), 2)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"program": "w", "shown": 4, "letters": 25},
        {"program": "w", "shown": 12, "letters": 26},
        {"program": "w", "shown": True, "letters": 26},
        {"program": "w", "shown": 4, "letters": 26, "more": 1},
        {"program": "+", "shown": 4, "letters": 26},
    ],
)
def test_malformed_descriptions_are_refused(data: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError):
        CTest().build(Instance(data))


# Drawing


def test_draws_are_by_two_to_the_power_of_minus_complexity() -> None:
    environment_class = CTest()
    members = environment_class.members(13, 17, 100)
    assert members is not None
    weights = np.array([2 ** -environment_class.complexity(each) for each in members])
    rng = stream(0).generator()
    draws = [environment_class.draw_between(rng, 13, 17) for _ in range(4000)]
    counts = np.array([draws.count(each) for each in members])
    expected = 4000 * weights / weights.sum()
    assert counts.sum() == 4000
    assert ((counts - expected) ** 2 / expected).sum() < 40  # chi squared, 13 or fewer degrees


def test_members_are_all_of_a_band_once_and_in_order() -> None:
    environment_class = CTest()
    low, high = environment_class.complexity_range()
    every = environment_class.members(low, high, 10**6)
    assert every is not None
    assert len(every) == len(population(9, 26, 3.0, 3)) == len({each.text for each in every})
    complexities = [environment_class.complexity(each) for each in every[::50]]
    assert complexities == sorted(complexities)
    assert environment_class.members(low, high, len(every) - 1) is None
    assert environment_class.members(20.6, 22, 10) == []
    assert environment_class.draw_between(stream(0).generator(), 20.6, 22) is None


def test_a_class_of_one_series_draws_only_that() -> None:
    environment_class = CTest(series="a d g j")
    low, high = environment_class.complexity_range()
    assert low == high == pytest.approx(20.4919, abs=1e-4)
    assert environment_class.members(0, 30, 1) == [environment_class.draw(stream(0).generator())]
    assert environment_class.members(0, 10, 1) == []


# What is paid: that nothing is to be had without understanding


@pytest.mark.parametrize("choices", [2, 4, 0])
@pytest.mark.parametrize("feedback", ["each", "end"])
def test_a_random_agent_gets_exactly_nothing(feedback: str, choices: int) -> None:
    """The mean over all actions is 0 in every situation, so it is for every way of being random."""
    environment_class = CTest(feedback, choices=choices)  # type: ignore[arg-type]
    instance = environment_class.draw_between(stream(0).generator(), 20, 25)
    assert instance is not None
    for steps in range(4):
        rewards = []
        for action in range(choices or 26):
            environment = environment_class.build(instance)
            environment.start(stream(5).generator())
            for _ in range(steps):
                environment.step(0)
            rewards.append(environment.step(action).reward)
        assert sum(rewards) == pytest.approx(0, abs=1e-12)
        assert sorted(rewards)[-1] == (0 if feedback == "end" and steps else 1)


def test_the_right_option_is_in_every_place_equally_often() -> None:
    environment_class = CTest("end")
    rng = stream(0).generator()
    places = []
    for _ in range(2000):
        environment = environment_class.build(environment_class.draw(rng))
        _, seen = environment.start(rng)
        places.append(seen[MAX_SHOWN : MAX_SHOWN + 4].tolist().index(environment.state.now[ANSWER]))
    assert np.abs(np.bincount(places) - 500).max() < 4 * (2000 * 3 / 16) ** 0.5


@pytest.mark.parametrize("first", [0, 1, 2, 3])
def test_after_the_answer_nothing_is_to_be_had(first: int) -> None:
    """Stopping, resting and repeating are worth the same: everything is decided by then."""
    environment, before = item(series="a,d,g,j", feedback="end")
    assert before.observation[-1] == 0
    reward, observation = environment.step(first)
    right = environment.state.now[ANSWER] == observation[MAX_SHOWN + first]
    assert reward == (1 if right else pytest.approx(-1 / 3))
    for action in (0, 1, 2, 3, first):
        later, seen = environment.step(action)
        assert later == 0
        assert seen[-1] == 1
        assert (seen == observation).all()


def test_each_guess_is_followed_by_the_true_letter_for_ever() -> None:
    environment, (_, observation) = item(series="a,a,z,c,y,e,x", feedback="each")
    assert not observation[:MAX_SHOWN].any()
    series = [ascii_lowercase.index(each) for each in written("wxw++x-", 60)]
    for number in range(50):
        assert environment.state.now[ANSWER] == series[number]
        options = observation[MAX_SHOWN:].tolist()
        reward, observation = environment.step(number % 4)
        assert (reward == 1) == (options[number % 4] == series[number])
        shown = [each - 1 for each in observation[:MAX_SHOWN].tolist() if each]
        assert shown == series[max(0, number + 1 - MAX_SHOWN) : number + 1]
    assert environment.state.now[COUNT] == 50


BLIND = {
    "the first of the alphabet": lambda series, options: [min(options)],
    "in the middle": lambda series, options: sorted(options)[1:3],
    "the odd one out": lambda series, options: [
        each
        for each in options
        if each not in {(series[-1] + b - a) % 26 for a, b in pairwise(series)}
    ],
    "not seen": lambda series, options: [each for each in options if each not in series],
}


def share_right(rule: Callable[[list[int], list[int]], list[int]]) -> float:
    """How often a rule chooses right among four options."""
    environment_class = CTest("end")
    right = []
    for number in range(600):
        rng = stream(3, number).generator()
        instance = environment_class.draw_between(rng, 24 + number % 9, 25 + number % 9)
        assert instance is not None
        environment = environment_class.build(instance)
        _, seen = environment.start(rng)
        series = [each - 1 for each in seen[:MAX_SHOWN].tolist() if each]
        options = seen[MAX_SHOWN : MAX_SHOWN + 4].tolist()
        chosen = rule(series, options) or options
        right.append((environment.state.now[ANSWER] in chosen) / len(chosen))
    return float(np.mean(right))


@pytest.mark.parametrize("rule", BLIND)
def test_rules_about_options_gain_hardly_anything(rule: str) -> None:
    """Who knows how options are made, but does not ask how the series goes on, is right in about
    a quarter of all cases at most.
    """
    assert share_right(BLIND[rule]) < 0.32


def test_rules_about_small_steps_gain_something() -> None:
    """Short programs take small steps: the page says how often the nearest option is right."""

    def nearest(series: list[int], options: list[int]) -> list[int]:
        def distance(letter: int) -> int:
            return min((letter - series[-1]) % 26, (series[-1] - letter) % 26)

        least = min(map(distance, options))
        return [each for each in options if distance(each) == least]

    assert share_right(nearest) == pytest.approx(0.53, abs=0.05)


def test_a_guesser_that_stops_after_a_bad_mark_gains_nothing() -> None:
    from omnimeter.agents.opportunists import Quitter

    environment_class = CTest("end")
    agent, place, budget = Spec("quitter-v1"), Spec("c-test-v1"), Budget(interactions=10)
    drawn = (environment_class.draw(stream(0, number).generator()) for number in range(3000))
    exercises = [
        Exercise(agent, place, instance, budget, seed=0, number=number)
        for number, instance in enumerate(drawn)
    ]
    traces = run_single(environment_class, Quitter(), exercises)
    payoffs = [PlannedAverage()(each) for each in traces]
    assert abs(np.mean(payoffs)) < 4 * np.std(payoffs) / len(payoffs) ** 0.5


# What it says of itself


@pytest.mark.parametrize("feedback", ["each", "end"])
def test_it_keeps_what_it_claims(feedback: str) -> None:
    examined = CTest(feedback)  # type: ignore[arg-type]
    result = audit(examined, instances=6, interactions=504, confidence=0.9999)
    assert result.ok, result.to_json()
    assert result.fit == (feedback == "each")  # after the answer no action matters


def test_scenes_have_letters_and_options_but_not_the_program() -> None:
    environment_class = CTest("end", series="a,d,g,j")
    instance = environment_class.draw(stream(0).generator())
    environment = environment_class.build(instance)
    reward, observation = environment.start(stream(0).generator())
    scene = environment_class.scene(instance, observation, reward)
    assert scene["letters"] == list("adgj")
    assert "m" in scene["buttons"]
    assert len(scene["buttons"]) == 4
    assert not scene["answered"]
    assert "w+++" not in str(scene)
    reward, observation = environment.step(0)
    assert environment_class.scene(instance, observation, reward)["answered"]
    facts = environment_class.hidden(environment)["facts"]
    assert facts == {"program": "w+++", "letters so far": 4, "next letter": "m"}
    assert environment.briefing().remarks["task"] == "continue"


class TestEach(EnvironmentClassSuite):
    environment_class = CTest()


class TestEnd(EnvironmentClassSuite):
    environment_class = CTest("end", choices=0, letters=5)


def test_most_draws_are_simple() -> None:
    """``docs/classes/c-test.md`` tells these shares."""
    items = population(9, 26, 3.0, 3)
    masses = np.array([2**-each for each in items.complexities])
    assert len(items) == 12910
    assert round(masses[0] / masses.sum(), 2) == 0.69
    assert round(masses[np.array(items.complexities) > 20].sum() / masses.sum(), 2) == 0.03
