"""What a person is shown: a circle for each observation, the present one marked, and buttons."""

from __future__ import annotations

from typing import Any


def scene(circles: int, actions: int, seen: int, reward: float) -> dict[str, Any]:
    """The circles in the order of their names, the buttons, and how the last reward was.

    Args:
        circles: How many different observations there can be.
        actions: The number of actions.
        seen: The observation.
        reward: The last reward.
    """
    return {
        "kind": "automata",
        "circles": [
            {"name": f"o{number + 1}", "here": number == seen} for number in range(circles)
        ],
        "buttons": [f"a{number + 1}" for number in range(actions)],
        "reward": "up" if reward > 0 else "down" if reward < 0 else "neutral",
    }
