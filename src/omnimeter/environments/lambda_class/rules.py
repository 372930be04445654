"""The rules of a Lambda environment: what its parameters may be, and what a frame gives them."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite
from typing import Any, Literal

from omnimeter.contract import InvalidInputError

Frame = Literal["implemented", "conceptual"]
Consumption = Literal["before", "after"]
Cycle = Literal["power", "product", "never"]

FRAMES: dict[str, dict[str, Any]] = {
    "implemented": {"consumption": "after", "division": "inf", "vanish": True, "beside": True},
    "conceptual": {"consumption": "before", "division": 2.0, "vanish": True, "beside": False},
}
"""What is done where nothing else is said: sections 5.1 and 3.6.3 of the Lambda thesis."""

LONGEST_CYCLE = 2**31 - 1
"""No exercise is longer; kernels draw smaller numbers only."""


def division_of(given: float | str) -> float | str:
    """A division factor from 1 to infinity, as JSON knows it."""
    number = float(given)
    if not number >= 1:  # nor is what is not a number
        raise InvalidInputError(
            f"Rewards in cells cannot be divided by {given}.", "Give division from 1 to inf."
        )
    return "inf" if number == inf else number


def rewards_of(name: str, given: float | Sequence[float]) -> list[float]:
    """What Good or Evil drops, in turn: numbers above 0, at most 1."""
    rewards = [float(each) for each in (given if isinstance(given, Sequence) else [given])]
    for position, reward in enumerate(rewards, start=1):
        if not (isfinite(reward) and 0 < reward <= 1):
            where = f" at position {position}" if len(rewards) > 1 else ""
            raise InvalidInputError(
                f"The reward {reward:g} of {name}{where} is not in (0, 1].",
                f"Give {name} above 0 and at most 1; of Evil's rewards the size counts.",
            )
    if not rewards:
        raise InvalidInputError(f"{name} has no reward.", f"Give {name} one number or several.")
    return rewards


def warm_up_of(given: int | str, cycle: str) -> int | str:
    """How many interactions of a random agent come first: a number, or drawn as a swap is."""
    if given == "cycle":
        if cycle == "never":
            raise InvalidInputError(
                "A warm-up cannot be drawn like the cycle when there is no cycle.",
                "Give warm_up as a number, or cycle=power.",
            )
        return given
    if not isinstance(given, int) or given < 0:
        raise InvalidInputError(
            f"A warm-up cannot last for {given} interactions.", "Give 0 or more, or cycle."
        )
    return given


def longest_cycle(cycle: str, cells: int, actions: int) -> int:
    """Up to how many interactions pass until Good and Evil change places; 0 if they never do.

    The bound stands in section 3.6.2 without its typography: it may be the power or the product.
    """
    bounds = {"power": int(cells**actions), "product": cells * actions, "never": 0}
    return min(bounds[cycle], LONGEST_CYCLE)
