"""How fast Markov algorithms are carried out, searched and drawn.

Run ``python benchmarks/markov.py``, or with the names of some of its parts: ``rewriting``,
``tables``, ``drawing``. It ends with 1 if a bar does not hold.
"""

from __future__ import annotations

import ctypes
import os
import sys
import tempfile
from collections.abc import Callable
from statistics import median
from time import process_time, process_time_ns
from typing import Any, NamedTuple

import numba
import numpy as np
from measuring import examine_parts, fastest, verdict
from yardstick import NO_COMPILER, Loop, address, build

from omnimeter.environments.universal import tables
from omnimeter.environments.universal.generator import TABLE_BITS, UniversalLambda
from omnimeter.environments.universal.language import EXAMPLES, expand, parse
from omnimeter.environments.universal.machine import (
    AT,
    KEPT,
    LENGTH,
    MAX_LENGTH,
    STEPS,
    compiled_rules,
    rewrite,
)
from omnimeter.environments.universal.tables import Question, table

RATE = 50e6
"""Rewriting steps per second of processor time."""

RUNS, MAX_STEPS = 50_000, 1_000

LONG_BITS, LONG_SECONDS = 26, 300.0
"""The bar of the exhaustive tables of three actions."""

DRAWS, LEVELS, DRAW_NS = 201, 9, 1e6


class Case(NamedTuple):
    """A program and its input; whether it replaces the last occurrence."""

    name: str
    alphabet: tuple[str, ...]
    text: str
    given: str
    rightmost: bool = True


CASES = (
    Case("binary to unary", *EXAMPLES["binary-to-unary"], "1010", rightmost=False),
    Case("sorting by swaps", tuple("abc"), "ba → ab; ca → ac; cb → bc", "cbacbacb"),
    Case("a symbol runs", tuple("abX"), "aX → Xb; bX → Xa; X →·; → X", "abbaababbaab"),
    Case("changing symbols", tuple("abcd"), "a → b; b → c; c → d", "abacaaab"),
)


@numba.njit(error_model="numpy")  # type: ignore[untyped-decorator]
def carried_out(
    fields: Any, symbols: Any, last: Any, given: Any, text: Any, memory: Any, counts: Any,
    rightmost: Any, runs: Any,
) -> Any:  # fmt: skip
    """Carry out a program so many times, each time for the same input; the number of steps."""
    steps = 0
    for _ in range(runs):
        for place in range(len(given)):
            text[place] = given[place]
        counts[LENGTH], counts[KEPT] = len(given), 0
        rewrite(fields, symbols, 0, last, text, memory, counts, MAX_STEPS, rightmost)
        steps += counts[STEPS]
    return steps


def rewriting() -> bool:
    """Steps per second of programs with a few rules for short strings, beside C++."""
    print(f"Rewriting, with {RATE / 1e6:.0f} million steps per second of processor time")
    by_hand = build("markov")
    if by_hand is None:
        print(NO_COMPILER)
    verdicts = [_rewriting(case, by_hand) for case in CASES]
    return all(verdicts)


def _rewriting(case: Case, by_hand: Loop | None) -> bool:
    plain = expand(parse(case.text, case.alphabet))
    fields, symbols = compiled_rules(plain)
    given = np.array([case.alphabet.index(symbol) for symbol in case.given])
    texts = np.zeros((2, MAX_LENGTH), np.int64)
    memory, counts = np.zeros(MAX_LENGTH, np.int64), np.zeros(AT + 1, np.int64)
    rivals: dict[str, Callable[[], int]] = {
        "ours": lambda: carried_out(
            fields, symbols, len(plain), given, texts[0], memory, counts, case.rightmost, RUNS
        )
    }
    if by_hand is not None:
        numbers = (len(case.given), MAX_LENGTH, int(case.rightmost), MAX_STEPS, RUNS)
        arrays = map(address, (fields, symbols, given, texts[1], memory))
        arguments = (*arrays, *map(ctypes.c_int64, (len(plain), *numbers)))
        rivals["C++"] = lambda: by_hand(*arguments)
    steps = {name: rival() for name, rival in rivals.items()}
    if len(set(steps.values())) > 1 or (by_hand is not None and (texts[0] != texts[1]).any()):
        print(f"  {case.name}: both sides differ, there is nothing to compare.")
        return False
    best = fastest(rivals)
    one = best["ours"] / steps["ours"]
    beside = f", {best['ours'] / best['C++']:.2f} times as long as C++" if by_hand else ""
    print(f"  {case.name}: {one:.1f} ns per step{beside}")
    return verdict(f"  {case.name}", 1e9 / one / RATE, at_least=1)


def search() -> bool:
    """Exhaustive tables of three actions: spaces, and behaviours with each perception."""
    questions = [
        Question(3),
        *(
            Question(3, perception, special, 256)
            for perception in ("nothing", "cell", "moves")
            for special in (True, False)
        ),
    ]
    verdicts = []
    before = os.environ.get("OMNIMETER_CACHE_DIR")
    for question in questions:  # what is compiled comes from the user's cache
        table(question, 10)
    with tempfile.TemporaryDirectory() as empty:
        os.environ["OMNIMETER_CACHE_DIR"] = empty
        for bits in (TABLE_BITS, LONG_BITS):
            tables._tables.clear()
            began = process_time()
            results = [table(question, bits) for question in questions]
            seconds = process_time() - began
            tried = sum(each.tried for each in results)
            print(f"All programs of up to {bits} bits for {len(questions)} tables of 3 actions:")
            print(f"  {tried:,} programs, {sum(map(len, results)):,} kept, {seconds:.0f} s")
            share = seconds / LONG_SECONDS
            verdicts.append(verdict(f"  of {LONG_SECONDS:.0f} s", share, at_most=1))
    if before is None:
        del os.environ["OMNIMETER_CACHE_DIR"]
    else:
        os.environ["OMNIMETER_CACHE_DIR"] = before
    return all(verdicts)


def drawing() -> bool:
    """Draws within bands at the levels of the tables."""
    environment_class = UniversalLambda(actions=3)
    lowest, _ = environment_class.complexity_range()
    print(f"median of {DRAWS} draws in a band, in microseconds")
    rng, slowest = np.random.default_rng(1), 0.0
    for level in np.linspace(lowest, lowest + TABLE_BITS, LEVELS).tolist():
        low, high = level - 0.5, level + 0.5
        if environment_class.draw_between(rng, low, high) is None:
            print(f"  {level:6.2f}: there is none")
            continue
        taken = []
        for _ in range(DRAWS):
            began = process_time_ns()
            environment_class.draw_between(rng, low, high)
            taken.append(process_time_ns() - began)
        print(f"  {level:6.2f}{median(taken) / 1e3:8.0f}")
        slowest = max(slowest, median(taken))
    return verdict("slowest, of 1 ms", slowest / DRAW_NS, at_most=1)


PARTS: dict[str, Callable[[], bool]] = {
    "rewriting": rewriting,
    "tables": search,
    "drawing": drawing,
}


if __name__ == "__main__":
    sys.exit(examine_parts(PARTS, sys.argv[1:]))
