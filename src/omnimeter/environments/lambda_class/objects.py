"""The further objects of a Lambda environment and their hand-written behaviours (4.1.2)."""

from __future__ import annotations

import numpy as np

from omnimeter.contract import IntArray, InvalidInputError
from omnimeter.environments.lambda_class.patterns import (
    draw_pattern,
    format_pattern,
    parse_pattern,
)

BEHAVIOURS = ("random", "still", "pattern")
"""In the order of their codes in ``dynamics.py``."""


def check_object(text: str, actions: int | None) -> str:
    """The behaviour of an object, as it is written: random, still, pattern or pattern:0120.

    Args:
        text: What is written.
        actions: How many actions there are, where that is known already.

    Raises:
        InvalidInputError: There is no such behaviour, or its pattern is wrong.
    """
    behaviour, colon, _ = text.partition(":")
    if behaviour not in BEHAVIOURS or (colon and behaviour != "pattern"):
        raise InvalidInputError(
            f"There is no behaviour {text!r} of objects.",
            "Give random, still, pattern (drawn like the pattern of Good and Evil), or a pattern "
            "such as pattern:0120.",
        )
    if colon and actions is None:
        raise InvalidInputError(
            f"The object {text!r} needs to know which actions there are.",
            "Give space or actions together with it.",
        )
    if colon and actions is not None:
        try:
            script_of(text, actions)
        except InvalidInputError as error:
            raise InvalidInputError(
                f"The object {text!r}: {error.message}", error.advice
            ) from error
    return text


def draw_object(rng: np.random.Generator, text: str, actions: int, stop: float) -> str:
    """The same behaviour with its pattern, drawn if it was not given."""
    if text == "pattern":
        return f"pattern:{format_pattern(draw_pattern(rng, actions, stop), actions)}"
    return text


def script_of(text: str, actions: int) -> IntArray:
    """The actions that an object repeats, none if it has no pattern."""
    behaviour, _, pattern = text.partition(":")
    if behaviour != "pattern":
        return np.empty(0, dtype=np.int64)
    return parse_pattern(pattern, actions)
