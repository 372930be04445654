"""Complexity of descriptions: compressed length, prefix codes, Kt, and shortest paths."""

from __future__ import annotations

import zlib
from math import log2
from typing import NamedTuple


def compressed_length(text: str) -> int:
    """How many bytes zlib makes of a text, at its default level.

    Builds of zlib differ by a byte here and there, so lengths found on different machines may.
    """
    return len(zlib.compress(text.encode()))


def kt_max(bits: int, steps: int) -> float:
    """The length of a description plus the logarithm of its longest response time.

    Anytime test, Definition 9. Sums that are equal are equal to the last digit: powers of two
    among the steps are counted as bits before anything is rounded.

    Args:
        bits: How many bits describe the environment.
        steps: The largest number of machine steps from an action to its answer.

    Raises:
        ValueError: There is no such description.
    """
    if bits < 0 or steps < 1:
        raise ValueError(f"there is no description of {bits} bits that answers in {steps} steps")
    doublings = (steps & -steps).bit_length() - 1
    return bits + doublings + log2(steps >> doublings)


def elias_gamma(number: int) -> str:
    """The code word of a number from 1 up: as many zeros as digits follow the first, then it.

    1 is ``1``, 2 is ``010``, 3 is ``011``, 4 is ``00100``.

    Raises:
        ValueError: The number is below 1.
    """
    if number < 1:
        raise ValueError(f"Elias gamma writes numbers from 1 up, not {number}")
    return "0" * (number.bit_length() - 1) + f"{number:b}"


def elias_gamma_length(number: int) -> int:
    """How many bits ``elias_gamma`` takes: always an odd number."""
    if number < 1:
        raise ValueError(f"Elias gamma writes numbers from 1 up, not {number}")
    return 2 * number.bit_length() - 1


def read_elias_gamma(bits: str, at: int = 0) -> tuple[int, int]:
    """The number whose code word begins at a place, and the place after it.

    Raises:
        ValueError: The text ends within the word.
    """
    first = bits.find("1", at)
    end = 2 * first - at + 1
    if first < 0 or end > len(bits):
        raise _ended(bits, at)
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
    digits, short = _shape(count)
    if number < short:
        return f"{number:0{digits}b}" if digits else ""
    return f"{number + short:0{digits + 1}b}"


def truncated_binary_length(number: int, count: int) -> int:
    """How many bits ``truncated_binary`` takes."""
    if not 0 <= number < count:
        raise ValueError(f"{number} is not one of the numbers 0 to {count - 1}")
    digits, short = _shape(count)
    return digits + (number >= short)


def read_truncated_binary(bits: str, at: int, count: int) -> tuple[int, int]:
    """The number, one of ``count``, whose code word begins at a place, and the place after it.

    Raises:
        ValueError: The text ends within the word.
    """
    digits, short = _shape(count)
    number, end = _digits(bits, at, digits), at + digits
    if number < short:
        return number, end
    return _digits(bits, at, digits + 1) - short, end + 1


def _shape(count: int) -> tuple[int, int]:
    """How many digits the short words have, and how many short words there are."""
    if count < 1:
        raise ValueError(f"there is no code for {count} numbers")
    digits = count.bit_length() - 1
    return digits, (2 << digits) - count


def _digits(bits: str, at: int, count: int) -> int:
    if at + count > len(bits):
        raise _ended(bits, at)
    return int(bits[at : at + count] or "0", 2)


def _ended(bits: str, at: int) -> ValueError:
    return ValueError(f"the code ends after {len(bits)} bits, within the word that begins at {at}")


class _Part(NamedTuple):
    """Something said: parts compare in the order in which they are preferred."""

    bits: int
    letters: int
    code: str


_NOTHING = _Part(0, 0, "")


def primitive_period(path: str) -> str:
    """The shortest path that is the same when it is repeated for ever."""
    return path[: (path + path).find(path, 1)]


def letter_item(letter: str, alphabet: str) -> str:
    """The code of the item that is one letter."""
    return "0" + truncated_binary(alphabet.index(letter), len(alphabet))


def repetition_item(times: int, sequence: str) -> str:
    """The code of the item that does a sequence, given by its code, so many times."""
    return "1" + elias_gamma(times - 1) + sequence


def shortest_expression(path: str, alphabet: str) -> str:
    """The code of the shortest expression of a path; the path itself is not reduced to its period.

    Of several with equally many bits it is the one with the fewest letters, and of those the first
    in alphabetical order. It is found exactly: what repeats is found first, the shorter the
    earlier, and then the best way through the path is put together from left to right.

    Args:
        path: At least one letter.
        alphabet: The letters there are, each once.

    Raises:
        ValueError: The path is empty, or holds something else.
    """
    if not path or not set(path) <= set(alphabet):
        raise ValueError(f"{path!r} is not a path over the letters {alphabet}")
    items = _letters(path, alphabet)
    for period in range(1, len(path) // 2 + 1):
        _add_repetitions(path, period, items)
    return _sequence(items, 0, len(path)).code


Items = list[dict[int, _Part]]
"""For each place of a path the items that begin there, by the place where they end."""


def _letters(path: str, alphabet: str) -> Items:
    codes = {letter: letter_item(letter, alphabet) for letter in set(path)}
    return [
        {place + 1: _Part(len(codes[letter]), 1, codes[letter])}
        for place, letter in enumerate(path)
    ]


def _add_repetitions(path: str, period: int, items: Items) -> None:
    """The items that do a sequence of ``period`` letters several times."""
    last = len(path) - 2 * period
    for start in range(last + 1):
        body = path[start : start + period]
        if not path.startswith(body, start + period):
            continue
        said = _sequence(items, start, start + period)
        times, end = 2, start + 2 * period
        while True:
            code = repetition_item(times, said.code)
            item = _Part(len(code), said.letters, code)
            other = items[start].get(end)
            items[start][end] = item if other is None else min(item, other)
            if not path.startswith(body, end):
                break
            times, end = times + 1, end + period


def _sequence(items: Items, first: int, end: int) -> _Part:
    """The best expression of a part of the path, given all items within.

    For each place the best ways to it are kept by the number of their items, because this number
    is written down too. A way with more items that is not better can never become so.
    """
    ways: list[dict[int, _Part]] = [{} for _ in range(end - first + 1)]
    ways[0][0] = _NOTHING
    for place in range(first, end):
        best = None
        for count, way in sorted(ways[place - first].items()):
            if best is not None and best[:2] <= way[:2]:
                continue
            best = way
            for after, item in items[place].items():
                if after <= end:
                    _keep(ways[after - first], count + 1, way, item)
    return min(_counted(count, way) for count, way in ways[-1].items())


def _keep(ways: dict[int, _Part], count: int, way: _Part, item: _Part) -> None:
    longer = _Part(way.bits + item.bits, way.letters + item.letters, way.code + item.code)
    other = ways.get(count)
    if other is None or longer < other:
        ways[count] = longer


def _counted(count: int, way: _Part) -> _Part:
    code = elias_gamma(count) + way.code
    return _Part(len(code), way.letters, code)


def expand(code: str, alphabet: str) -> str:
    """The path that an expression says.

    Raises:
        ValueError: The code ends too early, or goes on after the expression.
    """
    path, end = read_expression(code, 0, alphabet)
    if end != len(code):
        raise ValueError(f"the expression ends after {end} of {len(code)} bits")
    return path


def read_expression(code: str, at: int, alphabet: str) -> tuple[str, int]:
    """The path of the expression that begins at a place, and the place after it."""
    count, at = read_elias_gamma(code, at)
    path = []
    for _ in range(count):
        repeated = code[at : at + 1] == "1"
        if repeated:
            times, at = read_elias_gamma(code, at + 1)
            body, at = read_expression(code, at, alphabet)
            path.append(body * (times + 1))
        else:
            letter, at = read_truncated_binary(code, at + 1, len(alphabet))
            path.append(alphabet[letter])
    return "".join(path), at
