"""Actions and observations as Gymnasium's spaces."""

from __future__ import annotations

from typing import Any

import gymnasium
from gymnasium.spaces import Discrete, MultiDiscrete

from omnimeter.contract import InvalidInputError, Space


def action_space(actions: int) -> gymnasium.Space[Any]:
    """The actions ``0 .. actions - 1``."""
    return Discrete(actions)


def observation_space(space: Space) -> gymnasium.Space[Any]:
    """Integers where an observation is one, vectors of integers otherwise."""
    return Discrete(space.sizes[0]) if space.single else MultiDiscrete(list(space.sizes))


def no_such_action(given: object, actions: int) -> InvalidInputError:
    """The error of an action that does not exist."""
    return InvalidInputError(
        f"There is no action {given!r}.", f"An action is an integer from 0 to {actions - 1}."
    )
