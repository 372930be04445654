"""What an agent is: it is told what there is to know, then perceives and acts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from omnimeter.contract.spaces import Observation, Space

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy as np

    from omnimeter.contract.kernels import AgentKernels


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
