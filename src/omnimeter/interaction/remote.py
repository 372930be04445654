"""An agent in a process of its own, with a hard limit of time and memory.

Whatever it does (hang, crash, eat memory, flood its output) costs only its own exercise. It is no
protection against an agent that means harm: it reads and writes files like any program.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from time import perf_counter_ns
from types import TracebackType
from typing import Self

from omnimeter.contract import (
    Briefing,
    Fault,
    FaultKind,
    InvalidInputError,
    Observation,
    Spec,
    nanoseconds,
)
from omnimeter.interaction.children import Child, ChildFailure
from omnimeter.interaction.conversation import Conversation
from omnimeter.interaction.limits import Limits
from omnimeter.interaction.messages import (
    VERSION,
    Message,
    WireError,
    answer_from_json,
    briefing_to_json,
    own_time,
    percept_to_json,
    text_of,
)
from omnimeter.interaction.seats import (
    AgentFault,
    Seat,
    agent_error,
    infrastructure_error,
    read_view,
)

__all__ = ["HOST", "AgentProcess", "Limits"]

HOST = (sys.executable, "-P", "-u", "-X", "faulthandler", "-m", "omnimeter.interaction.host")
"""Runs Python agents. Nothing in the current directory can stand in for a module that it needs;
what an agent prints is seen at once, even if it hangs or crashes."""

GRACE = 200_000_000
"""Nanoseconds in which an agent whose time was over must become free again."""

TRANSPORT = 20_000_000
"""Nanoseconds that an answer given in time may be on its way."""

_VARIABLES = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "PYTHONHASHSEED": "0",  # the order of a set of texts is the same in every process
}


class AgentProcess(Seat):
    """The seat of one agent, for one exercise after the other, in a process of its own.

    The process is started when it is first needed. Each ``begin`` makes a new agent in it. After a
    hang, a crash or too much memory it is ended, and the next ``begin`` starts another one.

    Args:
        spec: Which agent.
        limits: What it may take.
        command: The program that speaks for the agent, as ``docs/wire.md`` says.
    """

    def __init__(
        self,
        spec: Spec,
        limits: Limits = Limits(),  # noqa: B008 - a frozen value
        command: Sequence[str] = HOST,
    ) -> None:
        self.spec = spec
        self.limits = limits
        self._command = command
        self._child: Child | None = None
        self._conversation: Conversation
        self._can_name_view = False  # what the process said when it was greeted
        self._view: tuple[str | None] | None = None  # known once it was asked for

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The number of the process, if there is one now."""
        return None if self._child is None else self._child.pid

    def close(self) -> None:
        """End the process. A later ``begin`` would start another one."""
        if self._child is not None and self._conversation.answered:
            self._child.close()
            self._child = None
        self._end()

    @property
    def view(self) -> str | None:
        """The form of observation that the agent asks for; none where it does not know of forms.

        Raises:
            InvalidInputError: There is no such agent, or it cannot be made.
            AgentFault: It cannot even be asked.
        """
        if self._view is None:
            self._settle()
            self._ready_child().forget()
            self._view = (self._ask_view() if self._can_name_view else None,)
        return self._view[0]

    def _ask_view(self) -> str | None:
        message = {"type": "view", "agent": self.spec.to_json()}
        reply = self._exchange(message, self.limits.seconds_to_begin, "to name its view")
        self._refuse(reply)
        self._expect("view", reply)
        return read_view(reply.get("view"))

    def begin(self, briefing: Briefing, seed: int) -> None:
        """Make a new agent and brief it.

        Raises:
            InvalidInputError: There is no such agent, or it cannot be made.
            AgentFault: It cannot go on.
        """
        self._settle()
        self._ready_child().forget()
        message = {
            "type": "begin",
            "agent": self.spec.to_json(),
            "briefing": briefing_to_json(briefing),
            "seed": seed,
        }
        reply = self._exchange(message, self.limits.seconds_to_begin, "to begin")
        self._refuse(reply)
        self._expect("ready", reply)

    def ask(self, reward: float, observation: Observation, left: int) -> tuple[object, int]:  # noqa: D102 - see Seat
        message = percept_to_json("act", reward, observation)
        patience = nanoseconds(self.limits.seconds_per_action)
        before = perf_counter_ns()
        limit = patience if left > patience else left + TRANSPORT
        reply = self._exchange_until(message, before + limit)
        round_trip = perf_counter_ns() - before
        if reply is None:
            if left > patience:
                raise self._too_slow(self.limits.seconds_per_action, "for one action")
            return None, left
        self._expect("move", reply)
        return answer_from_json(reply), own_time(reply, round_trip)

    def finish(self, reward: float, observation: Observation) -> None:
        """Give the agent the last reward and observation, if it is still there."""
        self._settle()
        if self._child is not None:
            message = percept_to_json("finish", reward, observation)
            reply = self._exchange(message, self.limits.seconds_per_action, "to finish")
            self._expect("finished", reply)

    def _ready_child(self) -> Child:
        """The process, started if there is none."""
        if self._child is not None and not self._child.alive:
            self._end()  # it ended between two exercises, which costs neither of them
        if self._child is None:
            try:
                child = Child(self._command, {**os.environ, **_VARIABLES})
            except (OSError, ValueError) as error:
                message = f"The agent's process cannot be started: {error}"
                raise infrastructure_error(message) from error
            self._conversation = Conversation(child)
            self._child = child
            self._greet()
        return self._child

    def _greet(self) -> None:
        """Agree on the wire format. No agent is loaded before, so nothing is an agent's fault."""
        hello = {
            "type": "hello",
            "wire": VERSION,
            "memory_mb": self.limits.memory_mb,
            "path": [str(place) for place in sys.path],
        }
        try:
            reply = self._exchange(hello, self.limits.seconds_to_begin, "to answer the greeting")
            self._expect("hello", reply)
            if reply.get("wire") != VERSION:
                raise self._failed(f"does not speak version {VERSION} of the wire format")
            self._can_name_view = reply.get("view") is True
        except AgentFault as trouble:
            self._end()
            fault = trouble.fault
            message = f"The agent's process does not start properly. {fault.message}"
            raise infrastructure_error(message, fault.detail) from trouble

    def _exchange(self, message: Message, seconds: float, doing: str) -> Message:
        """The answer to a message, for which there is a hard limit."""
        reply = self._exchange_until(message, perf_counter_ns() + nanoseconds(seconds))
        if reply is None:
            raise self._too_slow(seconds, doing)
        return reply

    def _exchange_until(self, message: Message, deadline: int) -> Message | None:
        try:
            return self._conversation.exchange(message, deadline)
        except (ChildFailure, WireError) as failure:
            raise self._failed(str(failure)) from failure

    def _expect(self, kind: str, reply: Message) -> None:
        """Turn every other answer into a fault."""
        found = reply["type"]
        if found == kind:
            return
        if found == "memory":
            raise agent_error(self.limits.memory_message, _quoted(self._end()))
        if found != "fault" or self._child is None:
            raise self._failed(str(WireError(f"{found!r} is no answer here")))
        details = text_of(reply, "detail"), _quoted(self._child.words())
        raise agent_error(text_of(reply, "message"), "\n".join(filter(None, details)))

    @staticmethod
    def _refuse(reply: Message) -> None:
        if reply["type"] == "refused":
            raise InvalidInputError(text_of(reply, "message"), text_of(reply, "advice"))

    def _too_slow(self, seconds: float, doing: str) -> AgentFault:
        message = f"The agent took longer than {seconds:g} s {doing}."
        return AgentFault(Fault(FaultKind.TIME_OUT, message, _quoted(self._end())))

    def _failed(self, doing: str) -> AgentFault:
        return agent_error(f"The agent {doing}.", _quoted(self._end()))

    def _settle(self) -> None:
        """Give an agent whose time was over a moment to become free; if it does not, end it."""
        if self._child is None or self._conversation.answered:
            return
        try:
            reply = self._conversation.answer(perf_counter_ns() + GRACE)
        except (ChildFailure, WireError):
            reply = None  # what it does now no longer counts
        if reply is None or reply["type"] == "memory":
            self._end()

    def _end(self) -> str:
        """End the process, if there is one; give its last words."""
        child, self._child = self._child, None
        return "" if child is None else child.kill()


def _quoted(words: str) -> str:
    return f"The agent's last output:\n{words}" if words else ""
