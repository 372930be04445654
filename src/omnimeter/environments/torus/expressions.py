"""All expressions that may be the shortest one of a path: how many there are, and which.

Expressions are counted by the length of their path and by their bits. Left out are those that are
longer than need be at first sight: an expression that is nothing but a repetition (what it repeats
says the same for ever), a repetition that repeats nothing but a repetition, and runs of the same
letter side by side, which are one run. So most of what is left is shortest, and what is not is
found by asking for the shortest expression of its path.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from omnimeter.complexity.paths import (
    letter_item,
    primitive_period,
    repetition_item,
    shortest_expression,
)
from omnimeter.complexity.prefix_codes import elias_gamma, elias_gamma_length
from omnimeter.contract import FloatArray

LETTERS = "LRUDS"
"""Left, right, up, down, stay: the actions in their order."""

ROUND = len(LETTERS)
"""The kind of an item that repeats several items; other kinds are the letters that form a run."""


class Item(NamedTuple):
    """Items that are alike.

    Attributes:
        kind: The letter of a run, by its number, or ``ROUND``.
        length: How many letters of the path it is.
        bits: How long it is to say.
        ways: How many different items are like this.
    """

    kind: int
    length: int
    bits: int
    ways: float


class Said(NamedTuple):
    """A path, and the code of an expression or of a part of it."""

    path: str
    code: str


class Expressions:
    """The expressions of paths up to a length.

    Args:
        longest: The length of the longest path.

    Attributes:
        longest: The same.
        count: How many expressions there are, by the length of the path and by bits.
    """

    def __init__(self, longest: int) -> None:
        self.longest = longest
        most = elias_gamma_length(longest) + longest * len(letter_item(LETTERS[-1], LETTERS))
        shape = (longest + 1, most + 1)
        self.count = np.zeros(shape)
        self._items: list[list[Item]] = [[] for _ in range(ROUND + 1)]
        self._paths: dict[tuple[int, int], list[str]] = {}
        # By the number of items, then the kind of the first one, or of one that they may follow.
        starting = np.zeros((longest + 1, ROUND + 1, *shape))
        following = np.zeros((longest + 1, ROUND + 1, *shape))
        following[0, :, 0, 0] = 1
        for length in range(1, longest + 1):
            self._add_items(length)
            self._add_sequences(length, starting, following)
        self._starting: list[list[list[list[float]]]] = starting.tolist()
        self._following: list[list[list[list[float]]]] = following.tolist()

    def _add_items(self, length: int) -> None:
        """Every item of this length; the sequences that it may repeat are all known."""
        for kind, letter in enumerate(LETTERS):
            bits = len(_run(letter, length))
            self._items[kind].append(Item(kind, length, bits, 1.0))
        ways = np.zeros(self.count.shape[1])
        for times, period in _rounds(length):
            head = _head(times)
            ways[head:] += self.count[period, :-head]
        self._items[ROUND] += [
            Item(ROUND, length, int(bits), float(ways[bits])) for bits in np.flatnonzero(ways)
        ]

    def _add_sequences(self, length: int, starting: FloatArray, following: FloatArray) -> None:
        """Every sequence of this length: an item, and a shorter sequence that may follow it."""
        most = self.count.shape[1]
        for kind, items in enumerate(self._items):
            for item in items:
                if item.bits < most:
                    rest = following[:-1, kind, length - item.length, : most - item.bits]
                    starting[1:, kind, length, item.bits :] += item.ways * rest
        number = starting[:, :, length].sum(axis=1)
        following[:, ROUND, length] = number
        for kind in range(ROUND):
            others = np.delete(starting[:, :, length], kind, axis=1)
            following[:, kind, length] = others.sum(axis=1)
        for count in range(_fewest(length), length + 1):
            head = elias_gamma_length(count)
            self.count[length, head:] += number[count, :-head]

    def draw(self, rng: np.random.Generator, length: int, bits: int) -> str | None:
        """Draw an expression, all of this kind being equally likely.

        Returns:
            Its path; ``None`` if there is a shorter way to say it, or to say what it repeats.
        """
        return _if_shortest(self._draw_sequence(rng, length, bits))

    def _draw_sequence(self, rng: np.random.Generator, length: int, bits: int) -> Said:
        counts = self._numbers_of_items(length, bits)
        count, left = counts[_choose(rng, [weight for *_, weight in counts])][:2]
        path, code = "", elias_gamma(count)
        before = ROUND
        while count:
            kinds = [kind for kind in range(ROUND + 1) if kind != before or kind == ROUND]
            by_kind = self._starting[count]
            before = kinds[_choose(rng, [by_kind[kind][length][left] for kind in kinds])]
            items = self._first_items(before, count, length, left)
            item = items[_choose(rng, [weight for _, weight in items])][0]
            said = self._draw_item(rng, item)
            path, code = path + said.path, code + said.code
            count, length, left = count - 1, length - item.length, left - item.bits
        return Said(path, code)

    def _draw_item(self, rng: np.random.Generator, item: Item) -> Said:
        if item.kind < ROUND:
            return _said_run(item)
        bodies = self._bodies_of(item)
        weights = [self.count[period, bits] for _, period, bits in bodies]
        times, period, bits = bodies[_choose(rng, weights)]
        return _repeated(times, self._draw_sequence(rng, period, bits))

    def paths(self, length: int, bits: int) -> list[str]:
        """Every path of this length whose shortest expression has so many bits."""
        if not (length <= self.longest and bits < self.count.shape[1] and self.count[length, bits]):
            return []
        if (length, bits) not in self._paths:
            found = map(_if_shortest, self._every_sequence(length, bits))
            self._paths[length, bits] = sorted(path for path in found if path is not None)
        return self._paths[length, bits]

    def _every_sequence(self, length: int, bits: int) -> Iterator[Said]:
        for count, left, _ in self._numbers_of_items(length, bits):
            for path, code in self._every_row(count, ROUND, length, left):
                yield Said(path, elias_gamma(count) + code)

    def _every_row(self, count: int, before: int, length: int, bits: int) -> Iterator[Said]:
        """All rows of so many items that may follow an item of the kind ``before``."""
        if not count:
            yield Said("", "")
            return
        for kind in range(ROUND + 1):
            if kind == before != ROUND:
                continue
            for item, _ in self._first_items(kind, count, length, bits):
                for first in self._every_item(item):
                    rest = self._every_row(count - 1, kind, length - item.length, bits - item.bits)
                    for after in rest:
                        yield Said(first.path + after.path, first.code + after.code)

    def _every_item(self, item: Item) -> Iterator[Said]:
        if item.kind < ROUND:
            yield _said_run(item)
            return
        for times, period, bits in self._bodies_of(item):
            for body in self._every_sequence(period, bits):
                yield _repeated(times, body)

    def _numbers_of_items(self, length: int, bits: int) -> list[tuple[int, int, float]]:
        """How many items a sequence may have, with the bits left for them and the weight."""
        found = []
        for count in range(_fewest(length), length + 1):
            left = bits - elias_gamma_length(count)
            if left > 0 and (weight := self._following[count][ROUND][length][left]):
                found.append((count, left, weight))
        return found

    def _first_items(
        self, kind: int, count: int, length: int, bits: int
    ) -> list[tuple[Item, float]]:
        """The items of a kind with which a row of so many items may begin, and their weights."""
        rest = self._following[count - 1][kind]
        return [
            (item, item.ways * rest[length - item.length][bits - item.bits])
            for item in self._items[kind]
            if item.length <= length
            and item.bits <= bits
            and rest[length - item.length][bits - item.bits]
        ]

    def _bodies_of(self, item: Item) -> list[tuple[int, int, int]]:
        """How often what is done in an item, by the period and bits of what is repeated."""
        return [
            (times, period, item.bits - _head(times))
            for times, period in _rounds(item.length)
            if item.bits > _head(times) and self.count[period, item.bits - _head(times)]
        ]


def _fewest(length: int) -> int:
    """How many items a sequence has at least: a single one can only be a letter."""
    return min(length, 2)


def _rounds(length: int) -> list[tuple[int, int]]:
    """How often (at least twice) something of which length (at least two) can be repeated."""
    return [
        (length // period, period) for period in range(2, length // 2 + 1) if length % period == 0
    ]


def _head(times: int) -> int:
    """The bits of a repetition before what it repeats."""
    return len(repetition_item(times, ""))


def _run(letter: str, length: int) -> str:
    """The code of a letter that is done so many times."""
    item = letter_item(letter, LETTERS)
    return item if length == 1 else repetition_item(length, elias_gamma(1) + item)


def _said_run(item: Item) -> Said:
    letter = LETTERS[item.kind]
    return Said(letter * item.length, _run(letter, item.length))


def _repeated(times: int, body: Said) -> Said:
    return Said(body.path * times, repetition_item(times, body.code))


def _if_shortest(said: Said) -> str | None:
    """The path, if nothing shorter says the same for ever."""
    path, code = said
    shortest = primitive_period(path) == path and shortest_expression(path, LETTERS) == code
    return path if shortest else None


def _choose(rng: np.random.Generator, weights: list[float]) -> int:
    """A place in a list, with probability in proportion to its weight."""
    left = rng.random() * sum(weights)
    for place, weight in enumerate(weights):
        left -= weight
        if left < 0:
            return place
    return max(place for place, weight in enumerate(weights) if weight)  # rounding
