"""``omnimeter doctor`` and ``cache``: what this machine offers, and what is kept on it."""

from __future__ import annotations

from typing import Annotated, Any, NamedTuple

import typer

from omnimeter.cli import options
from omnimeter.cli.display import console, print_json


class Examined(NamedTuple):
    """One thing that was examined: whether it is good, what it is, and what could be done."""

    name: str
    good: bool
    state: str
    advice: str


def doctor(json: options.Json = False) -> None:
    """Tell what this machine offers: sandboxes for agents, processors, memory, the cache.

    Leaves with 1 if the processes of agents cannot be contained here.
    """
    examined = [*_sandboxes(), *_resources(), _cache(), _versions()]
    contained = any(each.good for each in examined if each.name in ("namespaces", "landlock"))
    if json:
        print_json({"contained": contained, **{each.name: _data(each) for each in examined}})
    else:
        for each in examined:
            sign = "ok" if each.good else "no"
            console().print(f"{each.name:<12}{sign:<4}{each.state}", soft_wrap=True, markup=False)
            if each.advice:
                console().print(f"{'':<16}{each.advice}", soft_wrap=True, markup=False)
    if not contained:
        raise typer.Exit(1)


def cache(
    clear: Annotated[
        bool,
        typer.Option("--clear", help="Remove the compiled kernels. What agents prepared stays."),
    ] = False,
    json: options.Json = False,
) -> None:
    """Tell where compiled kernels are kept, how many, and how much room they take."""
    from omnimeter import caching
    from omnimeter.contract.errors import StoreError

    before = caching.usage()
    place = caching.cache_directory()
    if clear:
        try:
            caching.clear()
        except OSError as error:
            raise StoreError(f"{place} cannot be cleared: {error}.", "Check its mode.") from error
    now = caching.usage()
    if json:
        print_json({"directory": str(place), **now._asdict(), "cleared": clear})
        return
    lines = [f"directory  {place}"]
    lines += [f"kernels    {now.kernels}, {now.kernel_bytes / 1e6:.1f} MB"]
    lines += [f"prepared   {now.prepared}, {now.prepared_bytes / 1e6:.1f} MB"]
    if clear:
        lines += [f"removed    {before.kernels - now.kernels} kernels"]
    console().print("\n".join(lines), soft_wrap=True, markup=False)


def _data(examined: Examined) -> dict[str, Any]:
    return {"good": examined.good, "state": examined.state, "advice": examined.advice}


def _sandboxes() -> list[Examined]:
    from omnimeter.interaction.sandbox import Mechanism, obstacle

    told = {
        Mechanism.NAMESPACES: "own root, processes, network and user; memory of all processes",
        Mechanism.LANDLOCK: "files, signals and sockets; memory and file size of each process",
    }
    rows, better = [], False
    for mechanism, what in told.items():
        why = obstacle(mechanism)
        advice = "" if not why or better else _advice(mechanism)
        rows.append(Examined(mechanism.value, not why, why or what, advice))
        better = better or not why
    return rows


def _advice(mechanism: str) -> str:
    """How to get a mechanism that does not work."""
    from pathlib import Path

    def setting(name: str) -> str:
        path = Path("/proc/sys", *name.split("."))
        return path.read_text().strip() if path.exists() else ""

    if mechanism == "landlock":
        return "Use Linux 6.12 or newer, with landlock among the lsm= of its command line."
    if setting("kernel.apparmor_restrict_unprivileged_userns") == "1":
        return "Run: sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    if setting("kernel.unprivileged_userns_clone") == "0":
        return "Run: sudo sysctl kernel.unprivileged_userns_clone=1"
    if setting("user.max_user_namespaces") == "0":
        return "Run: sudo sysctl user.max_user_namespaces=10000"
    if any(Path(each).exists() for each in ("/.dockerenv", "/run/.containerenv")):
        allowed = "--security-opt seccomp=unconfined --security-opt systempaths=unconfined"
        return f"Start the container with {allowed}."
    return "Use Linux 5.12 or newer, with user namespaces."


def _resources() -> list[Examined]:
    import os

    from omnimeter.execution.workers import cores

    count = cores()
    memory = min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), _group_limit()) / 2**30
    advice = f"Give --workers {count}, but for tests in real time." if count > 1 else ""
    few = "" if memory >= 4 else "Give --memory-limit: agents may use 2048 MB each by default."
    return [
        Examined("processors", True, str(count), advice),
        Examined("memory", memory >= 4, f"{memory:.1f} GB", few),
    ]


def _group_limit() -> float:
    """Bytes of memory that the control group of this process may use."""
    from math import inf
    from pathlib import Path

    own = Path("/proc/self/cgroup")
    lowest = inf
    for line in own.read_text().splitlines() if own.exists() else ():
        _, kind, group = line.split(":", 2)
        if kind in ("", "memory"):
            name = "memory.limit_in_bytes" if kind else "memory.max"
            for place in (Path("/sys/fs/cgroup", kind, group[1:]), Path("/sys/fs/cgroup", kind)):
                file = place / name
                text = file.read_text().strip() if file.exists() else "max"
                lowest = min(lowest, inf if text == "max" else int(text))
    return lowest


def _cache() -> Examined:
    import os

    from omnimeter.caching import cache_directory

    place = cache_directory()
    if not place.exists():
        return Examined("cache", True, f"{place}, not made yet", "")
    status = place.stat()
    if not os.access(place, os.W_OK):
        state = f"{place} cannot be written"
        return Examined("cache", False, state, "Set OMNIMETER_CACHE_DIR to another directory.")
    if status.st_uid != os.geteuid() or status.st_mode & 0o022:
        state = f"{place} can be written by others"
        return Examined("cache", False, state, f"Run: chmod -R go-w {place}")
    return Examined("cache", True, f"{place}, which only you can write", "")


def _versions() -> Examined:
    import platform
    from importlib.metadata import version

    packages = ", ".join(f"{each} {version(each)}" for each in ("omnimeter", "numpy", "numba"))
    system = f"{platform.system()} {platform.release()}"
    return Examined(
        "versions", True, f"{packages}, Python {platform.python_version()}, {system}", ""
    )
