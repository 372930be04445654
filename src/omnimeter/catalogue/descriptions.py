"""All that can be said of one part: what it is, where it comes from, what it can be given."""

from __future__ import annotations

import dataclasses
import inspect
from dataclasses import dataclass
from typing import Any

from omnimeter.catalogue.docstrings import read_docstring
from omnimeter.catalogue.entries import find
from omnimeter.catalogue.kinds import Kind
from omnimeter.catalogue.parameters import annotation_text, is_required, settable
from omnimeter.catalogue.places import read_place
from omnimeter.catalogue.resolution import resolve


@dataclass(frozen=True, slots=True)
class Parameter:
    """Something that a part can be given.

    Attributes:
        name: How it is called.
        annotation: Its type as it stands in the source; empty when there is none.
        required: Whether it must be given.
        default: What it is when it is not given.
        doc: What the docstring says of it.
    """

    name: str
    annotation: str
    required: bool
    default: Any
    doc: str


@dataclass(frozen=True, slots=True)
class Description:
    """A part, as it is shown to a person.

    Attributes:
        id: Its id, or its place when it has none.
        package: The package that it comes from; empty for a place.
        place: Where it is.
        doc: Its docstring, without what is said in ``parameters``.
        parameters: What it can be given.
    """

    id: str
    package: str
    place: str
    doc: str
    parameters: list[Parameter]


def describe(kind: Kind, name: str) -> Description:
    """Describe one part. It is imported for that.

    Raises:
        UnknownNameError: There is nothing of that name.
        InvalidInputError: What is there cannot be used.
    """
    part = resolve(kind, name)
    found = settable(part) if callable(part) else []
    names = [parameter.name for parameter in found]
    own = read_docstring(getattr(part, "__doc__", None), names)
    said = {**_constructor_items(part, names), **own.items}
    parameters = [_parameter(part, parameter, said) for parameter in found]
    if read_place(name) is not None:
        return Description(name, "", name, own.text, parameters)
    claim = find(kind, name)
    return Description(claim.name, claim.package, claim.place, own.text, parameters)


def _constructor_items(part: Any, names: list[str]) -> dict[str, str]:
    """What a constructor says of its parameters itself, instead of its class."""
    if not isinstance(part, type):
        return {}
    return read_docstring(inspect.getattr_static(part, "__init__").__doc__, names).items


def _parameter(part: Any, parameter: inspect.Parameter, said: dict[str, str]) -> Parameter:
    return Parameter(
        name=parameter.name,
        annotation=annotation_text(part, parameter),
        required=is_required(parameter),
        default=_default(part, parameter),
        doc=said.get(parameter.name, ""),
    )


def _default(part: Any, parameter: inspect.Parameter) -> Any:
    if is_required(parameter):
        return None
    if dataclasses.is_dataclass(part):  # whose signature hides a default that is made anew
        for field in dataclasses.fields(part):
            if field.name == parameter.name and field.default_factory is not dataclasses.MISSING:
                return field.default_factory()
    return parameter.default
