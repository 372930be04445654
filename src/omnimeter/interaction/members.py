"""One of several agents in an environment: its seat, its own trace, and how it drops out.

What one of them does wrong costs nobody else anything.
"""

from __future__ import annotations

from omnimeter.contract import (
    FOREVER,
    Agent,
    Briefing,
    Ending,
    Fault,
    Percept,
    Space,
    Trace,
)
from omnimeter.interaction.events import Events
from omnimeter.interaction.seats import AgentFault, InProcess, Seat, read_move


class Member:
    """One of those who take an exercise together.

    Args:
        agent: Who, or the seat in which it sits.
        record: Whether to keep actions and observations too.

    Attributes:
        action: What it does next: 0, to be done in its place, once it has dropped out.
        delay: The nanoseconds that this takes.
        trace: What happened to it, once that is over; ``None`` as long as it is there.
    """

    def __init__(self, agent: Agent | Seat, record: bool) -> None:
        self._seat = InProcess(agent) if isinstance(agent, Agent) else agent
        self._events = Events(record)
        self._percept = Percept(0.0, 0)
        self.action = 0
        self.delay = 0
        self.trace: Trace | None = None

    def view(self) -> str | None:
        """The form of observation that it asks for."""
        try:
            return self._seat.view
        except AgentFault as trouble:
            self.fail(trouble.fault)
            return None

    def see(self, percept: Percept, space: Space) -> None:
        """Take its first reward and observation."""
        self._events.space = space
        self._events.begin(percept)
        self._percept = percept

    def begin(self, briefing: Briefing, seed: int) -> None:
        """Get ready."""
        try:
            self._seat.begin(briefing, seed)
        except AgentFault as trouble:
            self.fail(trouble.fault)

    def choose(self, actions: int, tick: int, end: int | None) -> None:
        """Choose an action, or drop out.

        Args:
            actions: How many there are.
            tick: What an action takes when it declares nothing.
            end: When its time is over if it stops, where there is such a time.
        """
        try:
            answer, _ = self._seat.ask(*self._percept, FOREVER)
            action, declared = read_move(answer, actions)
        except AgentFault as trouble:
            self.fail(trouble.fault)
            return
        self.action, self.delay = action, declared or tick
        if action < 0:
            self.leave(Ending.STOPPED, end)

    def wait(self, delay: int) -> None:
        """Let some nanoseconds pass."""
        self._events.now += delay

    def receive(self, percept: Percept) -> None:
        """Take what its action brought."""
        self._events.add(self.action, percept.reward, percept.observation)
        self._percept = percept

    def leave(self, ending: Ending, end: int | None) -> None:
        """Finish, at a given time or now."""
        try:
            self._seat.finish(*self._percept)
        except AgentFault as trouble:
            self.fail(trouble.fault)
            return
        self.action = 0
        self.trace = self._events.trace(self._events.now if end is None else end, ending)

    def fail(self, fault: Fault) -> None:
        """Drop out for a fault, its own or not."""
        self.action = 0
        self.trace = self._events.trace(self._events.now, Ending.FAULT, fault)
