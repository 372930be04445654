"""The cyclic patterns of actions that Good and Evil follow, such as ``203210200``.

With more than ten actions the numbers are separated by commas: ``2,0,11``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from omnimeter.contract import IntArray, InvalidInputError

DIGITS = "0123456789"
LONGEST = 10_000_000


def parse_pattern(text: str, actions: int) -> IntArray:
    """The actions of a pattern.

    Args:
        text: Digits, or numbers separated by commas if there are more than ten actions.
        actions: How many actions there are, staying included.

    Raises:
        InvalidInputError: The pattern is empty, or something in it is not one of the actions.
    """
    known = {str(action): action for action in range(actions)}
    separator = _separator(actions)
    symbols = text.split(separator) if separator else list(text) or [""]
    try:
        return np.array([known[symbol] for symbol in symbols], dtype=np.int64)
    except KeyError:
        raise _fault(symbols, known, separator) from None


def format_pattern(pattern: Iterable[int], actions: int) -> str:
    """The text of a pattern.

    Args:
        pattern: The numbers of the actions.
        actions: How many actions there are, staying included.
    """
    return _separator(actions).join(str(int(action)) for action in pattern)


def pattern_length(text: str, actions: int) -> int:
    """How many actions a pattern has.

    Args:
        text: The pattern.
        actions: How many actions there are, staying included.
    """
    separator = _separator(actions)
    return text.count(separator) + 1 if separator else len(text)


def draw_pattern(rng: np.random.Generator, actions: int, stop: float) -> IntArray:
    """A random pattern: an action, all alike; then an end with probability ``stop``, or on.

    Args:
        rng: Where chance comes from.
        actions: How many actions there are, staying included.
        stop: The probability that the pattern ends after an action.

    Raises:
        InvalidInputError: ``stop`` is not a probability above 0, or so small that patterns do not
            fit into memory.
    """
    check_stop(stop)
    length = int(rng.geometric(stop))
    if length > LONGEST:
        raise InvalidInputError(
            f"With a probability of stopping of {stop:g} a pattern of {length:,} actions was "
            f"drawn; {LONGEST:,} is the most.",
            "Ask for a greater probability of stopping.",
        )
    return rng.integers(actions, size=length, dtype=np.int64)


def check_stop(stop: float) -> None:
    """Refuse what is not a probability above 0.

    Raises:
        InvalidInputError: ``stop`` is not in (0, 1].
    """
    if not 0 < stop <= 1:
        raise InvalidInputError(
            f"The probability of stopping (stop) is {stop:g}, which is not in (0, 1].",
            "Give a probability above 0, such as 0.01 for patterns of 100 actions on average.",
        )


def _separator(actions: int) -> str:
    return "," if actions > len(DIGITS) else ""


def _fault(symbols: Sequence[str], known: Mapping[str, int], separator: str) -> InvalidInputError:
    """What is wrong with the first of the symbols that is no action."""
    wrong = next(number for number, symbol in enumerate(symbols) if symbol not in known)
    position = 1 + sum(len(symbol) + len(separator) for symbol in symbols[:wrong])
    symbol, actions = symbols[wrong], len(known)
    return InvalidInputError(
        f"The pattern is wrong at character {position}: found "
        f"{repr(symbol) if symbol else 'nothing'}, expected an action from 0 to {actions - 1}.",
        _advice(actions),
    )


def _advice(actions: int) -> str:
    if actions > len(DIGITS):
        return "With more than ten actions a pattern is numbers and commas, such as 2,0,11."
    return f"A pattern is a row of digits from 0 to {actions - 1}."
