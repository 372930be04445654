"""What an agent in a process of its own may take."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite

from omnimeter.contract import InvalidInputError


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits of time and memory.

    Attributes:
        seconds_per_action: Our patience with one action, whatever the budget; then the agent is
            ended. The same holds for ``finish``.
        memory_mb: Megabytes of address space beyond those of an idle process; ``None`` for no
            limit. What the agent imports counts.
        seconds_to_begin: Our patience with loading the agent and with ``begin``.
    """

    seconds_per_action: float = 10.0
    memory_mb: int | None = 2048
    seconds_to_begin: float = 60.0

    def __post_init__(self) -> None:
        for name in ("seconds_per_action", "seconds_to_begin"):
            seconds = getattr(self, name)
            if not (isfinite(seconds) and seconds > 0):
                raise InvalidInputError(
                    f"The limit {name} is {seconds}.", "Give a positive, finite time."
                )
        if self.memory_mb is not None and self.memory_mb <= 0:
            raise InvalidInputError(
                f"The limit memory_mb is {self.memory_mb}.", "Give a positive number, or none."
            )

    @property
    def memory_message(self) -> str:
        """What is said of an agent that went beyond."""
        if self.memory_mb is None:
            return "The agent ran out of memory."
        return f"The agent used more than {self.memory_mb} MB of memory."
