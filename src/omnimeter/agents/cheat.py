"""The cheat of the anytime test, section 5.2: fails on purpose, to be given easy tasks again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from omnimeter.agents.model_learner import ModelLearner, ModelState
from omnimeter.agents.model_learner import act as pursue
from omnimeter.agents.nothing import begin, finish
from omnimeter.contract import AgentKernels, Briefing, InvalidInputError, kernel

SIGN = 2
"""Where a cheat's rates say whether it wants rewards, 1, or their opposite, -1."""


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:
    """What a learner does that is paid as the cheat feels about it."""
    return pursue(state, state.rates[SIGN] * reward, observation)


class Cheat(ModelLearner):
    """Does well in easy environments and as badly as it can in all others.

    So a test that adapts to it sends it back to easy environments again and again, and the question
    is whether that pays (anytime test, section 5.2). It learns like the model learner; where it
    wants to fail, rewards are the opposite of what they are. It knows an easy environment by the
    number of different observations that it is told of.

    Args:
        easy: The most observations that an easy environment has.
    """

    kernels = AgentKernels(ModelState, begin, act, finish)

    def __init__(self, easy: int = 3) -> None:
        super().__init__()
        if easy < 0:
            raise InvalidInputError(
                f"An easy environment cannot have {easy} observations.",
                "Give a whole number of 0 or more.",
            )
        self.easy = easy

    def prepare(self, briefing: Briefing) -> ModelState:
        """A learner of rewards or of their opposite, and which of the two."""
        sign = 1 if briefing.space.count <= self.easy else -1
        lowest, highest = sorted(sign * reward for reward in briefing.rewards)
        state = super().prepare(replace(briefing, rewards=(lowest, highest)))
        return state._replace(rates=np.append(state.rates, sign))
