"""Starts a program inside of what contains it, limits it, and ends all that came from it.

Run as a program by ``omnimeter.interaction.sandbox``, which says what holds inside. It needs only
the standard library: nothing of an agent, and no package, is loaded before the limits hold. The
first line of its standard input is the plan; the rest is for the program that it starts.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import resource
import select
import shutil
import signal
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

LAST_MOMENT = 1.0
"""Seconds between the end of the harness and that of all that the launcher started."""

TICK = 0.1
"""Seconds between two measurements of the memory, and after which orphans are reaped."""

TOO_MUCH_MEMORY = 97
"""The exit code after all processes together used too much memory."""

NOT_EXECUTED, NOT_CONTAINED = 96, 95
"""The exit codes where the program cannot be executed, or what contains it cannot be made."""

NAMESPACES = 0x00020000 | 0x20000000 | 0x40000000 | 0x08000000 | 0x04000000 | 0x02000000
NEW_USER = 0x10000000
MS_BIND_RECURSIVE, MS_SLAVE_RECURSIVE, MS_SAFE = 0x5000, 0x84000, 0x2 | 0x4  # no setuid, no devices
MOUNT_READ_ONLY, AT_RECURSIVE, MNT_DETACH = 0x1, 0x8000, 2
PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_SECCOMP = 1, 4, 24, 22
PR_SET_CHILD_SUBREAPER, PR_SET_NO_NEW_PRIVS, PR_SET_KEEPCAPS, PR_CAP_AMBIENT = 36, 38, 8, 47
SYS_MOUNT_SETATTR, SYS_LANDLOCK = 442, 444  # the same number on all processors
SYS_PIVOT_ROOT = {"x86_64": 155, "aarch64": 41}
ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
UNCOUNTED_CALLS = {"x86_64": (319, 29), "aarch64": (279, 194)}  # memfd_create and shmget
REACHING_CALLS = {  # socket, io_uring_setup and open_by_handle_at
    "x86_64": (41, 425, 304),
    "aarch64": (198, 425, 265),
}
CAP_DAC_READ_SEARCH = 2

_libc = ctypes.CDLL(None, use_errno=True)


def _call(name: str, *arguments: Any) -> int:
    """Call a function of the C library; raises ``OSError`` with its name if it fails."""
    converted = [
        each.encode()
        if isinstance(each, str)
        else ctypes.c_ulong(each)
        if isinstance(each, int)
        else each
        for each in arguments
    ]
    result: int = getattr(_libc, name)(*converted)
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}")
    return result


def main() -> NoReturn:
    """Carry out the plan, and end as the program ended."""
    os.umask(0o022)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    text = b""
    while not text.endswith(b"\n"):  # byte by byte: what follows is not for us
        text += os.read(0, 1) or sys.exit("The plan is incomplete.")
    plan = json.loads(text)
    try:
        status = _contained(plan) if plan["mechanism"] == "namespaces" else _supervised(plan)
    except OSError as error:
        sys.stderr.write(f"{plan['mechanism']}: {error}\n")
        sys.exit(NOT_CONTAINED)
    code = os.waitstatus_to_exitcode(status)
    if code < 0 and -code != signal.SIGKILL:
        signal.signal(-code, signal.SIG_DFL)
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        os.kill(os.getpid(), -code)
    os._exit(code)


def _watch(process: int, sources: Sequence[int], memory: int | None = None) -> int | None:
    """Wait for a process; ``None`` if it had to be ended, or another source was closed before."""
    poll, ended = select.poll(), os.pidfd_open(process)
    poll.register(ended, select.POLLIN)
    for source in sources:
        poll.register(source, 0)  # the other end being closed is always told
    try:
        while True:
            heard = [source for source, _ in poll.poll(TICK * 1000)]
            if ended in heard:
                return os.waitpid(process, 0)[1]
            if heard:
                return None
            if memory and _memory(memory) > memory:
                return TOO_MUCH_MEMORY << 8
            _reap(process)
    finally:
        os.close(ended)


def _reap(process: int) -> None:
    """Reap all other processes that have ended."""
    while (known := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
        if known.si_pid == process:
            return
        os.waitpid(known.si_pid, 0)


def _let_end(process: int) -> int:
    """The status of a process that gets a moment to end by itself, and is then killed."""
    ended = os.pidfd_open(process)
    select.select([ended], [], [], LAST_MOMENT)
    os.close(ended)
    os.kill(process, signal.SIGKILL)
    return os.waitpid(process, 0)[1]


def _silence(*files: int) -> None:
    empty = os.open("/dev/null", os.O_RDWR)
    for file in files:
        os.dup2(empty, file)
    os.close(empty)


# Without namespaces: all descendants are ours, even those that leave their parent and session.


def _supervised(plan: dict[str, Any]) -> int:
    _call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    parent, process = os.getpid(), os.fork()
    if process == 0:
        _run(plan, parent, _restrict if plan["mechanism"] == "landlock" else None)
    _silence(1, 2)
    try:
        status = _watch(process, [0], plan["memory"] and plan["memory"] + _memory())
        return _let_end(process) if status is None else status
    finally:
        while children := _descendants(os.getpid()):
            for each in children:
                with _gone_already():
                    os.kill(each, signal.SIGKILL)
            with _gone_already():
                while os.waitpid(-1, os.WNOHANG) != (0, 0):
                    pass
        if plan["mechanism"] == "landlock":  # the harness may be gone, and cannot do it
            shutil.rmtree(plan["temporary"], ignore_errors=True)


def _gone_already() -> suppress:
    return suppress(ProcessLookupError, ChildProcessError)


def _descendants(process: int) -> list[int]:
    """All processes that came from one and still run, or are still to be reaped."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = Path("/proc", entry, "stat").read_text(errors="replace")
            except OSError:
                continue  # it has ended meanwhile
            parents[int(entry)] = int(fields.rpartition(")")[2].split()[1])
    known, size = {process}, 0
    while len(known) > size:
        size = len(known)
        known |= {each for each, parent in parents.items() if parent in known}
    return sorted(known - {process})


def _restrict(plan: dict[str, Any]) -> None:
    """Give up all of the file system but the places of the plan, and all sockets."""
    version = _call("syscall", SYS_LANDLOCK, None, 0, 1)
    if version < 6 and plan["user"] is None:
        raise OSError(f"landlock of version {version} lets a process send signals to others")
    every = (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(version, 16)) - 1
    # From version 4 on no TCP; from 6 on no signals to other processes and no abstract sockets.
    rules = struct.pack("QQQ", every, 3, 3)[: 8 if version < 4 else 16 if version < 6 else 24]
    ruleset = _call("syscall", SYS_LANDLOCK, rules, len(rules), 0)
    reading, of_files = 0x1 | 0x4 | 0x8, 0x1 | 0x2 | 0x4 | 0x4000 | 0x8000
    own = f"/proc/{os.getpid()}"
    devices = ("/dev/null", "/dev/zero", "/dev/random", "/dev/urandom", "/dev/full")
    places = [(place, reading) for place in (*plan["trees"], *plan["files"], own)]
    places += [(str(Path(place).parent), 0x8) for place in plan["files"]]
    places += [(place, 0x2 | 0x4) for place in devices]
    for place, access in [*places, (plan["temporary"], every)]:
        try:
            file = os.open(place, os.O_PATH)
        except FileNotFoundError:
            continue
        allowed = access & every & (every if os.path.isdir(place) else of_files)
        _call("syscall", SYS_LANDLOCK + 1, ruleset, 1, struct.pack("=Qi", allowed, file), 0)
        os.close(file)
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _call("syscall", SYS_LANDLOCK + 2, ruleset, 0)
    os.close(ruleset)
    _refuse_calls(REACHING_CALLS, UNCOUNTED_CALLS)


def _refuse_calls(*tables: Mapping[str, tuple[int, ...]]) -> None:
    """Let some system calls fail with EPERM: a filter of seccomp."""
    architecture = ARCHITECTURE[platform.machine()]
    calls = [call for table in tables for call in table[platform.machine()]]
    load, equal, answer = 0x20, 0x15, 0x06
    program = [(load, 0, 0, 4), (equal, 1, 0, architecture), (answer, 0, 0, 0x00050001)]
    program += [(load, 0, 0, 0)]
    if platform.machine() == "x86_64":  # its second set of numbers
        program += [(0x35, len(calls), 0, 0x40000000)]
    program += [(equal, len(calls) - place, 0, call) for place, call in enumerate(calls)]
    program += [(answer, 0, 0, 0x7FFF0000), (answer, 0, 0, 0x00050001)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in program))
    filters = ctypes.create_string_buffer(struct.pack("HP", len(program), ctypes.addressof(code)))
    _call("prctl", PR_SET_SECCOMP, 2, filters, 0, 0)


# With namespaces: an own root, and a first process whose end is that of all others.


def _contained(plan: dict[str, Any]) -> int:
    if plan["user"] is None:
        user, group = os.getuid(), os.getgid()
        _call("unshare", NAMESPACES | NEW_USER)
        _map(user, group)
    else:
        _call("unshare", NAMESPACES)
    life, held = os.pipe()
    told, tell = os.pipe()
    empty = os.open("/dev/null", os.O_RDWR)  # the first process is about to change our root, too
    first = os.fork()
    if first == 0:
        os.close(held)
        os.close(told)
        _be_first(plan, life, tell)
    os.close(life)
    os.close(tell)
    for file in (1, 2):
        os.dup2(empty, file)
    try:
        status = _watch(first, [0])
        untold = (NOT_CONTAINED << 8).to_bytes(4)
        return _let_end(first) if status is None else int.from_bytes(os.read(told, 4) or untold)
    finally:  # the kernel ends all others before the first one is reaped
        with _gone_already():
            os.kill(first, signal.SIGKILL)
            os.waitpid(first, 0)


def _be_first(plan: dict[str, Any], life: int, tell: int) -> NoReturn:
    """Be the first process of the namespace, which starts the program and reaps all others."""
    try:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        _call("prctl", PR_SET_DUMPABLE, 0, 0, 0, 0)
        _build_root(plan)
        parent, process = os.getpid(), os.fork()
        if process == 0:
            _run(plan, parent, _drop_rights)
        _silence(0, 1, 2)
        limit = plan["memory"] and plan["memory"] + _memory()
        status = _watch(process, [life], limit)
        os.write(tell, (status or 0).to_bytes(4))
        os._exit(0)
    except OSError as error:
        os.write(2, f"namespaces: {error}\n".encode())
        os._exit(1)


def _map(user: int, group: int) -> None:
    """Map the user and the group to themselves, and no other."""
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")


def _memory(limit: int = 0) -> int:
    """Bytes that all processes that came from this one use and no file holds.

    What several of them share counts once, which takes time to tell and is done above the limit.
    """
    processes = [str(each) for each in _descendants(os.getpid())]
    total = sum(_sizes(each, "status", "RssAnon", "RssShmem") for each in processes)
    if total <= limit or len(processes) < 2:
        return total
    return sum(_sizes(each, "smaps_rollup", "Pss_Anon", "Pss_Shmem") for each in processes)


def _sizes(process: str, file: str, *names: str) -> int:
    """The sum of some sizes that the system tells of a process, in bytes."""
    try:
        lines = Path("/proc", process, file).read_text(errors="replace").splitlines()
    except PermissionError:  # it hides what it shares
        return _sizes(process, "status", "RssAnon", "RssShmem")
    except OSError:
        return 0  # it has ended meanwhile
    sizes = dict(each.partition(":")[::2] for each in lines)
    return sum(int(sizes.get(name, "0").split()[0]) for name in names) * 1024


def _build_root(plan: dict[str, Any]) -> None:
    """Make a root that has only what the plan names, and go there."""
    _call("mount", "none", "/", None, MS_SLAVE_RECURSIVE, None)
    _mount_memory("/tmp", "mode=755")  # the old root moves into it
    os.mkdir("/tmp/old")
    os.mkdir("/tmp/new")
    _call("syscall", SYS_PIVOT_ROOT[platform.machine()], "/tmp", "/tmp/old")
    os.chdir("/")
    _mount_memory("/new", "mode=755")
    places: dict[str, Callable[..., None]] = dict.fromkeys([*plan["trees"], *plan["files"]], _bind)
    places |= {plan["directory"]: _make_own, "/tmp": _make_own}
    bound: list[str] = []
    for place, put in sorted(places.items()):  # a folder comes before what is in it
        if place != "/" and not _is_in(place, bound):
            put(place, plan)
            if put is _bind:
                bound.append(place)
    for place in plan["hidden"]:
        if os.path.isdir(f"/new{place}") and _is_in(place, bound):
            _mount_memory(f"/new{place}", "mode=555,size=4k")
            for each in plan["files"]:
                if _is_in(each, [place]):
                    _bind(each, plan)
    os.mkdir("/new/dev")
    for name in ("null", "zero", "full", "random", "urandom"):
        _bind(f"/dev/{name}", {"user": None}, read_only=False)
    os.symlink("/proc/self/fd", "/new/dev/fd")
    os.symlink("/tmp/shared", "/new/dev/shm")
    for name in ("home", "shared", "cache"):
        os.mkdir(f"/new/tmp/{name}", 0o700)
        _give(f"/new/tmp/{name}", plan["user"])
    number = os.getuid() if plan["user"] is None else plan["user"]
    os.makedirs("/new/etc", exist_ok=True)
    Path("/new/etc/passwd").write_text(f"agent:x:{number}:{number}::/tmp/home:/bin/sh\n")
    os.mkdir("/new/proc")
    _call("mount", "proc", "/new/proc", "proc", MS_SAFE | 0x8, None)
    _read_only("/new", 0)
    os.chdir("/new")
    _call("syscall", SYS_PIVOT_ROOT[platform.machine()], ".", ".")
    _call("umount2", ".", MNT_DETACH)
    os.chdir("/")


def _is_in(place: str, folders: Sequence[str]) -> bool:
    return any(f"{place}/".startswith(f"{each}/") for each in folders)


def _give(place: str, user: int | None) -> None:
    if user is not None:
        os.chown(place, user, user)


def _make_own(place: str, plan: dict[str, Any]) -> None:
    """Make an empty folder that can be written to: all that is below /tmp is there anyway."""
    new = f"/new{place}"
    os.makedirs(new, exist_ok=True)
    if place == "/tmp" or not place.startswith("/tmp/"):
        _mount_memory(new, f"mode=700,size={plan['temporary_bytes']},nr_inodes=20000")
    _give(new, plan["user"])


def _bind(place: str, plan: dict[str, Any], *, read_only: bool = True) -> None:
    """Show a file or a folder of the old root at the same place of the new one."""
    old, new = f"/old{place}", f"/new{place}"
    if os.path.islink(old) and "/" not in place[1:]:  # /bin, /lib and so on
        os.symlink(os.readlink(old), new)
        return
    if not os.path.exists(old):
        return
    os.makedirs(new if os.path.isdir(old) else os.path.dirname(new), exist_ok=True)
    if not os.path.isdir(old):
        mode = os.stat(old).st_mode
        needed = 0o005 if mode & 0o100 else 0o004
        if plan["user"] is not None and mode & needed != needed:
            shutil.copyfile(old, new)  # the user that it will run as could not read or run it
            os.chmod(new, 0o644 | mode & 0o100 | needed)
            return
        os.close(os.open(new, os.O_CREAT | os.O_WRONLY, 0o644))
    _call("mount", old, new, None, MS_BIND_RECURSIVE, None)
    if read_only:
        _read_only(new, AT_RECURSIVE)


def _mount_memory(place: str, options: str) -> None:
    _call("mount", "tmpfs", place, "tmpfs", MS_SAFE, options)


def _read_only(place: str, recursive: int) -> None:
    attributes = struct.pack("QQQQ", MOUNT_READ_ONLY | MS_SAFE, 0, 0, 0)
    _call("syscall", SYS_MOUNT_SETATTR, -100, place, recursive, attributes, len(attributes))


# What happens in the process that becomes the program.


def _run(plan: dict[str, Any], parent: int, contain: Any) -> NoReturn:
    """Become the program, with limits."""
    try:
        for name, limit in plan["limits"].items():
            number = getattr(resource, name)
            _, maximum = resource.getrlimit(number)
            value = limit if maximum == resource.RLIM_INFINITY else min(limit, maximum)
            resource.setrlimit(number, (value, value))
        os.chdir(plan["directory"])
        if contain is not None:
            if plan["user"] is not None:
                _switch_user(plan["user"], keep=contain is _restrict)
            contain(plan)
        _call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)
        for each in (signal.SIGPIPE, signal.SIGXFSZ):  # which Python ignores
            signal.signal(each, signal.SIG_DFL)
    except OSError as error:
        os.write(2, f"{error}\n".encode())
        os._exit(NOT_CONTAINED)
    try:
        os.execv(plan["command"][0], plan["command"])
    except OSError as error:
        os.write(2, f"{error.strerror}\n".encode())
        os._exit(NOT_EXECUTED)


def _switch_user(user: int, *, keep: bool) -> None:
    """Become another user without rights, but for reading where landlock says what may be read."""
    _call("prctl", PR_SET_KEEPCAPS, int(keep), 0, 0, 0)
    os.setgroups([])
    os.setresgid(user, user, user)
    os.setresuid(user, user, user)
    if keep:
        rights = 1 << CAP_DAC_READ_SEARCH
        _call(
            "capset",
            struct.pack("Ii", 0x20080522, 0),
            struct.pack("IIIIII", *[rights] * 3, 0, 0, 0),
        )
        _call("prctl", PR_CAP_AMBIENT, 2, CAP_DAC_READ_SEARCH, 0, 0)
    _call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)


def _drop_rights(plan: dict[str, Any]) -> None:
    """Have a user namespace in which there can be no other, and no rights in it."""
    if plan["user"] is not None:
        _call("unshare", NEW_USER)
        _map(plan["user"], plan["user"])
    Path("/proc/sys/user/max_user_namespaces").write_text("0")
    number = 0
    try:
        while True:
            _call("prctl", PR_CAPBSET_DROP, number, 0, 0, 0)
            number += 1
    except OSError:  # there are no more; the rest is lost when the program is executed
        pass
    _call("prctl", PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    _refuse_calls(UNCOUNTED_CALLS)  # memory that belongs to no process


if __name__ == "__main__":
    main()
