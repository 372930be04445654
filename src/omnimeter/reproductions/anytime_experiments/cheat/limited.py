"""One that is able in easy environments only, and honest: a measure for what cheating brings."""

from __future__ import annotations

from typing import Any

import numpy as np

from omnimeter.agents.model_learner import ACTIONS, ModelLearner, ModelState
from omnimeter.agents.model_learner import act as pursue
from omnimeter.agents.nothing import begin, finish
from omnimeter.contract import AgentKernels, Briefing, kernel
from omnimeter.interaction.randomness import below

ABLE = 2
"""Where its rates say whether it is able in this environment."""


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:
    """What a learner does, or anything."""
    if state.rates[ABLE] == 0:
        return below(state.rng, state.numbers[ACTIONS])
    return pursue(state, reward, observation)


class Limited(ModelLearner):
    """Learns in easy environments as the cheat does, and acts at random in all others.

    Args:
        easy: The most observations that an easy environment has.
    """

    kernels = AgentKernels(ModelState, begin, act, finish)

    def __init__(self, easy: int = 3) -> None:
        super().__init__()
        self.easy = easy

    def prepare(self, briefing: Briefing) -> ModelState:
        """A learner, and whether it will be one here."""
        state = super().prepare(briefing)
        return state._replace(rates=np.append(state.rates, briefing.space.count <= self.easy))
