"""The scene that a person is shown: coloured cells, neutral symbols, possible moves (4.5.3).

The accumulated reward is never shown: knowing it would change behaviour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnimeter.contract import Instance
from omnimeter.environments.lambda_class.space import paths_of
from omnimeter.environments.lambda_class.views import (
    EITHER,
    FIRST_OTHER,
    MINUS,
    NEXT_CELL,
    PLUS,
    SEES_EVIL,
    SEES_GOOD,
    SEES_OTHER,
    SELF,
)

COLOURS = (
    "#e69f00", "#56b4e9", "#009e73", "#f0e442", "#0072b2", "#d55e00", "#cc79a7", "#999999",
    "#c2b280", "#7b9e89",
)  # fmt: skip
"""Cells in turn. The first eight can be told apart by the colour-blind (Okabe and Ito 2008)."""

OWN, GOOD, EVIL, OTHER, UNCERTAIN = "circle", "square", "diamond", "triangle", "star"
"""Neutral symbols, which do not tell good from evil."""

_SYMBOLS = {SELF: OWN, PLUS: GOOD, MINUS: EVIL, EITHER: UNCERTAIN}


def scene(
    instance: Instance, views: Sequence[str], seen: Sequence[int], reward: float
) -> dict[str, Any]:
    """The cells in order, each with its colour, its symbols, and the actions that lead there.

    Args:
        instance: The environment.
        views: The view of each agent in the environment; that of the first one is shown.
        seen: Its observation.
        reward: Its last reward.
    """
    paths = paths_of(instance.data["space"])
    view, *joint = views
    others = len(joint) + len(instance.data["objects"])
    symbols: list[list[str]] = [[] for _ in paths]
    if view.startswith("string"):
        own = _add_string(seen, others, symbols)
    elif view == "adjacent":
        own = seen[0]
        symbols[own].append(OWN)
        bits = ((SEES_GOOD, GOOD), (SEES_EVIL, EVIL), (SEES_OTHER, OTHER))
        for cell, content in dict(zip(paths[own].tolist(), seen[1:], strict=True)).items():
            symbols[cell] += [symbol for bit, symbol in bits if content & bit]
    else:
        own = seen[2]
        order = [own, *seen[:2], *seen[3 : 3 + others]]
        for place, symbol in zip(order, [OWN, GOOD, EVIL] + [OTHER] * others, strict=True):
            symbols[place].append(symbol)
    ways: list[list[int]] = [[] for _ in paths]
    for action, cell in enumerate(paths[own].tolist()):
        ways[cell].append(action)
    return {
        "kind": "lambda",
        "cells": [
            {
                "colour": COLOURS[cell % len(COLOURS)],
                "symbols": symbols[cell],
                "actions": ways[cell],
            }
            for cell in range(len(paths))
        ],
        "reward": "up" if reward > 0 else "down" if reward < 0 else "neutral",
    }


def _add_string(seen: Sequence[int], others: int, symbols: list[list[str]]) -> int:
    """Add the symbols of a string view to their cells, and return the agent's own cell."""
    own = cell = 0
    for code in seen:
        if code == NEXT_CELL:
            cell += 1
        elif code in _SYMBOLS:
            symbols[cell].append(_SYMBOLS[code])
            own = cell if code == SELF else own
        elif FIRST_OTHER <= code < FIRST_OTHER + others:
            symbols[cell].append(OTHER)
    return own
