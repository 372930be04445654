"""Compiled entry points made from kernels: written out as source, cached by content.

Numba's cache notices an edit of the file that holds a function, not of the files it calls into.
So every entry point is a generated module in a directory named by a hash of all kernel sources
that it can reach, ours and a stranger's: an edit anywhere is another directory.
"""

from __future__ import annotations

import hashlib
import importlib.util
import inspect
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from omnimeter.contract import AgentKernels, EnvironmentKernels, InvalidInputError
from omnimeter.interaction import templates

announcements: list[Callable[[str], None]] = []
"""Told before something is compiled for the first time."""


def cache_directory() -> Path:
    """Where compiled kernels are kept: ``OMNIMETER_CACHE_DIR``, or the user's cache."""
    if chosen := os.environ.get("OMNIMETER_CACHE_DIR"):
        return Path(chosen) / "kernels"
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(base).expanduser() / "omnimeter" / "kernels"


@cache
def runner(environment: EnvironmentKernels, agent: AgentKernels) -> Callable[..., Any]:
    """Whole exercises of one pair, in batches, in one compiled loop."""
    functions = {
        **_named("environment", environment, ("reset", "step", "observe")),
        **_named("agent", agent, ("begin", "act", "finish")),
    }
    if agent.delay is not None:
        functions["agent_delay"] = agent.delay
    states = {"EnvironmentState": environment.state, "AgentState": agent.state}
    source = templates.runner(
        environment.state._fields,  # type: ignore[attr-defined]
        agent.state._fields,  # type: ignore[attr-defined]
        delays=agent.delay is not None,
    )
    entry: Callable[..., Any] = load(source, functions, states, "exercises").run
    return entry


@cache
def environment_entries(kernels: EnvironmentKernels) -> ModuleType:
    """``start`` and ``advance`` of one environment, and of many at once, to call from Python."""
    functions = _named("environment", kernels, ("reset", "step", "observe"))
    states = {"EnvironmentState": kernels.state}
    source = templates.environment(kernels.state._fields)  # type: ignore[attr-defined]
    return load(source, functions, states, "environment")


@cache
def agent_entries(kernels: AgentKernels) -> ModuleType:
    """``begin``, ``act`` and ``finish`` of one agent, to call from Python."""
    functions = _named("agent", kernels, ("begin", "act", "finish"))
    if kernels.delay is not None:
        functions["agent_delay"] = kernels.delay
    fields = kernels.state._fields  # type: ignore[attr-defined]
    source = templates.agent(fields, delays=kernels.delay is not None)
    return load(source, functions, {"AgentState": kernels.state}, "agent")


def load(
    body: str, functions: dict[str, Callable[..., Any]], states: dict[str, type], what: str
) -> ModuleType:
    """Write a module that imports the functions under the given names, and import it."""
    imports = [_import_line(alias, part) for alias, part in {**states, **functions}.items()]
    source = "\n".join([f'"""Generated: {what}."""', "", *imports, body])
    digest = hashlib.sha256(source.encode())
    for text in sorted(set(_reachable_sources(functions.values()))):
        digest.update(text.encode())
    digest.update(_toolchain().encode())
    name = f"omnimeter_generated_{digest.hexdigest()[:20]}"
    if name not in sys.modules:
        path = _write(name, source)
        if not list(path.parent.glob("__pycache__/*.nbi")) and not plain():
            parts = sorted({_origin(part)[0] for part in functions.values()})
            for tell in announcements:
                tell(f"Compiling {what} kernels of {', '.join(parts)} (once; kept for next time)")
        _import_file(name, path)
    return sys.modules[name]


def plain() -> bool:
    """Whether kernels run as ordinary Python (``NUMBA_DISABLE_JIT=1``)."""
    import numba

    return bool(numba.config.DISABLE_JIT)  # type: ignore[attr-defined] # made at run time


def _named(
    side: str, kernels: EnvironmentKernels | AgentKernels, names: tuple[str, ...]
) -> dict[str, Callable[..., Any]]:
    return {f"{side}_{name}": getattr(kernels, name) for name in names}


def _origin(part: Any) -> tuple[str, str]:
    """The module and the name under which a kernel or a state class can be imported."""
    function = getattr(part, "py_func", part)
    module, name = function.__module__, function.__qualname__
    if getattr(sys.modules.get(module), name, None) is None:
        raise InvalidInputError(
            f"The kernel {name!r} of {module} cannot be imported by its name.",
            "Define kernels and their state at the top level of a module.",
        )
    return module, name


def _import_line(alias: str, part: Any) -> str:
    module, name = _origin(part)
    return f"from {module} import {name} as {alias}"


def _reachable_sources(functions: Any) -> Iterator[str]:
    """The text of every file with a kernel that can be called, and the constants they use."""
    waiting, seen = list(functions), set()
    while waiting:
        function = waiting.pop()
        function = getattr(function, "py_func", function)
        if function in seen:
            continue
        seen.add(function)
        module = sys.modules[function.__module__]
        yield inspect.getsource(module)
        for name in function.__code__.co_names:
            value = function.__globals__.get(name)
            if hasattr(value, "py_func") or (plain() and inspect.isfunction(value)):
                waiting.append(value)
            elif isinstance(value, int | float | str | tuple):
                yield f"{function.__module__}.{name}={value!r}"


@cache
def _toolchain() -> str:
    import llvmlite
    import numba
    import numpy

    versions = (numba.__version__, llvmlite.__version__, numpy.__version__, sys.version)
    # Numba's own cache forgets whether bounds were checked.
    checked = numba.config.BOUNDSCHECK  # type: ignore[attr-defined] # made at run time
    return f"{' '.join(versions)} {checked}"


def _write(name: str, source: str) -> Path:
    """Put the module into its directory; several processes may do so at once."""
    for root in (cache_directory(), Path(tempfile.gettempdir()) / f"omnimeter-{os.getuid()}"):
        path = root / name / f"{name}.py"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if not path.exists():
                handle, temporary = tempfile.mkstemp(dir=path.parent)
                with os.fdopen(handle, "w", encoding="utf-8") as file:
                    file.write(source)
                os.utime(temporary, (0, 0))  # Numba's index holds the time stamp of the source
                os.replace(temporary, path)
        except OSError:
            continue
        else:
            return path
    raise InvalidInputError(
        f"Compiled kernels cannot be kept in {cache_directory()}.",
        "Set OMNIMETER_CACHE_DIR to a directory that can be written.",
    )


def _import_file(name: str, path: Path) -> None:
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # a path that ends in .py has a loader
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
