"""Agents whose competence or speed is a parameter: apprentice and slowed."""

from __future__ import annotations

from copy import copy
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.simple import delay_of, duration_of, finish
from omnimeter.agents.tables import key_of, number_of_keys
from omnimeter.catalogue import Kind, make, parse
from omnimeter.contract import (
    Agent,
    AgentKernels,
    Briefing,
    InvalidInputError,
    Move,
    Observation,
    Spec,
    kernel,
)
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.interaction import KernelAgent
from omnimeter.interaction.adapters import adapt
from omnimeter.interaction.randomness import below, generator_state, uniform


class ApprenticeState(NamedTuple):
    """What it knows and how far it is.

    Attributes:
        rng: The state of the generator.
        table: The right action for each observation.
        sizes: How many values each component of an observation takes.
        numbers: The number of actions; actions done; when it begins and ceases to be competent;
            the delay of the first action and by how much each further one is longer.
        skill: The probability of the right action while it is competent.
    """

    rng: NDArray[np.uint64]
    table: IntArray
    sizes: IntArray
    numbers: IntArray
    skill: FloatArray


@kernel
def begin(state: Any) -> None:
    """Nothing is done yet."""
    state.numbers[1] = 0


@kernel
def act(state: Any, reward: Any, observation: Any) -> Any:  # noqa: ARG001
    """The right action, perhaps, in the time of competence; any action otherwise."""
    done = state.numbers[1]
    state.numbers[1] = done + 1
    competent = state.numbers[2] <= done < state.numbers[3]
    if competent and uniform(state.rng) < state.skill[0]:
        return state.table[key_of(observation, state.sizes)]
    return below(state.rng, state.numbers[0])


@kernel
def delay(state: Any) -> Any:
    """Longer by the same amount each time."""
    return state.numbers[4] + state.numbers[5] * (state.numbers[1] - 1)


class Apprentice(KernelAgent):
    """Acts at random at first, then by a given policy: a learner whose skill is known.

    It makes experiments on measures possible, in which it must be known beforehand who is better.

    Args:
        table: The right action for each observation, in the order of their keys.
        explores: The number of actions at random before it becomes competent.
        competent: The number of actions for which it then stays so; by default for ever.
        skill: The probability of the right action while competent; otherwise it acts at random.
        rate: Actions per second under a virtual clock, at the beginning.
        slowing: Seconds by which each action takes longer than the one before.
    """

    kernels = AgentKernels(ApprenticeState, begin, act, finish, delay)

    def __init__(
        self,
        table: list[int],
        explores: int = 0,
        competent: int | None = None,
        skill: float = 1.0,
        rate: float = 1.0,
        slowing: float = 0.0,
    ) -> None:
        if not 0 <= skill <= 1:
            raise InvalidInputError(f"The skill is {skill}.", "Give a number from 0 to 1.")
        if slowing < 0 or explores < 0:
            raise InvalidInputError(
                f"explores={explores}, slowing={slowing}.", "Give numbers of 0 or more."
            )
        self.table = table
        self.skill = skill
        until = 2**62 if competent is None else explores + competent
        self.numbers = (0, explores, until, delay_of(rate), int(slowing * 1e9))

    def prepare(self, briefing: Briefing) -> ApprenticeState:
        """Nothing is done yet."""
        if len(self.table) != number_of_keys(briefing.space):
            raise InvalidInputError(
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
