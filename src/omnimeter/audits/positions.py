"""Where an environment stands: kept, come back to, and told apart from other places."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Hashable

import numpy as np

from omnimeter.contract import Environment, EnvironmentClass, Instance, Percept, Stream
from omnimeter.contract.kernels import State
from omnimeter.interaction import KernelEnvironment


class Positions(ABC):
    """An environment that can be put back to where it stood.

    Attributes:
        reach: How many transitions are worth following in search of all states; 0 when two
            states cannot be compared.
        percept: What the environment gave last; not kept with a place.
        drawn: Whether chance had a part in the beginning, so that there are other ones.
    """

    reach: int
    percept: Percept
    drawn: bool = True

    @abstractmethod
    def save(self) -> Hashable:
        """The place where it stands; the same places are the same states."""

    @abstractmethod
    def restore(self, place: Hashable) -> None:
        """Go back to a place, with the chances that were to come there."""

    @abstractmethod
    def step(self, action: int) -> float:
        """Do something there and get the reward."""

    def reseed(self, rng: np.random.Generator) -> bool:  # noqa: ARG002 - most cannot
        """Give the same place other chances, where that is possible."""
        return False


class KernelPositions(Positions):
    """The state of a kernel environment is all there is to it."""

    reach = 50_000

    def __init__(self, environment: KernelEnvironment, percept: Percept) -> None:
        self._environment = environment
        self._state = environment.state
        self.percept = percept

    def save(self) -> Hashable:  # noqa: D102 - see Positions
        return b"".join([field.tobytes() for field in self._state])

    def restore(self, place: Hashable) -> None:  # noqa: D102 - see Positions
        assert isinstance(place, bytes)  # made by save
        start = 0
        for field in self._state:
            field[:] = np.frombuffer(place, field.dtype, len(field), start)
            start += field.nbytes

    def step(self, action: int) -> float:  # noqa: D102 - see Positions
        self.percept = self._environment.step(action)
        return self.percept.reward

    def reseed(self, rng: np.random.Generator) -> bool:  # noqa: D102 - see Positions
        if "rng" not in self._state._fields:
            return False
        self._state.rng[0] = rng.integers(2**64, dtype=np.uint64)
        return True


class PickledPositions(Positions):
    """A plain Python environment, its generator included."""

    reach = 10_000

    def __init__(self, environment: Environment, percept: Percept) -> None:
        self._environment = environment
        self.percept = percept

    def save(self) -> Hashable:  # noqa: D102 - see Positions
        return pickle.dumps(self._environment)

    def restore(self, place: Hashable) -> None:  # noqa: D102 - see Positions
        assert isinstance(place, bytes)  # made by save
        self._environment = pickle.loads(place)

    def step(self, action: int) -> float:  # noqa: D102 - see Positions
        self.percept = self._environment.step(action)
        return self.percept.reward


class ReplayedPositions(Positions):
    """An environment that cannot be copied is built again and led along the same way."""

    reach = 0

    def __init__(
        self, environment_class: EnvironmentClass, instance: Instance, chance: Stream
    ) -> None:
        self._class, self._instance, self._chance = environment_class, instance, chance
        self.restore(())

    def save(self) -> Hashable:  # noqa: D102 - see Positions
        return tuple(self._way)

    def restore(self, place: Hashable) -> None:  # noqa: D102 - see Positions
        assert isinstance(place, tuple)  # made by save
        self._environment = self._class.build(self._instance)
        self.percept = self._environment.start(self._chance.generator())
        self._way: list[int] = []
        for action in place:
            self.step(action)

    def step(self, action: int) -> float:  # noqa: D102 - see Positions
        self._way.append(action)
        self.percept = self._environment.step(action)
        return self.percept.reward


def started(environment_class: EnvironmentClass, instance: Instance, chance: Stream) -> Positions:
    """An environment at its beginning."""
    environment = environment_class.build(instance)
    rng = chance.generator()
    percept = environment.start(rng)
    positions: Positions
    if type(environment) is KernelEnvironment:  # a subclass may hold more than its state
        positions = KernelPositions(environment, percept)
        positions.drawn = _has_drawn(environment.state, chance)
        return positions
    try:
        pickle.loads(pickle.dumps(environment))
    except Exception:  # objects refuse to be pickled in many ways
        return ReplayedPositions(environment_class, instance, chance)
    positions = PickledPositions(environment, percept)
    positions.drawn = rng.bit_generator.state != chance.generator().bit_generator.state
    return positions


def _has_drawn(state: State, chance: Stream) -> bool:
    """Whether a state's own generator is no longer where it was seeded."""
    if "rng" not in state._fields:
        return False
    return bool(state.rng[0] != chance.generator().integers(2**64, dtype=np.uint64))
