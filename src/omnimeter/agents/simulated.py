"""Agents whose competence or speed is a parameter: apprentice and slowed."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.shared import (
    delay_from_rate,
    delay_from_seconds,
    observation_index,
    require,
    table_size,
)
from omnimeter.catalogue import Kind, given_spec, make
from omnimeter.contract import Agent, Briefing, Move, Observation
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.interaction.adapters import adapt
from omnimeter.kernels import AgentKernels, KernelAgent, below, generator_state, kernel, uniform

ACTIONS, STEPS, COMPETENT, INCOMPETENT, DELAY, SLOWING = range(6)


class ApprenticeState(NamedTuple):
    """The policy and the progress.

    Attributes:
        table: The right action for each observation.
        numbers: The number of actions; actions performed; when it begins and ceases to be
            competent; the delay of the first action and by how much each further one is longer.
        skill: The probability of the right action while it is competent.
    """

    rng: NDArray[np.uint64]
    table: IntArray
    sizes: IntArray
    numbers: IntArray
    skill: FloatArray


@kernel
def begin(state: Any) -> None:
    """No action performed yet."""
    state.numbers[STEPS] = 0


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """While competent the right action with the probability of its skill; else a random one."""
    steps = state.numbers[STEPS]
    state.numbers[STEPS] = steps + 1
    competent = state.numbers[COMPETENT] <= steps < state.numbers[INCOMPETENT]
    if competent and uniform(state.rng) < state.skill[0]:
        return state.table[observation_index(observation, state.sizes)]
    return below(state.rng, state.numbers[ACTIONS])


@kernel
def delay(state: Any) -> Any:
    """Longer by the same amount each time."""
    return state.numbers[DELAY] + state.numbers[SLOWING] * (state.numbers[STEPS] - 1)


class Apprentice(KernelAgent):
    """Acts at random at first, then by a given policy: a learner whose skill is known.

    It serves experiments on measures in which it must be known beforehand which agent is better.

    Args:
        table: The right action for each observation, in the order of counting, the last component
            fastest.
        explores: The number of actions at random before it becomes competent.
        competent: The number of actions for which it then stays so; by default for ever.
        skill: The probability of the right action while competent; otherwise it acts at random.
        rate: Actions per second under a virtual clock, at the beginning.
        slowing: Seconds by which each action takes longer than the one before.
    """

    kernels = AgentKernels(ApprenticeState, begin=begin, act=act, delay=delay)

    def __init__(
        self,
        table: list[int],
        explores: int = 0,
        competent: int | None = None,
        skill: float = 1.0,
        rate: float = 1.0,
        slowing: float = 0.0,
    ) -> None:
        require(0 <= skill <= 1, f"The skill is {skill}.", "Give a number from 0 to 1.")
        problem = f"A parameter is negative: explores={explores}, slowing={slowing}."
        require(slowing >= 0 and explores >= 0, problem, "Give numbers of 0 or more.")
        self.table = table
        self.skill = skill
        until = 2**62 if competent is None else explores + competent
        self.numbers = (0, explores, until, delay_from_rate(rate), int(slowing * 1e9))

    def initial_state(self, briefing: Briefing) -> ApprenticeState:
        """The policy, with no action performed yet."""
        require(
            len(self.table) == table_size(briefing.space),
            f"The table has {len(self.table)} actions for {briefing.space.count} observations.",
            "Give one action for each.",
        )
        return ApprenticeState(
            generator_state(),
            np.array(self.table, dtype=np.int64),
            np.array(briefing.space.sizes),
            np.array([briefing.actions, *self.numbers]),
            np.array([self.skill]),
        )


class Slowed(Agent):
    """Acts as another agent does, and takes longer for every action.

    Under a virtual clock it declares the longer time, under a wall clock it really waits. A copy of
    an agent of kernels runs compiled like the original.

    Args:
        agent: The agent to slow down: ``q-learning``, ``random(rate=10)``,
            ``my_agent.py:MyAgent``, or the JSON of a spec.
        seconds: How much longer each action takes than the agent itself declares.
    """

    def __new__(cls, agent: str | dict[str, Any], seconds: float) -> Any:
        """An agent of the same type if it has kernels, otherwise one around it."""
        delay_from_seconds(seconds)
        original = adapt(make(Kind.AGENT, given_spec(Kind.AGENT, agent)))
        if not isinstance(original, KernelAgent):
            return Delayed(original, seconds)
        slowed = copy(original)  # a path may name one object, which is used elsewhere too
        slowed.pace += seconds
        delay_from_seconds(slowed.pace)
        return slowed


class Delayed(Agent):
    """An agent around another one, which adds so many seconds to the time of its actions."""

    def __init__(self, agent: Agent, seconds: float) -> None:
        self.view, self.costly = agent.view, agent.costly
        self._agent, self._seconds = agent, seconds

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        """Brief the agent inside."""
        self._agent.begin(briefing, rng)

    def act(self, reward: float, observation: Observation) -> int | Move:
        """The same answer with more time. An invalid time stays as it is, to be reported."""
        answer = self._agent.act(reward, observation)
        action, declared = answer if isinstance(answer, Move) else (answer, None)
        if declared is None:
            return Move(action, self._seconds)
        return Move(action, declared + self._seconds) if declared > 0 else answer

    def recall(self, reward: float, observation: Observation, action: int) -> None:
        """Pass on what happened before an interruption."""
        self._agent.recall(reward, observation, action)

    def finish(self, reward: float, observation: Observation) -> None:
        """Pass on the last reward and observation."""
        self._agent.finish(reward, observation)
