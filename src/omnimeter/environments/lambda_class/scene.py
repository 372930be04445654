"""What a person is shown: coloured cells, neutral symbols, and where one can go (4.5.3).

The accumulated reward is never shown: knowing how one is doing changes how one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from omnimeter.contract import Instance
from omnimeter.environments.lambda_class.building import paths_of
from omnimeter.environments.lambda_class.observing import (
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
"""Symbols that say nothing about whose they are."""

_WRITTEN = {SELF: OWN, PLUS: GOOD, MINUS: EVIL, EITHER: UNCERTAIN}


def scene(
    instance: Instance, forms: Sequence[str], seen: Sequence[int], reward: float
) -> dict[str, Any]:
    """The cells in order, each with its colour, its symbols, and the actions that lead there.

    Args:
        instance: The environment.
        forms: The form of observation of each agent that is there; the first one is shown.
        seen: Its observation.
        reward: Its last reward.
    """
    paths = paths_of(instance.data["space"])
    form, *joint = forms
    others = len(joint) + len(instance.data["objects"])
    if form.startswith("string"):
        own, symbols = _of_string(seen, len(paths), others)
    elif form == "adjacent":
        own, symbols = _of_adjacent(seen, paths.tolist())
    else:
        own, symbols = _of_places(seen, len(paths), others)
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


def _of_places(seen: Sequence[int], cells: int, others: int) -> tuple[int, list[list[str]]]:
    symbols: list[list[str]] = [[] for _ in range(cells)]
    symbols[seen[2]].append(OWN)
    symbols[seen[0]].append(GOOD)
    symbols[seen[1]].append(EVIL)
    for place in seen[3 : 3 + others]:
        symbols[place].append(OTHER)
    return seen[2], symbols


def _of_adjacent(
    seen: Sequence[int], paths: Sequence[Sequence[int]]
) -> tuple[int, list[list[str]]]:
    own, *contents = seen
    symbols: list[list[str]] = [[] for _ in paths]
    for cell, content in dict(zip(paths[own], contents, strict=True)).items():
        symbols[cell] += [
            symbol
            for bit, symbol in ((SEES_GOOD, GOOD), (SEES_EVIL, EVIL), (SEES_OTHER, OTHER))
            if content & bit
        ]
    symbols[own].insert(0, OWN)
    return own, symbols


def _of_string(seen: Sequence[int], cells: int, others: int) -> tuple[int, list[list[str]]]:
    symbols: list[list[str]] = [[] for _ in range(cells)]
    own = cell = 0
    for code in seen:
        if code == NEXT_CELL:
            cell += 1
        elif code in _WRITTEN:
            symbols[cell].append(_WRITTEN[code])
            own = cell if code == SELF else own
        elif FIRST_OTHER <= code < FIRST_OTHER + others:
            symbols[cell].append(OTHER)
    return own, symbols
