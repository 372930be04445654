"""The machine that writes series of letters: its programs, their code, and what they write."""

from __future__ import annotations

from itertools import islice
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

import numpy as np

from omnimeter.complexity import kt_max
from omnimeter.contract import InvalidInputError
from omnimeter.kernels import kernel

if TYPE_CHECKING:
    from collections.abc import Iterator

    from omnimeter.contract.agent import IntArray

INSTRUCTIONS = "w+-xc()"
"""Write the accumulator; next letter; previous letter; exchange it with the register; copy it to
the register; open and close a block, which is done as many times as its letter says."""

WRITE, NEXT, PREVIOUS, EXCHANGE, COPY, OPEN, CLOSE = range(7)

WIDTH = 3  # bits of an instruction
END = "111"
"""Ends the code of a program. It is the one word of three bits that is no instruction."""

MIN_LETTERS, MAX_LETTERS = 2, len(ascii_lowercase)

HORIZON = 12
"""The letters that a program is compared, and timed, by."""


@kernel
def to_next(code: Any, tops: Any, letters: Any, a: Any, b: Any, c: Any, at: Any) -> Any:
    """Run a program until it has written its next letter.

    Args:
        code: The numbers of its instructions.
        tops: For each ``)`` the position after its ``(``.
        letters: The size of the alphabet.
        a: The accumulator. What was written is its value when this returns.
        b: The register.
        c: The counter of the block that is being done.
        at: The position of the next instruction.

    Returns:
        What a, b, c and the position are now, and the number of steps.
    """
    steps = 0
    while True:
        instruction = code[at]
        steps += 1
        at += 1
        if instruction == WRITE:
            break
        if instruction == NEXT:
            a = a + 1 if a + 1 < letters else 0
        elif instruction == PREVIOUS:
            a = a - 1 if a > 0 else letters - 1
        elif instruction == EXCHANGE:
            a, b = b, a
        elif instruction == COPY:
            b = a
        elif instruction == OPEN:
            c = a
        else:
            c = c - 1 if c > 0 else letters - 1
            if c != 0:
                at = tops[at - 1]
        if at == len(code):
            at = 0
    if at == len(code):
        at = 0
    return a, b, c, at, steps


def read(program: str) -> tuple[IntArray, IntArray]:
    """The instructions of a program, and where each ``)`` leads back to.

    Raises:
        InvalidInputError: This is no program.
    """

    def malformed(fault: str) -> InvalidInputError:
        return InvalidInputError(
            f"{program!r} is not a program: {fault}.",
            f"A program has the instructions {' '.join(INSTRUCTIONS)}, at least one w, and blocks "
            "that do not lie within each other, for example w+++ or w+(x+x).",
        )

    opened = -1
    tops = np.zeros(len(program), dtype=np.int64)
    for place, letter in enumerate(program):
        if letter not in INSTRUCTIONS:
            raise malformed(f"there is no instruction {letter!r}")
        if letter == "(":
            if opened >= 0:
                raise malformed("a block begins within another")
            opened = place
        if letter == ")":
            if opened < 0:
                raise malformed("a block ends that did not begin")
            tops[place] = opened + 1
            opened = -1
    if opened >= 0:
        raise malformed("a block does not end")
    if "w" not in program:
        raise malformed("it writes nothing")
    return np.array([INSTRUCTIONS.index(each) for each in program], dtype=np.int64), tops


def run(program: str, letters: int = MAX_LETTERS) -> Iterator[tuple[int, int]]:
    """The numbers of the letters that a program writes, each with the steps up to then."""
    code, tops = (each.tolist() for each in read(program))
    advance = getattr(to_next, "py_func", to_next)
    a = b = c = at = steps = 0
    while True:
        a, b, c, at, more = advance(code, tops, letters, a, b, c, at)
        steps += more
        yield a, steps


def written(program: str, count: int, letters: int = MAX_LETTERS) -> str:
    """The first letters that a program writes."""
    return spell(letter for letter, _ in islice(run(program, letters), count))


def spell(numbers: Any) -> str:
    """Letters by their numbers."""
    return "".join(ascii_lowercase[number] for number in numbers)


def complexity(program: str, letters: int = MAX_LETTERS) -> float:
    """Kt: the bits of a program, plus the logarithm of its steps to the twelfth letter."""
    _, steps = next(islice(run(program, letters), HORIZON - 1, None))
    return kt_max(len(encode(program)), steps)


def encode(program: str) -> str:
    """The code word of a program: three bits for each instruction, and ``111`` at the end."""
    return "".join(f"{INSTRUCTIONS.index(each):0{WIDTH}b}" for each in program) + END


def decode(bits: str) -> str:
    """The program of a code word.

    Raises:
        InvalidInputError: This is not exactly one code word.
    """
    words = [bits[at : at + WIDTH] for at in range(0, len(bits), WIDTH)]
    if bits.strip("01") or END not in words or words.index(END) != len(words) - 1:
        raise InvalidInputError(
            f"These {len(bits)} bits are not the code of a program.",
            "Give exactly what encode wrote: three bits for each instruction, then 111.",
        )
    program = "".join(INSTRUCTIONS[int(word, 2)] for word in words[:-1])
    read(program)
    return program
