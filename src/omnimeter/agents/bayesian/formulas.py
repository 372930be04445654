"""The formulas of OPPS-DS: their notation, their values, and the sets F_n (section 5.1.4).

A formula is an index of the actions, built of the Q-functions X0, X1 and X2 of three models with
unary and binary operators, in reverse Polish notation: ``X2 X0 DIV`` is Q2/Q0. Its size is the
number of its tokens.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import InvalidInputError
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.kernels import kernel

X0, X1, X2, ABS, LN, SQRT, INV, OPP, SUB, DIV, ADD, MUL, MIN, MAX = range(14)

TOKENS = ("X0", "X1", "X2", "ABS", "LN", "SQRT", "INV", "OPP", "SUB", "DIV", "ADD", "MUL", "MIN",
          "MAX")  # fmt: skip
"""The name of each token: three variables, five unary and six binary operators."""

VARIABLES = 3
POINTS = 1000
"""On how many random points of [-100, 100]^3 formulas are compared."""


def parse(formula: str) -> IntArray:
    """The codes of a formula's tokens.

    Raises:
        InvalidInputError: A token is unknown, an operator lacks an operand, or one is left over.
    """
    codes, depth = [], 0
    names = formula.upper().split()
    for place, name in enumerate(names, start=1):
        where = f"number {place} of the formula {formula!r}"
        if name not in TOKENS:
            close = get_close_matches(name, TOKENS, n=1, cutoff=0.5)
            known = f"Known: {', '.join(TOKENS)}."
            advice = f"Did you mean {close[0]!r}?" if close else known
            raise InvalidInputError(f"There is no token {name!r}, {where}.", advice)
        code = TOKENS.index(name)
        if depth < (needed := operands(code)):
            message = f"{name} needs {needed} operands but finds {depth}, {where}."
            raise InvalidInputError(message, "Write operands before their operator: X2 X0 DIV.")
        depth += 1 - needed
        codes.append(code)
    if depth != 1:
        message = f"The formula {formula!r} leaves {depth} values."
        raise InvalidInputError(message, "Join all values by operators into one: X2 X0 DIV.")
    return np.array(codes, dtype=np.int64)


def operands(code: int) -> int:
    """How many values a token takes."""
    return 0 if code < ABS else 1 if code < SUB else 2


def infix(formula: str) -> str:
    """A formula as people write it, with Q0, Q1, Q2 for the variables: ``Q2/Q0``."""
    stack: list[tuple[str, int]] = []  # texts, each with how closely its last operation binds

    def part(at_least: int) -> str:
        text, binds = stack.pop()
        return text if binds >= at_least else f"({text})"

    for code in parse(formula).tolist():
        if code < VARIABLES:
            stack.append((f"Q{code}", 4))
        elif code in (ABS, LN, SQRT):
            inner = part(0)
            name = TOKENS[code].lower()
            stack.append((f"|{inner}|" if code == ABS else f"{name}({inner})", 4))
        elif code in (INV, OPP):
            stack.append((f"1/{part(3)}", 2) if code == INV else (f"-{part(2)}", 1))
        elif code in (MIN, MAX):
            right, left = part(0), part(0)
            stack.append((f"{TOKENS[code].lower()}({left}, {right})", 4))
        else:
            sign, binds = {ADD: (" + ", 1), SUB: (" - ", 1), MUL: ("*", 2), DIV: ("/", 2)}[code]
            right = part(binds + 1)
            stack.append((f"{part(binds)}{sign}{right}", binds))
    return stack[0][0]


@kernel
def apply_unary(code: Any, a: Any) -> Any:
    """The value of a unary operator, NaN where it is undefined."""
    if code == ABS:
        return abs(a)
    if code == OPP:
        return -a
    if code == INV:
        return 1.0 / a if a != 0.0 else math.nan
    if code == SQRT:
        return math.sqrt(a) if a >= 0.0 else math.nan
    return math.log(a) if a > 0.0 else math.nan


@kernel
def apply_binary(code: Any, a: Any, b: Any) -> Any:
    """The value of a binary operator, NaN where it is undefined."""
    if code == SUB:
        return a - b
    if code == DIV:
        return a / b if b != 0.0 else math.nan
    if code == ADD:
        return a + b
    if code == MUL:
        return a * b
    if code == MIN:
        return b if b < a else a
    return b if b > a else a


@kernel
def evaluate(formula: Any, variables: Any, at: Any, stride: Any, stack: Any) -> Any:
    """The value of a formula, NaN if it is undefined: ln of <= 0, sqrt of < 0, division by 0.

    Args:
        formula: The codes of its tokens.
        variables: The values of the variables, among others.
        at: Where that of X0 is.
        stride: How far X1 is from X0, and X2 from X1.
        stack: Room for the values of a formula's parts.
    """
    depth = 0
    for k in range(len(formula)):
        code = formula[k]
        if code < ABS:
            value = float(variables[at + code * stride])
        elif code < SUB:
            depth -= 1
            value = apply_unary(code, float(stack[depth]))
        else:
            depth -= 2
            value = apply_binary(code, float(stack[depth]), float(stack[depth + 1]))
        if math.isnan(value):
            return math.nan
        stack[depth] = value
        depth += 1
    return stack[0]


@lru_cache(maxsize=8)
def formula_set(size: int, seed: int = 0) -> tuple[str, ...]:
    """F_n: a formula of each class that can be built of at most so many tokens, shortest first.

    Formulas that sort random points of [-100, 100]^3 identically, ties included, choose the same
    actions as far as can be seen there, and are one class; the first of the shortest stands for
    it. One that is undefined on any of the points is left out.

    Values are compared as the doubles they are, as the published sizes demand. Rounding cannot
    reorder different values: ``X0 X1 ADD X1 SUB`` is one class with ``X0``, because neighbours
    among 1000 random points are a billion roundings apart. But it separates values that tie: 3 of
    the 226 formulas in F4 are like ``X0 X0 INV MUL``, which is 1 up to rounding, and count beside
    the constant. The sizes of F2, F3 and F4 are 12, 43 and 226 for every seed; those of larger
    sets depend on the points.

    Args:
        size: The number n of tokens.
        seed: The seed of the points.
    """
    points = np.random.default_rng(seed).uniform(-100.0, 100.0, (VARIABLES, POINTS))
    layers: list[_Layer] = []  # by size: what larger formulas are built of
    known: set[bytes] = set()  # formulas with the same values, bit for bit, are built upon once
    classes: dict[bytes, str] = {}  # by the ranks of the points
    for tokens in range(1, size + 1):
        names: list[str] = []
        rows: list[FloatArray] = []
        for block, values in _built(tokens, layers, points):
            new = []
            for k in np.flatnonzero(np.isfinite(values).all(axis=1)).tolist():
                if (digest := _digest(values[k] + 0.0)) not in known:  # + 0.0: there is one zero
                    known.add(digest)
                    new.append(k)
            for k, ranks in zip(new, _ranks(values[new]), strict=True):
                classes.setdefault(_digest(ranks), block[k])
            if tokens < size:
                names += [block[k] for k in new]
                rows.append(values[new])
        layers.append((names, np.concatenate(rows) if rows else points[:0]))
    return tuple(classes.values())


_Layer = tuple[list[str], FloatArray]
"""Formulas, and the values of each on all points."""


def _digest(array: NDArray[Any]) -> bytes:
    return blake2b(array.tobytes(), digest_size=16).digest()


def _ranks(values: FloatArray) -> NDArray[np.int16]:
    """The rank of each point in the order of a formula's values, the same where they tie."""
    order = values.argsort(axis=1)
    steps = np.diff(np.take_along_axis(values, order, axis=1), axis=1) > 0
    ranks = np.zeros(values.shape, dtype=np.int16)
    np.cumsum(steps, axis=1, out=ranks[:, 1:])
    result = np.empty_like(ranks)
    np.put_along_axis(result, order, ranks, axis=1)
    return result


def _built(tokens: int, layers: list[_Layer], points: FloatArray) -> Iterator[_Layer]:
    """All formulas of so many tokens, in blocks; values that are undefined are not finite."""
    if tokens == 1:
        yield list(TOKENS[:VARIABLES]), points
        return
    inner, values = layers[tokens - 2]
    with np.errstate(divide="ignore", invalid="ignore"):
        for name, unary in _UNARY.items():
            yield [f"{each} {name}" for each in inner], unary(values)
        for size in range(1, tokens - 1):
            right, rights = layers[tokens - 2 - size]
            for name, binary in _BINARY.items():
                for left, row in zip(*layers[size - 1], strict=True):
                    yield [f"{left} {each} {name}" for each in right], binary(row, rights)


_UNARY = {"ABS": np.abs, "LN": np.log, "SQRT": np.sqrt, "INV": np.reciprocal, "OPP": np.negative}
_BINARY = {
    "SUB": np.subtract, "DIV": np.divide, "ADD": np.add, "MUL": np.multiply, "MIN": np.minimum,
    "MAX": np.maximum,
}  # fmt: skip
