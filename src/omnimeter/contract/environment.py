"""What an environment is, the class that draws and grades it, and its frozen description."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, inf
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from omnimeter.contract.agent import Briefing, Observation, Space
from omnimeter.contract.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from omnimeter.contract.kernels import EnvironmentKernels


class Percept(NamedTuple):
    """What an environment gives: a reward, then an observation."""

    reward: float
    observation: Observation


def canonical(data: object) -> str:
    """The one JSON text of some data: sorted keys, no spaces, no infinities."""
    return json.dumps(data, sort_keys=True, separators=(",", ":"), allow_nan=False)


def fingerprint(data: object) -> str:
    """Sixteen hexadecimal digits that name some JSON-able data."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()[:16]


@dataclass(frozen=True)
class Instance:
    """The frozen, JSON-able description from which exactly one environment is built again.

    Attributes:
        data: What the environment class needs to know, as plain JSON data.
    """

    data: Mapping[str, Any]

    @cached_property
    def key(self) -> str:
        """A short name that depends on the whole description."""
        return fingerprint(self.data)


class Environment(ABC):
    """One interactive world with a finite number of actions. It never ends by itself.

    With several seats as many agents act in it at once: it is then started and advanced by
    ``start_joint`` and ``step_joint``. Actions and range of rewards are the same for all.

    Attributes:
        actions: The number of actions.
        space: The observations there can be, in the first seat.
        rewards: The lowest and the highest possible reward.
        seats: How many agents act in it at once.
    """

    actions: int
    space: Space
    rewards: tuple[float, float] = (-1.0, 1.0)
    seats: int = 1

    @abstractmethod
    def start(self, rng: np.random.Generator) -> Percept:
        """Begin anew and give the first reward and observation; all chance comes from ``rng``."""

    @abstractmethod
    def step(self, action: int) -> Percept:
        """React at once to an action ``0 .. actions - 1``."""

    def space_of(self, seat: int) -> Space:  # noqa: ARG002 - for those where seats differ
        """The observations there can be in a seat."""
        return self.space

    def view_of(self, seat: int) -> str | None:  # noqa: ARG002 - for classes with several
        """The name of the form of observation in a seat, where the class has several."""
        return None

    def briefing(self, seat: int = 0) -> Briefing:
        """What the agent in a seat is told about this environment."""
        return Briefing(self.actions, self.space_of(seat), self.rewards, view=self.view_of(seat))

    def start_joint(self, rng: np.random.Generator) -> Sequence[Percept]:
        """Begin anew; what ``start`` gives, for each seat."""
        return [self.start(rng)]

    def step_joint(self, actions: Sequence[int]) -> Sequence[Percept]:
        """React at once to one action for each seat; what ``step`` gives, for each seat."""
        (action,) = actions
        return [self.step(action)]


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


class EnvironmentClass(ABC):
    """Draws instances, grades them and builds them: the reference machine of the papers.

    The constructor's keyword arguments are the class's parameters; with them and its id it is
    rebuilt exactly. Set ``kernels`` (see ``omnimeter.interaction.KernelEnvironmentClass``) to run
    compiled.
    """

    kernels: EnvironmentKernels | None = None
    views: ClassVar[Sequence[str]] = ()
    """The forms of observation among which an agent may choose, where there are several."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, complexity: float | None = None) -> Instance:
        """Draw an instance, of the wanted complexity where one is given.

        Raises:
            InvalidInputError: There is no instance of that complexity.
        """

    @abstractmethod
    def complexity(self, instance: Instance) -> float:
        """Grade an instance."""

    @abstractmethod
    def build(self, instance: Instance) -> Environment:
        """Make the environment that an instance describes."""

    def complexity_range(self) -> tuple[float, float]:
        """The lowest and the highest complexity of what can be drawn, as far as it is known."""
        return (1.0, inf)

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw an instance of complexity H, ``low <= H <= high``, in proportion to 2^-H.

        A class that does not override this does not weigh its instances: it is asked for the
        whole-number complexities of the band, each as likely as the others.

        Returns:
            The instance; ``None`` when the class has none in this band.
        """
        least, most = self.complexity_range()
        grades = range(ceil(max(low, least)), floor(min(high, most)) + 1)
        for grade in rng.permutation(np.array(grades, dtype=np.int64)).tolist():
            try:
                return self.draw(rng, grade)
            except InvalidInputError:
                continue
        return None

    def members(
        self,
        low: float,  # noqa: ARG002 - for classes that can be listed
        high: float,  # noqa: ARG002
        most: int,  # noqa: ARG002
    ) -> Sequence[Instance] | None:
        """All instances of complexity ``low`` to ``high``, always in the same order.

        Returns:
            The instances; ``None`` when they cannot be listed or are more than ``most``.
        """
        return None

    def seating(self, views: Sequence[str | None]) -> EnvironmentClass:
        """The same class for agents that take an exercise together, one for each view.

        What it draws and how it grades stay the same.

        Args:
            views: The form of observation that each agent asks for, in the order of their seats.
                ``None``, or a form that there is not, gets the class's default.

        Raises:
            InvalidInputError: There are not so many seats.
        """
        if len(views) > 1:
            raise InvalidInputError(
                f"{type(self).__name__} has room for one agent, not for {len(views)}.",
                "Let them take their exercises alone.",
            )
        return self

    def claims(self) -> Claims:
        """What this class says of its environments."""
        return Claims()

    def scene(  # the instance serves classes whose picture needs more than the observation
        self,
        instance: Instance,  # noqa: ARG002
        observation: Observation,
        reward: float = 0.0,  # noqa: ARG002
    ) -> Mapping[str, Any]:
        """What a person is shown for an observation and the last reward, as JSON-able data.

        Where a class has several forms of observation, the class that ``seating`` gave must be
        asked: the observation is read in the form of its first seat.
        """
        shown = observation if isinstance(observation, int) else [int(x) for x in observation]
        return {"observation": shown}
