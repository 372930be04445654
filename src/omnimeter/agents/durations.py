"""Times that agents take on purpose, as they are given and as kernels need them."""

from __future__ import annotations

from omnimeter.contract import InvalidInputError, nanoseconds
from omnimeter.contract.agent import LONGEST_DELAY


def duration_of(seconds: float) -> int:
    """Nanoseconds of a time in seconds that an agent may take for one action."""
    if not (0 < seconds <= LONGEST_DELAY and nanoseconds(seconds) > 0):
        raise InvalidInputError(
            f"An action cannot take {seconds} seconds.",
            f"Give a number above 0, at most {LONGEST_DELAY:g}.",
        )
    return nanoseconds(seconds)
