"""The cells that can be reached, as observations of Lambda tell them.

Such an observation begins with the cells of Good, of Evil and of the observer. Further on there is,
for each action, the cell that it leads to; action 0 stays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import Briefing, IntArray, InvalidInputError, kernel
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


def exits_state(briefing: Briefing, who: str, view: str, after: int = 0) -> ExitsState:
    """A state with a fresh generator, for observations in the right form.

    Args:
        briefing: What the agent is told.
        who: The agent.
        view: The form of observation that it needs.
        after: How many components follow the cells that the actions lead to.

    Raises:
        InvalidInputError: Observations have another form.
    """
    exits = len(briefing.space.sizes) - briefing.actions - after
    if briefing.view != view:
        raise InvalidInputError(
            f"The {who} needs the form {view}; here "
            + (f"it is {briefing.view}." if briefing.view else "there is no such form."),
            "Leave observation out." if briefing.view else "Use lambda-v1, or another agent.",
        )
    if exits < POSITIONS:  # the form of another class: kernels would read beyond it
        raise InvalidInputError(
            f"The {who} needs Lambda's form {view}; here an observation has "
            f"{len(briefing.space.sizes)} components.",
            "Use lambda-v1, or another agent.",
        )
    merits = np.zeros(briefing.actions, dtype=np.int64)
    return ExitsState(generator_state(), merits, np.array([exits]))
