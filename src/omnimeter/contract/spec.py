"""How a part was made: its id and parameters, from which it is made again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from omnimeter.contract.environment import fingerprint

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
