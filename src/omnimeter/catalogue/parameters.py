"""Which parameters a part has, and whether those that were given fit."""

from __future__ import annotations

import difflib
import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args, get_origin

from omnimeter.contract import InvalidInputError

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
