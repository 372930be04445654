"""The corridor in which a rascal misbehaves, and what is left of its process."""

from __future__ import annotations

import re
import time
from pathlib import Path

import numpy as np

from omnimeter.contract import (
    Briefing,
    Budget,
    Clock,
    ClockKind,
    Ending,
    Environment,
    Percept,
    Spec,
    Trace,
    single,
    stream,
)
from omnimeter.contract.spec import Stream
from omnimeter.interaction import interact
from omnimeter.interaction.process import AgentProcess, Limits

RASCAL = Spec(f"{Path(__file__).parent / 'rascal.py'}:Rascal")
SHORT = Limits(seconds_per_action=0.5, seconds_to_begin=20)


class Corridor(Environment):
    """Each action pays a tenth of its number; the agent is told how to misbehave."""

    actions = 3
    space = single(5)

    def __init__(self, how: str = "behave") -> None:
        self.how = how

    def start(self, rng: np.random.Generator) -> Percept:
        self.place = 0
        return Percept(0.0, 0)

    def step(self, action: int) -> Percept:
        self.place = (self.place + action) % 5
        return Percept(action / 10, self.place)

    def briefing(self) -> Briefing:
        return Briefing(self.actions, self.space, self.rewards, {"how": self.how})


def streams(side: str) -> Stream:
    return stream(11, side)


def take(seat: AgentProcess, how: str = "behave", budget: int = 10) -> Trace:
    return interact(Corridor(how), seat, Budget(interactions=budget), streams, record=True)


def take_timed(seat: AgentProcess, how: str, seconds: float) -> tuple[Trace, float]:
    before = time.monotonic()
    trace = interact(
        Corridor(how), seat, Budget(seconds=seconds), streams, clock=Clock(ClockKind.WALL)
    )
    return trace, time.monotonic() - before


def living(group: int) -> list[int]:
    """The processes of a group that are still running."""
    members = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                after_name = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(after_name[2]) == group and after_name[0] not in "ZX":
                members.append(int(entry.name))
    return members


def gone(group: int, seconds: float = 5.0) -> bool:
    deadline = time.monotonic() + seconds
    while living(group):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def works(seat: AgentProcess) -> bool:
    trace = take(seat)
    return trace.fault is None and len(trace) == 10 and trace.ending is Ending.BUDGET


def documented_program() -> str:
    text = (Path(__file__).parents[2] / "docs" / "wire.md").read_text()
    example = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    assert example is not None
    return example[1]
