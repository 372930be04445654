"""Complexity Kt-max of a torus (Definition 9): shortest expressions of paths, counted and drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from typing import NamedTuple

import numpy as np

from omnimeter.complexity import (
    elias_gamma,
    elias_gamma_length,
    kt_max,
    letter_item,
    primitive_period,
    read_expression,
    repetition_item,
    shortest_expression,
)
from omnimeter.contract import Instance, InvalidInputError
from omnimeter.contract.agent import FloatArray, IntArray

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


OBJECTS = 2
"""Good and Evil."""


def path_of(instance: Instance, whose: str) -> str:
    """The path of ``good`` or ``evil``, checked.

    Raises:
        InvalidInputError: It is empty, or holds something that is no move.
    """
    path = instance.data.get(whose)
    if not isinstance(path, str) or not path:
        raise InvalidInputError(
            f"The path of {whose} is {path!r}.",
            f"Give a text of at least one of the letters {LETTERS}.",
        )
    for place, letter in enumerate(path, 1):
        if letter not in LETTERS:
            raise InvalidInputError(
                f"The path of {whose} has {letter!r} at place {place}, which is no move.",
                f"Moves are the letters {LETTERS}: left, right, up, down and stay.",
            )
    return path


def code(instance: Instance) -> str:
    """The shortest description: the shortest expression of Good's path, then of Evil's.

    Each is reduced to its primitive period first, because it is repeated for ever.
    """
    paths = [primitive_period(path_of(instance, whose)) for whose in ("good", "evil")]
    return "".join(shortest_expression(path, LETTERS) for path in paths)


def decode(bits: str) -> Instance:
    """The environment that a description says.

    Raises:
        ValueError: It is not a description, or goes on after its end.
    """
    good, at = read_expression(bits, 0, LETTERS)
    evil, end = read_expression(bits, at, LETTERS)
    if end != len(bits):
        raise ValueError(f"the description ends after {end} of {len(bits)} bits")
    return Instance({"good": good, "evil": evil})


def complexity(instance: Instance) -> float:
    """Kt-max: the bits of the shortest description, and the logarithm of the longest answer.

    The machine reads its description and writes out both paths, one step for each letter, before
    its first answer. For that, as for every answer, it moves both objects, one step for each. So
    the first answer takes longest.
    """
    periods = [len(primitive_period(path_of(instance, whose))) for whose in ("good", "evil")]
    return grade(len(code(instance)), sum(periods))


def grade(bits: int, letters: int) -> float:
    """Kt-max of a description with so many bits, and so many letters in both paths together."""
    return kt_max(bits, letters + OBJECTS)


ROUNDING = 1e-9
"""Complexities that differ by less are the same."""

TRIES = 3000
"""Candidates drawn from a band before it counts as empty. In any band one bit wide about every
second is accepted; only with nearly all letters of the longer codes is there hardly a pair."""

REFUSED_AT_MOST = 4
"""Candidates looked at for each one that is listed; more and they cannot be listed in good time."""


@dataclass(frozen=True)
class Candidates:
    """Candidates in ascending order of complexity, one entry for all that are alike.

    Attributes:
        complexity: Their complexity.
        letters: The length of both paths together.
        bits: The length of their description.
        count: How many they are.
    """

    complexity: FloatArray
    letters: IntArray
    bits: IntArray
    count: FloatArray

    def between(self, low: float, high: float) -> Candidates:
        """Those of a band."""
        first = int(np.searchsorted(self.complexity, low - ROUNDING))
        last = int(np.searchsorted(self.complexity, high + ROUNDING))
        band = slice(first, last)
        return Candidates(
            self.complexity[band], self.letters[band], self.bits[band], self.count[band]
        )


class Pairs:
    """The pairs of paths up to a length, by complexity.

    Args:
        longest: The length of the longest path.

    Attributes:
        lowest: The complexity of the simplest pair.
        highest: The complexity of two paths of that length as they mostly are. More complex ones
            get rare and odd; they are not drawn.
    """

    def __init__(self, longest: int) -> None:
        self._expressions = Expressions(longest)
        count = self._expressions.count
        usual = int(count[longest].argmax())
        self.highest = grade(2 * usual, 2 * longest)
        self._candidates = _candidates(count).between(-np.inf, self.highest)
        self.lowest = float(self._candidates.complexity[0])

    def draw(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw a pair with ``low <= complexity <= high``, each with probability 2^-complexity.

        Returns:
            The pair; ``None`` when there is none.
        """
        band = self._candidates.between(low, high)
        if not len(band.count):
            return None
        least = band.complexity[0]  # keeps the weights from vanishing
        weights = np.cumsum(band.count * np.exp2(least - band.complexity))
        for _ in range(TRIES):
            entry = _choose_pair(rng, weights)
            found = self._draw_alike(rng, int(band.letters[entry]), int(band.bits[entry]))
            if found is not None:
                return found
        return None

    def _draw_alike(self, rng: np.random.Generator, letters: int, bits: int) -> Instance | None:
        """A candidate with so many letters and bits, if both of its expressions are shortest."""
        count = self._expressions.count
        first, last = _lengths(letters, self._expressions.longest)
        most = min(bits, count.shape[1] - 1)
        good = count[first : last + 1, bits - most : most + 1]
        # Evil's path has the letters and bits that Good's leaves: the same table, read backwards.
        weights = np.cumsum(good * good[::-1, ::-1])
        place = _choose_pair(rng, weights)
        row, column = divmod(place, good.shape[1])
        length, size = first + row, bits - most + column
        good_path = self._expressions.draw(rng, length, size)
        if good_path is None:
            return None
        evil_path = self._expressions.draw(rng, letters - length, bits - size)
        return None if evil_path is None else _instance(good_path, evil_path)

    def listed(self, low: float, high: float, most: int) -> list[Instance] | None:
        """All pairs of a band, by complexity, Good's path and Evil's.

        Returns:
            The pairs; ``None`` when they are more than ``most``, or too many to be looked through.
        """
        band = self._candidates.between(low, high)
        if band.count.sum() > REFUSED_AT_MOST * most:
            return None
        found: list[Instance] = []
        for letters, bits in zip(band.letters.tolist(), band.bits.tolist(), strict=True):
            found += self._alike(letters, bits)
            if len(found) > most:
                return None
        return found

    def _alike(self, letters: int, bits: int) -> list[Instance]:
        """All pairs with so many letters and bits."""
        expressions = self._expressions
        first, last = _lengths(letters, expressions.longest)
        found: list[Instance] = []
        for length in range(first, last + 1):
            for size in np.flatnonzero(expressions.count[length, : bits + 1]).tolist():
                evil_paths = expressions.paths(letters - length, bits - size)
                if evil_paths:  # else Good's paths may be very many, for nothing
                    good_paths = expressions.paths(length, size)
                    found += [_instance(*pair) for pair in product(good_paths, evil_paths)]
        return found

    def nearest(self, wanted: float) -> list[float]:
        """The nearest complexities below and above for which there is a pair."""
        known = np.unique(self._candidates.complexity)
        rng = np.random.default_rng(0)  # what is drawn is only asked whether it is there
        place = int(np.searchsorted(known, wanted))
        found = []
        for side in (known[:place][::-1], known[place:]):
            there = (each for each in side.tolist() if self.draw(rng, each, each) is not None)
            found += list(islice(there, 1))
        return found


@lru_cache(maxsize=8)
def pairs(longest: int) -> Pairs:
    """The pairs of paths up to a length, counted once."""
    return Pairs(longest)


def _candidates(count: FloatArray) -> Candidates:
    """All pairs of expressions, given how many expressions there are of each kind."""
    longest = len(count) - 1
    table = np.zeros((2 * longest + 1, 2 * count.shape[1] - 1))
    for good in range(1, longest + 1):
        for evil in range(1, longest + 1):
            table[good + evil] += np.convolve(count[good], count[evil])
    letters, bits = np.nonzero(table)
    complexity = np.array(
        [grade(size, length) for length, size in zip(letters.tolist(), bits.tolist(), strict=True)]
    )
    order = np.argsort(complexity, kind="stable")
    return Candidates(
        complexity[order], letters[order], bits[order], table[letters[order], bits[order]]
    )


def _lengths(letters: int, longest: int) -> tuple[int, int]:
    """The shortest and the longest that one path can be, given the letters of both."""
    return max(1, letters - longest), min(longest, letters - 1)


def _choose_pair(rng: np.random.Generator, cumulative: FloatArray) -> int:
    """A place with probability in proportion to its weight, given the sums of weights up to it."""
    return int(np.searchsorted(cumulative, rng.random() * cumulative[-1], side="right"))


def _instance(good: str, evil: str) -> Instance:
    return Instance({"good": good, "evil": evil})
