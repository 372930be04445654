"""All programs up to a length, carried out once: the shortest one of each space and behaviour.

A search goes through every program of the code, from short to long ones, and keeps the first that
gives a space or behaves in a way. It is done once for each number of actions, kept in the user's
cache after every length, and goes on from there when it was interrupted.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from time import monotonic
from typing import Any, NamedTuple, Self

import numpy as np

from omnimeter.caching import announce, keep, kept
from omnimeter.complexity import elias_gamma_length
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.environments.universal import coding, inhabitants, language, machine, spaces
from omnimeter.environments.universal.coding import encode, rules_of_length
from omnimeter.environments.universal.inhabitants import (
    behaviour_alphabet,
    explore,
    explorer,
    inputs_of,
    joined,
    key_of_lanes,
    mixed,
)
from omnimeter.environments.universal.language import PlainRule, Program, Rule, expand
from omnimeter.environments.universal.machine import (
    AT,
    FIELDS,
    KEPT,
    LENGTH,
    STEPS,
    compiled_rules,
    rewrite,
)
from omnimeter.environments.universal.spaces import (
    SPACE_LENGTH,
    SPACE_STEPS,
    is_space,
    read_cells,
    space_alphabet,
)
from omnimeter.interaction.compilation import load
from omnimeter.kernels import kernel

MAX_RULES = 8
"""The largest number of rules in a program of a table."""

MAX_TABLE_CELLS = 16
"""The largest spaces in a table."""

SHORTEST_RULE = 3
"""The bits of a rule without symbols."""

MAX_PLAIN = 512
"""How many plain rules the rules of such a program can stand for."""

MAX_TABLE_BITS = 28


class Progress(NamedTuple):
    """Where the search is: the rules chosen so far and the bits that were left before each."""

    chosen: IntArray
    left: IntArray
    depth: IntArray


@kernel
def next_program(progress: Any, bits: Any, shorter: Any) -> Any:
    """Go on to the next sequence of rules with exactly so many bits; whether there is one.

    Every rule takes its bits and one that says that it comes.

    Args:
        progress: ``chosen[:depth + 1]`` are the rules; a depth of -1 is the end.
        bits: Of each rule; they are in ascending order.
        shorter: How many rules have fewer than so many bits.
    """
    depth = progress.depth[0]
    while depth >= 0:
        progress.chosen[depth] += 1
        rule = progress.chosen[depth]
        room = progress.left[depth] - 1
        if room < SHORTEST_RULE or rule >= shorter[room + 1]:
            depth -= 1
            continue
        left = room - bits[rule]
        if left == 0:
            progress.depth[0] = depth
            return True
        if left > SHORTEST_RULE and depth + 1 < len(progress.chosen):
            depth += 1
            progress.left[depth] = left
            progress.chosen[depth] = -1
    progress.depth[0] = -1
    return False


@kernel
def gather(progress: Any, at: Any, bank: Any, fields: Any) -> Any:
    """Copy the plain rules of the chosen ones into ``fields``; how many there are, or -1."""
    count = 0
    for number in range(progress.depth[0] + 1):
        rule = progress.chosen[number]
        size = at[rule + 1] - at[rule]
        if (count + size) * FIELDS > len(fields):
            return -1
        for place in range(size * FIELDS):
            fields[count * FIELDS + place] = bank[at[rule] * FIELDS + place]
        count += size
    return count


@kernel
def is_new(known: Any, key: Any) -> Any:
    """Put a key into a set, a table of which half is empty; whether it was not there."""
    place = key % len(known)
    while known[place] != 0:
        if known[place] == key:
            return False
        place = place + 1 if place + 1 < len(known) else 0
    known[place] = key
    return True


@kernel
def search_behaviours(  # noqa: D417 - the others are those of ``explore``
    progress: Any, bits: Any, shorter: Any, at: Any, bank: Any, symbols: Any, fields: Any,
    room: Any, inputs: Any, inputs_at: Any, actions: Any, special: Any, max_steps: Any,
    known: Any, results: Any, limit: Any,
) -> Any:  # fmt: skip
    """Go through programs until there is no further one, or ``limit`` have been tried.

    Args:
        found: For each new behaviour its key, steps, a 0, the number of rules, and the rules; the
            caller gives room for as many as are tried.
        limit: How many programs to try.

    Returns:
        How many behaviours were new, and how many programs were tried.
    """
    count = tried = 0
    width = 4 + len(progress.chosen)
    while tried < limit and next_program(progress, bits, shorter):
        tried += 1
        last = gather(progress, at, bank, fields)
        if last < 0:
            continue
        key = explore(room, fields, symbols, last, inputs, inputs_at, actions, special, max_steps)
        if key and is_new(known, key):
            write_found(results, count * width, key, room.counts[STEPS], 0, progress)
            count += 1
    return count, tried


@kernel
def search_spaces(
    progress: Any, bits: Any, shorter: Any, at: Any, bank: Any, symbols: Any, fields: Any,
    text: Any, memory: Any, counts: Any, paths: Any, reached: Any, lanes: Any, actions: Any,
    max_cells: Any, known: Any, results: Any, limit: Any,
) -> Any:  # fmt: skip
    """The same for spaces of 2 to ``max_cells`` cells; what is 0 above is the number of cells."""
    count = tried = 0
    width = 4 + len(progress.chosen)
    while tried < limit and next_program(progress, bits, shorter):
        tried += 1
        last = gather(progress, at, bank, fields)
        if last < 0:
            continue
        counts[LENGTH] = counts[KEPT] = 0
        rewrite(fields, symbols, 0, last, text, memory, counts, SPACE_STEPS, True)
        if counts[LENGTH] < 3:  # too short for two cells
            continue
        cells, written = 2, 2
        while cells <= written and cells <= max_cells:
            written = read_cells(text, counts[LENGTH], actions, cells, paths)
            if written >= cells and is_space(paths, actions, cells, reached):
                lanes[0] = lanes[1] = cells
                for place in range(cells * actions):
                    mixed(lanes, 0, paths[place])
                key = key_of_lanes(lanes, 0)
                if is_new(known, key):
                    write_found(results, count * width, key, counts[STEPS], cells, progress)
                    count += 1
            cells += 1
    return count, tried


@kernel
def write_found(results: Any, place: Any, key: Any, steps: Any, cells: Any, progress: Any) -> None:
    """Write what was found."""
    results[place] = key
    results[place + 1] = steps
    results[place + 2] = cells
    results[place + 3] = progress.depth[0] + 1
    for number in range(progress.depth[0] + 1):
        results[place + 4 + number] = progress.chosen[number]


@dataclass(frozen=True)
class _Kernels:
    state: type
    behaviours: Callable[..., Any]
    spaces: Callable[..., Any]


_SEARCH = """
from omnimeter.caching import compiled


def {what}({arguments}):
    return search_{what}({arguments})


{what} = compiled({what}, error_model="numpy", nogil=True)
"""

_ARGUMENTS = {
    "behaviours": "progress, bits, shorter, at, bank, symbols, fields, room, inputs, inputs_at, "
    "actions, special, max_steps, known, found, limit",
    "spaces": "progress, bits, shorter, at, bank, symbols, fields, text, memory, counts, paths, "
    "reached, lanes, actions, max_cells, known, found, limit",
}


@cache
def _entry(what: str) -> Callable[..., tuple[int, int]]:
    body = _SEARCH.format(what=what, arguments=_ARGUMENTS[what])
    kernels = _Kernels(Progress, search_behaviours, search_spaces)
    entry: Callable[..., tuple[int, int]] = getattr(load(what, body, search=kernels), what)
    return entry


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched for.

    Attributes:
        actions: The number of actions.
        perception: What the programs of inhabitants perceive; none for spaces.
        special: Whether they are those of Good and Evil, who do all their actions.
        max_steps: The bound of steps.
    """

    actions: int
    perception: str | None = None
    special: bool = True
    max_steps: int = SPACE_STEPS

    @property
    def alphabet(self) -> tuple[str, ...]:
        """The symbols of the programs."""
        if self.perception is None:
            return space_alphabet(self.actions)
        return behaviour_alphabet(self.perception, self.actions)

    @property
    def name(self) -> str:
        """The name under which the answer is kept; it depends on all code that gives it."""
        modules = (language, coding, machine, inhabitants, spaces)
        sources = [_source(module.__file__) for module in modules] + [_source(__file__)]
        text = json.dumps([self.actions, self.perception, self.special, self.max_steps, sources])
        return f"tables/{hashlib.sha256(text.encode()).hexdigest()[:24]}.npz"


@cache
def _source(path: str) -> str:
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


COLUMNS = {
    "keys": np.int64,
    "steps": np.int64,
    "cells": np.int64,
    "bits": np.int64,
    "codes": np.uint64,
}


class Table:
    """The shortest programs, by bits and then in the order of the search.

    Attributes:
        question: What was searched for.
        longest: The bits up to which all programs were tried.
        tried: How many there were.
        keys: Of the spaces or behaviours.
        steps: The largest number of rewriting steps of each program.
        cells: The cells of each space; 0 for behaviours.
        bits: The lengths of the codes, without the numbers of cells and actions.
        codes: The codes, as numbers.
    """

    def __init__(
        self, question: Question, longest: int, tried: int, columns: dict[str, Any]
    ) -> None:
        self.question, self.longest, self.tried = question, longest, tried
        self.keys, self.steps, self.cells = columns["keys"], columns["steps"], columns["cells"]
        self.bits, self.codes = columns["bits"], columns["codes"]

    def __len__(self) -> int:
        return len(self.keys)

    @cached_property
    def places(self) -> dict[int, int]:
        """Where each key is."""
        return {key: place for place, key in enumerate(self.keys.tolist())}

    @cached_property
    def cumulative(self) -> FloatArray:
        """The sums of the weights 2^-bits up to each program."""
        weights: FloatArray = np.cumsum(2.0**-self.bits)
        return weights

    def program(self, place: int) -> Program:
        """The program at a place."""
        return _decoded(int(self.codes[place]), int(self.bits[place]), self.question.alphabet)

    def up_to(self, longest: int) -> Table:
        """The part of it that shorter programs gave."""
        if longest == self.longest:
            return self
        count = int(np.searchsorted(self.bits, longest, side="right"))
        columns = {name: getattr(self, name)[:count] for name in COLUMNS}
        return Table(self.question, longest, 0, columns)

    def save(self) -> None:
        """Keep it in the user's cache."""
        from io import BytesIO

        file = BytesIO()
        numbers = np.array([self.longest, self.tried])
        np.savez_compressed(
            file, numbers=numbers, **{name: getattr(self, name) for name in COLUMNS}
        )
        keep(self.question.name, file.getvalue())

    @classmethod
    def load(cls, question: Question) -> Self | None:
        """The one that is kept, if there is one."""
        from io import BytesIO

        content = kept(question.name)
        if content is None:
            return None
        with np.load(BytesIO(content), allow_pickle=False) as arrays:
            longest, tried = arrays["numbers"].tolist()
            return cls(question, longest, tried, {name: arrays[name] for name in COLUMNS})


@lru_cache(maxsize=50_000)
def _decoded(code: int, bits: int, alphabet: tuple[str, ...]) -> Program:
    return coding.decode(f"{code:0{bits}b}", alphabet)


_tables: dict[Question, Table] = {}


def table(question: Question, longest: int) -> Table:
    """All shortest programs up to a length; searched for where they are not known yet."""
    known = _tables.get(question)
    if known is None:
        known = Table.load(question)
    if known is None or known.longest < longest:
        known = _search(question, longest, known)
    _tables[question] = known
    return known.up_to(longest)


class _Bank(NamedTuple):
    """All rules up to a length."""

    rules: list[Rule]
    bits: IntArray
    shorter: IntArray
    at: IntArray
    fields: IntArray
    symbols: IntArray


def _bank(alphabet: tuple[str, ...], auxiliaries: int, longest: int) -> _Bank:
    names = tuple(f"X{number + 1}" for number in range(auxiliaries))
    rules, bits, plain, at = [], [], [], [0]
    for length in range(SHORTEST_RULE, longest + 1):
        for rule in rules_of_length(length, len(alphabet), auxiliaries):
            rules.append(rule)
            bits.append(length)
            if {type(item) for item in (*rule.left, *rule.right)} <= {int}:  # which is quicker
                plain.append(PlainRule(rule.left, rule.right, rule.final))  # type: ignore[arg-type]
            else:
                plain += expand(Program(alphabet, names, (rule,)))
            at.append(len(plain))
    shorter = np.searchsorted(bits, range(longest + 2)) if bits else [0] * (longest + 2)
    compiled = compiled_rules(plain)
    lengths, fewer, places = (np.array(x, dtype=np.int64) for x in (bits or [0], shorter, at))
    return _Bank(rules, lengths, fewer, places, compiled.fields, compiled.symbols)


PART, FIRST_REPORT = 20_000, 2.0
"""How many programs are tried in one call, and after how many seconds the search says so."""


def _search(question: Question, longest: int, known: Table | None) -> Table:
    empty = Program(question.alphabet)
    columns: dict[str, list[Any]] = {name: [] for name in COLUMNS}
    first, tried = len(encode(empty)), 0
    if known is not None:
        columns = {name: getattr(known, name).tolist() for name in COLUMNS}
        first, tried = known.longest + 1, known.tried
    seen = np.zeros(1 << 20, dtype=np.int64)
    for key in columns["keys"]:
        seen, _ = _add(seen, key)
    count, began, told = len(columns["keys"]), 0.0, False
    banks: dict[int, _Bank] = {}
    for total in range(first, longest + 1):
        if question.perception is not None and total == len(encode(empty)):
            behaviour = inhabitants.behaviour_of(
                empty, _inputs(question), question.actions, special=question.special,
                max_steps=question.max_steps,
            )  # fmt: skip
            seen, _ = _add(seen, behaviour.key)
            _append(columns, behaviour.key, behaviour.steps, 0, total, int(encode(empty), 2))
            count, tried = count + 1, tried + 1
        for auxiliaries in range(total):
            head = elias_gamma_length(auxiliaries + 1) + 1
            if head + 1 + SHORTEST_RULE > total:
                break
            if auxiliaries not in banks:
                banks[auxiliaries] = _bank(question.alphabet, auxiliaries, longest - head - 1)
            bank = banks[auxiliaries]
            names = tuple(f"X{number + 1}" for number in range(auxiliaries))
            progress = Progress(
                *(np.zeros(size, dtype=np.int64) for size in (MAX_RULES, MAX_RULES, 1))
            )
            progress.chosen[0], progress.left[0] = -1, total - head
            run = _carry_out(question, bank, progress)
            while progress.depth[0] >= 0:
                if 2 * (count + PART * MAX_TABLE_CELLS) > len(seen):
                    seen = _larger(seen, columns["keys"])
                results, some = run(seen)
                began = began or monotonic()  # without the time to compile
                tried += some
                count += len(results)
                for key, steps, cells, size, *chosen in results.tolist():
                    rules = tuple(bank.rules[each] for each in chosen[:size])
                    code = encode(Program(question.alphabet, names, rules))
                    assert len(code) == total
                    _append(columns, key, steps, cells, total, int(code, 2))
                if monotonic() - began > FIRST_REPORT:
                    began, told = monotonic(), True
                    what = "spaces" if question.perception is None else "behaviours"
                    announce(
                        f"Searching all programs of up to {longest} bits for {what} of "
                        f"{question.actions} actions (once; kept for next time): {total} bits, "
                        f"{tried:,} programs, {count:,} {what}"
                    )
        arrays = {name: np.array(columns[name], dtype=kind) for name, kind in COLUMNS.items()}
        known = Table(question, total, tried, arrays)
        if told or total == longest:
            known.save()
    assert known is not None
    return known


def _append(columns: dict[str, list[Any]], *values: int) -> None:
    for column, value in zip(columns.values(), values, strict=True):
        column.append(value)


def _inputs(question: Question) -> list[tuple[int, ...]]:
    assert question.perception is not None
    inputs = inputs_of(question.perception, question.actions, special=question.special)
    assert inputs is not None  # tables are searched only where they do not depend on the space
    return inputs


def _add(seen: IntArray, key: int) -> tuple[IntArray, bool]:
    return seen, bool(getattr(is_new, "py_func", is_new)(seen, key))


def _larger(seen: IntArray, keys: Sequence[int]) -> IntArray:
    larger = np.zeros(4 * len(seen), dtype=np.int64)
    for key in keys:
        _add(larger, key)
    return larger


def _carry_out(
    question: Question, bank: _Bank, progress: Progress
) -> Callable[[IntArray], tuple[IntArray, int]]:
    """A function that tries the next programs and returns what is new, and how many it tried."""

    def zeros(size: int) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    common = (progress, bank.bits, bank.shorter, bank.at, bank.fields, bank.symbols)
    fields, width = zeros(MAX_PLAIN * FIELDS), 4 + MAX_RULES
    rows = PART * (MAX_TABLE_CELLS if question.perception is None else 1)
    results = zeros(rows * width)
    if question.perception is None:
        cells = MAX_TABLE_CELLS
        rest: tuple[Any, ...] = (
            fields, zeros(SPACE_LENGTH), zeros(SPACE_LENGTH), zeros(AT + 1),
            zeros(cells * question.actions), zeros(cells), zeros(2), question.actions, cells,
        )  # fmt: skip
        entry = _entry("spaces")
    else:
        inputs = _inputs(question)
        text, at = joined(inputs)
        rest = (
            fields, explorer(len(inputs)), text, at, question.actions, question.special,
            question.max_steps,
        )  # fmt: skip
        entry = _entry("behaviours")

    def run(seen: IntArray) -> tuple[IntArray, int]:
        count, tried = entry(*common, *rest, seen, results, PART)
        return results[: count * width].reshape(count, width).copy(), tried

    return run
