"""What inhabitants perceive, what they do about it, and when two of them behave alike (3.6.6).

In each interaction an inhabitant's program reads what the inhabitant perceives and rewrites it.
Of the actions in the text that remains an object does the last one, Good and Evil do all in turn.
One whose program meets a bound stays where it is, and its memory is what it was before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from omnimeter.contract import InvalidInputError
from omnimeter.contract.agent import IntArray
from omnimeter.environments.universal.language import Program, expand, parse
from omnimeter.environments.universal.machine import (
    AT,
    KEPT,
    LENGTH,
    MAX_LENGTH,
    OUTCOME,
    STEP_BOUND,
    STEPS,
    Rules,
    compiled_rules,
    rewrite,
)
from omnimeter.environments.universal.spaces import LETTERS
from omnimeter.interaction.compilation import load
from omnimeter.kernels import kernel

Perception = Literal["nothing", "cell", "moves"]
"""What is the same in all spaces, so that drawn programs can read it."""

NOTHING, CELL, MOVES, ADJACENT, STRING = range(5)
PERCEPTIONS: tuple[str, ...] = (*get_args(Perception), "adjacent", "string")
"""What a program reads: nothing; who else is in its cell; the last action of the agent; who is in
the cells that its actions lead to; all cells."""

CAPITALS = tuple(letter.upper() for letter in LETTERS)


def behaviour_alphabet(perception: str, actions: int, objects: int = 0) -> tuple[str, ...]:
    """The symbols of an inhabitant's program: its actions, then what it can perceive."""
    capitals = CAPITALS[:actions]
    perceived = {
        "nothing": (),
        "cell": ("π", "⊙"),
        "moves": capitals,
        "adjacent": (*capitals, "π", "⊙", "ω"),
        "string": (*capitals, "π", "⊙", *(f"ω{number + 1}" for number in range(objects)), ":"),
    }
    return (*LETTERS[:actions], *perceived[perception])


def inputs_of(perception: str, actions: int, *, special: bool) -> list[tuple[int, ...]] | None:
    """All that can be perceived, whatever the space; ``None`` where that depends on the space.

    Good and Evil are never in one cell, so in its own cell a special object perceives only agents.
    """
    agent, other = actions, actions + 1
    if perception == "nothing":
        return [()]
    if perception == "cell":
        return [(), (agent,)] if special else [(), (agent,), (other,), (agent, other)]
    if perception == "moves":
        return [(actions + action,) for action in range(actions)]
    return None


# Inhabitants with names


def named_inhabitant(name: str, actions: int) -> tuple[str, str]:
    """What an inhabitant with a name perceives, and its program, for so many actions."""
    moves, capitals = LETTERS[1:actions], CAPITALS[:actions]
    first, last = moves[0], moves[-1]
    chase = [f"π[⊙][ω]{capital} →· {letter}" for capital, letter in _pairs(actions)]
    flee = [f"F{capital} →· {letter}" for capital, letter in _pairs(actions)[1:]]
    programs = {
        "still": ("nothing", []),
        "nearly-static": (
            "nothing",
            ["symbols X Y", "YX → XΔ", "XXXX → YΔ", f"Y →· {last}", "X →· X", "→ ∇XΔ"],
        ),
        "reactive": ("cell", [f"π →· {last}", f"→· {first if len(moves) > 1 else 's'}"]),
        "imitating": ("moves", [f"{capital} →· {letter}" for capital, letter in _pairs(actions)]),
        "chasing": ("adjacent", [*chase, f"→· {last}"]),
        "fleeing": (
            "adjacent",
            [
                "symbols F",
                "π[⊙][ω]S → FS",
                f"π[⊙][ω]({'|'.join(capitals[1:])}) →"
                if len(moves) > 1
                else f"π[⊙][ω]{capitals[1]} →",
                "F(S|⊙|ω) → F",
                *flee,
            ],
        ),
    }
    perception, lines = programs[name]
    return perception, "\n".join(lines)


def _pairs(actions: int) -> list[tuple[str, str]]:
    return list(zip(CAPITALS[:actions], LETTERS[:actions], strict=True))


NAMES = ("still", "nearly-static", "reactive", "imitating", "chasing", "fleeing")


def pattern_program(pattern: Sequence[int], actions: int, perception: str = "nothing") -> str:
    """A program that repeats a pattern of actions, whatever it perceives.

    Memory holds what is left of the pattern after the action that was done, which is removed first.

    Raises:
        InvalidInputError: The pattern is longer than programs can remember.
    """
    if len(pattern) >= MAX_LENGTH:
        raise InvalidInputError(
            f"The pattern has {len(pattern)} actions, but programs remember only {MAX_LENGTH - 1}.",
            "Give a shorter pattern.",
        )
    done = [f"H{letter} → H" for letter in LETTERS[:actions]]
    names = [f"X_{number}" for number in range(actions)]
    act = [f"H{name} →· {letter}Δ" for name, letter in zip(names, LETTERS[:actions], strict=True)]
    again = f"H → H{' '.join(names[action] for action in pattern)}"
    unseen = {"cell": ["π →"], "moves": [f"({'|'.join(CAPITALS[:actions])}) →"]}
    rules = [*unseen.get(perception, ()), *done, *act, again, "→ H∇"]
    return "\n".join([f"symbols H {' '.join(names)}", *rules])


MAX_WORD = 100
"""The largest number of actions in a drawn program of a known form."""

FORMS = ("finite", "reactive", "pattern")


def drawn_behaviour(
    rng: np.random.Generator, form: str, perception: str, actions: int, size: int
) -> str:
    """A program of a form for Good and Evil, with so many random actions in it.

    ``finite`` does all of them in every interaction; ``reactive`` some where the agent is perceived
    and the others elsewhere (with the perception ``moves``, after the agent's first and after its
    other actions); ``pattern`` does one after the other, which takes memory.
    """
    if form == "pattern":
        return pattern_program(rng.integers(actions, size=size).tolist(), actions, perception)
    # to stay between other actions would change nothing
    letters = [LETTERS[action] for action in rng.integers(1, actions, size=size).tolist()]
    if form == "finite" or perception == "nothing":
        return f"→· {' '.join(letters)}"
    cut = int(rng.integers(1, max(2, size)))
    seen = "π" if perception == "cell" else CAPITALS[1]
    return f"{seen} →· {' '.join(letters[:cut])}\n→· {' '.join(letters[cut:])}"


# Behaviour

MAX_MEMORIES = 128
"""How many different contents of memory are followed until a behaviour counts as unbounded."""

PRIME, FACTOR, OTHER_FACTOR = 2_147_483_647, 1_000_003, 69_069


@kernel
def mixed(state: Any, lane: Any, value: Any) -> None:
    """Mix a number, 0 to 2^31, into two lanes of 31 bits."""
    state[lane] = (state[lane] * FACTOR + value + 1) % PRIME
    state[lane + 1] = (state[lane + 1] * OTHER_FACTOR + 3 * value + 7) % PRIME


@kernel
def key_of_lanes(state: Any, lane: Any) -> Any:
    """Both lanes in one number above 0."""
    return state[lane] * (PRIME + 1) + state[lane + 1] + 1


@kernel
def last_action(text: Any, length: Any, actions: Any) -> Any:
    """The last action in a text; the one that stays where there is none."""
    for number in range(length):
        if text[length - 1 - number] < actions:
            return text[length - 1 - number]
    return 0


class Explorer(NamedTuple):
    """Room to explore a behaviour: memories, outputs and transitions for each of them."""

    text: IntArray
    memory: IntArray
    counts: IntArray
    contents: IntArray  # of each memory that was found, MAX_LENGTH symbols each
    sizes: IntArray
    outputs: IntArray  # for each memory and input, what is done: a number
    following: IntArray  # and the memory after it
    classes: IntArray  # of each memory: those in a class behave alike
    renamed: IntArray
    lanes: IntArray


def explorer(inputs: int, max_length: int = MAX_LENGTH) -> Explorer:
    """Room for so many inputs."""

    def zeros(size: int) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    return Explorer(
        text=zeros(max_length),
        memory=zeros(max_length),
        counts=zeros(AT + 1),
        contents=zeros(MAX_MEMORIES * max_length),
        sizes=zeros(MAX_MEMORIES),
        outputs=zeros(MAX_MEMORIES * inputs),
        following=zeros(MAX_MEMORIES * inputs),
        classes=zeros(MAX_MEMORIES),
        renamed=zeros(MAX_MEMORIES),
        lanes=zeros(4),
    )


@kernel
def explore(  # noqa: PLR0912 - one loop, whose cases stand side by side
    room: Any, fields: Any, symbols: Any, last: Any, inputs: Any, at: Any, actions: Any,
    special: Any, max_steps: Any,
) -> Any:  # fmt: skip
    """A number for the behaviour of a program, the same for all that behave alike.

    Every memory that can come about is followed for every input. Memories that behave alike are
    one state then, and the states are numbered in the order in which they are reached, so that
    two programs have the same number exactly if they do the same whatever they perceive (but for
    two numbers of 62 bits being equal at random). 0 where there are too many memories. The largest
    number of steps is left in ``counts``.

    Args:
        room: An ``Explorer``.
        fields: The rules of the program.
        symbols: Their symbols.
        last: The number of its rules.
        inputs: What can be perceived, one after the other.
        at: Where each of these begins, and the last ends.
        actions: The number of actions.
        special: Whether all actions count, not the last one alone.
        max_steps: The bound of steps.
    """
    width, count, size = len(at) - 1, 1, len(room.text)
    room.sizes[0] = 0
    most = 0
    here = 0
    while here < count:
        for perceived in range(width):
            for number in range(room.sizes[here]):
                room.memory[number] = room.contents[here * size + number]
            room.counts[KEPT] = room.sizes[here]
            room.counts[LENGTH] = at[perceived + 1] - at[perceived]
            for number in range(room.counts[LENGTH]):
                room.text[number] = inputs[at[perceived] + number]
            rewrite(fields, symbols, 0, last, room.text, room.memory, room.counts, max_steps, True)
            most = max(most, room.counts[STEPS])
            done, then = 0, here
            if room.counts[OUTCOME] < STEP_BOUND:
                if special:
                    room.lanes[0] = room.lanes[1] = 0
                    for number in range(room.counts[LENGTH]):
                        if 0 < room.text[number] < actions:  # staying in between changes nothing
                            mixed(room.lanes, 0, room.text[number])
                            done = key_of_lanes(room.lanes, 0)
                else:
                    done = last_action(room.text, room.counts[LENGTH], actions)
                then = 0
                while then < count:
                    same = room.sizes[then] == room.counts[KEPT]
                    number = 0
                    while same and number < room.counts[KEPT]:
                        same = room.contents[then * size + number] == room.memory[number]
                        number += 1
                    if same:
                        break
                    then += 1
                if then == count:
                    if count == MAX_MEMORIES:
                        room.counts[STEPS] = most
                        return 0
                    for number in range(room.counts[KEPT]):
                        room.contents[then * size + number] = room.memory[number]
                    room.sizes[then] = room.counts[KEPT]
                    count += 1
            room.outputs[here * width + perceived] = done
            room.following[here * width + perceived] = then
        here += 1
    room.counts[STEPS] = most
    return number_of_behaviour(room, width, count)


@kernel
def number_of_behaviour(room: Any, width: Any, count: Any) -> Any:
    """The number of the smallest machine that does the same (Moore's algorithm)."""
    for here in range(count):
        room.classes[here] = 0
    classes, grown = 1, True
    while grown:
        # Two memories stay in one class if they do the same and lead to the same classes.
        results = 0
        for here in range(count):
            place = -1
            for other in range(here):
                same = room.classes[other] == room.classes[here]
                for perceived in range(width):
                    mine, theirs = here * width + perceived, other * width + perceived
                    same &= room.outputs[mine] == room.outputs[theirs]
                    same &= (
                        room.classes[room.following[mine]] == room.classes[room.following[theirs]]
                    )
                if same:
                    place = room.renamed[other]
                    break
            if place < 0:
                place = results
                results += 1
            room.renamed[here] = place
        for here in range(count):
            room.classes[here] = room.renamed[here]
        grown = results > classes
        classes = results
    # Number the classes in the order in which they are reached; ``sizes`` holds one memory of each.
    for number in range(classes):
        room.renamed[number] = -1
    room.renamed[room.classes[0]] = 0
    room.sizes[0] = 0
    named, now = 1, 0
    room.lanes[2] = room.lanes[3] = 0
    while now < named:
        here = room.sizes[now]
        for perceived in range(width):
            then = room.following[here * width + perceived]
            if room.renamed[room.classes[then]] < 0:
                room.renamed[room.classes[then]] = named
                room.sizes[named] = then
                named += 1
            done = room.outputs[here * width + perceived]
            mixed(room.lanes, 2, done // (PRIME + 1))
            mixed(room.lanes, 2, done % (PRIME + 1))
            mixed(room.lanes, 2, room.renamed[room.classes[then]])
        now += 1
    return key_of_lanes(room.lanes, 2)


@dataclass(frozen=True)
class _Kernels:
    state: type
    explore: Callable[..., Any]


_EXPLORE = """
from omnimeter.caching import compiled


def run(room, fields, symbols, last, inputs, at, actions, special, max_steps):
    return behaviour_explore(
        room, fields, symbols, last, inputs, at, actions, special, max_steps
    )


run = compiled(run, error_model="numpy")
"""


@cache
def _entry() -> Callable[..., int]:
    entry: Callable[..., int] = load(
        "behaviours", _EXPLORE, behaviour=_Kernels(Explorer, explore)
    ).run
    return entry


class Behaviour(NamedTuple):
    """How a program behaves.

    Attributes:
        key: The same for all programs that behave alike; 0 where too many memories come about.
        steps: The largest number of rewriting steps in an interaction.
    """

    key: int
    steps: int


def behaviour_of(
    program: Program,
    inputs: Sequence[Sequence[int]],
    actions: int,
    *,
    special: bool,
    max_steps: int,
) -> Behaviour:
    """The behaviour of a program that can perceive some inputs and no others."""
    room = explorer(len(inputs))
    rules: Rules = compiled_rules(expand(program))
    count = len(expand(program))
    text, at = joined(inputs)
    key = _entry()(room, *rules, count, text, at, actions, special, max_steps)
    return Behaviour(int(key), int(room.counts[STEPS]))


def joined(inputs: Sequence[Sequence[int]]) -> tuple[IntArray, IntArray]:
    """Texts one after the other, and where each begins and the last ends."""
    at = np.cumsum([0, *map(len, inputs)]).astype(np.int64)
    symbols = [symbol for each in inputs for symbol in each]
    return np.array(symbols or [0], dtype=np.int64), at


@lru_cache(maxsize=4096)
def read_behaviour(text: str, perception: str, actions: int, objects: int = 0) -> Program:
    """The program of an inhabitant in its notation.

    Raises:
        InvalidInputError: It is malformed, or has a symbol that it cannot perceive.
    """
    if perception not in PERCEPTIONS:
        raise InvalidInputError(
            f"There is no perception {perception!r}.", f"Give one of {', '.join(PERCEPTIONS)}."
        )
    return parse(text, behaviour_alphabet(perception, actions, objects))
