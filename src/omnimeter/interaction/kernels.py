"""Environments and agents made of kernels, as ordinary Python objects.

They call the same kernels as the compiled loop: there is no second implementation.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import (
    Agent,
    AgentKernels,
    Briefing,
    Environment,
    EnvironmentClass,
    EnvironmentKernels,
    Instance,
    Move,
    Observation,
    Percept,
    Space,
)
from omnimeter.contract.agent import IntArray
from omnimeter.contract.exercise import nanoseconds
from omnimeter.contract.kernels import State
from omnimeter.contract.spec import seeded
from omnimeter.interaction.compilation import (
    adjust_entry,
    agent_entries,
    environment_entries,
    joint_entries,
)


def contiguous(state: State) -> State:
    """The state in one-dimensional arrays that compiled code can work on; copied if needed."""
    _check_fields(state)
    if all(field.flags.carray for field in state):  # contiguous and writeable
        return state
    return type(state)(*(np.array(field) for field in state))


def _check_fields(state: State) -> None:
    for name, field in zip(state._fields, state, strict=True):
        if not isinstance(field, np.ndarray) or field.ndim != 1:
            raise TypeError(f"the field {name!r} of a state is not a one-dimensional array")


def end_to_end(states: Sequence[State]) -> tuple[State, IntArray]:
    """All states in one, and where each one's part of each field begins."""
    columns = list(zip(*states, strict=True))
    at = np.array([starts(integers(map(len, column))) for column in columns])
    whole = type(states[0])(*map(np.concatenate, columns))
    _check_fields(whole)
    return whole, at.reshape(len(columns), -1)


def part(states: State, at: IntArray, number: int) -> State:
    """One state among those that lie end to end, as views into them."""
    bounds = zip(states, at[:, number], at[:, number + 1], strict=True)
    return type(states)(*(whole[first:last] for whole, first, last in bounds))


def starts(sizes: IntArray) -> IntArray:
    """Where each of some things of these sizes begins, and where the last one ends."""
    return np.concatenate(([0], np.cumsum(sizes)))


def integers(values: Iterable[int]) -> IntArray:
    """Whole numbers as an array."""
    return np.fromiter(values, dtype=np.int64)


Seed = np.random.Generator | int
"""The randomness of kernels: a generator, of which 64 bits are drawn, or those bits."""

_new_tuple = tuple.__new__


def seed_state(state: State, rng: Seed) -> None:
    """Seed a state: 64 bits into its field ``rng``, if it has one."""
    if "rng" in state._fields:
        state.rng[0] = rng if isinstance(rng, int) else rng.bit_generator.random_raw()


def seed_for(side: Environment | Agent, seed: int) -> Any:
    """What a side is started with: the seed itself for kernels, otherwise a generator."""
    return seed if getattr(side, "kernels", None) is not None else seeded(seed)


class Lent:
    """Arrays lent to the compiled entries by their addresses; a copy lends its own arrays.

    Attributes:
        entries: The compiled entries.
        loan: What they are given in place of the arrays.
        types: The types of the arrays, by NumPy's names.
    """

    __slots__ = ("_given", "entries", "loan", "types")

    def __init__(
        self, load: Callable[..., ModuleType], kernels: Any, state: State, *others: NDArray[Any]
    ) -> None:
        from omnimeter.interaction.intrinsics import lend

        arrays = (*state, *others)
        self._given = (load, kernels, state, *others)  # keeps the arrays alive
        self.types = tuple([each.dtype.type.__name__ for each in arrays])
        self.entries = load(kernels, self.types)
        self.loan = lend(arrays)

    @property
    def state(self) -> State:
        """The state whose arrays are lent."""
        return self._given[2]

    def __reduce__(self) -> tuple[type[Lent], tuple[Any, ...]]:
        return type(self), self._given


class KernelEnvironment(Environment):
    """An environment that moves by kernels.

    Args:
        kernels: How it moves.
        state: A NamedTuple of one-dimensional arrays that it owns.
        actions: The number of actions.
        space: The observations there can be, in the first seat.
        rewards: The lowest and the highest possible reward.
        others: The observations there can be in each further seat.
        views: The view of each seat, where the class has several.
    """

    def __init__(
        self,
        kernels: EnvironmentKernels,
        state: State,
        actions: int,
        space: Space,
        rewards: tuple[float, float] = (-1.0, 1.0),
        others: Sequence[Space] = (),
        views: Sequence[str] = (),
    ) -> None:
        self.kernels = kernels
        self.state = state
        self.actions = actions
        self.space = space
        self.rewards = rewards
        self.spaces = (space, *others)
        self.seats = len(self.spaces)
        self.views = tuple(views)

    def space_of(self, seat: int) -> Space:  # noqa: D102 - see Environment
        return self.spaces[seat]

    def view_of(self, seat: int) -> str | None:  # noqa: D102 - see Environment
        return self.views[seat] if self.views else None

    def start(self, rng: Seed) -> Percept:  # noqa: D102 - see Environment
        self.state = contiguous(self.state)
        self._seen = np.zeros(len(self.space.sizes), dtype=np.int64)
        self._lent = Lent(environment_entries, self.kernels, self.state, self._seen)
        seed_state(self.state, rng)
        reward = self._lent.entries.start(self._lent.loan)
        return Percept(reward, self.space.from_vector(self._seen))

    def step(self, action: int) -> Percept:  # noqa: D102 - see Environment
        if not 0 <= action < self.actions:  # a kernel would read beyond its arrays
            raise self._no_such(action)
        lent = self._lent
        reward = lent.entries.advance(lent.loan, action)
        seen = self._seen
        # a Percept, without the detour over its constructor
        return _new_tuple(Percept, (reward, int(seen[0]) if self.space.single else seen.copy()))

    def start_joint(self, rng: Seed) -> list[Percept]:  # noqa: D102 - see Environment
        if self.seats == 1:
            return [self.start(rng)]
        self.state = contiguous(self.state)
        self._at = starts(integers(len(space.sizes) for space in self.spaces))
        self._seen = np.zeros(self._at[-1], dtype=np.int64)
        self._chosen = np.zeros(self.seats, dtype=np.int64)
        self._given = np.zeros(self.seats)
        others = (self._seen, self._at, self._chosen, self._given)
        self._lent = Lent(joint_entries, self.kernels, self.state, *others)
        seed_state(self.state, rng)
        self._lent.entries.start_joint(self._lent.loan)
        return self._percepts()

    def step_joint(self, actions: Sequence[int]) -> list[Percept]:  # noqa: D102 - see Environment
        if len(actions) != self.seats:
            raise ValueError(f"there are {len(actions)} actions for {self.seats} seats")
        for action in actions:
            if not 0 <= action < self.actions:
                raise self._no_such(action)
        if self.seats == 1:
            return [self.step(*actions)]
        self._chosen[:] = actions
        self._lent.entries.advance_joint(self._lent.loan)
        return self._percepts()

    def _percepts(self) -> list[Percept]:
        parts = zip(self.spaces, self._at[:-1], self._at[1:], strict=True)
        seen = [space.from_vector(self._seen[first:last]) for space, first, last in parts]
        return [Percept(*each) for each in zip(self._given.tolist(), seen, strict=True)]

    def _no_such(self, action: int) -> ValueError:
        return ValueError(f"action {action} does not exist: 0 to {self.actions - 1}")


class KernelEnvironmentClass(EnvironmentClass):
    """An environment class whose environments are made of kernels."""

    kernels: EnvironmentKernels

    @abstractmethod
    def build(self, instance: Instance) -> KernelEnvironment:
        """Make the environment that an instance describes."""


class KernelAgent(Agent):
    """An agent that behaves by kernels. Subclasses set ``kernels`` and define ``initial_state``.

    Attributes:
        kernels: How it behaves.
        pace: The seconds that it declares for each action beyond what its kernels declare.
    """

    kernels: AgentKernels
    pace: float = 0.0

    @abstractmethod
    def initial_state(self, briefing: Briefing) -> State:
        """A fresh state for an exercise, a NamedTuple of one-dimensional arrays."""

    def begin(self, briefing: Briefing, rng: Seed) -> None:  # noqa: D102 - see Agent
        state = contiguous(self.initial_state(briefing))
        self._seen = np.zeros(len(briefing.space.sizes), dtype=np.int64)
        self._lent = Lent(agent_entries, self.kernels, state, self._seen)
        seed_state(state, rng)
        if self.kernels.begin is not None:
            self._lent.entries.begin(self._lent.loan)

    @property
    def present_state(self) -> State:
        """The state in the exercise that has begun, for those who watch."""
        return self._lent.state

    def act(self, reward: float, observation: Observation) -> int | Move:  # noqa: D102 - see Agent
        self._seen[:] = observation
        action, delay = self._lent.entries.act(self._lent.loan, reward)
        if self.pace and action >= 0:
            delay = max(0, delay) + nanoseconds(self.pace)
        return Move(action, delay / 1e9) if delay > 0 else action

    def recall(self, reward: float, observation: Observation, action: int) -> None:  # noqa: ARG002
        """Learn and draw as before the interruption: kernels would answer the same again."""
        self.act(reward, observation)

    def finish(self, reward: float, observation: Observation) -> None:  # noqa: D102 - see Agent
        self._seen[:] = observation
        if self.kernels.finish is not None:
            self._lent.entries.finish(self._lent.loan, reward)

    def adjust(self, what: int, amount: float) -> bool:  # noqa: D102 - see Agent
        if self.kernels.adjust is None:
            return False
        adjust_entry(self.kernels, self._lent.types).adjust(self._lent.loan, what, amount)
        return True
