"""The patterns that Good and Evil repeat, and the behaviours of further objects."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from omnimeter.contract import InvalidInputError
from omnimeter.contract.agent import IntArray

MAX_LENGTH = 10_000_000


def parse_pattern(text: str, actions: int) -> IntArray:
    """The actions of a pattern: digits, or numbers and commas if there are more than ten actions.

    Raises:
        InvalidInputError: The pattern is empty, or something in it is not one of the actions.
    """
    known = {str(action): action for action in range(actions)}
    separator = _separator(actions)
    symbols = text.split(separator) if separator else list(text) or [""]
    wrong = next((number for number, symbol in enumerate(symbols) if symbol not in known), None)
    if wrong is not None:
        position = 1 + sum(len(symbol + separator) for symbol in symbols[:wrong])
        raise InvalidInputError(
            f"The pattern is wrong at character {position}: found "
            f"{repr(symbols[wrong]) if symbols[wrong] else 'nothing'}, expected an action from 0 "
            f"to {actions - 1}.",
            "With more than ten actions a pattern is numbers and commas, such as 2,0,11."
            if separator
            else f"A pattern is a row of digits from 0 to {actions - 1}.",
        )
    return np.array([known[symbol] for symbol in symbols], dtype=np.int64)


def format_pattern(pattern: Iterable[int], actions: int) -> str:
    """The text of a pattern, given how many actions there are."""
    return _separator(actions).join(str(int(action)) for action in pattern)


def pattern_length(text: str, actions: int) -> int:
    """The number of actions in a pattern, given how many there are to choose from."""
    separator = _separator(actions)
    return text.count(separator) + 1 if separator else len(text)


def _separator(actions: int) -> str:
    return "," if actions > 10 else ""


def draw_pattern(rng: np.random.Generator, actions: int, stop: float) -> IntArray:
    """A random pattern: a uniform action, then an end with probability ``stop``, or another one.

    Raises:
        InvalidInputError: ``stop`` is not in (0, 1], or so small that patterns get too long.
    """
    check_stop(stop)
    length = int(rng.geometric(stop))
    if length > MAX_LENGTH:
        raise InvalidInputError(
            f"With a probability of stopping of {stop:g} a pattern of {length:,} actions was "
            f"drawn; the longest has {MAX_LENGTH:,}.",
            "Ask for a greater probability of stopping.",
        )
    return rng.integers(actions, size=length, dtype=np.int64)


def check_stop(stop: float) -> None:
    """Raise InvalidInputError for what is not a probability above 0."""
    if not 0 < stop <= 1:
        raise InvalidInputError(
            f"The probability of stopping (stop) is {stop:g}, which is not in (0, 1].",
            "Give a probability above 0, such as 0.01 for patterns of 100 actions on average.",
        )


# Further objects

BEHAVIOURS = ("random", "still", "pattern")
"""In the order of their codes in ``dynamics.py``."""


def script_of(text: str, actions: int | None) -> IntArray:
    """The actions that an object repeats, none if its behaviour is random or still.

    Raises:
        InvalidInputError: There is no such behaviour, or its pattern is wrong or cannot be read.
    """
    behaviour, colon, pattern = text.partition(":")
    if behaviour not in BEHAVIOURS or (colon and behaviour != "pattern"):
        raise InvalidInputError(
            f"There is no behaviour {text!r} of objects.",
            "Give random, still, pattern (drawn like the pattern of Good and Evil), or a pattern "
            "such as pattern:0120.",
        )
    if behaviour != "pattern":
        return np.empty(0, dtype=np.int64)
    if actions is None:
        raise InvalidInputError(
            f"The object {text!r} needs to know which actions there are.",
            "Give space or actions together with it.",
        )
    try:
        return parse_pattern(pattern, actions)
    except InvalidInputError as error:
        raise InvalidInputError(f"The object {text!r}: {error.message}", error.advice) from error
