"""Agents and environment classes given as Python objects, which are known by ``python:NAME``."""

from __future__ import annotations

import copy
import pickle
import types
from collections.abc import Mapping
from typing import Any

from omnimeter.contract import InvalidInputError, Spec

PREFIX = "python:"

_current: dict[str, Any] = {}
_received: bytes = b""
_generation = 0


def is_object(name: str) -> bool:
    """Whether an id stands for a Python object, which no record can rebuild."""
    return name.startswith(PREFIX)


def use(objects: Mapping[str, Any]) -> None:
    """Let ids (``python:NAME``) stand for these objects, instead of those of earlier calls."""
    global _current, _generation  # noqa: PLW0603 - one table of objects per process
    if any(objects.get(name) is not _current.get(name) for name in {*objects, *_current}):
        _generation += 1
    _current = dict(objects)


def generation() -> int:
    """A number that changes when an id gets to stand for another object, for keys of caches."""
    return _generation


def build(spec: Spec) -> Any:
    """A class or a function as it is, and a copy of a closure or of any other object.

    Raises:
        InvalidInputError: The object is not there, or cannot be copied.
    """
    global _received
    if _received:
        packed, _received = _received, b""
        try:
            use(pickle.loads(packed))
        except Exception as error:
            reason = f"{type(error).__name__}: {error}"
            message = f"The agents cannot be unpickled in another process ({reason})."
            advice = "Give workers=1, or define them in a module that can be imported."
            raise InvalidInputError(message, advice) from error
    if spec.id not in _current:
        raise InvalidInputError(
            f"{spec.id} was an object of a script or notebook; a record cannot rebuild it.",
            "Define it again and give the object itself to omnimeter.evaluate or omnimeter.load.",
        )
    thing = _current[spec.id]
    closure = isinstance(thing, types.FunctionType) and thing.__closure__
    if not closure and isinstance(thing, type | types.FunctionType | types.BuiltinFunctionType):
        return thing
    return fresh(thing, spec.id, closure=bool(closure))


def fresh(thing: Any, name: str, *, closure: bool = False) -> Any:
    """A copy of an object, for one exercise.

    Raises:
        InvalidInputError: It cannot be copied.
    """
    try:
        if closure:  # what it encloses may change
            import cloudpickle

            return pickle.loads(cloudpickle.dumps(thing))
        return copy.deepcopy(thing)
    except Exception as error:
        raise InvalidInputError(
            f"{name} cannot be copied ({type(error).__name__}: {error}), but every exercise "
            "needs an agent of its own.",
            "Give its class, or a function that makes it, instead of the object.",
        ) from error


def pack() -> bytes:
    """The objects in use as bytes, for other processes.

    Raises:
        InvalidInputError: One of them cannot be pickled.
    """
    if not _current:
        return b""
    import cloudpickle

    for name, thing in _current.items():
        try:
            cloudpickle.dumps(thing)
        except Exception as error:
            raise InvalidInputError(
                f"{name} cannot be sent to other processes ({type(error).__name__}: {error}).",
                "Give workers=1, or the class instead of the object.",
            ) from error
    return bytes(cloudpickle.dumps(_current))


def receive(packed: bytes) -> None:
    """Use objects that another process packed; they are unpacked when they are needed."""
    global _received  # noqa: PLW0603 - one table of objects per process
    _received = packed
