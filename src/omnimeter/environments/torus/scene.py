"""What a person is shown: the own cell, the four around it, and five buttons."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnimeter.environments.torus.dynamics import SEES_EVIL, SEES_GOOD, SEES_LIMIT, STAY, WIDTH

OWN, GOOD, EVIL = "circle", "square", "diamond"
"""Symbols that say nothing about whose they are."""

BUTTONS = ("left", "right", "up", "down", "stay")

PLACES = ((0, 1), (2, 1), (1, 0), (1, 2), (1, 1))
"""Column and row of the cell behind each button, from the upper left."""


def scene(seen: Sequence[int], reward: float) -> dict[str, Any]:
    """Five cells of a grid of three by three, as far as an agent sees them, and its last reward.

    Who is in the own cell is not seen: only the reward tells.
    """
    cells = []
    for action, (column, row) in enumerate(PLACES):
        symbols, limit = [OWN], False
        if action != STAY:
            around = seen[WIDTH * action : WIDTH * (action + 1)]
            symbols = [
                symbol for bit, symbol in ((SEES_GOOD, GOOD), (SEES_EVIL, EVIL)) if around[bit]
            ]
            limit = bool(around[SEES_LIMIT])
        cells.append(
            {"column": column, "row": row, "symbols": symbols, "limit": limit, "action": action}
        )
    return {"kind": "torus", "cells": cells, "buttons": list(BUTTONS), "reward": reward}
