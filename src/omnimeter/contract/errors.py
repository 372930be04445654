"""Errors for users: what was wrong, and what to do about it."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class OmnimeterError(Exception):
    """Something that the user can fix.

    The command line prints the message and the advice, without a traceback, and exits with
    ``exit_code``.

    Args:
        message: What was wrong, and where.
        advice: What to do about it.
    """

    exit_code = 2

    def __init__(self, message: str, advice: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.advice = advice

    def __str__(self) -> str:
        return f"{self.message} {self.advice}".strip()

    def __reduce__(self) -> tuple[object, ...]:
        return _unpickled, (type(self), self.message, self.advice)


def _unpickled(kind: type[OmnimeterError], message: str, advice: str) -> OmnimeterError:
    error = kind.__new__(kind)
    OmnimeterError.__init__(error, message, advice)
    return error


class UnknownNameError(OmnimeterError):
    """A name that is not known; the advice gives the nearest known ones."""

    def __init__(self, kind: str, name: str, known: Iterable[str]) -> None:
        names = sorted(known)
        close = difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        if close:
            advice = "Did you mean " + " or ".join(repr(match) for match in close) + "?"
        elif names:
            advice = "Known: " + ", ".join(names) + "."
        else:
            advice = f"No {kind} is known at all."
        super().__init__(f"There is no {kind} {name!r}.", advice)


class InvalidInputError(OmnimeterError):
    """A parameter, a file or a description that cannot be used as it is."""


class StoreError(OmnimeterError):
    """The store cannot be read or written."""

    exit_code = 4
