"""Reference agents of the Lambda thesis that read cells from observations: follower and oracle."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.shared import best_action, break_ties, require
from omnimeter.contract import Briefing
from omnimeter.contract.agent import IntArray
from omnimeter.kernels import AgentKernels, KernelAgent, generator_state, kernel

GOOD, EVIL = range(2)
"""Where an observation has the cells of Good and Evil."""

INTENTIONS = 2
"""The cells where Good and Evil intend to go stand after those that actions lead to."""


class ExitsState(NamedTuple):
    """What is needed to choose among the cells that can be reached.

    Attributes:
        values: The value of each action, written anew for every choice.
        exits: Where in an observation the cells begin that the actions lead to.
    """

    rng: NDArray[np.uint64]
    values: IntArray
    exits: IntArray


@kernel
def action_to(cell: Any, observation: Any, exits: Any, actions: Any) -> Any:
    """The lowest of the first ``actions`` actions that leads to a cell, or -1."""
    for action in range(actions):
        if observation[exits + action] == cell:
            return action
    return -1


@kernel
def is_duplicate(action: Any, observation: Any, exits: Any) -> Any:
    """Whether a lower action leads to the same cell already."""
    return action_to(observation[exits + action], observation, exits, action) >= 0


@kernel
def follower_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """To Good if it can be reached, otherwise to any cell without Evil."""
    exits, actions = state.exits[0], len(state.values)
    to_good = action_to(observation[GOOD], observation, exits, actions)
    if to_good >= 0:
        return to_good
    for action in range(actions):
        if is_duplicate(action, observation, exits):
            state.values[action] = -1
        elif observation[exits + action] == observation[EVIL]:
            state.values[action] = 0
        else:
            state.values[action] = 1
    return break_ties(state.rng, state.values, 0, best_action(state.values, 0, actions))


@kernel
def oracle_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """To where Good will be if that can be reached, otherwise to the greatest next reward."""
    exits, actions = state.exits[0], len(state.values)
    intended = exits + actions
    to_good = action_to(observation[intended], observation, exits, actions)
    if to_good >= 0:
        return to_good
    rewards = intended + INTENTIONS
    for action in range(actions):
        duplicate = is_duplicate(action, observation, exits)
        state.values[action] = -1 if duplicate else observation[rewards + action]
    return break_ties(state.rng, state.values, 0, best_action(state.values, 0, actions))


class _CellAgent(KernelAgent):
    """An agent that reads cells. Subclasses set ``kernels``, ``view`` and ``more``."""

    more = False
    """Whether intentions and rewards follow the cells that the actions lead to."""

    def initial_state(self, briefing: Briefing) -> ExitsState:
        """A fresh generator, if observations tell what is needed."""
        agent, size = type(self).__name__.lower(), len(briefing.space.sizes)
        exits = size - briefing.actions - (INTENTIONS + briefing.actions if self.more else 0)
        require(
            briefing.view == self.view,
            f"The {agent} needs the view {self.view}; here "
            + (f"it is {briefing.view}." if briefing.view else "there is no such view."),
            "Leave view out." if briefing.view else "Use lambda-v1, or another agent.",
        )
        require(  # another class may have a view of that name: kernels would read beyond it
            exits >= 3,  # positions come first
            f"The {agent} needs Lambda's view {self.view}; here an observation has {size} "
            "components.",
            "Use lambda-v1, or another agent.",
        )
        values = np.zeros(briefing.actions, dtype=np.int64)
        return ExitsState(generator_state(), values, np.array([exits]))


class Follower(_CellAgent):
    """Goes where Good is, if that cell can be reached, and otherwise anywhere but to Evil.

    It stays where it is with Good. Without Good in reach, all cells that can be reached
    have the same probability, its own among them, except the one with Evil (Lambda thesis, section
    5.2). Of several actions that lead to the same cell it takes the lowest.
    """

    kernels = AgentKernels(ExitsState, act=follower_act)
    view = "structure"


class Oracle(_CellAgent):
    """Goes where Good intends to go, if that cell can be reached, otherwise where it earns most.

    It is told what Good and Evil intend, and what reward each of its actions will then bring in the
    next interaction. Cells with the same reward have the same probability. It is not the best
    agent: it plans no further, and randomness can thwart intentions (Lambda thesis, section 5.2).
    Of several actions that lead to the same cell it takes the lowest.
    """

    kernels = AgentKernels(ExitsState, act=oracle_act)
    view = "foresight"
    more = True
