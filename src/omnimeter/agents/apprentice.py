"""A simulated competence: random at first, then right with a given probability."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from omnimeter.agents.keys import key_of, number_of_keys
from omnimeter.agents.nothing import finish
from omnimeter.agents.rates import delay_of
from omnimeter.contract import (
    AgentKernels,
    Briefing,
    FloatArray,
    IntArray,
    InvalidInputError,
    kernel,
)
from omnimeter.interaction import KernelAgent
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
