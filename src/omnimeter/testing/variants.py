"""In which ways the rules of a part can differ: its parameters with a list of choices."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from dataclasses import replace
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from omnimeter.catalogue import Kind, resolve
from omnimeter.contract import Spec


def variants(kind: Kind, spec: Spec) -> Iterator[Spec]:
    """The spec with each choice (``Literal`` and ``bool``) that it leaves open, one at a time.

    A part without such parameters has one variant, the spec as it is.
    """
    choices = {name: _choices(hint) for name, hint in _hints(resolve(kind, spec.id)).items()}
    found = [
        replace(spec, parameters={**spec.parameters, name: value})
        for name, values in choices.items()
        if name not in spec.parameters
        for value in values
    ]
    yield from found or [spec]


def _hints(part: Any) -> dict[str, Any]:
    constructor = inspect.getattr_static(part, "__init__") if isinstance(part, type) else part
    try:
        return get_type_hints(constructor)
    except (NameError, TypeError):  # annotations that only a type checker can read, or none
        return {}


def _choices(hint: Any) -> tuple[Any, ...]:
    if get_origin(hint) in (UnionType, Union):  # a choice that may be left open
        others = [each for each in get_args(hint) if each is not NoneType]
        return _choices(others[0]) if len(others) == 1 else ()
    if hint is bool:
        return (False, True)
    return get_args(hint) if get_origin(hint) is Literal else ()
