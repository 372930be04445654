"""The rules of a Lambda environment: what its parameters may be, and what a frame gives them."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf, isfinite
from typing import Any, Literal, get_args

from omnimeter.contract import InvalidInputError, UnknownNameError

Frame = Literal["implemented", "conceptual"]
Consumption = Literal["before", "after"]
Cycle = Literal["power", "product", "never"]

FRAMES: dict[str, dict[str, Any]] = {
    "implemented": {"consumption": "after", "division": "inf", "vanish": True, "beside": True},
    "conceptual": {"consumption": "before", "division": 2.0, "vanish": True, "beside": False},
}
"""What is done where nothing else is said: sections 5.1 and 3.6.3 of the Lambda thesis."""

LONGEST_CYCLE = 2**31 - 1
"""Kernels draw no greater numbers. Where the bound is above it, this is the bound."""

LONGEST_WARM_UP = 1_000_000
"""Interactions; each beginning takes the time of all of them."""


def checked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The rules of an environment as they are kept in its description.

    Raises:
        InvalidInputError: A value cannot be.
        UnknownNameError: A word means nothing.
    """
    for name in ("vanish", "beside", "sharing"):
        if not isinstance(given[name], bool):
            raise InvalidInputError(f"{name} is {given[name]!r}.", "Give true or false.")
    cycle = one_of("cycle", given["cycle"], Cycle)
    return {
        "consumption": one_of("consumption", given["consumption"], Consumption),
        "division": division_of(given["division"]),
        "vanish": given["vanish"],
        "beside": given["beside"],
        "sharing": given["sharing"],
        "good": rewards_of("good", given["good"]),
        "evil": rewards_of("evil", given["evil"]),
        "cycle": cycle,
        "warm_up": warm_up_of(given["warm_up"], cycle),
    }


def one_of(name: str, given: object, words: Any) -> Any:
    """A word of those that a parameter may be."""
    if given not in get_args(words):
        raise UnknownNameError(name, str(given), get_args(words))
    return given


def division_of(given: float | str) -> float | str:
    """A division factor from 1 to infinity, as JSON knows it."""
    try:
        number = float(given)
    except (TypeError, ValueError):
        number = 0.0
    if not number >= 1:  # nor is what is not a number
        raise InvalidInputError(
            f"Rewards in cells cannot be divided by {given}.", "Give division from 1 to inf."
        )
    return "inf" if number == inf else number


def rewards_of(name: str, given: object) -> list[float]:
    """What Good or Evil drops, in turn: numbers above 0, at most 1."""
    rewards = []
    for each in given if isinstance(given, list | tuple) else [given]:
        if not isinstance(each, int | float) or isinstance(each, bool):
            raise InvalidInputError(
                f"{name} is {given!r}.", f"Give {name} one number or several, in (0, 1]."
            )
        rewards.append(float(each))
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
    if not isinstance(given, int) or isinstance(given, bool) or not 0 <= given <= LONGEST_WARM_UP:
        raise InvalidInputError(
            f"A warm-up cannot last for {given} interactions.",
            f"Give a number from 0 to {LONGEST_WARM_UP:,}, or cycle.",
        )
    return given


def longest_cycle(cycle: str, cells: int, actions: int) -> int:
    """Up to how many interactions pass until Good and Evil change places; 0 if they never do.

    The bound stands in section 3.6.2 without its typography: it may be the power or the product.
    """
    bounds = {"power": int(cells**actions), "product": cells * actions, "never": 0}
    return min(bounds[cycle], LONGEST_CYCLE)
