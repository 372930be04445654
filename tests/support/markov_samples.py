"""Programs of Markov algorithms for property tests: anything that the notation can say."""

from __future__ import annotations

from hypothesis import strategies as st

from omnimeter.environments.universal.language import (
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
    groups_in,
)

ALPHABET = ("a", "1", "A1", "|", "-", ">", "χ", "E_I", "⊙", "s")


@st.composite
def rules(draw: st.DrawFn, symbols: int) -> Rule:
    groups = 0

    def items(depth: int, fewest: int = 0) -> tuple[Item, ...]:
        number = draw(st.integers(fewest, 3))
        return tuple(item(depth) for _ in range(number))

    def item(depth: int, marked: bool = False) -> Item:
        nonlocal groups
        kinds = ["symbol", "symbol", "wildcard"]
        kinds += ["reference"] * 2 * (groups > 0)
        kinds += ["alternatives", "option"] * (depth < 3)
        kinds += ["marked"] * (not marked)
        kind = draw(st.sampled_from(kinds))
        if kind == "marked":
            return Marked(item(depth, marked=True))
        if kind == "option":
            return Option(items(depth + 1, fewest=1))
        if kind == "reference":
            return Reference(draw(st.integers(0, groups - 1)))
        if kind == "alternatives":
            number = draw(st.integers(2, 3))
            choices = tuple(items(depth + 1) for _ in range(number))
            groups += 1
            return Alternatives(choices)
        if kind == "wildcard":
            groups += 1
            excluded = st.lists(st.integers(0, symbols - 1), max_size=3, unique=True)
            return Wildcard(tuple(draw(excluded)))
        return draw(st.integers(0, symbols - 1))

    left = items(0)
    assert groups == groups_in(left)
    plain: st.SearchStrategy[Item] = st.integers(0, symbols - 1)
    if groups:
        plain |= st.integers(0, groups - 1).map(Reference)
    on_the_right = plain | plain.map(Marked) | st.sampled_from([STORE, RECALL])
    right = draw(st.lists(on_the_right, max_size=4))
    return Rule(left, tuple(right), draw(st.booleans()))


@st.composite
def programs(draw: st.DrawFn, canonical: bool = False) -> Program:
    """Programs; the auxiliary symbols of canonical ones are named as those of decoded ones."""
    alphabet = draw(st.lists(st.sampled_from(ALPHABET), min_size=1, max_size=5, unique=True))
    names = ["X1", "X2", "X3"]
    if not canonical:
        names = draw(st.permutations(["X1", "Φ_F", "^", "Δ", "\\", "+", "l_1"]))
    auxiliaries = tuple(names[: draw(st.integers(0, 3))])
    lists = st.lists(rules(len(alphabet) + len(auxiliaries)), max_size=3)
    return Program(tuple(alphabet), auxiliaries, tuple(draw(lists)))
