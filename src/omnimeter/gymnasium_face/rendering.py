"""A scene as text: what ``render`` returns or prints."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from omnimeter.contract import InvalidInputError, canonical


def scene_text(scene: Mapping[str, Any]) -> str:
    """One line for each thing in a scene."""
    return "\n".join(f"{name}:{_behind(value)}" for name, value in scene.items())


def _behind(value: Any) -> str:
    if isinstance(value, list) and value and all(isinstance(item, Mapping) for item in value):
        return "".join(f"\n  {number}: {_in_a_line(item)}" for number, item in enumerate(value, 1))
    return f" {_shown(value)}"


def _in_a_line(thing: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {_shown(value)}" for name, value in thing.items())


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
        return " ".join(value)
    return canonical(value) if value != [] else "none"


def check_render_mode(mode: str | None, known: Sequence[str]) -> str | None:
    """The render mode, if there is such a one.

    Raises:
        InvalidInputError: There is not.
    """
    if mode is None or mode in known:
        return mode
    raise InvalidInputError(
        f"There is no render mode {mode!r} here.", f"Known: {', '.join(known)}."
    )
