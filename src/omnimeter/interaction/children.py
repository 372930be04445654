"""A child process that is spoken to in lines, never waited for beyond a deadline, and always ended.

Deadlines are nanoseconds of ``time.perf_counter_ns``.
"""

from __future__ import annotations

import os
import select
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from time import perf_counter_ns

from omnimeter.interaction.messages import LONGEST_LINE

TAIL = 8_000
"""Bytes that are kept of what a child prints."""

SLICE = 100.0
"""Milliseconds after which a silent child is looked at: it may be dead, and its pipe still held
open by a child of its own."""

LAST_MOMENT = 1.0
"""Seconds that a child gets to end by itself."""

_CHUNK = 65_536
_MOST_CHUNKS = 16  # what the largest pipe of an ordinary user holds


class ChildFailure(Exception):  # noqa: N818 - who uses it decides whose error it was
    """What a child did instead of answering: the end of a sentence about it."""


class Child:
    """A process in a session of its own, with pipes for lines and for what it prints.

    Args:
        command: The program and its arguments.
        environment: Its environment variables.

    Raises:
        OSError: It cannot be started.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            command,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            start_new_session=True,
        )
        assert self._process.stdin is not None  # as asked for
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._requests = self._process.stdin.fileno()
        self._replies = self._process.stdout.fileno()
        self._prints = self._process.stderr.fileno()
        os.set_blocking(self._requests, False)
        os.set_blocking(self._prints, False)
        self._poll = select.poll()
        self._poll.register(self._replies, select.POLLIN)
        self._poll.register(self._prints, select.POLLIN)
        self._received = b""
        self._tail = b""

    @property
    def alive(self) -> bool:
        """Whether it still runs."""
        return self._process.poll() is None

    @property
    def pid(self) -> int:
        """The number of the process and of its group."""
        return self._process.pid

    def forget(self) -> None:
        """Keep only what it prints from now on."""
        self._hear_prints()
        self._tail = b""

    def send(self, line: bytes, deadline: int) -> bool:
        """Send a line; say whether it was taken in time.

        Raises:
            ChildFailure: The child has ended.
        """
        rest = memoryview(line)
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

    def receive(self, deadline: int) -> bytes | None:
        """The next line, or ``None`` when there is none in time.

        Raises:
            ChildFailure: The child has ended, or floods its channel.
        """
        while b"\n" not in self._received:
            if not self._listen(deadline):
                return None
        line, _, self._received = self._received.partition(b"\n")
        return line

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
            if len(self._received) > LONGEST_LINE:
                raise ChildFailure(f"sent a line of more than {LONGEST_LINE} bytes")
            return True
        if not self.alive:
            raise self._ended()
        return left > 0

    def _hear_prints(self) -> None:
        """Take what was printed out of its pipe, so that nobody has to wait to print more."""
        try:
            chunk = os.read(self._prints, _CHUNK)
        except BlockingIOError:
            return
        if not chunk:  # nobody can print any more
            with suppress(KeyError):
                self._poll.unregister(self._prints)
        self._tail = (self._tail + chunk)[-TAIL:]

    def _ended(self) -> ChildFailure:
        try:
            code = self._process.wait(LAST_MOMENT)
        except subprocess.TimeoutExpired:
            return ChildFailure("closed its channel")
        how = f"exit code {code}" if code >= 0 else f"signal {_signal_name(-code)}"
        return ChildFailure(f"ended its process ({how})")

    def words(self) -> str:
        """The end of what it has printed."""
        self._hear_prints()
        return self._tail.decode(errors="replace")

    def kill(self) -> str:
        """End the process and all of its group at once; give its last words."""
        # The group outlives its first process, which may have been waited for a moment ago. Its
        # number is not given to anybody else so soon.
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()
        for _ in range(_MOST_CHUNKS):
            words = self.words()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert pipe is not None  # as asked for
            pipe.close()
        return words

    def close(self) -> None:
        """Let the process end by itself, for a moment; then end it."""
        assert self._process.stdin is not None  # as asked for
        self._process.stdin.close()
        deadline = perf_counter_ns() + int(LAST_MOMENT * 1e9)
        with suppress(ChildFailure):
            while perf_counter_ns() < deadline and self._listen(deadline):
                self._received = b""
        self.kill()


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return str(number)
