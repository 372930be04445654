"""What an automaton is: states that pay, and where each action leads from each of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from omnimeter.contract import Instance

Transitions = Sequence[Sequence[int]]
"""The state that each action leads to, a row per state."""


@dataclass(frozen=True, slots=True)
class Automaton:
    """A finite state machine. It begins in state 0.

    Attributes:
        transitions: The state that each action leads to, a row per state.
        marks: How good each state is among the states: -1, 0 or 1.
        symbols: What each state is shown as; ``None`` where each is shown by its own number.
    """

    transitions: tuple[tuple[int, ...], ...]
    marks: tuple[int, ...]
    symbols: tuple[int, ...] | None = None

    @property
    def states(self) -> int:
        """The number of states."""
        return len(self.transitions)

    @property
    def actions(self) -> int:
        """The number of actions."""
        return len(self.transitions[0])

    @property
    def outputs(self) -> list[tuple[int, int]]:
        """What tells states apart at once: how each pays and what it is shown as."""
        shown = range(self.states) if self.symbols is None else self.symbols
        return list(zip(self.marks, shown, strict=True))

    def instance(self) -> Instance:
        """Its frozen description."""
        data = {"transitions": [list(row) for row in self.transitions], "marks": list(self.marks)}
        if self.symbols is not None:
            data["symbols"] = list(self.symbols)
        return Instance(data)
