"""The trivial follower of Good (Lambda thesis, section 5.2)."""

from __future__ import annotations

from typing import Any

from omnimeter.agents.choices import any_alike, best_of
from omnimeter.agents.exits import (
    EVIL,
    GOOD,
    ExitsState,
    another_way,
    exits_state,
    way_to,
)
from omnimeter.agents.nothing import begin, finish
from omnimeter.contract import AgentKernels, Briefing, kernel
from omnimeter.interaction import KernelAgent


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
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

    kernels = AgentKernels(ExitsState, begin, act, finish)
    view = "structure"

    def prepare(self, briefing: Briefing) -> ExitsState:
        """A fresh generator, if observations tell where actions lead."""
        return exits_state(briefing, "follower", self.view)
