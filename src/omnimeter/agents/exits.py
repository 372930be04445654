"""The cells that can be reached, as observations of Lambda tell them.

Such an observation begins with the cells of Good, of Evil and of the observer. Further on there is,
for each action, the cell that it leads to; action 0 stays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import Briefing, IntArray, kernel
from omnimeter.interaction.randomness import generator_state

GOOD, EVIL = range(2)
"""Where an observation has the cells of the two."""

POSITIONS = 3
"""The positions that every observation begins with."""


class ExitsState(NamedTuple):
    """What is needed to choose among the cells that can be reached.

    Attributes:
        rng: The state of the generator.
        merits: For each action how good it is, written anew for every choice.
        exits: Where in an observation the cells begin that the actions lead to.
    """

    rng: NDArray[np.uint64]
    merits: IntArray
    exits: IntArray


@kernel
def way_to(cell: Any, observation: Any, exits: Any, actions: Any) -> Any:
    """The lowest of the first ``actions`` actions that leads to a cell, or -1."""
    for action in range(actions):
        if observation[exits + action] == cell:
            return action
    return -1


@kernel
def another_way(action: Any, observation: Any, exits: Any) -> Any:
    """Whether a lower action leads to the same cell already."""
    return way_to(observation[exits + action], observation, exits, action) >= 0


def exits_state(briefing: Briefing, exits: int) -> ExitsState:
    """A state with a fresh generator."""
    merits = np.zeros(briefing.actions, dtype=np.int64)
    return ExitsState(generator_state(), merits, np.array([exits]))
