"""Messages to an agent's process and its answers, turn by turn."""

from __future__ import annotations

from time import perf_counter_ns

from omnimeter.interaction.children import Child
from omnimeter.interaction.messages import Message, WireError, line, read


class Conversation:
    """A conversation with a child process, which answers each message with one of its own.

    Args:
        child: The process.
    """

    def __init__(self, child: Child) -> None:
        self._child = child
        self._turn = 0
        self._answered = True

    @property
    def answered(self) -> bool:
        """Whether the last message was answered. If not, the child is still busy with it."""
        return self._answered

    def exchange(self, message: Message, deadline: int) -> Message | None:
        """Send a message and give the answer to it, or ``None`` when there is none in time.

        Raises:
            AgentFault: The message cannot be sent to anybody.
            ChildFailure: The child has ended, or floods its channel.
            WireError: The answer cannot be understood.
        """
        self._turn += 1
        text = line(self._turn, message)
        self._answered = False
        return self.answer(deadline) if self._child.send(text, deadline) else None

    def answer(self, deadline: int) -> Message | None:
        """The answer to the last message; what still comes for earlier ones is passed over.

        Raises:
            ChildFailure: The child has ended, or floods its channel.
            WireError: The answer cannot be understood.
        """
        while (text := self._child.receive(deadline)) is not None:
            reply = read(text)
            if reply["turn"] == self._turn:
                self._answered = True
                return reply
            if reply["turn"] > self._turn:
                raise WireError(f"turn {reply['turn']} has not come yet")
            if perf_counter_ns() > deadline:
                break
        return None
