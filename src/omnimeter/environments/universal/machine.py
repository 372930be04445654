"""The machine that carries out Markov algorithms: compiled rules, one rewriting run, its trace.

A step applies one rule: the first whose left side occurs, where it occurs last (Lambda thesis,
3.6.6) or first (2.1.6). Bounds on steps and on the length of the text make every run end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from omnimeter.contract import InvalidInputError
from omnimeter.contract.agent import IntArray
from omnimeter.environments.universal.language import (
    RECALL,
    STORE,
    PlainRule,
    Program,
    Wildcard,
    expand,
    format_rule,
    parse,
    spelled,
    walk,
)
from omnimeter.interaction.compilation import load
from omnimeter.kernels import kernel

MAX_STEPS, MAX_LENGTH = 256, 128
"""The bounds of an inhabitant: rules applied in one interaction, and symbols of text or memory."""

LEFT, LEFT_LENGTH, RIGHT, RIGHT_LENGTH, FINAL, SAVED, RECALLS, STORES = range(8)
FIELDS = 8
"""What is kept of a rule: where its sides lie among all symbols, how long they are, whether it
ends the run, which symbol goes into memory (-1 for none), and how often memory is recalled and
the text stored."""

ENDED, NO_RULE, STEP_BOUND, LENGTH_BOUND = range(4)
OUTCOMES = ("a terminating rule", "no rule applies", "the bound of steps", "the bound of length")
"""How a run ends: only the first two are answers."""

LENGTH, KEPT, STEPS, OUTCOME, APPLIED, AT = range(6)
"""What ``rewrite`` counts: the lengths of text and memory, the steps, how the run ended, and which
rule was applied last, and where."""


class Rules(NamedTuple):
    """Rules of one or several programs, as arrays."""

    fields: IntArray
    symbols: IntArray


def compiled_rules(rules: Iterable[PlainRule]) -> Rules:
    """The arrays of some rules."""
    fields: list[int] = []
    symbols: list[int] = []
    for rule in rules:
        right = len(symbols) + len(rule.left)
        fields += (len(symbols), len(rule.left), right, len(rule.right))
        fields += (int(rule.final), rule.saved, rule.right.count(RECALL), rule.right.count(STORE))
        symbols += (*rule.left, *rule.right)
    # never empty, so that kernels may look at the first element
    return Rules(np.array(fields or [0], np.int64), np.array(symbols or [0], np.int64))


@kernel
def place_of(
    symbols: Any, left: Any, size: Any, text: Any, lowest: Any, highest: Any, rightmost: Any
) -> Any:
    """Where the left side of a rule occurs, from one place to another in the text, or -1."""
    first = symbols[left]
    at, move = (highest, -1) if rightmost else (lowest, 1)
    for _ in range(highest - lowest + 1):
        if text[at] == first:
            same = 1
            while same < size and text[at + same] == symbols[left + same]:
                same += 1
            if same == size:
                return at
        at += move
    return -1


@kernel
def move(text: Any, first: Any, length: Any, by: Any) -> None:
    """Move the text from a place to its end by so many places."""
    if by > 0:
        for number in range(length - first):
            text[length + by - 1 - number] = text[length - 1 - number]
    elif by < 0:
        for number in range(first, length):
            text[number + by] = text[number]


@kernel
def write(
    text: Any, place: Any, symbols: Any, right: Any, size: Any, memory: Any, kept: Any
) -> Any:
    """Write a right side with what is in memory; the place after it."""
    for number in range(right, right + size):
        symbol = symbols[number]
        if symbol >= 0:
            text[place] = symbol
            place += 1
        elif symbol == RECALL:
            for known in range(kept):
                text[place] = memory[known]
                place += 1
    return place


@kernel
def rewrite(  # noqa: PLR0912 - one loop, whose cases stand side by side
    fields: Any,
    symbols: Any,
    first: Any,
    last: Any,
    text: Any,
    memory: Any,
    counts: Any,
    max_steps: Any,
    rightmost: Any,
) -> None:
    """Apply the rules ``first`` to ``last - 1`` until one ends the run, or none applies.

    A rule that is applied first puts its marked symbol into memory; then its right side takes the
    place of the left one, with the memory in place of every recall; then, if it says so, the whole
    text goes into memory. A step that would exceed the room for text or memory is not taken.

    Of the rules before the one that was applied last none occurred, so they are looked for only
    where the text has changed since; the rule itself is, on the side that was searched before it.

    Args:
        fields: The rules.
        symbols: Their symbols.
        first: The first rule of the program.
        last: The one after its last rule.
        text: Input and output; its size bounds the length.
        memory: What is in memory, before and after.
        counts: The lengths of text and memory before and after; then how the run went.
        max_steps: The bound of steps.
        rightmost: Whether the last occurrence is replaced, not the first.
    """
    length, kept, steps = counts[LENGTH], counts[KEPT], 0
    outcome, applied, changed, place = NO_RULE, -1, -1, 0
    going = True
    while going:
        rule, at, size = first * FIELDS, -1, 0
        while rule < last * FIELDS:
            size = fields[rule + LEFT_LENGTH]
            if size == 0:
                at = length if rightmost else 0
                break
            lowest, highest = 0, length - size
            if rule < applied or (rule == applied and not rightmost):
                lowest = max(lowest, changed - size + 1)
            if rule < applied or (rule == applied and rightmost):
                highest = min(highest, place - 1)
            left = fields[rule + LEFT]
            at = place_of(symbols, left, size, text, lowest, highest, rightmost)
            if at >= 0:
                break
            rule += FIELDS
        if at < 0:
            break
        if steps == max_steps:
            outcome = STEP_BOUND
            break
        saved, recalls, stores = fields[rule + SAVED], fields[rule + RECALLS], fields[rule + STORES]
        right, written = fields[rule + RIGHT], fields[rule + RIGHT_LENGTH]
        known = 1 if saved >= 0 else kept  # in memory, when the right side is written
        growth = written - stores + recalls * (known - 1) - size
        if length + growth > len(text):
            outcome = LENGTH_BOUND
            break
        if saved >= 0:
            memory[0], kept = saved, 1
        move(text, at + size, length, growth)
        length += growth
        applied, changed = rule, at
        place = write(text, at, symbols, right, written, memory, kept)
        if stores:
            for number in range(length):
                memory[number] = text[number]
            kept = length
        steps += 1
        if fields[rule + FINAL]:
            outcome, going = ENDED, False
    counts[LENGTH], counts[KEPT], counts[STEPS], counts[OUTCOME] = length, kept, steps, outcome
    counts[APPLIED] = applied // FIELDS - first if applied >= 0 else -1
    counts[AT] = changed


# From Python


@dataclass(frozen=True)
class _Kernels:
    state: type
    rewrite: Callable[..., Any]


_RUN = """
import numba
from omnimeter.caching import compiled

_array = numba.types.Array(numba.types.int64, 1, "C")
_int = numba.types.int64


def run(fields, symbols, first, last, text, memory, counts, max_steps, rightmost):
    machine_rewrite(fields, symbols, first, last, text, memory, counts, max_steps, rightmost)


run = compiled(
    run, _array, _array, _int, _int, _array, _array, _array, _int, numba.types.boolean,
    error_model="numpy",
)
"""


@cache
def _entry() -> Callable[..., None]:
    entry: Callable[..., None] = load("machine", _RUN, machine=_Kernels(Rules, rewrite)).run
    return entry


class Run(NamedTuple):
    """What came of a run.

    Attributes:
        text: The symbols at the end.
        memory: What is in memory.
        steps: How many rules were applied.
        outcome: How it ended, one of ``OUTCOMES``.
    """

    text: tuple[int, ...]
    memory: tuple[int, ...]
    steps: int
    outcome: str

    @property
    def answered(self) -> bool:
        """Whether it ended by itself, not by a bound."""
        return self.outcome in OUTCOMES[:2]


class Machine:
    """Carries out one program.

    Args:
        program: The program.
        max_steps: How many rules are applied at most.
        max_length: How many symbols the text and the memory have at most.
        rightmost: Whether a rule replaces the last occurrence of its left side, as in section
            3.6.6 of the Lambda thesis, or the first one (2.1.6).

    Raises:
        InvalidInputError: A bound is below 1.
    """

    def __init__(
        self,
        program: Program,
        max_steps: int = MAX_STEPS,
        max_length: int = MAX_LENGTH,
        *,
        rightmost: bool = True,
    ) -> None:
        check_bounds(max_steps, max_length)
        self.program, self.max_steps, self.rightmost = program, max_steps, rightmost
        self.plain = expand(program)
        self.rules = compiled_rules(self.plain)
        self._text = np.zeros(max_length, dtype=np.int64)
        self._memory = np.zeros(max_length, dtype=np.int64)
        self._counts = np.zeros(AT + 1, dtype=np.int64)

    def run(self, text: Sequence[int] = (), memory: Sequence[int] = ()) -> Run:
        """Rewrite a text until a rule ends the run, none applies, or a bound is met."""
        return self._run(text, memory, self.max_steps)

    def trace(
        self, text: Sequence[int] = (), memory: Sequence[int] = ()
    ) -> Iterator[tuple[int, int, Run]]:
        """Each step: the number of the plain rule that is applied, where, and what comes of it."""
        here = Run(tuple(text), tuple(memory), 0, OUTCOMES[STEP_BOUND])
        for steps in range(1, self.max_steps + 1):
            here = self._run(here.text, here.memory, 1)
            if here.steps == 0:
                return
            yield int(self._counts[APPLIED]), int(self._counts[AT]), here._replace(steps=steps)
            if here.outcome == OUTCOMES[ENDED]:
                return

    def _run(self, text: Sequence[int], memory: Sequence[int], max_steps: int) -> Run:
        room, counts = len(self._text), self._counts
        if max(len(text), len(memory)) > room:
            raise InvalidInputError(
                f"The machine has room for {room} symbols, but {len(text)} were given with "
                f"{len(memory)} in memory.",
                "Give a longer bound of length.",
            )
        self._text[: len(text)] = text
        self._memory[: len(memory)] = memory
        counts[LENGTH], counts[KEPT] = len(text), len(memory)
        _entry()(
            *self.rules, 0, len(self.plain), self._text, self._memory, counts, max_steps,
            self.rightmost,
        )  # fmt: skip
        return Run(
            tuple(self._text[: counts[LENGTH]].tolist()),
            tuple(self._memory[: counts[KEPT]].tolist()),
            int(counts[STEPS]),
            OUTCOMES[counts[OUTCOME]],
        )


def check_bounds(max_steps: int, max_length: int = MAX_LENGTH) -> None:
    """Raise InvalidInputError for bounds within which no program could do anything."""
    for name, bound in (("steps", max_steps), ("length", max_length)):
        if bound < 1:
            raise InvalidInputError(
                f"The bound of {name} of a program is {bound}: it could not do anything.",
                f"Give a bound of at least 1, such as {MAX_STEPS}.",
            )


def used_rules(
    program: Program,
    inputs: Iterable[tuple[Sequence[int], Sequence[int]]],
    max_steps: int = MAX_STEPS,
) -> Program:
    """The program without the rules that no pair of a text and a memory ever makes it apply."""
    owner = [
        number
        for number, rule in enumerate(program.rules)
        for _ in expand(replace(program, rules=(rule,)))
    ]
    machine = Machine(program, max_steps)
    used = {owner[rule] for text, memory in inputs for rule, _, _ in machine.trace(text, memory)}
    rules = [rule for number, rule in enumerate(program.rules) if number in used]
    symbols = {
        symbol
        for rule in rules
        for item in walk(rule.left + rule.right)
        for symbol in (item.excluded if isinstance(item, Wildcard) else (item,))
    }
    kept = [
        spelled(name)
        for number, name in enumerate(program.auxiliaries, len(program.alphabet))
        if number in symbols
    ]
    lines = [f"symbols {' '.join(kept)}"] if kept else []
    lines += [format_rule(rule, program.symbols) for rule in rules]
    return parse("\n".join(lines), program.alphabet)
