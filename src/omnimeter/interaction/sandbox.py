"""Containing agents' processes by what the operating system offers.

What holds inside is in ``docs/wire.md``, under "Containment". Here is decided what a process may
see and use; ``omnimeter.interaction.launcher`` makes it so.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from pathlib import Path

from omnimeter.caching import cache_directory
from omnimeter.catalogue import (
    Kind,
    files_of,
    inner_part,
    is_program,
    place_of,
    program_of,
)
from omnimeter.contract import InvalidInputError, Spec
from omnimeter.interaction import launcher

MOST_PROCESSES = 128
"""Processes and threads that an agent may have at once."""

TEMPORARY_MB = 256
"""Megabytes of an agent's own temporary folder, and of each file that it writes."""

VARIABLES = ("PATH", "LANG", "LANGUAGE", "TZ", "LD_LIBRARY_PATH", "PYTHONPATH")
"""Environment variables that an agent is given, beside those of its language settings (LC_*)."""

SYSTEM = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"),
    *(f"/etc/{each}" for each in ("alternatives", "ld.so.cache", "ld.so.conf", "ld.so.conf.d")),
    *(f"/etc/{each}" for each in ("localtime", "timezone", "nsswitch.conf")),
    *("/etc/ssl/openssl.cnf", "/etc/pki/tls/openssl.cnf"),  # without which Node does not start
)
"""Where an operating system keeps its programs, and what they need."""

FIRST_USER = 0x70000000
"""The first of the numbers that no user has, one for each process of an agent."""


class Sandboxing(StrEnum):
    """Whether agents' processes are contained by the operating system.

    ``AUTO`` contains them as well as this machine can, and says so where it cannot.
    """

    AUTO = "auto"
    REQUIRED = "required"
    NONE = "none"


class Mechanism(StrEnum):
    """By what a process is contained, the best first."""

    NAMESPACES = "namespaces"
    LANDLOCK = "landlock"
    NONE = "none"


@dataclass(frozen=True)
class Sandbox:
    """What contains the process of an agent.

    Attributes:
        mechanism: By what it is contained.
        hidden: Folders that it must not see, beside the cache.
    """

    mechanism: Mechanism = Mechanism.NONE
    hidden: tuple[str, ...] = ()


def sandbox_for(sandboxing: Sandboxing, hidden: Sequence[str] = ()) -> Sandbox:
    """The sandbox of the processes of agents.

    Raises:
        InvalidInputError: One is required, and nothing works on this machine.
    """
    if sandboxing is Sandboxing.NONE:
        return Sandbox()
    best = next(each for each in Mechanism if each is Mechanism.NONE or not obstacle(each))
    if best is Mechanism.NONE and sandboxing is Sandboxing.REQUIRED:
        raise InvalidInputError(
            "Nothing on this machine can contain the processes of agents, and sandbox=required.",
            "`omnimeter doctor` says why, and how to get a sandbox.",
        )
    return Sandbox(best, tuple(hidden))


def contains(sandboxing: Sandboxing) -> bool:
    """Whether the processes of agents are contained, so that they cannot reach the harness."""
    return sandbox_for(sandboxing).mechanism is not Mechanism.NONE


@cache
def obstacle(mechanism: Mechanism) -> str:
    """Why a mechanism does not work here, or an empty text: a process is started in it, once."""
    if not sys.platform.startswith("linux"):
        return f"{sys.platform} has no such thing"
    program = "import os; os.write(1, b'inside')"
    try:
        launch = Launch((sys.executable, "-I", "-c", program), Sandbox(mechanism))
        with launch as started:
            done = subprocess.run(
                started.command,
                input=started.plan,
                capture_output=True,
                env=started.environment,
                timeout=20,
                check=False,
                start_new_session=True,
            )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    if done.stdout == b"inside" and done.returncode == 0:
        return ""
    said = done.stderr.decode(errors="replace").strip().splitlines()
    return said[-1] if said else f"exit code {done.returncode}"


@dataclass
class Launch:
    """How a program is started inside of a sandbox; a context that ends with the program.

    Attributes:
        program: The program and its arguments.
        sandbox: What contains it.
        spec: The agent that it is going to load, whose files it may read.
        limits: Limits of resources, by their names, and ``memory`` in bytes of all processes.
        command: What to start.
        plan: What to send to it first.
        environment: Its environment variables.
    """

    program: Sequence[str]
    sandbox: Sandbox = Sandbox()
    spec: Spec | None = None
    limits: Mapping[str, int] = field(default_factory=dict)
    command: Sequence[str] = ()
    plan: bytes = b""
    environment: Mapping[str, str] = field(default_factory=dict)
    _temporary: str = ""

    def __enter__(self) -> Launch:
        contained = self.sandbox.mechanism is not Mechanism.NONE
        if not sys.platform.startswith("linux"):
            self.command, self.environment = self.program, {**os.environ, **SETTINGS}
            return self
        executable = shutil.which(self.program[0])
        if executable is None:
            raise FileNotFoundError(f"there is no program {self.program[0]}")
        user = _unused_user() if contained and os.geteuid() == 0 else None
        temporary = "/tmp"
        if self.sandbox.mechanism is Mechanism.LANDLOCK:
            temporary = self._temporary = tempfile.mkdtemp(prefix="omnimeter-agent-")
            for name in ("", "home", "shared", "cache"):
                os.makedirs(path := os.path.join(temporary, name), exist_ok=True)
                if user is not None:
                    os.chown(path, user, user)
        hidden = [os.path.abspath(each) for each in (*self.sandbox.hidden, *_caches())]
        trees, files = _trees(hidden), [] if self.spec is None else sorted(_files(self.spec))
        for place in [] if self.spec is None else _places(self.spec):
            (trees if os.path.isdir(place) else files).append(place)
        here = os.path.abspath(place_of())
        # Nothing below these is needed; they may lie in one of the trees, or hold one.
        places = dict.fromkeys((here, os.getcwd()))
        hidden += [p for p in places if not any(_within(tree, p) for tree in trees)]
        if self.sandbox.mechanism is Mechanism.LANDLOCK:
            trees = [part for tree in trees for part in _without(tree, hidden)]
        limits = {name: value for name, value in self.limits.items() if name != "memory"}
        if contained:
            size = {"RLIMIT_FSIZE": TEMPORARY_MB << 20, "RLIMIT_CORE": 0}
            limits |= size | {"RLIMIT_NPROC": MOST_PROCESSES} if _counts_own(user) else size
        self.environment = {**os.environ, **SETTINGS}
        if contained:
            self.environment = {**_short_environment(temporary), **SETTINGS}
        plan = {
            "mechanism": self.sandbox.mechanism,
            "command": [executable, *self.program[1:]],
            "directory": here,
            "trees": trees,
            "files": files,
            "hidden": hidden,
            "user": user,
            "limits": limits,
            "memory": self.limits.get("memory"),
            "temporary": temporary,
            "temporary_bytes": TEMPORARY_MB << 20,
        }
        self.plan = json.dumps(plan).encode() + b"\n"
        self.command = (sys.executable, "-I", "-S", launcher.__file__)
        return self

    def __exit__(self, *error: object) -> None:
        if self._temporary:
            shutil.rmtree(self._temporary, ignore_errors=True)


SETTINGS = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "OMNIMETER_AGENT": "1",  # see is_agents_process
    "PYTHONHASHSEED": "0",  # the order of a set of texts is the same in every process
}
"""Environment variables of every agent's process."""


def is_agents_process() -> bool:
    """Whether this process was started for an agent, and is limited and contained as such."""
    return os.environ.get("OMNIMETER_AGENT") == "1"


def _short_environment(temporary: str) -> dict[str, str]:
    kept = {
        name: value
        for name, value in os.environ.items()
        if name in VARIABLES or name.startswith("LC_")
    }
    own = {"HOME": f"{temporary}/home", "TMPDIR": temporary, "USER": "agent"}
    return {**kept, **own, "OMNIMETER_CACHE_DIR": f"{temporary}/cache"}


def _unused_user() -> int | None:
    """A number that no user has, another one for each process; ``None`` if there is none here."""
    mapped = Path("/proc/self/uid_map").read_text().split()
    start, count = int(mapped[0]), int(mapped[2])
    if start != 0 or count < 65_536:
        return None
    first = FIRST_USER if count > 2 * FIRST_USER else count - 20_000
    return first + next(_numbers) % 10_000


def _count_up() -> Iterator[int]:
    number = os.getpid() * 7
    while True:
        number += 1
        yield number


_numbers = _count_up()


def _counts_own(user: int | None) -> bool:
    """Whether a limit on processes counts only those of the agent."""
    release = tuple(int(each) for each in os.uname().release.split("-")[0].split(".")[:2])
    return user is not None or release >= (5, 14)


def _caches() -> list[str]:
    return [str(cache_directory().parent)]


def _files(spec: Spec) -> Iterator[str]:
    """The files of an agent and of those that it is made of, by their absolute paths."""
    files: list[str] = []
    with suppress(InvalidInputError):  # which its process will say, too
        files = files_of(spec)
    for each in files:
        if os.path.isfile(each):
            yield from {os.path.abspath(each), os.path.realpath(each)}
    if inner := inner_part(Kind.AGENT, spec, "agent"):
        yield from _files(inner)


def _places(spec: Spec) -> Iterator[str]:
    """What the programs need that an agent is, or is made of: interpreters and their libraries."""
    if is_program(spec):
        with suppress(InvalidInputError):  # which its process will say, too
            yield from program_of(spec).places
    if inner := inner_part(Kind.AGENT, spec, "agent"):
        yield from _places(inner)


def _trees(hidden: Sequence[str]) -> list[str]:
    """The system, Python, and where its modules are; no place where a person keeps other things."""
    private = [os.path.abspath(place_of()), os.getcwd(), os.path.expanduser("~"), *hidden]
    python = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    python += [str(Path(__file__).parents[1]), str(Path(sys.executable).parent)]
    modules = [
        os.path.abspath(each)
        for each in sys.path
        if each and not any(_within(place, each) for place in private)
    ]
    places = {*python, *modules}
    places |= {os.path.realpath(each) for each in places}
    return [*SYSTEM, *sorted(each for each in places if each != "/" and os.path.exists(each))]


def _within(place: str, folder: str) -> bool:
    return f"{os.path.realpath(place)}/".startswith(f"{os.path.realpath(folder)}/")


def _without(tree: str, hidden: Sequence[str]) -> Iterator[str]:
    """The parts of a tree that are not hidden, where nothing can be put over it."""
    if not any(_within(each, tree) for each in hidden):
        yield tree
    elif tree not in hidden and os.path.isdir(tree):
        for entry in sorted(os.listdir(tree)):
            yield from _without(os.path.join(tree, entry), hidden)
