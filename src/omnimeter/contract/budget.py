"""How long an exercise lasts, and by which clock. Time is counted in whole nanoseconds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from math import isfinite
from typing import Any

from omnimeter.contract.errors import InvalidInputError

NANOSECONDS = 1_000_000_000
FOREVER = 2**63 - 1
"""An end that no clock reaches."""

LONGEST = 9e9
"""Seconds that can be counted in nanoseconds: 285 years."""


def nanoseconds(seconds: float) -> int:
    """Whole nanoseconds, rounded down, so that k turns of tau/k seconds fit into tau.

    Rounding errors are forgiven: what was a whole number before a trip through floating-point
    seconds is the same number after it, up to a million seconds.
    """
    exact = seconds * NANOSECONDS
    return int(exact + min(0.5, exact * 2.0**-50))


class ClockKind(StrEnum):
    """Which time counts.

    ``WALL`` measures the agent's own time; the environment reacts immediately and costs nothing.
    ``VIRTUAL`` believes the delays that agents declare, and is exactly repeatable.
    """

    WALL = "wall"
    VIRTUAL = "virtual"


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of an exercise.

    Attributes:
        kind: Wall or virtual.
        tick: Seconds that an action takes under the virtual clock when its agent declares none.
    """

    kind: ClockKind = ClockKind.VIRTUAL
    tick: float = 1.0

    def __post_init__(self) -> None:
        if not (0 < self.tick <= LONGEST and nanoseconds(self.tick) > 0):
            raise InvalidInputError(
                f"The tick of a clock is {self.tick} s.",
                f"Give a time of at least a nanosecond and at most {LONGEST:g} s.",
            )


@dataclass(frozen=True, slots=True)
class Budget:
    """How long an exercise lasts: a number of interactions, a time in seconds, or the shorter.

    Attributes:
        interactions: At most this many actions count.
        seconds: Actions count until this time: the tau of the papers, never told to the agent.
        limit: Real seconds after which it is over whatever the clock says, for a test that must
            not last longer: those of the environment and of the loop count too.
    """

    interactions: int | None = None
    seconds: float | None = None
    limit: float | None = None

    def __post_init__(self) -> None:
        if self.interactions is None and self.seconds is None:
            raise InvalidInputError(
                "The budget is empty.", "Give a number of interactions or of seconds."
            )
        if self.interactions is not None and not 0 <= self.interactions <= FOREVER:
            raise InvalidInputError(
                f"The budget is {self.interactions} interactions.", f"Give 0 to {FOREVER}."
            )
        if self.seconds is not None and not 0 <= self.seconds <= LONGEST:
            raise InvalidInputError(
                f"The budget is {self.seconds} seconds.", f"Give a time of 0 to {LONGEST:g} s."
            )

        if self.limit is not None and not 0 <= self.limit <= LONGEST:
            raise InvalidInputError(
                f"The limit of the budget is {self.limit} seconds.",
                f"Give a time of 0 to {LONGEST:g} s.",
            )

    def to_json(self) -> dict[str, Any]:
        """The budget as plain data; a limit only where there is one."""
        data = asdict(self)
        if self.limit is None:
            del data["limit"]
        return data

    @property
    def most(self) -> int:
        """The number of interactions after which it is over in any case."""
        return FOREVER if self.interactions is None else self.interactions

    @property
    def end(self) -> int:
        """The nanosecond at which it is over in any case."""
        return FOREVER if self.seconds is None else nanoseconds(self.seconds)


class TimeoutRule(StrEnum):
    """What takes place at each time-out while the agent is busy (anytime test, section 5.1).

    ``NO_REWARD`` gives reward 0 and lets the world stand still.
    ``RANDOM_ACTION`` performs an action that is drawn uniformly.
    """

    NO_REWARD = "no-reward"
    RANDOM_ACTION = "random-action"


@dataclass(frozen=True, slots=True)
class Timeout:
    """The longest that one action may take before something else takes its place.

    That happens at the time-out itself, and again after every further one while the agent is still
    busy. Its late answer is discarded (``docs/standard.md``, section 6).

    Attributes:
        seconds: The time-out tau_0 of section 5.1.
        rule: What takes place then.
    """

    seconds: float
    rule: TimeoutRule = TimeoutRule.NO_REWARD

    def __post_init__(self) -> None:
        if not (isfinite(self.seconds) and self.seconds > 0):
            raise InvalidInputError(
                f"The time-out is {self.seconds} seconds.", "Give a positive, finite time."
            )
