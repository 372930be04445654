"""What went wrong in an evaluation: faults of the same kind and message put together."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from omnimeter.contract import Fault, Outcome, Spec

_LONGEST = 160
"""How many characters of a message stand in the table; the rest is folded away."""


@dataclass(frozen=True, slots=True)
class FaultRow:
    """The same thing going wrong for one agent, once or more often.

    Attributes:
        agent: The agent.
        fault: The first such fault, in the order of the exercises.
        numbers: The numbers of the exercises that it ended.
    """

    agent: Spec
    fault: Fault
    numbers: tuple[int, ...]

    @property
    def headline(self) -> str:
        """The first line of the message, not too long."""
        line = next((line for line in self.fault.message.splitlines() if line.strip()), "").strip()
        return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"


def fault_table(outcomes: Iterable[Outcome]) -> list[FaultRow]:
    """All faults, the most frequent first."""
    groups: dict[tuple[Spec, str, str], list[Outcome]] = {}
    for each in outcomes:
        if each.fault is not None:
            group = (each.exercise.agent, str(each.fault.kind), each.fault.message)
            groups.setdefault(group, []).append(each)
    rows = []
    for (agent, _, _), members in groups.items():
        members.sort(key=lambda each: each.exercise.number)
        first = members[0].fault
        assert first is not None  # only faults are grouped
        rows.append(FaultRow(agent, first, tuple(each.exercise.number for each in members)))
    return sorted(rows, key=lambda row: (-len(row.numbers), row.agent.label, row.numbers))
