"""Inhabitants: when two programs behave alike, what names say, and what a bound leaves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, cycle, islice, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from markov_oracle import PlainBehaviour, alike, memories_of
from omnimeter.contract import InvalidInputError
from omnimeter.environments.universal.generator import UniversalLambda
from omnimeter.environments.universal.inhabitants import (
    MAX_MEMORIES,
    NAMES,
    behaviour_alphabet,
    behaviour_of,
    drawn_behaviour,
    inputs_of,
    named_inhabitant,
    pattern_program,
    read_behaviour,
)
from omnimeter.environments.universal.machine import MAX_LENGTH, Machine

STEPS = 12
PERCEPTIONS = ("nothing", "cell", "moves")


@st.composite
def short_behaviours(draw: st.DrawFn, perception: str) -> str:
    """Programs of two actions, with memory, of which many behave alike."""
    symbols = "".join(behaviour_alphabet(perception, 2)[:4])
    side = st.text(symbols, max_size=2)
    right = side | st.sampled_from(["∇", "s∇", "l∇", "Δ", "lΔ", "l^", "s^", "llΔ"])
    rule = st.builds("{} {} {}".format, side, st.sampled_from(["→", "→·", "→·"]), right)
    return "\n".join(draw(st.lists(rule, max_size=3)))


@given(st.data(), st.sampled_from(PERCEPTIONS), st.booleans())
def test_behaviours_have_one_key_exactly_if_they_are_alike(
    data: st.DataObject, perception: str, special: bool
) -> None:
    inputs = inputs_of(perception, 2, special=special)
    assert inputs is not None
    known: list[tuple[int, PlainBehaviour]] = []
    for text in data.draw(st.lists(short_behaviours(perception), min_size=2, max_size=5)):
        program = read_behaviour(text, perception, 2)
        key, steps = behaviour_of(program, inputs, 2, special=special, max_steps=STEPS)
        plain = PlainBehaviour(program, 2, special, STEPS)
        assert (key == 0) == (memories_of(plain, inputs) > MAX_MEMORIES)
        if key:
            assert steps == plain.most
            for other_key, other in known:
                assert (key == other_key) == alike(plain, other, inputs)
            known.append((key, plain))


def test_memories_that_behave_alike_are_one() -> None:
    def key(text: str, perception: str = "nothing") -> int:
        inputs = inputs_of(perception, 3, special=True)
        assert inputs is not None
        program = read_behaviour(text, perception, 3)
        return behaviour_of(program, inputs, 3, special=True, max_steps=50).key

    assert key(pattern_program([1, 2], 3)) == key(pattern_program([1, 2, 1, 2], 3))
    assert key(pattern_program([1, 2], 3)) != key(pattern_program([2, 1], 3))
    assert key(pattern_program([1, 1, 1], 3)) == key("→· l") == key("symbols X; X →· l; → X")
    assert key("→· sls") == key("→· l") != key("→· ll")
    assert key("→· lr") != key("→· rl")
    assert key("") == key("→· s") == key("→ l") == key("s → s; → s")
    assert key("π →· l; →· l", "cell") == key("→· l", "cell")


@pytest.mark.parametrize(("size", "followed"), [(125, True), (126, True), (127, False)])
def test_so_many_memories_are_followed(size: int, followed: bool) -> None:
    # One before the first action, one after each, and the agent itself once it was perceived.
    declaration, rules = pattern_program([1] * (size - 1) + [0], 2).split("\n", 1)
    program = read_behaviour(f"{declaration}\nπ^ →·\n{rules}", "cell", 2)
    inputs = inputs_of("cell", 2, special=True)
    assert inputs is not None
    assert memories_of(PlainBehaviour(program, 2, True, 50), inputs) == size + 2
    results = behaviour_of(program, inputs, 2, special=True, max_steps=50)
    assert bool(results.key) is followed
    assert (size + 2 <= MAX_MEMORIES) is followed


# Names


def acts(name: str, actions: int, observations: Sequence[Sequence[str]]) -> list[int]:
    """What an object with a name does, given what it perceives in one interaction after another."""
    perception, text = named_inhabitant(name, actions)
    program = read_behaviour(text, perception, actions)
    machine, memory, done = Machine(program), (), []
    for observed in observations:
        run = machine.run([program.symbols.index(symbol) for symbol in observed], memory)
        assert run.answered
        memory = run.memory
        done.append(([0] + [symbol for symbol in run.text if symbol < actions])[-1])
    return done


CAPITALS = "SLRU"
CONTENTS = [there for size in range(4) for there in combinations("π⊙ω", size)]


@pytest.mark.parametrize("actions", [2, 3, 4])
def test_inhabitants_do_what_their_names_say(actions: int) -> None:
    last = actions - 1
    assert acts("still", actions, [[]] * 5) == [0] * 5
    assert acts("nearly-static", actions, [[]] * 8) == [0, 0, 0, last, 0, 0, 0, last]
    elsewhere = 1 if actions > 2 else 0
    seen: list[list[str]] = [["π"], [], ["π", "⊙"], ["⊙"]]
    assert acts("reactive", actions, seen) == [last, elsewhere, last, elsewhere]
    assert acts("imitating", actions, list(CAPITALS[:actions])) == list(range(actions))


@pytest.mark.parametrize("actions", [2, 3, 4])
def test_inhabitants_chase_and_flee_from_the_agent(actions: int) -> None:
    others = CONTENTS if actions < 4 else [(), ("π",), ("π", "⊙", "ω")]
    for contents in product(others, repeat=actions):
        cells = list(zip(contents, CAPITALS[:actions], strict=True))
        observed = [symbol for there, capital in cells for symbol in (*there, capital)]
        leads_to_agent = ["π" in there for there, _ in cells]
        chases = leads_to_agent.index(True) if any(leads_to_agent) else actions - 1
        assert acts("chasing", actions, [observed]) == [chases]
        away = [a for a in range(1, actions) if leads_to_agent[0] and not leads_to_agent[a]]
        assert acts("fleeing", actions, [observed]) == [away[0] if away else 0]


def test_every_name_is_tried() -> None:
    tried = {"still", "nearly-static", "reactive", "imitating", "chasing", "fleeing"}
    assert set(NAMES) == tried


# Patterns and drawn forms


def done_by(text: str, perception: str, actions: int, perceived: Sequence[Sequence[int]]) -> Any:
    """All that Good or Evil does, given what it perceives in one interaction after another."""
    plain = PlainBehaviour(read_behaviour(text, perception, actions), actions, True, 200)
    memory: tuple[int, ...] = ()
    for observed in perceived:
        done, memory = plain(memory, observed)
        yield done


@given(st.integers(2, 4), st.data())
def test_patterns_are_repeated(actions: int, data: st.DataObject) -> None:
    pattern = data.draw(st.lists(st.integers(0, actions - 1), min_size=1, max_size=12))
    count = 3 * len(pattern)
    done = list(done_by(pattern_program(pattern, actions), "nothing", actions, [()] * count))
    wanted = islice(cycle(pattern), count)
    assert done == [(action,) if action else () for action in wanted]


def test_a_pattern_that_is_too_long_to_be_remembered_is_refused() -> None:
    longest = [1] * (MAX_LENGTH - 1)
    assert [*done_by(pattern_program(longest, 2), "nothing", 2, [()] * 3)] == [(1,)] * 3
    with pytest.raises(InvalidInputError, match="has 128 actions, but programs remember only 127"):
        pattern_program([*longest, 1], 2)


@pytest.mark.parametrize("perception", PERCEPTIONS)
@pytest.mark.parametrize("form", ["finite", "reactive", "pattern"])
def test_drawn_forms_have_so_many_actions(form: str, perception: str) -> None:
    rng = np.random.default_rng(0)
    inputs = inputs_of(perception, 3, special=True)
    assert inputs is not None
    for size in (2, 5, 9):
        text = drawn_behaviour(rng, form, perception, 3, size)
        done = list(done_by(text, perception, 3, inputs * size))
        if form == "pattern":
            assert all(len(each) < 2 for each in done)
            assert done == done[:size] * len(inputs)
        elif form == "finite" or perception == "nothing":
            assert {len(each) for each in done} == {size}
        else:  # where the agent is not seen, or stays; and where it is
            assert len(done[0] + done[1]) == size


# Bounds


def test_a_bound_leaves_memory_as_it_was() -> None:
    # Left, then right, then for ever in vain.
    text = "symbols A B\nBAA → BAA\nBl → B; Br → B\nBAA → BAA\nBA →· rAAΔ\nB →· lAΔ\n→ B∇"
    program = read_behaviour(text, "nothing", 3)
    plain = PlainBehaviour(program, 3, True, 256)
    assert [*done_by(text, "nothing", 3, [()] * 4)] == [(1,), (2,), (), ()]
    results = behaviour_of(program, [()], 3, special=True, max_steps=256)
    assert results.steps == 256
    assert memories_of(plain, [()]) == 3
    environment_class = UniversalLambda(
        actions=3,
        space_program="→· lr+:l-r+:l-r",
        behaviour=f"reads nothing\n{text}",
        table_bits=10,
    )
    instance = environment_class.draw(np.random.default_rng(0))
    environment = environment_class.build(instance)
    environment.start(np.random.default_rng(0))
    sizes = []
    for _ in range(5):
        environment.step(0)
        sizes.append(environment.state.sizes.tolist())
        kept = environment.state.memories.reshape(2, -1)[:, : sizes[-1][0]].tolist()
    assert sizes == [[2, 2]] + [[3, 3]] * 4
    assert kept == [[program.symbols.index(symbol) for symbol in "rAA"]] * 2
