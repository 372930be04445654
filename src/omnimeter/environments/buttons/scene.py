"""What a person is shown: cells with or without a ball, and three buttons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

CONTENTS = ("empty", "white", "black")


def scene(observation: Sequence[int], cells: int) -> dict[str, Any]:
    """The cells from left to right: one ball among them, or a coloured one in each."""
    if len(observation) == 1:
        contents = ["ball" if cell == observation[0] else "empty" for cell in range(cells)]
    else:
        contents = [CONTENTS[content] for content in observation]
    return {"kind": "buttons", "cells": contents, "buttons": ["B1", "B2", "B3"]}
