"""What an environment is, the class that draws and builds it, and its frozen description."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import ceil, floor, inf
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np

from omnimeter.contract.agent import Briefing, Observation, Space
from omnimeter.contract.errors import InvalidInputError
from omnimeter.contract.overlay import Overlay
from omnimeter.contract.prior import MDPDistribution
from omnimeter.contract.spec import JsonData, canonical_json, digest

if TYPE_CHECKING:
    from omnimeter.contract.kernels import EnvironmentKernels


class Percept(NamedTuple):
    """What an environment returns: a reward, then an observation."""

    reward: float
    observation: Observation


@dataclass(frozen=True)
class Instance(JsonData):
    """The frozen description, plain JSON, from which exactly one environment is built again."""

    data: Mapping[str, Any]

    @cached_property
    def text(self) -> str:
        """The one JSON text of the description."""
        return canonical_json(self.data)

    @cached_property
    def key(self) -> str:
        """A short name that depends on the whole description."""
        return digest(self.text)


class Environment(ABC):
    """One interactive world with a finite number of actions. It never ends by itself.

    One with several seats (``docs/standard.md``, section 14) implements ``start_joint`` and
    ``step_joint`` too; actions and range of rewards are the same for all.

    Attributes:
        actions: The number of actions.
        space: The observation space, in the first seat.
        rewards: The lowest and the highest possible reward.
        seats: How many agents act in it at once.
    """

    actions: int
    space: Space
    rewards: tuple[float, float] = (-1.0, 1.0)
    seats: int = 1

    @abstractmethod
    def start(self, rng: np.random.Generator) -> Percept:
        """Restart; return the first reward and observation. All randomness comes from ``rng``."""

    @abstractmethod
    def step(self, action: int) -> Percept:
        """React to an action ``0 .. actions - 1``."""

    def briefing(self, seat: int = 0) -> Briefing:
        """What the agent in a seat is told about this environment."""
        return Briefing(self.actions, self.space_of(seat), self.rewards, view=self.view_of(seat))

    # Extension: several seats (section 14). The defaults serve one agent.

    def space_of(self, seat: int) -> Space:  # noqa: ARG002 - for environments whose seats differ
        """The observation space of a seat."""
        return self.space

    def view_of(self, seat: int) -> str | None:  # noqa: ARG002 - for classes with several views
        """The name of the view in a seat, where the class has several."""
        return None

    def start_joint(self, rng: np.random.Generator) -> Sequence[Percept]:
        """Restart; what ``start`` returns, for each seat."""
        return [self.start(rng)]

    def step_joint(self, actions: Sequence[int]) -> Sequence[Percept]:
        """React to one action for each seat; what ``step`` returns, for each seat."""
        (action,) = actions
        return [self.step(action)]


@dataclass(frozen=True, slots=True)
class Claims:
    """What a class says of the environments it draws; ``omnimeter audit`` examines it.

    Attributes:
        balanced: Over the class's draws a random agent's expected reward is 0 (anytime test,
            Definition 13): in every interaction, or in the long run only (``"limit"``).
        sensitive: In every environment the agent can always make a difference to the sum of its
            rewards within this many actions (anytime test, Definition 7); ``None`` claims nothing.
    """

    balanced: bool | Literal["limit"] = True
    sensitive: int | None = None


class Symmetry(NamedTuple):
    """How good and evil are exchanged in an environment, as it is now.

    Attributes:
        place: What changes but for rewards, the time until rare events, and random numbers.
        state: All that decides how it goes on, but for random numbers.
        mirror: Exchanges good and evil and turns all rewards round, in place.
        events: How many rare events there are; 0 is none of them.
        prepare: Makes one of these happen in the next interaction, or none.
    """

    place: Hashable
    state: Hashable
    mirror: Callable[[], None]
    events: int
    prepare: Callable[[int], None]


class EnvironmentClass(ABC):
    """Draws instances, says how complex they are and builds them: the papers' reference machine.

    The constructor's keyword arguments are the class's parameters; with them and its id it is
    rebuilt exactly. Set ``kernels`` (see ``omnimeter.kernels.KernelEnvironmentClass``) to run
    compiled. Views, seats and, for adaptive tests, bands of complexity are optional.

    Attributes:
        views: The names of the views among which agents choose; empty where there is only one.
        privileged: Those that tell what other agents have to find out, for upper references;
            results name the agents that had them.
        carried: The fields of the state that keep their values when an environment turns into
            another one of the same kernels (``switch``), such as the agent's place.
    """

    kernels: EnvironmentKernels | None = None
    views: ClassVar[Sequence[str]] = ()
    privileged: ClassVar[Sequence[str]] = ()
    carried: ClassVar[tuple[str, ...]] = ()

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

    def reward_range(self) -> tuple[float, float] | None:
        """The range of rewards (``Environment.rewards``) where it is the same in all environments.

        With ``None``, the default, it is not known before they are drawn and built, which takes
        time in a test of many exercises.
        """
        return None

    def claims(self) -> Claims:
        """What this class says of its environments."""
        return Claims()

    def scene(
        self,
        instance: Instance,  # noqa: ARG002 - for scenes that need more than the observation
        observation: Observation,
        reward: float = 0.0,  # noqa: ARG002
    ) -> Mapping[str, Any]:
        """What a person is shown for an observation and the last reward, as JSON-able data.

        The observation is in the view of the first seat of the class that ``with_views`` returned.
        """
        plain = observation if isinstance(observation, int) else [int(x) for x in observation]
        return {"observation": plain}

    def hidden(self, environment: Environment) -> Mapping[str, Any]:  # noqa: ARG002 - most have none
        """What participants have to find out, for researchers, as JSON-able data.

        Any of these: ``facts``, numbers and texts by their names; ``cells``, the reward that lies
        in each cell; ``places``, the cell that each thing is in, by its name; ``intended``, the
        cell that each is about to go to.

        Args:
            environment: One that this class has built and that was started, as it is now.
        """
        return {}

    def symmetry(self, environment: Environment) -> Symmetry | None:  # noqa: ARG002 - most have none
        """How good and evil are exchanged, where the class is balanced because they are alike.

        Args:
            environment: One that this class has built and that was started, as it is now.
        """
        return None

    # Extension: several views and seats (sections 3.7 and 14).

    def with_views(self, views: Sequence[str | None]) -> Self:
        """The same class with one seat for each view; what it draws stays the same.

        Args:
            views: The view that each agent asks for, in the order of their seats. ``None``, or a
                view that the class does not have, gets the class's default.

        Raises:
            InvalidInputError: There are not so many seats.
        """
        if len(views) > 1:
            message = f"{type(self).__name__} has one seat, not {len(views)}."
            raise InvalidInputError(message, "Let each agent take its exercises alone.")
        return self

    # Extension: classes whose instances are given in an order (section 3.10).

    def numbered(self, number: int) -> Instance | None:  # noqa: ARG002 - for such classes
        """The instance of the exercise of some number, which is not drawn; ``None`` to draw it.

        Raises:
            InvalidInputError: There are not so many instances.
        """
        return None

    # Extension: classes that can be the prior of an agent (section 15).

    def distribution(self) -> MDPDistribution:
        """The distribution over finite MDPs that the class draws from.

        Raises:
            InvalidInputError: Its environments are not drawn from such a distribution.
        """
        message = f"{type(self).__name__} cannot be a prior: it does not draw finite MDPs."
        raise InvalidInputError(message, "Choose an MDP class, for example gc, gdl, grid or mdp.")

    # Extension: classes whose environments can be divided into squares (section 16).

    def overlay(self, instance: Instance, rng: np.random.Generator, steps: int) -> Overlay:  # noqa: ARG002
        """The environment as squares with propositions, over some time steps.

        Squares are cells or states, one is adjacent to another if one action can lead there, and
        propositions are what is observed there, and the reward.

        Args:
            instance: The environment.
            rng: All randomness of what changes.
            steps: The number of time steps, from 1 on.

        Raises:
            InvalidInputError: It cannot be seen so.
        """
        message = f"{type(self).__name__} cannot be divided into squares: it has no overlay."
        raise InvalidInputError(message, "Choose a class of cells or states, as lambda or grid.")

    def degree(self, before: Instance, after: Instance) -> float | None:  # noqa: ARG002
        """How strong the change of one environment into another is, where the class says so.

        Otherwise it is the number of propositions in which a square of both overlays differs.
        """
        return None

    # Extension: adaptive tests, which choose by complexity (section 3.9).

    def complexity_range(self) -> tuple[float, float]:
        """The lowest and the highest complexity that can be drawn, as far as it is known."""
        return (1.0, inf)

    def draw_between(self, rng: np.random.Generator, low: float, high: float) -> Instance | None:
        """Draw an instance of complexity H, ``low <= H <= high``, in proportion to 2^-H.

        ``None`` when the class has none in this band. The default does not weight: it draws the
        whole-number complexities of the band, each with the same probability.
        """
        lowest, highest = self.complexity_range()
        band = range(ceil(max(low, lowest)), floor(min(high, highest)) + 1)
        for complexity in rng.permutation(np.array(band, dtype=np.int64)).tolist():
            try:
                return self.draw(rng, complexity)
            except InvalidInputError:
                continue
        return None

    def members(self, low: float, high: float, limit: int) -> Sequence[Instance] | None:  # noqa: ARG002 - for classes that can be listed
        """All instances of complexity ``low`` to ``high``, always in the same order.

        ``None`` when they cannot be listed or are more than ``limit``.
        """
        return None
