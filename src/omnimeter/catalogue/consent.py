"""Code that data from elsewhere names is not imported without the user's consent.

A command or a call of the user is consent to what it names. A stored evaluation is not: it may come
from anywhere. Parts that installed packages list in the catalogue need none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

from omnimeter.catalogue.loading import read_location
from omnimeter.catalogue.objects import is_object
from omnimeter.contract import InvalidInputError

_AGENTS = {"agent", "agents", "joint", "seated"}
"""The fields with agents: reading results imports none."""


class _Question(NamedTuple):
    """Whose data is being read, all code that it names, and what the user named as well."""

    source: str
    named: Set[str]
    given: Set[str]


_question: ContextVar[_Question | None] = ContextVar("question", default=None)


@contextmanager
def without_consent(source: str, data: object, given: Set[str] = frozenset()) -> Iterator[None]:
    """Import nothing by its location meanwhile, neither a file nor a module.

    Args:
        source: What the user calls the data that is being read.
        data: The data, whose locations an error names.
        given: Locations that the user gave, to which that is consent.

    Raises:
        InvalidInputError: Something would have to be imported. It names all that may be.
    """
    token = _question.set(_Question(source, named_code(data), given))
    try:
        yield
    finally:
        _question.reset(token)


def check_consent(location: str) -> None:
    """Check that a location may be imported now.

    Raises:
        InvalidInputError: It may not.
    """
    question = _question.get()
    if question is None or location in question.given:
        return
    names = ", ".join(sorted({location, *question.named} - question.given))
    raise InvalidInputError(
        f"{question.source} names code that would have to be imported: {names}.",
        "Read that code; if you trust it, give --trust (in Python: trust=True).",
    )


def named_code(data: object) -> set[str]:
    """The locations of code in plain data, anywhere but among agents."""
    if isinstance(data, Mapping):
        items: Iterator[Any] = (value for name, value in data.items() if name not in _AGENTS)
        return set().union(*map(named_code, items))
    if isinstance(data, list | tuple):
        return set().union(*map(named_code, data))
    name = data.partition("(")[0].strip() if isinstance(data, str) else ""
    try:
        location = read_location(name)
    except InvalidInputError:
        return set()
    return {name} if location is not None and not is_object(name) else set()
