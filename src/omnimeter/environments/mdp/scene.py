"""How MDPs are shown: where their states lie, and the transitions between them."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi, sin
from typing import Any

from omnimeter.contract import Instance
from omnimeter.contract.agent import FloatArray

Position = tuple[float, float]
"""To the right, and upwards; neighbours are about 1 apart."""


def circle(states: int) -> list[Position]:
    """States on a circle, clockwise from the top."""
    radius = states / (2 * pi)
    turns = (2 * pi * state / states for state in range(states))
    return [(radius * sin(turn), radius * cos(turn)) for turn in turns]


def line(states: int) -> list[Position]:
    """States from left to right."""
    return [(float(state), 0.0) for state in range(states)]


def eight(states: int) -> list[Position]:
    """Two loops of the same length that cross in the first state."""
    around = (states + 1) // 2
    turns = [2 * pi * step / around for step in range(1, around)]
    left = [(cos(turn) - 1, sin(turn)) for turn in turns]
    return [(0.0, 0.0), *left, *((-x, -y) for x, y in left)]


def square(states: int) -> list[Position]:
    """Rows of a square, downwards."""
    side = round(states**0.5)
    return [(float(cell % side), float(-(cell // side))) for cell in range(states)]


def scene(
    instance: Instance,
    rewards: FloatArray,
    state: int,
    reward: float,
    positions: Sequence[Position],
    names: Sequence[str],
    buttons: Sequence[str],
) -> dict[str, Any]:
    """States, the transitions that are possible, and the present state.

    Args:
        instance: The MDP.
        rewards: The mean reward of each transition, ``[state, action, successor]``.
        state: The present state.
        reward: The last reward.
        positions: The place of each state.
        names: The name of each state.
        buttons: The name of each action.
    """
    edges: dict[tuple[int, int, float], list[int]] = {}
    for x, row in enumerate(instance.data["successors"]):
        for u, successors in enumerate(row):
            for y in successors:
                edges.setdefault((x, y, float(rewards[x, u, y])), []).append(u)
    return {
        "kind": "mdp",
        "states": [
            {"name": name, "position": list(position)}
            for name, position in zip(names, positions, strict=True)
        ],
        "transitions": [
            {"from": x, "to": y, "actions": actions, "reward": paid}
            for (x, y, paid), actions in sorted(edges.items())
        ],
        "state": state,
        "buttons": list(buttons),
        "reward": reward,
    }
