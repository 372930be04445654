"""Many environments side by side: in one compiled call, or one after the other in Python."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from omnimeter.contract import (
    Environment,
    EnvironmentClass,
    EnvironmentKernels,
    IntArray,
    Percept,
    Space,
)
from omnimeter.contract.kernels import State
from omnimeter.interaction import KernelEnvironmentClass
from omnimeter.interaction.compilation import batch_entries
from omnimeter.interaction.kernel_parts import seed_state
from omnimeter.interaction.layout import end_to_end, part


class Batch(ABC):
    """Environments with the same spaces, each in its place.

    Attributes:
        rewards: What each one gave last.
        seen: What is seen in each one now, end to end.
        observations: The same, as Gymnasium wants it.
    """

    def __init__(self, count: int, space: Space) -> None:
        width = len(space.sizes)
        self.rewards = np.zeros(count)
        self.seen = np.zeros(count * width, dtype=np.int64)
        self.observations = self.seen if space.single else self.seen.reshape(count, width)

    @abstractmethod
    def start(
        self,
        chosen: NDArray[np.bool_],
        environments: Sequence[Environment],
        generators: Sequence[np.random.Generator],
    ) -> None:
        """Begin anew in the chosen places, with what is now there; the others stay as they are."""

    @abstractmethod
    def advance(self, actions: IntArray) -> None:
        """Act once in every place. Nothing is checked."""


def batch_for(environment_class: EnvironmentClass, count: int, space: Space) -> Batch:
    """The fastest batch that a class allows."""
    if isinstance(environment_class, KernelEnvironmentClass):
        return CompiledBatch(environment_class.kernels, count, space)
    return PlainBatch(count, space)


class CompiledBatch(Batch):
    """Environments made of kernels. Their states are copied into one, end to end."""

    def __init__(self, kernels: EnvironmentKernels, count: int, space: Space) -> None:
        super().__init__(count, space)
        entries = batch_entries(kernels)
        self._start_many, self._advance_many = entries.start_many, entries.advance_many
        self._seen_at = np.arange(count + 1) * len(space.sizes)
        self._inside: list[Environment | None] = [None] * count
        self._states: State = None
        self._at: Any = None
        self._places: list[State] = []

    def start(  # noqa: D102 - see Batch
        self,
        chosen: NDArray[np.bool_],
        environments: Sequence[Environment],
        generators: Sequence[np.random.Generator],
    ) -> None:
        numbers = np.flatnonzero(chosen).tolist()
        self._let_in(numbers, environments)
        for number in numbers:
            seed_state(self._places[number], generators[number])
        self._start_many(self._states, self._at, chosen, self.rewards, self.seen, self._seen_at)

    def advance(self, actions: IntArray) -> None:  # noqa: D102 - see Batch
        self._advance_many(self._states, self._at, actions, self.rewards, self.seen, self._seen_at)

    def _let_in(self, numbers: Sequence[int], environments: Sequence[Environment]) -> None:
        """Copy the states of those who are new; who stays is begun anew by its own kernel."""
        new: dict[int, State] = {
            number: environments[number].state  # type: ignore[attr-defined] # made of kernels
            for number in numbers
            if environments[number] is not self._inside[number]
        }
        if self._places and all(_as_large(self._places[at], new[at]) for at in new):
            for number, state in new.items():
                for mine, theirs in zip(self._places[number], state, strict=True):
                    mine[:] = theirs
        elif new:
            count = len(environments)
            states = [new[at] if at in new else self._places[at] for at in range(count)]
            self._states, self._at = end_to_end(states)
            self._places = [part(self._states, self._at, at) for at in range(count)]
        for number in new:
            self._inside[number] = environments[number]


class PlainBatch(Batch):
    """Environments without kernels, one after the other."""

    def start(  # noqa: D102 - see Batch
        self,
        chosen: NDArray[np.bool_],
        environments: Sequence[Environment],
        generators: Sequence[np.random.Generator],
    ) -> None:
        self._environments = list(environments)
        for number in np.flatnonzero(chosen).tolist():
            self._show(number, environments[number].start(generators[number]))

    def advance(self, actions: IntArray) -> None:  # noqa: D102 - see Batch
        for number, action in enumerate(actions.tolist()):
            self._show(number, self._environments[number].step(action))

    def _show(self, number: int, percept: Percept) -> None:
        self.rewards[number], self.observations[number] = percept


def _as_large(one: State, other: State) -> bool:
    return all(len(mine) == len(theirs) for mine, theirs in zip(one, other, strict=True))
