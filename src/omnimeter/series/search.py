"""All programs up to a length, by the series that they write: an exhaustive search, kept on disk.

Programs are searched in parts, by their first two instructions. Each part is kept as soon as it is
done, so that a search that was interrupted goes on, and comes to the same table bit for bit.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product
from string import ascii_lowercase
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnimeter.caching import announce, discard, keep, kept
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.kernels import plain
from omnimeter.interaction.compilation import load
from omnimeter.kernels import kernel
from omnimeter.series.machine import (
    CLOSE,
    HORIZON,
    INSTRUCTIONS,
    OPEN,
    WIDTH,
    WRITE,
    to_next,
)

MAX_DEPTH = 11
"""Instructions of the longest programs that are searched: a minute of two processors. Each one
more takes six times as long, and four times as much memory."""

PREFIX = 2  # instructions that the programs of a part begin with
FORMAT = 1
"""Part of the names under which tables are kept; another machine needs another number."""

LETTER_BITS = 5  # of a letter in the key of a series
HASH, SLOTS = 0x9E3779B97F4A7C1, 1 << 12  # of hash tables: a multiplier, and the size at first
SLOW = 10  # from this depth on there is time to tell how far the search is


@kernel
def beginning(code: Any, tops: Any, letters: Any, shown: Any) -> Any:
    """The key of what a program writes, and its steps; 0 steps if it does not begin as shown."""
    key, steps, a, b, c, at = 0, 0, 0, 0, 0, 0
    for count in range(HORIZON):
        a, b, c, at, more = to_next(code, tops, letters, a, b, c, at)
        if count < len(shown) and a != shown[count]:
            return 0, 0
        steps += more
        key = key << LETTER_BITS | a
    return key, steps


@kernel
def slot_of(keys: Any, costs: Any, key: Any) -> Any:
    """Where a key is in a hash table, or the empty slot where it belongs."""
    slot = (key * HASH >> 20) & (len(keys) - 1)
    while costs[slot] > 0 and keys[slot] != key:
        slot = (slot + 1) & (len(keys) - 1)
    return slot


@kernel
def enlarged(old_keys: Any, old_costs: Any, old_programs: Any, old_weights: Any) -> Any:
    """The same hash table with twice as many slots."""
    size = 2 * len(old_keys)
    keys, costs = np.zeros(size, np.int64), np.zeros(size, np.int64)
    programs, weights = np.zeros(size, np.int64), np.zeros(size, np.float64)
    for number in range(len(old_keys)):
        if old_costs[number] > 0:
            slot = slot_of(keys, costs, old_keys[number])
            keys[slot], costs[slot] = old_keys[number], old_costs[number]
            programs[slot], weights[slot] = old_programs[number], old_weights[number]
    return keys, costs, programs, weights


@kernel
def search(first: Any, depth: Any, letters: Any, shown: Any) -> Any:
    """Run all programs of a part, and note the simplest for each series that they write.

    Args:
        first: The instructions that they begin with.
        depth: The largest number of instructions.
        letters: The size of the alphabet.
        shown: The letters that their series begins with; others are left out.

    Returns:
        For each slot of a hash table the key of a series, the least of steps times 2^bits over its
        programs (0 in an empty slot), the first of those programs, and the sum of 2^-bits over all
        its programs.
    """
    keys, costs = np.zeros(SLOTS, np.int64), np.zeros(SLOTS, np.int64)
    programs, weights = np.zeros(SLOTS, np.int64), np.zeros(SLOTS, np.float64)
    used = 0
    code = np.full(depth, -1, np.int64)
    tops = np.zeros(depth, np.int64)
    block = np.full(depth + 1, -1, np.int64)  # before each instruction: where the open block began
    writes = np.zeros(depth + 1, np.int64)
    at = 0
    while at >= 0:
        if at == depth:
            at -= 1
            continue
        if code[at] == CLOSE or (at < len(first) and code[at] >= 0):  # all were tried here
            code[at] = -1
            at -= 1
            continue
        code[at] = first[at] if at < len(first) else code[at] + 1
        instruction, opened = code[at], block[at]
        if (instruction == OPEN and opened >= 0) or (instruction == CLOSE and opened < 0):
            continue
        if instruction == OPEN:
            opened = at
        elif instruction == CLOSE:
            tops[at] = opened + 1
            opened = -1
        writes[at + 1] = writes[at] + (instruction == WRITE)
        at += 1
        block[at] = opened
        if at < len(first) or opened >= 0 or writes[at] == 0:
            continue
        key, steps = beginning(code[:at], tops, letters, shown)
        if steps == 0:
            continue
        program = 1
        for place in range(at):
            program = program << WIDTH | code[place]
        bits = WIDTH * (at + 1)
        cost = steps << bits
        if 2 * used >= len(keys):
            keys, costs, programs, weights = enlarged(keys, costs, programs, weights)
        slot = slot_of(keys, costs, key)
        used += costs[slot] == 0
        better = cost < costs[slot] or (cost == costs[slot] and program < programs[slot])
        if costs[slot] == 0 or better:
            keys[slot], costs[slot], programs[slot] = key, cost, program
        weights[slot] += 2.0**-bits
    return keys, costs, programs, weights


@dataclass(frozen=True)
class _Kernels:
    search: Callable[..., Any]


_ENTRY = """
from omnimeter.caching import compiled


def run(first, depth, letters, shown):
    return series_search(first, depth, letters, shown)


run = compiled(run, nogil=True, error_model="numpy")
"""


@cache
def _compiled() -> Callable[..., Any]:
    entry: Callable[..., Any] = load("search", _ENTRY, series=_Kernels(search)).run
    return entry


@dataclass(frozen=True, eq=False)
class Table:
    """What all programs up to a length write, in the order of the series.

    Attributes:
        keys: The first letters of each series, as a number.
        costs: The least of steps times 2^bits over the programs that write it: 2^Kt.
        programs: The number of the first such program, the shortest and then the first in order.
        weights: The sum of 2^-bits over all programs that write it.
    """

    keys: IntArray
    costs: IntArray
    programs: IntArray
    weights: FloatArray

    def to_bytes(self) -> bytes:
        """All of it as bytes."""
        return b"".join(np.ascontiguousarray(each).tobytes() for each in self._columns)

    @classmethod
    def from_bytes(cls, content: bytes) -> Table:
        """The table of these bytes."""
        rows = len(content) // 32
        columns = np.frombuffer(content, dtype=np.int64).reshape(4, rows)
        return cls(columns[0], columns[1], columns[2], columns[3].view(np.float64))

    @property
    def _columns(self) -> tuple[NDArray[Any], ...]:
        return self.keys, self.costs, self.programs, self.weights

    @classmethod
    def merged(cls, tables: Sequence[Table]) -> Table:
        """Several tables as one: the simplest program for each series, and the sum of weights."""
        keys, costs, programs, weights = (
            np.concatenate(columns)
            for columns in zip(*(each._columns for each in tables), strict=True)
        )
        order = np.lexsort((programs, costs, keys))
        keys = keys[order]
        first = np.flatnonzero(np.concatenate(([True], keys[1:] != keys[:-1]))[: len(keys)])
        summed = np.add.reduceat(weights[order], first) if len(first) else weights
        return cls(keys[first], costs[order][first], programs[order][first], summed)

    def begins(self, series: Sequence[int]) -> slice:
        """The rows of the series that begin with these letters, at most twelve."""
        low = key_of(series)
        high = low + (1 << LETTER_BITS * (HORIZON - len(series)))
        first, last = np.searchsorted(self.keys, (low, high))
        return slice(int(first), int(last))

    def program(self, row: int) -> str:
        """The simplest program of a row."""
        digits = f"{int(self.programs[row]):o}"[1:]
        return "".join(INSTRUCTIONS[int(digit)] for digit in digits)

    def letters(self, place: int, rows: slice = slice(None)) -> IntArray:
        """The letter of each series at a place, from 0 on."""
        shift = LETTER_BITS * (HORIZON - 1 - place)
        letters: IntArray = self.keys[rows] >> shift & ((1 << LETTER_BITS) - 1)
        return letters


def key_of(series: Sequence[int]) -> int:
    """The smallest key of a series that begins with these letters."""
    key = 0
    for letter in series:
        key = key << LETTER_BITS | letter
    return key << LETTER_BITS * (HORIZON - len(series))


@lru_cache(maxsize=8)
def table(depth: int, letters: int, shown: str = "") -> Table:
    """The table of all programs up to a length, from the cache if it was searched before.

    Args:
        depth: The largest number of instructions.
        letters: The size of the alphabet.
        shown: Only series that begin with these letters.
    """
    name = f"c-test/{FORMAT}-{letters}-{depth}{shown and '-'}{shown}"
    content = kept(f"{name}.table")
    if content is None:
        content = _elsewhere(depth, letters, shown) if plain() else b""
        content = content or _searched(name, depth, letters, shown).to_bytes()
        keep(f"{name}.table", content)
    return Table.from_bytes(content)


def _searched(name: str, depth: int, letters: int, shown: str) -> Table:
    """Search part by part, but for those that are kept from before."""
    firsts: list[tuple[int, ...]] = [()]
    if depth >= PREFIX:
        firsts += product(range(len(INSTRUCTIONS)), repeat=PREFIX)
    given = np.array([ascii_lowercase.index(each) for each in shown], dtype=np.int64)
    _compiled()  # once, not in each thread

    def part(number: int) -> Table:
        place = f"{name}-{number}.part"
        content = kept(place)
        if content is None:
            first = np.array(firsts[number], dtype=np.int64)
            deepest = depth if number else PREFIX - 1
            columns = _compiled()(first, deepest, letters, given)
            rows = np.flatnonzero(columns[1])
            order = rows[np.argsort(columns[0][rows])]
            content = Table(*(each[order] for each in columns)).to_bytes()
            keep(place, content)
        return Table.from_bytes(content)

    parts = []
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for done, each in enumerate(pool.map(part, range(len(firsts)))):
            parts.append(each)
            if depth >= SLOW and done % 5 == 0:
                share = f"{done / len(firsts):.0%}"
                announce(f"Searching all programs of up to {depth} instructions: {share}")
    whole = Table.merged(parts)
    for number in range(len(firsts)):
        discard(f"{name}-{number}.part")
    return whole


def _elsewhere(depth: int, letters: int, shown: str) -> bytes:
    """The table from a process that may compile: plain Python would take hours."""
    source = (
        "import sys; from omnimeter.series.search import table; "
        f"sys.stdout.buffer.write(table({depth}, {letters}, {shown!r}).to_bytes())"
    )
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "0"}
    command = [sys.executable, "-c", source]
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout
