"""How a person writes a part on one line: ``random``, or ``random-v1(rate=10,label="x")``."""

from __future__ import annotations

import json
import re
from typing import Any

from omnimeter.contract import InvalidInputError, canonical

_NAME = re.compile(r"\s*([A-Za-z_]\w*)\s*=")
_PAIRS = {"(": ")", "[": "]", "{": "}"}
_ADVICE = "Write 'name(key=value,...)'; values are JSON or bare words."


def read_call(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the parameters in ``name(key=value,...)``, or the name alone.

    Raises:
        InvalidInputError: The text cannot be read; the message says at which character.
    """
    name, parenthesis, _ = text.partition("(")
    if not parenthesis:
        return text.strip(), {}
    opened = len(name)
    end = _closing(text, opened)
    if rest := text[end + 1 :].strip():
        raise _fault(text, text.index(rest, end + 1), f"{rest!r} follows the last parenthesis")
    return name.strip(), _parameters(text, opened + 1, end)


def read_assignment(text: str) -> tuple[str, Any]:
    """The name and the value in ``key=value``, where the value is all that follows.

    Raises:
        InvalidInputError: The text cannot be read; the message says at which character.
    """
    return _assignment(text, 0, len(text))


def _parameters(text: str, start: int, end: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if not text[start:end].strip():
        return found
    while start <= end:
        stop = _comma(text, start, end)
        name, value = _assignment(text, start, stop)
        if name in found:
            raise _fault(text, start, f"{name!r} is given twice")
        found[name] = value
        start = stop + 1
    return found


def _assignment(text: str, start: int, stop: int) -> tuple[str, Any]:
    match = _NAME.match(text, start, stop)
    if match is None:
        raise _fault(text, start, "here 'key=value' is expected")
    return match[1], _value(text, match.end(), stop)


def _value(text: str, start: int, stop: int) -> Any:
    """One value: JSON, a text in single quotes, or a bare word."""
    written = text[start:stop].strip()
    if not written:
        raise _fault(text, start, 'the value is missing; write "" for an empty text')
    start = text.index(written, start)
    try:
        value = json.loads(written)
        canonical(value)  # refuses infinities, which JSON files could not hold
    except json.JSONDecodeError as error:
        if written[0] in '[{"':
            raise _fault(text, start + error.pos, f"this is not JSON: {error.msg}") from error
    except ValueError as error:
        raise _fault(text, start, "this number is too large, or not a number") from error
    else:
        return value
    if written[0] == "'" and written[-1] == "'" and len(written) > 1:
        return written[1:-1]
    return written


def _comma(text: str, start: int, end: int) -> int:
    """Where the next comma outside of brackets and quotes is, or else the end."""
    while start < end and text[start] != ",":
        start = _after(text, start)
    return min(start, end)


def _closing(text: str, opened: int) -> int:
    """Where the bracket that was opened there is closed."""
    position = opened + 1
    while position < len(text) and text[position] != _PAIRS[text[opened]]:
        position = _after(text, position)
    if position >= len(text):
        raise _fault(text, opened, f"the {text[opened]!r} is never closed")
    return position


def _after(text: str, position: int) -> int:
    """The position behind one character, or behind a whole bracket or quotation."""
    if text[position] in _PAIRS:
        return _closing(text, position) + 1
    if text[position] in "\"'":
        return _closing_quote(text, position) + 1
    return position + 1


def _closing_quote(text: str, opened: int) -> int:
    quote = text[opened]
    position = opened + 1
    while position < len(text) and text[position] != quote:
        position += 2 if text[position] == "\\" and quote == '"' else 1
    if position >= len(text):
        raise _fault(text, opened, f"the {quote} is never closed")
    return position


def _fault(text: str, position: int, why: str) -> InvalidInputError:
    return InvalidInputError(f"In {text!r}, character {position + 1}: {why}.", _ADVICE)
