"""Prefix codes for whole numbers, as texts of zeros and ones: Elias gamma and truncated binary.

No code word begins another, so words can be written one after the other and read back.
"""

from __future__ import annotations


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
