"""Errors for users: what was wrong, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from omnimeter.contract.text import clean


class OmnimeterError(Exception):
    """Something that the user can fix; the command line prints it and exits with ``exit_code``.

    Args:
        message: What was wrong, and where.
        advice: What to do about it.
    """

    exit_code = 2

    def __init__(self, message: str, advice: str = "") -> None:
        self.message = clean(message)
        self.advice = clean(advice)
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".strip()

    def __reduce__(self) -> tuple[object, ...]:
        # Without the constructor, whose arguments differ from class to class.
        return Exception.__new__, (type(self), self.message), vars(self)


class UnknownNameError(OmnimeterError):
    """A name that is not known; the advice gives the nearest known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        # A long text is near to none of them, and comparing it takes long.
        close = difflib.get_close_matches(str(name)[:100], names, n=3, cutoff=0.5)
        advice = f"Known: {', '.join(names)}." if names else f"No {kind} is known at all."
        if close:
            advice = f"Did you mean {' or '.join(map(repr, close))}?"
        shown = repr(name) if len(repr(name)) <= 200 else f"{repr(name)[:200]}..."
        super().__init__(f"There is no {kind} {shown}.", advice)


class InvalidInputError(OmnimeterError):
    """A parameter, a file or a description that cannot be used as it is."""


class BrokenPartError(InvalidInputError):
    """A part whose own code fails while it is imported or made."""


MOST = 1_000_000
"""How many exercises, instances, repetitions or tests there are at most."""

MOST_INTERACTIONS = 10**12
"""How many interactions an exercise has at most: weeks, in the fastest environments."""


def check_count(number: float, what: str, highest: int = MOST) -> None:
    """Check a number that a user gives before so many things are made, or so often something done.

    Raises:
        InvalidInputError: It is not from 1 to ``highest``.
    """
    if not 1 <= number <= highest:
        shown = number if abs(number) < 10**30 else "so many"
        message = f"There cannot be {shown} {what}."
        raise InvalidInputError(message, f"Give a number from 1 to {highest:,}.")


class StoreError(OmnimeterError):
    """The store cannot be read or written."""

    exit_code = 4


class DamagedError(StoreError):
    """A stored file is not as it was written, or cannot be read; others may be intact."""
