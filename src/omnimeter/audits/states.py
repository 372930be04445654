"""The states of an environment: saved, restored, compared, and enumerated where they are few."""

from __future__ import annotations

import pickle
from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from omnimeter.contract import Environment, EnvironmentClass, Instance
from omnimeter.contract.agent import FloatArray, IntArray
from omnimeter.contract.spec import Stream
from omnimeter.interaction import KernelEnvironment

ROUNDING = 1e-12
"""The part of a sum of rewards that may be rounding."""

SMALL = 1e-9  # a mean reward that may be rounding


def are_different(gap: Any, weight: Any, least: float) -> Any:
    """Whether sums of rewards differ by ``least`` or more, and by more than rounding.

    The weight is the sum of the absolute rewards.
    """
    return (gap > ROUNDING * weight) & (gap >= least - ROUNDING * weight)


class Simulator:
    """An environment whose state can be saved and restored: here by pickling it.

    Attributes:
        observation: The last one that was given, as a vector; empty before.
        max_transitions: How many transitions are followed in search of all states; 0 when two
            states cannot be compared.
        random_start: Whether the start drew random numbers, so that there are other starts.
    """

    max_transitions = 10_000
    random_start = True
    observation: IntArray = np.zeros(0, dtype=np.int64)

    def __init__(self, environment: Environment) -> None:
        self._environment = environment

    def save(self) -> Hashable:
        """A snapshot of the state, its generator included; equal snapshots are equal states."""
        return pickle.dumps(self._environment)

    def restore(self, snapshot: Any) -> None:
        """Return to a saved state, with the random numbers that were to come there."""
        self._environment = pickle.loads(snapshot)

    def step(self, action: int) -> float:
        """Take an action and return its reward."""
        percept = self._environment.step(action)
        self.observation = self._environment.space.to_vector(percept.observation)
        return percept.reward

    def memory(self) -> Hashable | None:
        """The state without the random numbers to come; ``None`` where they cannot be separated."""
        return None

    def reseed(self, rng: np.random.Generator) -> bool:  # noqa: ARG002 - most cannot
        """Exchange the random numbers to come, where that is possible; return whether it is."""
        return False


class KernelSimulator(Simulator):
    """Copies the arrays of a kernel environment's state, which is all that there is to it."""

    max_transitions = 50_000

    def __init__(self, environment: KernelEnvironment) -> None:
        super().__init__(environment)
        self._state = environment.state

    def save(self) -> Hashable:  # noqa: D102 - see Simulator
        return b"".join([field.tobytes() for field in self._state])

    def memory(self) -> Hashable:  # noqa: D102 - see Simulator
        pairs = zip(self._state._fields, self._state, strict=True)
        return b"".join([field.tobytes() for name, field in pairs if name != "rng"])

    def restore(self, snapshot: bytes) -> None:  # noqa: D102 - see Simulator
        start = 0
        for field in self._state:
            field[:] = np.frombuffer(snapshot, field.dtype, len(field), start)
            start += field.nbytes

    def reseed(self, rng: np.random.Generator) -> bool:  # noqa: D102 - see Simulator
        if "rng" not in self._state._fields:
            return False
        self._state.rng[0] = rng.integers(2**64, dtype=np.uint64)
        return True


class ReplayedSimulator(Simulator):
    """Builds an environment that cannot be copied again, and repeats its actions."""

    max_transitions = 0

    def __init__(
        self, environment_class: EnvironmentClass, instance: Instance, seed: Stream
    ) -> None:
        self._class, self._instance, self._seed = environment_class, instance, seed
        self.restore(())

    def save(self) -> Hashable:  # noqa: D102 - see Simulator
        return tuple(self._actions)

    def restore(self, snapshot: tuple[int, ...]) -> None:  # noqa: D102 - see Simulator
        self._environment = self._class.build(self._instance)
        first = self._environment.start(self._seed.generator())
        self.observation = self._environment.space.to_vector(first.observation)
        self._actions: list[int] = []
        for action in snapshot:
            self.step(action)

    def step(self, action: int) -> float:  # noqa: D102 - see Simulator
        self._actions.append(action)
        return super().step(action)


def make_simulator(
    environment_class: EnvironmentClass, instance: Instance, seed: Stream
) -> Simulator:
    """The fastest simulator that an environment allows, at its start."""
    environment = environment_class.build(instance)
    rng = seed.generator()
    observation = environment.space.to_vector(environment.start(rng).observation)
    if type(environment) is KernelEnvironment:  # a subclass may hold more than its state
        kernel, state = KernelSimulator(environment), environment.state
        kernel.observation = observation
        kernel.random_start = "rng" in state._fields and bool(
            state.rng[0] != seed.generator().integers(2**64, dtype=np.uint64)
        )
        return kernel
    try:
        pickle.loads(pickle.dumps(environment))
    except Exception:  # pickling fails with many types of errors
        return ReplayedSimulator(environment_class, instance, seed)
    simulator = Simulator(environment)
    simulator.observation = observation
    simulator.random_start = rng.bit_generator.state != seed.generator().bit_generator.state
    return simulator


@dataclass(frozen=True)
class Graph:
    """The states that can be reached from the start, which is state 0; near ones come first."""

    successors: IntArray  # the state after each action, a row per state
    rewards: FloatArray  # of each action, a row per state
    parents: IntArray  # from which state each was reached first, and by which action
    observations: IntArray  # the number of the observation in each state

    def path(self, state: int) -> list[int]:
        """A shortest sequence of actions that leads to a state."""
        actions: list[int] = []
        while state != 0:
            state, action = (int(x) for x in self.parents[state])
            actions.append(action)
        return actions[::-1]

    def horizons(self, limit: int, least: float = 0.0) -> IntArray:
        """The fewest actions from each state whose sums of rewards can differ; 0 if above limit.

        Exact: after m actions the largest and the smallest sum follow from those after m - 1. The
        sums must differ by ``least`` or more, and by more than rounding.
        """
        largest, smallest, weight = (np.zeros(len(self.successors)) for _ in range(3))
        needed = np.zeros(len(self.successors), dtype=np.int64)
        for length in range(1, limit + 1):
            largest = (self.rewards + largest[self.successors]).max(axis=1)
            smallest = (self.rewards + smallest[self.successors]).min(axis=1)
            weight = (np.abs(self.rewards) + weight[self.successors]).max(axis=1)
            differ = are_different(largest - smallest, weight, least)
            needed[(needed == 0) & differ] = length
            if needed.all():
                break
        return needed

    def classes(self, *, rewards: bool = True) -> IntArray:
        """The class of each state: states that no sequence of actions tells apart are in one.

        Without ``rewards``, those that no sequence of observations tells apart.
        """
        fixed = self.rewards if rewards else np.zeros((len(self.successors), 0))
        labels, count = self.observations, 0
        while True:
            rows = np.column_stack([labels, labels[self.successors], fixed])
            labels = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1)
            if labels.max() + 1 == count:  # a partition that is not refined any more
                return labels
            count = labels.max() + 1

    def first_unbalanced(self, limit: int) -> tuple[int, float] | None:
        """The first interaction in which a random agent's expected reward is not 0, and that.

        ``None`` if it is 0 in all of as many interactions as there are states: then it always is,
        as it is a linear recurrence of that order at most. Where there are more than ``limit``
        states, no more interactions than that are examined.
        """
        states, actions = self.successors.shape
        distribution = np.zeros(states)
        distribution[0] = 1.0
        means, targets = self.rewards.mean(axis=1), self.successors.ravel()
        for interaction in range(1, min(states, limit) + 1):
            expected = float(distribution @ means)
            if abs(expected) > SMALL:
                return interaction, expected
            weights = np.repeat(distribution / actions, actions)
            distribution = np.asarray(np.bincount(targets, weights, minlength=states), float)
        return None

    def random_mean(self) -> float | None:
        """A random agent's long-run mean reward; ``None`` if the iteration does not converge.

        Iterates the distribution over states of a lazy random agent, which acts in every other
        turn only: that changes no long-run mean and removes periodicity.
        """
        states, actions = self.successors.shape
        distribution = np.zeros(states)
        distribution[0] = 1.0
        targets = self.successors.ravel()
        for _ in range(20_000):
            weights = np.repeat(distribution / actions, actions)
            moved = np.bincount(targets, weights, minlength=states)
            if np.abs(moved - distribution).max() < 1e-13:
                return float(distribution @ self.rewards.mean(axis=1))
            distribution = (distribution + moved) / 2
        return None


def _has_more_states(simulator: Simulator, limit: int, actions: int) -> bool:
    """Whether taking all actions in turn shows that there are more states than a limit.

    With fewer it comes back to a state and action, which Brent's search for cycles finds in less
    than three times as many steps as there are of these. Few of them need a snapshot, so this is
    much quicker than a search of all states, which would find too many in the end.
    """
    kept, shown = simulator.save(), simulator.observation.copy()
    since, window = 0, 1
    for turn in range(3 * limit * actions):
        simulator.step(turn % actions)
        since += 1
        alike = since % actions == 0 and np.array_equal(simulator.observation, shown)
        if alike and simulator.save() == kept:
            return False
        if since == window:
            kept, shown = simulator.save(), simulator.observation.copy()
            since, window = 0, 2 * window
    return True


def explore(simulator: Simulator, actions: int) -> Graph | None:
    """All states, breadth first; ``None`` when they are too many or cannot be compared.

    The generator is part of a snapshot. So where the search comes to an end, no action ever drew
    a random number, and the environment is deterministic.
    """
    snapshots: list[Hashable] = [simulator.save()]
    numbers = {snapshots[0]: 0}
    parents = [(-1, -1)]
    seen: dict[bytes, int] = {}
    observations = [seen.setdefault(simulator.observation.tobytes(), 0)]
    successors: list[int] = []
    rewards: list[float] = []
    limit = simulator.max_transitions // actions
    if _has_more_states(simulator, limit, actions):
        return None
    for state in range(limit):
        for action in range(actions):
            simulator.restore(snapshots[state])
            rewards.append(simulator.step(action))
            snapshot = simulator.save()
            if snapshot not in numbers:
                numbers[snapshot] = len(snapshots)
                snapshots.append(snapshot)
                parents.append((state, action))
                observations.append(seen.setdefault(simulator.observation.tobytes(), len(seen)))
            successors.append(numbers[snapshot])
        if state + 1 == len(snapshots):
            paid = np.array(rewards, dtype=np.float64).reshape(-1, actions)
            following = np.array(successors).reshape(-1, actions)
            return Graph(following, paid, np.array(parents), np.array(observations))
    return None
