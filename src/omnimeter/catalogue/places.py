"""Places: ``path/to/file.py:Name`` and ``package.module:Name``, and the objects found there."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from omnimeter.catalogue.failures import import_failure
from omnimeter.catalogue.sources import load_file
from omnimeter.contract import InvalidInputError, UnknownNameError

_MODULE_ADVICE = "Install its package, or name a file: 'path/to/file.py:Name'."


@dataclass(frozen=True, slots=True)
class Place:
    """Where an object is.

    Attributes:
        source: The path of a file, or the dotted name of a module.
        name: The name of the object there, dotted if it is inside another one.
    """

    source: str
    name: str

    @property
    def is_file(self) -> bool:
        """Whether the source is a file and not a module."""
        return self.source.endswith(".py") or "/" in self.source or "\\" in self.source

    def __str__(self) -> str:
        return f"{self.source}:{self.name}"


def read_place(text: str) -> Place | None:
    """The place that a text names, or ``None`` when it can only be an id.

    Raises:
        InvalidInputError: It is a place, but does not say all.
    """
    source, colon, name = text.rpartition(":")
    place = Place(source, name) if colon else Place(text, "")
    if not colon and not place.is_file:
        return None
    if not source or not all(part.isidentifier() for part in name.split(".")):
        example = place.source or "my_agent.py"
        raise InvalidInputError(
            f"{text!r} does not say which object is meant.",
            f"Write the file or module, a colon and a name: '{example}:Name'.",
        )
    return place


def find_object(place: Place) -> Any:
    """Import the source of a place and take the object from it.

    Raises:
        InvalidInputError: The source is not there, cannot be imported, or defines nothing.
        UnknownNameError: There is no object of that name in it.
    """
    module = load_file(place.source) if place.is_file else _load_module(place)
    try:
        return reduce(getattr, place.name.split("."), module)
    except AttributeError:
        pass
    if known := _own_names(module):
        raise UnknownNameError(f"object in {place.source} called", place.name, known)
    raise InvalidInputError(
        f"There is no object in {place.source} called {place.name!r}.", "It defines nothing."
    )


def _own_names(module: ModuleType) -> list[str]:
    """What a module says it offers, or else what it defines itself, or else all that it has."""
    if offered := getattr(module, "__all__", None):
        return [str(name) for name in offered]
    public = {name: value for name, value in vars(module).items() if not name.startswith("_")}
    own = [
        name
        for name, value in public.items()
        if getattr(value, "__module__", None) == module.__name__
    ]
    return own or list(public)


def _load_module(place: Place) -> ModuleType:
    try:
        return import_module(place.source)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{place.source}.".startswith(f"{error.name}."):
            raise import_failure(error, place.source) from error
        path = Path(*place.source.split(".")).with_suffix(".py")
        advice = f"Did you mean '{path}:{place.name}'?" if path.is_file() else _MODULE_ADVICE
        raise InvalidInputError(f"There is no module {place.source!r}.", advice) from error
    except (Exception, SystemExit) as error:
        raise import_failure(error, place.source) from error
