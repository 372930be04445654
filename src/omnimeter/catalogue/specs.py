"""Specs as users write them: on one line, as options, and in JSON files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import product
from math import prod
from pathlib import Path
from typing import Any

from omnimeter.catalogue.entries import Kind, find
from omnimeter.catalogue.files import contents
from omnimeter.catalogue.loading import place_of, read_location
from omnimeter.catalogue.programs import check_program, is_program
from omnimeter.contract import InvalidInputError, Spec, UnknownNameError
from omnimeter.contract.spec import parse_json, read_json

LONGEST = 200
"""Characters of a text that are shown in a message."""

LONGEST_PART = 5000
"""Characters of the label of a part that is a parameter of another."""

DEEPEST = 20
"""Brackets that may be open at once: reading parts in parts takes long with the power of it."""

MOST_ALTERNATIVES = 1000
"""Parts that one text may stand for."""

_PAIRS = {"(": ")", "[": "]", "{": "}"}
_ASSIGNED = re.compile(r"\s*([A-Za-z_]\w*)\s*=")


def read_call(text: str) -> tuple[str, dict[str, Any]]:
    """The name and the parameters in ``name(key=value,...)``, or the name alone.

    Parameters are in the parentheses that end the text. Others, before the colon of a location, are
    part of a file's name: ``my agent (v2).py:MyAgent(depth=3)``. A name may also stand in double
    quotes, as JSON: ``"a(.py:MyAgent"(depth=3)``.

    Raises:
        InvalidInputError: The text cannot be read; the message says at which character.
    """
    name, _, pieces = _split_call(text)
    parameters: dict[str, Any] = {}
    for start, stop in pieces:
        key, value = read_assignment(text, start, stop)
        if key in parameters:
            raise _error(text, start, f"{key!r} is given twice")
        parameters[key] = value
    return name, parameters


def _split_call(text: str) -> tuple[str, int, list[tuple[int, int]]]:
    """The name, where its parameters are opened (-1: nowhere), and from where to where each is."""
    opened = text.find("(")
    if text.lstrip().startswith('"'):
        start = text.index('"')
        end = _after(text, start)
        try:
            name = parse_json(text[start:end])
        except ValueError as error:
            raise _error(text, start, f"this is not JSON: {error}") from error
        opened = text.find("(", end)
        if text[end : opened if opened >= 0 else None].strip():
            raise _error(text, end, "here '(' is expected")
    else:
        while opened >= 0:
            rest = text[_closing(text, opened) + 1 :]
            if not re.search(r":|\.py\b", rest):
                break
            opened = text.find("(", len(text) - len(rest))
        name = (text if opened < 0 else text[:opened]).strip()
    if opened < 0:
        return name, opened, []
    start, end = opened + 1, _closing(text, opened)
    if rest := text[end + 1 :].strip():
        raise _error(text, text.index(rest, end + 1), f"{rest!r} follows the last parenthesis")
    pieces = []
    while start <= end and text[opened + 1 : end].strip():
        stop = start  # the next comma outside of brackets and quotes, or else the end
        while stop < end and text[stop] != ",":
            stop = _after(text, stop)
        pieces.append((start, stop))
        start = stop + 1
    return name, opened, pieces


def alternatives(text: str) -> list[str]:
    """The texts that a text stands for: ``a(x=1|2, y=3|4)`` stands for four.

    Only a ``|`` in a value, outside of its quotes and brackets, separates values; so do those in
    the values of a part that is itself a value: ``slowed(agent=random(rate=1|2), seconds=1)``.

    Raises:
        InvalidInputError: The text cannot be read, or stands for more than ``MOST_ALTERNATIVES``.
    """
    _, opened, pieces = _split_call(text) if "|" in text else ("", -1, [])
    choices = []
    for start, stop in pieces:
        match = _ASSIGNED.match(text[:stop], start)
        begun = stop if match is None else match.end()  # read_call tells what is wrong there
        values = []
        place = first = begun
        while place < stop:
            if text[place] == "|":
                values.append(text[first:place])
                first = place = place + 1
            else:
                place = _after(text, place)
        values.append(text[first:stop])
        if len(values) > 1 and not all(value.strip() for value in values):
            raise _error(text, begun, "a value is missing beside '|'; a text with '|' needs quotes")
        every: list[str] = []
        for value in values:
            call = value.strip()[-1:] == ")" and value.strip()[0] not in "([{'"
            every += alternatives(value) if call else [value]
        choices.append([text[start:begun] + each for each in every])
        if prod(map(len, choices)) > MOST_ALTERNATIVES:
            shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
            message = f"{shown!r} stands for more than {MOST_ALTERNATIVES:,} parts."
            raise InvalidInputError(message, "Give fewer values.")
    if not choices:
        return [text]
    before, after = text[: opened + 1], text[pieces[-1][1] :]
    return [before + ",".join(chosen) + after for chosen in product(*choices)]


def read_assignment(text: str, start: int = 0, stop: int | None = None) -> tuple[str, Any]:
    """The name and the value in ``key=value``, where the value is all that follows until ``stop``.

    A value is JSON, a text in single quotes, or a bare word.

    Raises:
        InvalidInputError: The text cannot be read; the message says at which character.
    """
    match = _ASSIGNED.match(text[:stop], start)
    if match is None:
        raise _error(text, start, "here 'key=value' is expected")
    written = text[match.end() : stop].strip()
    if not written:
        raise _error(text, match.end(), 'the value is missing; write "" for an empty text')
    start = text.index(written, match.end())
    try:
        value = parse_json(written)
    except json.JSONDecodeError as error:
        # Quotes may be those of a name with parameters: "a,b.py:MyAgent"(depth=3).
        named = written[0] == '"' and re.match(r"\s*\(", text[_after(text, start) : stop])
        if written[0] in '[{"' and not named:
            raise _error(text, start + error.pos, f"this is not JSON: {error.msg}") from error
        quoted = len(written) > 1 and written[0] == written[-1] == "'"
        value = written[1:-1] if quoted else written
    except ValueError as error:
        raise _error(text, start, str(error)) from error
    return match[1], value


def _closing(text: str, opened: int) -> int:
    """Where the bracket that was opened there is closed."""
    waiting = [opened]  # brackets that are open
    position = opened + 1
    while position < len(text):
        if text[position] == _PAIRS[text[waiting[-1]]]:
            waiting.pop()
            if not waiting:
                return position
        elif text[position] in _PAIRS:
            waiting.append(position)
            if len(waiting) > DEEPEST:
                raise _error(text, position, "brackets are nested too deeply")
        elif text[position] in "\"'":
            position = _after(text, position)
            continue
        position += 1
    raise _error(text, waiting[-1], f"the {text[waiting[-1]]!r} is never closed")


def _after(text: str, position: int) -> int:
    """The position after one character, or after a whole bracket or quotation."""
    opening = text[position]
    if opening in _PAIRS:
        return _closing(text, position) + 1
    if opening not in "\"'":
        return position + 1
    end = position + 1
    while end < len(text) and text[end] != opening:
        end += 2 if text[end] == "\\" and opening == '"' else 1
    if end >= len(text):
        raise _error(text, position, f"the {opening} is never closed")
    return end + 1


def _error(text: str, position: int, why: str) -> InvalidInputError:
    advice = "Write 'name(key=value,...)'; values are JSON or bare words."
    shown = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return InvalidInputError(f"In {shown!r}, character {position + 1}: {why}.", advice)


def parse(kind: Kind, text: str) -> Spec:
    """The spec that a text names, with its full id and, for a file, its digest.

    Nothing is imported: whether the parameters fit is checked by ``make``.

    Args:
        kind: What it must be.
        text: ``random``, ``random-v1(rate=10)``, ``my_agent.py:MyAgent(depth=3)``,
            ``package.module:Name``, or the path of a ``.json`` file with a spec.

    Raises:
        UnknownNameError: There is no part of that name.
        InvalidInputError: The text or the file cannot be read.
    """
    text = text.strip()
    spec = read_spec(place_of(text)) if text.endswith(".json") else Spec(*read_call(text))
    if not spec.id:
        raise InvalidInputError(f"{text!r} names no {kind}.", f"Name {kind.phrase}.")
    return normalised(kind, spec)


_NAME = re.compile(r"[^\W_](?:[\w .+-]{0,38}[\w+])?")
_NAMED = re.compile(rf"(.*\S)\s+as\s+({_NAME.pattern})\s*", re.DOTALL)
_CALLED = re.compile(r".*?\S\s+as(?:\s+(.*))?", re.DOTALL)


def parse_agents(text: str) -> list[Spec]:
    """The specs of the agents that a text names, and may call otherwise.

    Args:
        text: As for ``parse``, with alternatives, and ``my_agent.py:MyAgent as mine``.

    Raises:
        UnknownNameError: There is no part of that name.
        InvalidInputError: The text or a file cannot be read, or several agents get one name.
    """
    named = _NAMED.fullmatch(text)
    if named is None or named[2].endswith((".json", ".py")):
        try:
            return [checked_name(parse(Kind.AGENT, one)) for one in alternatives(text)]
        except UnknownNameError:
            if called := _CALLED.fullmatch(text):  # by something that is no name
                check_name(called[1] or "")
            raise
    agents = [parse(Kind.AGENT, one) for one in alternatives(named[1])]
    if len(agents) > 1:
        message = f"The name {named[2]!r} is for one agent, and {named[1]!r} stands for several."
        raise InvalidInputError(message, "Leave the name out, or give the agents one by one.")
    return [checked_name(replace(agents[0], name=named[2]))]


def checked_name(agent: Spec) -> Spec:
    """The agent, if it has a name that tables can show, or none.

    Raises:
        InvalidInputError: The name is none, or is that of another part.
    """
    if not agent.name:
        return agent
    check_name(agent.name)
    with suppress(UnknownNameError):
        if (other := find(Kind.AGENT, agent.name).id) != agent.id:
            message = f"{agent.call} cannot be called {agent.name!r}, which is the agent {other}."
            raise InvalidInputError(message, "Give another name.")
    return agent


def check_name(name: str) -> None:
    """Check a name for an agent, which tables and files show.

    Raises:
        InvalidInputError: It is no such name.
    """
    if _NAME.fullmatch(name) is None:
        shown = repr(name) if len(name) <= 60 else f"{name[:60]!r}... ({len(name):,} characters)"
        raise InvalidInputError(
            f"An agent cannot be called {shown}.",
            "A name has 1 to 40 letters, digits, spaces and signs of '._+-'. It begins with a "
            "letter or a digit, and ends with one, with '_' or with '+'.",
        )


def normalised(kind: Kind, spec: Spec) -> Spec:
    """The spec with full ids and the digests of files, also in the part that it is made of.

    Args:
        kind: What it must be.
        spec: The spec, as it was given.

    Raises:
        UnknownNameError: There is no part of that name.
        InvalidInputError: A file cannot be read.
    """
    if read_location(spec.id) is None:
        spec = replace(spec, id=find(kind, spec.id).id)
    spec = with_digest(spec)
    for name in _INNER.get(kind, ()):
        if inner := inner_part(kind, spec, name):
            value = inner.to_json() if inner.digest else inner.call
            if len(inner.call) > LONGEST_PART:  # quotes in quotes double it each time
                message = f"The {name} of {spec.id} is nested too deeply."
                raise InvalidInputError(message, "Give a part in fewer parts.")
            spec = replace(spec, parameters={**spec.parameters, name: value})
    return spec


_INNER = {Kind.AGENT: ("agent",), Kind.ENVIRONMENT: ("first", "second")}
"""The parameters that name a part of the same kind."""


def inner_part(kind: Kind, spec: Spec, name: str) -> Spec | None:
    """The part of the same kind that a part is made of: its parameter of some name.

    ``slowed(agent=random, seconds=1)`` is made of the agent ``random``. A value that names no part
    is left to the part that has the parameter.
    """
    given = spec.parameters.get(name)
    try:
        if isinstance(given, str):
            return parse(kind, given).unnamed
        if isinstance(given, Mapping) and isinstance(given.get("id"), str):
            return normalised(kind, Spec.from_json(given).unnamed)
    except (UnknownNameError, InvalidInputError):
        pass
    return None


def given_spec(kind: Kind, given: str | dict[str, Any]) -> Spec:
    """The spec in a parameter: what a person types, or its JSON.

    Raises:
        UnknownNameError: There is no part of that name.
        InvalidInputError: It cannot be read.
    """
    if isinstance(given, str):
        return parse(kind, given)
    if not isinstance(given.get("id"), str):
        message = f"The spec of the {kind.value} has no id."
        raise InvalidInputError(message, 'Give {"id": "...", "parameters": {...}}.')
    spec = Spec.from_json(given)
    return with_digest(spec) if kind is Kind.ENVIRONMENT else spec


def with_digest(spec: Spec) -> Spec:
    """The spec with a hash of its files: sources, and the data that it reads.

    Raises:
        InvalidInputError: There is no such source or program, or the spec has a hash of other
            content.
    """
    if is_program(spec) and not spec.digest:
        check_program(spec)
    check_digest(spec)
    digest = contents(spec).digest
    return replace(spec, digest=digest) if digest else spec


def check_digest(spec: Spec) -> None:
    """Check that the files of a spec, if it has any, are still the same.

    Raises:
        InvalidInputError: A file does not exist or has other content.
    """
    made_of = contents(spec) if spec.digest else None
    if made_of is not None and made_of.digest not in ("", spec.digest):
        if contents(spec, parameters=False).digest == spec.digest:
            return  # a parameter names a file that was not there then: one that the part writes
        first, *others = made_of.files.values()
        if len(others) > 2:
            others = [f"one of the {len(others)} files that it loads"]
        names = " or ".join((first, *others))
        message = f"{names} has changed since the spec with digest {spec.digest} was made"
        advice = "Restore the file, or start again: an edited part is another part."
        raise InvalidInputError(f"{message}.", advice)


def with_parameters(spec: Spec, assignments: Iterable[str]) -> Spec:
    """A spec with further parameters, each written ``key=value``; the last one counts.

    Raises:
        InvalidInputError: One of them cannot be read.
    """
    given = dict(read_assignment(assignment) for assignment in assignments)
    return with_digest(replace(spec, parameters={**spec.parameters, **given}, digest=""))


def read_spec(path: str | Path) -> Spec:
    """The spec in a JSON file, as it is written there.

    Raises:
        InvalidInputError: The file cannot be read, or is not a spec; the message says where.
    """
    text = json.dumps(read_json(path))
    return Spec.from_json(text, str(path), 'Write {"id": "name-v1", "parameters": {}}.')


def write_spec(spec: Spec, path: str | Path) -> None:
    """Write a spec into a JSON file, from which ``read_spec`` gets it again."""
    Path(path).write_text(json.dumps(spec.to_json(), indent=2) + "\n", encoding="utf-8")
