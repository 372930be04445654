"""All tori by complexity: shortest expressions of paths, and pairs of them, counted and drawn."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.complexity import (
    elias_gamma,
    elias_gamma_length,
    kt_max,
    letter_item,
    primitive_period,
    repetition_item,
    shortest_expression,
)
from omnimeter.contract import Instance
from omnimeter.contract.agent import FloatArray
from omnimeter.environments.shared import nearest, weighted_index
from omnimeter.environments.torus.complexity import LETTERS, OBJECTS

LOOP = len(LETTERS)
"""The kind of an item that repeats several items; other kinds are the letters that form a run."""


class Item(NamedTuple):
    """Items that are alike."""

    kind: int  # the letter of a run, by its number, or ``LOOP``
    length: int  # its number of letters of the path
    bits: int  # the length of its code
    ways: float  # how many different items are like this


Expression = tuple[str, str]
"""A path, and the code of an expression or of a part of it."""


class Expressions:
    """The expressions of paths up to a length, and their count by length and by bits."""

    def __init__(self, max_length: int) -> None:
        self.max_length = max_length
        max_bits = elias_gamma_length(max_length) + max_length * len(letter_item("S", LETTERS))
        shape = (max_length + 1, max_bits + 1)
        self.count = np.zeros(shape)
        self._items: list[list[Item]] = [[] for _ in range(LOOP + 1)]
        self._paths: dict[tuple[int, int], list[str]] = {}
        # By the number of items, then the kind of the first one, or of one that they may follow.
        starting = np.zeros((max_length + 1, LOOP + 1, *shape))
        following = np.zeros((max_length + 1, LOOP + 1, *shape))
        following[0, :, 0, 0] = 1
        for length in range(1, max_length + 1):
            self._add_length(length, starting, following)
        self._starting: list[list[list[list[float]]]] = starting.tolist()
        self._following: list[list[list[list[float]]]] = following.tolist()

    def _add_length(self, length: int, starting: FloatArray, following: FloatArray) -> None:
        # Every item of this length; the sequences that it may repeat are all known.
        for kind in range(LOOP):
            self._items[kind].append(Item(kind, length, len(_run(kind, length)[1]), 1.0))
        ways = np.zeros(self.count.shape[1])
        for times, period in _repetitions(length):
            head = _head(times)
            ways[head:] += self.count[period, :-head]
        self._items[LOOP] += [
            Item(LOOP, length, int(bits), float(ways[bits])) for bits in np.flatnonzero(ways)
        ]
        # Every sequence of this length: an item, and a shorter sequence that may follow it.
        end = self.count.shape[1]
        for kind, items in enumerate(self._items):
            for item in items:
                if item.bits < end:
                    rest = following[:-1, kind, length - item.length, : end - item.bits]
                    starting[1:, kind, length, item.bits :] += item.ways * rest
        number = starting[:, :, length].sum(axis=1)
        following[:, LOOP, length] = number
        for kind in range(LOOP):
            others = np.delete(starting[:, :, length], kind, axis=1)
            following[:, kind, length] = others.sum(axis=1)
        for count in _item_counts(length):
            head = elias_gamma_length(count)
            self.count[length, head:] += number[count, :-head]

    def draw(self, rng: np.random.Generator, length: int, bits: int) -> str | None:
        """Draw an expression uniformly: its path, or ``None`` if a shorter one describes it."""
        return _path_if_shortest(self._draw_sequence(rng, length, bits))

    def _draw_sequence(self, rng: np.random.Generator, length: int, bits: int) -> Expression:
        counts = self._counts_of_items(length, bits)
        count, left = counts[_choose(rng, [weight for *_, weight in counts])][:2]
        path, code = "", elias_gamma(count)
        kind = LOOP
        while count:
            kinds = [each for each in range(LOOP + 1) if each != kind or each == LOOP]
            by_kind = self._starting[count]
            kind = kinds[_choose(rng, [by_kind[each][length][left] for each in kinds])]
            items = self._first_items(kind, count, length, left)
            item = items[_choose(rng, [weight for _, weight in items])][0]
            if kind < LOOP:
                drawn = _run(kind, item.length)
            else:
                bodies = self._bodies_of(item)
                weights = [self.count[body[1:]] for body in bodies]
                times, *body = bodies[_choose(rng, weights)]
                body_path, body_code = self._draw_sequence(rng, *body)
                drawn = body_path * times, repetition_item(times, body_code)
            path, code = path + drawn[0], code + drawn[1]
            count, length, left = count - 1, length - item.length, left - item.bits
        return path, code

    def paths(self, length: int, bits: int) -> list[str]:
        """Every path of this length whose shortest expression has so many bits."""
        if not self.count[length : length + 1, bits : bits + 1].any():
            return []
        if (length, bits) not in self._paths:
            paths = map(_path_if_shortest, self._all_sequences(length, bits))
            self._paths[length, bits] = sorted(path for path in paths if path is not None)
        return self._paths[length, bits]

    def _all_sequences(self, length: int, bits: int) -> Iterator[Expression]:
        for count, left, _ in self._counts_of_items(length, bits):
            for path, code in self._all_rows(count, LOOP, length, left):
                yield path, elias_gamma(count) + code

    def _all_rows(self, count: int, before: int, length: int, bits: int) -> Iterator[Expression]:
        """All rows of so many items that may follow an item of the kind ``before``."""
        if not count:
            yield "", ""
            return
        for kind in range(LOOP + 1):
            if kind == before != LOOP:
                continue
            for item, _ in self._first_items(kind, count, length, bits):
                firsts = (
                    [_run(kind, item.length)]
                    if kind < LOOP
                    else [
                        (path * times, repetition_item(times, code))
                        for times, *body in self._bodies_of(item)
                        for path, code in self._all_sequences(*body)
                    ]
                )
                left = length - item.length, bits - item.bits
                for path, code in firsts:
                    for rest_path, rest_code in self._all_rows(count - 1, kind, *left):
                        yield path + rest_path, code + rest_code

    def _counts_of_items(self, length: int, bits: int) -> list[tuple[int, int, float]]:
        """How many items a sequence may have, with the bits left for them and the weight."""
        counts = ((count, bits - elias_gamma_length(count)) for count in _item_counts(length))
        return [
            (count, left, weight)
            for count, left in counts
            if left > 0 and (weight := self._following[count][LOOP][length][left])
        ]

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
        """What an item may repeat: how often, the period of the body and its bits."""
        return [
            (times, period, item.bits - _head(times))
            for times, period in _repetitions(item.length)
            if item.bits > _head(times) and self.count[period, item.bits - _head(times)]
        ]


def _item_counts(length: int) -> range:
    """How many items a sequence may have; a single item can only be a letter."""
    return range(min(length, 2), length + 1)


def _repetitions(length: int) -> list[tuple[int, int]]:
    """How often (at least twice) something of which length (at least two) can be repeated."""
    return [
        (length // period, period) for period in range(2, length // 2 + 1) if length % period == 0
    ]


def _head(times: int) -> int:
    """The bits of a repetition before its body."""
    return len(repetition_item(times, ""))


def _run(kind: int, length: int) -> Expression:
    """A letter repeated so many times."""
    letter = LETTERS[kind]
    item = letter_item(letter, LETTERS)
    code = item if length == 1 else repetition_item(length, elias_gamma(1) + item)
    return letter * length, code


def _path_if_shortest(expression: Expression) -> str | None:
    """The path, if no shorter expression describes the same endless sequence."""
    path, code = expression
    is_shortest = primitive_period(path) == path and shortest_expression(path, LETTERS) == code
    return path if is_shortest else None


def _choose(rng: np.random.Generator, weights: list[float]) -> int:
    """Draw an index in proportion to its weight; quicker than NumPy for a short list."""
    left = rng.random() * sum(weights)
    for place, weight in enumerate(weights):
        left -= weight
        if left < 0:
            return place
    return max(place for place, weight in enumerate(weights) if weight)  # rounding


ROUNDING = 1e-9  # complexities that differ by less are the same

TRIES = 3000
"""Candidates drawn from a band before it counts as empty. In any band one bit wide about every
second is accepted; only with nearly all letters of the longer codes is there hardly a pair."""

CANDIDATES_PER_MEMBER = 4
"""Candidates examined for each one that is listed; with more, listing takes too long."""

CANDIDATES = np.dtype(
    [("complexity", np.float64), ("letters", np.int64), ("bits", np.int64), ("count", np.float64)]
)
"""Pairs of expressions with the same letters in both paths together and the same bits."""


class Population:
    """The pairs of paths up to a length, by complexity.

    Attributes:
        lowest: The complexity of the simplest pair.
        highest: That of two longest paths as they mostly are; more complex ones are rare and odd,
            and not drawn.
    """

    def __init__(self, max_length: int) -> None:
        self._expressions = Expressions(max_length)
        count = self._expressions.count
        self.highest = kt_max(2 * int(count[max_length].argmax()), 2 * max_length + OBJECTS)
        table = np.zeros((2 * max_length + 1, 2 * count.shape[1] - 1))
        for good, evil in product(range(1, max_length + 1), repeat=2):
            table[good + evil] += np.convolve(count[good], count[evil])
        pairs = [
            (kt_max(bits, letters + OBJECTS), letters, bits, table[letters, bits])
            for letters, bits in np.argwhere(table).tolist()
        ]
        self._candidates = np.array(sorted(pairs, key=lambda pair: pair[0]), dtype=CANDIDATES)
        self._candidates = self._band(-np.inf, self.highest)
        self.lowest = float(self._candidates["complexity"][0])

    def _band(self, low: float, high: float) -> NDArray[Any]:
        bounds = np.array([low - ROUNDING, high + ROUNDING])
        first, last = np.searchsorted(self._candidates["complexity"], bounds)
        return self._candidates[first:last]

    def draw(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw a pair of a band, each with probability 2^-complexity; ``None`` if it is empty."""
        band = self._band(low, high)
        if not len(band):
            return None
        least = band["complexity"][0]  # keeps the weights from vanishing
        weights = np.cumsum(band["count"] * np.exp2(least - band["complexity"]))
        for _ in range(TRIES):
            entry = band[weighted_index(rng, weights)]
            pair = self._draw_alike(rng, int(entry["letters"]), int(entry["bits"]))
            if pair is not None:
                return pair
        return None

    def _draw_alike(self, rng: np.random.Generator, letters: int, bits: int) -> Instance | None:
        """A candidate with so many letters and bits, if both of its expressions are shortest."""
        count = self._expressions.count
        lengths = self._lengths(letters)
        max_bits = min(bits, count.shape[1] - 1)
        good = count[lengths.start : lengths.stop, bits - max_bits : max_bits + 1]
        # Evil's path has the letters and bits that Good's leaves: the same table, read backwards.
        place = weighted_index(rng, np.cumsum(good * good[::-1, ::-1]))
        row, column = divmod(place, good.shape[1])
        length, good_bits = lengths[row], bits - max_bits + column
        good_path = self._expressions.draw(rng, length, good_bits)
        if good_path is None:
            return None
        evil_path = self._expressions.draw(rng, letters - length, bits - good_bits)
        return None if evil_path is None else Instance({"good": good_path, "evil": evil_path})

    def members(self, low: float, high: float, limit: int) -> list[Instance] | None:
        """All pairs of a band in order; ``None`` if they or their candidates are too many."""
        band = self._band(low, high)
        if band["count"].sum() > CANDIDATES_PER_MEMBER * limit:
            return None
        expressions = self._expressions
        pairs: list[Instance] = []
        for letters, bits in zip(band["letters"].tolist(), band["bits"].tolist(), strict=True):
            for length in self._lengths(letters):
                for good_bits in np.flatnonzero(expressions.count[length, : bits + 1]).tolist():
                    evil_paths = expressions.paths(letters - length, bits - good_bits)
                    if evil_paths:  # otherwise listing Good's paths, perhaps very many, is in vain
                        good_paths = expressions.paths(length, good_bits)
                        paths = product(good_paths, evil_paths)
                        pairs += [Instance({"good": good, "evil": evil}) for good, evil in paths]
            if len(pairs) > limit:
                return None
        return pairs

    def _lengths(self, letters: int) -> range:
        """The lengths that one path may have, given the letters of both."""
        max_length = self._expressions.max_length
        return range(max(1, letters - max_length), min(max_length, letters - 1) + 1)

    def nearest(self, wanted: float) -> list[float]:
        """The nearest complexities below and above for which there is a pair."""
        rng = np.random.default_rng(0)  # only whether a pair is drawn counts, not which
        complexities = np.unique(self._candidates["complexity"]).tolist()
        return nearest(complexities, wanted, lambda each: self.draw(rng, each, each) is not None)


population = lru_cache(maxsize=8)(Population)
