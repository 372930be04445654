"""Specs of parts as a test is given them: typed by a person, or as JSON."""

from __future__ import annotations

from typing import Any

from omnimeter.catalogue import Kind, parse
from omnimeter.contract import InvalidInputError, Spec

SpecLike = str | dict[str, Any]


def read_spec(kind: Kind, given: SpecLike) -> Spec:
    """A spec from what a person types or from its JSON."""
    if isinstance(given, str):
        return parse(kind, given)
    if not isinstance(given.get("id"), str):
        raise InvalidInputError(
            f"The spec of the {kind.value} has no id.", 'Give {"id": "...", "parameters": {...}}.'
        )
    return Spec.from_json(given)
