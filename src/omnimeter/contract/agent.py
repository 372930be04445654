"""What an agent is: the observations it receives, what it is told, and the actions it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Mapping

    from omnimeter.contract.kernels import AgentKernels

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Space:
    """Observations as vectors, component ``k`` lying in ``0 .. sizes[k] - 1``.

    A space with one component is *single*: its observations are plain integers to a Python agent.
    Kernels always see the vector.

    Attributes:
        sizes: How many values each component can take.
        single: Whether an observation is one integer instead of a vector.
    """

    sizes: tuple[int, ...]
    single: bool = False

    def __post_init__(self) -> None:
        if not self.sizes or any(size < 1 for size in self.sizes):
            raise ValueError(f"every component of a space needs at least one value: {self.sizes}")
        if self.single and len(self.sizes) != 1:
            raise ValueError(f"a single space has exactly one component, not {len(self.sizes)}")

    @property
    def count(self) -> int:
        """How many different observations there are."""
        return prod(self.sizes)

    def shown(self, vector: IntArray) -> int | IntArray:
        """The observation as a Python agent gets it, safe to keep."""
        return int(vector[0]) if self.single else vector.copy()

    def vector(self, observation: int | IntArray) -> IntArray:
        """The observation as kernels get it."""
        return np.atleast_1d(np.asarray(observation, dtype=np.int64))

    def contains(self, observation: object) -> bool:
        """Whether this is an observation of the space, in the form that Python agents get."""
        if self.single:
            integer = isinstance(observation, (int, np.integer))
            return integer and 0 <= int(observation) < self.sizes[0]  # type: ignore[call-overload]
        if not isinstance(observation, np.ndarray) or observation.shape != (len(self.sizes),):
            return False
        return bool(np.all(observation >= 0) and np.all(observation < np.asarray(self.sizes)))


def single(size: int) -> Space:
    """A space of the integers ``0 .. size - 1``."""
    return Space((size,), single=True)


Observation = int | IntArray


@dataclass(frozen=True, slots=True)
class Briefing:
    """All that an agent is told before an exercise. How long it will last is never told.

    Attributes:
        actions: The number of actions; an action is an integer ``0 .. actions - 1``.
        space: The observations there can be.
        rewards: The lowest and the highest possible reward.
        remarks: What a protocol chooses to tell besides, as JSON-able data.
        view: The form of observation that this agent is given; ``None`` where there is only one.
    """

    actions: int
    space: Space
    rewards: tuple[float, float] = (-1.0, 1.0)
    remarks: Mapping[str, Any] = field(default_factory=dict)
    view: str | None = None


LONGEST_DELAY = 1e6
"""Seconds that an agent may declare for one action: more than eleven days."""


class Move(NamedTuple):
    """An action together with the time that the agent takes for it.

    Attributes:
        action: The action, or ``-1`` to stop.
        seconds: The declared delay. A virtual clock believes it; under a wall clock the agent
            really waits that long. ``None`` leaves it to the clock.
    """

    action: int
    seconds: float | None = None


STOP = Move(-1)
"""Returned by an agent that will not act any more. The time of the exercise goes on without it."""


class Agent(ABC):
    """Somebody who takes exercises. A new object is made for every exercise.

    Set ``kernels`` (see ``omnimeter.interaction.KernelAgent``) to run compiled.

    Attributes:
        view: The form of observation that suits it, where an environment class has several.
    """

    kernels: AgentKernels | None = None
    view: str | None = None

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        """Get ready for one exercise; all chance must come from ``rng``."""

    @abstractmethod
    def act(self, reward: float, observation: Observation) -> int | Move:
        """Choose an action, given the reward of the last one and what is seen now."""

    def finish(self, reward: float, observation: Observation) -> None:
        """Receive the last reward and observation, after which there is nothing to do."""
