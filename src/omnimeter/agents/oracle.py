"""The oracle, who sees one interaction ahead (Lambda thesis, section 5.2)."""

from __future__ import annotations

from typing import Any

from omnimeter.agents.choices import any_alike, best_of
from omnimeter.agents.exits import ExitsState, another_way, exits_state, way_to
from omnimeter.agents.nothing import begin, finish
from omnimeter.contract import AgentKernels, Briefing, kernel
from omnimeter.interaction import KernelAgent

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
