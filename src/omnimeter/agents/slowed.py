"""A deliberately slowed copy of any agent: it does the same, and takes longer for it."""

from __future__ import annotations

from copy import copy
from typing import Any

import numpy as np

from omnimeter.agents.durations import duration_of
from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import Agent, Briefing, InvalidInputError, Move, Observation, Spec
from omnimeter.interaction import KernelAgent
from omnimeter.interaction.adapters import adapt


class Slowed(Agent):
    """Does what another agent does, and takes longer for every action.

    Under a virtual clock it declares the longer time, under a wall clock it really waits. A copy of
    an agent of kernels runs compiled like the original.

    Args:
        agent: Who is slowed: ``q-learning``, ``random(rate=10)``, ``my_agent.py:MyAgent``, or the
            JSON of a spec.
        seconds: How much longer each action takes than the agent itself declares.
    """

    def __new__(cls, agent: str | dict[str, Any], seconds: float) -> Any:
        """An agent of the same kind if it is made of kernels, otherwise one around it."""
        duration_of(seconds)
        original = adapt(make(Kind.AGENT, _spec_of(agent)))
        if not isinstance(original, KernelAgent):
            return Delayed(original, seconds)
        slowed = copy(original)  # a place may name one object, which others use too
        slowed.pace += seconds
        duration_of(slowed.pace)
        return slowed


class Delayed(Agent):
    """An agent around another one, which adds to the time of its actions.

    Args:
        agent: Who chooses the actions.
        seconds: How much longer each of them takes.
    """

    def __init__(self, agent: Agent, seconds: float) -> None:
        self.view = agent.view
        self._agent = agent
        self._seconds = seconds

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        """Brief the agent inside."""
        self._agent.begin(briefing, rng)

    def act(self, reward: float, observation: Observation) -> int | Move:
        """The same answer with more time. What is no time stays as it is, for all to see."""
        answer = self._agent.act(reward, observation)
        action, declared = answer if isinstance(answer, Move) else (answer, None)
        if declared is None:
            return Move(action, self._seconds)
        return Move(action, declared + self._seconds) if declared > 0 else answer

    def finish(self, reward: float, observation: Observation) -> None:
        """Pass on what came last."""
        self._agent.finish(reward, observation)


def _spec_of(agent: str | dict[str, Any]) -> Spec:
    if isinstance(agent, str):
        return parse(Kind.AGENT, agent)
    if not isinstance(agent.get("id"), str):
        raise InvalidInputError(
            "The spec of the agent to slow down has no id.",
            'Give {"id": "...", "parameters": {...}}.',
        )
    return Spec.from_json(agent)
