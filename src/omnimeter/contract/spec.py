"""Identity: specs name parts, keys name data, and streams name sources of randomness."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from omnimeter.contract.environment import fingerprint

if TYPE_CHECKING:
    import numpy as np

_WORD = re.compile(r"(?!(true|false|null|NaN|Infinity)$)[A-Za-z_][\w./:+-]*")
"""Texts that are read as themselves: neither numbers nor marks of the notation."""


@dataclass(frozen=True)
class Spec:
    """The name of a part and what it was given.

    Attributes:
        id: An id of the catalogue (``cups-v1``) or a place (``my_agent.py:MyAgent``).
        parameters: The keyword arguments, as JSON-able data.
        digest: For a part from a file: a hash of the file, so that an edited part is another one.
    """

    id: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    digest: str = ""

    def to_json(self) -> dict[str, Any]:
        """The spec as plain data, without what is empty."""
        data: dict[str, Any] = {"id": self.id}
        if self.parameters:
            data["parameters"] = dict(self.parameters)
        if self.digest:
            data["digest"] = self.digest
        return data

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Spec:
        """The spec that ``to_json`` wrote."""
        return Spec(data["id"], data.get("parameters", {}), data.get("digest", ""))

    @cached_property
    def key(self) -> str:
        """A short name that depends on the whole spec."""
        return fingerprint(self.to_json())

    @cached_property
    def key_in_any_folder(self) -> str:
        """The key without the folders that its file, and those of the parts inside it, lie in."""
        return fingerprint(_in_any_folder(self.to_json()))

    @property
    def label(self) -> str:
        """The spec as a person writes it: ``random-v1`` or ``random-v1(rate=10)``."""
        if not self.parameters:
            return self.id
        inside = ", ".join(
            f"{name}={_written(value)}" for name, value in sorted(self.parameters.items())
        )
        return f"{self.id}({inside})"

    def __hash__(self) -> int:
        return hash(self.key)


def _written(value: Any) -> str:
    """A value as a person writes it; the catalogue reads it back as the same.

    The spec of another part is written as its label.
    """
    if _is_spec(value):
        return Spec.from_json(value).label
    word = isinstance(value, str) and _WORD.fullmatch(value)
    return (
        value
        if word
        else json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    )


def _is_spec(value: Any) -> bool:
    """Whether a parameter is the spec of another part, as plain data."""
    fields = set(value) if isinstance(value, Mapping) else set()
    return "id" in fields and fields <= {"id", "parameters", "digest"}


def _in_any_folder(value: Any) -> Any:
    """Plain data, with the files of all specs in it without their folders."""
    if isinstance(value, list | tuple):
        return [_in_any_folder(each) for each in value]
    if not isinstance(value, Mapping):
        return value
    data = {name: _in_any_folder(each) for name, each in value.items()}
    return {**data, "id": re.split(r"[/\\]", data["id"])[-1]} if _is_spec(value) else data


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
        digest = hashlib.blake2b(digest_size=8)
        for part in self.name:
            encoded = f"{type(part).__name__}:{part}".encode()
            digest.update(len(encoded).to_bytes(4, "little") + encoded)
        return int.from_bytes(digest.digest(), "little")

    def generator(self) -> np.random.Generator:
        """A fresh NumPy generator at the beginning of this stream."""
        return seeded(self.seed)

    def child(self, *path: int | str) -> Stream:
        """The stream named by this name and a further path."""
        return Stream((*self.name, *path))


def seeded(seed: int) -> np.random.Generator:
    """The NumPy generator of a stream, given no more than its seed."""
    import numpy as np

    return np.random.Generator(np.random.PCG64(seed))


def stream(root: int, *path: int | str) -> Stream:
    """Name a stream, for example ``stream(root, "exercise", 7, "environment")``."""
    return Stream((root, *path))
