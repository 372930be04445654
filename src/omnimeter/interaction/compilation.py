"""Compiled entry points generated from kernels, cached under a hash of all they can reach."""

from __future__ import annotations

import hashlib
import inspect
import re
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from functools import cache
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from threading import Lock
from types import CodeType, ModuleType
from typing import Any

from omnimeter.caching import announce, cache_directory, directory_of
from omnimeter.contract import AgentKernels, EnvironmentKernels, InvalidInputError
from omnimeter.contract.kernels import plain
from omnimeter.interaction import templates

GENERATED = "omnimeter_generated_"
"""How the names of generated modules begin."""

_KNOWN = ("builtins", "math", "numba", "numpy")
"""Packages that are identified by their versions instead of their source."""


def reachable_sources(kernels: Iterable[Callable[..., Any]]) -> Iterator[str]:
    """The text of every file with a kernel that can be called, and the constants they use."""
    waiting, seen = list(kernels), set()
    while waiting:
        function = waiting.pop()
        function = getattr(function, "py_func", function)
        if function in seen:
            continue
        seen.add(function)
        yield _source(function)
        for name, value in _used(function):
            if hasattr(value, "py_func") or inspect.isfunction(value):
                waiting.append(value)
            elif isinstance(value, type):
                yield _source(value)
            elif isinstance(value, int | float | str | tuple):
                yield f"{name}={value!r}"
            elif hasattr(value, "tobytes"):  # NumPy prints only the ends of a long array
                yield f"{name}={value.dtype}{value.shape}{value.tobytes().hex()}"


def _used(function: Any) -> Iterator[tuple[str, Any]]:
    """The global names in a function and what they stand for, in modules named there too."""
    names = set(_names(function.__code__))
    modules = [sys.modules[function.__module__]]
    for module in modules:
        for name, value in vars(module).items():
            home = ""
            if isinstance(value, ModuleType):
                home = value.__name__
            elif isinstance(value, type) or inspect.isroutine(value):
                home = value.__module__ or ""
            if name not in names or home.partition(".")[0] in _KNOWN:
                continue
            if not isinstance(value, ModuleType):
                yield f"{module.__name__}.{name}", value
            elif value not in modules:
                modules.append(value)


def _names(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)


def _source(part: Any) -> str:
    try:
        return inspect.getsource(sys.modules[part.__module__])
    except (KeyError, OSError, TypeError) as error:
        raise InvalidInputError(
            f"The source of {part.__qualname__!r} cannot be read.", "Define kernels in a file."
        ) from error


_one_at_a_time = Lock()  # a module that is being compiled is not yet what another thread needs


@cache
def runner(
    environment: EnvironmentKernels, *agents: AgentKernels, measured: bool = False
) -> Callable[..., Any]:
    """The compiled loop of whole exercises: many of one agent, or one joint run of several."""
    source = templates.runner(environment, agents, measured=measured)
    names = ["agent"] if len(agents) == 1 else [f"agent{seat}" for seat in range(len(agents))]
    sides: dict[str, Any] = dict(zip(names, agents, strict=True))
    entry: Callable[..., Any] = load("exercises", source, environment=environment, **sides).run
    return entry


@cache
def yardsticks() -> ModuleType:
    """``empty_decisions`` and ``calibrate``, which measure the clocks and the machine."""
    return load("measuring", templates.yardsticks())


@cache
def batch_entries(kernels: EnvironmentKernels) -> ModuleType:
    """``start_many`` and ``advance_many`` of environments side by side, to call from Python."""
    return load("environments", templates.environments(kernels), environment=kernels)


@cache
def environment_entries(kernels: EnvironmentKernels, types: tuple[str, ...]) -> ModuleType:
    """``start`` and ``advance`` for the types (NumPy's names) of its state's arrays and view."""
    return load("environment", templates.environment(types), environment=kernels)


@cache
def joint_entries(kernels: EnvironmentKernels, types: tuple[str, ...]) -> ModuleType:
    """``start_joint`` and ``advance_joint``; after the view: its offsets, actions and rewards."""
    return load("environment", templates.joint_environment(types), environment=kernels)


@cache
def agent_entries(kernels: AgentKernels, types: tuple[str, ...]) -> ModuleType:
    """``begin``, ``act`` and ``finish`` for the types of its state's arrays and view."""
    return load("agent", templates.agent(kernels, types), agent=kernels)


@cache
def adjust_entry(kernels: AgentKernels, types: tuple[str, ...]) -> ModuleType:
    """``adjust``, for the types of its state's arrays and view."""
    return load("agent", templates.adjusting(types), agent=kernels)


def load(what: str, body: str, *, compiles: bool = True, **sides: Any) -> ModuleType:
    """Generate a module of a body and the kernels of some sides that it names, and import it.

    Args:
        what: What it is, for announcements.
        body: The source after the imports of kernels.
        compiles: Whether it has entry points, which are compiled when it is imported for the first
            time; kernels alone are compiled with whatever calls them.
        sides: ``EnvironmentKernels``, ``AgentKernels`` or another dataclass of a state and kernels;
            in the body, ``act`` of the side ``agent`` is named ``agent_act``.
    """
    names = set(re.findall(r"\w+", body))
    parts = {}
    for side, kernels in sides.items():
        for field in fields(kernels):
            state = field.name == "state"
            name = f"{side.capitalize()}State" if state else f"{side}_{field.name}"
            part = getattr(kernels, field.name)
            if part is not None and name in names:  # others do not change what is compiled
                parts[name] = part
    places = {name: _place(part) for name, part in parts.items()}
    imports = [f"from {module} import {own} as {name}" for name, (module, own) in places.items()]
    source = "\n".join([f'"""Generated: {what}."""', "", *imports, body])
    digest = hashlib.sha256(source.encode())
    functions = [part for part in parts.values() if not isinstance(part, type)]
    for text in (*sorted(set(reachable_sources(functions))), *_foundations()):
        digest.update(text.encode())
    name = f"{GENERATED}{digest.hexdigest()[:20]}"
    with _one_at_a_time:
        if name not in sys.modules:
            directory = directory_of(name)
            if compiles and not plain() and (directory is None or not directory.is_dir()):
                own = {module for module, _ in places.values() if not module.startswith(GENERATED)}
                modules = ", ".join(sorted(own))
                whose = f" of {modules}" if modules else ""
                keeping = "" if directory is None else " (once; kept for next time)"
                announce(f"Compiling {what} kernels{whose}{keeping}")
            loader = _GeneratedLoader(name, source)
            spec = spec_from_file_location(name, loader=loader)
            assert spec is not None  # a spec with a given loader is always made
            sys.modules[name] = module = module_from_spec(spec)
            try:
                loader.exec_module(module)
            except BaseException:
                del sys.modules[name]
                raise
        return sys.modules[name]


class _GeneratedLoader(SourceFileLoader):
    """Runs source that was generated just now; there is no file of it."""

    def __init__(self, name: str, source: str) -> None:
        super().__init__(name, str(cache_directory() / name / f"{name}.py"))
        self._source = source

    def get_code(self, fullname: str) -> CodeType:
        """The code of the source."""
        return self.source_to_code(self._source.encode(), self.get_filename(fullname))

    def get_source(self, fullname: str) -> str:  # noqa: ARG002 - it has one module
        """The source, which tracebacks show and other modules' hashes depend on."""
        return self._source


def _place(part: Any) -> tuple[str, str]:
    """The module and the name under which a kernel or a state class can be imported."""
    origin = getattr(part, "py_func", part)
    module, name = origin.__module__, origin.__qualname__
    if getattr(sys.modules.get(module), name, None) is not part:
        raise InvalidInputError(
            f"The kernel {name!r} of {module} cannot be imported by its name.",
            "Define kernels and their state at the top level of a module.",
        )
    if part is origin and not isinstance(part, type) and not plain():
        raise InvalidInputError(
            f"The kernel {name!r} of {module} is an ordinary function.",
            "Decorate it with omnimeter.kernel.",
        )
    return module, name


@cache
def _foundations() -> tuple[str, ...]:
    """What all generated modules stand on."""
    import llvmlite
    import numba
    import numpy

    from omnimeter.contract import kernels
    from omnimeter.interaction import intrinsics

    versions = (numba.__version__, llvmlite.__version__, numpy.__version__, sys.version)
    # Numba's own cache forgets whether bounds were checked.
    checked = numba.config.BOUNDSCHECK  # type: ignore[attr-defined] # made at run time
    return *versions, str(checked), *map(inspect.getsource, (intrinsics, kernels, templates))
