"""Complexity of descriptions: compressed length, prefix codes, Kt, and shortest paths."""

from __future__ import annotations

import zlib
from math import log2
from typing import NamedTuple


def compressed_length(text: str) -> int:
    """The number of bytes of a text compressed by zlib with its defaults.

    Builds of zlib differ by a byte here and there, and so may lengths on different machines.
    """
    return len(zlib.compress(text.encode()))


def compressed_bytes(content: bytes) -> int:
    """The number of bytes of a content compressed by zlib with its defaults; 0 of nothing."""
    return len(zlib.compress(content)) if content else 0


def kt_max(bits: int, steps: int) -> float:
    """The length of a description plus the logarithm of its longest response time.

    Anytime test, Definition 9. Sums that are equal are equal to the last digit: powers of two
    among the steps are counted as bits before anything is rounded.

    Args:
        bits: The length of the environment's description.
        steps: The largest number of machine steps from an action to its answer.

    Raises:
        ValueError: The bits are negative, or there is no step.
    """
    if bits < 0 or steps < 1:
        raise ValueError(f"there is no description of {bits} bits that answers in {steps} steps")
    doublings = (steps & -steps).bit_length() - 1
    return bits + doublings + log2(steps >> doublings)


def elias_gamma(number: int) -> str:
    """The code word of a number from 1 up: a zero per binary digit but one, then the digits.

    1 is ``1``, 2 is ``010``, 3 is ``011``, 4 is ``00100``.

    Raises:
        ValueError: The number is below 1.
    """
    if number < 1:
        raise ValueError(f"Elias gamma writes numbers from 1 up, not {number}")
    return "0" * (number.bit_length() - 1) + f"{number:b}"


def elias_gamma_length(number: int) -> int:
    """The number of bits of ``elias_gamma``: always odd."""
    return len(elias_gamma(number))


def read_elias_gamma(bits: str, at: int = 0) -> tuple[int, int]:
    """The number whose code word begins at a position, and the position after it.

    Raises:
        ValueError: The text ends within the word.
    """
    first = bits.find("1", at)
    end = 2 * first - at + 1
    if first < 0 or end > len(bits):
        raise ValueError(f"the code ends after {len(bits)} bits, within the word from {at} on")
    return int(bits[first:end], 2), end


def truncated_binary(number: int, count: int) -> str:
    """The code word of one of ``count`` numbers ``0 .. count - 1``, all about equally long.

    With a power of two these are the binary digits; otherwise the first numbers have one less.
    For five numbers: ``00``, ``01``, ``10``, ``110``, ``111``.

    Raises:
        ValueError: The number is not one of these.
    """
    if not 0 <= number < count:
        raise ValueError(f"{number} is not one of the numbers 0 to {count - 1}")
    digits = count.bit_length() - 1
    short = (2 << digits) - count  # so many words have one digit less
    if number < short:
        return f"{number:0{digits}b}" if digits else ""
    return f"{number + short:0{digits + 1}b}"


def truncated_binary_length(number: int, count: int) -> int:
    """The number of bits of ``truncated_binary``."""
    return len(truncated_binary(number, count))


def read_truncated_binary(bits: str, at: int, count: int) -> tuple[int, int]:
    """The number, one of ``count``, whose code word begins at a position, and the one after it.

    Raises:
        ValueError: The text ends within the word.
    """
    if count < 1:
        raise ValueError(f"there is no code for {count} numbers")
    end = at + count.bit_length() - 1
    short = (2 << (end - at)) - count
    number = int(bits[at:end] or "0", 2)
    if number >= short:
        end += 1
        number = int(bits[at:end], 2) - short
    if end > len(bits):
        raise ValueError(f"the code ends after {len(bits)} bits, within the word from {at} on")
    return number, end


class _Expression(NamedTuple):
    """The code of a part of a path; expressions compare in the order of preference."""

    bits: int
    letters: int
    code: str


Items = list[dict[int, _Expression]]
"""For each position of a path the items that begin there, by the position where they end."""


def primitive_period(path: str) -> str:
    """The shortest path that is the same when both are repeated for ever."""
    return path[: (path + path).find(path, 1)]


def letter_item(letter: str, alphabet: str) -> str:
    """The code of the item that is one letter."""
    return "0" + truncated_binary(alphabet.index(letter), len(alphabet))


def repetition_item(times: int, sequence: str) -> str:
    """The code of the item that repeats a sequence, given by its code."""
    return "1" + elias_gamma(times - 1) + sequence


def shortest_expression(path: str, alphabet: str) -> str:
    """The code of the shortest expression of a path; the path itself is not reduced to its period.

    Of several with equally many bits it is the one with the fewest letters, of those the first in
    alphabetical order. It is exact: repetitions are searched from short to long periods, then the
    best sequence of items is composed from left to right.

    Args:
        path: At least one letter.
        alphabet: The letters there are, each once.

    Raises:
        ValueError: The path is empty, or holds something else.
    """
    if not path or not set(path) <= set(alphabet):
        raise ValueError(f"{path!r} is not a path over the letters {alphabet}")
    codes = {letter: letter_item(letter, alphabet) for letter in set(path)}
    items: Items = [
        {position + 1: _Expression(len(codes[letter]), 1, codes[letter])}
        for position, letter in enumerate(path)
    ]
    for period in range(1, len(path) // 2 + 1):
        for start in range(len(path) - 2 * period + 1):
            body, end = path[start : start + period], start + period
            if not path.startswith(body, end):
                continue
            once = _best_sequence(items, start, end)
            while path.startswith(body, end):
                end += period
                code = repetition_item((end - start) // period, once.code)
                item = _Expression(len(code), once.letters, code)
                items[start][end] = min(item, items[start].get(end, item))
    return _best_sequence(items, 0, len(path)).code


def _best_sequence(items: Items, first: int, end: int) -> _Expression:
    """The best expression of a part of the path, given all items within.

    For each position the best sequences up to it are kept by the number of their items, because
    this number is coded too. A sequence with more items that is not better can never become so.
    """
    sequences: list[dict[int, _Expression]] = [{} for _ in range(end - first + 1)]
    sequences[0][0] = _Expression(0, 0, "")
    for position in range(first, end):
        best = None
        for count, sequence in sorted(sequences[position - first].items()):
            if best is not None and best[:2] <= sequence[:2]:
                continue
            best = sequence
            for after, item in items[position].items():
                if after > end:
                    continue
                longer = _Expression(
                    sequence.bits + item.bits,
                    sequence.letters + item.letters,
                    sequence.code + item.code,
                )
                other = sequences[after - first].get(count + 1)
                if other is None or longer < other:
                    sequences[after - first][count + 1] = longer
    codes = {elias_gamma(n) + each.code: each.letters for n, each in sequences[-1].items()}
    return min(_Expression(len(code), letters, code) for code, letters in codes.items())


def expand(code: str, alphabet: str) -> str:
    """The path of an expression.

    Raises:
        ValueError: The code ends too early, or goes on after the expression.
    """
    path, end = read_expression(code, 0, alphabet)
    if end != len(code):
        raise ValueError(f"the expression ends after {end} of {len(code)} bits")
    return path


def read_expression(code: str, at: int, alphabet: str) -> tuple[str, int]:
    """The path of the expression that begins at a position, and the position after it."""
    count, at = read_elias_gamma(code, at)
    path = []
    for _ in range(count):
        if code[at : at + 1] == "1":
            times, at = read_elias_gamma(code, at + 1)
            body, at = read_expression(code, at, alphabet)
            path.append(body * (times + 1))
        else:
            letter, at = read_truncated_binary(code, at + 1, len(alphabet))
            path.append(alphabet[letter])
    return "".join(path), at
