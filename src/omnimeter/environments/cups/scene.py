"""What a person is shown: a row of cups, and a button under each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

COLOURS = ("black", "white")


def scene(colours: Sequence[int]) -> dict[str, Any]:
    """The cups from left to right."""
    return {
        "kind": "cups",
        "cups": [COLOURS[colour] for colour in colours],
        "buttons": [f"B{number}" for number in range(1, len(colours) + 1)],
    }
