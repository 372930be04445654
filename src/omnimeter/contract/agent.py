"""What an agent is: what it is told, the observations it gets, and the actions it returns."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from math import prod
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from omnimeter.contract.kernels import AgentKernels
    from omnimeter.contract.prior import Prior

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]
Observation = int | IntArray


@dataclass(frozen=True, slots=True)
class Space:
    """Observations as vectors, component ``k`` lying in ``0 .. sizes[k] - 1``.

    Attributes:
        sizes: How many values each component can take.
        single: Whether a Python agent gets the only component as an integer instead of a vector.
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

    def from_vector(self, vector: IntArray) -> Observation:
        """The observation as a Python agent gets it, a copy."""
        return int(vector[0]) if self.single else vector.copy()

    def to_vector(self, observation: Observation) -> IntArray:
        """The observation as kernels get it."""
        return np.atleast_1d(np.asarray(observation, dtype=np.int64))

    def contains(self, observation: object) -> bool:
        """Whether this is an observation of the space, as Python agents get it."""
        if self.single:
            integer = isinstance(observation, (int, np.integer))
            return bool(integer and 0 <= observation < self.sizes[0])  # type: ignore[operator]
        if not isinstance(observation, np.ndarray) or observation.shape != (len(self.sizes),):
            return False
        return bool(np.all((observation >= 0) & (observation < self.sizes)))


def single(size: int) -> Space:
    """A space of the integers ``0 .. size - 1``."""
    return Space((size,), single=True)


@dataclass(frozen=True, slots=True)
class Briefing:
    """All that an agent is told before an exercise; how long it lasts is never told.

    Attributes:
        actions: The number of actions; an action is an integer ``0 .. actions - 1``.
        space: The observation space.
        rewards: The lowest and the highest possible reward.
        remarks: Further JSON-able facts that the environment tells.
        view: The view that this agent is given; ``None`` where there is only one.
        scene: What a person is shown for an observation and a reward, as JSON-able data; only for
            agents in this process that ask for it (``Agent.sees_scenes``).
    """

    actions: int
    space: Space
    rewards: tuple[float, float] = (-1.0, 1.0)
    remarks: Mapping[str, Any] = field(default_factory=dict)
    view: str | None = None
    scene: Callable[[Observation, float], Mapping[str, Any]] | None = field(
        default=None, compare=False, repr=False
    )


LONGEST_DELAY = 1e6  # the longest delay that an agent may declare for one action, in seconds


class Move(NamedTuple):
    """An action together with the time that the agent takes for it.

    Attributes:
        action: The action, or ``-1`` to stop.
        seconds: The declared delay, which the agent really waits under a wall clock; ``None``
            leaves it to the clock.
    """

    action: int
    seconds: float | None = None


STOP = Move(-1)
"""Returned by an agent that will not act any more; the time of the exercise goes on without it."""


EXPLORATION, LEARNING_RATE, MEMORY = range(3)
"""What ``Agent.adjust`` changes."""


class Agent(ABC):
    """Takes exercises. A new object is made for every exercise.

    Set ``kernels`` (see ``omnimeter.kernels.KernelAgent``) to run compiled, and ``view`` to ask
    for one of several views of an environment class. Set ``costly`` if answers cost money or a
    person's time: each is then journaled, and an exercise that was interrupted goes on. Set
    ``sees_scenes`` to be told what people are shown (section 3.5); that is only in the process of
    the harness.
    """

    kernels: AgentKernels | None = None
    view: str | None = None
    costly: bool = False
    sees_scenes: bool = False

    def begin(self, briefing: Briefing, rng: np.random.Generator) -> None:
        """Prepare for one exercise; all randomness must come from ``rng``."""

    @abstractmethod
    def act(self, reward: float, observation: Observation) -> int | Move:
        """Choose an action, given the reward of the last one and the present observation."""

    def finish(self, reward: float, observation: Observation) -> None:
        """Receive the last reward and observation."""

    # Extension: agents that are shown scenes (section 3.5), which may be people.

    def act_in_time(
        self,
        reward: float,
        observation: Observation,
        seconds: float,  # noqa: ARG002 - for those who wait
    ) -> int | Move | None:
        """As ``act``, which it is called in place of, for an agent that sees scenes.

        Args:
            reward: The reward of the last action.
            observation: The present observation.
            seconds: How long an answer can count; infinite where no time counts. It is for a desk
                that waits, and nothing that an agent may choose by.

        Returns:
            The action; ``None`` if there was none in time.
        """
        return self.act(reward, observation)

    # Extension: agents whose exercises go on after an interruption (section 18).

    def recall(self, reward: float, observation: Observation, action: int) -> None:
        """Take up an interaction of the same exercise from before an interruption.

        Called after ``begin`` of a new agent, for each one in order, in place of ``act``. Nothing
        is drawn from ``rng`` for it, unless this does so.

        Args:
            reward: The reward that the agent was given.
            observation: The observation that it was given.
            action: What it answered: an action, or -1 to stop.
        """

    # Extension: an offline phase (section 15). Agents without one ignore it.

    def prepare(self, prior: Prior, rng: np.random.Generator) -> Mapping[str, Any]:  # noqa: ARG002
        """Learn from a prior, once, before any exercise; its time is measured.

        Returns:
            What was learnt, as JSON-able data: all that ``restore`` gets of it.
        """
        return {}

    def restore(self, prior: Prior, prepared: Mapping[str, Any]) -> None:
        """Take up what was prepared for a prior; called before ``begin`` of every exercise."""

    # Extension: learners whose exploration and memory others may change (section 17).

    def adjust(self, what: int, amount: float) -> bool:  # noqa: ARG002 - for such learners
        """Change how the agent learns, in the middle of an exercise.

        Args:
            what: ``EXPLORATION``: the probability of exploring becomes ``amount``; below 0, what it
                was at first. ``LEARNING_RATE``: likewise. ``MEMORY``: a share ``amount`` of what
                was learnt, chosen at random, is forgotten; it is as at the beginning.
            amount: How much.

        Returns:
            Whether the agent can be adjusted so.
        """
        return False
