"""The parameters of a part: read from its signature, and given values validated by pydantic."""

from __future__ import annotations

import collections.abc
import difflib
import inspect
import json
import re
import sys
import typing
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from types import FunctionType, SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin

from omnimeter.contract import InvalidInputError

if TYPE_CHECKING:
    from pydantic import TypeAdapter, ValidationError

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def settable(target: Callable[..., Any]) -> list[inspect.Parameter]:
    """The parameters of a class or function that a spec can set, in their order.

    What a function needs without a default is not among them: that is for its caller.
    """
    named = [parameter for parameter in _signature(target) if parameter.kind in _NAMED]
    if isinstance(target, type):
        return named
    keyword = inspect.Parameter.KEYWORD_ONLY
    return [item for item in named if item.kind == keyword or not is_required(item)]


def is_required(parameter: inspect.Parameter) -> bool:
    """Whether there is no default."""
    return parameter.default is inspect.Parameter.empty


def annotation_text(target: Any, parameter: inspect.Parameter) -> str:
    """The annotation as it stands in the source; empty when there is none.

    A name for a choice of words is replaced by the words: they are what a person can give.
    """
    if parameter.annotation is inspect.Parameter.empty:
        return ""
    if not isinstance(parameter.annotation, str):
        return inspect.formatannotation(parameter.annotation)
    module = sys.modules.get(getattr(target, "__module__", ""))

    def words(name: re.Match[str]) -> str:
        meant = getattr(module, name.group(), None)
        if get_origin(meant) is not Literal:
            return name.group()
        return f"Literal[{', '.join(map(repr, get_args(meant)))}]"

    return re.sub(r"\b[A-Za-z_]\w*\b", words, parameter.annotation)


def check_names(target: Callable[..., Any], given: Mapping[str, Any], label: str) -> None:
    """Check that all that was given is known, and that all that is needed was given.

    Args:
        target: The class or function.
        given: What was given to it.
        label: What the person calls it.

    Raises:
        InvalidInputError: A parameter is unknown or missing.
    """
    parameters = settable(target)
    known = [parameter.name for parameter in parameters]
    open_ended = any(item.kind == inspect.Parameter.VAR_KEYWORD for item in _signature(target))
    for name in given:
        if name not in known and not open_ended:
            raise InvalidInputError(f"{label} has no parameter {name!r}.", _known(name, known))
    missing = [item.name for item in parameters if is_required(item) and item.name not in given]
    if missing:
        plural = "s" if len(missing) > 1 else ""
        example = ",".join(f"{name}=..." for name in missing)
        raise InvalidInputError(
            f"{label} needs the parameter{plural} {', '.join(map(repr, missing))}.",
            f"Write '{label}({example})'.",
        )


def _known(name: str, known: Sequence[str]) -> str:
    if not known:
        return "It has no parameters at all."
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
    hint = f"Did you mean {close[0]!r}? " if close else ""
    return f"{hint}Known: {', '.join(known)}."


def _signature(target: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(target).parameters.values())
    except (ValueError, TypeError):  # some built-in classes do not say what they take
        return []


def coerced(target: Callable[..., Any], given: Mapping[str, Any], label: str) -> dict[str, Any]:
    """The given values as the annotations of a class or function ask for them.

    A value without an annotation, or with one that cannot be understood, is left as it is.

    Args:
        target: The class or function.
        given: The values by their parameters' names.
        label: What the person calls the target.

    Raises:
        InvalidInputError: A value does not fit; the first of them is explained.
    """
    parameters = {parameter.name: parameter for parameter in settable(target)}
    return {
        name: _fitted(target, parameters[name], value, label) if name in parameters else value
        for name, value in given.items()
    }


def _fitted(
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
        raise InvalidInputError(
            f"The parameter {parameter.name!r} of {label} cannot be {_shown(value)}: "
            f"{_said(error)}.",
            f"Expected: {annotation_text(target, parameter)}.",
        ) from error


@lru_cache(maxsize=256)  # the same part is made again and again, and this is the slow step
def _adapter(target: Callable[..., Any], name: str) -> TypeAdapter[Any] | None:
    """What checks the values of a parameter; ``None`` where pydantic does not know the type."""
    from pydantic import ConfigDict, TypeAdapter
    from pydantic.errors import PydanticUndefinedAnnotation, PydanticUserError

    [annotation] = [item.annotation for item in settable(target) if item.name == name]
    wanted = _evaluated(annotation, _visible_names(target))
    # a person who types label=10 for a text means the text; types of their own settings refuse ours
    for config in (ConfigDict(coerce_numbers_to_str=True), None):
        try:
            return TypeAdapter(wanted, config=config)
        except PydanticUndefinedAnnotation:
            return None
        except PydanticUserError:
            continue
    return None


def _evaluated(annotation: Any, visible: Mapping[str, Any]) -> Any:
    """The type that an annotation names, be it written out or a text."""
    if annotation is inspect.Parameter.empty:
        return Any
    holder = SimpleNamespace(__annotations__={"value": annotation})
    try:
        hints = typing.get_type_hints(holder, globalns=dict(visible), include_extras=True)
    except Exception:  # an annotation can fail in any way, and is not the user's business
        return Any
    return hints["value"]


def _visible_names(target: Callable[..., Any]) -> dict[str, Any]:
    """The names that a target's annotations may use.

    Those of ``typing`` and ``collections.abc`` are often imported for type checkers only.
    """
    names: dict[str, Any] = {**vars(collections.abc), **vars(typing)}
    function = _function(target)
    return {**names, **function.__globals__} if function else names


def _function(target: Callable[..., Any]) -> FunctionType | None:
    """The function whose signature a class or function has."""
    makers = ("__init__", "__new__")
    own = [getattr(target, maker) for maker in makers] if isinstance(target, type) else [target]
    for candidate in own:
        unwrapped = inspect.unwrap(candidate)
        if isinstance(unwrapped, FunctionType):
            return unwrapped
    return None


def _shown(value: object) -> str:
    text = json.dumps(value, ensure_ascii=False, default=repr)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _said(error: ValidationError) -> str:
    """What pydantic says, in one line."""
    faults = []
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        inside = ".".join(str(part) for part in fault["loc"])
        message = fault["msg"][0].lower() + fault["msg"][1:]
        faults.append(f"{message} (at {inside})" if inside else message)
    return "; ".join(faults)
