"""What a kernel compiles to depends on all source and all constants that it can reach: these."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from types import CodeType, ModuleType
from typing import Any

from omnimeter.contract import InvalidInputError

_KNOWN = ("builtins", "math", "numba", "numpy")
"""Packages that are known by their versions; their source is not looked at."""


def reachable_sources(kernels: Iterable[Callable[..., Any]]) -> Iterator[str]:
    """The text of every file with a kernel that can be called, and the constants they use.

    Raises:
        InvalidInputError: The text of a kernel cannot be had.
    """
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
            if name not in names or _is_known(value):
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


def _is_known(value: Any) -> bool:
    if isinstance(value, ModuleType):
        home = value.__name__
    elif isinstance(value, type) or inspect.isroutine(value):
        home = value.__module__ or ""
    else:
        return False
    return home.partition(".")[0] in _KNOWN


def _source(part: Any) -> str:
    try:
        return inspect.getsource(sys.modules[part.__module__])
    except (KeyError, OSError, TypeError) as error:
        raise InvalidInputError(
            f"The source of {part.__qualname__!r} cannot be read.", "Define kernels in a file."
        ) from error
