"""Reference agents of the Lambda thesis that read cells from observations: follower and oracle."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.simple import begin, finish
from omnimeter.agents.tables import any_alike, best_of
from omnimeter.contract import AgentKernels, Briefing, InvalidInputError, kernel
from omnimeter.contract.agent import IntArray
from omnimeter.interaction import KernelAgent
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


@kernel
def follower_act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """To Good if it can be reached, otherwise to any cell without Evil."""
    exits = state.exits[0]
    actions = len(state.merits)
    chase = way_to(observation[GOOD], observation, exits, actions)
    if chase >= 0:
        return chase
    for action in range(actions):
        if another_way(action, observation, exits):
            state.merits[action] = -1
        elif observation[exits + action] == observation[EVIL]:
            state.merits[action] = 0
        else:
            state.merits[action] = 1
    return any_alike(state.rng, state.merits, 0, best_of(state.merits, 0, actions))


class Follower(KernelAgent):
    """Goes where Good is, if that cell can be reached, and otherwise anywhere but to Evil.

    It stays where it is together with Good. Without Good in reach, all cells that can be reached
    have the same probability, its own among them, except the one with Evil (Lambda thesis, section
    5.2). Of several actions that lead to the same cell it takes the lowest.
    """

    kernels = AgentKernels(ExitsState, begin, follower_act, finish)
    view = "structure"

    def prepare(self, briefing: Briefing) -> ExitsState:
        """A fresh generator, if observations tell where actions lead."""
        return exits_state(briefing, "follower", self.view)


INTENTIONS = 2
"""The cells where Good and Evil intend to go stand after those that actions lead to."""


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """To where Good will be if that can be reached, otherwise to where most is to be had."""
    exits = state.exits[0]
    actions = len(state.merits)
    intended = exits + actions
    chase = way_to(observation[intended], observation, exits, actions)
    if chase >= 0:
        return chase
    worths = intended + INTENTIONS
    for action in range(actions):
        repeated = another_way(action, observation, exits)
        state.merits[action] = -1 if repeated else observation[worths + action]
    return any_alike(state.rng, state.merits, 0, best_of(state.merits, 0, actions))


class Oracle(KernelAgent):
    """Goes where Good intends to go, if that cell can be reached, otherwise where it earns most.

    It is told what Good and Evil intend, and what each of its actions will then be worth in the
    next interaction. Cells that are worth the same have the same probability. It is not the best
    agent: it looks no further, and chance can thwart intentions (Lambda thesis, section 5.2). Of
    several actions that lead to the same cell it takes the lowest.
    """

    kernels = AgentKernels(ExitsState, begin, act, finish)
    view = "foresight"

    def prepare(self, briefing: Briefing) -> ExitsState:
        """A fresh generator, if observations tell what is to come."""
        return exits_state(briefing, "oracle", self.view, INTENTIONS + briefing.actions)
