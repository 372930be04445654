"""What an environment is, the class that draws and builds it, and its frozen description."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from omnimeter.contract.agent import Briefing, Observation, Space
from omnimeter.contract.extensions import ComplexityBands, Seats, Views
from omnimeter.contract.spec import JsonData, fingerprint

if TYPE_CHECKING:
    import numpy as np

    from omnimeter.contract.kernels import EnvironmentKernels


class Percept(NamedTuple):
    """What an environment returns: a reward, then an observation."""

    reward: float
    observation: Observation


@dataclass(frozen=True)
class Instance(JsonData):
    """The frozen, JSON-able description from which exactly one environment is built again.

    Attributes:
        data: What the environment class needs to know, as plain JSON data.
    """

    data: Mapping[str, Any]

    @cached_property
    def key(self) -> str:
        """A short name that depends on the whole description."""
        return fingerprint(self.data)


class Environment(Seats, ABC):
    """One interactive world with a finite number of actions. It never ends by itself.

    Attributes:
        actions: The number of actions.
        space: The observation space, in the first seat.
        rewards: The lowest and the highest possible reward.
        seats: How many agents act in it at once (``omnimeter.contract.extensions``).
    """

    actions: int
    space: Space
    rewards: tuple[float, float] = (-1.0, 1.0)

    @abstractmethod
    def start(self, rng: np.random.Generator) -> Percept:
        """Restart; return the first reward and observation. All randomness comes from ``rng``."""

    @abstractmethod
    def step(self, action: int) -> Percept:
        """React to an action ``0 .. actions - 1``."""

    def briefing(self, seat: int = 0) -> Briefing:
        """What the agent in a seat is told about this environment."""
        return Briefing(self.actions, self.space_of(seat), self.rewards, view=self.view_of(seat))


@dataclass(frozen=True, slots=True)
class Claims:
    """What a class says of every environment it draws; ``omnimeter audit`` examines it.

    Attributes:
        balanced: A random agent's expected reward is 0 (anytime test, Definition 13).
        sensitive: Within this many actions the agent can always make a difference to the sum of
            its rewards (anytime test, Definition 7); ``None`` claims nothing.
    """

    balanced: bool = True
    sensitive: int | None = None


class EnvironmentClass(Views, ComplexityBands, ABC):
    """Draws instances, says how complex they are and builds them: the papers' reference machine.

    The constructor's keyword arguments are the class's parameters; with them and its id it is
    rebuilt exactly. Set ``kernels`` (see ``omnimeter.interaction.KernelEnvironmentClass``) to run
    compiled. Views, seats and bands of complexity are optional (``omnimeter.contract.extensions``).
    """

    kernels: EnvironmentKernels | None = None

    @abstractmethod
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw an instance, of the wanted complexity where one is given.

        Raises:
            InvalidInputError: There is no instance of that complexity.
        """

    @abstractmethod
    def complexity(self, instance: Instance) -> float:
        """The complexity of an instance."""

    @abstractmethod
    def build(self, instance: Instance) -> Environment:
        """Make the environment that an instance describes."""

    def claims(self) -> Claims:
        """What this class says of its environments."""
        return Claims()

    def scene(  # the instance is for classes whose scene needs more than the observation
        self,
        instance: Instance,  # noqa: ARG002
        observation: Observation,
        reward: float = 0.0,  # noqa: ARG002
    ) -> Mapping[str, Any]:
        """What a person is shown for an observation and the last reward, as JSON-able data.

        The observation is in the view of the first seat of the class that ``with_views`` returned.
        """
        plain = observation if isinstance(observation, int) else [int(x) for x in observation]
        return {"observation": plain}
