"""Rates of action and the delays they mean."""

from __future__ import annotations

from omnimeter.contract import InvalidInputError, nanoseconds


def delay_of(rate: float | None) -> int:
    """Nanoseconds between actions at a rate per second; 0, the clock's own tick, without one."""
    if rate is None:
        return 0
    if not 0 < rate <= 1e9:
        raise InvalidInputError(
            f"The rate is {rate} actions per second.", "Give a number above 0, at most 1e9."
        )
    return nanoseconds(1 / rate)
