"""The other end of the wire: ``python -m omnimeter.interaction.host`` runs Python agents.

It speaks as ``docs/wire.md`` says on what were its standard input and output. What an agent prints
goes to the standard error.
"""

from __future__ import annotations

import os
import random
import resource
import select
import signal
import sys
import time
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np

from omnimeter.catalogue import Kind, make
from omnimeter.contract import Agent, OmnimeterError, Prior, Spec
from omnimeter.contract.errors import BrokenPartError
from omnimeter.interaction import wire
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.handles import (
    AgentFault,
    LocalAgent,
    costly_of,
    prepared_by,
    restore,
    view_of,
)
from omnimeter.interaction.wire import Message, observation_from_json

LONGEST_DETAIL = 8_000
"""Characters of a traceback that are sent: its end."""

LAST_MOMENT = 1.0
"""Seconds between the end of the harness and that of this process and its children."""


class Host:
    """Answers messages; knows the agent of the present exercise."""

    def __init__(self) -> None:
        self._reserve = bytearray(4 << 20)  # given back to say that there is no memory left
        self._agent: LocalAgent | None = None
        self._carried: Agent | None = None
        self._actions = 0
        self._restored: tuple[Prior, Message] | None = None  # what it prepared before

    def answer(self, message: Message) -> Message:
        """Do what a message asks for, whatever the agent does short of ending the process."""
        try:
            return self._done(message)
        except (AgentFault, OmnimeterError, MemoryError) as raised:
            self._agent = None
            error: Any = raised
            while error is not None:
                if isinstance(error, MemoryError):
                    self._reserve.clear()
                    return {"type": "memory"}
                error = error.__cause__
            error = raised
            if isinstance(error, BrokenPartError):  # its own code fails, before it can be asked
                return {"type": "fault", "message": str(error), "detail": ""}
            if isinstance(error, AgentFault):
                detail = error.fault.detail[-LONGEST_DETAIL:]
                return {"type": "fault", "message": error.fault.message, "detail": detail}
            return {"type": "refused", "message": error.message, "advice": error.advice}

    def _done(self, message: Message) -> Message:  # noqa: PLR0911 - one for each request
        match message["type"]:
            case "hello":
                sys.path[:] = message["path"]  # modules are imported from where the harness does
                _limit(message["memory_mb"])
                known = {"view": True, "prepare": True, "recall": True}
                return {"type": "hello", "wire": wire.VERSION, **known}
            case "view":
                made = _made(message)
                return {"type": "view", "view": view_of(made), "costly": costly_of(made)}
            case "prepare":
                return self._prepare(message)
            case "begin":
                return self._begin(message)
            case "act":
                assert self._agent is not None  # begun
                observation = observation_from_json(message["observation"])
                answer, _ = self._agent.ask(message["reward"], observation, None)
                return wire.move_to_json(answer, self._actions)
            case "recall":
                assert self._agent is not None  # begun
                observation = observation_from_json(message["observation"])
                self._agent.recall(message["reward"], observation, message["action"])
                return {"type": "recalled"}
            case _:
                agent, self._agent = self._agent, None
                if agent is not None:  # gone if it failed after its time was over
                    observation = observation_from_json(message["observation"])
                    agent.finish(message["reward"], observation)
                return {"type": "finished"}

    def _prepare(self, message: Message) -> Message:
        agent, prior = _made(message), wire.prior_from_json(message["prior"])
        seed_globals(message["seed"])
        return {"type": "prepared", "prepared": prepared_by(agent, prior, message["seed"])}

    def _begin(self, message: Message) -> Message:
        self._agent = None
        seed_globals(message["seed"])
        agent = self._carried or _made(message)
        if message.get("carry"):
            self._carried = agent
        if told := message.get("restore"):
            self._restored = wire.prior_from_json(told["prior"]), told["prepared"]
        if self._restored is not None:
            restore(agent, *self._restored)
        briefing = wire.briefing_from_json(message["briefing"])
        handle = LocalAgent(agent)
        seed_globals(message["seed"])  # whatever was drawn while it was loaded
        handle.begin(briefing, message["seed"])
        self._agent = handle
        self._actions = briefing.actions
        return {"type": "ready"}


def seed_globals(seed: int) -> None:
    """Seed the generators that all of a process shares, for agents that use them all the same."""
    random.seed(seed)
    np.random.seed([seed >> 32, seed & 0xFFFFFFFF])


def _made(message: Message) -> Agent:
    return adapt(make(Kind.AGENT, Spec(**message["agent"])))


def _limit(memory_mb: int | None) -> None:
    """Limit this process before any of the agent's code is loaded."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    statistics = Path("/proc/self/statm")
    if memory_mb is None or not statistics.exists():
        return
    used = int(statistics.read_text().split()[0]) * resource.getpagesize()
    wanted = used + memory_mb * 2**20
    _, maximum = resource.getrlimit(resource.RLIMIT_AS)
    if maximum == resource.RLIM_INFINITY or wanted < maximum:
        resource.setrlimit(resource.RLIMIT_AS, (wanted, wanted))


def _end_with_harness(requests: int) -> None:
    """Wait until the harness is gone; then end this process and all that came from it."""
    poll = select.poll()
    poll.register(requests, 0)  # the other end being closed is always told
    poll.poll()
    time.sleep(LAST_MOMENT)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    """Answer the harness line by line, until it is gone."""
    # The pipes to the harness are put out of the agent's reach.
    requests, replies = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, 0)
    os.close(empty)
    os.dup2(2, 1)
    # The main thread may be busy with an agent that never comes back.
    Thread(target=_end_with_harness, args=(requests.fileno(),), daemon=True).start()
    host, process = Host(), os.getpid()
    for text in iter(requests.readline, b""):
        message = wire.read(text)
        answer = host.answer(message)
        if os.getpid() != process:
            os._exit(0)  # the agent split in two, and both came back: one of them answers
        replies.write(wire.line(message["turn"], answer))
        replies.flush()


if __name__ == "__main__":
    main()
