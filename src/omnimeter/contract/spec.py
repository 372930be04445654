"""Identity and JSON: specs name parts, keys name data, and streams name sources of randomness."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import Enum
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from omnimeter.contract.errors import InvalidInputError
from omnimeter.contract.text import clean_line

if TYPE_CHECKING:
    import numpy as np
    from pydantic import TypeAdapter, ValidationError


LARGEST_FILE = 256 << 20
"""Bytes of a file that is read as a whole: a source, a spec, a battery, a table of numbers."""

LONGEST_NAME = 200
"""Characters of a name that are shown in a message."""

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), allow_nan=False)

_UNKNOWN = "unexpected_keyword_argument"  # pydantic's name of the error


def canonical_json(data: object) -> str:
    """The one JSON text of some data: sorted keys, no spaces, no infinities."""
    return _ENCODER.encode(data)


def fingerprint(data: object) -> str:
    """Sixteen hexadecimal digits that name some JSON-able data."""
    return digest(canonical_json(data))


def digest(text: str) -> str:
    """Sixteen hexadecimal digits that name a text."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def parse_json(text: str) -> Any:
    """The data of a JSON text, read strictly.

    Raises:
        json.JSONDecodeError: It is not JSON; the error says where.
        ValueError: A number is infinite, a key is given twice, a text is not Unicode, or lists are
            in lists too deep.
    """

    def without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        data = dict(pairs)
        if len(data) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"the key {twice!r} is given twice")
        return data

    try:
        data = json.loads(text, object_pairs_hook=without_repetition)
        json.dumps(data, allow_nan=False, ensure_ascii=False).encode()
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except UnicodeEncodeError as error:
        raise ValueError("a text in it is not Unicode") from error
    except ValueError as error:
        if str(error).startswith(("Out of range", "Exceeds the limit")):
            raise ValueError("this number is too large, or not a number") from error
        raise
    return data


def read_bytes(path: str | Path, advice: str = "Check the path.") -> bytes:
    """The content of a file that a user names.

    Raises:
        InvalidInputError: It cannot be read, or is larger than ``LARGEST_FILE``.
    """
    shown = f"{str(path)[:LONGEST_NAME]}..." if len(str(path)) > LONGEST_NAME else str(path)
    try:
        with open(path, "rb") as file:
            content = b""
            while len(content) <= LARGEST_FILE and (chunk := file.read(1 << 22)):
                content += chunk  # not all at once, which would take that much memory
    except OSError as error:
        message = f"{shown} cannot be read: {error.strerror}."
        raise InvalidInputError(message, advice) from error
    except ValueError as error:  # a name that no file can have
        message = f"{shown!r} cannot be the name of a file: {error}."
        raise InvalidInputError(message, advice) from error
    if len(content) > LARGEST_FILE:
        message = f"{shown} is larger than {LARGEST_FILE >> 20} MB."
        raise InvalidInputError(message, advice)
    return content


def read_json(path: str | Path, advice: str = "Check the path.") -> Any:
    """The data in a JSON file; the advice says what to do when it cannot be read.

    Raises:
        InvalidInputError: It cannot be read, or is not JSON; the message says where.
    """
    content = read_bytes(path, advice)
    try:
        return parse_json(content.decode("utf-8"))
    except json.JSONDecodeError as error:
        where = f"{path}, line {error.lineno}, column {error.colno}"
        message = f"{where}: this is not JSON: {error.msg}."
        raise InvalidInputError(message, "Fix the file.") from error
    except ValueError as error:  # not UTF-8, an infinite number, a key that is there twice
        raise InvalidInputError(f"{path} is not JSON: {error}.", "Fix the file.") from error


class JsonData:
    """Base of frozen dataclasses that are written as JSON and, validated by pydantic, read again.

    A field that has its default is not written: a new field with a default changes no key.
    """

    __slots__ = ()
    __pydantic_config__ = {"extra": "forbid"}  # noqa: RUF012 - pydantic's own, never changed

    def to_json(self) -> dict[str, Any]:
        """The object as plain data, without the fields that have their default."""
        data = {}
        cls: Any = type(self)
        for name, default, convert in _json_fields(cls):
            value = getattr(self, name)
            # As text too, since 0.0 equals -0.0.
            if value is not default and (value != default or str(value) != str(default)):
                data[name] = _plain(value) if convert is None or value is None else convert(value)
        return data

    @classmethod
    def from_json(cls, data: object, where: str = "", advice: str = "Fix the file.") -> Self:
        """The object that ``to_json`` wrote.

        Args:
            data: Plain data, or its JSON text, which is read strictly (``true`` is no number).
            where: What the user calls the data, for messages.
            advice: What to do when a field is wrong.

        Raises:
            InvalidInputError: A field is missing, unknown or wrong; the message says which.
        """
        from pydantic import ValidationError

        kind: Any = cls
        adapter: TypeAdapter[Self] = _adapter(kind)
        try:
            if isinstance(data, str):
                return adapter.validate_json(data, strict=True)
            return adapter.validate_python(data)
        except ValidationError as error:
            message = f"{where or cls.__name__}: {validation_message(error)}."
            unknown = [fault["loc"][-1] for fault in error.errors() if fault["type"] == _UNKNOWN]
            if unknown:
                schema = adapter.json_schema()
                parts = [schema, *schema.get("$defs", {}).values()]
                known = {name for part in parts for name in part.get("properties", ())}
                if close := difflib.get_close_matches(str(unknown[0]), known, n=1, cutoff=0.5):
                    advice = f"Did you mean {close[0]!r}?"
            raise InvalidInputError(message, advice) from error


@cache
def _json_fields(cls: type[Any]) -> list[tuple[str, Any, Any]]:
    """Name, default and number type of each field, for JSON that depends on equal values only."""
    numbers = {"float": float, "int": int}
    result = []
    for each in fields(cls):
        factory = each.default_factory
        default = each.default if factory is MISSING else factory()
        result.append((each.name, default, numbers.get(str(each.type).removesuffix(" | None"))))
    return result


def _plain(value: Any) -> Any:
    if isinstance(value, JsonData):
        return value.to_json()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    return value.value if isinstance(value, Enum) else value


@cache
def _adapter(cls: type[Any]) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    return TypeAdapter(cls)


def validation_message(error: ValidationError) -> str:
    """The errors of pydantic on one line: ``exercises[1].interactions: input should be ...``."""
    faults = []
    for fault in error.errors(include_url=False, include_context=False, include_input=False):
        parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault["loc"])
        path = "".join(parts).removeprefix(".")
        message = fault["msg"][0].lower() + fault["msg"][1:]
        message = "unknown field" if fault["type"] == _UNKNOWN else message
        faults.append(f"{path}: {message}" if path else message)
    return "; ".join(faults)


@dataclass(frozen=True)
class Spec(JsonData):
    """The name of a part and its parameters.

    Attributes:
        id: An id of the catalogue (``cups-v1``) or a location (``my_agent.py:MyAgent``).
        parameters: The keyword arguments, as JSON-able data.
        digest: For a part from a file, or one that reads the data of a parameter ``file``: a hash
            of the file, so that an edited part is another one.
        name: What an agent is called in tables and figures instead of its call. It changes nothing
            else: neither what the agent draws nor what it is told.
    """

    id: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""
    name: str = ""

    @cached_property
    def key(self) -> str:
        """A short name that depends on the whole spec."""
        return fingerprint(self.to_json())

    @cached_property
    def stream_key(self) -> str:
        """The key of an agent's random stream: without the folders of files, and its name."""
        return fingerprint(_without_folders(self.unnamed.to_json()))

    @property
    def unnamed(self) -> Spec:
        """The same without a name."""
        return replace(self, name="") if self.name else self

    @property
    def label(self) -> str:
        """What it is called: its name, or else its call."""
        return self.name or self.call

    @property
    def call(self) -> str:
        """The spec as the command line reads it: ``random-v1`` or ``random-v1(rate=10)``."""
        pairs = [
            f"{clean_line(name)}={_text(value)}" for name, value in sorted(self.parameters.items())
        ]
        odd = re.search(r"[()\[\]{}\"',]|^\s|\s$|\.json$", self.id)
        name = clean_line(json.dumps(self.id, ensure_ascii=False) if odd else self.id)
        return f"{name}({', '.join(pairs)})" if pairs else name

    def __hash__(self) -> int:
        return hash(self.key)


def _text(value: Any) -> str:
    """A value as the catalogue reads it back; the spec of another part is written as its label."""
    if is_spec(value):
        call = Spec(**value).call
        return f"{call}()" if call.endswith('"') else call  # not to be read as a text
    # A bare word is read as itself: it is neither a number nor a mark of the notation.
    bare = r"(?!(true|false|null|NaN|Infinity)$)[A-Za-z_][\w./:+-]*"
    if isinstance(value, str) and re.fullmatch(bare, value):
        return value
    text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    return text if clean_line(text) == text else canonical_json(value)  # with \\u202e and the like


def is_spec(value: Any) -> bool:
    """Whether a parameter is the spec of another part, as plain data."""
    if not isinstance(value, Mapping) or not set(value) <= {"id", "parameters", "digest", "name"}:
        return False
    texts = all(isinstance(value.get(each, ""), str) for each in ("digest", "name"))
    texts = texts and isinstance(value.get("id"), str)
    return texts and isinstance(value.get("parameters", {}), Mapping)


def _without_folders(value: Any) -> Any:
    """Plain data, with the files of all specs in it without their folders."""
    if isinstance(value, list | tuple):
        return [_without_folders(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    data = {name: _without_folders(each) for name, each in value.items()}
    return data | {"id": re.split(r"[/\\]", data["id"])[-1]} if is_spec(value) else data


@dataclass(frozen=True, slots=True)
class Stream:
    """One named source of randomness; the same name always gives the same draws.

    Attributes:
        name: The root seed, then the path, for example ``(1, "exercise", 7, "environment")``.
    """

    name: tuple[int | str, ...]

    @property
    def seed(self) -> int:
        """A 64-bit number that depends on the whole name."""
        parts = [f"{type(part).__name__}:{part}".encode() for part in self.name]
        text = b"".join([len(part).to_bytes(4, "little") + part for part in parts])
        return int.from_bytes(hashlib.blake2b(text, digest_size=8).digest(), "little")

    def generator(self) -> np.random.Generator:
        """A fresh NumPy generator at the beginning of this stream."""
        return seeded(self.seed)

    def child(self, *path: int | str) -> Stream:
        """The stream named by this name and a further path."""
        return Stream((*self.name, *path))


def seeded(seed: int) -> np.random.Generator:
    """The NumPy generator of a stream, given its seed."""
    import numpy as np

    return np.random.Generator(np.random.PCG64(seed))


def stream(root: int, *path: int | str) -> Stream:
    """Name a stream, for example ``stream(root, "exercise", 7, "environment")``."""
    return Stream((root, *path))
