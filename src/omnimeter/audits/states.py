"""The states of an environment: kept, restored, told apart, and explored where they are few."""

from __future__ import annotations

import pickle
from abc import ABC, abstractmethod
from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from omnimeter.contract import Environment, EnvironmentClass, Instance, Percept
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.kernels import State
from omnimeter.contract.spec import Stream
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


ROUNDING = 1e-12
"""The part of a sum of rewards that may be rounding."""

_STILL = 1e-13
_PATIENCE = 20_000


@dataclass(frozen=True)
class Graph:
    """The states that can be reached from the beginning, which is state 0.

    Attributes:
        following: The state after each action, a row per state.
        rewards: The reward of each action, a row per state.
        origins: From which state each was reached first, and by which action; nearer states have
            lower numbers.
    """

    following: IntArray
    rewards: FloatArray
    origins: IntArray

    def way(self, state: int) -> list[int]:
        """A shortest sequence of actions that leads to a state."""
        actions: list[int] = []
        while state != 0:
            state, action = (int(x) for x in self.origins[state])
            actions.append(action)
        return actions[::-1]

    def horizons(self, most: int) -> IntArray:
        """The fewest actions from each state whose sums of rewards can differ; 0 if above most.

        Decided exactly: after m actions the largest and the smallest sum follow from those after
        m - 1.
        """
        largest, smallest, weight = (np.zeros(len(self.following)) for _ in range(3))
        needed = np.zeros(len(self.following), dtype=np.int64)
        for length in range(1, most + 1):
            largest = (self.rewards + largest[self.following]).max(axis=1)
            smallest = (self.rewards + smallest[self.following]).min(axis=1)
            weight = (np.abs(self.rewards) + weight[self.following]).max(axis=1)
            differ = largest - smallest > ROUNDING * weight
            needed[(needed == 0) & differ] = length
            if needed.all():
                break
        return needed

    def random_mean(self) -> float | None:
        """A random agent's long-run mean reward; ``None`` if it settles too slowly to be found.

        Found by following where the agent may be. It rests in every other turn: that changes no
        long-run mean, and makes the probabilities settle even where states come in turns.
        """
        states, actions = self.following.shape
        where = np.zeros(states)
        where[0] = 1.0
        targets = self.following.ravel()
        for _ in range(_PATIENCE):
            moved = np.bincount(targets, np.repeat(where / actions, actions), minlength=states)
            if np.abs(moved - where).max() < _STILL:
                return float(where @ self.rewards.mean(axis=1))
            where = (where + moved) / 2
        return None


def explore(positions: Positions, actions: int) -> Graph | None:
    """All states, breadth first; ``None`` when they are too many or cannot be told apart.

    The state of the generator belongs to a place. So where the states come to an end, no action
    ever drew from it, and there is no chance in them.
    """
    places: list[Hashable] = [positions.save()]
    numbers = {places[0]: 0}
    origins = [(-1, -1)]
    following: list[int] = []
    rewards: list[float] = []
    for state in range(positions.reach // actions):
        for action in range(actions):
            positions.restore(places[state])
            rewards.append(positions.step(action))
            place = positions.save()
            if place not in numbers:
                numbers[place] = len(places)
                places.append(place)
                origins.append((state, action))
            following.append(numbers[place])
        if state + 1 == len(places):
            shape = len(places), actions
            return Graph(
                np.array(following).reshape(shape),
                np.array(rewards, dtype=np.float64).reshape(shape),
                np.array(origins),
            )
    return None
