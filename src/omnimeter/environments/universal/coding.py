"""The prefix code of Markov algorithms: lengths, drawing by fair coins, and all programs in order.

The base alphabet is known and not written. Every list of what may come next is a truncated binary
choice, every number an Elias gamma word, here γ:

- program: γ(auxiliaries + 1), then ``1`` and a rule for each rule, then ``0``;
- rule: ``1`` if the program ends with it, else ``0``; the left list; the right list;
- list: γ(length + 1), then the items;
- item of the left: a choice among the symbols, alternatives, option, wildcard, marked, and, once a
  group of the rule has ended, reference;
- item of the right: a choice among the symbols, Δ, ∇, marked, and, if the left has groups,
  reference;
- alternatives: γ(number - 1), then a list each; option: γ(length), then the items; wildcard:
  γ(excluded + 1), then each excluded symbol as a choice; reference: a choice among the groups that
  have ended; marked: an item that is not marked (on the right: a symbol or a reference).

A set of programs has γ(programs + 1), γ(auxiliaries + 1) for the union of their auxiliaries, and
their rules as above, but after the ``1`` stands ``1`` and the rule if it is new, or ``0`` and a
choice among the rules so far: shared rules are written once (Lambda thesis, 3.6.6).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from itertools import count, islice, permutations
from typing import TypeVar

import numpy as np

from omnimeter.complexity import (
    elias_gamma,
    elias_gamma_length,
    read_elias_gamma,
    read_truncated_binary,
    truncated_binary,
    truncated_binary_length,
)
from omnimeter.contract import InvalidInputError
from omnimeter.environments.universal.language import (
    MAX_AUXILIARIES,
    MAX_DEPTH,
    RECALL,
    STORE,
    Alternatives,
    Item,
    Marked,
    Option,
    Program,
    Reference,
    Rule,
    Wildcard,
)

Items = tuple[Item, ...]
T = TypeVar("T")


def _kinds(right: bool, marked: bool, groups: int) -> tuple[int | type, ...]:
    """What an item may be besides a symbol, in the order of the code."""
    kinds: tuple[int | type, ...] = (STORE, RECALL) if right else (Alternatives, Option, Wildcard)
    if marked:  # neither is marked again, nor what has no symbol
        kinds = () if right else kinds
    else:
        kinds += (Marked,)
    return kinds + (Reference,) * (groups > 0)


# Writing


def encode(program: Program) -> str:
    """The code word of a program."""
    writer = _Writer(len(program.symbols))
    rules = "".join("1" + writer.rule(rule) for rule in program.rules)
    return elias_gamma(len(program.auxiliaries) + 1) + rules + "0"


def code_length(program: Program) -> int:
    """The number of bits of a program's code word."""
    return len(encode(program))


class _Writer:
    """Writes rules over so many symbols."""

    def __init__(self, symbols: int) -> None:
        self.symbols = symbols
        self.groups = 0  # of the rule, as far as they have ended

    def rule(self, rule: Rule) -> str:
        self.groups = 0
        left = self.items(rule.left)
        return f"{rule.final:d}" + left + self.items(rule.right, right=True)

    def items(self, items: Items, right: bool = False, fewest: int = 0) -> str:
        words = (self.item(item, right) for item in items)
        return elias_gamma(len(items) + 1 - fewest) + "".join(words)

    def item(self, item: Item, right: bool, marked: bool = False) -> str:
        kinds = _kinds(right, marked, self.groups)
        if isinstance(item, int):
            number = item if item >= 0 else self.symbols + kinds.index(item)
        else:
            number = self.symbols + kinds.index(type(item))
        word = truncated_binary(number, self.symbols + len(kinds))
        match item:
            case Alternatives(choices):
                word += elias_gamma(len(choices) - 1) + "".join(map(self.items, choices))
                self.groups += 1
            case Option(items):
                word += self.items(items, fewest=1)
            case Wildcard(excluded):
                words = (truncated_binary(symbol, self.symbols) for symbol in excluded)
                word += elias_gamma(len(excluded) + 1) + "".join(words)
                self.groups += 1
            case Marked(inner):
                word += self.item(inner, right, marked=True)
            case Reference(group):
                word += truncated_binary(group, self.groups)
        return word


# Reading and drawing


def decode(bits: str, alphabet: Sequence[str]) -> Program:
    """The program of a code word; its auxiliary symbols are named X1, X2 and so on.

    Raises:
        InvalidInputError: This is not exactly one code word.
    """
    return _decode(bits, alphabet, lambda reader: reader.program())


def draw(rng: np.random.Generator, alphabet: Sequence[str], longest: int) -> Program | None:
    """The program that fair coins write: each with probability 2 to the minus its code's length.

    Args:
        rng: The random generator; ``longest`` coins are taken from it, whatever they say.
        alphabet: The base alphabet.
        longest: The largest number of bits.

    Returns:
        The program, or None if the coins wrote none of at most ``longest`` bits.
    """
    bits = "".join(map(str, rng.integers(2, size=longest).tolist()))
    try:
        return _Reader(bits, tuple(alphabet)).program()
    except ValueError:
        return None


def _decode(bits: str, alphabet: Sequence[str], read: Callable[[_Reader], T]) -> T:
    reader = _Reader(bits, tuple(alphabet))
    try:
        _require(not bits.strip("01"))
        value = read(reader)
        _require(reader.at == len(bits))
    except ValueError:
        raise InvalidInputError(
            f"These {len(bits)} bits are not a code word: they cannot be read from bit "
            f"{reader.at + 1} on.",
            "Give exactly what was written, with the same base alphabet.",
        ) from None
    return value


def _require(condition: bool) -> None:
    if not condition:
        raise ValueError


class _Reader:
    """Reads code words from left to right; ValueError where they are none."""

    def __init__(self, bits: str, alphabet: tuple[str, ...]) -> None:
        self.bits, self.alphabet = bits, alphabet
        self.at = 0
        self.symbols = len(alphabet)
        self.groups = 0

    def number(self) -> int:
        number, self.at = read_elias_gamma(self.bits, self.at)
        return number

    def choice(self, among: int) -> int:
        number, self.at = read_truncated_binary(self.bits, self.at, among)
        return number

    def auxiliaries(self) -> tuple[str, ...]:
        number, at = read_elias_gamma(self.bits, self.at)
        _require(number - 1 <= MAX_AUXILIARIES)
        self.at = at
        self.symbols = len(self.alphabet) + number - 1
        names = (f"X{index}" for index in count(1) if f"X{index}" not in self.alphabet)
        return tuple(islice(names, number - 1))

    def program(self) -> Program:
        auxiliaries = self.auxiliaries()
        rules: list[Rule] = []
        while self.choice(2):
            rules.append(self.rule())
        return Program(self.alphabet, auxiliaries, tuple(rules))

    def rule(self) -> Rule:
        self.groups = 0
        final = bool(self.choice(2))
        left = self.items()
        return Rule(left, self.items(right=True), final)

    def items(self, right: bool = False, fewest: int = 0, depth: int = 0) -> Items:
        _require(depth <= MAX_DEPTH)
        length = self.number() - 1 + fewest
        return tuple(self.item(right, depth) for _ in range(length))

    def item(self, right: bool, depth: int, marked: bool = False) -> Item:
        kinds = _kinds(right, marked, self.groups)
        number = self.choice(self.symbols + len(kinds))
        if number < self.symbols:
            return number
        item: Item
        kind = kinds[number - self.symbols]
        if kind is Alternatives:
            choices = self.number() + 1
            item = Alternatives(tuple(self.items(depth=depth + 1) for _ in range(choices)))
            self.groups += 1
        elif kind is Option:
            item = Option(self.items(fewest=1, depth=depth + 1))
        elif kind is Wildcard:
            excluded, at = read_elias_gamma(self.bits, self.at)
            _require(excluded - 1 <= self.symbols)
            self.at = at
            item = Wildcard(tuple(self.choice(self.symbols) for _ in range(excluded - 1)))
            _require(len(set(item.excluded)) == len(item.excluded))
            self.groups += 1
        elif kind is Marked:
            item = Marked(self.item(right, depth, marked=True))
        elif kind is Reference:
            item = Reference(self.choice(self.groups))
        else:
            item = STORE if kind == STORE else RECALL
        return item


# Sets


def set_length(programs: Sequence[Program]) -> int:
    """The number of bits of the code word of programs that share rules."""
    return len(encode_set(programs))


def encode_set(programs: Sequence[Program]) -> str:
    """The code word of programs over the same base alphabet, in their order.

    Auxiliary symbols of the same name are the same symbol, and a rule that two programs have is
    written once.
    """
    alphabets = {program.alphabet for program in programs}
    if len(alphabets) > 1:
        raise ValueError("the programs of a set need the same base alphabet")
    base = next(iter(alphabets), ("",))
    union = dict.fromkeys(name for program in programs for name in program.auxiliaries)
    names = {name: index for index, name in enumerate((*base, *union))}
    writer = _Writer(len(names))
    known: list[Rule] = []
    word = elias_gamma(len(programs) + 1) + elias_gamma(len(union) + 1)
    for program in programs:
        indices = {index: names[name] for index, name in enumerate(program.symbols)}
        for each in program.rules:
            left, right = _renumbered(each.left, indices), _renumbered(each.right, indices)
            rule = Rule(left, right, each.final)
            if rule in known:
                word += "10" + truncated_binary(known.index(rule), len(known))
            else:
                word += "11" + writer.rule(rule)
                known.append(rule)
        word += "0"
    return word


def _renumbered(items: Items, indices: Mapping[int, int]) -> Items:
    """The same items with other indices of the symbols."""
    renumbered: list[Item] = []
    for item in items:
        match item:
            case Alternatives(choices):
                choices = tuple(_renumbered(choice, indices) for choice in choices)
                renumbered.append(Alternatives(choices))
            case Option(inner):
                renumbered.append(Option(_renumbered(inner, indices)))
            case Wildcard(excluded):
                renumbered.append(Wildcard(tuple(indices[symbol] for symbol in excluded)))
            case Marked(marked):
                renumbered.append(Marked(_renumbered((marked,), indices)[0]))
            case Reference():
                renumbered.append(item)
            case symbol:
                renumbered.append(indices.get(symbol, symbol))  # STORE and RECALL stay
    return tuple(renumbered)


def decode_set(bits: str, alphabet: Sequence[str]) -> tuple[Program, ...]:
    """The programs of a code word, all with the auxiliary symbols of the set: X1, X2 and so on.

    A wildcard then stands for the others' symbols too. This changes no run, because they do not
    come into the program's strings.

    Raises:
        InvalidInputError: This is not exactly one code word of a set.
    """
    return _decode(bits, alphabet, _read_set)


def _read_set(reader: _Reader) -> tuple[Program, ...]:
    number = reader.number() - 1
    auxiliaries = reader.auxiliaries()
    known: list[Rule] = []
    programs: list[Program] = []
    for _ in range(number):
        rules: list[Rule] = []
        while reader.choice(2):
            if reader.choice(2):
                rule = reader.rule()
                _require(rule not in known)
                known.append(rule)
            else:
                rule = known[reader.choice(len(known))]
            rules.append(rule)
        programs.append(Program(reader.alphabet, auxiliaries, tuple(rules)))
    return tuple(programs)


# All programs of a length

MIN_ITEM = 2
"""The bits of the shortest item: it is chosen among at least four."""


def programs_of_length(bits: int, alphabet: Sequence[str]) -> Iterator[Program]:
    """All programs whose code has exactly so many bits; their symbols are named as by ``decode``.

    There are up to two to the power of ``bits``: this is for small numbers.
    """
    for auxiliaries in range(MAX_AUXILIARIES + 1):
        header = elias_gamma(auxiliaries + 1)
        if len(header) < bits:
            names = _Reader(header, tuple(alphabet)).auxiliaries()
            for rules in _rule_sequences(bits - len(header), len(alphabet), auxiliaries):
                yield Program(tuple(alphabet), names, rules)


def _rule_sequences(bits: int, base: int, auxiliaries: int) -> Iterator[tuple[Rule, ...]]:
    if bits == 1:
        yield ()
    for first in range(bits - 1):
        for rule in rules_of_length(first, base, auxiliaries):
            for rest in _rule_sequences(bits - 1 - first, base, auxiliaries):
                yield (rule, *rest)


@cache
def rules_of_length(bits: int, base: int, auxiliaries: int) -> tuple[Rule, ...]:
    """All rules over so many symbols whose code has exactly so many bits."""
    symbols = base + auxiliaries
    return tuple(
        Rule(left, right, final)
        for final in (False, True)
        for left_bits in range(bits)
        for left, groups in _lists(left_bits, symbols, 0, False)
        for right, _ in _lists(bits - 1 - left_bits, symbols, groups, True)
    )


@cache
def _lists(
    bits: int, symbols: int, groups: int, right: bool, fewest: int = 0
) -> tuple[tuple[Items, int], ...]:
    """The lists of so many bits after so many groups, each with the number of groups after it."""
    return tuple(
        each
        for length in range(fewest, fewest + bits)
        if (rest := bits - elias_gamma_length(length + 1 - fewest)) >= MIN_ITEM * length
        for each in _sequences(rest, length, symbols, groups, right)
    )


@cache
def _sequences(
    bits: int, length: int, symbols: int, groups: int, right: bool
) -> tuple[tuple[Items, int], ...]:
    """The sequences of so many items."""
    if length == 0:
        return (((), groups),) if bits == 0 else ()
    return tuple(
        ((item, *rest), after)
        for first in range(MIN_ITEM, bits - MIN_ITEM * (length - 1) + 1)
        for item, before in _items(first, symbols, groups, right)
        for rest, after in _sequences(bits - first, length - 1, symbols, before, right)
    )


@cache
def _choices(
    bits: int, number: int, symbols: int, groups: int
) -> tuple[tuple[tuple[Items, ...], int], ...]:
    """So many lists in a row, on the left."""
    if number == 0:
        return (((), groups),) if bits == 0 else ()
    return tuple(
        ((choice, *rest), after)
        for first in range(1, bits - number + 2)
        for choice, before in _lists(first, symbols, groups, False)
        for rest, after in _choices(bits - first, number - 1, symbols, before)
    )


@cache
def _items(
    bits: int, symbols: int, groups: int, right: bool, marked: bool = False
) -> tuple[tuple[Item, int], ...]:
    """The items of so many bits."""
    kinds = (*range(symbols), *_kinds(right, marked, groups))
    items: list[tuple[Item, int]] = []
    for number, kind in enumerate(kinds):
        rest = bits - truncated_binary_length(number, len(kinds))
        if isinstance(kind, int):
            items += [(kind, groups)] * (rest == 0)
        elif kind is Alternatives:
            items += [
                (Alternatives(choices), after + 1)
                for total in range(2, rest + 1)
                for choices, after in _choices(
                    rest - elias_gamma_length(total - 1), total, symbols, groups
                )
            ]
        elif kind is Option:
            lists = _lists(rest, symbols, groups, False, 1)
            items += [(Option(inner), after) for inner, after in lists]
        elif kind is Wildcard:
            items += [(each, groups + 1) for each in _wildcards(rest, symbols)]
        elif kind is Marked:
            inner_items = _items(rest, symbols, groups, right, True)
            items += [(Marked(inner), after) for inner, after in inner_items]
        else:
            references = [
                number
                for number in range(groups)
                if rest == truncated_binary_length(number, groups)
            ]
            items += [(Reference(number), groups) for number in references]
    return tuple(items)


@cache
def _wildcards(bits: int, symbols: int) -> tuple[Wildcard, ...]:
    """The wildcards of so many bits."""
    shortest = truncated_binary_length(0, symbols)
    return tuple(
        Wildcard(excluded)
        for total in range(symbols + 1)
        if (rest := bits - elias_gamma_length(total + 1)) >= shortest * total
        for excluded in permutations(range(symbols), total)
        if rest == sum(truncated_binary_length(symbol, symbols) for symbol in excluded)
    )
