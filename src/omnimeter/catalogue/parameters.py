"""The parameters of a part: read from its signature, and given values validated by pydantic."""

from __future__ import annotations

import collections.abc
import dataclasses
import difflib
import inspect
import json
import re
import sys
import typing
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from omnimeter.contract import InvalidInputError
from omnimeter.contract.spec import validation_message

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_EMPTY = inspect.Parameter.empty


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a part.

    Attributes:
        annotation: Its type as it stands in the source; empty when there is none.
        required: Whether it must be given.
        doc: What the docstring says of it.
    """

    name: str
    annotation: str
    required: bool
    default: Any
    doc: str


def described_parameters(target: Any, docs: Mapping[str, str]) -> list[Parameter]:
    """The parameters that a spec can set, with what docstrings say of them."""
    # The signature of a dataclass hides the result of a default factory.
    fields = dataclasses.fields(target) if dataclasses.is_dataclass(target) else ()
    factories = {each.name: each.default_factory for each in fields}
    result = []
    for each in settable(target) if callable(target) else ():
        factory = factories.get(each.name, dataclasses.MISSING)
        default = None if each.default is _EMPTY else each.default
        default = default if factory is dataclasses.MISSING else factory()
        annotation, required = _annotation_text(target, each), each.default is _EMPTY
        result.append(Parameter(each.name, annotation, required, default, docs.get(each.name, "")))
    return result


def settable(target: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a class or function that a spec can set, in their order.

    What a function needs without a default is not among them: its caller gives it.
    """
    kinds = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    named = [each for each in _signature(target) if each.kind in kinds]
    if isinstance(target, type):
        return named
    return [each for each in named if each.kind is kinds[1] or each.default is not _EMPTY]


def _signature(target: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(target).parameters.values())
    except (ValueError, TypeError):  # some built-in classes have no signature
        return []


def _annotation_text(target: Any, parameter: inspect.Parameter) -> str:
    """The annotation as it stands in the source, with the values of a ``Literal`` written out."""
    if parameter.annotation is _EMPTY:
        return ""
    if not isinstance(parameter.annotation, str):
        return inspect.formatannotation(parameter.annotation)
    module = sys.modules.get(getattr(target, "__module__", ""))

    def expanded(name: re.Match[str]) -> str:
        value = getattr(module, name.group(), None)
        if get_origin(value) is not Literal:
            return name.group()
        return f"Literal[{', '.join(map(repr, get_args(value)))}]"

    return re.sub(r"\b[A-Za-z_]\w*\b", expanded, parameter.annotation)


def validated(target: Callable[..., Any], given: Mapping[str, Any], label: str) -> dict[str, Any]:
    """The given values as the annotations of a class or function, called ``label``, ask for them.

    A value without an annotation, or with one that cannot be evaluated, is left as it is.

    Raises:
        InvalidInputError: A parameter is unknown or missing, or a value does not fit.
    """
    parameters = {parameter.name: parameter for parameter in settable(target)}
    open_ended = any(each.kind is inspect.Parameter.VAR_KEYWORD for each in _signature(target))
    for name in given:
        if name not in parameters and not open_ended:
            close = difflib.get_close_matches(name, parameters, n=1, cutoff=0.5)
            hint = f"Did you mean {close[0]!r}? " if close else ""
            known = f"Known: {', '.join(parameters)}." if parameters else "It has no parameters."
            raise InvalidInputError(f"{label} has no parameter {name!r}.", hint + known)
    required = [name for name, each in parameters.items() if each.default is _EMPTY]
    if missing := [name for name in required if name not in given]:
        plural = "s" if len(missing) > 1 else ""
        example = ",".join(f"{name}=..." for name in missing)
        message = f"{label} needs the parameter{plural} {', '.join(map(repr, missing))}."
        raise InvalidInputError(message, f"Write '{label}({example})'.")
    return {
        name: _validated(target, parameters[name], value, label) if name in parameters else value
        for name, value in given.items()
    }


def _validated(
    target: Callable[..., Any], parameter: inspect.Parameter, value: object, label: str
) -> Any:
    from pydantic import ValidationError
    from pydantic.errors import PydanticUserError

    adapter = _adapter(target, parameter.name)
    if adapter is None:
        return value
    try:
        return adapter.validate_python(value)
    except PydanticUserError:  # a type that only a type checker can see in full
        return value
    except ValidationError as error:
        text = json.dumps(value, ensure_ascii=False, default=repr)
        text = text if len(text) <= 60 else f"{text[:57]}..."
        message = f"The parameter {parameter.name!r} of {label} cannot be {text}"
        advice = f"Expected: {_annotation_text(target, parameter)}."
        raise InvalidInputError(f"{message}: {validation_message(error)}.", advice) from error


@lru_cache(maxsize=256)  # the same part is made again and again, and this is the slow step
def _adapter(target: Callable[..., Any], name: str) -> TypeAdapter[Any] | None:
    """The validator of a parameter; ``None`` where pydantic does not know the type."""
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

    [kind] = [_evaluated(each.annotation, target) for each in settable(target) if each.name == name]
    # label=10 for a text means the text "10"; types with a configuration of their own reject ours
    for config in (ConfigDict(coerce_numbers_to_str=True), None):
        try:
            return TypeAdapter(kind, config=config)
        except PydanticUndefinedAnnotation:
            return None
        except PydanticUserError:
            continue
    return None


def _evaluated(annotation: Any, target: Callable[..., Any]) -> Any:
    """The type that an annotation names, be it written out or a text."""
    if annotation is _EMPTY:
        return Any
    # These names are often imported for type checkers only.
    names: dict[str, Any] = {**vars(collections.abc), **vars(typing)}
    own = [target.__init__, target.__new__] if isinstance(target, type) else [target]  # type: ignore[misc] # of any class
    functions = [each for each in map(inspect.unwrap, own) if isinstance(each, FunctionType)]
    if functions:
        names |= functions[0].__globals__
    holder = SimpleNamespace(__annotations__={"value": annotation})
    try:
        return typing.get_type_hints(holder, globalns=names, include_extras=True)["value"]
    except Exception:  # an annotation can fail in any way, and the user cannot change it
        return Any
