"""Agents in processes of their own: the process, the conversation with it, and its limits."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from math import ceil
from statistics import median
from time import perf_counter_ns
from typing import Any, Self

import numpy as np

from omnimeter.catalogue import is_program, place_of, program_of
from omnimeter.contract import (
    Agent,
    Briefing,
    Fault,
    FaultKind,
    InvalidInputError,
    Observation,
    Prior,
    Space,
    Spec,
    single,
)
from omnimeter.contract.exercise import LONGEST, nanoseconds
from omnimeter.interaction import wire
from omnimeter.interaction.handles import (
    AgentFault,
    AgentHandle,
    agent_error,
    infrastructure_error,
    read_view,
    shown,
)
from omnimeter.interaction.launcher import NOT_CONTAINED, NOT_EXECUTED, TOO_MUCH_MEMORY
from omnimeter.interaction.sandbox import Launch, Mechanism, Sandbox
from omnimeter.interaction.wire import Message, WireError

MOST_MEMORY = 10**9
"""Megabytes of the highest limit of memory."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Hard limits of time and memory.

    Attributes:
        seconds_per_action: The longest that one action or ``finish`` may take, whatever the
            budget; then the agent is ended.
        memory_mb: Megabytes of address space beyond those of an idle process, imports included;
            ``None`` for no limit.
        seconds_to_begin: The longest that loading the agent and ``begin`` may take.
        seconds_to_prepare: The longest that an offline phase may take.
        seconds_per_exercise: The longest that an exercise may take in real time, environment and
            messages included.
    """

    seconds_per_action: float = 10.0
    memory_mb: int | None = 2048
    seconds_to_begin: float = 60.0
    seconds_to_prepare: float = 86_400.0
    seconds_per_exercise: float = 86_400.0

    def __post_init__(self) -> None:
        for name in (each for each in self.__dataclass_fields__ if each.startswith("seconds")):
            seconds: Any = getattr(self, name)
            if not (isinstance(seconds, int | float) and 0 < seconds <= LONGEST):
                message = f"The limit {name} is {seconds!r}."
                raise InvalidInputError(message, f"Give a time of up to {LONGEST:g} seconds.")
        memory: Any = self.memory_mb
        if memory is not None and not (isinstance(memory, int) and 0 < memory <= MOST_MEMORY):
            message = f"The limit memory_mb is {memory!r}."
            advice = f"Give a number of up to {MOST_MEMORY:,}, or None for no limit."
            raise InvalidInputError(message, advice)


TAIL = 8_000
"""Bytes that are kept of what a child prints."""

SLICE = 100.0
"""Milliseconds after which a silent child is checked: its own children may hold its pipe open."""

LAST_MOMENT = 1.0
"""Seconds that a child gets to end by itself."""

_CHUNK = 65_536
_MOST_CHUNKS = 16  # what the largest pipe of an ordinary user holds


class _ChildFailure(Exception):  # noqa: N818 - the caller decides whose error it was
    """What a child did instead of answering: the end of a sentence about it."""


class _NotStarted(_ChildFailure):
    """The launcher ended before it was the program; ``executed``: it could not become it."""

    def __init__(self, code: int) -> None:
        super().__init__(f"ended its process (exit code {code})")
        self.executed = code == NOT_EXECUTED


class _Child:
    """A process in a session of its own that answers each message with one of its own."""

    def __init__(self, launch: Launch) -> None:
        self._launch = launch.__enter__()
        try:
            self._process = subprocess.Popen(
                launch.command,
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=launch.environment,
                cwd=place_of() or None,
                start_new_session=True,
            )
        except BaseException:
            launch.__exit__()
            raise
        self.pid = self._process.pid  # also the number of its group
        self._pipes: list[Any] = [self._process.stdin, self._process.stdout, self._process.stderr]
        self._requests, self._replies, self._prints = [pipe.fileno() for pipe in self._pipes]
        os.set_blocking(self._requests, False)
        os.set_blocking(self._prints, False)
        self._poll = select.poll()
        self._poll.register(self._replies, select.POLLIN)
        self._poll.register(self._prints, select.POLLIN)
        self._received = b""
        self._tail = b""
        self._turn = 0
        self.answered = True  # if not, it is still busy with the last message
        self.longest_line = wire.LONGEST_LINE
        self._send(launch.plan, perf_counter_ns() + nanoseconds(LAST_MOMENT))

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def exchange(self, message: Message, deadline: int) -> Message | None:
        """Send a message and give the answer to it, or ``None`` when there is none in time."""
        while self.answered and self._replies in [source for source, _ in self._poll.poll(0)]:
            self._listen(deadline)  # which raises when the process has ended
            if self._received:
                raise WireError("it answers before it is asked")
        if self.answered and self._received:
            raise WireError("it answers before it is asked")
        self._turn += 1
        text = wire.line(self._turn, message)
        self.answered = False
        return self.answer(deadline) if self._send(text, deadline) else None

    def answer(self, deadline: int) -> Message | None:
        """The answer to the last message, as ``exchange`` gives it; late ones are passed over."""
        while (text := self._receive(deadline)) is not None:
            reply = wire.read(text)
            if reply["turn"] == self._turn:
                self.answered = True
                return reply
            if reply["turn"] > self._turn:
                raise WireError(f"turn {reply['turn']} has not come yet")
            if perf_counter_ns() > deadline:
                break
        return None

    def forget(self) -> None:
        """Keep only what it prints from now on."""
        self._hear_prints()
        self._tail = b""

    def _send(self, text: bytes, deadline: int) -> bool:
        """Send a line; say whether it was taken in time."""
        rest = memoryview(text)
        while rest:
            try:
                rest = rest[os.write(self._requests, rest) :]
            except BlockingIOError:  # a line longer than the pipe: it is being read
                if perf_counter_ns() > deadline:
                    return False
                self._hear_prints()
                time.sleep(1e-3)
            except BrokenPipeError:
                raise self._ended() from None
        return True

    def _receive(self, deadline: int) -> bytes | None:
        """The next line, or ``None`` when there is none in time."""
        while b"\n" not in self._received:
            if not self._listen(deadline):
                return None
        text, _, self._received = self._received.partition(b"\n")
        return text

    def _listen(self, deadline: int) -> bool:
        """Wait for something from the child; say whether there is still time to wait for more."""
        left = max(0, deadline - perf_counter_ns())
        heard = [source for source, _ in self._poll.poll(min(left / 1e6, SLICE))]
        if self._prints in heard:
            self._hear_prints()
        if self._replies in heard:
            chunk = os.read(self._replies, _CHUNK)
            if not chunk:
                raise self._ended()
            self._received += chunk
            if len(self._received) > self.longest_line:
                raise _ChildFailure(f"sent a line of more than {self.longest_line} bytes")
            return True
        if not self.alive:
            raise self._ended()
        return left > 0

    def _hear_prints(self) -> None:
        """Empty the pipe of what is printed, so that printing does not block."""
        try:
            chunk = os.read(self._prints, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:  # all writers have closed it
            with suppress(KeyError):
                self._poll.unregister(self._prints)
        self._tail = (self._tail + chunk)[-TAIL:]

    def _ended(self) -> _ChildFailure:
        try:
            code = self._process.wait(LAST_MOMENT)
        except subprocess.TimeoutExpired:
            return _ChildFailure("closed its channel")
        if code == TOO_MUCH_MEMORY:
            return _ChildFailure(OUT_OF_MEMORY)
        if self._turn <= 1 and code in (NOT_CONTAINED, NOT_EXECUTED):
            return _NotStarted(code)
        how = f"exit code {code}" if code >= 0 else f"signal {-code}"
        with suppress(ValueError):  # a number without a name
            how = how if code >= 0 else f"signal {signal.Signals(-code).name}"
        return _ChildFailure(f"ended its process ({how})")

    def output(self) -> str:
        """The end of what it has printed."""
        self._hear_prints()
        return self._tail.decode(errors="replace")

    def kill(self) -> str:
        """End the process and all that came from it at once; give the end of its output."""
        self._process.terminate()  # the launcher ends when all others have ended
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(LAST_MOMENT)
        # The group outlives its first process, which may have been waited for a moment ago. Its
        # number is not given to another process so soon.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        self._launch.__exit__()
        for _ in range(_MOST_CHUNKS):
            output = self.output()
        for pipe in self._pipes:
            pipe.close()
        return output

    def close(self) -> None:
        """Let the process end by itself, for a moment; then end it."""
        self._pipes[0].close()
        deadline = perf_counter_ns() + int(LAST_MOMENT * 1e9)
        with suppress(_ChildFailure):
            while perf_counter_ns() < deadline and self._listen(deadline):
                self._received = b""
        self.kill()


HOST = (sys.executable, "-P", "-u", "-X", "faulthandler", "-m", "omnimeter.interaction.host")
"""Runs Python agents. No file in the current directory can shadow a module that it needs; what an
agent prints is seen at once, even if it hangs or crashes."""

GRACE = 200_000_000
"""Nanoseconds in which an agent whose time was over must become free again."""

LIFE = 10
"""How many times the processor time of the longest exercise and offline phase a process may use,
which serves for many exercises."""

TRANSPORT = 20_000_000
"""Nanoseconds that an answer given in time may be on its way."""

OUT_OF_MEMORY = "used too much memory"
"""What a child did whose processes together used more memory than they may."""


SHARE = 10
"""At least this part of a round trip is charged to an agent: what can be gained by answering faster
than an agent that does nothing is bounded, and an exercise with a time ends in real time."""

LEAST = 1_000
"""Nanoseconds that are charged at least."""

ROUND_TRIPS = 300
"""Messages to an agent that does nothing, the median of which is not charged."""


def charged(round_trip: int, transport: int) -> int:
    """The nanoseconds of an agent's own: those of the round trip without those of a no-op agent."""
    return max(round_trip - transport, round_trip // SHARE, LEAST)


class NoOp(Agent):
    """Answers at once, whatever it sees."""

    def act(self, reward: float, observation: Observation) -> int:  # noqa: ARG002 - see Agent
        """The first action."""
        return 0


NO_OP = Spec(f"{NoOp.__module__}:{NoOp.__name__}")
"""The agent that does nothing, for a process of its own."""


@cache
def _no_op_round_trip(sandbox: Sandbox, length: int) -> int:
    """The median nanoseconds of a message to a no-op agent in the same kind of process.

    Measured once in each process of the harness, for observations of about the same length; 0
    stands for a single number.
    """
    observation = 0 if length == 0 else np.full(length, 3, dtype=np.int64)
    space = single(2) if length == 0 else Space((4,) * length)
    times = []
    with AgentProcess(NO_OP, sandbox=sandbox) as process:
        process.begin(Briefing(2, space), 0)
        for _ in range(ROUND_TRIPS + ROUND_TRIPS // 10):
            before = perf_counter_ns()
            process.ask(0.0, observation, None)
            times.append(perf_counter_ns() - before)
    return int(median(times[-ROUND_TRIPS:]))  # without the first ones


class AgentProcess(AgentHandle):
    """An agent in a process of its own, for one exercise after the other.

    The process is started when it is first needed. Each ``begin`` makes a new agent in it. After a
    hang, a crash or too much memory it is ended, and the next ``begin`` starts another one. But an
    agent that hangs before its first ``begin`` is not waited for again: its fault stays the same.

    Args:
        spec: Which agent.
        limits: What it may take.
        command: The program that speaks for the agent, as ``docs/wire.md`` says; by default the
            agent itself if it is a program, else one that runs Python agents.
        carry: Whether the same agent takes all exercises, as long as its process lives.
        prior: What the agent was told in an offline phase, if it has had one.
        prepared: What it prepared then.
        sandbox: What contains the process.
    """

    def __init__(
        self,
        spec: Spec,
        limits: Limits = Limits(),  # noqa: B008 - a frozen value
        command: Sequence[str] | None = None,
        *,
        carry: bool = False,
        prior: Prior | None = None,
        prepared: Mapping[str, Any] | None = None,
        sandbox: Sandbox = Sandbox(),  # noqa: B008 - a frozen value
    ) -> None:
        self.spec = spec
        self.limits = limits
        self.sandbox = sandbox
        self._command = command
        self._carry = carry
        self._begun = False
        self._child: _Child | None = None
        self._prior, self._prepared = prior, dict(prepared or {})
        self._restored = False  # whether the present process was told of them
        self._loading = False  # whether it is only to be seen that there is such an agent
        self._can_name_view = False  # what the process said when it was greeted
        self._can_prepare = False
        self._can_recall = False
        self._said: tuple[str | None, bool] | None = None  # its view, and whether it is costly
        self.hung: Fault | None = None  # before it could begin: it does so whenever it is asked
        self._start_ns = self._own_ns = 0  # of the present exercise, and how much was its own

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def pid(self) -> int | None:
        """The number of the process, if there is one now."""
        return None if self._child is None else self._child.pid

    def close(self) -> None:
        """End the process. A later ``begin`` would start another one."""
        if self._child is not None and self._child.answered:
            self._child.close()
            self._child = None
        self._end()

    @property
    def view(self) -> str | None:
        """The view that the agent asks for; ``None`` where its program does not know of views.

        Raises:
            AgentFault: It cannot even be asked.
        """
        return self._asked()[0]

    @property
    def costly(self) -> bool:
        """Whether the agent says that its answers are costly; its program need not know of it.

        Raises:
            AgentFault: It cannot even be asked.
        """
        return self._asked()[1]

    def _asked(self) -> tuple[str | None, bool]:
        """What the agent says of itself before any exercise."""
        if self._said is None:
            self._have_process()
            view, costly = None, False
            if self._can_name_view:
                message = {"type": "view", "agent": self.spec.unnamed.to_json()}
                limit = self.limits.seconds_to_begin
                try:
                    reply = self._request("view", message, limit, "to name its view")
                except AgentFault as trouble:
                    self._note_hang(trouble.fault)
                    raise
                view, costly = read_view(reply.get("view")), reply.get("costly") is True
            self._said = view, costly
        return self._said

    def load(self) -> None:
        """Find out whether there is such an agent, before it takes any exercise.

        Raises:
            InvalidInputError: There is not, or its parameters are wrong.
            AgentFault: It cannot even be asked.
        """
        self._loading = True
        try:
            self.view  # noqa: B018 - starts its process and makes the agent
        finally:
            self._loading = False

    def begin(self, briefing: Briefing, seed: int) -> None:
        """Make a new agent and brief it.

        Raises:
            AgentFault: It cannot go on, or lost the memory that it should carry.
        """
        if self._carry and self._begun and self._child is None:
            raise agent_error("The agent's process ended, and with it the memory that it carried.")
        self.warm = self._begun and self._child is not None
        self._have_process()
        self._start_ns, self._own_ns = perf_counter_ns(), 0
        self._begun = True
        message = {
            "type": "begin",
            "agent": self.spec.unnamed.to_json(),
            "briefing": wire.briefing_to_json(briefing),
            "seed": seed,
            **({"carry": True} if self._carry else {}),
        }
        if self._prior is not None and self._can_prepare and not self._restored:
            prior = wire.prior_to_json(self._prior)
            message["restore"] = {"prior": prior, "prepared": self._prepared}
            self._restored = True
        limit = min(self.limits.seconds_to_begin, self.limits.seconds_per_exercise)
        self._request("ready", message, limit, "to begin")
        self._own_ns = perf_counter_ns() - self._start_ns

    def prepare(self, prior: Prior, seed: int) -> Mapping[str, Any]:
        """The offline phase: what the agent learns from a prior, as JSON-able data.

        Empty where its program does not know of an offline phase.

        Raises:
            AgentFault: It fails, or takes too long.
        """
        self._have_process()
        if not self._can_prepare:
            return {}
        told = {"prior": wire.prior_to_json(prior), "seed": seed}
        message = {"type": "prepare", "agent": self.spec.unnamed.to_json(), **told}
        limit = self.limits.seconds_to_prepare
        assert self._child is not None  # see _have_process
        self._child.longest_line = wire.LONGEST_PREPARED
        prepared = self._request("prepared", message, limit, "to prepare").get("prepared")
        if self._child is not None:
            self._child.longest_line = wire.LONGEST_LINE
        if not isinstance(prepared, dict):
            raise agent_error(f"The agent prepared {shown(prepared)}, which is no JSON object.")
        return prepared

    def ask(self, reward: float, observation: Observation, left: int | None) -> tuple[object, int]:  # noqa: D102 - see AgentHandle
        message = wire.percept_to_json("act", reward, observation)
        longest = nanoseconds(self.limits.seconds_per_action)
        before = perf_counter_ns()
        limit = longest if left is None or left > longest else left + TRANSPORT
        end = self._start_ns + nanoseconds(self.limits.seconds_per_exercise)
        reply = self._exchange(message, min(before + limit, end)) if before < end else None
        after = perf_counter_ns()
        self._own_ns += after - before
        if reply is None:
            if after >= end:
                raise self._never_ends(after - self._start_ns)
            if left is None or left > longest:
                raise self._too_slow(self.limits.seconds_per_action, "for one action")
            return None, left
        self._expect("move", reply)
        return wire.answer_from_json(reply), charged(after - before, self.transport)

    def recall(self, reward: float, observation: Observation, action: int) -> None:  # noqa: D102
        if self._can_recall:
            message = {**wire.percept_to_json("recall", reward, observation), "action": action}
            self._request("recalled", message, self.limits.seconds_per_action, "to recall")

    def calibrate(self, space: Space) -> None:
        """Let a no-op agent in the same kind of process answer some messages; once is enough."""
        length = 0 if space.single else 1 << (len(space.sizes) - 1).bit_length()
        self.transport = _no_op_round_trip(self.sandbox, length)

    def wait(self, delay: int) -> None:
        """Let the nanoseconds pass that the agent declared, but none after the exercise."""
        left = self._start_ns + nanoseconds(self.limits.seconds_per_exercise) - perf_counter_ns()
        super().wait(max(0, min(delay, left)))
        self._own_ns += delay

    def finish(self, reward: float, observation: Observation) -> None:
        """Give the agent the last reward and observation, if it is still there."""
        self._settle()
        if self._child is not None:
            message = wire.percept_to_json("finish", reward, observation)
            used = (perf_counter_ns() - self._start_ns) / 1e9
            left = max(LAST_MOMENT, self.limits.seconds_per_exercise - used)
            limit = min(self.limits.seconds_per_action, left)
            self._request("finished", message, limit, "to finish")

    def _have_process(self) -> None:
        """Have a free process that has printed nothing, started if there is none.

        Raises:
            AgentFault: There is none, or the agent is known to hang.
        """
        if self.hung is not None:
            raise AgentFault(self.hung)
        self._settle()
        if self._child is not None and not self._child.alive:
            self._end()  # it ended between two exercises, which costs neither of them
        (self._child or self._start()).forget()

    def _start(self) -> _Child:
        """Agree on the wire format.

        No Python agent is loaded before, so no fault is an agent's. A program is the agent itself.
        """
        own = self._command is None and is_program(self.spec)
        try:
            child = self._child = _Child(self._launch())
        except InvalidInputError as error:
            if self._loading:
                raise
            raise infrastructure_error(str(error)) from error
        except (OSError, ValueError) as error:
            if own and isinstance(error, OSError):
                raise self._not_executed(str(error)) from error
            message = f"The agent's process cannot be started: {error}"
            raise infrastructure_error(message) from error
        hello = {
            "type": "hello",
            "wire": wire.VERSION,
            "memory_mb": self.limits.memory_mb,
            "path": [str(place) for place in sys.path],
        }
        try:
            limit = self.limits.seconds_to_begin
            reply = self._request("hello", hello, limit, "to answer the greeting")
            if reply.get("wire") != wire.VERSION:
                raise self._failed(f"does not speak version {wire.VERSION} of the wire format")
            self._can_name_view = reply.get("view") is True
            self._can_prepare = reply.get("prepare") is True
            self._can_recall = reply.get("recall") is True
            self._restored = False
        except AgentFault as trouble:
            self._end()
            fault, cause = trouble.fault, trouble.__cause__
            if own and isinstance(cause, _NotStarted) and cause.executed:
                said = fault.detail.strip().rpartition("\n")[2]
                raise self._not_executed(said) from trouble
            if own and not isinstance(cause, _NotStarted):
                self._note_hang(fault)
                raise
            message = f"The agent's process does not start properly. {fault.message}"
            raise infrastructure_error(message, fault.detail) from trouble
        return child

    def _note_hang(self, fault: Fault) -> None:
        """Remember an agent that hangs before its first exercise, which costs its limit once."""
        if fault.kind is FaultKind.TIME_OUT and not self._begun:
            self.hung = fault

    def _not_executed(self, why: str) -> Exception:
        """The error of a program that the system does not execute; of the user, if it is loaded."""
        message = f"{program_of(self.spec).command[0]} cannot be executed: {why}."
        advice = "Compile it for this system, or begin a script with '#!' and its interpreter."
        if self._loading:
            return InvalidInputError(message, advice)
        return agent_error(f"{message} {advice}")

    def _launch(self) -> Launch:
        """How the process is started."""
        own = self._command is None and is_program(self.spec)
        command = program_of(self.spec).command if own else self._command or HOST
        limits: dict[str, int] = {}
        if own and self.limits.memory_mb is not None:  # a Python agent's process limits itself
            limits["memory"] = self.limits.memory_mb << 20
        if self.sandbox.mechanism is Mechanism.NONE:
            return Launch(command, limits=limits)
        seconds = self.limits.seconds_to_prepare + self.limits.seconds_per_exercise
        limits["RLIMIT_CPU"] = LIFE * ceil(seconds)
        if self.limits.memory_mb is not None:
            limits["memory"] = self.limits.memory_mb << 20
        return Launch(command, self.sandbox, self.spec, limits)

    def _request(self, kind: str, message: Message, seconds: float, doing: str) -> Message:
        """The answer to a message, of the expected kind and within a hard limit."""
        reply = self._exchange(message, perf_counter_ns() + nanoseconds(seconds))
        if reply is None:
            raise self._too_slow(seconds, doing)
        self._expect(kind, reply)
        return reply

    def _exchange(self, message: Message, deadline: int) -> Message | None:
        assert self._child is not None  # see _have_process
        try:
            return self._child.exchange(message, deadline)
        except (_ChildFailure, WireError) as failure:
            raise self._failed(str(failure)) from failure

    def _expect(self, kind: str, reply: Message) -> None:
        """Turn every other answer into a fault."""
        given = reply["type"]
        if given == kind:
            return
        if given == "refused" and kind in ("view", "ready", "prepared"):
            refusal = wire.text_of(reply, "message"), wire.text_of(reply, "advice")
            if self._loading:
                raise InvalidInputError(*refusal)
            raise agent_error(" ".join(filter(None, refusal)))
        if given == "memory":
            raise self._failed(OUT_OF_MEMORY)
        if given != "fault" or self._child is None:
            raise self._failed(str(WireError(f"{given!r} is no answer here")))
        details = wire.text_of(reply, "detail"), _quoted(self._child.output())
        raise agent_error(wire.text_of(reply, "message"), "\n".join(filter(None, details)))

    def _too_slow(self, seconds: float, doing: str) -> AgentFault:
        message = f"The agent took longer than {seconds:g} s {doing}."
        return AgentFault(Fault(FaultKind.TIME_OUT, message, _quoted(self._end())))

    def _never_ends(self, elapsed: int) -> AgentFault:
        """The fault of an exercise that takes too long, by who took most of the time."""
        seconds = self.limits.seconds_per_exercise
        if 2 * self._own_ns >= elapsed:
            return self._too_slow(seconds, "for an exercise")
        self._end()
        return infrastructure_error(
            f"The exercise took longer than {seconds:g} s, most of which the agent did not use."
        )

    def _failed(self, doing: str) -> AgentFault:
        if doing == OUT_OF_MEMORY:
            limit = self.limits.memory_mb
            doing = "ran out of memory" if limit is None else f"used more than {limit} MB of memory"
        return agent_error(f"The agent {doing}.", _quoted(self._end()))

    def _settle(self) -> None:
        """Give an agent whose time was over a moment to become free; if it does not, end it."""
        if self._child is None or self._child.answered:
            return
        try:
            reply = self._child.answer(perf_counter_ns() + GRACE)
        except (_ChildFailure, WireError):
            reply = None  # what it does now no longer counts
        if reply is None or reply["type"] == "memory":
            self._end()

    def _end(self) -> str:
        """End the process, if there is one; give the end of its output."""
        child, self._child = self._child, None
        return "" if child is None else child.kill()


def _quoted(output: str) -> str:
    return f"The agent's last output:\n{output}" if output else ""
