r"""Markov algorithms in the notation of the Lambda thesis (2.1.6, 3.6.6): read, print and expand.

A program is an ordered sequence of rules ``LEFT → RIGHT``, or ``LEFT →· RIGHT`` where it ends (in
ASCII ``->`` and ``->.``), separated by line ends or ``;``. ``#`` begins a comment.

- A symbol is one character that may have a subscript: ``l``, ``+``, ``A1``, ``E_I``. A backslash
  makes a symbol of a character that has a meaning here: ``\|``.
- Symbols beyond the base alphabet are declared by a first line such as ``symbols Φ E_I E_D``.
- On the left ``(p|q)`` is one of several sequences, ``[p]`` one that may be absent, ``χ`` any
  symbol, and ``(χ ∉ {A, B})`` any but these.
- A subscript binds: all of ``(p|q)_2``, or of ``χ_1``, stand for the same, on the right too.
  What was absent on the left is absent on the right, which may be written ``[χ_1]``. A group with
  bound groups of its own is repeated as ``(…)_2``.
- ``^Δ`` after a symbol or a group puts only this symbol into memory when the rule is applied.
- On the right ``Δ`` puts the whole string into memory, and ``∇`` stands for what is in memory.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from typing import NamedTuple, NoReturn, TypeAlias

from omnimeter.contract import InvalidInputError

STORE = -1
RECALL = -2

MAX_AUXILIARIES = 255
MAX_DEPTH = 32
"""How deep groups may stand within groups."""
MAX_PLAIN_RULES = 4_096
MAX_PLAIN_SYMBOLS = 4_096
"""How many symbols a side of a plain rule may have: values within values grow fast."""

# Programs

Item: TypeAlias = "int | Alternatives | Option | Wildcard | Marked | Reference"
"""A part of a rule's side; a symbol is its index, and the right has STORE and RECALL besides."""


@dataclass(frozen=True)
class Alternatives:
    """One of several sequences. A group, as wildcards are."""

    choices: tuple[tuple[Item, ...], ...]


@dataclass(frozen=True)
class Option:
    """A sequence that may be absent."""

    items: tuple[Item, ...]


@dataclass(frozen=True)
class Wildcard:
    """Any symbol of the program's alphabet, auxiliaries included, but some. A group."""

    excluded: tuple[int, ...] = ()


@dataclass(frozen=True)
class Reference:
    """What an earlier group of the rule stands for; nothing if that is absent.

    Attributes:
        group: The number of the group, in the order in which the rule's groups end, from 0.
    """

    group: int


@dataclass(frozen=True)
class Marked:
    """An item whose last symbol is put into memory; of several marks in a rule the last counts."""

    item: Item


@dataclass(frozen=True)
class Rule:
    """A rule in the enriched notation; the right has symbols, references and their marks only."""

    left: tuple[Item, ...]
    right: tuple[Item, ...]
    final: bool = False


@dataclass(frozen=True)
class Program:
    """A Markov algorithm.

    Attributes:
        alphabet: The symbols of its input and output.
        auxiliaries: Its further symbols, whose indices follow.
        rules: The rules, in the order in which they are tried.
    """

    alphabet: tuple[str, ...]
    auxiliaries: tuple[str, ...] = ()
    rules: tuple[Rule, ...] = ()

    def __post_init__(self) -> None:
        wrong = [name for name in self.symbols if not (NAME.fullmatch(name) and name.isprintable())]
        twice = {name for name in self.symbols if self.symbols.count(name) > 1}
        if wrong:
            fault = f"{wrong[0]!r} is not the name of a symbol."
            advice = "A symbol is one character that may have a subscript: l, +, A1, E_I."
        elif twice:
            fault = f"The alphabet has the symbol {min(twice)!r} twice."
            advice = "Declare each symbol once, and none of the base alphabet."
        elif not self.alphabet or len(self.auxiliaries) > MAX_AUXILIARIES:
            fault = f"A program has a base alphabet and at most {MAX_AUXILIARIES} other symbols."
            advice = "Declare fewer symbols." if self.alphabet else "Give at least one symbol."
        else:
            return
        raise InvalidInputError(fault, advice)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The names of all symbols; the index of a symbol is its place here."""
        return self.alphabet + self.auxiliaries

    def __str__(self) -> str:
        return format_program(self)


def walk(items: Iterable[Item]) -> Iterator[Item]:
    """All items at any depth, each after those within it: groups in the order of their numbers."""
    for item in items:
        match item:
            case Alternatives(choices):
                for choice in choices:
                    yield from walk(choice)
            case Option(inner):
                yield from walk(inner)
            case Marked(marked):
                yield from walk((marked,))
        yield item


def groups_in(items: Iterable[Item]) -> int:
    """The number of groups in a sequence, at any depth."""
    return sum(isinstance(item, Alternatives | Wildcard) for item in walk(items))


# Reading

RESERVED = "()[]{}|,;#\\^_→>·.χ∉Δ∆∇…"
SUBSCRIPT = r"(?:(?<=[^\W\d_])[0-9]+|_[^\W_χΔ]+)?"  # digits directly only after a letter
NAME = re.compile(rf"\S{SUBSCRIPT}")
TOKEN = re.compile(
    rf"""(?P<blank>[^\S\n]+|\#.*)
    | (?P<end>[\n;])
    | (?P<arrow>(?:→|->)[^\S\n]*(?P<final>[·.])?)
    | (?P<wildcard>χ(?:_?(?P<bound>[0-9]+))?)
    | (?P<subscript>_[0-9]+)
    | (?P<mark>\^(?:[^\S\n]*[Δ∆])?)
    | (?P<sign>[()\[\]{{}}|,∉Δ∆∇…])
    | \\(?P<escaped>\S{SUBSCRIPT})
    | (?P<symbol>[^\s{re.escape(RESERVED)}]{SUBSCRIPT})""",
    re.VERBOSE,
)
DECLARATION = re.compile(r"symbols(?=[\s;#]|$)")
SIGNS = {"Δ": STORE, "∇": RECALL}
LEFT_ITEMS = "a symbol, 'χ', '(', '['"
RIGHT_ITEMS = "a symbol, 'Δ', '∇', or a group of the left side with its subscript"
ADVICE = (
    "A rule looks like [χ_1]A1(π|⊙)_2 → (π|⊙)_2[χ_1], or L^Δ →· l where the program ends. Before a "
    "sign that has a meaning of its own, a backslash makes it a symbol."
)


class _Token(NamedTuple):
    kind: str
    value: str
    at: int

    def __str__(self) -> str:
        shown = repr(spelled(self.value) if self.kind == "symbol" else self.value)
        return "the end of the rule" if self.kind == "end" else shown


def parse(text: str, alphabet: Sequence[str]) -> Program:
    """The program of a text.

    Args:
        text: The rules, after a line that declares the auxiliary symbols if there are any.
        alphabet: The base alphabet.

    Raises:
        InvalidInputError: The text is malformed, or a symbol is not in the alphabet.
    """
    rules = [each for each in _statements(text) if len(each) > 1]
    declared: list[_Token] = []
    if rules and DECLARATION.match(text, rules[0][0].at):
        is_rule = any(token.kind == "arrow" for token in rules[0])
        declared = [] if is_rule else rules.pop(0)[len("symbols") : -1]
    for token in declared:
        if token.kind != "symbol":
            _malformed(text, token, "a symbol")
    program = Program(tuple(alphabet), tuple(token.value for token in declared))
    indices = {name: index for index, name in enumerate(program.symbols)}
    parsed = (_RuleParser(text, tokens, indices).rule() for tokens in rules)
    return replace(program, rules=tuple(parsed))


def _statements(text: str) -> Iterator[list[_Token]]:
    """The tokens of each rule, an ``end`` after them."""
    tokens: list[_Token] = []
    at = 0
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            _malformed(text, _Token("sign", text[at], at), "a rule")
        kind, value = match.lastgroup or "", match.group()
        if kind == "arrow":
            value = "→·" if match["final"] else "→"
        elif kind in {"wildcard", "subscript"}:
            number = match["bound"] or value[1:]
            value = f"{value[0].strip('_')}_{int(number)}" if number else value
        elif kind == "sign":
            value = value.replace("∆", "Δ")
        elif kind == "escaped":
            kind, value = "symbol", match["escaped"]
        if kind != "blank":
            tokens.append(_Token(kind, value, at))
        if kind == "end":
            yield tokens
            tokens = []
        at = match.end()
    yield [*tokens, _Token("end", "", at)]


def _malformed(text: str, token: _Token, expected: str) -> NoReturn:
    raise InvalidInputError(
        f"The program is malformed at {_place(text, token)}: found {token}, expected {expected}.",
        ADVICE,
    )


def _place(text: str, token: _Token) -> str:
    lines = text[: token.at].split("\n")
    return f"line {len(lines)}, column {len(lines[-1]) + 1}"


class _RuleParser:
    """Reads the tokens of a rule from left to right."""

    def __init__(self, text: str, tokens: list[_Token], indices: Mapping[str, int]) -> None:
        self.text, self.tokens, self.indices = text, tokens, indices
        self.at = 0
        self.groups = 0
        self.bound: dict[str, tuple[int, Item]] = {}  # by subscript: the group's number, and itself

    def rule(self) -> Rule:
        left = self.sequence(0)
        arrow = self.next()
        if arrow.kind != "arrow":
            _malformed(self.text, arrow, f"{LEFT_ITEMS} or an arrow")
        right: list[Item] = []
        while self.tokens[self.at].kind != "end":
            brackets = self.skip("[")
            item = self.right_item(only_references=brackets)
            if brackets:
                self.expect("']'")
            right.append(item if item in SIGNS.values() else self.marked(item))
        return Rule(left, tuple(right), arrow.value == "→·")

    def next(self) -> _Token:
        token = self.tokens[self.at]
        self.at += token.kind != "end"
        return token

    def skip(self, sign: str) -> bool:
        """Whether this sign comes next; it is then behind."""
        is_next = self.tokens[self.at][:2] == ("sign", sign)
        self.at += is_next
        return is_next

    def expect(self, expected: str) -> None:
        """Pass the sign that is the last of what may come next."""
        if not self.skip(expected[-2]):
            _malformed(self.text, self.tokens[self.at], expected)

    def symbol(self) -> int:
        token = self.next()
        if token.kind != "symbol":
            _malformed(self.text, token, "a symbol")
        if token.value not in self.indices:
            raise InvalidInputError(
                f"The alphabet lacks {token} ({_place(self.text, token)}); its symbols are "
                f"{' '.join(map(spelled, self.indices))}.",
                f"Declare it by a first line 'symbols {spelled(token.value)}', or separate symbols "
                "by spaces: digits after a letter, and what follows a _, are its subscript.",
            )
        return self.indices[token.value]

    def sequence(self, depth: int) -> tuple[Item, ...]:
        """The items of a left side up to what cannot be one."""
        if depth > MAX_DEPTH:
            raise InvalidInputError(
                f"Groups stand more than {MAX_DEPTH} deep within groups at "
                f"{_place(self.text, self.tokens[self.at])}.",
                "Write the rule as several rules.",
            )
        items: list[Item] = []
        while (item := self.left_item(depth)) is not None:
            items.append(self.marked(item))
        return tuple(items)

    def choices(self, depth: int) -> tuple[tuple[Item, ...], ...]:
        choices = [self.sequence(depth)]
        while self.skip("|"):
            choices.append(self.sequence(depth))
        return tuple(choices)

    def marked(self, item: Item) -> Item:
        if self.tokens[self.at].kind != "mark":
            return item
        self.next()
        return Marked(item)

    def left_item(self, depth: int) -> Item | None:
        first, groups = self.tokens[self.at], self.groups
        item: Item | None = None
        if first.kind == "symbol":
            item = self.symbol()
        elif first.kind == "wildcard":
            item = self.group(Wildcard(), self.next(), first, groups)
        elif self.skip("("):
            inner = self.next()
            if inner.kind == "wildcard" and self.skip("∉"):
                item = self.group(self.wildcard(), inner, first, groups)
            elif inner[:2] == ("sign", "…"):
                self.expect("')'")
                item = self.group(None, self.next(), first, groups)
            else:
                self.at -= inner.kind != "end"
                choices = self.choices(depth + 1)
                self.expect(f"{LEFT_ITEMS}, '|' or ')'" if choices[1:] else f"{LEFT_ITEMS} or '|'")
                has_subscript = self.tokens[self.at].kind == "subscript"
                item = self.group(
                    Alternatives(choices), self.next() if has_subscript else first, first, groups
                )
        elif self.skip("["):
            choices = self.choices(depth + 1)
            self.expect(LEFT_ITEMS if choices == ((),) else f"{LEFT_ITEMS}, '|' or ']'")
            item = Option(choices[0])
            if choices[1:]:
                item = Option((self.group(Alternatives(choices), first, first, groups),))
        return item

    def wildcard(self) -> Wildcard:
        """What follows the sign ∉."""
        self.expect("'{'")
        excluded: list[int] = []
        while not self.skip("}"):
            if excluded:
                self.expect("'}' or ','")
            token = self.tokens[self.at]
            symbol = self.symbol()
            if symbol in excluded:
                _malformed(self.text, token, "each symbol once")
            excluded.append(symbol)
        self.expect("')'")
        return Wildcard(tuple(excluded))

    def group(self, item: Item | None, name: _Token, first: _Token, groups: int) -> Item:
        """The group that ends here, or the reference to an earlier one with the same subscript.

        Args:
            item: The group as it was written here; None as ``(…)``.
            name: The token that ends in the subscript, if it has one.
            first: Where the group begins.
            groups: How many groups there were before.
        """
        _, _, subscript = name.value.partition("_")
        if item is not None and subscript not in self.bound:
            if subscript:
                self.bound[subscript] = (self.groups, item)
            self.groups += 1
            return item
        number, known = self.bound.get(subscript, (-1, None))
        is_wildcard = item == Wildcard() and isinstance(known, Wildcard)
        if known is None or not (item is None or item == known or is_wildcard):
            same = f"with the subscript {subscript} as before" if known else "that was bound before"
            _malformed(self.text, first, f"a group {same}")
        self.groups = groups
        self.bound = {key: each for key, each in self.bound.items() if each[0] < groups}
        return Reference(number)

    def right_item(self, only_references: bool) -> Item:
        token = self.tokens[self.at]
        if not only_references:
            if token.kind == "symbol":
                return self.symbol()
            for sign, item in SIGNS.items():
                if self.skip(sign):
                    return item
        is_group = token.kind == "wildcard" or token[:2] == ("sign", "(")
        reference = self.left_item(0) if is_group else None
        if not isinstance(reference, Reference):
            _malformed(self.text, token, RIGHT_ITEMS)
        return reference


# Printing


def spelled(name: str) -> str:
    """A symbol as it is written in a program."""
    return f"\\{name}" if name[0] in RESERVED else name


def format_program(program: Program) -> str:
    """The text of a program, which ``parse`` reads again."""
    lines = [format_rule(rule, program.symbols) for rule in program.rules]
    if program.auxiliaries:
        lines.insert(0, f"symbols {' '.join(map(spelled, program.auxiliaries))}")
    return "\n".join(lines)


def format_rule(rule: Rule, names: Sequence[str]) -> str:
    """The text of a rule over symbols of these names; only groups that are repeated are bound."""
    items = walk(rule.left + rule.right)
    printer = _Printer(names, sorted({i.group for i in items if isinstance(i, Reference)}))
    left = _joined(printer.pieces(rule.left))
    right = _joined(printer.pieces(rule.right, on_the_right=True))
    return f"{left} {'→·' if rule.final else '→'} {right}".strip()


def _joined(pieces: Sequence[str]) -> str:
    """Pieces in a row, with a space where two would be read as one."""
    text = ""
    for before, piece in zip(["(", *pieces], pieces, strict=False):
        match = TOKEN.match(before + piece)
        text += " " * (match is not None and match.end() > len(before)) + piece
    return text


class _Printed(NamedTuple):
    again: list[str]
    """How a reference to the group is written."""
    may_be_absent: bool


@dataclass
class _Printer:
    """Writes the items of a rule from left to right.

    Attributes:
        names: The names of the symbols.
        bound: The groups with subscripts, in their order.
        groups: The groups so far.
    """

    names: Sequence[str]
    bound: list[int]
    groups: list[_Printed] = field(default_factory=list)

    def pieces(
        self, items: Iterable[Item], within: bool = False, on_the_right: bool = False
    ) -> list[str]:
        """What is written; ``within`` an option or an alternative a group may be absent."""
        written: list[str] = []
        for item in items:
            match item:
                case int():
                    sign = [sign for sign, value in SIGNS.items() if value == item]
                    written += sign or [spelled(self.names[item])]
                case Marked(inner):
                    written += [*self.pieces((inner,), within, on_the_right), "^Δ"]
                case Reference(group):
                    brackets = on_the_right and self.groups[group].may_be_absent
                    again = self.groups[group].again
                    written += ["[", *again, "]"] if brackets else again
                case Option(inner):
                    option = self.pieces(inner, within=True)
                    is_bracketed = len(inner) == 1 and isinstance(inner[0], Alternatives)
                    if is_bracketed and option[-1] == ")":  # without a subscript
                        option = option[1:-1]
                    written += ["[", *option, "]"]
                case Wildcard(excluded):
                    name = f"χ{self.subscript()}"
                    self.groups.append(_Printed([name], within))
                    symbols = ", ".join(spelled(self.names[symbol]) for symbol in excluded)
                    written += ["(", name, " ∉ {", symbols, "})"] if excluded else [name]
                case Alternatives(choices):
                    inside: list[str] = []
                    for choice in choices:
                        inside += ["|", *self.pieces(choice, within=True)]
                    subscript = self.subscript()
                    group_pieces = ["(", *inside[1:], ")", *([subscript] if subscript else [])]
                    is_short = not any(piece.startswith(("_", "χ_")) for piece in inside)
                    again = group_pieces if is_short else ["(", "…", ")", subscript]
                    self.groups.append(_Printed(again, within))
                    written += group_pieces
        return written

    def subscript(self) -> str:
        """The subscript of the next group to end."""
        group = len(self.groups)
        return f"_{self.bound.index(group) + 1}" if group in self.bound else ""


# Expansion


class PlainRule(NamedTuple):
    """A rule without groups.

    Attributes:
        left: The symbols that it replaces.
        right: What they are replaced by: symbols, STORE and RECALL.
        final: Whether the program ends with it.
        saved: The symbol that it puts into memory; -1 if there is none.
    """

    left: tuple[int, ...]
    right: tuple[int, ...]
    final: bool = False
    saved: int = -1


class _Part(NamedTuple):
    """One way to expand a sequence: its symbols, the last marked one, and the values of groups."""

    symbols: tuple[int, ...]
    saved: int
    values: Mapping[int, tuple[int, ...]]


def number_of_plain_rules(program: Program) -> int:
    """How many plain rules a program stands for, however many these are."""
    return sum(_number(rule.left, len(program.symbols)) for rule in program.rules)


def _number(items: Iterable[Item], symbols: int) -> int:
    return prod(_number_of_values(item, symbols) for item in items)


def _number_of_values(item: Item, symbols: int) -> int:
    match item:
        case Alternatives(choices):
            return sum(_number(choice, symbols) for choice in choices)
        case Option(items):
            return _number(items, symbols) + 1
        case Wildcard(excluded):
            return symbols - len(excluded)
        case Marked(marked):
            return _number_of_values(marked, symbols)
    return 1


def expand(program: Program) -> tuple[PlainRule, ...]:
    """The plain rules of a program, in the order in which they are tried.

    The first choice of a rule varies slowest; what may be absent is first present; wildcards go
    through the alphabet in its order.

    Raises:
        InvalidInputError: There are too many plain rules, or too long ones.
    """
    symbols = len(program.symbols)
    if number_of_plain_rules(program) > MAX_PLAIN_RULES:
        most = max(program.rules, key=lambda rule: _number(rule.left, symbols))
        raise InvalidInputError(
            f"The program stands for more than {MAX_PLAIN_RULES:,} plain rules, most of them of "
            f"its rule {format_rule(most, program.symbols)}.",
            "Use fewer wildcards or alternatives in one rule.",
        )
    plain: list[PlainRule] = []
    for rule in program.rules:
        for part in _parts(rule.left, 0, {}, symbols):
            right = _parts(rule.right, 0, part.values, symbols)[0]
            saved = part.saved if right.saved < 0 else right.saved
            plain.append(PlainRule(part.symbols, right.symbols, rule.final, saved))
    return tuple(plain)


def _parts(
    items: Sequence[Item], group: int, values: Mapping[int, tuple[int, ...]], symbols: int
) -> list[_Part]:
    """All ways to expand a sequence, of which ``group`` is the number of its first group."""
    if not _number(items, symbols):
        return []  # so that no product is computed of which nothing remains
    parts = [_Part((), -1, values)]
    for item in items:
        parts = [
            _Part(
                before.symbols + after.symbols,
                before.saved if after.saved < 0 else after.saved,
                after.values,
            )
            for before in parts
            for after in _values(item, group, before.values, symbols)
        ]
        group += groups_in((item,))
        if any(len(part.symbols) > MAX_PLAIN_SYMBOLS for part in parts):
            raise InvalidInputError(
                f"A plain rule of the program has more than {MAX_PLAIN_SYMBOLS:,} symbols.",
                "Use fewer groups with subscripts within others.",
            )
    return parts


def _values(
    item: Item, group: int, values: Mapping[int, tuple[int, ...]], symbols: int
) -> list[_Part]:
    """All ways to expand an item."""
    match item:
        case Reference(number):
            return [_Part(values.get(number, ()), -1, values)]
        case Marked(marked):
            parts = _values(marked, group, values, symbols)
            return [each._replace(saved=(each.saved, *each.symbols)[-1]) for each in parts]
        case Option(items):
            return [*_parts(items, group, values, symbols), _Part((), -1, values)]
        case Wildcard(excluded):
            rest = [(symbol,) for symbol in range(symbols) if symbol not in excluded]
            return [_Part(symbol, -1, {**values, group: symbol}) for symbol in rest]
        case Alternatives(choices):
            parts = []
            number = group + groups_in((item,)) - 1  # it ends after the groups within
            for choice in choices:
                parts += _parts(choice, group, values, symbols)
                group += groups_in(choice)
            return [each._replace(values={**each.values, number: each.symbols}) for each in parts]
        case symbol:
            return [_Part((symbol,), -1, values)]


def format_plain(rules: Iterable[PlainRule], names: Sequence[str]) -> str:
    """The text of plain rules over symbols of these names, which ``parse`` reads again."""
    return "\n".join(format_rule(_marked_rule(rule), names) for rule in rules)


def _marked_rule(plain: PlainRule) -> Rule:
    """The rule that expands to a plain rule: the last place of the symbol it saves is marked."""
    sides: list[list[Item]] = [list(plain.left), list(plain.right)]
    if plain.saved >= 0:
        side = next(side for side in sides if plain.saved in side)
        place = len(side) - 1 - side[::-1].index(plain.saved)
        side[place] = Marked(plain.saved)
    return Rule(tuple(sides[0]), tuple(sides[1]), plain.final)


# Examples of the thesis


class Example(NamedTuple):
    """A program's text and its base alphabet."""

    alphabet: tuple[str, ...]
    text: str

    def program(self) -> Program:
        """The program."""
        return parse(self.text, self.alphabet)


_OBSERVED = ("s", "l", "r", "S", "L", "R", "π", "⊙", "ω1", ":")

EXAMPLES = {
    "binary-to-unary": Example(
        ("1", "0"),
        r"""symbols \|
\|0 → 0\|\|
1 → 0\|
0 →""",
    ),
    "figure-3.3-space": Example(
        ("l", "r", "+", "-", ":"),
        """symbols L C R
L → lr+:
C → l-r+:
R →· l-r
→ LCCCCR""",
    ),
    "figure-3.3-object": Example(
        _OBSERVED,
        """symbols Φ
S(L|R)^Δ → S
π[⊙]ω1 → ∇Φ
π(χ ∉ {L, R, :}) → π
π(L|R)^Δ →
RΦ →· l
LΦ →· r
→· s""",
    ),
    "figure-3.3-good-and-evil": Example(
        _OBSERVED,
        """symbols E_I E_D Φ_I Φ_F H I D
ω1(χ ∉ {L, R, :}) → ω1
ω1L → E_I
ω1R → E_D
(π|ω1|S|L|R|:) →
⊙(E_I|E_D)_1 → (E_I|E_D)_1⊙
⊙⊙ → Φ_I∇Φ_F
[E_I|E_D]H(I|D)Φ_F → Φ_F
(I|D)_1Φ_F → Φ_F(I|D)_1
Φ_I Φ_F → HΔ
(E_I HI|E_D HD) →· s
HI →· l
HD →· r
H → HIIIDDDΔ""",
    ),
}
"""The programs of the Lambda thesis: 2.1.6, and the environment of its Figure 3.3 (3.6.6)."""
